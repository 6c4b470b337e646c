"""Weak-constraint multiple shooting (design.md §4): the compiled Gauss–Newton core of the joint fit.

Unknowns are one state ``X_k`` per node and the free coefficients ``θ`` of a polynomial vector field that is
linear in its coefficients.  Minimised is

    J = Σ_i ω_i (x_0(t_i) − y_i)²  +  Σ_k |X_{k+1} − Φ(X_k; θ)|² / q²  +  Σ_j ρ_j (θ_j − m_j)²,

with ``Φ`` the flow from node to node (fixed Runge–Kutta steps), ``ω = 1/σ²`` and ``q`` the annealed size of
the jumps.  The normal equations are solved as a linear-quadratic problem by a backward Riccati recursion with
the coefficients as an arrow; it stays well conditioned as ``q → 0`` and costs O(record length).

Symbols: ``d`` state dimension, ``T`` monomials, ``J`` terms of the field, ``F`` free coefficients, ``K`` nodes,
``N`` samples.  Everything here is dimensionless; scaling belongs to the callers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .polynomials import Exponents, FloatArray, IntArray, fill_gradients, fill_monomials, monomial_program

BoolArray = NDArray[np.bool_]


class Tableau(NamedTuple):
    """An explicit Runge–Kutta method: strictly lower triangular ``a`` and weights ``b``."""

    a: FloatArray
    b: FloatArray


RK4 = Tableau(
    np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
)


@dataclass(frozen=True)
class Terms:
    """A polynomial vector field as a list of terms: ``x'_row += coefficient · monomial``; the first
    ``chain`` components are ``x'_i = x_{i+1}``.  ``free[j]`` says whether coefficient ``j`` is estimated, and
    ``precision[j] (θ_j − mean[j])²`` is added to the cost (a weak ridge; a hold on the pole while q is large)."""

    dimension: int
    chain: int
    rows: IntArray
    exponents: tuple[Exponents, ...]
    coefficients: FloatArray
    free: BoolArray
    mean: FloatArray
    precision: FloatArray

    def program(self) -> Program:
        """The flat arrays the kernels take."""
        parent, variable, slots = monomial_program(self.exponents, self.dimension)
        free_index = np.full(len(self.exponents), -1, dtype=np.int64)
        free_index[self.free] = np.arange(int(self.free.sum()))
        return Program(self.chain, parent, variable, self.rows, slots, free_index)

    def with_coefficients(self, coefficients: FloatArray) -> Terms:
        """The same terms with other coefficients."""
        return replace(self, coefficients=coefficients)

    def select(self, keep: BoolArray) -> Terms:
        """Only the terms marked in ``keep``."""
        exponents = tuple(e for e, k in zip(self.exponents, keep, strict=True) if k)
        return replace(
            self,
            rows=self.rows[keep],
            exponents=exponents,
            coefficients=self.coefficients[keep],
            free=self.free[keep],
            mean=self.mean[keep],
            precision=self.precision[keep],
        )


class Program(NamedTuple):
    """Flat form of :class:`Terms` for compiled code."""

    chain: int
    parent: IntArray
    variable: IntArray
    rows: IntArray
    slots: IntArray
    free_index: IntArray


class Layout(NamedTuple):
    """Where nodes and samples lie: node ``k`` sits on sample ``first[k]`` and its segment spans ``spans[k]``
    samples (0: the last node of a record).  One Runge–Kutta step covers ``stride`` samples of length
    ``spacing`` (in units of tc); samples inside a step are read off the cubic Hermite interpolant."""

    first: IntArray
    spans: IntArray
    stride: int
    spacing: float


def make_layout(lengths: list[int], node_samples: int, stride: int, spacing: float) -> Layout:
    """Nodes every ``node_samples`` samples in each of several records laid end to end."""
    first: list[int] = []
    spans: list[int] = []
    offset = 0
    for n in lengths:
        nodes = list(range(0, n - 1, node_samples))
        if len(nodes) > 1 and n - 1 - nodes[-1] < stride:
            nodes.pop()
        first += [offset + i for i in nodes] + [offset + n - 1]
        spans += [b - a for a, b in zip(nodes, [*nodes[1:], n - 1], strict=True)] + [0]
        offset += n
    return Layout(np.array(first, np.int64), np.array(spans, np.int64), stride, spacing)


@njit(cache=True)
def _rhs(x, coefficients, chain, parent, variable, rows, slots, table, out):
    fill_monomials(x, parent, variable, table)
    for i in range(chain):
        out[i] = x[i + 1]
    for i in range(chain, x.shape[0]):
        out[i] = 0.0
    for j in range(rows.shape[0]):
        out[rows[j]] += coefficients[j] * table[slots[j]]


@njit(cache=True)
def _step(x, h, coefficients, chain, parent, variable, rows, slots, a, b, stages, table, trial, out):
    """One Runge–Kutta step without sensitivities."""
    d = x.shape[0]
    s = b.shape[0]
    for i in range(s):
        for c in range(d):
            acc = x[c]
            for j in range(i):
                if a[i, j] != 0.0:
                    acc += h * a[i, j] * stages[j, c]
            trial[c] = acc
        _rhs(trial, coefficients, chain, parent, variable, rows, slots, table, stages[i])
    for c in range(d):
        acc = x[c]
        for i in range(s):
            acc += h * b[i] * stages[i, c]
        out[c] = acc


@njit(cache=True)
def _sensitivity_step(
    x, big_s, h, coefficients, chain, parent, variable, rows, slots, free_index, a, b,
    stages, big_stages, table, gradients, jacobian, trial, big_trial,
):  # fmt: skip
    """One Runge–Kutta step of the state ``x`` and of ``S = ∂(x)/∂(X_k, θ)``, both updated in place."""
    d = x.shape[0]
    columns = big_s.shape[1]
    s = b.shape[0]
    n_terms = rows.shape[0]
    for i in range(s):
        for c in range(d):
            trial[c] = x[c]
            for m in range(columns):
                big_trial[c, m] = big_s[c, m]
        for j in range(i):
            f = h * a[i, j]
            if f != 0.0:
                for c in range(d):
                    trial[c] += f * stages[j, c]
                    for m in range(columns):
                        big_trial[c, m] += f * big_stages[j, c, m]
        _rhs(trial, coefficients, chain, parent, variable, rows, slots, table, stages[i])
        fill_gradients(trial, parent, variable, table, gradients)
        for c in range(chain):
            for m in range(columns):
                big_stages[i, c, m] = big_trial[c + 1, m]
        for c in range(chain, d):
            for e in range(d):
                jacobian[c, e] = 0.0
        for j in range(n_terms):
            coefficient = coefficients[j]
            for e in range(d):
                jacobian[rows[j], e] += coefficient * gradients[slots[j], e]
        for c in range(chain, d):
            for m in range(columns):
                big_stages[i, c, m] = 0.0
            for e in range(d):
                f = jacobian[c, e]
                if f != 0.0:
                    for m in range(columns):
                        big_stages[i, c, m] += f * big_trial[e, m]
        for j in range(n_terms):
            if free_index[j] >= 0:
                big_stages[i, rows[j], d + free_index[j]] += table[slots[j]]
    for i in range(s):
        f = h * b[i]
        for c in range(d):
            x[c] += f * stages[i, c]
            for m in range(columns):
                big_s[c, m] += f * big_stages[i, c, m]


@njit(cache=True)
def _hermite(fraction, h):
    """Cubic Hermite weights of (x_left, x'_left, x_right, x'_right)."""
    f2 = fraction * fraction
    f3 = f2 * fraction
    return 2 * f3 - 3 * f2 + 1, h * (f3 - 2 * f2 + fraction), 3 * f2 - 2 * f3, h * (f3 - f2)


@njit(cache=True)
def evaluate_path(states, coefficients, y, weight, program, layout, tableau, predicted, jumps):
    """Fill the predicted samples and the jumps ``X_{k+1} − Φ(X_k)``; returns Σ ω r² (inf if it blew up)."""
    chain, parent, variable, rows, slots, _ = program
    first, spans, stride, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape
    stages = np.empty((b.shape[0], d))
    table = np.empty(parent.shape[0])
    trial = np.empty(d)
    left = np.empty(d)
    right = np.empty(d)
    cost = 0.0
    for k in range(n_nodes):
        left[:] = states[k]
        i = first[k]
        end = first[k] + spans[k]
        predicted[i] = left[0]
        while i < end:
            n = min(stride, end - i)
            h = n * spacing
            _step(left, h, coefficients, chain, parent, variable, rows, slots, a, b, stages, table, trial, right)
            if n > 1:
                for m in range(1, n):
                    w0, w1, w2, w3 = _hermite(m / n, h)
                    predicted[i + m] = w0 * left[0] + w1 * left[1] + w2 * right[0] + w3 * right[1]
            i += n
            if i < end:
                predicted[i] = right[0]
            left[:] = right
        for c in range(d):
            jumps[k, c] = states[k + 1, c] - left[c] if spans[k] > 0 else 0.0
    for i in range(y.shape[0]):
        if weight[i] > 0.0:
            r = predicted[i] - y[i]
            cost += weight[i] * r * r
    return cost if np.isfinite(cost) else np.inf


@njit(cache=True)
def linearise(
    states, coefficients, y, weight, program, layout, tableau, n_free,
    transitions, arrows, defects, info, cross, gradient, arrow_info, arrow_gradient,
):  # fmt: skip
    """First-order expansion of one cost around (states, θ).

    Per node: ``transitions`` A = ∂Φ/∂X, ``arrows`` B = ∂Φ/∂θ, ``defects`` c = Φ − X_{k+1}; from the samples of its
    segment ``info`` H, ``cross`` H_Xθ, ``gradient`` g; and, for the coefficients, ``arrow_info``, ``arrow_gradient``.
    """
    chain, parent, variable, rows, slots, free_index = program
    first, spans, stride, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape
    columns = d + n_free
    s = b.shape[0]
    stages = np.empty((s, d))
    big_stages = np.empty((s, d, columns))
    table = np.empty(parent.shape[0])
    gradients = np.empty((parent.shape[0], d))
    jacobian = np.zeros((d, d))
    trial = np.empty(d)
    big_trial = np.empty((d, columns))
    x = np.empty(d)
    big_s = np.empty((d, columns))
    left = np.empty(2)
    big_left = np.zeros((2, columns))
    v = np.empty(columns)
    block = np.empty((columns, columns))
    slope = np.empty(columns)
    arrow_info[:] = 0.0
    arrow_gradient[:] = 0.0
    for k in range(n_nodes):
        x[:] = states[k]
        big_s[:] = 0.0
        for c in range(d):
            big_s[c, c] = 1.0
        block[:] = 0.0
        slope[:] = 0.0
        i = first[k]
        end = i + spans[k]
        if weight[i] > 0.0:
            block[0, 0] += weight[i]
            slope[0] += weight[i] * (x[0] - y[i])
        while i < end:
            n = min(stride, end - i)
            h = n * spacing
            if n > 1:
                left[0] = x[0]
                left[1] = x[1]
                big_left[0] = big_s[0]
                big_left[1] = big_s[1]
            _sensitivity_step(
                x, big_s, h, coefficients, chain, parent, variable, rows, slots, free_index, a, b,
                stages, big_stages, table, gradients, jacobian, trial, big_trial,
            )  # fmt: skip
            for m in range(1, n + 1):
                if i + m < end and weight[i + m] > 0.0:
                    if m < n:
                        w0, w1, w2, w3 = _hermite(m / n, h)
                        value = w0 * left[0] + w1 * left[1] + w2 * x[0] + w3 * x[1]
                        for e in range(columns):
                            v[e] = w0 * big_left[0, e] + w1 * big_left[1, e] + w2 * big_s[0, e] + w3 * big_s[1, e]
                    else:
                        value = x[0]
                        for e in range(columns):
                            v[e] = big_s[0, e]
                    r = value - y[i + m]
                    for e in range(columns):
                        f = weight[i + m] * v[e]
                        slope[e] += f * r
                        for g in range(e, columns):
                            block[e, g] += f * v[g]
            i += n
        for e in range(d):
            gradient[k, e] = slope[e]
            for g in range(e, d):
                info[k, e, g] = block[e, g]
                info[k, g, e] = block[e, g]
            for g in range(n_free):
                cross[k, e, g] = block[e, d + g]
        for e in range(n_free):
            arrow_gradient[e] += slope[d + e]
            for g in range(e, n_free):
                arrow_info[e, g] += block[d + e, d + g]
        for c in range(d):
            defects[k, c] = x[c] - states[k + 1, c] if spans[k] > 0 else 0.0
            for e in range(d):
                transitions[k, c, e] = big_s[c, e]
            for e in range(n_free):
                arrows[k, c, e] = big_s[c, d + e]
    for e in range(n_free):
        for g in range(e):
            arrow_info[e, g] = arrow_info[g, e]


@njit(cache=True)
def _invert_small(matrix, out):
    """Inverse of a small symmetric positive definite matrix by Gauss–Jordan (no LAPACK call overhead)."""
    d = matrix.shape[0]
    work = matrix.copy()
    out[:] = 0.0
    for c in range(d):
        out[c, c] = 1.0
    for c in range(d):
        pivot = work[c, c]
        if pivot == 0.0:
            pivot = 1e-300
        for e in range(d):
            work[c, e] /= pivot
            out[c, e] /= pivot
        for r in range(d):
            if r != c:
                f = work[r, c]
                if f != 0.0:
                    for e in range(d):
                        work[r, e] -= f * work[c, e]
                        out[r, e] -= f * out[c, e]


@njit(cache=True)
def eliminate_nodes(
    spans, transitions, arrows, defects, info, cross, gradient, arrow_info, arrow_gradient, q2, damping,
):  # fmt: skip
    """Backward Riccati recursion: cost-to-go ½ zᵀ[[H, B],[Bᵀ, C]]z + gᵀx + hᵀθ at every node, in place.

    At a node, ``H, B, g`` of all that follows is softened by the jump (W = (1 + q² H)⁻¹), carried through the
    transition and added to what the node's own samples say.  Returns the coefficients' C, h after the first
    nodes have been eliminated too, with the smoothers W and the factors of the first node of every record.
    """
    n_nodes, d = gradient.shape
    n_free = arrow_info.shape[0]
    smoothers = np.empty((n_nodes, d, d))
    c_info = arrow_info.copy()
    c_grad = arrow_gradient.copy()
    soft = np.empty((d, d))
    h1 = np.empty((d, d))
    b1 = np.empty((d, n_free))
    g1 = np.empty(d)
    ha = np.empty((d, d))
    hb = np.empty((d, n_free))
    m1 = np.empty(d)
    for k in range(n_nodes - 1, -1, -1):
        if spans[k] > 0:
            big_a = transitions[k]
            big_b = arrows[k]
            for c in range(d):
                for e in range(d):
                    soft[c, e] = q2 * info[k + 1, c, e]
                soft[c, c] += 1.0
            w = smoothers[k + 1]
            _invert_small(soft, w)
            for c in range(d):
                acc = 0.0
                for e in range(d):
                    acc += w[c, e] * gradient[k + 1, e]
                g1[c] = acc
                for m in range(n_free):
                    acc = 0.0
                    for e in range(d):
                        acc += w[c, e] * cross[k + 1, e, m]
                    b1[c, m] = acc
                for m in range(d):
                    acc = 0.0
                    for e in range(d):
                        acc += w[c, e] * info[k + 1, e, m]
                    h1[c, m] = acc
            for c in range(d):
                for m in range(c):
                    mean = 0.5 * (h1[c, m] + h1[m, c])
                    h1[c, m] = mean
                    h1[m, c] = mean
            for c in range(d):
                acc = g1[c]
                for e in range(d):
                    acc += h1[c, e] * defects[k, e]
                m1[c] = acc
                for m in range(d):
                    acc = 0.0
                    for e in range(d):
                        acc += h1[c, e] * big_a[e, m]
                    ha[c, m] = acc
                for m in range(n_free):
                    acc = 0.0
                    for e in range(d):
                        acc += h1[c, e] * big_b[e, m]
                    hb[c, m] = acc
            for m in range(n_free):
                acc = 0.0
                for c in range(d):
                    acc += big_b[c, m] * m1[c] + b1[c, m] * defects[k, c]
                    acc -= q2 * cross[k + 1, c, m] * g1[c]
                c_grad[m] += acc
                for n in range(m, n_free):
                    acc = 0.0
                    for c in range(d):
                        acc += big_b[c, m] * hb[c, n] + big_b[c, m] * b1[c, n] + b1[c, m] * big_b[c, n]
                        acc -= q2 * cross[k + 1, c, m] * b1[c, n]
                    c_info[m, n] += acc
            for c in range(d):
                acc = 0.0
                for e in range(d):
                    acc += big_a[e, c] * m1[e]
                gradient[k, c] += acc
                for m in range(d):
                    acc = 0.0
                    for e in range(d):
                        acc += big_a[e, c] * ha[e, m]
                    info[k, c, m] += acc
                for m in range(n_free):
                    acc = 0.0
                    for e in range(d):
                        acc += big_a[e, c] * (hb[e, m] + b1[e, m])
                    cross[k, c, m] += acc
        for c in range(d):
            info[k, c, c] += damping
    for m in range(n_free):
        for n in range(m):
            c_info[m, n] = c_info[n, m]
    first_inverse = np.empty((d, d))
    for k in range(n_nodes):
        if k == 0 or spans[k - 1] == 0:
            _invert_small(info[k], first_inverse)
            smoothers[k] = first_inverse
            for m in range(n_free):
                for c in range(d):
                    t = 0.0
                    for e in range(d):
                        t += first_inverse[c, e] * cross[k, e, m]
                    c_grad[m] -= t * gradient[k, c]
                    for n in range(n_free):
                        c_info[m, n] -= t * cross[k, c, n]
    return c_info, c_grad, smoothers


@njit(cache=True)
def propagate_step(
    spans, transitions, arrows, defects, info, cross, gradient, smoothers, q2, theta_step, steps
):
    """Forward sweep: the states' steps that go with the coefficients' step ``theta_step``."""
    n_nodes, d = gradient.shape
    n_free = theta_step.shape[0]
    m1 = np.empty(d)
    t = np.empty(d)
    for k in range(n_nodes):
        begins = k == 0 or spans[k - 1] == 0
        for c in range(d):
            if begins:
                m1[c] = 0.0
            else:
                acc = defects[k - 1, c]
                for e in range(d):
                    acc += transitions[k - 1, c, e] * steps[k - 1, e]
                for m in range(n_free):
                    acc += arrows[k - 1, c, m] * theta_step[m]
                m1[c] = acc
        for c in range(d):
            acc = gradient[k, c]
            for m in range(n_free):
                acc += cross[k, c, m] * theta_step[m]
            if not begins:
                for e in range(d):
                    acc += info[k, c, e] * m1[e]
            t[c] = acc
        factor = 1.0 if begins else q2
        for c in range(d):
            acc = 0.0
            for e in range(d):
                acc += smoothers[k, c, e] * t[e]
            steps[k, c] = m1[c] - factor * acc


@njit(cache=True)
def propagate_covariance(spans, transitions, arrows, cross, smoothers, q2, theta_covariance):
    """Posterior covariance of every node's state, and of state with coefficients (θ uncertain as given).

    Along the chain ``x_{k+1} = W (A x_k + B θ) − q² W H_Xθ θ + ε``, ``ε ~ N(0, q² W)``: exact for the linearised
    problem, smoothed over the whole record; at the last node it is the filter's covariance.
    """
    n_nodes, d = smoothers.shape[:2]
    n_free = theta_covariance.shape[0]
    covariances = np.empty((n_nodes, d, d))
    mixed = np.zeros((n_nodes, d, n_free))
    for k in range(n_nodes):
        w = smoothers[k]
        if k == 0 or spans[k - 1] == 0:
            load = -w @ cross[k]
            covariances[k] = w + load @ theta_covariance @ load.T
            mixed[k] = load @ theta_covariance
        else:
            f = w @ transitions[k - 1]
            load = w @ arrows[k - 1] - q2 * (w @ cross[k])
            both = f @ mixed[k - 1] @ load.T
            covariances[k] = (
                f @ covariances[k - 1] @ f.T + both + both.T + load @ theta_covariance @ load.T + q2 * w
            )
            mixed[k] = f @ mixed[k - 1] + load @ theta_covariance
    return covariances, mixed
