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
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from jetode.signal.bspline import (
    evaluate_spline,
    interpolation_coefficients,
    jets_not_a_knot,
    jets_uniform,
    not_a_knot_knots,
)
from jetode.signal.noise import noise_scale
from jetode.signal.normal_equations import basis_table, factorise, project, residual, solve, span_matrices, trace
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

Rule = Literal["residual", "gcv", "reml", "interpolate", "weight"]

SMALLEST_WEIGHT = 1e-8  # in sample units: below it the smoothing spline interpolates
CONDITION = 1e10  # allowed to the normal equations; with κ = 4^m (L/spacing)^2m it sets the knot spacing
FEWEST_INTERVALS = 16
LAST = 8  # fits that are kept: a record is smoothed for its screen, for equations of every order and for its trials


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
        table = basis_table(self.degree, self.spacing, order)
        if self.weight == 0.0:
            jets = jets_not_a_knot(self.coefficients, self.degree, table[0])
        else:
            jets = jets_uniform(self.coefficients, self.n, self.spacing, table)
        if self.dt != 1.0:
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
    size = weight / unit if rule == "weight" and weight else None
    found = _fitted(y.tobytes(), degree, rule, sigma, size)
    if found is None:
        stencil = basis_table(degree, 1, 0)[0, 0]
        coefficients = interpolation_coefficients(y, degree, stencil)
        return SmoothingSpline(coefficients, n, dt, degree, 1, rule, 0.0, float(n), 0.0)
    used = exp(found.log_weight) * unit
    return SmoothingSpline(found.coefficients, n, dt, degree, found.spacing, rule, used, found.dof, found.rss)


class _Found(NamedTuple):
    """What is left of a fit, in units of samples."""

    log_weight: float
    spacing: int
    coefficients: FloatArray
    rss: float
    dof: float


@lru_cache(maxsize=LAST)
def _fitted(samples: bytes, degree: int, rule: Rule, sigma: float | None, weight: float | None) -> _Found | None:
    """The fit to samples, given by their bytes, with λ by ``rule``; None where the spline interpolates."""
    y = np.frombuffer(samples).copy()  # a kernel takes what is read-only for another type
    problem = _Problem(y, degree)
    fit: _Fit | None
    if rule == "residual":
        fit = _residual_target(problem, y.size * (noise_scale(y) if sigma is None else sigma) ** 2)
    elif rule == "gcv":
        fit = problem.solve(_minimise(problem.gcv, problem))
    elif rule == "reml":
        fit = problem.solve(_reml(problem))
    else:
        fit = problem.solve(log(weight)) if weight else None
    if fit is None:
        return None
    return _Found(fit.log_weight, fit.spacing, fit.coefficients, fit.rss, problem.dof(fit))


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
        values = basis_table(self.degree, spacing, 0)[:, 0]
        n = self.y.shape[0]
        if spacing not in self._projections:
            self._projections[spacing] = project(self.y, spacing, values)
        gram, penalty = span_matrices(n, self.degree, spacing)
        elements = gram + exp(log_weight) * penalty
        factor = factorise(elements, (n - 2) // spacing + 1, self.transient(log_weight, spacing))
        coefficients = solve(self._projections[spacing], *factor)
        gradient, rss = residual(self.y, coefficients, spacing, values)
        return _Fit(log_weight, spacing, coefficients, gradient, rss, factor)

    def dof(self, fit: _Fit) -> float:
        """tr B (BᵀB + λΩ)⁻¹ Bᵀ."""
        gram, _ = span_matrices(self.y.shape[0], self.degree, fit.spacing)
        transient = self.transient(fit.log_weight, fit.spacing)
        return float(trace(gram, (self.y.shape[0] - 2) // fit.spacing + 1, transient, *fit.factor))

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
        slope = 2.0 * float(fit.gradient @ solve(fit.gradient, *fit.factor)) / max(fit.rss, 1e-300)
        step = -misfit / slope if slope > 0 else -np.copysign(largest, misfit)
        x += float(np.clip(step, -largest, largest))
        if not low < x < high:
            x = (low + high) / 2
