"""Rollouts with their sensitivities ∂x/∂p (docs/mathematics.md (7.6)), compiled and batched.

p enters the rate of x alone, so that S needs no equation of its own: with the adjoint a of x(t_k), a' = −(∂f/∂z)ᵀ a
back from (1, 0 …) at t_k, the sensitivity is ∂x(t_k)/∂p = ∫ a_0 φ dt.  The path takes Runge–Kutta steps; each two of
them make one of the adjoint and one of Simpson's rule.  Runs go side by side as in :mod:`jetode.memory.rollout`.
"""

from __future__ import annotations

import numpy as np

from jetode.memory.rollout import Program, advance, ahead, by_run, in_lanes, rates
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf
from jetode.support.lanes import LANES, add_product, fill, multiply


@leaf()
def _slopes(
    state: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    table: FloatArray,
    weight: FloatArray,
    out: FloatArray,
) -> None:
    """∂P/∂(x, m) (d, LANES), back through the monomials at the states; ``weight`` is room for ∂P/∂(monomial)."""
    for k in range(parent.shape[0]):
        fill(weight[k], coefficients[k])
    for j in range(state.shape[0]):
        fill(out[j], 0.0)
    for k in range(parent.shape[0] - 1, 0, -1):
        add_product(out[variable[k]], weight[k], table[parent[k]])
        add_product(weight[parent[k]], weight[k], state[variable[k]])


@leaf()
def _adjoint_rates(adjoint: FloatArray, slope: FloatArray, linear: FloatArray, out: FloatArray) -> None:
    """(∂f/∂z)ᵀ a."""
    for j in range(adjoint.shape[0]):
        multiply(out[j], slope[j], adjoint[0])
        for i in range(1, adjoint.shape[0]):
            add_product(out[j], adjoint[i], linear[i - 1, j])


@leaf()
def _gather(
    n: int, h: float, linear: FloatArray, slopes: FloatArray, tables: FloatArray, room: FloatArray, rows: FloatArray
) -> None:
    """∂x/∂p (terms, LANES) at point ``n``: the adjoint back to the start, in steps of 2 h with slopes in the middle."""
    adjoint, trial, first, stage, total = room[0], room[1], room[2], room[3], room[4]
    d, m = adjoint.shape[0], rows.shape[0]
    for i in range(d):
        fill(adjoint[i], 1.0 if i == 0 else 0.0)
    for k in range(m):
        multiply(rows[k], tables[n, k], h / 3.0)
    for back in range(n - 2, -1, -2):
        _adjoint_rates(adjoint, slopes[back + 2], linear, first)
        for i in range(d):
            fill(total[i], first[i])
            fill(stage[i], first[i])
        for part in range(3):
            ahead(adjoint, 2.0 * h if part == 2 else h, stage, trial)
            _adjoint_rates(trial, slopes[back if part == 2 else back + 1], linear, stage)
            for i in range(d):
                add_product(total[i], stage[i], 1.0 if part == 2 else 2.0)
        for i in range(d):
            fill(trial[i], adjoint[i])
            add_product(adjoint[i], total[i], h / 3.0)
        _adjoint_rates(adjoint, slopes[back], linear, stage)
        middle = total[0]  # by Hermite's cubic, times Simpson's weight
        multiply(middle, trial[0], 2.0 * h / 3.0)
        add_product(middle, adjoint[0], 2.0 * h / 3.0)
        add_product(middle, first[0], h * h / 3.0)
        add_product(middle, stage[0], -h * h / 3.0)
        multiply(stage[0], adjoint[0], (1.0 if back == 0 else 2.0) * h / 3.0)
        for k in range(m):
            add_product(rows[k], middle, tables[back + 1, k])
            add_product(rows[k], stage[0], tables[back, k])


@kernel(error_model="numpy", _nrt=False)
def _sensitivities(
    state: FloatArray,
    h: float,
    divisions: int,
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    watched: IntArray,
    room: FloatArray,
    k: FloatArray,
    weight: FloatArray,
    tables: FloatArray,
    slopes: FloatArray,
    out: FloatArray,
    rows: FloatArray,
) -> None:
    """Fill ``out`` (watched, LANES) with x and ``rows`` (watched, terms, LANES) after so many × ``divisions`` steps."""
    trial = room[1]
    seen = 0
    for n in range(slopes.shape[0]):
        for stage in range(4):
            ahead(state, 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h), k[max(stage - 1, 0)], trial)
            rates(trial, linear, parent, variable, coefficients, tables[n if stage == 0 else n + 1], k[stage])
        _slopes(state, parent, variable, coefficients, tables[n], weight, slopes[n])
        if n == watched[seen] * divisions:
            fill(out[seen], state[0])
            _gather(n, h, linear, slopes, tables, room, rows[seen])
            seen += 1
        advance(state, h, k)


def sensitivities(
    states: FloatArray,
    watched: IntArray,
    step: float,
    divisions: int,
    bound: float,
    linear: FloatArray,
    program: Program,
) -> tuple[FloatArray, FloatArray]:
    """x (starts, watched) after the numbers of steps watched, increasing, and ∂x/∂p (starts, watched, table of
    monomials); NaN after a failure."""
    groups = in_lanes(states)
    count, d, m = len(groups), states.shape[1], program[0].size
    even = 2 * -(-divisions // 2)
    points = int(watched[-1]) * even + 1
    out, rows = np.empty((count, watched.size, LANES)), np.empty((count, watched.size, m, LANES))
    room = np.zeros((5, d, LANES)), np.zeros((4, d, LANES)), np.empty((m, LANES))
    path = np.empty((points + 1, m, LANES)), np.empty((points, d, LANES))
    for state, *into in zip(groups, out, rows, strict=True):
        _sensitivities(state, step / even, even, linear, *program, watched, *room, *path, *into)
    lost = np.logical_or.accumulate(~(np.abs(out) < bound), axis=1)
    out[lost] = np.nan
    return by_run(out)[: len(states)], by_run(rows)[: len(states)]
