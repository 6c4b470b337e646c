"""The banded normal equations (BᵀB + λΩ) c = Bᵀy of the smoothing spline: span matrices, LDLᵀ factor, trace.

Away from the ends all rows are the same, so that factor and inverse settle to constants, computed once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jetode.signal.bspline import evaluate_spline, jets_uniform, uniform_table
from jetode.support.arrays import FloatArray, read_only
from jetode.support.compiled import kernel, leaf


@lru_cache(maxsize=256)
def basis_table(degree: int, spacing: int, n_derivatives: int) -> FloatArray:
    """:func:`~jetode.signal.bspline.uniform_table`, kept and read-only."""
    table = uniform_table(degree, spacing, n_derivatives)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def span_matrices(n: int, degree: int, spacing: int) -> tuple[FloatArray, FloatArray]:
    """BᵀB and Ω of one span (p + 1 square), for every full span [0] and for the last one [1]."""
    m = (degree + 1) // 2
    values = basis_table(degree, spacing, 0)[:, 0]
    last = (n - 2) // spacing * spacing
    gram = np.stack([values[:spacing].T @ values[:spacing], values[: n - last].T @ values[: n - last]])
    # Gauss–Legendre with m nodes is exact for the product of two polynomials of degree m − 1
    nodes, weights = np.polynomial.legendre.leggauss(m)
    knots = np.arange(-degree, degree + 2, dtype=float)
    scratch = np.array([evaluate_spline((nodes + 1) / 2, knots, row, degree, m) for row in np.eye(degree + 1)])
    penalty = (scratch * weights / 2) @ scratch.T / float(spacing) ** degree
    return gram, np.stack([penalty, penalty])


def project(y: FloatArray, spacing: int, values: FloatArray) -> FloatArray:
    """Bᵀy."""
    out = np.zeros((y.shape[0] - 2) // spacing + values.shape[1])
    _add_projection(y, spacing, values, out)
    return out


def residual(y: FloatArray, coefficients: FloatArray, spacing: int, values: FloatArray) -> tuple[FloatArray, float]:
    """Bᵀr and rᵀr for the residual r = y − Bc."""
    left = y - jets_uniform(coefficients, y.shape[0], spacing, values[:, None])[:, 0]
    return project(left, spacing, values), float(left @ left)


@kernel(error_model="numpy", _nrt=False)
def _add_projection(y: FloatArray, spacing: int, values: FloatArray, out: FloatArray) -> None:
    n = y.shape[0]
    n_functions = values.shape[1]
    n_intervals = (n - 2) // spacing + 1
    for i in range(n):
        k = min(i // spacing, n_intervals - 1)
        r = i - k * spacing
        for a in range(n_functions):
            out[k + a] += values[r, a] * y[i]


@leaf()
def _matrix_row(elements: FloatArray, n_intervals: int, j: int, out: FloatArray) -> None:
    """Entries (j, j) … (j, j + p) of the sum of all span matrices."""
    p = out.shape[0] - 1
    for d in range(p + 1):
        total = 0.0
        for a in range(p + 1 - d):
            if 0 <= j - a < n_intervals:
                total += elements[1 if j - a == n_intervals - 1 else 0, a, a + d]
        out[d] = total


@leaf()
def _stored(j: int, start: int, stop: int) -> int:
    """Row of the factor that holds column j: columns start … stop − 1 share one row."""
    return j if j < start else start if j < stop else j - stop + start + 1


def factorise(elements: FloatArray, n_intervals: int, transient: int) -> tuple[FloatArray, int, int]:
    """LDLᵀ: row j holds D_j and L[j + d, j]; columns ``start`` … ``stop`` − 1 are equal and stored once."""
    p = elements.shape[1] - 1
    factor = np.empty((n_intervals + p, p + 1))
    used, start, stop = _fill_factor(read_only(elements), n_intervals, transient, factor, np.empty(p + 1))
    return factor[:used].copy(), start, stop


@kernel(error_model="numpy", _nrt=False)
def _fill_factor(
    elements: FloatArray, n_intervals: int, transient: int, factor: FloatArray, row: FloatArray
) -> tuple[int, int, int]:
    """Rows of the factor that are used, and the columns that share one."""
    size, p = factor.shape[0], row.shape[0] - 1
    stop = max(n_intervals - 1 - p, 0)
    start = size
    settled = 0
    used = 0
    j = 0
    while j < size:
        _matrix_row(elements, n_intervals, j, row)
        for d in range(p + 1):
            total = row[d]
            for k in range(1, min(p - d, used) + 1):
                total -= factor[used - k, d + k] * factor[used - k, 0] * factor[used - k, k]
            row[d] = total
        factor[used, 0] = row[0]
        for d in range(1, p + 1):
            factor[used, d] = row[d] / row[0]
        if p < j < stop and start == size:
            change = abs(factor[used, 0] / factor[used - 1, 0] - 1.0)
            for d in range(1, p + 1):
                change = max(change, abs(factor[used, d] - factor[used - 1, d]))
            settled = settled + 1 if change < 1e-15 * p else 0
            if (settled > p or j > transient) and j + p < stop:
                start = used
                j = stop - 1
        used += 1
        j += 1
    return used, start, stop if start < size else size


def solve(rhs: FloatArray, factor: FloatArray, start: int, stop: int) -> FloatArray:
    """A⁻¹ rhs."""
    x = rhs.copy()
    _substitute(x, factor, start, stop)
    return x


@kernel(error_model="numpy", _nrt=False)
def _substitute(x: FloatArray, factor: FloatArray, start: int, stop: int) -> None:
    """Forward and backward, in place."""
    size = x.shape[0]
    p = factor.shape[1] - 1
    for i in range(size):
        total = x[i]
        if start + p <= i < stop:
            for k in range(p, 0, -1):
                total -= factor[start, k] * x[i - k]
        else:
            for k in range(min(p, i), 0, -1):
                total -= factor[_stored(i - k, start, stop), k] * x[i - k]
        x[i] = total
    for i in range(size - 1, -1, -1):
        row = factor[_stored(i, start, stop)]
        total = x[i] / row[0]
        for k in range(min(p, size - 1 - i), 0, -1):
            total -= row[k] * x[i + k]
        x[i] = total


def trace(gram: FloatArray, n_intervals: int, transient: int, factor: FloatArray, start: int, stop: int) -> float:
    """tr(A⁻¹G): the band of A⁻¹ row by row from the last, until it settles where the factor is constant."""
    inverse = np.zeros(gram.shape[1:])  # inverse[k, d] = A⁻¹[j + k, j + k + d]; k = 0 is being computed
    return _sum_trace(read_only(gram), n_intervals, transient, factor, (start, stop), inverse, np.empty(gram.shape[1]))


@kernel(error_model="numpy", _nrt=False)
def _sum_trace(
    gram: FloatArray,
    n_intervals: int,
    transient: int,
    factor: FloatArray,
    shared: tuple[int, int],
    inverse: FloatArray,
    row: FloatArray,
) -> float:
    start, stop = shared
    p = gram.shape[1] - 1
    size = n_intervals + p
    total = 0.0
    settled = 0
    j = size - 1
    while j >= 0:
        for k in range(p, 0, -1):
            for d in range(p + 1):
                inverse[k, d] = inverse[k - 1, d]
        lower = factor[_stored(j, start, stop)]
        reach = min(p, size - 1 - j)
        for d in range(reach, -1, -1):
            value = 0.0 if d else 1.0 / lower[0]
            for k in range(1, reach + 1):
                near, far = min(k, d), max(k, d)
                value -= lower[k] * inverse[near, far - near]
            inverse[0, d] = value
        for d in range(reach + 1, p + 1):
            inverse[0, d] = 0.0
        _matrix_row(gram, n_intervals, j, row)
        share = row[0] * inverse[0, 0]
        for d in range(1, reach + 1):
            share += 2.0 * row[d] * inverse[0, d]
        total += share
        if start + p < j < stop - p:
            change = 0.0
            for d in range(p + 1):
                change = max(change, abs(inverse[0, d] - inverse[1, d]))
            settled = settled + 1 if change < 1e-14 * inverse[0, 0] else 0
            if settled > p or stop - j > transient:
                total += share * (j - start - p)
                j = start + p
        j -= 1
    return total
