"""Rollouts with their sensitivities ∂x/∂p (docs/mathematics.md (7.6)), compiled and batched.

p enters the rate of x alone, so that S needs no equation of its own: with the adjoint a of x(t_k), a' = −(∂f/∂z)ᵀ a
back from (1, 0 …) at t_k, the sensitivity is ∂x(t_k)/∂p = ∫ a_0 φ dt.  The path takes Runge–Kutta steps; each two of
them make one of the adjoint and one of Simpson's rule.
"""

from __future__ import annotations

import numpy as np

from jetode.memory.rollout import Program, rates
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf


@leaf(nogil=True)
def _slopes(
    state: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    table: FloatArray,
    gradient: FloatArray,
    out: FloatArray,
) -> None:
    """∂P/∂(x, m), given the monomials at the state; ``gradient`` is room for theirs."""
    d = state.shape[0]
    for j in range(d):
        out[j] = 0.0
        gradient[0, j] = 0.0
    for k in range(1, parent.shape[0]):
        up, v = parent[k], variable[k]
        for j in range(d):
            gradient[k, j] = gradient[up, j] * state[v]
        gradient[k, v] += table[up]
        for j in range(d):
            out[j] += coefficients[k] * gradient[k, j]


@leaf(nogil=True)
def _adjoint_rates(adjoint: FloatArray, slope: FloatArray, linear: FloatArray, out: FloatArray) -> None:
    """(∂f/∂z)ᵀ a."""
    d = adjoint.shape[0]
    for j in range(d):
        total = slope[j] * adjoint[0]
        for i in range(1, d):
            total += linear[i - 1, j] * adjoint[i]
        out[j] = total


@kernel(error_model="numpy", _nrt=False, nogil=True)
def _sensitivities(
    states: FloatArray,
    times: tuple[float, int, float],
    linear: FloatArray,
    parent: IntArray,
    variable: IntArray,
    coefficients: FloatArray,
    watched: IntArray,
    scratch: FloatArray,
    tables: FloatArray,
    gradient: FloatArray,
    slopes: FloatArray,
    out: FloatArray,
    rows: FloatArray,
) -> None:
    """Fill ``out`` (starts, watched) with x and ``rows`` (starts, watched, monomials); as they are after a failure.

    ``times`` = (step, Runge–Kutta steps in it, an even number, bound); ``watched`` are numbers of steps, increasing.
    """
    step, divisions, bound = times
    d, m = states.shape[1], parent.shape[0]
    trial, k0, k1, k2, k3, a = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
    h = step / divisions
    last = watched[watched.shape[0] - 1] * divisions
    room = tables[last + 1]
    for s in range(states.shape[0]):
        x = states[s]
        seen = 0
        for n in range(last + 1):
            rates(x, linear, parent, variable, coefficients, tables[n], k0)
            _slopes(x, parent, variable, coefficients, tables[n], gradient, slopes[n])
            if not abs(x[0]) < bound:
                break
            if n == watched[seen] * divisions:
                out[s, seen] = x[0]
                for i in range(d):
                    a[i] = 0.0
                a[0] = 1.0
                for k in range(m):
                    rows[s, seen, k] = h / 3.0 * tables[n, k]
                _adjoint_rates(a, slopes[n], linear, k1)
                for back in range(n - 2, -1, -2):  # one step of 2 h back; slopes at its ends and its middle
                    before, rate = a[0], k1[0]
                    for i in range(d):
                        trial[i] = a[i] + h * k1[i]
                        k3[i] = k1[i]
                    _adjoint_rates(trial, slopes[back + 1], linear, k2)
                    for i in range(d):
                        trial[i] = a[i] + h * k2[i]
                        k3[i] += 2.0 * k2[i]
                    _adjoint_rates(trial, slopes[back + 1], linear, k2)
                    for i in range(d):
                        trial[i] = a[i] + 2.0 * h * k2[i]
                        k3[i] += 2.0 * k2[i]
                    _adjoint_rates(trial, slopes[back], linear, k2)
                    for i in range(d):
                        a[i] += h / 3.0 * (k3[i] + k2[i])
                    _adjoint_rates(a, slopes[back], linear, k1)
                    middle = 0.5 * (before + a[0]) + 0.25 * h * (rate - k1[0])  # Hermite's cubic
                    at_middle = 4.0 * h / 3.0 * middle
                    at_end = (h / 3.0 if back == 0 else 2.0 * h / 3.0) * a[0]
                    for k in range(m):
                        rows[s, seen, k] += at_middle * tables[back + 1, k] + at_end * tables[back, k]
                seen += 1
                if seen == watched.shape[0]:
                    break
            for i in range(d):
                trial[i] = x[i] + 0.5 * h * k0[i]
            rates(trial, linear, parent, variable, coefficients, room, k1)
            for i in range(d):
                trial[i] = x[i] + 0.5 * h * k1[i]
            rates(trial, linear, parent, variable, coefficients, room, k2)
            for i in range(d):
                trial[i] = x[i] + h * k2[i]
            rates(trial, linear, parent, variable, coefficients, room, k3)
            for i in range(d):
                x[i] += h / 6.0 * (k0[i] + 2.0 * k1[i] + 2.0 * k2[i] + k3[i])


def sensitivities(
    states: FloatArray,
    watched: IntArray,
    step: float,
    divisions: int,
    bound: float,
    linear: FloatArray,
    program: Program,
) -> tuple[FloatArray, FloatArray]:
    """x (starts, watched) after the numbers of steps watched and ∂x/∂p (starts, watched, table of monomials); NaN after
    a failure."""
    d, m = states.shape[1], program[0].size
    even = 2 * -(-divisions // 2)
    points = int(watched[-1]) * even + 1
    out = np.full((states.shape[0], watched.size), np.nan)
    rows = np.full((states.shape[0], watched.size, m), np.nan)
    _sensitivities(
        np.array(states, order="C"),
        (step, even, bound),
        linear,
        *program,
        watched,
        np.zeros((6, d)),
        np.empty((points + 1, m)),
        np.empty((m, d)),
        np.empty((points, d)),
        out,
        rows,
    )
    return out, rows
