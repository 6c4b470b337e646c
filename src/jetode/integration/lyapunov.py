"""Lyapunov exponents from the variational equation x' = f(x), Q' = J(x) Q of a known or identified field.

Benettin's method: state and tangent vectors advance together by fixed steps of the eighth-order weights of
DOP853, and after each step a Gram–Schmidt QR takes the growth out of Q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jetode.equations.field import Field, FieldArrays, field_jacobian
from jetode.integration.dop853 import Stop
from jetode.integration.tableau import N_STAGES, STAGES
from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel
from jetode.support.errors import InputError

BLOCKS = 20  # stretches whose scatter gives the standard error


@dataclass(frozen=True, eq=False)
class LyapunovSpectrum:
    """Exponents, largest first, with standard errors from the scatter over 20 stretches of the trajectory.

    ``stop`` is DIVERGED, and the exponents NaN, when the trajectory left every bound.
    """

    exponents: FloatArray
    standard_errors: FloatArray
    duration: float
    stop: Stop

    @property
    def largest(self) -> float:
        """λ1."""
        return float(self.exponents[0])

    @property
    def dimension(self) -> float:
        """Kaplan–Yorke dimension (needs the full spectrum)."""
        sums = np.cumsum(self.exponents)
        if not np.all(np.isfinite(sums)) or sums[0] < 0:
            return float("nan") if not np.all(np.isfinite(sums)) else 0.0
        k = int(np.flatnonzero(sums >= 0)[-1])
        if k == sums.size - 1:
            return float(sums.size)
        return k + 1 + float(sums[k] / -self.exponents[k + 1])


def lyapunov_spectrum(
    field: Field,
    x0: ArrayLike,
    duration: float,
    step: float,
    transient: float = 0.0,
    count: int | None = None,
) -> LyapunovSpectrum:
    """The ``count`` largest exponents (default: all) over ``duration`` after ``transient``."""
    state = np.array(x0, dtype=np.float64)
    if state.shape != (field.dimension,):
        raise InputError(f"The 'x0' parameter must have {field.dimension} coordinates. Got {state.size} instead.")
    vectors = field.dimension if count is None else count
    if not 1 <= vectors <= field.dimension:
        raise InputError(f"The 'count' parameter must be in 1 … {field.dimension}. Got {count} instead.")
    if not step > 0 or not duration >= BLOCKS * step or not transient >= 0:
        raise InputError(f"The 'duration' parameter must be at least {BLOCKS} steps of {step}. Got {duration} instead.")
    per_block = round(duration / step / BLOCKS)
    d = field.dimension
    columns = np.column_stack([state, np.eye(d)[:, :vectors]])
    growth = np.zeros((BLOCKS, vectors))
    scratch = (*field.workspace(), np.empty(d), np.empty(d), np.empty((d + 1, d)))
    stages, trial = np.empty((N_STAGES, d, 1 + vectors)), np.empty_like(columns)
    counts = (round(transient / step), per_block)
    finite = _grow(columns, growth, float(step), counts, field.arrays, scratch, stages, trial)
    rates = (growth if finite else np.full_like(growth, np.nan)) / (per_block * step)
    stop = Stop.COMPLETED if np.all(np.isfinite(rates)) else Stop.DIVERGED
    # largest first: of a system that another one drives, vectors stay where they began and do not sort themselves
    rates = rates[:, np.argsort(-rates.mean(axis=0), kind="stable")]
    exponents = rates.mean(axis=0)
    errors = rates.std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    for array in (exponents, errors):
        array.setflags(write=False)
    return LyapunovSpectrum(exponents, errors, BLOCKS * per_block * step, stop)


@kernel(error_model="numpy", _nrt=False)
def _grow(
    state: FloatArray,
    growth: FloatArray,
    h: float,
    counts: tuple[int, int],
    arrays: FieldArrays,
    scratch: tuple[FloatArray, ...],
    rates: FloatArray,
    trial: FloatArray,
) -> bool:
    """Add to ``growth`` the logarithmic growth of each vector in each block; False once the state is not finite.

    Column 0 of ``state`` is x, the others are Q; ``counts`` = (steps before the first block, steps per block).
    """
    n_transient, per_block = counts
    work, gradients, point, rate, jacobian = scratch
    d, columns = state.shape
    for n in range(n_transient + BLOCKS * per_block):
        for stage in range(N_STAGES + 1):
            for i in range(d):
                for v in range(columns):
                    trial[i, v] = state[i, v]
            for j in range(stage):
                if STAGES[stage, j] != 0.0:
                    f = h * STAGES[stage, j]
                    for i in range(d):
                        for v in range(columns):
                            trial[i, v] += f * rates[j, i, v]
            if stage == N_STAGES:  # its row holds the weights of the step
                break
            for i in range(d):
                point[i] = trial[i, 0]
            field_jacobian(point, rate, jacobian, arrays, work, gradients)
            for i in range(d):
                rates[stage, i, 0] = rate[i]
                for v in range(1, columns):
                    total = 0.0
                    for j in range(d):
                        total += jacobian[i, j] * trial[j, v]
                    rates[stage, i, v] = total
        for i in range(d):
            for v in range(columns):
                if not np.isfinite(trial[i, v]):
                    return False
                state[i, v] = trial[i, v]
        for v in range(1, columns):
            for u in range(1, v):
                overlap = 0.0
                for i in range(d):
                    overlap += state[i, u] * state[i, v]
                for i in range(d):
                    state[i, v] -= overlap * state[i, u]
            norm = 0.0
            for i in range(d):
                norm += state[i, v] ** 2
            norm = np.sqrt(norm)
            for i in range(d):
                state[i, v] /= norm
            if n >= n_transient:
                growth[(n - n_transient) // per_block, v - 1] += np.log(norm)
    return True
