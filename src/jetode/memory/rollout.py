"""Rollouts of memory closures (docs/mathematics.md (7.4), (7.6)) by classical Runge–Kutta steps, compiled and batched.

The state is (x, m_0 … m_{q−1}).  The rate of x is Σ_k p_k φ_k with monomials φ that come from a table, one
multiplication each; the other rows are linear.
"""

from __future__ import annotations

import numpy as np

from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf

Program = tuple[IntArray, IntArray, FloatArray]  # parent and variable of each monomial of the table, its coefficient


@leaf(nogil=True)
def rates(
    state: FloatArray,
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Rates of the state; ``linear`` (d − 1, d) are the rows of the memory."""
    d = state.shape[0]
    for i in range(1, d):
        total = 0.0
        for j in range(d):
            total += linear[i - 1, j] * state[j]
        out[i] = total
    table[0] = 1.0
    total = coefficients[0]
    for k in range(1, parent.shape[0]):
        value = table[parent[k]] * state[variable[k]]
        table[k] = value
        total += coefficients[k] * value
    out[0] = total


@kernel(error_model="numpy", _nrt=False, nogil=True)
def _rollouts(
    states: FloatArray,
    step: float,
    divisions: int,
    bound: float,
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    scratch: FloatArray,
    table: FloatArray,
    out: FloatArray,
    slopes: FloatArray,
) -> None:
    """Fill ``out`` and ``slopes`` (starts, steps + 1) with x and x'; what lies beyond ``bound`` is left as it is."""
    d = states.shape[1]
    trial, k0, k1, k2, k3 = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    h = step / divisions
    for s in range(states.shape[0]):
        x = states[s]
        for n in range(out.shape[1]):
            if not abs(x[0]) < bound:
                break
            for part in range(divisions):
                rates(x, linear, parent, variable, coefficients, table, k0)
                if part == 0:
                    out[s, n] = x[0]
                    slopes[s, n] = k0[0]
                for i in range(d):
                    trial[i] = x[i] + 0.5 * h * k0[i]
                rates(trial, linear, parent, variable, coefficients, table, k1)
                for i in range(d):
                    trial[i] = x[i] + 0.5 * h * k1[i]
                rates(trial, linear, parent, variable, coefficients, table, k2)
                for i in range(d):
                    trial[i] = x[i] + h * k2[i]
                rates(trial, linear, parent, variable, coefficients, table, k3)
                for i in range(d):
                    x[i] += h / 6.0 * (k0[i] + 2.0 * k1[i] + 2.0 * k2[i] + k3[i])


def rollouts(
    states: FloatArray,
    steps: int,
    step: float,
    divisions: int,
    bound: float,
    linear: FloatArray,
    program: Program,
) -> tuple[FloatArray, FloatArray]:
    """x and x' (starts, steps + 1) from each row of ``states``; NaN from where |x| leaves ``bound``."""
    out = np.full((states.shape[0], steps + 1), np.nan)
    slopes = np.full_like(out, np.nan)
    d = states.shape[1]
    scratch = np.empty((5, d))
    table = np.empty(program[0].size)
    starts = np.array(states, order="C")
    _rollouts(starts, step, divisions, bound, linear, *program, scratch, table, out, slopes)
    return out, slopes
