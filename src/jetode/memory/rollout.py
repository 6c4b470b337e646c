"""Rollouts of memory closures (docs/mathematics.md (7.3), (7.6)) by classical Runge–Kutta steps, compiled and batched.

The state is (x, m_0 … m_{q−1}).  The rate of x is Σ_k p_k φ_k with monomials φ that come from a table, one
multiplication each; the other rows are linear.  Runs go side by side: the last index of every array counts them, so
that the processor takes several at once.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jetode.equations.polynomials import Exponents, monomial_program
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf

Program = tuple[IntArray, IntArray, FloatArray]  # parent and variable of each monomial of the table, its coefficient


@lru_cache(maxsize=64)
def monomial_table(exponents: tuple[Exponents, ...], n_variables: int) -> tuple[IntArray, IntArray, IntArray]:
    """:func:`.monomial_program`, kept: many coefficients share their monomials."""
    return monomial_program(exponents, n_variables)


@leaf()
def rates(
    state: FloatArray,
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Rates (d, runs) of states (d, runs), with the monomials (terms, runs) there; ``linear`` are the memory's rows."""
    d, runs = state.shape
    for i in range(1, d):
        for s in range(runs):
            out[i, s] = 0.0
        for j in range(d):
            a = linear[i - 1, j]
            for s in range(runs):
                out[i, s] += a * state[j, s]
    for s in range(runs):
        table[0, s] = 1.0
        out[0, s] = coefficients[0]
    for k in range(1, parent.shape[0]):
        up, v, c = parent[k], variable[k], coefficients[k]
        for s in range(runs):
            value = table[up, s] * state[v, s]
            table[k, s] = value
            out[0, s] += c * value


@leaf()
def advance(state: FloatArray, h: float, k: FloatArray) -> None:
    """x + h/6 (k0 + 2 k1 + 2 k2 + k3)."""
    for i in range(state.shape[0]):
        for s in range(state.shape[1]):
            state[i, s] += h / 6.0 * (k[0, i, s] + 2.0 * k[1, i, s] + 2.0 * k[2, i, s] + k[3, i, s])


@kernel(error_model="numpy", _nrt=False)
def _rollouts(
    state: FloatArray,
    step: float,
    divisions: int,
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    trial: FloatArray,
    k: FloatArray,
    table: FloatArray,
    bound: float,
    out: FloatArray,
    slopes: FloatArray,
) -> None:
    """Fill ``out`` and ``slopes`` (points, runs) with x and x', up to where no run is inside of ``bound``."""
    d, runs = state.shape
    h = step / divisions
    for n in range(out.shape[0]):
        inside = 0
        for s in range(runs):
            if abs(state[0, s]) < bound:
                inside += 1
        if inside == 0:
            return
        for part in range(divisions):
            for stage in range(4):
                ahead = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
                before = max(stage - 1, 0)
                for i in range(d):
                    for s in range(runs):
                        trial[i, s] = state[i, s] + ahead * k[before, i, s]
                rates(trial, linear, parent, variable, coefficients, table, k[stage])
            if part == 0:
                for s in range(runs):
                    out[n, s] = state[0, s]
                    slopes[n, s] = k[0, 0, s]
            advance(state, h, k)


def rollouts(
    states: FloatArray, steps: int, step: float, divisions: int, bound: float, linear: FloatArray, program: Program
) -> tuple[FloatArray, FloatArray]:
    """x and x' (starts, steps + 1) from each row of ``states``; NaN from where |x| leaves ``bound``."""
    runs, d = states.shape
    out, slopes = np.full((steps + 1, runs), np.nan), np.full((steps + 1, runs), np.nan)
    room = np.empty((d, runs)), np.zeros((4, d, runs)), np.empty((program[0].size, runs))
    _rollouts(np.array(states.T, order="C"), step, divisions, linear, *program, *room, bound, out, slopes)
    lost = np.logical_or.accumulate(~(np.abs(out) < bound), axis=0)
    out[lost] = slopes[lost] = np.nan
    return out.T, slopes.T
