"""The noise as a fit itself shows it (docs/mathematics.md (4.2), §4.8): its level, the weights of heavy tails, and the
covariance of coefficients under both.

Weights come from the smoothed record at first.  A spline cuts the peaks of a coarsely sampled one, so that noise counts
less where it points outward, and coefficients are biased; once a path obeys an equation its residuals are those of the
noise, and the weights are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from jetode.joint.path import final_q
from jetode.joint.problem import SMALLEST_SIGMA, Prepared, student_weights, tail_factor
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation, path_states
from jetode.support.arrays import FloatArray

SIGMA_STEP = 30.0  # factor by which the trusted noise level falls from one polish to the next
POLISH_ITERATIONS = 14
REWEIGHTINGS = 2  # the third changes coefficients by a hundredth of a standard error

Interrupt = Callable[[], bool]


def refine_sigma(data: Data, fit: Fit, sigma: float) -> float:
    """Noise level from the residuals, corrected for the coefficients and the path's degrees of freedom."""
    used = float(fit.terms.free.sum()) + 2.0 * fit.terms.dimension
    return sigma * float(np.sqrt(fit.misfit / max(data.n_samples - used, 1.0)))


def refined(
    prepared: Prepared, data: Data, fit: Fit, known: bool, interrupt: Interrupt
) -> tuple[Prepared, Data, Fit, float]:
    """The fit with the weights and, unless it is ``known``, at the noise level of its own residuals; the record with
    these weights, and that level."""

    def at_own_level(data: Data, fit: Fit, level: float) -> tuple[Data, Fit, float]:
        return (data, fit, level) if known else _at_own_level(prepared, data, fit, level, interrupt)

    data, fit, level = at_own_level(data, fit, prepared.sigma)
    for _ in range(REWEIGHTINGS if weighs_tails(prepared) else 0):
        if interrupt() or not np.isfinite(fit.cost):
            break
        prepared = reweighted(prepared, _residuals(prepared, data, fit))
        data, fit, level = at_own_level(*_again(prepared, data, fit, level, 1.0, interrupt), level)
    return prepared, data, fit, level


def _at_own_level(
    prepared: Prepared, data: Data, fit: Fit, level: float, interrupt: Interrupt
) -> tuple[Data, Fit, float]:
    """The fit at the noise level of its own residuals, and that level."""
    for _ in range(6):
        found = max(refine_sigma(data, fit, level), SMALLEST_SIGMA)
        if interrupt() or abs(found / level - 1.0) < 0.02 or not np.isfinite(found):
            break
        level = max(found, level / SIGMA_STEP)
        data, fit = _again(prepared, data, fit, level, 10.0, interrupt)
    return data, fit, level


def _again(
    prepared: Prepared, data: Data, fit: Fit, level: float, loosened: float, interrupt: Interrupt
) -> tuple[Data, Fit]:
    """The record at a noise level, fitted from the path of ``fit`` through ``data``, jumps ``loosened`` at first."""
    finer, last = prepared.data(level), final_q(level)
    nodes = path_states(fit, data)[finer.layout.first]
    schedule = Schedule(tuple(dict.fromkeys((loosened * last, last))), POLISH_ITERATIONS)
    return finer, anneal(finer, fit.terms, nodes, schedule, interrupt)


def weighs_tails(prepared: Prepared) -> bool:
    """Whether samples of one record count by more than one weight."""
    weights = [prepared.present[at] for at in _pieces(prepared)]
    return prepared.robust and any(np.unique(w[w > 0.0]).size > 1 for w in weights)


def reweighted(prepared: Prepared, residuals: FloatArray) -> Prepared:
    """The record with the weights of these residuals, of which every piece weighs as much in all as before."""
    present = np.zeros_like(prepared.present)
    for at in _pieces(prepared):
        weights = student_weights([residuals[at]])[0]
        present[at] = weights * prepared.present[at].sum() / max(weights.sum(), 1e-300)
    return replace(prepared, present=present)


def _residuals(prepared: Prepared, data: Data, fit: Fit) -> FloatArray:
    """What the path leaves of the samples, in std; NaN where there are none."""
    return np.where(prepared.present > 0.0, prepared.y - path_states(fit, data)[:, 0], np.nan)


def _pieces(prepared: Prepared) -> list[slice]:
    edges = np.cumsum((0, *prepared.jets.lengths)).tolist()
    return [slice(first, stop) for first, stop in pairwise(edges)]


def covariance_of(data: Data, fit: Fit) -> FloatArray:
    """Gauss–Newton covariance of the free coefficients at a fit; NaN where its path cannot be linearised."""
    linear = Linearisation(data, fit.terms)
    linear.at(fit.states, fit.terms.coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    if not np.isfinite(eliminated.schur).all():
        return np.full(eliminated.schur.shape, np.nan)
    return eliminated.coefficient_covariance()


def robust_covariance(prepared: Prepared, data: Data, fit: Fit) -> FloatArray:
    """The same of a fit whose weights are those of its own residuals."""
    factor = tail_factor(_residuals(prepared, data, fit)) if weighs_tails(prepared) else 1.0
    return factor * covariance_of(data, fit)
