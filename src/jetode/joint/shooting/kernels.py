"""Compiled kernels of weak-constraint multiple shooting; :mod:`jetode.joint.shooting.layout` states the problem.

Flow and sensitivities from node to node, and the linearised cost; :mod:`jetode.joint.shooting.elimination` solves
it.  Untyped for the type checker: every argument is a float64 array, or one of the tuples Program, Layout, Tableau;
``axes`` has one entry per state variable, so that the compiler knows the dimension and unrolls the loops over it.
Kernels allocate nothing: the functions without a decorator are their faces, which bring the scratch space.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.element_kernel import ROOM
from jetode.joint.shooting.censored import one_sided_cost
from jetode.joint.shooting.element_steps import add_parameters, chain_rule, evaluate_elements
from jetode.joint.shooting.sums import CHUNK, KERNEL, LEAF, _add_symmetric, _mirror
from jetode.support.compiled import inlined, kernel, leaf


@inlined
def _monomials(axes, x, coefficients, parent, variable, elements, table, slopes):
    """Every monomial as its parent times one variable; elements are variables after the state, their derivatives are
    left in the rows of ``slopes``."""
    if elements[0].shape[0] > 0:
        evaluate_elements(axes, x, coefficients, elements[0], slopes)
    table[0] = 1.0
    for k in range(1, parent.shape[0]):
        table[k] = table[parent[k]] * x[variable[k]]


@inlined
def _rate(coefficients, offsets, slots, table, row):
    """x'_row from the monomials in ``table``."""
    value = 0.0
    for j in range(offsets[row], offsets[row + 1]):
        value += coefficients[j] * table[slots[j]]
    return value


@inlined
def _rhs(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves, stages, i):
    """Write x' to row ``i`` of ``stages``; the monomials at ``x`` stay in ``table``."""
    d = len(axes)
    _monomials(axes, x, coefficients, parent, variable, elements, table, curves)
    for c in range(d):
        stages[i, c] = x[c + 1] if c < chain else _rate(coefficients, offsets, slots, table, c)


@inlined
def _partial(slopes, partials, table, row, e):
    """∂x'_row/∂x_e of a state variable or of an element, the others held; ``slopes`` are the coefficients times the
    powers that come down."""
    offsets, _, _, slots = partials
    value = 0.0
    for j in range(offsets[row, e], offsets[row, e + 1]):
        value += slopes[j] * table[slots[j]]
    return value


@inlined
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


@inlined
def _advance(axes, x, h, b, stages):
    """x + h Σ_i b_i k_i, in place."""
    d = len(axes)
    for i in range(b.shape[0]):
        for c in range(d):
            x[c] += h * b[i] * stages[i, c]


@leaf(**LEAF)
def _step(
    axes, x, h, coefficients, chain, parent, variable, offsets, slots, elements, a, b, stages, table, curves, trial
):  # fmt: skip
    """One Runge–Kutta step without sensitivities, in place."""
    for i in range(b.shape[0]):
        _stage_state(axes, x, h, a, stages, i, trial)
        _rhs(axes, trial, coefficients, chain, parent, variable, offsets, slots, elements, table, curves, stages, i)
    _advance(axes, x, h, b, stages)


@leaf(**LEAF)
def _sensitivity_step(
    axes, x, big_s, h, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, elements, a, b, stages, tables, curves, through, forcing, jacobians, responses, products, propagator,
    trial, out,
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
        _rhs(axes, trial, coefficients, chain, parent, variable, offsets, slots, elements, table, curves[i], stages, i)
        for c in range(chain, d):
            for e in range(d):
                jacobians[i, c, e] = _partial(slopes, partials, table, c, e)
        if elements[0].shape[0] > 0:
            chain_rule(axes, slopes, partials, elements[0], table, curves[i], chain, jacobians[i], through[i])
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
    if elements[1].shape[0] > 0:
        add_parameters(axes, elements[1], through, curves, responses, d + free_slots.shape[0], out)


@inlined
def _slope(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves):
    """x'_0."""
    if chain > 0:
        return x[1]
    _monomials(axes, x, coefficients, parent, variable, elements, table, curves)
    return _rate(coefficients, offsets, slots, table, 0)


@leaf(**LEAF)
def _slope_sensitivity(
    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, elements, table, curves, through, jacobian, out,
):  # fmt: skip
    """x'_0, and its derivatives by (X_k, θ) in ``out``."""
    d, columns = len(axes), big_s.shape[1]
    value = _slope(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves)
    if chain > 0:
        for m in range(columns):
            out[m] = big_s[1, m]
        return value
    for m in range(columns):
        out[m] = 0.0
    for e in range(d):
        jacobian[0, e] = _partial(slopes, partials, table, 0, e)
    if elements[0].shape[0] > 0:
        first = np.int64(0)  # not the constant 0, for which numba would compile the rule once more
        chain_rule(axes, slopes, partials, elements[0], table, curves, first, jacobian, through)
    for e in range(d):
        f = jacobian[0, e]
        for m in range(columns):
            out[m] += f * big_s[e, m]
    for m in range(free_offsets[1]):
        out[d + m] += table[free_slots[m]]
    for column in range(elements[1].shape[0]):
        m, p = elements[1][column, 0], 2 + elements[1][column, 1]
        out[d + free_slots.shape[0] + column] += through[0, m] * curves[m, p]
    return value


@leaf(**LEAF)
def _hermite(fraction, h):
    """Cubic Hermite weights of (x_left, x'_left, x_right, x'_right)."""
    f2 = fraction * fraction
    f3 = f2 * fraction
    return 2 * f3 - 3 * f2 + 1, h * (f3 - 2 * f2 + fraction), 3 * f2 - 2 * f3, h * (f3 - f2)


def evaluate_path(states, coefficients, data, program, predicted, jumps):
    """Fill the predicted samples and the jumps ``X_{k+1} − Φ(X_k)``; returns Σ ω r² (inf if it blew up)."""
    none, scratch = np.empty((0, states.shape[1])), _flow_scratch(program, data.tableau)
    _flow(states, coefficients, program, data.layout, data.tableau, predicted, jumps, none, scratch)
    with np.errstate(over="ignore", invalid="ignore"):
        residual = np.where(data.weight > 0.0, predicted - data.y, 0.0)
        plain = data.weight if data.side is None else np.where(data.side == 0.0, data.weight, 0.0)
        cost = float(np.dot(plain, residual * residual)) + one_sided_cost(data.sided(predicted)[1])
    return cost if np.isfinite(cost) else np.inf


def sample_states(states, coefficients, program, layout, tableau, out):
    """The state at every sample, each segment integrated from its node."""
    every = layout._replace(stride=1)
    unused = np.empty(out.shape[0]), np.empty_like(states)
    _flow(states, coefficients, program, every, tableau, *unused, out, _flow_scratch(program, tableau))


def _flow_scratch(program, tableau):
    d, s, m = len(program.axes), tableau.b.shape[0], program.elements.codes.shape[0]
    states = (np.empty(d + m) for _ in range(3))  # a state and, after it, the elements there
    return np.empty((s, d)), np.empty(program.parent.shape[0]), np.empty((m, ROOM)), *states


@kernel(**KERNEL)
def _flow(states, coefficients, program, layout, tableau, predicted, jumps, path, scratch):
    """The samples along each segment, the jump after it and, where ``path`` has rows, the state at every step."""
    axes, chain, parent, variable, offsets, slots, _, _, _, elements = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    stages, table, curves, trial, left, right = scratch
    d = len(axes)
    for k in range(states.shape[0]):
        i = first[k]
        end = first[k] + spans[k]
        for c in range(d):
            left[c] = states[k, c]
            if path.shape[0] > 0:
                path[i, c] = left[c]
        predicted[i] = left[0]
        while i < end:
            n = min(stride, end - i)
            h = n * spacing
            for c in range(d):
                right[c] = left[c]
            before = 0.0
            if n > 1:
                before = _slope(
                    axes, left, coefficients, chain, parent, variable, offsets, slots, elements, table, curves
                )
            for _ in range(substeps):
                _step(axes, right, h / substeps, coefficients, chain, parent, variable, offsets, slots, elements, a, b,
                      stages, table, curves, trial)  # fmt: skip
            if n > 1:
                after = _slope(
                    axes, right, coefficients, chain, parent, variable, offsets, slots, elements, table, curves
                )
                for m in range(1, n):
                    w0, w1, w2, w3 = _hermite(m / n, h)
                    predicted[i + m] = w0 * left[0] + w1 * before + w2 * right[0] + w3 * after
            i += n
            if i < end:
                predicted[i] = right[0]
                if path.shape[0] > 0:
                    for c in range(d):
                        path[i, c] = right[c]
            for c in range(d):
                left[c] = right[c]
        for c in range(d):
            jumps[k, c] = states[k + 1, c] - left[c] if spans[k] > 0 else 0.0


def linearise(states, coefficients, linear):
    """First-order expansion of one cost around (states, θ), into the arrays of a ``Linearisation``.

    Per node: ``transitions`` A = ∂Φ/∂X, ``arrows`` B = ∂Φ/∂θ, ``defects`` c = Φ − X_{k+1}; from the samples of its
    segment ``info`` H, ``cross`` H_Xθ, ``gradient`` g; and, for the coefficients, ``arrow_info``, ``arrow_gradient``.
    """
    data, program = linear.data, linear.program
    if linear.scratch is None:
        linear.scratch = _linearise_scratch(data, program, linear.n_free)
    for array in (linear.info, linear.cross, linear.gradient):
        array.fill(0.0)
    slopes = coefficients[program.partials.terms] * program.partials.powers
    normal = np.zeros((linear.n_free + 1, linear.n_free + 1))
    _linearise(
        states, coefficients, slopes, linear.y, linear.weight, program, data.layout, data.tableau, linear.scratch,
        linear.transitions, linear.arrows, linear.defects, linear.info, linear.cross, linear.gradient, normal,
    )  # fmt: skip
    linear.arrow_info[:] = normal[:-1, :-1]
    linear.arrow_gradient[:] = normal[:-1, -1]
    at = data.layout.first
    with np.errstate(over="ignore", invalid="ignore"):
        linear.misfit = float(normal[-1, -1] + np.dot(linear.weight[at], (states[: at.size, 0] - linear.y[at]) ** 2))


def _linearise_scratch(data, program, n_free):
    d, s, columns = len(program.axes), data.tableau.b.shape[0], len(program.axes) + n_free
    n_elements = program.elements.codes.shape[0]
    jacobians = np.zeros((s, d, d))
    jacobians[:, np.arange(program.chain), np.arange(program.chain) + 1] = 1.0
    rows = CHUNK + 8 + int(data.layout.spans.max())  # [√ω ∂x_0/∂θ, √ω r] of samples not yet summed
    return (
        np.empty((s, d)), np.empty((s, program.parent.shape[0])), np.empty((s, n_elements, ROOM)),
        np.zeros((s, d, n_elements)), np.empty((s, n_free)), jacobians, np.empty((s, d, d)), np.empty((s, d, d)),
        np.empty((d, d)), np.empty(d + n_elements), np.empty(d + n_elements), np.empty((d, columns)),
        np.empty((d, columns)), np.empty((4, columns)), np.empty((rows, n_free + 1)),
    )  # fmt: skip


@kernel(**KERNEL)
def _linearise(
    states, coefficients, slopes, y, weight, program, layout, tableau, scratch,
    transitions, arrows, defects, info, cross, gradient, normal,
):  # fmt: skip
    axes, chain, parent, variable, offsets, slots, free_slots, free_offsets, partials, elements = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    (stages, tables, curves, through, forcing, jacobians, responses, products, propagator, trial, x, big_s, big_next,
     ends, by_coefficient) = scratch  # fmt: skip
    n_nodes, d, columns = first.shape[0], len(axes), big_s.shape[1]
    n_free = columns - d
    v, left_value, left_slope, right_slope = ends[0], ends[1], ends[2], ends[3]
    count = np.int64(0)  # not the constant 0, for which numba would compile the sum as well
    for k in range(n_nodes):
        for c in range(d):
            x[c] = states[k, c]
            for e in range(columns):
                big_s[c, e] = 1.0 if c == e else 0.0
        i = first[k]
        end = i + spans[k]
        if weight[i] > 0.0:
            info[k, 0, 0] = weight[i]
            gradient[k, 0] = weight[i] * (x[0] - y[i])
        while i < end:
            n = min(stride, end - i)
            h = n * spacing
            left, before, after = x[0], 0.0, 0.0
            if n > 1:
                for e in range(columns):
                    left_value[e] = big_s[0, e]
                before = _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, elements, tables[0], curves[0], through[0], jacobians[0], left_slope,
                )  # fmt: skip
            for _ in range(substeps):
                _sensitivity_step(
                    axes, x, big_s, h / substeps, coefficients, slopes, chain, parent, variable, offsets, slots,
                    free_slots, free_offsets, partials, elements, a, b, stages, tables, curves, through, forcing,
                    jacobians, responses, products, propagator, trial, big_next,
                )  # fmt: skip
                big_s, big_next = big_next, big_s
            if n > 1:
                after = _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, elements, tables[0], curves[0], through[0], jacobians[0], right_slope,
                )  # fmt: skip
            for m in range(1, n + 1):
                if i + m < end and weight[i + m] > 0.0:
                    root = np.sqrt(weight[i + m])
                    right_value = big_s[0]
                    if m < n:
                        w0, w1, w2, w3 = _hermite(m / n, h)
                        value = w0 * left + w1 * before + w2 * x[0] + w3 * after
                        for e in range(columns):
                            v[e] = root * (
                                w0 * left_value[e] + w1 * left_slope[e] + w2 * right_value[e] + w3 * right_slope[e]
                            )
                    else:
                        value = x[0]
                        for e in range(columns):
                            v[e] = root * right_value[e]
                    r = root * (value - y[i + m])
                    for e in range(d):
                        f = v[e]
                        gradient[k, e] += f * r
                        for g in range(d):
                            info[k, e, g] += f * v[g]
                        for g in range(n_free):
                            cross[k, e, g] += f * v[d + g]
                    row = by_coefficient[count]
                    for g in range(n_free):
                        row[g] = v[d + g]
                    row[n_free] = r
                    count += 1
            i += n
        for c in range(d):
            defects[k, c] = x[c] - states[k + 1, c] if spans[k] > 0 else 0.0
            for e in range(d):
                transitions[k, c, e] = big_s[c, e]
            for e in range(n_free):
                arrows[k, c, e] = big_s[c, d + e]
        if count >= CHUNK or k == n_nodes - 1:
            _add_symmetric(by_coefficient, by_coefficient, count, normal)
            count = np.int64(0)
    _mirror(normal)
