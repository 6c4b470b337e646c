"""Reinsch's smoothing spline of odd degree p = 2m − 1, min Σ(y_i − f(t_i))² + λ ∫ (f^(m))² dt (docs/mathematics.md
(1.2)).

Time is counted in samples inside, λ converts by dt^(2m−1), so the result is the same in any unit.  The
spline is a sum of uniform B-splines whose knots lie ``spacing`` samples apart: 1, or more but well below the
smoothing length L = λ^(1/2m), which leaves the fit as it is and keeps the normal equations
(BᵀB + λΩ) c = Bᵀy well conditioned.  They are banded and, away from the ends, the same in every row: the LDLᵀ
factor and the band of the inverse (Takahashi; Hutchinson & de Hoog) settle to constants computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, log, pi, sin
from typing import Literal, get_args

import numpy as np
from numba import njit
from scipy.optimize import brentq, minimize_scalar

from jetode.signal.bspline import (
    evaluate_spline,
    interpolation_coefficients,
    jets_not_a_knot,
    jets_uniform,
    not_a_knot_knots,
    uniform_table,
)
from jetode.signal.noise import noise_scale
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

Rule = Literal["residual", "gcv", "reml", "interpolate", "weight"]

SMALLEST_WEIGHT = 1e-8  # in sample units: below it the smoothing spline interpolates
CONDITION = 1e10  # allowed to the normal equations; with κ = 4^m (L/spacing)^2m it sets the knot spacing
FEWEST_INTERVALS = 16


@dataclass(frozen=True, eq=False)
class SmoothingSpline:
    """A fitted spline; ``weight`` is λ in the units of the record, ``dof`` the trace of the smoother matrix.

    ``weight`` 0 means that the spline interpolates, with not-a-knot ends, whatever the rule that led there.
    """

    coefficients: FloatArray
    n: int
    dt: float
    degree: int
    spacing: int
    rule: Rule
    weight: float
    dof: float
    rss: float
    knots: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.weight == 0.0:
            knots = not_a_knot_knots(self.n, self.degree)
        else:
            count = self.coefficients.shape[0] + self.degree + 1
            knots = self.spacing * (np.arange(count, dtype=float) - self.degree)
        knots.setflags(write=False)
        self.coefficients.setflags(write=False)
        object.__setattr__(self, "knots", knots)

    def jets(self, order: int) -> FloatArray:
        """Derivatives u0 … u_order at the samples: (n, order + 1)."""
        if not 0 <= order < self.degree:
            raise InputError(
                f"The 'order' parameter must be an int from 0 to {self.degree - 1}, one less than the spline "
                f"degree. Got {order} instead."
            )
        table = _table(self.degree, self.spacing, order)
        if self.weight == 0.0:
            jets = jets_not_a_knot(self.coefficients, self.knots, self.degree, table[0])
        else:
            jets = jets_uniform(self.coefficients, self.n, self.spacing, table)
        jets /= self.dt ** np.arange(order + 1)
        return jets

    def evaluate(self, t: FloatArray, derivative: int = 0) -> FloatArray:
        """One derivative at times ``t`` counted from the first sample."""
        x = np.atleast_1d(np.asarray(t, dtype=float)) / self.dt
        values = evaluate_spline(x, self.knots, self.coefficients, self.degree, derivative)
        return values.reshape(np.shape(t)) / self.dt**derivative


def smooth(
    values: FloatArray,
    dt: float,
    degree: int = 5,
    rule: Rule = "residual",
    sigma: float | None = None,
    weight: float | None = None,
) -> SmoothingSpline:
    """Fit a spline with λ by ``rule``; ``sigma`` (default: estimated) sets the residual target N σ²."""
    if degree < 3 or degree % 2 == 0:
        raise InputError(f"The 'degree' parameter must be an odd int ≥ 3. Got {degree} instead.")
    if rule not in get_args(Rule):
        allowed = ", ".join(get_args(Rule))
        raise InputError(f"The 'rule' parameter must be one of {allowed}. Got {rule!r} instead.")
    y = np.array(values, dtype=float)
    n = y.shape[0]
    if n < degree + 1:
        raise InputError(f"A spline of degree {degree} needs at least {degree + 1} samples. Got {n} instead.")
    if rule == "weight" and (weight is None or not weight >= 0.0):
        raise InputError(f"The 'weight' parameter must be a number ≥ 0 when rule='weight'. Got {weight} instead.")
    unit = dt**degree
    problem = _Problem(y, degree)
    fit: _Fit | None
    if rule == "residual":
        fit = _residual_target(problem, n * (noise_scale(y) if sigma is None else sigma) ** 2)
    elif rule == "gcv":
        fit = problem.solve(_minimise(problem.gcv, problem))
    elif rule == "reml":
        fit = problem.solve(_reml(problem))
    else:
        fit = problem.solve(log(weight / unit)) if rule == "weight" and weight else None
    if fit is None:
        stencil = _table(degree, 1, 0)[0, 0]
        coefficients = interpolation_coefficients(y, not_a_knot_knots(n, degree), degree, stencil)
        return SmoothingSpline(coefficients, n, dt, degree, 1, rule, 0.0, float(n), 0.0)
    used = exp(fit.log_weight) * unit
    return SmoothingSpline(fit.coefficients, n, dt, degree, fit.spacing, rule, used, problem.dof(fit), fit.rss)


# -- choosing λ ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fit:
    """One solve: ``gradient`` is Bᵀr = λΩc; the factor is kept for derivatives and the trace."""

    log_weight: float
    spacing: int
    coefficients: FloatArray
    gradient: FloatArray
    rss: float
    factor: tuple[FloatArray, int, int]


class _Problem:
    """The record and what does not depend on λ (Bᵀy for each knot spacing)."""

    def __init__(self, y: FloatArray, degree: int) -> None:
        self.y = y
        self.degree = degree
        self.m = (degree + 1) // 2
        self.shortest = log(SMALLEST_WEIGHT)
        self.longest = 2 * self.m * log(2.0 * y.shape[0] / self.m)
        self._projections: dict[int, FloatArray] = {}

    def spacing(self, log_weight: float) -> int:
        length = exp(log_weight / (2 * self.m))
        per_length = CONDITION ** (1 / (2 * self.m)) / 2
        largest = min(length / per_length, (self.y.shape[0] - 1) / FEWEST_INTERVALS)
        power = 1 << max(0, int(largest).bit_length() - 1)
        return power + power // 2 if largest >= 1.5 * power > power else power

    def transient(self, log_weight: float, spacing: int) -> int:
        """Rows after which the factor is constant: it settles at the rate 2 sin(π/2m)/L per sample."""
        length = exp(log_weight / (2 * self.m)) / spacing
        return 8 * self.degree + int(18.0 * length / sin(pi / (2 * self.m)))

    def solve(self, log_weight: float) -> _Fit:
        """Fit at λ = exp(log_weight) in sample units, kept within the range in which λ makes a difference."""
        log_weight = min(max(log_weight, self.shortest), self.longest)
        spacing = self.spacing(log_weight)
        values = _table(self.degree, spacing, 0)[:, 0]
        n = self.y.shape[0]
        if spacing not in self._projections:
            self._projections[spacing] = _project(self.y, spacing, values)
        gram, penalty = _elements(n, self.degree, spacing)
        elements = gram + exp(log_weight) * penalty
        factor = _factorise(elements, (n - 2) // spacing + 1, self.transient(log_weight, spacing))
        coefficients = _solve(self._projections[spacing], *factor)
        gradient, rss = _residual(self.y, coefficients, spacing, values)
        return _Fit(log_weight, spacing, coefficients, gradient, rss, factor)

    def dof(self, fit: _Fit) -> float:
        """tr B (BᵀB + λΩ)⁻¹ Bᵀ."""
        gram, _ = _elements(self.y.shape[0], self.degree, fit.spacing)
        transient = self.transient(fit.log_weight, fit.spacing)
        return float(_trace(gram, (self.y.shape[0] - 2) // fit.spacing + 1, transient, *fit.factor))

    def gcv(self, log_weight: float) -> float:
        """log of the generalised cross-validation score N·RSS/(N − dof)²."""
        fit = self.solve(log_weight)
        return log(max(fit.rss, 1e-300)) - 2.0 * log(max(self.y.shape[0] - self.dof(fit), 1e-300))

    def reml_slope(self, log_weight: float) -> float:
        """d(restricted −2 log likelihood)/d log λ = (N − m) J/(RSS + J) − (dof − m), with J = λ cᵀΩc."""
        fit = self.solve(log_weight)
        roughness = float(fit.coefficients @ fit.gradient)
        share = roughness / max(fit.rss + roughness, 1e-300)
        return (self.y.shape[0] - self.m) * share - (self.dof(fit) - self.m)

    def grid(self) -> FloatArray:
        """log λ for smoothing lengths from a quarter sample up, each twice the last."""
        lengths = 0.25 * 2.0 ** np.arange(int(np.log2(8.0 * self.y.shape[0] / self.m)) + 1)
        return 2 * self.m * np.log(lengths)


def _minimise(score: Callable[[float], float], problem: _Problem) -> float:
    grid = problem.grid()
    best = int(np.argmin([score(x) for x in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(minimize_scalar(score, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x)


def _reml(problem: _Problem) -> float:
    """The lowest of the likelihood's minima: its slope is integrated over the grid, then its zero refined."""
    grid = problem.grid()
    slopes = np.array([problem.reml_slope(x) for x in grid])
    depth = np.concatenate([[0.0], np.cumsum((slopes[1:] + slopes[:-1]) / 2 * np.diff(grid))])
    best = int(np.argmin(depth))
    low = best if slopes[best] < 0 else best - 1
    if low < 0 or low + 1 >= len(grid) or slopes[low] * slopes[low + 1] > 0:
        return float(grid[best])
    return float(brentq(problem.reml_slope, grid[low], grid[low + 1], xtol=1e-6))


def _residual_target(problem: _Problem, target: float) -> _Fit | None:
    """Newton's method on log RSS(log λ) = log target, kept in a bracket; None where only λ = 0 will do."""
    if target <= 0.0:
        return None
    low, high = problem.shortest, problem.longest
    largest = 2 * problem.m * log(4.0)
    x = 2 * problem.m * log(12.0)
    close = False
    while True:
        fit = problem.solve(x)
        misfit = log(max(fit.rss, 1e-300) / target)
        low, high = (low, x) if misfit > 0 else (x, high)
        if close or abs(misfit) < 1e-13 or high - low < 1e-9:
            return fit if x > problem.shortest + 1e-3 else None
        close = abs(misfit) < 1e-6  # one more step, and the quadratic convergence leaves rounding only
        slope = 2.0 * float(fit.gradient @ _solve(fit.gradient, *fit.factor)) / max(fit.rss, 1e-300)
        step = -misfit / slope if slope > 0 else -np.copysign(largest, misfit)
        x += float(np.clip(step, -largest, largest))
        if not low < x < high:
            x = (low + high) / 2


# -- the banded system -----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _table(degree: int, spacing: int, n_derivatives: int) -> FloatArray:
    table = uniform_table(degree, spacing, n_derivatives)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=64)
def _elements(n: int, degree: int, spacing: int) -> tuple[FloatArray, FloatArray]:
    """BᵀB and Ω of one span (p + 1 square), for every full span [0] and for the last one [1]."""
    m = (degree + 1) // 2
    values = _table(degree, spacing, 0)[:, 0]
    last = (n - 2) // spacing * spacing
    gram = np.stack([values[:spacing].T @ values[:spacing], values[: n - last].T @ values[: n - last]])
    # Gauss–Legendre with m nodes is exact for the product of two polynomials of degree m − 1
    nodes, weights = np.polynomial.legendre.leggauss(m)
    knots = np.arange(-degree, degree + 2, dtype=float)
    scratch = np.array([evaluate_spline((nodes + 1) / 2, knots, row, degree, m) for row in np.eye(degree + 1)])
    penalty = (scratch * weights / 2) @ scratch.T / float(spacing) ** degree
    return gram, np.stack([penalty, penalty])


@njit(cache=True)
def _project(y: FloatArray, spacing: int, values: FloatArray) -> FloatArray:
    """Bᵀy."""
    n = y.shape[0]
    n_functions = values.shape[1]
    n_intervals = (n - 2) // spacing + 1
    out = np.zeros(n_intervals + n_functions - 1)
    for i in range(n):
        k = min(i // spacing, n_intervals - 1)
        r = i - k * spacing
        for a in range(n_functions):
            out[k + a] += values[r, a] * y[i]
    return out


@njit(cache=True)
def _residual(y: FloatArray, coefficients: FloatArray, spacing: int, values: FloatArray) -> tuple[FloatArray, float]:
    """Bᵀr and rᵀr for the residual r = y − Bc."""
    n = y.shape[0]
    n_functions = values.shape[1]
    n_intervals = (n - 2) // spacing + 1
    gradient = np.zeros(coefficients.shape[0])
    rss = 0.0
    for i in range(n):
        k = min(i // spacing, n_intervals - 1)
        r = i - k * spacing
        residual = y[i]
        for a in range(n_functions):
            residual -= values[r, a] * coefficients[k + a]
        for a in range(n_functions):
            gradient[k + a] += values[r, a] * residual
        rss += residual * residual
    return gradient, rss


@njit(cache=True)
def _matrix_row(elements: FloatArray, n_intervals: int, j: int, out: FloatArray) -> None:
    """Entries (j, j) … (j, j + p) of the sum of all span matrices."""
    p = out.shape[0] - 1
    for d in range(p + 1):
        total = 0.0
        for a in range(p + 1 - d):
            if 0 <= j - a < n_intervals:
                total += elements[1 if j - a == n_intervals - 1 else 0, a, a + d]
        out[d] = total


@njit(cache=True)
def _stored(j: int, start: int, stop: int) -> int:
    """Row of the factor that holds column j: columns start … stop − 1 share one row."""
    return j if j < start else start if j < stop else j - stop + start + 1


@njit(cache=True)
def _factorise(elements: FloatArray, n_intervals: int, transient: int) -> tuple[FloatArray, int, int]:
    """LDLᵀ: row j holds D_j and L[j + d, j]; columns ``start`` … ``stop`` − 1 are equal and stored once."""
    p = elements.shape[1] - 1
    size = n_intervals + p
    stop = max(n_intervals - 1 - p, 0)
    factor = np.empty((size, p + 1))
    row = np.empty(p + 1)
    start = size
    settled = 0
    used = 0
    j = 0
    while j < size:
        _matrix_row(elements, n_intervals, j, row)
        for d in range(p + 1):
            total = row[d]
            for k in range(1, min(p - d, used) + 1):
                previous = factor[used - k]
                total -= previous[d + k] * previous[0] * previous[k]
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
    return factor[:used].copy(), start, stop if start < size else size


@njit(cache=True)
def _solve(rhs: FloatArray, factor: FloatArray, start: int, stop: int) -> FloatArray:
    size = rhs.shape[0]
    p = factor.shape[1] - 1
    x = rhs.copy()
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
    return x


@njit(cache=True)
def _trace(gram: FloatArray, n_intervals: int, transient: int, factor: FloatArray, start: int, stop: int) -> float:
    """tr(A⁻¹G): the band of A⁻¹ row by row from the last, until it settles where the factor is constant."""
    p = gram.shape[1] - 1
    size = n_intervals + p
    inverse = np.zeros((p + 1, p + 1))  # inverse[k, d] = A⁻¹[j + k, j + k + d]; k = 0 is being computed
    row = np.empty(p + 1)
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
