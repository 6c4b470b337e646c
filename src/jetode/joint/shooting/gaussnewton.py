"""Levenberg-damped Gauss–Newton on the shooting cost at one continuity level q (docs/mathematics.md (4.1))."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from jetode.joint.shooting.elimination import eliminate_nodes, propagate_covariance, propagate_step
from jetode.joint.shooting.kernels import evaluate_path, linearise, sample_states
from jetode.joint.shooting.layout import Layout, Tableau, Terms
from jetode.support.arrays import FloatArray
from jetode.support.threads import side_by_side

HALVED = 120  # nodes from which on a record is linearised in two halves: a tenth of a millisecond of work in each
# Backtracking along the Gauss–Newton step: at small q the valley is curved and a full step overshoots.
STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)


@dataclass(frozen=True)
class Data:
    """What is fitted, dimensionless: samples ``y``, their weights 1/σ² (0 = missing), nodes, integrator, and the size
    of each coordinate's jumps relative to q (S of docs/mathematics.md (4.13); None: all alike)."""

    y: FloatArray
    weight: FloatArray
    layout: Layout
    tableau: Tableau
    scale: FloatArray | None = None

    @property
    def n_samples(self) -> int:
        """Samples that are there."""
        return int(np.count_nonzero(self.weight))


@dataclass(frozen=True)
class Fit:
    """A point of the joint fit: terms with their coefficients, node states, and the two parts of the cost."""

    terms: Terms
    states: FloatArray
    q: float
    misfit: float
    jumps: float
    iterations: int
    converged: bool

    @property
    def cost(self) -> float:
        """Σ ω r² + Σ jump²/q², without the prior."""
        return self.misfit + self.jumps


class Linearisation:
    """Work arrays of one linearised problem; filled by :meth:`at`, then solved for any damping."""

    def __init__(self, data: Data, terms: Terms) -> None:
        self.data = data
        self.program = terms.program()
        k, d, f = data.layout.first.size, terms.dimension, int(terms.free.sum())
        self.transitions = np.empty((k, d, d))
        self.arrows = np.empty((k, d, f))
        self.defects = np.empty((k, d))
        self.info = np.empty((k, d, d))
        self.cross = np.empty((k, d, f))
        self.gradient = np.empty((k, d))
        self.arrow_info = np.empty((f, f))
        self.arrow_gradient = np.empty(f)
        self.n_free = f
        self.free, self.mean, self.precision = terms.free, terms.mean[terms.free], terms.precision[terms.free]
        edges = (0, k // 2, k) if k >= HALVED else (0, k)
        self.parts = [(begin, self._part(begin, end)) for begin, end in pairwise(edges)]

    def _part(self, begin: int, end: int) -> Linearisation:
        """Some nodes of it: the same arrays, but for the coefficients' own block."""
        part = copy(self)
        layout = self.data.layout
        part.data = replace(
            self.data, layout=layout._replace(first=layout.first[begin:end], spans=layout.spans[begin:end])
        )
        for name in ("transitions", "arrows", "defects", "info", "cross", "gradient"):
            setattr(part, name, getattr(self, name)[begin:end])
        part.arrow_info, part.arrow_gradient = np.empty_like(self.arrow_info), np.empty_like(self.arrow_gradient)
        return part

    def at(self, states: FloatArray, coefficients: FloatArray) -> None:
        """Linearise around this point; the prior is added to the coefficients' block."""
        side_by_side(lambda part: linearise(states[part[0] :], coefficients, part[1]), self.parts)
        self.arrow_info[:] = sum(part.arrow_info for _, part in self.parts)
        self.arrow_gradient[:] = sum(part.arrow_gradient for _, part in self.parts)
        self.arrow_info[np.diag_indices(self.n_free)] += self.precision
        self.arrow_gradient += self.precision * (coefficients[self.free] - self.mean)

    def eliminate(self, q: float, damping: float) -> Elimination:
        """Eliminate all node states for this q and damping."""
        scale = self.data.scale
        squares = np.full(self.defects.shape[1], q * q) if scale is None else (q * scale) ** 2
        return Elimination(self, squares, *eliminate_nodes(self, squares, damping))


@dataclass(frozen=True)
class Elimination:
    """The reduced system of the coefficients (Schur complement) and what the states' back-substitution needs."""

    linear: Linearisation
    squares: FloatArray
    info: FloatArray
    cross: FloatArray
    gradient: FloatArray
    schur: FloatArray
    reduced: FloatArray
    smoothers: FloatArray

    def step(self, marquardt: float) -> tuple[FloatArray, FloatArray]:
        """(coefficients' step, states' steps)."""
        lin = self.linear
        theta = np.zeros(lin.n_free)
        if lin.n_free:
            diagonal = np.maximum(np.diag(self.schur), 1e-12)
            scale = 1.0 / np.sqrt(diagonal)
            matrix = self.schur * scale[:, None] * scale[None, :]
            matrix[np.diag_indices(lin.n_free)] += marquardt
            theta = -scale * np.linalg.lstsq(matrix, scale * self.reduced, rcond=1e-14)[0]
        return theta, self.follow(theta)

    def follow(self, theta: FloatArray) -> FloatArray:
        """The states' steps to where J is lowest for the coefficients' step ``theta``."""
        return propagate_step(self, theta)

    def coefficient_covariance(self) -> FloatArray:
        """Covariance of the free coefficients: the inverse of the Schur complement."""
        diagonal = np.abs(np.diag(self.schur))
        scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))  # no information on a coefficient: variance 0
        inverse = np.linalg.pinv(self.schur * scale[:, None] * scale[None, :], hermitian=True)
        return inverse * scale[:, None] * scale[None, :]

    def state_covariance(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Covariances of each node's state, and of state with coefficients, whose own covariance is given."""
        lin = self.linear
        return propagate_covariance(
            lin.data.layout.spans, lin.transitions, lin.arrows, self.cross, self.smoothers,
            self.squares, coefficients,
        )  # fmt: skip


def minimise(
    data: Data,
    terms: Terms,
    states: FloatArray,
    q: float,
    max_iterations: int = 8,
    tolerance: float = 1e-4,
    interrupt: Callable[[], bool] | None = None,
) -> Fit:
    """Gauss–Newton at one q from a start; stops when the cost's relative decrease is below ``tolerance``
    (per sample in units of the noise), after ``max_iterations``, or when ``interrupt()`` says so."""
    states = np.array(states)
    coefficients = np.array(terms.coefficients)
    free = terms.free
    linear = Linearisation(data, terms)
    predicted = np.empty_like(data.y)
    jumps = np.empty_like(states)

    def cost(at: FloatArray, theta: FloatArray) -> tuple[float, float, float]:
        misfit = evaluate_path(at, theta, data, linear.program, predicted, jumps)
        if not np.isfinite(misfit) or not np.abs(jumps).max() < 1e6:
            return np.inf, np.inf, np.inf
        sized = jumps if data.scale is None else jumps / data.scale
        jump = float(np.sum(sized * sized)) / (q * q)
        prior = float(np.sum(terms.precision[free] * (theta[free] - terms.mean[free]) ** 2))
        return misfit + jump + prior, misfit, jump

    total, misfit, jump = cost(states, coefficients)
    damping = 1e-4
    mean_weight = float(data.weight.sum()) / max(data.n_samples, 1)
    converged = False
    iteration = 0
    while iteration < max_iterations and not converged and np.isfinite(total):
        if interrupt is not None and interrupt():
            break
        linear.at(states, coefficients)
        iteration += 1
        improved = False
        for _ in range(5):
            eliminated = linear.eliminate(q, damping * mean_weight)
            if not np.all(np.isfinite(eliminated.schur)):
                break
            theta_step, steps = eliminated.step(damping)
            for length in STEP_LENGTHS:
                trial = coefficients.copy()
                trial[free] += length * theta_step
                trial_states = states + length * steps
                new, new_misfit, new_jump = cost(trial_states, trial)
                if new < total:
                    improved = True
                    break
            if improved:
                break
            damping = max(damping, 1e-6) * 30.0
        if not improved:
            converged = bool(np.all(np.isfinite(eliminated.schur)))
            break
        converged = length == 1.0 and total - new < tolerance * max(new, 1.0)
        states = trial_states
        coefficients = trial
        total, misfit, jump = new, new_misfit, new_jump
        damping *= 0.1 if damping > 1e-9 else 1.0
    return Fit(terms.with_coefficients(coefficients), states, q, misfit, jump, iteration, converged)


def path_states(fit: Fit, data: Data) -> FloatArray:
    """Dimensionless states at every sample."""
    out = np.empty((data.y.size, fit.terms.dimension))
    sample_states(fit.states, fit.terms.coefficients, fit.terms.program(), data.layout, data.tableau, out)
    return out
