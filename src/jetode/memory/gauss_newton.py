"""P fitted to rollouts over part of an oscillation (docs/mathematics.md (7.6)) by Gauss–Newton steps, as regressions.

One step takes the noise of x itself for dynamics.  Along rollouts with coefficients p the record is
x + (∂x/∂p) (p̂ − p),
so that rows ∂x/∂p with targets residual + (∂x/∂p) p make a Gram matrix like any other.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.polynomials import Library
from jetode.memory.closure import MemoryClosure, runge_kutta_steps
from jetode.memory.regression import Gram, Stretch, Sums
from jetode.memory.sensitivity import sensitivities

CHUNK = 128  # rollouts at a time: a few megabytes
LOST = 2.0  # std: a rollout farther off says nothing about p near it
WATCHED = 4  # points of a rollout that are compared, spread evenly: more are nearly the same rows


def linearised(stretches: list[Stretch], closure: MemoryClosure, step: float, length: int) -> Gram:
    """The sums of rollouts of ``length`` steps about the closure, one from every half of a length."""
    library = Library(closure.exponents, closure.q + 1)
    sums = Sums(library, stretches[0].held.shape[0])
    watched = np.unique(np.linspace(0, length, min(WATCHED, length) + 1).round().astype(np.int64)[1:])
    divisions = runge_kutta_steps(closure.memory_rows, step)
    for stretch in stretches:
        first, held = stretch.rows(length + 1, max(1, length // 2))
        for begin in range(0, first.size, CHUNK):
            chosen = first[begin : begin + CHUNK]
            runs, slopes = sensitivities(
                stretch.states[chosen], watched, step, divisions, closure.bound, closure.memory_rows, closure.program
            )
            residual = stretch.states[chosen[:, None] + watched, 0] - runs
            sound = np.abs(residual) < LOST
            rows = slopes[sound][:, library.slots]
            shown = np.repeat(held[:, begin : begin + CHUNK, None], watched.size, axis=2)[:, sound]
            sums.add(rows, residual[sound] + rows @ closure.coefficients, shown)
    return sums.gram()
