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
LOST = 2.0  # std: a rollout farther off says nothing about p near it
WATCHED = 4  # points of a rollout that are compared, spread evenly: more are nearly the same rows


def linearised(
    stretches: Sequence[Stretch], closure: MemoryClosure, step: float, length: int, stride: int, fold: int | None = None
) -> Gram:
    """The sums of rollouts of ``length`` steps about the closure, from every ``stride``-th point; without those that
    show a fold, which the closure must not have seen: in directions that the other rows hardly determine, a
    Gauss–Newton step stays where it is."""
    slots = monomial_table(closure.exponents, closure.q + 1)[2]
    sums = Sums(closure.exponents, 0)
    watched = np.unique(np.linspace(0, length, min(WATCHED, length) + 1).round().astype(np.int64)[1:])
    divisions = runge_kutta_steps(closure.memory_rows, step)
    given = step, divisions, closure.bound, closure.memory_rows, closure.program
    for stretch in stretches:
        first, held = stretch.rows(length + 1, stride)
        if fold is not None:
            first = first[~held[fold]]
        for begin in range(0, first.size, CHUNK):
            chosen = first[begin : begin + CHUNK]
            runs, slopes = sensitivities(stretch.states[chosen], watched, *given)
            residual = stretch.states[chosen[:, None] + watched, 0] - runs
            sound = np.abs(residual) < LOST
            rows = slopes[sound] if slots.size == slopes.shape[2] else slopes[sound][:, slots]
            sums.add(rows, residual[sound] + rows @ closure.coefficients, np.empty((0, rows.shape[0]), dtype=np.bool_))
    return sums.gram()
