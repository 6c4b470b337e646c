"""Sensitivities from node to node, and the linearised cost; :mod:`jetode.joint.shooting.layout` states the problem,
:mod:`jetode.joint.shooting.elimination` solves it.

Untyped for the type checker: every argument is a float64 array, or one of the tuples Program, Layout, Tableau;
``axes`` has one entry per state variable, so that the compiler knows the dimension and unrolls the loops over it.
Segments run side by side (:mod:`jetode.joint.shooting.lanes`).  Kernels allocate nothing: the functions without a
decorator are their faces, which bring the scratch space.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.element_kernel import ROOM
from jetode.joint.shooting.element_steps import add_parameters, chain_rule
from jetode.joint.shooting.lanes import _advance, _slope, _stage, _step_lengths
from jetode.joint.shooting.sums import CHUNK, KERNEL, LEAF, _add_symmetric, _hermite, _mirror, padded
from jetode.support.compiled import inlined, kernel, leaf
from jetode.support.lane_blocks import add_forcing, add_sample, propagate, respond
from jetode.support.lanes import LANES, add_product, fill, multiply, weighted_sum


@leaf(**LEAF, forceinline=False)
def _sensitivity_step(
    axes, x, big_s, h, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, elements, a, b, stages, tables, curves, through, jacobians, responses, products, propagator,
    trial, part, out,
):  # fmt: skip
    """One Runge–Kutta step: of the state ``x`` in place, of ``S = ∂(x)/∂(X_k, θ)`` from ``big_s`` to ``out``;
    ``slopes`` are the coefficients times the powers that come down in ∂x'/∂x.

    The stages of S are ``K_i = J_i (S + h Σ_j a_ij K_j) + F_i``, linear in S and in the forcing ``F_i = ∂x'/∂θ``:
    with R_i of :func:`.respond` the step is ``S → (1 + Σ_i R_i J_i) S + Σ_i R_i F_i``, and the products of small
    matrices are made once for all columns.
    """
    d = len(axes)
    for i in range(b.shape[0]):
        table = tables[i]
        _stage(axes, x, h, i, coefficients, chain, parent, variable, offsets, slots, elements, a, stages, table,
               curves[i], trial, part)  # fmt: skip
        for c in range(chain, d):
            for e in range(d):
                weighted_sum(jacobians[i, c, e], slopes, table, partials[3], partials[0][c, e], partials[0][c, e + 1])
        if elements[0].shape[0] > 0:
            chain_rule(axes, slopes, partials, elements[0], table, curves[i], chain, jacobians[i], through[i])
    _advance(axes, x, h, b, stages, part)
    respond(axes, h, (a, b), jacobians, responses, products, propagator)
    propagate(axes, out, propagator, big_s)
    for row in range(chain, d):
        add_forcing(axes, out, responses, tables, row, (free_slots, free_offsets[row], free_offsets[row + 1]))
    if elements[1].shape[0] > 0:
        add_parameters(axes, elements[1], through, curves, responses, d + free_slots.shape[0], out)


@leaf(**LEAF, forceinline=False)
def _slope_sensitivity(
    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots, free_offsets,
    partials, elements, table, curves, through, jacobian, value, out,
):  # fmt: skip
    """x'_0 in ``value``, and its derivatives by (X_k, θ) in ``out``."""
    d, columns = len(axes), big_s.shape[1]
    _slope(axes, x, coefficients, chain, parent, variable, offsets, slots, elements, table, curves, value)
    if chain > 0:
        for m in range(columns):
            fill(out[m], big_s[1, m])
        return
    for e in range(d):
        weighted_sum(jacobian[0, e], slopes, table, partials[3], partials[0][0, e], partials[0][0, e + 1])
    if elements[0].shape[0] > 0:
        first = np.int64(0)  # not the constant 0, for which numba would compile the rule once more
        chain_rule(axes, slopes, partials, elements[0], table, curves, first, jacobian, through)
    for m in range(columns):
        multiply(out[m], jacobian[0, 0], big_s[0, m])
        for e in range(1, d):
            add_product(out[m], jacobian[0, e], big_s[e, m])
    for m in range(free_offsets[1]):
        add_product(out[d + m], table[free_slots[m]], 1.0)
    for column in range(elements[1].shape[0]):
        m, p = elements[1][column, 0], 2 + elements[1][column, 1]
        for lane in range(LANES):
            out[d + free_slots.shape[0] + column, lane] += through[0, m, lane] * curves[m, lane, p]


def linearise(states, coefficients, slopes, linear):
    """First-order expansion of one cost around (states, θ), into the arrays of a ``Linearisation``; ``slopes`` as in
    :func:`_sensitivity_step`.

    Per node: ``transitions`` A = ∂Φ/∂X, ``arrows`` B = ∂Φ/∂θ, ``defects`` c = Φ − X_{k+1}; from the samples of its
    segment ``info`` H, ``cross`` H_Xθ, ``gradient`` g; and, for the coefficients, ``arrow_info``, ``arrow_gradient``.
    Under coloured noise a sample is what it leaves of the one before, and the last of a segment belongs to it.
    """
    data, program = linear.data, linear.program
    if linear.scratch is None:
        linear.scratch = _linearise_scratch(data, program, linear.n_free)
    n, width = linear.n_free, padded(linear.n_free + 1)
    normal = np.zeros((width, width))
    _linearise(
        states, coefficients, slopes, linear.y, linear.weight, linear.colour, program, data.layout,
        data.tableau, linear.scratch, linear.transitions, linear.arrows, linear.defects, linear.info, linear.cross,
        linear.gradient, normal,
    )  # fmt: skip
    linear.arrow_info[:] = normal[:n, :n]
    linear.arrow_gradient[:] = normal[:n, n]
    at = data.layout.first
    own = np.where(linear.colour[at] < 0.0, linear.weight[at], 0.0) if linear.colour.size else linear.weight[at]
    linear.misfit = float(normal[n, n] + np.dot(own, (states[: at.size, 0] - linear.y[at]) ** 2))


def _linearise_scratch(data, program, n_free):
    d, s, columns = len(program.axes), data.tableau.b.shape[0], len(program.axes) + n_free
    n_elements = program.elements.codes.shape[0]
    jacobians = np.zeros((s, d, d, LANES))
    jacobians[:, np.arange(program.chain), np.arange(program.chain) + 1] = 1.0
    rows = CHUNK + LANES * int(data.layout.spans.max())  # [√ω ∂x_0/∂θ, √ω r] of samples not yet summed
    return (
        np.empty((s, d, LANES)), np.empty((s, program.parent.shape[0], LANES)), np.empty((s, n_elements, LANES, ROOM)),
        np.zeros((s, d, n_elements, LANES)), jacobians, np.empty((s, d, d, LANES)), np.empty((s, d, d, LANES)),
        np.empty((d, d, LANES)), np.empty((d + n_elements, LANES)), np.empty((d + n_elements, LANES)),
        np.empty((d, columns, LANES)), np.empty((d, columns, LANES)), np.zeros((3, columns, LANES)),
        np.empty((d, columns + 1, LANES)), np.zeros((10, LANES)), np.zeros((rows, padded(n_free + 1))),
    )  # fmt: skip


@kernel(**KERNEL)
def _linearise(
    states, coefficients, slopes, y, weight, colour, program, layout, tableau, scratch,
    transitions, arrows, defects, info, cross, gradient, normal,
):  # fmt: skip
    axes, chain, parent, variable, offsets, slots, free_slots, free_offsets, partials, elements = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    (stages, tables, curves, through, jacobians, responses, products, propagator, trial, x, big_s, big_next, ends, sums,
     edges, by_coefficient) = scratch  # fmt: skip
    n_nodes, d, columns = first.shape[0], len(axes), big_s.shape[1]
    left_value, left_slope, right_slope = ends[0], ends[1], ends[2]
    left, before, after, h, r, part, w = edges[0], edges[1], edges[2], edges[3], edges[4], edges[5], edges[6:]
    coloured = colour.shape[0] > 0
    count = np.int64(0)  # not the constant 0, for which numba would compile the sum as well
    for group in range(0, n_nodes, LANES):
        longest = np.int64(0)
        for lane in range(LANES):
            k = min(group + lane, n_nodes - 1)  # the last one fills up the last group
            longest = max(longest, spans[k])
            for c in range(d):
                x[c, lane] = states[k, c]
                for e in range(columns):
                    big_s[c, e, lane] = 1.0 if c == e else 0.0
                    sums[c, e, lane] = 0.0
                sums[c, columns, lane] = 0.0
            if weight[first[k]] > 0.0 and not (coloured and colour[first[k]] >= 0.0):
                sums[0, 0, lane] = weight[first[k]]
                sums[0, columns, lane] = weight[first[k]] * (states[k, 0] - y[first[k]])
            if spans[k] == 0:
                _store_ends(d, k, lane, x, big_s, states[k], transitions, arrows, defects)
        for at in range(0, longest, stride):
            _step_lengths(group, at, spans, stride, spacing, substeps, h)
            fill(left, x[0])
            if stride > 1 or coloured:
                for e in range(columns):
                    fill(left_value[e], big_s[0, e])
            if stride > 1:
                _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, elements, tables[0], curves[0], through[0], jacobians[0], before,
                    left_slope,
                )  # fmt: skip
            for _ in range(substeps):
                _sensitivity_step(
                    axes, x, big_s, h, coefficients, slopes, chain, parent, variable, offsets, slots,
                    free_slots, free_offsets, partials, elements, a, b, stages, tables, curves, through,
                    jacobians, responses, products, propagator, trial, part, big_next,
                )  # fmt: skip
                big_s, big_next = big_next, big_s
            if stride > 1:
                _slope_sensitivity(
                    axes, x, big_s, coefficients, slopes, chain, parent, variable, offsets, slots, free_slots,
                    free_offsets, partials, elements, tables[0], curves[0], through[0], jacobians[0], after,
                    right_slope,
                )  # fmt: skip
            for m in range(1, stride + 1):
                seen = False
                for lane in range(LANES):
                    k = min(group + lane, n_nodes - 1)
                    n, root = min(stride, spans[k] - at), 0.0
                    if group + lane < n_nodes and m <= n and at + m < spans[k] + coloured:
                        root = np.sqrt(weight[first[k] + at + m])
                    w0, w1, w2, w3 = _hermite(m / n, n * spacing) if m < n else (0.0, 0.0, 1.0, 0.0)
                    if coloured and root > 0.0:
                        phi = colour[first[k] + at + m]
                        v0, v1, v2, v3 = _hermite((m - 1) / n, n * spacing) if m > 1 else (1.0, 0.0, 0.0, 0.0)
                        w0, w1, w2, w3 = w0 - phi * v0, w1 - phi * v1, w2 - phi * v2, w3 - phi * v3
                    w[0, lane], w[1, lane], w[2, lane], w[3, lane] = root * w0, root * w1, root * w2, root * w3
                    r[lane] = 0.0
                    if root > 0.0:
                        seen = True
                        i = first[k] + at + m
                        r[lane] = -root * (y[i] - colour[i] * y[i - 1] if coloured else y[i])
                if seen:
                    add_product(r, w[0], left)
                    add_product(r, w[1], before)
                    add_product(r, w[2], x[0])
                    add_product(r, w[3], after)
                    add_sample(axes, w, (ends, big_s), r, sums, by_coefficient, count)
                    count += LANES
            for lane in range(min(LANES, n_nodes - group)):
                k = group + lane
                if 0 < spans[k] - at <= stride:
                    _store_ends(d, k, lane, x, big_s, states[k + 1], transitions, arrows, defects)
        for lane in range(min(LANES, n_nodes - group)):
            for c in range(d):
                gradient[group + lane, c] = sums[c, columns, lane]
                for e in range(d):
                    info[group + lane, c, e] = sums[c, e, lane]
                for e in range(d, columns):
                    cross[group + lane, c, e - d] = sums[c, e, lane]
        if count >= CHUNK or group + LANES >= n_nodes:
            _add_symmetric(by_coefficient, by_coefficient, count, normal)
            count = np.int64(0)
    _mirror(normal)


@inlined
def _store_ends(d, k, lane, x, big_s, following, transitions, arrows, defects):
    """Where the segment of node k has led: A = ∂Φ/∂X, B = ∂Φ/∂θ and c = Φ − X_{k+1}."""
    for c in range(d):
        defects[k, c] = x[c, lane] - following[c]
        for e in range(d):
            transitions[k, c, e] = big_s[c, e, lane]
        for e in range(d, big_s.shape[1]):
            arrows[k, c, e - d] = big_s[c, e, lane]
