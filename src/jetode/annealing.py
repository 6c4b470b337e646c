"""Annealing of the joint fit (design.md §4): q from loose (the path follows the data) to tight (it obeys the
equation), with the hidden coordinate brought back to unit spread after every level, and reheating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .gaussnewton import Data, Fit, minimise
from .polynomials import FloatArray
from .shooting import Terms


@dataclass(frozen=True)
class Schedule:
    """Continuity levels and the Gauss–Newton iterations allowed at each."""

    levels: tuple[float, ...]
    iterations: int


SCREEN = Schedule((1.0, 0.3, 0.1, 0.05, 0.02), 3)
COOL = Schedule(tuple(float(q) for q in np.geomspace(0.1, 1e-3, 9)), 4)
REHEAT = Schedule((0.3, 0.1, 0.04, 0.02, 0.01, 0.004, 0.001), 5)
REFIT = Schedule((0.01, 1e-3), 10)
POLISH = Schedule((1e-3, 1e-4), 14)


def rescale_hidden(fit: Fit) -> Fit:
    """The same fit with w at unit spread: otherwise D's constant grows, w shrinks and its jumps cost nothing."""
    spread = float(np.std(fit.states[:, -1]))
    if not 0.0 < spread < np.inf:
        return fit
    terms = fit.terms
    last = terms.dimension - 1
    factors = np.array(
        [spread ** (e[-1] - (row == last)) for row, e in zip(terms.rows, terms.exponents, strict=True)]
    )
    states = fit.states.copy()
    states[:, -1] /= spread
    rescaled = replace(
        terms,
        coefficients=terms.coefficients * factors,
        mean=terms.mean * factors,
        precision=terms.precision / factors**2,
    )
    return replace(fit, states=states, terms=rescaled)


def anneal(
    data: Data,
    terms: Terms,
    states: FloatArray,
    schedule: Schedule,
    interrupt: Callable[[], bool] | None = None,
) -> Fit:
    """Fit along the schedule, each level starting from the last."""
    fit = Fit(terms, states, np.inf, np.inf, np.inf, 0, False)
    for q in schedule.levels:
        fit = rescale_hidden(minimise(data, fit.terms, fit.states, q, schedule.iterations, interrupt=interrupt))
        if not np.isfinite(fit.cost):
            break
    return fit


def best(fits: Sequence[Fit]) -> Fit:
    """The cheapest fit (all at the same q)."""
    return min(fits, key=lambda f: f.cost)
