"""Which terms stay (docs/mathematics.md §4): stepwise selection by BIC, led by the local quadratic model of the cost.

At a fitted point one linearisation with *all* the form's terms gives the reduced cost c + 2 rᵀδ + δᵀFδ over every
coefficient, absent ones included.  On it removing a term (Wald) and adding one (score test) cost nothing, so the
support with the lowest predicted BIC is found by algebra and only promising supports are refitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb

import numpy as np

from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray, FloatArray

COMPARE = Schedule((0.01, 1e-3, 1e-4), 12)


@dataclass(frozen=True)
class SelectionSettings:
    """When to stop looking for a better set of terms."""

    patience: int = 3  # removals tried past the best BIC before giving up: a pair of terms can stand for each other
    cheap: float = 0.5  # of a term's price: terms whose removal costs less go together, half of them at a time
    hopeless: float = 50.0  # terms' worth of BIC beyond the best: such a fit is not gone on from
    few: int = 10  # terms of a plane, all cubic ones: so few that every support of them can be looked at


SETTINGS = SelectionSettings()


@dataclass(frozen=True)
class Refitting:
    """How a set of terms is tried: the cooling of its refit, and whether to ``insist``: a support that the quadratic
    model promises but a reheated refit does not confirm is then fitted once more without reheating."""

    schedule: Schedule = COMPARE
    insist: bool = True


REFITTING = Refitting()


@dataclass(frozen=True)
class Selection:
    """The fit on the selected terms, its BIC, and how many refits it took."""

    fit: Fit
    bic: float
    refits: int


ROUNDING = 1e-12  # of a term's information: what is left of it beside other terms is not known to more digits


@dataclass(frozen=True)
class Quadratic:
    """Unconstrained optimum ``theta`` and information ``F`` of the reduced cost, over all free terms."""

    theta: FloatArray
    information: FloatArray
    _blocks: dict[bytes, tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=dict, repr=False)

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

    def moved(self, theta: FloatArray) -> Quadratic:
        """The same information around another optimum; what was inverted of it is shared."""
        return replace(self, theta=theta)

    def restricted_cost(self, keep: BoolArray) -> float:
        """How much the predicted cost rises when the other terms are zero."""
        return self._around_support(keep)[0]

    def changes(self, keep: BoolArray) -> FloatArray:
        """The change of the restricted cost for each single flip of ``keep``: a removal (Wald) or an addition (score
        test), all of them from one inverse."""
        return self._around_support(keep)[1]

    def exchanges(self, keep: BoolArray, protected: BoolArray) -> list[tuple[float, BoolArray]]:
        """Predicted rise of the restricted cost for every support that has another term in the place of one of
        ``keep``, smallest first."""
        base, out = self.restricted_cost(keep), []
        for j in np.flatnonzero(keep & ~protected):
            fewer = keep.copy()
            fewer[j] = False
            cost, changes = self._around_support(fewer)
            for i in np.flatnonzero(~keep):
                other = fewer.copy()
                other[i] = True
                out.append((cost + float(changes[i]) - base, other))
        return sorted(out, key=lambda one: one[0])

    def _around_support(self, keep: BoolArray) -> tuple[float, FloatArray]:
        """The cost of a support K and of its neighbours: with W = F_KK⁻¹F_KO and S = F_OO − F_OK W it is θ_OᵀSθ_O; the
        term j removed costs (θ_K + Wθ_O)_j²/(F_KK⁻¹)_jj more, one added (Sθ_O)_j²/S_jj less."""
        theta, (inverse, weights, schur, gradient) = self._scaled(), self._others(keep)
        changes, own = np.empty(keep.size), np.diag(schur)
        with np.errstate(over="ignore"):  # a term that the others make up for altogether
            changes[keep] = (theta[keep] + weights @ theta[~keep]) ** 2 / np.maximum(np.diag(inverse), 1e-300)
        changes[~keep] = np.where(own > ROUNDING, -(gradient**2) / np.maximum(own, ROUNDING), 0.0)
        return float(theta[~keep] @ gradient), changes

    def _scaled(self) -> FloatArray:
        """θ in units in which the information has unit diagonal, which is best for the inverse."""
        return np.asarray(self.theta * np.sqrt(np.maximum(np.diag(self.information), 1e-300)))

    def _others(self, keep: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """F_KK⁻¹, W, S and Sθ_O of a support, scaled."""
        out = ~keep
        if keep.tobytes() not in self._blocks:
            scale = np.sqrt(np.maximum(np.diag(self.information), 1e-300))
            f = self.information / scale[:, None] / scale[None, :]
            within = f[np.ix_(keep, keep)]
            inverse = np.asarray(np.linalg.pinv(within, rcond=1e-13, hermitian=True) if keep.any() else within)
            weights = inverse @ f[np.ix_(keep, out)]
            self._blocks[keep.tobytes()] = inverse, weights, f[np.ix_(out, out)] - f[np.ix_(out, keep)] @ weights
        inverse, weights, schur = self._blocks[keep.tobytes()]
        return inverse, weights, schur, schur @ self._scaled()[out]

    def best_support(self, keep: BoolArray, protected: BoolArray, price: float) -> BoolArray:
        """Greedy descent of predicted cost + price · terms from ``keep`` by single removals and additions."""
        best, lowest = keep, np.inf
        while not protected.all():
            cost, changes = self._around_support(keep)
            score = cost + price * float(keep.sum())
            if not score < lowest - 1e-9:  # rounding has broken the promise of the last flip
                return best.copy()
            best, lowest = keep, score
            moves = np.where(protected, np.inf, changes + np.where(keep, -price, price))
            flipped = int(np.argmin(moves))
            if not moves[flipped] < -1e-9:
                return best.copy()
            keep = keep.copy()
            keep[flipped] = ~keep[flipped]
        return best.copy()

    def best_of_all(self, protected: BoolArray, price: float) -> BoolArray:
        """The support with the lowest predicted cost + price · terms of all that there are: a support K costs
        θᵀFθ − b_KᵀF_KK⁻¹b_K with b = Fθ."""
        scale = np.sqrt(np.maximum(np.diag(self.information), 1e-300))
        f = self.information / scale[:, None] / scale[None, :] + ROUNDING * np.eye(scale.size)
        b = f @ self._scaled()
        always, others = np.flatnonzero(protected), np.flatnonzero(~protected)
        best, lowest = protected, np.inf
        for size in range(0 if always.size else 1, others.size + 1):
            chosen = np.array([*combinations(others.tolist(), size)], dtype=np.int64).reshape(
                comb(others.size, size), size
            )
            kept = np.hstack([np.broadcast_to(always, (len(chosen), always.size)), chosen])
            within, beside = f[kept[:, :, None], kept[:, None, :]], b[kept]
            gains = np.einsum("ij,ij->i", beside, np.linalg.solve(within, beside[..., None])[..., 0])
            j = int(np.argmax(gains))
            if price * kept.shape[1] - gains[j] < lowest:
                best, lowest = np.isin(np.arange(scale.size), kept[j]), price * kept.shape[1] - float(gains[j])
        return best

    def ranked_removals(self, keep: BoolArray, protected: BoolArray) -> list[tuple[float, int]]:
        """Predicted rise of the cost for each single removal, smallest first."""
        changes = self.changes(keep)
        return sorted((float(changes[j]), int(j)) for j in np.flatnonzero(keep & ~protected))


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
    how: Refitting = REFITTING,
    ceiling: float = np.inf,
) -> Selection:
    """Select terms of ``full`` starting from ``fit`` (which has all of them, in order).

    ``protected`` marks terms that must stay; ``price`` is the BIC's cost of one coefficient, log(samples).  A fit that
    costs more than ``ceiling`` with all its terms keeps them.
    """
    return _Stepwise(data, full, price, how, interrupt).run(fit, protected, ceiling)


@dataclass(frozen=True)
class _Support:
    """A fit on some of the terms of the full library, and which they are."""

    fit: Fit
    present: BoolArray


class _Stepwise:
    """Stepwise selection: supports tried, refits counted."""

    def __init__(
        self,
        data: Data,
        full: Terms,
        price: float,
        how: Refitting,
        interrupt: Callable[[], bool] | None,
    ) -> None:
        self.data, self.full, self.price, self.interrupt = data, full, price, interrupt
        self.schedule, self.insist = how.schedule, how.insist
        self.gentle = Schedule(how.schedule.levels[-1:], how.schedule.iterations)
        self.tried: set[bytes] = set()
        self.retried: set[tuple[bytes, bytes]] = set()
        self.refits = 0

    def bic(self, of: Fit) -> float:
        """Cost and the price of the coefficients."""
        return of.cost + self.price * float(of.terms.free.sum())

    def refit(self, keep: BoolArray, origin: _Support, cooling: Schedule, lowest: float) -> Fit:
        """The fit on the terms ``keep``, from another support's path and coefficients; given up (cost inf) at the first
        q at which its BIC is hopelessly above the ``lowest``."""
        self.refits += 1
        coefficients = np.zeros(len(self.full.exponents))
        coefficients[origin.present] = origin.fit.terms.coefficients
        terms = self.full.with_coefficients(coefficients).select(keep)
        ceiling = lowest + self.price * (SETTINGS.hopeless - float(terms.free.sum()))
        return anneal(self.data, terms, origin.fit.states, cooling, self.interrupt, ceiling=ceiling)

    def run(self, fit: Fit, protected: BoolArray, ceiling: float) -> Selection:
        """From all terms to the support with the lowest BIC that was found."""
        present = np.ones(len(self.full.exponents), dtype=bool)
        self.refits = 1
        current = _Support(anneal(self.data, fit.terms, fit.states, self.schedule, self.interrupt), present)
        if not np.isfinite(current.fit.cost):
            return Selection(current.fit, np.inf, 1)
        if current.fit.cost > ceiling:
            return Selection(current.fit, self.bic(current.fit), 1)
        best, beyond = current.fit, 0
        self.tried.add(present.tobytes())
        while beyond <= SETTINGS.patience and not (self.interrupt is not None and self.interrupt()):
            quadratic = quadratic_model(self.data, self.full, current.fit)
            if quadratic is None:
                break
            better, fallback = self.step(quadratic, current, best, protected[self.full.free])
            if better is not None:
                beyond, current, best = 0, better, better.fit
            elif fallback is not None and self.bic(fallback.fit) < self.bic(best) + SETTINGS.hopeless * self.price:
                beyond, current = beyond + 1, fallback
            else:
                break
        return Selection(best, self.bic(best), self.refits)

    def step(
        self, quadratic: Quadratic, current: _Support, best: Fit, protected: BoolArray
    ) -> tuple[_Support | None, _Support | None]:
        """The first support that the quadratic model suggests and a refit finds better than all before; else the best
        of those with fewer terms, to go on from.  In a plane the best of all supports is tried too: on a closed curve
        single steps end at terms that stand for others."""
        keep_now = current.present[self.full.free]
        base = quadratic.restricted_cost(keep_now)
        fallback: _Support | None = None
        moves = _moves(quadratic, keep_now, protected, self.price)
        if self.full.dimension == 2 and np.count_nonzero(~protected) <= SETTINGS.few:
            moves.insert(1, quadratic.best_of_all(protected, self.price))
        for move in moves:
            keep = ~self.full.free
            keep[self.full.free] = move
            cost = quadratic.restricted_cost(move)
            promised = base + self.price * keep_now.sum() - cost - self.price * move.sum()
            trial = self.trial(keep, current, promised, self.bic(best))
            if trial is None:
                continue
            if self.bic(trial) < self.bic(current.fit) and self.bic(trial) < self.bic(best):
                return _Support(trial, keep), None
            fewer = keep.sum() < current.present.sum()
            if fewer and (fallback is None or self.bic(trial) < self.bic(fallback.fit)):
                fallback = _Support(trial, keep)
        return None, fallback

    def trial(self, keep: BoolArray, current: _Support, promised: float, lowest: float) -> Fit | None:
        """The better of a reheated refit and, where that does not keep the model's promise, one that is not; None where
        the support was tried before."""
        key, pair = keep.tobytes(), (keep.tobytes(), current.present.tobytes())
        seen = key in self.tried
        if seen and (not self.insist or promised <= 0.0 or pair in self.retried):
            return None
        self.tried.add(key)
        trials = [] if seen else [self.refit(keep, current, self.schedule, lowest)]
        if self.insist and promised > 0.0 and not any(self.bic(t) < self.bic(current.fit) for t in trials):
            # reheated, the path has left a minimum that the quadratic model sees: stay in it
            self.retried.add(pair)
            trials.append(self.refit(keep, current, self.gentle, lowest))
        return min(trials, key=self.bic)


def _moves(quadratic: Quadratic, keep: BoolArray, protected: BoolArray, price: float) -> list[BoolArray]:
    """Supports worth a refit: the lowest predicted BIC, half of the cheap terms less, the two cheapest single removals,
    the best single addition."""
    moves = [quadratic.best_support(keep, protected, price)]
    ranked = quadratic.ranked_removals(keep, protected)
    cheap = [j for rise, j in ranked if rise < SETTINGS.cheap * price]
    removals = [cheap[: len(cheap) // 2]] if len(cheap) > 2 else []
    for removed in [*removals, *([j] for _, j in ranked[:2])]:
        fewer = keep.copy()
        fewer[removed] = False
        moves.append(fewer)
    added = _best_addition(quadratic, keep)
    return moves if added is None else [*moves, added]


def _best_addition(quadratic: Quadratic, keep: BoolArray) -> BoolArray | None:
    """The single addition with the largest predicted fall of the cost."""
    absent = np.flatnonzero(~keep)
    if absent.size == 0:
        return None
    out = keep.copy()
    out[absent[np.argmin(quadratic.changes(keep)[absent])]] = True
    return out
