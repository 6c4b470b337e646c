"""How far an equation may be off on the motion itself, by the standard errors of its own coefficients (6.7).

Errors of single coefficients say little of it: correlated ones may be large together and leave D u_n − N as it is.
"""

from __future__ import annotations

from math import nan

import numpy as np
from scipy.stats import chi2

from jetode.equations.closure import Closure
from jetode.equations.polynomials import evaluate
from jetode.joint.path import Identified
from jetode.reconstruction.settings import EXAMINATION, INTEGRATION
from jetode.support.arrays import FloatArray

STEP = 1e-3  # of a standard error: central differences of a form that is polynomial in the coefficients


def field_uncertainty(model: Identified, states: FloatArray, level: float = EXAMINATION.uncertainty) -> float:
    """The ``level`` quantile of rms(δr)/rms(D u_n) over ``states`` of the fitted path, for δθ ~ N(0, C) (6.7).

    NaN for an equation with functions, which is not rational, and where no covariance is known.
    """
    if model.terms.elements or not np.all(np.isfinite(model.covariance)):
        return nan
    regular = model.regular
    jets = regular.jets(states[:: max(1, len(states) // EXAMINATION.uncertain_points)])
    closure = regular.rational()
    denominator = evaluate(closure.denominator, jets)
    away = np.abs(denominator) > INTEGRATION.near_pole * np.sqrt(np.mean(denominator**2))
    jets, denominator = jets[away], denominator[away]
    last = evaluate(closure.numerator, jets) / denominator
    free = model.terms.coefficients[model.terms.free]
    errors = np.sqrt(np.maximum(np.diag(model.covariance), 0.0))
    slopes = np.empty((jets.shape[0], free.size))
    for j, step in enumerate(np.where(errors > 0.0, STEP * errors, 1.0)):
        ends = []
        for moved in (free[j] + step, free[j] - step):
            other = free.copy()
            other[j] = moved
            ends.append(_left(model.with_coefficients(other).regular.rational(), jets, last))
        slopes[:, j] = (ends[0] - ends[1]) / (2.0 * step)
    size = float(np.mean((denominator * last) ** 2))
    return float(np.sqrt(_quantile(slopes.T @ slopes / (len(jets) * size) @ model.covariance, level)))


def _left(closure: Closure, jets: FloatArray, last: FloatArray) -> FloatArray:
    """r = D u_n − N."""
    return np.asarray(evaluate(closure.denominator, jets) * last - evaluate(closure.numerator, jets))


def _quantile(form: FloatArray, level: float) -> float:
    """Of δθᵀ M δθ with δθ ~ N(0, C), given M C: that of the multiple of a χ² with its mean and variance."""
    mean, half_variance = float(np.trace(form)), float(np.trace(form @ form))
    if not mean > 0.0:
        return 0.0
    return float(half_variance / mean * chi2.ppf(level, mean**2 / half_variance))
