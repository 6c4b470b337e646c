"""The path from node to node and its cost, without sensitivities; :mod:`jetode.joint.shooting.layout` states the
problem.

Segments run side by side (:mod:`jetode.joint.shooting.lanes`).  Untyped like the other kernels, whose glossary holds.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.element_kernel import ROOM
from jetode.joint.shooting.censored import one_sided_cost
from jetode.joint.shooting.lanes import _advance, _slope, _stage, _step_lengths
from jetode.joint.shooting.sums import KERNEL, LEAF, _hermite
from jetode.support.compiled import kernel, leaf
from jetode.support.lanes import LANES, fill


@leaf(**LEAF)
def _step(
    axes, x, h, coefficients, chain, parent, variable, offsets, slots, elements, a, b, stages, table, curves, trial,
    part,
):  # fmt: skip
    """One Runge–Kutta step, in place."""
    for i in range(b.shape[0]):
        _stage(axes, x, h, i, coefficients, chain, parent, variable, offsets, slots, elements, a, stages, table, curves,
               trial, part)  # fmt: skip
    _advance(axes, x, h, b, stages, part)


def evaluate_path(states, coefficients, data, program, predicted, jumps, limit=None, scratch=None):
    """Fill the predicted samples and the jumps ``X_{k+1} − Φ(X_k)``; returns Σ ω r² (inf if it blew up).

    With a ``limit`` (sizes q², cost) it ends, also with inf, where Σ ω r² + Σ jump²/q² has passed that cost.
    ``scratch``: the room of :func:`path_scratch`, where there is one already."""
    scratch = scratch or path_scratch(program, data.tableau)
    squares, most = (np.ones(states.shape[1]), np.inf) if limit is None else limit
    plain = data.weight if data.side is None else np.where(data.side == 0.0, data.weight, 0.0)
    none = np.empty((0, states.shape[1]))
    cost = _flow(states, coefficients, data.y, plain, data.correlations, program, data.layout, data.tableau, predicted,
                 jumps, none, squares, most, scratch)  # fmt: skip
    if data.side is None or cost == np.inf:
        return cost
    with np.errstate(over="ignore", invalid="ignore"):
        cost += one_sided_cost(data.sided(predicted)[1])
    return cost if np.isfinite(cost) else np.inf


@kernel(**KERNEL)
def jump_cost(jumps, squares, farthest):
    """Σ jump²/q²; inf where one is as large as ``farthest``, or no number."""
    total = 0.0
    for k in range(jumps.shape[0]):
        for c in range(jumps.shape[1]):
            if not abs(jumps[k, c]) < farthest:
                return np.inf
            total += jumps[k, c] * jumps[k, c] / squares[c]
    return total


def sample_states(states, coefficients, program, layout, tableau, out):
    """The state at every sample, each segment integrated from its node."""
    every = layout._replace(stride=1)
    y, jumps = np.zeros(out.shape[0]), np.empty_like(states)
    squares, scratch = np.ones(states.shape[1]), path_scratch(program, tableau)
    _flow(states, coefficients, y, np.zeros_like(y), y[:0], program, every, tableau, np.empty_like(y), jumps, out,
          squares, np.inf, scratch)  # fmt: skip


@leaf(**LEAF, forceinline=False)
def _coloured_misfit(k, states, y, weight, colour, first, spans, predicted, jumps):
    """Σ ω (r_i − φ_i r_{i−1})² of the samples after node k up to the next node's, which the segment has led to, and of
    node k's own where a record begins."""
    i = first[k]
    before = predicted[i] - y[i]
    total = weight[i] * before**2 if colour[i] < 0.0 else 0.0
    for _ in range(spans[k]):
        i += 1
        ahead = predicted[i] if i < first[k] + spans[k] else states[k + 1, 0] - jumps[k, 0]
        r = ahead - y[i]
        if weight[i] > 0.0:
            total += weight[i] * (r - colour[i] * before) ** 2
        before = r
    return total


def path_scratch(program, tableau):
    """Room for :func:`evaluate_path`, overwritten by every call."""
    d, s, m = len(program.axes), tableau.b.shape[0], program.elements.codes.shape[0]
    states = (np.empty((d + m, LANES)) for _ in range(3))  # a state and, after it, the elements there
    table = np.empty((program.parent.shape[0], LANES))
    return np.empty((s, d, LANES)), table, np.empty((m, LANES, ROOM)), *states, np.empty((4, LANES))


@kernel(**KERNEL)
def _flow(
    states, coefficients, y, weight, colour, program, layout, tableau, predicted, jumps, path, squares, most, scratch
):  # fmt: skip
    """The samples along each segment, the jump after it and, where ``path`` has rows, the state at every step.  Returns
    Σ ω r², of coloured noise Σ ω (r_i − φ_i r_{i−1})², or inf where that is no number or, with Σ jump²/q², has passed
    ``most``."""
    axes, chain, parent, variable, offsets, slots, _, _, _, elements = program
    first, spans, stride, substeps, spacing = layout
    a, b = tableau
    stages, table, curves, trial, left, right, edges = scratch
    before, after, h, part = edges[0], edges[1], edges[2], edges[3]
    d, n_nodes = len(axes), first.shape[0]
    misfit = jumped = 0.0
    for group in range(0, n_nodes, LANES):
        longest = np.int64(0)
        for lane in range(LANES):
            k = min(group + lane, n_nodes - 1)  # the last one, which goes nowhere, fills up the last group
            longest = max(longest, spans[k])
            predicted[first[k]] = states[k, 0]
            for c in range(d):
                left[c, lane] = states[k, c]
                jumps[k, c] = 0.0
                if path.shape[0] > 0:
                    path[first[k], c] = states[k, c]
        for at in range(0, longest, stride):
            _step_lengths(group, at, spans, stride, spacing, substeps, h)
            for c in range(d):
                fill(right[c], left[c])
            if stride > 1:
                _slope(axes, left, coefficients, chain, parent, variable, offsets, slots, elements, table, curves,
                       before)  # fmt: skip
            for _ in range(substeps):
                _step(axes, right, h, coefficients, chain, parent, variable, offsets, slots, elements, a, b,
                      stages, table, curves, trial, part)  # fmt: skip
            if stride > 1:
                _slope(axes, right, coefficients, chain, parent, variable, offsets, slots, elements, table, curves,
                       after)  # fmt: skip
            for lane in range(min(LANES, n_nodes - group)):
                k = group + lane
                i, n = first[k] + at, min(stride, spans[k] - at)
                for m in range(1, n):
                    w0, w1, w2, w3 = _hermite(m / n, n * spacing)
                    predicted[i + m] = w0 * left[0, lane] + w1 * before[lane] + w2 * right[0, lane] + w3 * after[lane]
                if 0 < n < spans[k] - at:
                    predicted[i + n] = right[0, lane]
                    if path.shape[0] > 0:
                        for c in range(d):
                            path[i + n, c] = right[c, lane]
                elif n > 0:
                    for c in range(d):
                        jumps[k, c] = states[k + 1, c] - right[c, lane]
            for c in range(d):
                fill(left[c], right[c])
        for k in range(group, min(group + LANES, n_nodes)):
            if colour.shape[0] > 0:
                misfit += _coloured_misfit(k, states, y, weight, colour, first, spans, predicted, jumps)
            else:
                for i in range(first[k], first[k] + max(spans[k], 1)):
                    if weight[i] > 0.0:
                        misfit += weight[i] * (predicted[i] - y[i]) ** 2
            for c in range(d):
                jumped += jumps[k, c] ** 2 / squares[c]
        if most < np.inf and not misfit + jumped <= most:
            return np.inf
    return misfit if misfit < np.inf else np.inf
