"""Rollouts of memory closures (docs/mathematics.md (7.3), (7.6)) by classical Runge–Kutta steps, compiled and batched.

The state is (x, m_0 … m_{q−1}).  The rate of x is Σ_k p_k φ_k with monomials φ that come from a table, one
multiplication each; the other rows are linear.  Runs go side by side, :data:`LANES` at a time, each with
coefficients of its own: the last index of every array counts them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jetode.equations.polynomials import Exponents, monomial_program
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf
from jetode.support.lane_blocks import monomials
from jetode.support.lanes import LANES, add_product, fill, weighted_rows

# parent and variable of each monomial of the table, and its coefficient, or (runs, table) coefficients
Program = tuple[IntArray, IntArray, FloatArray]


@lru_cache(maxsize=64)
def monomial_table(exponents: tuple[Exponents, ...], n_variables: int) -> tuple[IntArray, IntArray, IntArray]:
    """:func:`.monomial_program`, kept: many coefficients share their monomials."""
    return monomial_program(exponents, n_variables)


def program_of(exponents: tuple[Exponents, ...], n_variables: int, coefficients: FloatArray) -> Program:
    """The table of some monomials with their coefficients, or (runs, monomials) of them; 0 for others of the table."""
    parent, variable, slots = monomial_table(exponents, n_variables)
    placed = np.zeros((*coefficients.shape[:-1], parent.size))
    placed[..., slots] = coefficients
    return parent, variable, placed


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
    """Rates (d, LANES) of states (d, LANES), with the monomials (terms, LANES) there; ``linear`` are the memory's
    rows."""
    for i in range(1, state.shape[0]):
        weighted_rows(out[i], linear[i - 1], state)
    monomials(table, state, parent, variable)
    weighted_rows(out[0], coefficients, table)


@leaf()
def ahead(state: FloatArray, h: float, k: FloatArray, out: FloatArray) -> None:
    """x + h k; x where h is 0, whatever k."""
    for i in range(state.shape[0]):
        fill(out[i], state[i])
        if h != 0.0:
            add_product(out[i], k[i], h)


@leaf()
def advance(state: FloatArray, h: float, k: FloatArray) -> None:
    """x + h/6 (k0 + 2 k1 + 2 k2 + k3)."""
    for i in range(state.shape[0]):
        for stage in range(4):
            add_product(state[i], k[stage, i], h / 6.0 if stage in (0, 3) else h / 3.0)


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
    """Fill ``out`` and ``slopes`` (points, LANES) with x and x', up to where no run is inside of ``bound``."""
    h = step / divisions
    for n in range(out.shape[0]):
        inside = 0
        for s in range(LANES):
            if abs(state[0, s]) < bound:
                inside += 1
        if inside == 0:
            return
        for part in range(divisions):
            for stage in range(4):
                part_of = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
                ahead(state, part_of, k[max(stage - 1, 0)], trial)
                rates(trial, linear, parent, variable, coefficients, table, k[stage])
            if part == 0:
                fill(out[n], state[0])
                fill(slopes[n], k[0, 0])
            advance(state, h, k)


def rollouts(
    states: FloatArray, steps: int, step: float, divisions: int, bound: float, linear: FloatArray, program: Program
) -> tuple[FloatArray, FloatArray]:
    """x and x' (starts, steps + 1) from each row of ``states``; NaN from where |x| leaves ``bound``."""
    return stretches(states, steps + 1, step, divisions, bound, linear, program)[:2]


def stretches(
    states: FloatArray, points: int, step: float, divisions: int, bound: float, linear: FloatArray, program: Program
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same at so many points from the states on, and the states (starts, d) at the point after them, from which
    those inside of ``bound`` can go on."""
    groups, (parent, variable, coefficients) = in_lanes(states), program
    own = in_lanes(np.broadcast_to(coefficients, (len(states), parent.size)))
    out, slopes = np.full((2, len(groups), points, LANES), np.nan)
    d = states.shape[1]
    room = np.empty((d, LANES)), np.zeros((4, d, LANES)), np.empty((parent.size, LANES))
    for state, given, *into in zip(groups, own, out, slopes, strict=True):
        _rollouts(state, step, divisions, linear, parent, variable, given, *room, bound, *into)
    lost = np.logical_or.accumulate(~(np.abs(out) < bound), axis=1)
    out[lost] = slopes[lost] = np.nan
    return by_run(out)[: len(states)], by_run(slopes)[: len(states)], by_run(groups)[: len(states)]


def in_lanes(states: FloatArray) -> FloatArray:
    """States (runs, d) as groups (groups, d, LANES), the last one filled up with its last run."""
    runs, d = states.shape
    at = np.minimum(np.arange(-(-runs // LANES) * LANES), runs - 1)
    return np.ascontiguousarray(states[at].reshape(-1, LANES, d).transpose(0, 2, 1))


def by_run(values: FloatArray) -> FloatArray:
    """(groups, …, LANES) as (runs, …)."""
    return np.ascontiguousarray(np.moveaxis(values, -1, 1)).reshape(len(values) * LANES, *values.shape[1:-1])
