"""B-splines on sample knots: basis tables, interpolation by collocation, evaluation (de Boor 1978).

Abscissae are sample indices 0 … N−1 throughout.  A spline of odd degree p = 2m − 1 is a pair (knots,
coefficients); in span ℓ (``knots[ℓ] ≤ x < knots[ℓ+1]``) the non-zero basis functions are ℓ−p … ℓ.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.interpolate import BSpline

from jetode.support.arrays import FloatArray, IntArray, read_only
from jetode.support.compiled import kernel


def uniform_table(degree: int, spacing: int, n_derivatives: int) -> FloatArray:
    """``table[r, d, a]``: basis and derivatives r = 0 … ``spacing`` samples into a span of uniform knots."""
    basis = BSpline(spacing * np.arange(-degree, degree + 2, dtype=float), np.eye(degree + 1), degree)
    r = np.arange(spacing + 1, dtype=float)
    return np.stack([basis(r, nu=d) for d in range(n_derivatives + 1)], axis=1)


def not_a_knot_knots(n: int, degree: int) -> FloatArray:
    """Clamped knots at the samples, (degree − 1)/2 left out next to each end: n functions remain."""
    m = (degree + 1) // 2
    ends = np.full(degree + 1, 0.0), np.full(degree + 1, n - 1.0)
    return np.concatenate([ends[0], np.arange(m, n - m, dtype=float), ends[1]])


def interpolation_coefficients(y: FloatArray, degree: int, stencil: FloatArray) -> FloatArray:
    """Solve the collocation system by banded LU without pivots: the matrix is totally positive.

    ``stencil`` holds the 2m − 1 basis values at an interior knot.  Inside the record rows have half-width
    m − 1; only the rows that meet an end span reach further.
    """
    n, width = y.shape[0], degree - 1
    m = (degree + 1) // 2
    band = np.zeros((n, 2 * width + 1))
    edge = degree + m
    band[edge : n - edge, width - m + 1 : width - m + 1 + degree] = stencil[:degree]
    for samples, functions, table in _ends(n, degree, 0):
        column = functions - samples[:, None] + width
        row = np.broadcast_to(samples[:, None], column.shape)
        inside = (column >= 0) & (column <= 2 * width)
        band[row[inside], column[inside]] = table[0][inside]
    c = y.copy()
    _solve_collocation(band, c, edge, m)
    return c


@lru_cache(maxsize=64)
def _ends(n: int, degree: int, n_derivatives: int) -> list[tuple[IntArray, IntArray, FloatArray]]:
    """Of both ends of a record of n samples: samples so close to it that their splines are not the inner ones, the
    functions that meet them, and these functions' derivatives there, (d, samples, functions)."""
    edge = degree + (degree + 1) // 2
    knots, count = not_a_knot_knots(n, degree), min(n, edge + degree + 1)
    out = []
    for first, last, offset in ((0, min(edge, n), 0), (max(edge, n - edge), n, n - count)):
        samples = np.arange(first, last)
        basis = BSpline(knots[offset : offset + count + degree + 1], np.eye(count), degree)
        table = np.stack([basis(samples.astype(float), nu=d) for d in range(n_derivatives + 1)])
        out.append((samples, np.arange(offset, offset + count), table))
    return out


@kernel(error_model="numpy", _nrt=False)
def _solve_collocation(band: FloatArray, c: FloatArray, edge: int, m: int) -> None:
    """In place, ``c`` becomes the solution; rows reach 2m − 2 from the diagonal, inner ones m − 1.

    Inner rows are all the same before elimination, and soon after it, to the last bit: then they are copied.
    """
    n, width = band.shape[0], band.shape[1] // 2
    same = 0  # rows up to the last one that are like the row before them
    for i in range(n):
        inside = edge + width <= i < n - edge
        reach = m - 1 if inside else min(width, i)
        settled = inside and same >= m
        if settled:
            for d in range(2 * width + 1):
                band[i, d] = band[i - 1, d]
        for k in range(i - reach, i):
            below = k - i + width
            if band[i, below] == 0.0:
                continue
            factor = band[i, below] / band[k, width]
            if not settled:
                ahead = m - 1 if edge <= k < n - edge else width
                for d in range(1, min(ahead, n - 1 - k) + 1):
                    band[i, below + d] -= factor * band[k, width + d]
            c[i] -= factor * c[k]
        if inside and not settled:
            same += 1
            for d in range(2 * width + 1):
                same = same if band[i, d] == band[i - 1, d] else 0
    for i in range(n - 1, -1, -1):
        ahead = m - 1 if edge <= i < n - edge else width
        total = c[i]
        for d in range(min(ahead, n - 1 - i), 0, -1):
            total -= band[i, width + d] * c[i + d]
        c[i] = total / band[i, width]


def jets_uniform(coefficients: FloatArray, n: int, spacing: int, table: FloatArray) -> FloatArray:
    """Derivatives (n, d) at the samples of a spline on uniform knots ``spacing`` samples apart."""
    out = np.empty((n, table.shape[1]))
    _jets_uniform(read_only(coefficients), spacing, read_only(table), out)
    return out


@kernel(error_model="numpy", _nrt=False)
def _jets_uniform(coefficients: FloatArray, spacing: int, table: FloatArray, out: FloatArray) -> None:
    n = out.shape[0]
    n_intervals = (n - 2) // spacing + 1
    for i in range(n):
        k = min(i // spacing, n_intervals - 1)
        r = i - k * spacing
        for d in range(table.shape[1]):
            total = 0.0
            for a in range(table.shape[2]):
                total += table[r, d, a] * coefficients[k + a]
            out[i, d] = total


def jets_not_a_knot(coefficients: FloatArray, degree: int, table: FloatArray) -> FloatArray:
    """Derivatives (n, d) at the samples of a not-a-knot spline; ``table`` (d, degree + 1) is the stencil."""
    n, m = coefficients.shape[0], (degree + 1) // 2
    edge = degree + m
    out = np.empty((n, table.shape[0]))
    for samples, functions, ends in _ends(n, degree, table.shape[0] - 1):
        out[samples] = (ends @ coefficients[functions]).T
    if n > 2 * edge:
        windows = np.lib.stride_tricks.sliding_window_view(coefficients, degree)
        np.matmul(windows[edge - m + 1 : n - edge - m + 1], table[:, :degree].T, out=out[edge : n - edge])
    return out


def evaluate_spline(
    x: FloatArray, knots: FloatArray, coefficients: FloatArray, degree: int, derivative: int
) -> FloatArray:
    """One derivative at any abscissae; the end polynomials continue outside the knots."""
    values: FloatArray = BSpline(knots, coefficients, degree)(x, nu=derivative)
    return values
