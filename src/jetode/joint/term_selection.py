"""Which terms stay (docs/mathematics.md §4): stepwise selection by BIC, led by the local quadratic model of the cost.

At a fitted point one linearisation with *all* the form's terms gives the reduced cost c + 2 rᵀδ + δᵀFδ over every
coefficient, absent ones included.  On it removing a term (Wald) and adding one (score test) cost nothing, so the
support with the lowest predicted BIC is found by algebra and only promising supports are refitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray, FloatArray

COMPARE = Schedule((0.01, 1e-3, 1e-4), 12)
PATIENCE = 3  # removals tried past the best BIC before giving up


@dataclass(frozen=True)
class Selection:
    """The fit on the selected terms, its BIC, and how many refits it took."""

    fit: Fit
    bic: float
    refits: int


@dataclass(frozen=True)
class Quadratic:
    """Unconstrained optimum ``theta`` and information ``F`` of the reduced cost, over all free terms."""

    theta: FloatArray
    information: FloatArray

    @classmethod
    def around(cls, coefficients: FloatArray, schur: FloatArray, reduced: FloatArray) -> Quadratic | None:
        """From the reduced system of a linearisation at these coefficients, its rounding bounded; None where it is not
        finite or curved the wrong way, as where the path runs away."""
        if not np.all(np.isfinite(schur)) or np.any(np.diag(schur) < 0.0):
            return None
        scale = 1.0 / np.sqrt(np.maximum(np.diag(schur), 1e-300))
        values, vectors = np.linalg.eigh(schur * scale[:, None] * scale[None, :])
        values = np.maximum(values, 1e-13 * values[-1])
        step = -scale * (vectors @ ((vectors.T @ (scale * reduced)) / values))
        return cls(coefficients + step, (vectors * values) @ vectors.T / scale[:, None] / scale[None, :])

    def restricted_cost(self, keep: BoolArray) -> float:
        """How much the predicted cost rises when the other terms are zero."""
        out = ~keep
        if not out.any():
            return 0.0
        f = self.information
        if not keep.any():
            return float(self.theta @ f @ self.theta)
        schur = (
            f[np.ix_(out, out)]
            - f[np.ix_(out, keep)] @ np.linalg.lstsq(f[np.ix_(keep, keep)], f[np.ix_(keep, out)], rcond=1e-13)[0]
        )
        return float(self.theta[out] @ schur @ self.theta[out])

    def best_support(self, keep: BoolArray, protected: BoolArray, price: float) -> BoolArray:
        """Greedy descent of predicted cost + price · terms from ``keep`` by single removals and additions."""
        keep = keep.copy()
        score = self.restricted_cost(keep) + price * keep.sum()
        while True:
            moves = []
            for j in np.flatnonzero(~protected):
                trial = keep.copy()
                trial[j] = ~trial[j]
                moves.append((self.restricted_cost(trial) + price * trial.sum(), int(j)))
            lowest, flipped = min(moves, default=(np.inf, -1))
            if lowest >= score - 1e-9:
                return keep
            keep[flipped] = ~keep[flipped]
            score = lowest

    def ranked_removals(self, keep: BoolArray, protected: BoolArray) -> list[tuple[float, int]]:
        """Predicted rise of the cost for each single removal, smallest first."""
        base = self.restricted_cost(keep)
        out = []
        for j in np.flatnonzero(keep & ~protected):
            trial = keep.copy()
            trial[j] = False
            out.append((self.restricted_cost(trial) - base, int(j)))
        return sorted(out)


def expand(full: Terms, terms: Terms) -> tuple[BoolArray, FloatArray]:
    """Which terms of ``full`` are among ``terms``, and the coefficients of all, 0 for the absent ones."""
    known = dict(zip(zip(terms.rows.tolist(), terms.exponents, strict=True), terms.coefficients.tolist(), strict=True))
    keys = list(zip(full.rows.tolist(), full.exponents, strict=True))
    return np.array([k in known for k in keys]), np.array([known.get(k, 0.0) for k in keys])


def quadratic_model(data: Data, full: Terms, fit: Fit) -> Quadratic | None:
    """Expand the cost around ``fit`` in all free terms of ``full``, those that the fit does not have at 0.  None
    where the expansion is not finite (an absent term whose sensitivities blow up)."""
    coefficients = expand(full, fit.terms)[1]
    linear = Linearisation(data, full)
    linear.at(fit.states, coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    return Quadratic.around(coefficients[full.free], eliminated.schur, eliminated.reduced)


def eliminate(
    data: Data,
    full: Terms,
    fit: Fit,
    protected: BoolArray,
    price: float,
    interrupt: Callable[[], bool] | None = None,
    schedule: Schedule = COMPARE,
    insist: bool = True,
    ceiling: float = np.inf,
) -> Selection:
    """Select terms of ``full`` starting from ``fit`` (which has all of them, in order).

    ``protected`` marks terms that must stay; ``price`` is the BIC's cost of one coefficient, log(samples).  With
    ``insist`` a support that the quadratic model promises but a reheated refit does not confirm is fitted once more
    without reheating.  A fit that costs more than ``ceiling`` with all its terms keeps them.
    """
    fixed = ~full.free
    gentle = Schedule(schedule.levels[-1:], schedule.iterations)

    def refit(keep: BoolArray, origin: Fit, present: BoolArray, cooling: Schedule = schedule) -> Fit:
        coefficients = np.zeros(len(full.exponents))
        coefficients[present] = origin.terms.coefficients
        terms = full.with_coefficients(coefficients).select(keep)
        return anneal(data, terms, origin.states, cooling, interrupt)

    def bic(of: Fit) -> float:
        return of.cost + price * float(of.terms.free.sum())

    present = np.ones(len(full.exponents), dtype=bool)
    current = anneal(data, fit.terms, fit.states, schedule, interrupt)
    if not np.isfinite(current.cost):
        return Selection(current, np.inf, 1)
    if current.cost > ceiling:
        return Selection(current, bic(current), 1)
    best = current
    tried = {present.tobytes()}
    retried: set[tuple[bytes, bytes]] = set()
    refits, beyond = 1, 0
    while beyond <= PATIENCE and not (interrupt is not None and interrupt()):
        quadratic = quadratic_model(data, full, current)
        if quadratic is None:
            break
        free_keep, free_protected = present[full.free], protected[full.free]
        moves: list[BoolArray] = []
        base = quadratic.restricted_cost(free_keep)
        goal = quadratic.best_support(free_keep, free_protected, price)
        moves.append(goal)
        ranked = quadratic.ranked_removals(free_keep, free_protected)
        cheap = [j for rise, j in ranked if rise < 0.5 * price]
        if len(cheap) > 2:
            half = free_keep.copy()
            half[cheap[: len(cheap) // 2]] = False
            moves.append(half)
        for _, j in ranked[:2]:
            single = free_keep.copy()
            single[j] = False
            moves.append(single)
        added = _best_addition(quadratic, free_keep)
        if added is not None:
            moves.append(added)
        step: tuple[Fit, BoolArray] | None = None
        fallback: tuple[Fit, BoolArray] | None = None
        for move in moves:
            keep = fixed.copy()
            keep[full.free] = move
            promised = base + price * free_keep.sum() - quadratic.restricted_cost(move) - price * move.sum()
            seen = keep.tobytes() in tried
            if seen and (not insist or promised <= 0.0 or (keep.tobytes(), present.tobytes()) in retried):
                continue
            tried.add(keep.tobytes())
            trials = [] if seen else [refit(keep, current, present)]
            if insist and promised > 0.0 and not any(bic(t) < bic(current) for t in trials):
                # reheated, the path has left a minimum that the quadratic model sees: stay in it
                retried.add((keep.tobytes(), present.tobytes()))
                trials.append(refit(keep, current, present, gentle))
            trial = min(trials, key=bic)
            refits += len(trials)
            if bic(trial) < bic(current) and bic(trial) < bic(best):
                step = (trial, keep)
                break
            if keep.sum() < present.sum() and (fallback is None or bic(trial) < bic(fallback[0])):
                fallback = (trial, keep)
        if step is not None:
            beyond = 0
            current, present = step
            best = current
        elif fallback is not None and bic(fallback[0]) < bic(best) + 50.0 * price:
            beyond += 1
            current, present = fallback
        else:
            break
    return Selection(best, bic(best), refits)


def _best_addition(quadratic: Quadratic, keep: BoolArray) -> BoolArray | None:
    """The single addition with the largest predicted fall of the cost."""
    base = quadratic.restricted_cost(keep)
    falls = []
    for j in np.flatnonzero(~keep):
        trial = keep.copy()
        trial[j] = True
        falls.append((base - quadratic.restricted_cost(trial), j))
    if not falls:
        return None
    out = keep.copy()
    out[max(falls)[1]] = True
    return out
