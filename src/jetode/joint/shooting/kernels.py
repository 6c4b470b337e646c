"""Compiled kernels of weak-constraint multiple shooting; :mod:`jetode.joint.shooting.layout` states the problem.

Flow and sensitivities from node to node, the linearised cost, its solution by a backward Riccati recursion with the
coefficients as an arrow, and the posterior covariance along the path.  Untyped for the type checker: every argument
is a float64 array, or one of the tuples Program, Layout, Tableau; ``axes`` has one entry per state variable, so that
the compiler knows the dimension and unrolls the loops over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# Only the order of summation is left to the compiler; NaN and infinity keep their meaning.
_KERNEL: Any = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
_LEAF: Any = {**_KERNEL, "_nrt": False}  # allocates nothing: arrays need no counting
CHUNK = 256  # rows whose products are summed at once, by BLAS: few enough for one thread


@njit(inline="always")
def _monomials(x, parent, variable, table):
    """Every monomial as its parent times one variable."""
    table[0] = 1.0
    for k in range(1, parent.shape[0]):
        table[k] = table[parent[k]] * x[variable[k]]


@njit(inline="always")
def _rate(coefficients, offsets, slots, table, row):
    """x'_row from the monomials in ``table``."""
    value = 0.0
    for j in range(offsets[row], offsets[row + 1]):
        value += coefficients[j] * table[slots[j]]
    return value


@njit(inline="always")
def _rhs(axes, x, coefficients, chain, parent, variable, offsets, slots, table, stages, i):
    """Write x' to row ``i`` of ``stages``; the monomials at ``x`` stay in ``table``."""
    d = len(axes)
    _monomials(x, parent, variable, table)
    for c in range(d):
        stages[i, c] = x[c + 1] if c < chain else _rate(coefficients, offsets, slots, table, c)


@njit(inline="always")
def _partial(axes, slopes, partials, table, row, e):
    """∂x'_row/∂x_e; ``slopes`` are the coefficients times the powers that come down."""
    offsets, _, _, slots = partials
    value = 0.0
    for j in range(offsets[row * len(axes) + e], offsets[row * len(axes) + e + 1]):
        value += slopes[j] * table[slots[j]]
    return value


@njit(inline="always")
def _stage_state(axes, x, h, a, stages, i, trial):
    """x + h Σ_j a_ij k_j."""
    d = len(axes)
    for c in range(d):
        trial[c] = x[c]
    for j in range(i):
        f = h * a[i, j]
        if f != 0.0:
            for c in range(d):
                trial[c] += f * stages[j, c]


@njit(inline="always")
def _advance(axes, x, h, b, stages):
    """x + h Σ_i b_i k_i, in place."""
    d = len(axes)
    for i in range(b.shape[0]):
        for c in range(d):
            x[c] += h * b[i] * stages[i, c]


@njit(**_LEAF)
def _step(axes, x, h, coefficients, chain, parent, variable, offsets, slots, a, b, stages, table, trial):
    """One Runge–Kutta step without sensitivities, in place."""
    for i in range(b.shape[0]):
        _stage_state(axes, x, h, a, stages, i, trial)
        _rhs(axes, trial, coefficients, chain, parent, variable, offsets, slots, table, stages, i)
    _advance(axes, x, h, b, stages)


@njit(**_LEAF)
def _sensitivity_step(
    axes, x, big_s, h, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, a, b, stages, tables, forcing, jacobians, responses, products, propagator, trial, out,
):  # fmt: skip
    """One Runge–Kutta step: of the state ``x`` in place, of ``S = ∂(x)/∂(X_k, θ)`` from ``big_s`` to ``out``.

    The stages of S are ``K_i = J_i (S + h Σ_j a_ij K_j) + F_i``, linear in S and in the forcing ``F_i = ∂x'/∂θ``:
    with ``R_i = h (b_i 1 + Σ_{l>i} a_li R_l J_l)`` the step is ``S → (1 + Σ_i R_i J_i) S + Σ_i R_i F_i``, and the
    products of small matrices are made once for all columns; the stages are taken four at a time.
    """
    d, columns, s = len(axes), big_s.shape[1], b.shape[0]
    for i in range(s):
        _stage_state(axes, x, h, a, stages, i, trial)
        table = tables[i]
        _rhs(axes, trial, coefficients, chain, parent, variable, offsets, slots, table, stages, i)
        for c in range(chain, d):
            for e in range(d):
                jacobians[i, c, e] = _partial(axes, slopes, partials, table, c, e)
    _advance(axes, x, h, b, stages)
    for c in range(d):
        for e in range(d):
            propagator[c, e] = 1.0 if c == e else 0.0
    for i in range(s - 1, -1, -1):
        for c in range(d):
            for e in range(d):
                responses[i, c, e] = h * b[i] if c == e else 0.0
        for k in range(i + 1, s):
            f = h * a[k, i]
            if f != 0.0:
                for c in range(d):
                    for e in range(d):
                        responses[i, c, e] += f * products[k, c, e]
        for c in range(d):
            for e in range(d):
                total = 0.0
                for m in range(d):
                    total += responses[i, c, m] * jacobians[i, m, e]
                products[i, c, e] = total
                propagator[c, e] += total
    for c in range(d):
        for m in range(columns):
            total = 0.0
            for e in range(d):
                total += propagator[c, e] * big_s[e, m]
            out[c, m] = total
    for i in range(0, s, 4):
        f0, f1, f2, f3 = forcing[i], forcing[i + 1], forcing[i + 2], forcing[i + 3]
        for m in range(free_slots.shape[0]):
            f0[m], f1[m] = tables[i, free_slots[m]], tables[i + 1, free_slots[m]]
            f2[m], f3[m] = tables[i + 2, free_slots[m]], tables[i + 3, free_slots[m]]
        for row in range(chain, d):
            for c in range(d):
                r0, r1 = responses[i, c, row], responses[i + 1, c, row]
                r2, r3 = responses[i + 2, c, row], responses[i + 3, c, row]
                for m in range(free_offsets[row], free_offsets[row + 1]):
                    out[c, d + m] += r0 * f0[m] + r1 * f1[m] + r2 * f2[m] + r3 * f3[m]


@njit(inline="always")
def _slope(x, coefficients, chain, parent, variable, offsets, slots, table):
    """x'_0."""
    if chain > 0:
        return x[1]
    _monomials(x, parent, variable, table)
    return _rate(coefficients, offsets, slots, table, 0)


@njit(**_LEAF)
def _slope_sensitivity(
    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, table, out,
):  # fmt: skip
    """x'_0, and its derivatives by (X_k, θ) in ``out``."""
    d, columns = len(axes), big_s.shape[1]
    value = _slope(x, coefficients, chain, parent, variable, offsets, slots, table)
    if chain > 0:
        for m in range(columns):
            out[m] = big_s[1, m]
        return value
    for m in range(columns):
        out[m] = 0.0
    for e in range(d):
        f = _partial(axes, slopes, partials, table, 0, e)
        for m in range(columns):
            out[m] += f * big_s[e, m]
    for m in range(free_offsets[1]):
        out[d + m] += table[free_slots[m]]
    return value


@njit(**_LEAF)
def _hermite(fraction, h):
    """Cubic Hermite weights of (x_left, x'_left, x_right, x'_right)."""
    f2 = fraction * fraction
    f3 = f2 * fraction
    return 2 * f3 - 3 * f2 + 1, h * (f3 - 2 * f2 + fraction), 3 * f2 - 2 * f3, h * (f3 - f2)


@njit(**_KERNEL)
def evaluate_path(states, coefficients, y, weight, program, layout, tableau, predicted, jumps):
    """Fill the predicted samples and the jumps ``X_{k+1} − Φ(X_k)``; returns Σ ω r² (inf if it blew up)."""
    axes, chain, parent, variable, offsets, slots, _, _, _ = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape[0], len(axes)
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
            before = _slope(left, coefficients, chain, parent, variable, offsets, slots, table) if n > 1 else 0.0
            for _ in range(substeps):
                _step(axes, right, h / substeps, coefficients, chain, parent, variable, offsets, slots, a, b,
                      stages, table, trial)  # fmt: skip
            if n > 1:
                after = _slope(right, coefficients, chain, parent, variable, offsets, slots, table)
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
    axes, chain, parent, variable, offsets, slots, _, _, _ = program
    first, spans, _, substeps, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape[0], len(axes)
    stages = np.empty((b.shape[0], d))
    table = np.empty(parent.shape[0])
    trial = np.empty(d)
    x = np.empty(d)
    for k in range(n_nodes):
        x[:] = states[k]
        out[first[k]] = x
        for i in range(first[k] + 1, first[k] + spans[k]):
            for _ in range(substeps):
                _step(axes, x, spacing / substeps, coefficients, chain, parent, variable, offsets, slots, a, b,
                      stages, table, trial)  # fmt: skip
            out[i] = x


@njit(**_KERNEL)
def _add_product(left, right, out):
    """out += leftᵀ right, by BLAS."""
    if out.size > 0:
        out += left.T @ right


@njit(**_KERNEL)
def linearise(
    states, coefficients, y, weight, program, layout, tableau, n_free,
    transitions, arrows, defects, info, cross, gradient, arrow_info, arrow_gradient,
):  # fmt: skip
    """First-order expansion of one cost around (states, θ).

    Per node: ``transitions`` A = ∂Φ/∂X, ``arrows`` B = ∂Φ/∂θ, ``defects`` c = Φ − X_{k+1}; from the samples of its
    segment ``info`` H, ``cross`` H_Xθ, ``gradient`` g; and, for the coefficients, ``arrow_info``, ``arrow_gradient``.
    """
    axes, chain, parent, variable, offsets, slots, free_slots, free_offsets, partials = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    n_nodes, d = states.shape[0], len(axes)
    slopes = coefficients[partials[1]] * partials[2]
    columns = d + n_free
    s = b.shape[0]
    stages = np.empty((s, d))
    tables = np.empty((s, parent.shape[0]))
    forcing = np.empty((s, n_free))
    jacobians = np.zeros((s, d, d))
    for c in range(chain):
        jacobians[:, c, c + 1] = 1.0
    responses = np.empty((s, d, d))
    products = np.empty((s, d, d))
    propagator = np.empty((d, d))
    trial = np.empty(d)
    x = np.empty(d)
    big_s = np.empty((d, columns))
    big_next = np.empty((d, columns))
    big_left = np.empty((2, columns))
    big_after = np.empty(columns)
    v = np.empty(columns)
    most = spans.max() + 1
    by_coefficient = np.empty((max(CHUNK, most), n_free))  # √ω ∂x_0/∂θ and √ω r of samples not yet summed
    residuals = np.empty(by_coefficient.shape[0])
    count = 0
    arrow_info[:] = 0.0
    arrow_gradient[:] = 0.0
    info[:] = 0.0
    cross[:] = 0.0
    gradient[:] = 0.0
    for k in range(n_nodes):
        x[:] = states[k]
        big_s[:] = 0.0
        for c in range(d):
            big_s[c, c] = 1.0
        i = first[k]
        end = i + spans[k]
        if count + most > by_coefficient.shape[0]:
            _add_product(by_coefficient[:count], by_coefficient[:count], arrow_info)
            _add_product(by_coefficient[:count], residuals[:count], arrow_gradient)
            count = 0
        if weight[i] > 0.0:
            info[k, 0, 0] = weight[i]
            gradient[k, 0] = weight[i] * (x[0] - y[i])
        while i < end:
            n = min(stride, end - i)
            h = n * spacing
            left, before, after = x[0], 0.0, 0.0
            if n > 1:
                big_left[0] = big_s[0]
                before = _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, tables[0], big_left[1],
                )  # fmt: skip
            for _ in range(substeps):
                _sensitivity_step(
                    axes, x, big_s, h / substeps, coefficients, slopes, chain, parent, variable, offsets, slots,
                    free_slots, free_offsets, partials, a, b, stages, tables, forcing, jacobians, responses, products,
                    propagator, trial, big_next,
                )  # fmt: skip
                big_s, big_next = big_next, big_s
            if n > 1:
                after = _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, tables[0], big_after,
                )  # fmt: skip
            for m in range(1, n + 1):
                if i + m < end and weight[i + m] > 0.0:
                    root = np.sqrt(weight[i + m])
                    if m < n:
                        w0, w1, w2, w3 = _hermite(m / n, h)
                        value = w0 * left + w1 * before + w2 * x[0] + w3 * after
                        for e in range(columns):
                            v[e] = root * (
                                w0 * big_left[0, e] + w1 * big_left[1, e] + w2 * big_s[0, e] + w3 * big_after[e]
                            )
                    else:
                        value = x[0]
                        for e in range(columns):
                            v[e] = root * big_s[0, e]
                    r = root * (value - y[i + m])
                    for e in range(d):
                        f = v[e]
                        gradient[k, e] += f * r
                        for g in range(d):
                            info[k, e, g] += f * v[g]
                        for g in range(n_free):
                            cross[k, e, g] += f * v[d + g]
                    residuals[count] = r
                    for g in range(n_free):
                        by_coefficient[count, g] = v[d + g]
                    count += 1
            i += n
        for c in range(d):
            defects[k, c] = x[c] - states[k + 1, c] if spans[k] > 0 else 0.0
            for e in range(d):
                transitions[k, c, e] = big_s[c, e]
            for e in range(n_free):
                arrows[k, c, e] = big_s[c, d + e]
    _add_product(by_coefficient[:count], by_coefficient[:count], arrow_info)
    _add_product(by_coefficient[:count], residuals[:count], arrow_gradient)


@njit(**_LEAF)
def _invert_small(axes, work, out):
    """Inverse of a small symmetric positive definite matrix ``work`` by Gauss–Jordan, which overwrites it."""
    d = len(axes)
    for c in range(d):
        for e in range(d):
            out[c, e] = 1.0 if c == e else 0.0
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
    axes, spans, transitions, arrows, defects, info, cross, gradient, arrow_info, arrow_gradient, q2, damping,
):  # fmt: skip
    """Backward Riccati recursion: cost-to-go ½ zᵀ[[H, B],[Bᵀ, C]]z + gᵀx + hᵀθ at every node, in place.

    At a node, ``H, B, g`` of all that follows is softened by the jump (W = (1 + q² H)⁻¹), carried through the
    transition and added to what the node's own samples say.  Returns the coefficients' C, h after the first
    nodes have been eliminated too, with the smoothers W and the factors of the first node of every record.
    """
    n_nodes, d = gradient.shape[0], len(axes)
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
    left = np.empty((CHUNK, n_free))
    right = np.empty((CHUNK, n_free))
    count = 0
    for k in range(n_nodes - 1, -1, -1):
        if spans[k] > 0:
            big_a = transitions[k]
            big_b = arrows[k]
            for c in range(d):
                for e in range(d):
                    soft[c, e] = q2 * info[k + 1, c, e]
                soft[c, c] += 1.0
            w = smoothers[k + 1]
            _invert_small(axes, soft, w)
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
                    acc = b1[c, m]
                    for e in range(d):
                        acc += h1[c, e] * big_b[e, m]
                    hb[c, m] = acc
            for m in range(n_free):
                acc = 0.0
                for c in range(d):
                    acc += big_b[c, m] * m1[c] + b1[c, m] * defects[k, c]
                    acc -= q2 * cross[k + 1, c, m] * g1[c]
                c_grad[m] += acc
            for c in range(d):  # C += Bᵀ(H₁B + B₁) + B₁ᵀB − q² H_Xθᵀ B₁
                for m in range(n_free):
                    left[count, m], right[count, m] = big_b[c, m], hb[c, m]
                    left[count + 1, m], right[count + 1, m] = b1[c, m], big_b[c, m]
                    left[count + 2, m], right[count + 2, m] = -q2 * cross[k + 1, c, m], b1[c, m]
                count += 3
            if count + 3 * d > CHUNK:
                _add_product(left[:count], right[:count], c_info)
                count = 0
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
                        acc += big_a[e, c] * hb[e, m]
                    cross[k, c, m] += acc
        for c in range(d):
            info[k, c, c] += damping
    _add_product(left[:count], right[:count], c_info)
    first_inverse = np.empty((d, d))
    for k in range(n_nodes):
        if k == 0 or spans[k - 1] == 0:
            soft[:] = info[k]
            _invert_small(axes, soft, first_inverse)
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
