"""Annealing of the joint fit (docs/mathematics.md (4.4)): q from loose (the path follows the data) to tight (it obeys
the equation), with the hidden coordinate brought back to unit spread after every level, and reheating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from jetode.equations.polynomials import Exponents
from jetode.joint.shooting.gaussnewton import Data, Fit, minimise
from jetode.joint.shooting.layout import RK8, Terms
from jetode.support.arrays import FloatArray, IntArray

SETTLING = 4  # rounds at the last level for a fit that is on its way still,
SETTLING_ITERATIONS = 14  # of so many iterations


@dataclass(frozen=True)
class Schedule:
    """Continuity levels and the Gauss–Newton iterations allowed at each."""

    levels: tuple[float, ...]
    iterations: int


@dataclass(frozen=True)
class Rounds:
    """A cooling that is repeated: at most ``most`` times, until a round lowers the cost by less than ``gained``."""

    schedule: Schedule
    most: int
    gained: float


def rescale_hidden(fit: Fit) -> Fit:
    """The same fit with its hidden coordinates at unit spread: otherwise D's constant grows, w shrinks and its jumps
    cost nothing."""
    terms = fit.terms
    hidden = range(terms.shifts + 1, terms.dimension)
    spread = np.std(fit.states[:, hidden], axis=0)
    if not ((spread > 0.0) & (spread < np.inf)).all():
        return fit
    powers = _hidden_powers(terms.dimension, terms.shifts, tuple(terms.rows.tolist()), terms.exponents)
    factors = np.prod(spread**powers, axis=1)
    if terms.elements:
        factors *= _element_factors(terms, hidden, spread)
    states = fit.states.copy()
    states[:, hidden] /= spread
    rescaled = replace(
        terms,
        coefficients=terms.coefficients * factors,
        mean=terms.mean * factors,
        precision=terms.precision / factors**2,
    )
    return replace(fit, states=states, terms=rescaled)


@lru_cache(maxsize=512)
def _hidden_powers(dimension: int, shifts: int, rows: tuple[int, ...], exponents: tuple[Exponents, ...]) -> IntArray:
    """By which power of each hidden coordinate's unit a term's coefficient changes with it; parameters by none."""
    powers = [
        [(e[i] - (row == i)) if row < dimension else 0 for i in range(shifts + 1, dimension)]
        for row, e in zip(rows, exponents, strict=True)
    ]
    return np.array(powers, np.int64)


def _element_factors(terms: Terms, hidden: range, spread: FloatArray) -> FloatArray:
    """What elements of hidden coordinates add to the factors: their parameters and gains in the new units."""
    out, d = np.ones(len(terms.exponents)), terms.dimension
    for m, shape in enumerate(terms.elements):
        moved = [spread[v - hidden.start] for v in shape.coordinates if v in hidden]
        if moved:
            unit = 1.0 / float(np.prod(moved))
            old = shape.with_parameters(terms.element_parameters(m))
            out[terms.rows == d + m] = unit ** np.array(old.info.powers, dtype=float)
            acting = np.array([row < d and e[d + m] > 0 for row, e in zip(terms.rows, terms.exponents, strict=True)])
            out[acting] *= old.in_units(unit)[1]
    return out


def anneal(
    data: Data,
    terms: Terms,
    states: FloatArray,
    schedule: Schedule,
    interrupt: Callable[[], bool] | None = None,
    rescale: bool = True,
    ceiling: float = np.inf,
) -> Fit:
    """Fit along the schedule, each level starting from the last; ``rescale`` keeps w at unit spread.

    A fit whose cost passes ``ceiling`` is given up (cost inf): tightening q can only raise it further.
    """
    fit = Fit(terms, states, np.inf, np.inf, np.inf, 0, False)
    for q in schedule.levels:
        rough = q != schedule.levels[-1] and data.tableau is not RK8  # nearly exact samples: every level counts
        fit = minimise(data, fit.terms, fit.states, q, schedule.iterations, interrupt=interrupt, rough=rough)
        if rescale:
            fit = rescale_hidden(fit)
        if not fit.cost <= ceiling:
            return replace(fit, misfit=np.inf)
    return fit


def settled(data: Data, fit: Fit, enough: float, interrupt: Callable[[], bool] | None = None) -> Fit:
    """A fit that its last level has left on the way, carried on at that level until it has arrived or costs no more
    than ``enough``: the valley of a hidden coordinate that spikes is long and bent."""
    for _ in range(SETTLING):
        if fit.converged or not enough < fit.cost < np.inf or (interrupt is not None and interrupt()):
            break
        fit = minimise(data, fit.terms, fit.states, fit.q, SETTLING_ITERATIONS, interrupt=interrupt)
    return fit


def arrived(data: Data, fit: Fit, rounds: Rounds, interrupt: Callable[[], bool] | None = None) -> Fit:
    """A fit loosened a little and cooled again until that gains nothing: in a long valley one that follows can still be
    25 % from its place, and neither its BIC nor its standard errors know."""
    for _ in range(rounds.most):
        again = anneal(data, fit.terms, fit.states, rounds.schedule, interrupt)
        gain = fit.cost - again.cost
        fit = again if gain > 0.0 else fit
        if not gain >= rounds.gained or (interrupt is not None and interrupt()):
            break
    return fit
