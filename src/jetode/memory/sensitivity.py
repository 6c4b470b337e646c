"""Rollouts with their sensitivities ∂x/∂p (docs/mathematics.md (7.6)), compiled and batched.

p enters the rate of x alone, so that S needs no equation of its own: with the adjoint a of x(t_k), a' = −(∂f/∂z)ᵀ a
back from (1, 0 …) at t_k, the sensitivity is ∂x(t_k)/∂p = ∫ a_0 φ dt.  The path takes Runge–Kutta steps; each two of
them make one of the adjoint and one of Simpson's rule.  Runs go side by side as in :mod:`jetode.memory.rollout`.
"""

from __future__ import annotations

import numpy as np

from jetode.memory.rollout import Program, advance, rates
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf


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
    """∂P/∂(x, m) (d, runs), back through the monomials at the states; ``weight`` is room for ∂P/∂(monomial)."""
    d, runs = state.shape
    for k in range(parent.shape[0]):
        c = coefficients[k]
        for s in range(runs):
            weight[k, s] = c
    for j in range(d):
        for s in range(runs):
            out[j, s] = 0.0
    for k in range(parent.shape[0] - 1, 0, -1):
        up, v = parent[k], variable[k]
        for s in range(runs):
            out[v, s] += weight[k, s] * table[up, s]
            weight[up, s] += weight[k, s] * state[v, s]


@leaf()
def _adjoint_rates(adjoint: FloatArray, slope: FloatArray, linear: FloatArray, out: FloatArray) -> None:
    """(∂f/∂z)ᵀ a."""
    d, runs = adjoint.shape
    for j in range(d):
        for s in range(runs):
            out[j, s] = slope[j, s] * adjoint[0, s]
        for i in range(1, d):
            c = linear[i - 1, j]
            for s in range(runs):
                out[j, s] += c * adjoint[i, s]


@leaf()
def _gather(
    n: int, h: float, linear: FloatArray, slopes: FloatArray, tables: FloatArray, room: FloatArray, rows: FloatArray
) -> None:
    """∂x/∂p (terms, runs) at point ``n``: the adjoint back to the start, in steps of 2 h with slopes in the middle."""
    adjoint, trial, first, stage, total = room[0], room[1], room[2], room[3], room[4]
    d, runs = adjoint.shape
    m = rows.shape[0]
    for i in range(d):
        for s in range(runs):
            adjoint[i, s] = 1.0 if i == 0 else 0.0
    for k in range(m):
        for s in range(runs):
            rows[k, s] = h / 3.0 * tables[n, k, s]
    for back in range(n - 2, -1, -2):
        _adjoint_rates(adjoint, slopes[back + 2], linear, first)
        for i in range(d):
            for s in range(runs):
                total[i, s] = first[i, s]
                stage[i, s] = first[i, s]
        for part in range(3):
            ahead = 2.0 * h if part == 2 else h
            weight = 1.0 if part == 2 else 2.0
            for i in range(d):
                for s in range(runs):
                    trial[i, s] = adjoint[i, s] + ahead * stage[i, s]
            _adjoint_rates(trial, slopes[back if part == 2 else back + 1], linear, stage)
            for i in range(d):
                for s in range(runs):
                    total[i, s] += weight * stage[i, s]
        for i in range(d):
            for s in range(runs):
                trial[i, s] = adjoint[i, s]
                adjoint[i, s] += h / 3.0 * total[i, s]
        _adjoint_rates(adjoint, slopes[back], linear, stage)
        share = 1.0 if back == 0 else 2.0
        for s in range(runs):  # Hermite's cubic has the middle
            middle = 0.5 * (trial[0, s] + adjoint[0, s]) + 0.25 * h * (first[0, s] - stage[0, s])
            total[0, s] = 4.0 * h / 3.0 * middle
            stage[0, s] = share * h / 3.0 * adjoint[0, s]
        for k in range(m):
            for s in range(runs):
                rows[k, s] += total[0, s] * tables[back + 1, k, s] + stage[0, s] * tables[back, k, s]


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
    """Fill ``out`` (watched, runs) with x and ``rows`` (watched, terms, runs) after so many × ``divisions`` steps."""
    d, runs = state.shape
    trial = room[1]
    seen = 0
    for n in range(slopes.shape[0]):
        for stage in range(4):
            ahead = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
            before = max(stage - 1, 0)
            for i in range(d):
                for s in range(runs):
                    trial[i, s] = state[i, s] + ahead * k[before, i, s]
            rates(trial, linear, parent, variable, coefficients, tables[n if stage == 0 else n + 1], k[stage])
        _slopes(state, parent, variable, coefficients, tables[n], weight, slopes[n])
        if n == watched[seen] * divisions:
            for s in range(runs):
                out[seen, s] = state[0, s]
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
    runs, d = states.shape
    m = program[0].size
    even = 2 * -(-divisions // 2)
    points = int(watched[-1]) * even + 1
    out, rows = np.empty((watched.size, runs)), np.empty((watched.size, m, runs))
    room = np.zeros((5, d, runs)), np.zeros((4, d, runs)), np.empty((m, runs))
    path = np.empty((points + 1, m, runs)), np.empty((points, d, runs))
    _sensitivities(np.array(states.T, order="C"), step / even, even, linear, *program, watched, *room, *path, out, rows)
    lost = np.logical_or.accumulate(~(np.abs(out) < bound), axis=0)
    out[lost] = np.nan
    return out.T, np.ascontiguousarray(rows.transpose(2, 0, 1))
