"""The noise as a fit itself shows it (docs/mathematics.md (4.2), §4.8): its level, the weights of heavy tails, and the
covariance of coefficients under both.

Weights come from the smoothed record at first.  A spline cuts the peaks of a coarsely sampled one, so that noise counts
less where it points outward, and coefficients are biased; once a path obeys an equation its residuals are those of the
noise, and the weights are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jetode.joint.noise import Noise, heavy_tailed, student_weights, tail_factor
from jetode.joint.path import final_q
from jetode.joint.problem import SMALLEST_SIGMA, Prepared
from jetode.joint.request import Request
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation, path_states
from jetode.signal.colour import WHITE
from jetode.signal.growth import EVEN, noise_growth
from jetode.support.arrays import FloatArray

SIGMA_STEP = 30.0  # factor by which the trusted noise level falls from one polish to the next
POLISH_ITERATIONS = 14
RECOLOURINGS = 3  # a correlation that begins at one end of what the spectrum allows has come to rest by then
REWEIGHTINGS = 2  # a third moves coefficients by 0.02 to 0.09 standard errors (three records)

Interrupt = Callable[[], bool]


def refine_sigma(data: Data, fit: Fit, sigma: float) -> float:
    """Noise level from the residuals, corrected for the coefficients and the path's degrees of freedom."""
    used = float(fit.terms.free.sum()) + 2.0 * fit.terms.dimension
    return sigma * float(np.sqrt(fit.misfit / max(data.n_samples - used, 1.0)))


def refined(
    prepared: Prepared, data: Data, fit: Fit, request: Request, interrupt: Interrupt
) -> tuple[Prepared, Data, Fit, float]:
    """The fit with the weights, the colour and, unless that is given, at the noise level of its own residuals; the
    record with these weights and this colour, and that level."""

    def at_own_level(data: Data, fit: Fit, level: float) -> tuple[Data, Fit, float]:
        known = request.sigma is not None
        return (data, fit, level) if known else _at_own_level(prepared, data, fit, level, interrupt)

    data, fit, level = at_own_level(data, fit, prepared.sigma)
    for _ in range(RECOLOURINGS):
        moved = prepared.colour.moved(own_correlation(own_residuals(prepared, data, fit)))
        if prepared.colour == WHITE or interrupt() or not np.isfinite(fit.cost) or moved == prepared.colour:
            break
        level *= prepared.colour.innovation / moved.innovation
        prepared = replace(prepared, noise=Noise(moved))
        data, fit, level = at_own_level(*_again(prepared, data, fit, level, 1.0, interrupt), level)
    for _ in range(REWEIGHTINGS):
        if prepared.noise.growth == EVEN or interrupt() or not np.isfinite(fit.cost):
            break
        prepared = grown(prepared, path_states(fit, data)[:, 0], True)
        data, fit, level = at_own_level(*_again(prepared, data, fit, level, 1.0, interrupt), level)
    given = prepared
    for _ in range(REWEIGHTINGS):
        if not weighs_tails(prepared) or interrupt() or not np.isfinite(fit.cost):
            break
        left = own_residuals(given, data, fit)
        prepared = reweighted(given, left, request.loss == "student" or heavy_tailed([left]))
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


def own_correlation(residuals: FloatArray) -> float:
    """The correlation φ of neighbouring residuals that foretells each from the one before best."""
    pairs = np.isfinite(residuals[1:]) & np.isfinite(residuals[:-1])
    before, after = residuals[:-1][pairs], residuals[1:][pairs]
    return float(before @ after / max(float(before @ before), 1e-300))


def weighs_tails(prepared: Prepared) -> bool:
    """Whether samples of one record count by more than one weight because of heavy tails; where some are one-sided, a
    rail is no residual, and the spline's weights stay."""
    weights = [prepared.present[at] for at in prepared.jets.pieces()]
    tails = any(np.unique(w[w > 0.0]).size > 1 for w in weights)
    return prepared.robust and prepared.side is None and prepared.noise.growth == EVEN and tails


def reweighted(prepared: Prepared, residuals: FloatArray, heavy: bool = True) -> Prepared:
    """A prepared record with the weights of these residuals instead of the spline's, all alike where their tails are
    not ``heavy``.  Records that differ in their noise differ as before."""
    pieces = prepared.jets.pieces()
    smoothed = np.where(prepared.present > 0.0, prepared.y - prepared.jets.u[:, 0], np.nan)
    before = student_weights([smoothed[at] for at in pieces])
    own = [prepared.present[at].sum() / w.sum() for at, w in zip(pieces, before, strict=True)]
    parts = [residuals[at] for at in pieces]
    weights = student_weights(parts) if heavy else [np.isfinite(part).astype(float) for part in parts]
    present = np.concatenate([factor * w for factor, w in zip(own, weights, strict=True)])
    return replace(prepared, present=present, robust=heavy)


def grown(prepared: Prepared, path: FloatArray, again: bool = False) -> Prepared:
    """A prepared record with the weights of noise that grows with this ``path``, as is known or, ``again``, as what the
    path leaves does."""
    there, signal = prepared.present > 0.0, prepared.amplitude * path
    left = np.where(there, prepared.amplitude * prepared.y - signal, np.nan)
    growth = noise_growth(signal, left) if again else prepared.noise.growth
    present = np.where(there, growth.weights(signal), 0.0)
    return replace(prepared, present=present, noise=replace(prepared.noise, growth=growth))


def own_residuals(prepared: Prepared, data: Data, fit: Fit) -> FloatArray:
    """What the path leaves of the samples, in std; NaN where there are none."""
    return np.where(prepared.present > 0.0, prepared.y - path_states(fit, data)[:, 0], np.nan)


def own_cost(prepared: Prepared, data: Data, fit: Fit, sigma: float) -> float:
    """The cost of a path through a record at noise level ``sigma``, with the weights of its own residuals."""
    grows = prepared.noise.growth != EVEN
    if not (grows or weighs_tails(prepared)) or not np.isfinite(fit.cost):
        return fit.cost
    left, path = own_residuals(prepared, data, fit), path_states(fit, data)[:, 0]
    own = grown(prepared, path) if grows else reweighted(prepared, left)
    misfit = float(np.nansum(own.present * left**2)) / sigma**2
    return fit.cost - fit.misfit + misfit


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
    factor = tail_factor(own_residuals(prepared, data, fit)) if weighs_tails(prepared) else 1.0
    return factor * covariance_of(data, fit)
