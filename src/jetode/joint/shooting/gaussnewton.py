"""Levenberg-damped Gauss–Newton on the shooting cost at one continuity level q (docs/mathematics.md (4.1))."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite

import numpy as np

from jetode.joint.progress import charged
from jetode.joint.shooting.censored import expected_cost, surrogate
from jetode.joint.shooting.elimination import eliminate_nodes, promised_fall, propagate_covariance, propagate_step
from jetode.joint.shooting.flow import evaluate_path, jump_cost, path_scratch, sample_states
from jetode.joint.shooting.kernels import linearise
from jetode.joint.shooting.layout import Layout, Tableau, Terms
from jetode.support.arrays import FloatArray, IntArray, diagonal
from jetode.support.threads import side_by_side

HALVED = 120  # nodes from which on a record is linearised in two halves: a tenth of a millisecond of work in each
# Backtracking along the Gauss–Newton step: at small q the valley is curved and a full step overshoots.
STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03)
FARTHEST = 1e6  # std: a path that jumps by more has blown up
NOWHERE, NO_COLOUR = np.empty(0, np.int64), np.empty(0)
KEPT = 0.1  # of the tolerance: a step that gains what was promised to this has not done so by chance


@dataclass(frozen=True)
class Data:
    """What is fitted, dimensionless: samples ``y``, their weights 1/σ² (0 = missing), nodes, integrator, and the size
    of each coordinate's jumps relative to q (S of docs/mathematics.md (4.13); None: all alike).  ``side``: 1 where a
    sample says only that the signal lies there or above, −1 there or below, 0 there (None: everywhere).  ``colour``:
    the correlation of each sample's noise with that of the one before, (4.18), −1 where a record begins (None: the
    noise is white); weights are then those of what is not foretold."""

    y: FloatArray
    weight: FloatArray
    layout: Layout
    tableau: Tableau
    scale: FloatArray | None = None
    side: FloatArray | None = None
    colour: FloatArray | None = None

    @property
    def correlations(self) -> FloatArray:
        """``colour`` as the kernels take it, empty for white noise."""
        return NO_COLOUR if self.colour is None else self.colour

    def whitened(self, residuals: FloatArray) -> FloatArray:
        """What each of the residuals has beyond what the one before foretells."""
        if self.colour is None:
            return residuals
        return np.asarray(residuals - np.maximum(self.colour, 0.0) * np.concatenate([[0.0], residuals[:-1]]))

    @property
    def n_samples(self) -> int:
        """Samples that are there; of one-sided ones, most of which cost nothing, as many as their cost is expected."""
        if self.side is None:
            return int(np.count_nonzero(self.weight))
        return expected_cost(self.y, self.weight, self.side)

    def sided(self, predicted: FloatArray) -> tuple[IntArray, FloatArray]:
        """Which samples are one-sided, and by how many σ the path lies beyond each."""
        if self.side is None:
            return NOWHERE, np.empty(0)
        at = np.flatnonzero((self.side != 0.0) & (self.weight > 0.0))
        return at, self.side[at] * (predicted[at] - self.y[at]) * np.sqrt(self.weight[at])


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
        self.diagonal = diagonal(self.arrow_info)
        self.misfit = np.inf
        self.y, self.weight = (data.y, data.weight) if data.side is None else (data.y.copy(), data.weight.copy())
        self.colour = data.correlations
        self.scratch: tuple[FloatArray, ...] | None = None
        self.elimination_scratch: tuple[FloatArray, ...] | None = None
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
        exact = None if self.data.side is None else self._lay_one_sided(states, coefficients)
        slopes = coefficients[self.program.partials.terms] * self.program.partials.powers
        with np.errstate(over="ignore", invalid="ignore"):  # of a start that blows up, which costs inf
            side_by_side(lambda part: linearise(states[part[0] :], coefficients, slopes, part[1]), self.parts)
            self.arrow_info[:] = sum(part.arrow_info for _, part in self.parts)
            self.arrow_gradient[:] = sum(part.arrow_gradient for _, part in self.parts)
        self.misfit = sum(part.misfit for _, part in self.parts) if exact is None else exact
        self.diagonal += self.precision
        self.arrow_gradient += self.precision * (coefficients[self.free] - self.mean)

    def _lay_one_sided(self, states: FloatArray, coefficients: FloatArray) -> float:
        """One-sided samples as those with the same slope and curvature at this path; what all samples cost."""
        predicted, jumps = np.empty_like(self.data.y), np.empty_like(states)
        cost = evaluate_path(states, coefficients, self.data, self.program, predicted, jumps)
        at, beyond = self.data.sided(predicted)
        assert self.data.side is not None
        with np.errstate(divide="ignore", invalid="ignore"):  # of a path that has blown up
            curvature, total = surrogate(beyond)
            self.weight[at] = self.data.weight[at] * curvature
            self.y[at] = predicted[at] + self.data.side[at] / (total * np.sqrt(self.data.weight[at]))
        return float(cost)

    def jump_squares(self, q: float) -> FloatArray:
        """The squared size of each coordinate's jumps."""
        scale = self.data.scale
        return np.full(self.defects.shape[1], q * q) if scale is None else (q * scale) ** 2

    def eliminate(self, q: float, damping: float) -> Elimination:
        """Eliminate all node states for this q and damping."""
        squares = self.jump_squares(q)
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
            scale = 1.0 / np.sqrt(np.maximum(self.schur.diagonal(), 1e-12))
            matrix = self.schur * scale[:, None] * scale[None, :]
            diagonal(matrix)[:] += marquardt
            theta = -scale * np.linalg.lstsq(matrix, scale * self.reduced, rcond=1e-14)[0]
        return theta, self.follow(theta)

    def follow(self, theta: FloatArray) -> FloatArray:
        """The states' steps to where J is lowest for the coefficients' step ``theta``."""
        return propagate_step(self, theta)

    def promised(self, theta: FloatArray, steps: FloatArray) -> float:
        """By how much the linearised problem says that these steps lower the cost."""
        lin = self.linear
        return promised_fall(lin, self.squares, theta, steps) - float(
            theta @ (lin.arrow_info @ theta + 2.0 * lin.arrow_gradient)
        )

    def held_back(self, marquardt: float) -> float:
        """What the linearised problem says could still be gained beyond a damped step of the coefficients,
        Σ g² μ²/(λ (λ + μ)²) over the directions of the reduced system: in a thin valley the damping ends a step, not
        the minimum."""
        if not self.linear.n_free:
            return 0.0
        scale = 1.0 / np.sqrt(np.maximum(np.diag(self.schur), 1e-12))
        values, vectors = np.linalg.eigh(self.schur * scale[:, None] * scale[None, :])
        values = np.maximum(values, 1e-14 * values[-1])
        slopes = vectors.T @ (scale * self.reduced)
        return float(np.sum(slopes**2 * marquardt**2 / (values * (values + marquardt) ** 2)))

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


@dataclass(frozen=True)
class _Point:
    """A path with its coefficients, and what it costs with and without the prior."""

    states: FloatArray
    coefficients: FloatArray
    total: float
    misfit: float
    jumps: float


class _Descent:
    """The cost of one problem at one q, and the damped steps that lower it."""

    def __init__(self, data: Data, terms: Terms, q: float) -> None:
        self.data, self.terms, self.q = data, terms, q
        self.linear = Linearisation(data, terms)
        self.damping = 1e-4
        self.mean_weight = float(data.weight.sum()) / max(data.n_samples, 1)
        self.sizes = self.linear.jump_squares(q)
        self._scratch = path_scratch(self.linear.program, data.tableau)
        self._predicted, self._jumps = np.empty_like(data.y), np.empty((data.layout.first.size, terms.dimension))

    def linearised(self, states: FloatArray, coefficients: FloatArray) -> _Point:
        """The point that the linearisation is then around: its cost comes with it."""
        self.linear.at(states, coefficients)
        return self._priced(states, coefficients, self.linear.misfit, self.linear.defects)

    def evaluated(self, states: FloatArray, coefficients: FloatArray, most: float) -> _Point:
        """A point to be tried; given up (cost inf) where it costs more than ``most``."""
        problem, limit = (self.data, self.linear.program), (self.sizes, most)
        misfit = evaluate_path(states, coefficients, *problem, self._predicted, self._jumps, limit, self._scratch)
        return self._priced(states, coefficients, misfit, self._jumps)

    def _priced(self, states: FloatArray, coefficients: FloatArray, misfit: float, jumps: FloatArray) -> _Point:
        linear, jump = self.linear, jump_cost(jumps, self.sizes, FARTHEST) if isfinite(misfit) else np.inf
        if jump == np.inf:
            return _Point(states, coefficients, np.inf, np.inf, np.inf)
        prior = float((linear.precision * (coefficients[linear.free] - linear.mean) ** 2).sum())
        return _Point(states, coefficients, misfit + jump + prior, misfit, jump)

    def _arrived(
        self, gained: float, eliminated: Elimination, steps: tuple[FloatArray, FloatArray], rough: bool, little: float
    ) -> bool:
        """Whether less than ``little`` is left to gain after a full step: no more than it gained, nor than it missed
        what was promised by; and what the damping held back."""
        left = min(gained, abs(eliminated.promised(*steps) - gained) / KEPT) if rough else gained
        return left < little and left + eliminated.held_back(self.damping) < little

    def step(self, here: _Point, rough: bool, tolerance: float) -> tuple[_Point | None, bool]:
        """A cheaper point along the step of the linearised problem (None where there is none), and whether there is
        nothing left to gain beyond it; with a point, only a full step can tell, and without one, whether the problem
        could be solved."""
        for _ in range(5):
            eliminated = self.linear.eliminate(self.q, self.damping * self.mean_weight)
            if not np.isfinite(eliminated.schur).all():
                return None, False
            theta, steps = eliminated.step(self.damping)
            for length in STEP_LENGTHS:
                coefficients = here.coefficients.copy()
                coefficients[self.linear.free] += length * theta
                trial = self.evaluated(here.states + length * steps, coefficients, here.total)
                if trial.total < here.total:
                    gained, little = here.total - trial.total, tolerance * max(trial.total, 1.0)
                    full = length == STEP_LENGTHS[0]
                    arrived = full and self._arrived(gained, eliminated, (theta, steps), rough, little)
                    self.damping *= 0.1 if self.damping > 1e-9 else 1.0
                    return trial, arrived
            self.damping = max(self.damping, 1e-6) * 30.0
        return None, True


def minimise(
    data: Data,
    terms: Terms,
    states: FloatArray,
    q: float,
    max_iterations: int = 8,
    tolerance: float = 1e-4,
    interrupt: Callable[[], bool] | None = None,
    rough: bool = False,
) -> Fit:
    """Gauss–Newton at one q from a start; stops when the cost's relative decrease is below ``tolerance``
    (per sample in units of the noise), after ``max_iterations``, or when ``interrupt()`` says so.

    ``rough``, for a level that only leads to the next: it also stops where a full step has led to the cost that the
    linearised problem had promised, to that tolerance; another would find no more than its curvature."""
    descent = _Descent(data, terms, q)
    stop = charged(interrupt, work(data, terms))
    here = descent.linearised(np.array(states), np.array(terms.coefficients))
    converged = False
    iteration = 0
    while iteration < max_iterations and not converged and np.isfinite(here.total):
        if stop():
            break
        if iteration > 0:
            descent.linearised(here.states, here.coefficients)
        iteration += 1
        found, converged = descent.step(here, rough, tolerance)
        if found is None:
            break
        here = found
    return Fit(
        terms.with_coefficients(here.coefficients), here.states, q, here.misfit, here.jumps, iteration, converged
    )


def work(data: Data, terms: Terms) -> float:
    """What an iteration takes, in seconds of the machine of docs/measured.md, to a factor of two: a fit to the times of
    4,000 calls of :func:`minimise` in the searches of seven records."""
    layout, d = data.layout, terms.dimension
    columns = d + int(np.count_nonzero(terms.free))
    evaluations = int(layout.spans.sum()) // layout.stride * layout.substeps * len(data.tableau.b)
    a_stage = 13.0 + 0.43 * d * columns + 80.0 * len(terms.elements)
    a_node = 26.0 * d**3 + 1.6 * columns**2
    return 1e-9 * (6e5 + a_stage * evaluations + a_node * layout.first.size)


def path_states(fit: Fit, data: Data) -> FloatArray:
    """Dimensionless states at every sample."""
    out = np.empty((data.y.size, fit.terms.dimension))
    sample_states(fit.states, fit.terms.coefficients, fit.terms.program(), data.layout, data.tableau, out)
    return out
