"""Compiled kernels of weak-constraint multiple shooting (design.md §4); see :mod:`jetode.shooting` for the problem.

Flow and sensitivities from node to node, the linearised cost, its solution by a backward Riccati recursion with the
coefficients as an arrow, and the posterior covariance along the path.  Untyped for the type checker: every argument
is a float64 array, or one of the tuples Program, Layout, Tableau.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Only the order of summation is left to the compiler; NaN and infinity keep their meaning.
_KERNEL: Any = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}


@njit(inline="always")
def _rhs(x, coefficients, chain, parent, variable, rows, slots, table, stages, i):
    """Write x' to row ``i`` of ``stages``; the monomials at ``x`` stay in ``table``."""
    d = x.shape[0]
    table[0] = 1.0
    for k in range(1, parent.shape[0]):
        table[k] = table[parent[k]] * x[variable[k]]
    for c in range(chain):
        stages[i, c] = x[c + 1]
    for c in range(chain, d):
        stages[i, c] = 0.0
    for j in range(rows.shape[0]):
        stages[i, rows[j]] += coefficients[j] * table[slots[j]]


@njit(**_KERNEL)
def _step(x, h, coefficients, chain, parent, variable, rows, slots, a, b, stages, table, trial):
    """One Runge–Kutta step without sensitivities, in place."""
    d = x.shape[0]
    s = b.shape[0]
    for i in range(s):
        for c in range(d):
            trial[c] = x[c]
        for j in range(i):
            f = h * a[i, j]
            if f != 0.0:
                for c in range(d):
                    trial[c] += f * stages[j, c]
        _rhs(trial, coefficients, chain, parent, variable, rows, slots, table, stages, i)
    for i in range(s):
        for c in range(d):
            x[c] += h * b[i] * stages[i, c]


@njit(**_KERNEL)
def _sensitivity_step(
    x, big_s, h, coefficients, chain, parent, variable, rows, slots, free_index, a, b,
    stages, big_stages, table, gradients, jacobian, trial, big_trial,
):  # fmt: skip
    """One Runge–Kutta step of the state ``x`` and of ``S = ∂(x)/∂(X_k, θ)``, both updated in place.

    Rows of ``big_stages`` are laid out as stage · d + component.
    """
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
                        big_trial[c, m] += f * big_stages[j * d + c, m]
        _rhs(trial, coefficients, chain, parent, variable, rows, slots, table, stages, i)
        for e in range(d):
            gradients[0, e] = 0.0
        for k in range(1, parent.shape[0]):
            v = variable[k]
            for e in range(d):
                gradients[k, e] = gradients[parent[k], e] * trial[v]
            gradients[k, v] += table[parent[k]]
        for c in range(chain, d):
            for e in range(d):
                jacobian[c, e] = 0.0
        for j in range(n_terms):
            for e in range(d):
                jacobian[rows[j], e] += coefficients[j] * gradients[slots[j], e]
        for c in range(chain):
            for m in range(columns):
                big_stages[i * d + c, m] = big_trial[c + 1, m]
        for c in range(chain, d):
            f = jacobian[c, 0]
            for m in range(columns):
                big_stages[i * d + c, m] = f * big_trial[0, m]
            for e in range(1, d):
                f = jacobian[c, e]
                for m in range(columns):
                    big_stages[i * d + c, m] += f * big_trial[e, m]
        for j in range(n_terms):
            if free_index[j] >= 0:
                big_stages[i * d + rows[j], d + free_index[j]] += table[slots[j]]
    for i in range(s):
        f = h * b[i]
        if f != 0.0:
            for c in range(d):
                x[c] += f * stages[i, c]
                for m in range(columns):
                    big_s[c, m] += f * big_stages[i * d + c, m]


@njit(inline="always")
def _slope(x, coefficients, chain, parent, variable, rows, slots, table):
    """x'_0."""
    if chain > 0:
        return x[1]
    table[0] = 1.0
    for k in range(1, parent.shape[0]):
        table[k] = table[parent[k]] * x[variable[k]]
    value = 0.0
    for j in range(rows.shape[0]):
        if rows[j] == 0:
            value += coefficients[j] * table[slots[j]]
    return value


@njit(**_KERNEL)
def _slope_sensitivity(
    x, big_s, coefficients, chain, parent, variable, rows, slots, free_index, table, gradients, out,
):  # fmt: skip
    """x'_0, and its derivatives by (X_k, θ) in ``out``."""
    d, columns = big_s.shape
    value = _slope(x, coefficients, chain, parent, variable, rows, slots, table)
    if chain > 0:
        for m in range(columns):
            out[m] = big_s[1, m]
        return value
    for e in range(d):
        gradients[0, e] = 0.0
    for k in range(1, parent.shape[0]):
        v = variable[k]
        for e in range(d):
            gradients[k, e] = gradients[parent[k], e] * x[v]
        gradients[k, v] += table[parent[k]]
    for m in range(columns):
        out[m] = 0.0
    for j in range(rows.shape[0]):
        if rows[j] == 0:
            for e in range(d):
                f = coefficients[j] * gradients[slots[j], e]
                for m in range(columns):
                    out[m] += f * big_s[e, m]
            if free_index[j] >= 0:
                out[d + free_index[j]] += table[slots[j]]
    return value


@njit(**_KERNEL)
def _hermite(fraction, h):
    """Cubic Hermite weights of (x_left, x'_left, x_right, x'_right)."""
    f2 = fraction * fraction
    f3 = f2 * fraction
    return 2 * f3 - 3 * f2 + 1, h * (f3 - 2 * f2 + fraction), 3 * f2 - 2 * f3, h * (f3 - f2)


@njit(**_KERNEL)
def evaluate_path(states, coefficients, y, weight, program, layout, tableau, predicted, jumps):
    """Fill the predicted samples and the jumps ``X_{k+1} − Φ(X_k)``; returns Σ ω r² (inf if it blew up)."""
    chain, parent, variable, rows, slots, _ = program
    first, spans, stride, substeps, spacing = layout
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
            right[:] = left
            before = _slope(left, coefficients, chain, parent, variable, rows, slots, table) if n > 1 else 0.0
            for _ in range(substeps):
                _step(right, h / substeps, coefficients, chain, parent, variable, rows, slots, a, b,
                      stages, table, trial)  # fmt: skip
            if n > 1:
                after = _slope(right, coefficients, chain, parent, variable, rows, slots, table)
                for m in range(1, n):
                    w0, w1, w2, w3 = _hermite(m / n, h)
                    predicted[i + m] = w0 * left[0] + w1 * before + w2 * right[0] + w3 * after
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


@njit(**_KERNEL)
def sample_states(states, coefficients, program, layout, tableau, out):
    """The state at every sample, each segment integrated from its node."""
    chain, parent, variable, rows, slots, _ = program
    first, spans, _, substeps, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape
    stages = np.empty((b.shape[0], d))
    table = np.empty(parent.shape[0])
    trial = np.empty(d)
    x = np.empty(d)
    for k in range(n_nodes):
        x[:] = states[k]
        out[first[k]] = x
        for i in range(first[k] + 1, first[k] + spans[k]):
            for _ in range(substeps):
                _step(x, spacing / substeps, coefficients, chain, parent, variable, rows, slots, a, b,
                      stages, table, trial)  # fmt: skip
            out[i] = x


@njit(**_KERNEL)
def linearise(
    states, coefficients, y, weight, program, layout, tableau, n_free,
    transitions, arrows, defects, info, cross, gradient, arrow_info, arrow_gradient,
):  # fmt: skip
    """First-order expansion of one cost around (states, θ).

    Per node: ``transitions`` A = ∂Φ/∂X, ``arrows`` B = ∂Φ/∂θ, ``defects`` c = Φ − X_{k+1}; from the samples of its
    segment ``info`` H, ``cross`` H_Xθ, ``gradient`` g; and, for the coefficients, ``arrow_info``, ``arrow_gradient``.
    """
    chain, parent, variable, rows, slots, free_index = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape
    columns = d + n_free
    s = b.shape[0]
    stages = np.empty((s, d))
    big_stages = np.empty((s * d, columns))
    table = np.empty(parent.shape[0])
    gradients = np.empty((parent.shape[0], d))
    jacobian = np.zeros((d, d))
    trial = np.empty(d)
    big_trial = np.empty((d, columns))
    x = np.empty(d)
    big_s = np.empty((d, columns))
    left = np.empty(2)
    big_left = np.zeros((2, columns))
    big_after = np.zeros(columns)
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
                big_left[0] = big_s[0]
                left[1] = _slope_sensitivity(
                    x, big_s, coefficients, chain, parent, variable, rows, slots, free_index, table, gradients,
                    big_left[1],
                )  # fmt: skip
            for _ in range(substeps):
                _sensitivity_step(
                    x, big_s, h / substeps, coefficients, chain, parent, variable, rows, slots, free_index, a, b,
                    stages, big_stages, table, gradients, jacobian, trial, big_trial,
                )  # fmt: skip
            after = 0.0
            if n > 1:
                after = _slope_sensitivity(
                    x, big_s, coefficients, chain, parent, variable, rows, slots, free_index, table, gradients,
                    big_after,
                )  # fmt: skip
            for m in range(1, n + 1):
                if i + m < end and weight[i + m] > 0.0:
                    if m < n:
                        w0, w1, w2, w3 = _hermite(m / n, h)
                        value = w0 * left[0] + w1 * left[1] + w2 * x[0] + w3 * after
                        for e in range(columns):
                            v[e] = w0 * big_left[0, e] + w1 * big_left[1, e] + w2 * big_s[0, e] + w3 * big_after[e]
                    else:
                        value = x[0]
                        for e in range(columns):
                            v[e] = big_s[0, e]
                    r = value - y[i + m]
                    for e in range(columns):
                        f = weight[i + m] * v[e]
                        slope[e] += f * r
                        for g in range(columns):
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


@njit(**_KERNEL)
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


@njit(**_KERNEL)
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


@njit(**_KERNEL)
def propagate_step(spans, transitions, arrows, defects, info, cross, gradient, smoothers, q2, theta_step, steps):
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


@njit(**_KERNEL)
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
            covariances[k] = f @ covariances[k - 1] @ f.T + both + both.T + load @ theta_covariance @ load.T + q2 * w
            mixed[k] = f @ mixed[k - 1] + load @ theta_covariance
    return covariances, mixed
