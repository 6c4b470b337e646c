"""P fitted to rollouts over part of an oscillation (docs/mathematics.md (7.6)) by Gauss–Newton steps, as regressions.

One step takes the noise of x itself for dynamics.  Along rollouts with coefficients p the record is
x + (∂x/∂p) (p̂ − p), so that rows ∂x/∂p with targets residual + (∂x/∂p) p make a Gram matrix like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jetode.memory.closure import MemoryClosure, runge_kutta_steps
from jetode.memory.regression import Gram, Stretch, Sums
from jetode.memory.rollout import monomial_table
from jetode.memory.sensitivity import sensitivities

CHUNK = 256  # rollouts whose rows are added up at a time: a few megabytes
BESIDE = 32  # rollouts side by side: their monomials stay in the cache
LOST = 2.0  # std: a rollout farther off says nothing about p near it
WATCHED = 4  # points of a rollout that are compared, spread evenly: more are nearly the same rows


def linearised(stretches: Sequence[Stretch], closure: MemoryClosure, step: float, length: int, stride: int) -> Gram:
    """The sums of rollouts of ``length`` steps about the closure, from every ``stride``-th point."""
    slots = monomial_table(closure.exponents, closure.q + 1)[2]
    sums = Sums(closure.exponents, stretches[0].held.shape[0])
    watched = np.unique(np.linspace(0, length, min(WATCHED, length) + 1).round().astype(np.int64)[1:])
    divisions = runge_kutta_steps(closure.memory_rows, step)
    given = step, divisions, closure.bound, closure.memory_rows, closure.program
    for stretch in stretches:
        first, held = stretch.rows(length + 1, stride)
        for begin in range(0, first.size, CHUNK):
            chosen = first[begin : begin + CHUNK]
            parts = [
                sensitivities(stretch.states[chosen[at : at + BESIDE]], watched, *given)
                for at in range(0, chosen.size, BESIDE)
            ]
            runs, slopes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            residual = stretch.states[chosen[:, None] + watched, 0] - runs
            sound = np.abs(residual) < LOST
            rows = slopes[sound] if slots.size == slopes.shape[2] else slopes[sound][:, slots]
            shown = np.repeat(held[:, begin : begin + CHUNK, None], watched.size, axis=2)[:, sound]
            sums.add(rows, residual[sound] + rows @ closure.coefficients, shown)
    return sums.gram()
