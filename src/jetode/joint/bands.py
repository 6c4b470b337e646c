"""The forecast's band (issue: calibrated 50 % and 90 %): coefficients and start state drawn from their joint
posterior, every draw run ahead, quantiles taken sample by sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.integration.dop853 import integrate
from jetode.joint.parts import equation_of
from jetode.joint.path import EndState, Identified
from jetode.support.arrays import FloatArray

RTOL = 1e-6  # of a member: its spread, not its digits, is wanted
FINE = 1e-3  # × the noise in std: where samples are nearly exact, the spread is as small as that
TIGHTEST = 1e-13
BOUND = 30.0  # std beyond the start: a member that goes so far has left the attractor and is held there


@dataclass(frozen=True)
class Band:
    """Quantiles 5, 25, 75, 95 % of the ensemble at every sample, in the record's unit."""

    lower: FloatArray
    inner_lower: FloatArray
    inner_upper: FloatArray
    upper: FloatArray


def draw(model: Identified, end: EndState, samples: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """(free coefficients, states), jointly Gaussian as the linearised fit says."""
    free = int(model.terms.free.sum())
    joint = np.block([[model.covariance, end.mixed.T], [end.mixed, end.covariance]])
    values, vectors = np.linalg.eigh(0.5 * (joint + joint.T))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # symmetric: the same in any basis of eigenvectors
    mean = np.concatenate([model.terms.coefficients[model.terms.free], end.state])
    drawn = mean + rng.standard_normal((samples, mean.size)) @ root.T
    return drawn[:, :free], drawn[:, free:]


def forecast_band(
    model: Identified, end: EndState, steps: int, dt: float, samples: int, rng: np.random.Generator
) -> Band:
    """Run ``samples`` members for ``steps`` samples of length ``dt`` (record's unit)."""
    coefficients, states = draw(model, end, samples, rng)
    spacing = dt / model.time
    paths = np.empty((samples, steps + 1))
    bound = BOUND + np.abs(states).max(axis=0)
    rtol = max(TIGHTEST, min(RTOL, FINE * model.sigma))
    for i in range(samples):
        field = equation_of(model.with_coefficients(coefficients[i]).terms).field
        run = integrate(
            field,
            states[i],
            steps + 1,
            spacing,
            rtol=rtol,
            atol=np.full(model.terms.dimension, 0.01 * rtol),
            max_step=5.0 * spacing,
            bound=bound,
        )
        reached = run.states.shape[0]
        paths[i, :reached] = run.states[:, 0]
        paths[i, reached:] = np.copysign(bound[0], run.states[-1, 0])
    quantiles = np.quantile(paths, [0.05, 0.25, 0.75, 0.95], axis=0) * model.amplitude
    return Band(*quantiles)
