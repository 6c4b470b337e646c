"""B-splines on sample knots: basis tables, interpolation by collocation, evaluation (de Boor 1978).

Abscissae are sample indices 0 … N−1 throughout.  A spline of odd degree p = 2m − 1 is a pair (knots,
coefficients); in span ℓ (``knots[ℓ] ≤ x < knots[ℓ+1]``) the non-zero basis functions are ℓ−p … ℓ.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from jetode.support.arrays import FloatArray


@njit(cache=True)
def fill_basis(knots: FloatArray, degree: int, span: int, x: float, n_derivatives: int, out: FloatArray) -> None:
    """``out[d, a]``: derivative d at x of basis function ``span − degree + a`` (Piegl & Tiller, A2.3)."""
    p = degree
    ndu = np.empty((p + 1, p + 1))
    ndu[0, 0] = 1.0
    for j in range(1, p + 1):
        saved = 0.0
        for r in range(j):
            right = knots[span + r + 1]
            left = knots[span + 1 - j + r]
            ndu[j, r] = right - left
            temp = ndu[r, j - 1] / ndu[j, r]
            ndu[r, j] = saved + (right - x) * temp
            saved = (x - left) * temp
        ndu[j, j] = saved
    for a in range(p + 1):
        out[0, a] = ndu[a, p]
    work = np.zeros((2, p + 1))
    for r in range(p + 1):
        old, new = 0, 1
        work[0, 0] = 1.0
        factor = 1.0
        for k in range(1, n_derivatives + 1):
            total = 0.0
            rk, pk = r - k, p - k
            if r >= k:
                work[new, 0] = work[old, 0] / ndu[pk + 1, rk]
                total = work[new, 0] * ndu[rk, pk]
            first = 1 if rk >= -1 else -rk
            last = k - 1 if r - 1 <= pk else p - r
            for j in range(first, last + 1):
                work[new, j] = (work[old, j] - work[old, j - 1]) / ndu[pk + 1, rk + j]
                total += work[new, j] * ndu[rk + j, pk]
            if r <= pk:
                work[new, k] = -work[old, k - 1] / ndu[pk + 1, r]
                total += work[new, k] * ndu[r, pk]
            factor *= p - k + 1
            out[k, r] = total * factor
            old, new = new, old


def uniform_table(degree: int, spacing: int, n_derivatives: int) -> FloatArray:
    """``table[r, d, a]``: basis and derivatives r = 0 … ``spacing`` samples into a span of uniform knots."""
    knots = spacing * np.arange(-degree, degree + 2, dtype=float)
    table = np.empty((spacing + 1, n_derivatives + 1, degree + 1))
    for r in range(spacing + 1):
        fill_basis(knots, degree, degree, float(r), n_derivatives, table[r])
    return table


def not_a_knot_knots(n: int, degree: int) -> FloatArray:
    """Clamped knots at the samples, (degree − 1)/2 left out next to each end: n functions remain."""
    m = (degree + 1) // 2
    ends = np.full(degree + 1, 0.0), np.full(degree + 1, n - 1.0)
    return np.concatenate([ends[0], np.arange(m, n - m, dtype=float), ends[1]])


@njit(cache=True)
def interpolation_coefficients(y: FloatArray, knots: FloatArray, degree: int, stencil: FloatArray) -> FloatArray:
    """Solve the collocation system by banded LU without pivots: the matrix is totally positive.

    ``stencil`` holds the 2m − 1 basis values at an interior knot.  Inside the record rows have half-width
    m − 1; only the rows that meet an end span reach further.
    """
    n = y.shape[0]
    m = (degree + 1) // 2
    width = degree - 1
    band = np.zeros((n, 2 * width + 1))
    values = np.empty((1, degree + 1))
    edge = degree + m
    for i in range(n):
        if edge <= i < n - edge:
            for a in range(degree):
                band[i, width - m + 1 + a] = stencil[a]
        else:
            span = sample_span(i, n, degree)
            fill_basis(knots, degree, span, float(i), 0, values)
            for a in range(degree + 1):
                column = span - degree + a - i + width
                if 0 <= column <= 2 * width:
                    band[i, column] = values[0, a]
    c = y.copy()
    for i in range(n):
        inside = edge + width <= i < n - edge
        reach = m - 1 if inside else min(width, i)
        for k in range(i - reach, i):
            below = k - i + width
            if band[i, below] == 0.0:
                continue
            factor = band[i, below] / band[k, width]
            ahead = m - 1 if edge <= k < n - edge else width
            for d in range(1, min(ahead, n - 1 - k) + 1):
                band[i, below + d] -= factor * band[k, width + d]
            c[i] -= factor * c[k]
    for i in range(n - 1, -1, -1):
        ahead = m - 1 if edge <= i < n - edge else width
        total = c[i]
        for d in range(min(ahead, n - 1 - i), 0, -1):
            total -= band[i, width + d] * c[i + d]
        c[i] = total / band[i, width]
    return c


@njit(cache=True)
def sample_span(i: int, n: int, degree: int) -> int:
    """Span of sample i among the not-a-knot knots."""
    m = (degree + 1) // 2
    if i < m:
        return degree
    return min(i, n - 1 - m) + m


@njit(cache=True)
def jets_uniform(coefficients: FloatArray, n: int, spacing: int, table: FloatArray) -> FloatArray:
    """Derivatives (n, d) at the samples of a spline on uniform knots ``spacing`` samples apart."""
    n_intervals = (n - 2) // spacing + 1
    n_columns, n_functions = table.shape[1], table.shape[2]
    out = np.empty((n, n_columns))
    for i in range(n):
        k = min(i // spacing, n_intervals - 1)
        r = i - k * spacing
        for d in range(n_columns):
            total = 0.0
            for a in range(n_functions):
                total += table[r, d, a] * coefficients[k + a]
            out[i, d] = total
    return out


@njit(cache=True)
def jets_not_a_knot(coefficients: FloatArray, knots: FloatArray, degree: int, table: FloatArray) -> FloatArray:
    """Derivatives (n, d) at the samples of a not-a-knot spline; ``table`` (d, degree + 1) is the stencil."""
    n = coefficients.shape[0]
    m = (degree + 1) // 2
    n_columns = table.shape[0]
    edge = degree + m
    out = np.empty((n, n_columns))
    values = np.empty((n_columns, degree + 1))
    for i in range(n):
        if edge <= i < n - edge:
            for d in range(n_columns):
                total = 0.0
                for a in range(degree):
                    total += table[d, a] * coefficients[i - m + 1 + a]
                out[i, d] = total
        else:
            span = sample_span(i, n, degree)
            fill_basis(knots, degree, span, float(i), n_columns - 1, values)
            for d in range(n_columns):
                total = 0.0
                for a in range(degree + 1):
                    total += values[d, a] * coefficients[span - degree + a]
                out[i, d] = total
    return out


@njit(cache=True)
def evaluate_spline(
    x: FloatArray, knots: FloatArray, coefficients: FloatArray, degree: int, derivative: int
) -> FloatArray:
    """One derivative at any abscissae; the end polynomials continue outside the knots."""
    out = np.empty(x.shape[0])
    values = np.empty((derivative + 1, degree + 1))
    for i in range(x.shape[0]):
        span = np.searchsorted(knots, x[i], side="right") - 1
        span = max(degree, min(span, coefficients.shape[0] - 1))
        fill_basis(knots, degree, span, x[i], derivative, values)
        total = 0.0
        for a in range(degree + 1):
            total += values[derivative, a] * coefficients[span - degree + a]
        out[i] = total
    return out
