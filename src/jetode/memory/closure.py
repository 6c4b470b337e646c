"""One memory closure (docs/mathematics.md (7.1)–(7.3)): known linear memory rows and a learned row x' = P(x, m).

Inside, x is in std from its mean and time is in oscillations; the equation is in the record's time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jetode.equations.equation import Equation, Readout
from jetode.equations.polynomials import Exponents, Polynomial, from_json, graded_order, scale, to_json
from jetode.memory.clock import Clock, bridged
from jetode.memory.legendre import MemoryFilter, memory_matrices
from jetode.memory.rollout import Program, program_of, rollouts
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError

STABLE = 1.2  # |eigenvalue| × step of the memory: Runge–Kutta's error is then below 1 % of a fading mode
STEPS = 40.0  # of an integration per oscillation at least
MOST_STEPS = 10_000  # of an integration between two samples, or points there: fits take some tens at most
NUMBERS = ("theta", "step", "period", "mean", "spread", "bound", "past", "score")


@dataclass(frozen=True, eq=False)
class MemoryClosure:
    """``q`` memory coordinates of the last ``theta``, on a clock of ``step``; all times are in the record's unit.

    The signal is ``mean`` + ``spread`` · x, P has ``coefficients`` for its ``exponents`` over (x, m_0 …) in std per
    oscillation (``period``).  A run beyond ``bound`` std has failed; ``past`` · θ of samples make a state; ``score`` is
    the mean held-out valid prediction time, in oscillations.
    """

    q: int
    theta: float
    step: float
    period: float
    mean: float
    spread: float
    exponents: tuple[Exponents, ...]
    coefficients: FloatArray
    bound: float
    past: float
    score: float = np.nan

    @property
    def degree(self) -> int:
        """Of P."""
        return max((sum(e) for e in self.exponents), default=0)

    @property
    def n_terms(self) -> int:
        """Coefficients of P: what was learned."""
        return len(self.exponents)

    def averaging(self, dt: float) -> int:
        """Samples of ``dt`` per step."""
        return self.clock(dt).averaging

    def clock(self, dt: float) -> Clock:
        """The step in samples of ``dt``."""
        if self.step < dt:
            return Clock(division=max(1, round(dt / self.step)))
        return Clock(averaging=max(1, round(self.step / dt)))

    @property
    def program(self) -> Program:
        """The monomials as a table and a coefficient for each of its entries."""
        return program_of(self.exponents, self.q + 1, self.coefficients)

    @cached_property
    def memory_rows(self) -> FloatArray:
        """Rates of m per oscillation as (q, 1 + q): of x and of m."""
        a, b = memory_matrices(self.q)
        return np.column_stack([b, a]) * (self.period / self.theta)

    # -- the state: a filter of the past -------------------------------------------------------------

    def state(self, values: FloatArray, end: int, dt: float) -> FloatArray:
        """(x, m) after the samples up to ``end``, at the last point of the clock (``clock(dt).late`` samples ago)."""
        clock = self.clock(dt)
        seen = int(np.ceil((self.past * self.theta / self.step + 8) * clock.step)) + 1
        past = values[max(0, end + 1 - seen) : end + 1]
        if np.isnan(past).all():
            return np.full(self.q + 1, np.nan)
        points = clock.points(bridged((past - self.mean) / self.spread, 0.0)[0])
        memory = MemoryFilter(self.q, self.theta / (clock.step * dt))(points)[-1]
        return np.concatenate([points[-1:], memory])

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int, dt: float) -> FloatArray:
        """From the samples up to each end, which is the first of (ends, steps + 1) values; NaN after a failure."""
        out = np.full((ends.size, steps + 1), np.nan)
        for row, end in zip(out, ends.tolist(), strict=True):
            measured = np.flatnonzero(np.isfinite(values[: end + 1]))
            if measured.size:  # the run goes over samples that are missing at the end
                last = int(measured[-1])
                row[:] = self.ahead(self.state(values, last, dt)[None], steps + end - last, dt)[0, end - last :]
        return out

    def feasible(self, dt: float) -> bool:
        """Whether a run on samples of ``dt`` takes a number of steps that can be taken."""
        if not self.step * MOST_STEPS > dt:
            return False
        clock = self.clock(dt)
        return runge_kutta_steps(self.memory_rows, clock.step * clock.pace * dt / self.period) <= MOST_STEPS

    def ahead(self, states: FloatArray, steps: int, dt: float) -> FloatArray:
        """From states at the last point of the clock on: the last sample and ``steps`` after it."""
        runs, slopes = rollouts(states, self.clock(dt).reach(steps), *self.steps(dt), self.program)
        return self.read(runs, slopes, steps, dt)

    def steps(self, dt: float) -> tuple[float, int, float, FloatArray]:
        """How rollouts go: from point to point, in so many steps, within what bound, with which memory."""
        clock = self.clock(dt)
        pace = clock.step * clock.pace * dt / self.period
        return pace, runge_kutta_steps(self.memory_rows, pace), self.bound, self.memory_rows

    def read(self, runs: FloatArray, slopes: FloatArray, steps: int, dt: float, first: int = 0) -> FloatArray:
        """The record's values along rollouts: ``first`` … ``steps`` samples after the last."""
        clock = self.clock(dt)
        pace = clock.step * clock.pace * dt / self.period
        return self.mean + self.spread * clock.ahead(runs, slopes, pace, steps, first)

    # -- the equation --------------------------------------------------------------------------------

    @property
    def polynomial(self) -> Polynomial:
        """P over (x, m), in std per oscillation."""
        return {e: float(c) for e, c in zip(self.exponents, self.coefficients, strict=True)}

    @cached_property
    def equation(self) -> Equation:
        """(7.1), (7.3) in the record's time, x in std from the mean."""
        n = self.q + 1
        units = [tuple(int(i == j) for i in range(n)) for j in range(n)]
        rows = [{u: float(c) for u, c in zip(units, row, strict=True) if c} for row in self.memory_rows / self.period]
        labels = ("x", *(f"m{i}" for i in range(self.q)))
        learned = scale(self.polynomial, 1.0 / self.period)
        return Equation((learned, *rows), labels, 1, Readout(0, self.spread, self.mean))

    # -- plain data ----------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        numbers = {name: float(getattr(self, name)) for name in NUMBERS}
        return {"q": self.q, **numbers, "P": to_json(self.polynomial)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MemoryClosure:
        """Inverse of :meth:`to_json`."""
        numbers = {name: np.nan if data[name] is None else float(data[name]) for name in NUMBERS}
        polynomial = from_json(data["P"])
        exponents = tuple(sorted(polynomial, key=graded_order))
        if any(len(e) != int(data["q"]) + 1 for e in exponents):
            raise InputError(f"A memory closure's monomials must have {data['q']} + 1 powers.")
        coefficients = np.array([polynomial[e] for e in exponents])
        return cls(q=int(data["q"]), exponents=exponents, coefficients=coefficients, **numbers)


def runge_kutta_steps(memory_rows: FloatArray, pace: float) -> int:
    """In ``pace`` oscillations: the fastest mode of the memory stays stable."""
    fastest = float(np.abs(np.linalg.eigvals(memory_rows[:, 1:])).max())
    return max(1, int(np.ceil(pace * max(fastest / STABLE, STEPS))))
