"""Null space of the closure system (paper, App. nullspace) and the two-stage recovery, Eq. (pin_system).

The coefficients are the right singular vector of the smallest singular value of the column-normalised joint
matrix [M_D, −M_N].  Its resolution is set by the gap σ_next − σ_min.  Under noise only the denominator is
kept, pooled over local windows; the numerator follows by least squares M_N θ_N = M_D θ_D on scaled columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from jetode.polynomials import FloatArray, Library
from jetode.weakform import ClosureSystem

POOL_UNIT = 0.1  # of std(u0): close to the raw units in which the paper averaged (std 7.9 and 5.1)


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Coefficients of D and N and the singular values (descending) of the normalised matrix."""

    denominator: FloatArray
    numerator: FloatArray
    singular_values: FloatArray

    @property
    def gap(self) -> float:
        """σ_next − σ_min: a perturbation δM rotates the null vector by about ‖δM‖ over this."""
        return float(self.singular_values[-2] - self.singular_values[-1])


def null_space(system: ClosureSystem) -> NullSpace:
    """Joint SVD of the whole system; D has unit norm and the sign of :func:`oriented`."""
    matrix = system.matrix
    sizes = _column_sizes(matrix)
    # R has the singular values and right vectors of the matrix, and no more rows than columns
    reduced = np.asarray(np.linalg.qr(matrix / sizes, mode="r"))
    singular_values, vectors = _svd(reduced)[1:]
    theta = vectors[-1] / sizes
    split = len(system.denominator)
    norm = float(np.linalg.norm(theta[:split])) or 1.0
    denominator = oriented(theta[:split] / norm, system.denominator)
    sign = 1.0 if denominator @ theta[:split] >= 0 else -1.0
    return NullSpace(denominator, sign * theta[split:] / norm, singular_values)


def oriented(coefficients: FloatArray, library: Library) -> FloatArray:
    """The same direction with a positive coefficient of u0 (else of the largest one)."""
    linear = library.index.get((1,) + (0,) * (library.n_variables - 1))
    leading = coefficients[linear] if linear is not None else coefficients[np.argmax(np.abs(coefficients))]
    return coefficients * float(np.copysign(1.0, leading))


def pooled_denominator(systems: Sequence[ClosureSystem]) -> FloatArray:
    """Unit-norm, sign-aligned local denominators, averaged and renormalised.

    The average depends on the unit of amplitude, which weighs far poles against near ones: ``POOL_UNIT``.
    """
    library = systems[0].denominator
    units = POOL_UNIT ** np.array([sum(e) for e in library.exponents], dtype=float)
    local = np.array([null_space(system).denominator for system in systems]) * units
    sizes = np.linalg.norm(local, axis=1, keepdims=True)
    mean = np.mean(local / np.where(sizes > 0.0, sizes, 1.0), axis=0) / units
    return mean / (float(np.linalg.norm(mean)) or 1.0)


def solve_numerator(system: ClosureSystem, denominator: FloatArray) -> FloatArray:
    """Least squares of M_N θ_N = M_D θ_D on unit columns; directions below rounding are left out."""
    sizes = _column_sizes(system.m_n)
    q, r = np.linalg.qr(system.m_n / sizes)
    left, singular_values, right = _svd(r)
    cutoff = np.finfo(float).eps * max(system.m_n.shape) * singular_values[0]
    rank = int(np.count_nonzero(singular_values > cutoff))
    target = left.T @ (q.T @ (system.m_d @ denominator))
    return (right[:rank].T @ (target[:rank] / singular_values[:rank])) / sizes


def _column_sizes(matrix: FloatArray) -> FloatArray:
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[sizes == 0.0] = 1.0
    return sizes


def _svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """SVD with every right vector; nan where the matrix is not finite or the iteration fails."""
    n = matrix.shape[1]
    failed = np.full((matrix.shape[0], n), np.nan), np.full(n, np.nan), np.full((n, n), np.nan)
    if not np.all(np.isfinite(matrix)):
        return failed
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=matrix.shape[0] < n)
    except LinAlgError:
        return failed
    return left, np.concatenate([values, np.zeros(n - values.shape[0])]), right
