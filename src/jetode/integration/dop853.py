"""Compiled DOP853 with dense output of order 7, the integrator of the paper's forecasts (settings table).

Stage values, error norm and step control follow E. Hairer, S. P. Nørsett, G. Wanner, *Solving Ordinary
Differential Equations I* (and SciPy's reading of it); samples come from the dense output, whose three extra
stages are computed only for steps that contain a sample.  A failure is a value, see :class:`Stop`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jetode.equations.field import Field
from jetode.integration.dop853_kernel import run_lanes, scratch
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.lanes import LANES
from jetode.support.threads import side_by_side

MIN_RTOL = 100.0 * np.finfo(np.float64).eps
BLOCKS = 8  # of starts at least, where there are as many groups of lanes, for any number of threads
STEPS_PER_SAMPLE = 50  # default limit of attempted steps: this many per sample, and 10,000


class Stop(StrEnum):
    """Why an integration ended.

    POLE is told from other failures as in docs/mathematics.md (2.3).

    A change of sign of D alone is no failure: an exact closure crosses D = 0 smoothly.  POLE is a failure
    (collapsed step, non-finite state or bound exceeded) *while* |D| is below ``POLE_FRACTION`` of its largest
    value so far or changes sign within the failed step; the same failure elsewhere is STEP_TOO_SMALL or
    DIVERGED.  STEP_LIMIT is the guard against crawling.
    """

    COMPLETED = "COMPLETED"
    POLE = "POLE"
    DIVERGED = "DIVERGED"
    STEP_TOO_SMALL = "STEP_TOO_SMALL"
    STEP_LIMIT = "STEP_LIMIT"


_STOPS = (Stop.COMPLETED, Stop.POLE, Stop.DIVERGED, Stop.STEP_TOO_SMALL, Stop.STEP_LIMIT)


@dataclass(frozen=True, eq=False)
class Integration:
    """States (m, d) at t = 0, dt, …; m is smaller than asked for when the integration stopped early.

    ``stop_time`` is the end of the last step that was sound (the full duration when COMPLETED).
    """

    states: FloatArray
    stop: Stop
    stop_time: float
    n_steps: int
    n_evaluations: int


@dataclass(frozen=True)
class Control:
    """How an integration is controlled: tolerances, the longest step, where it counts as gone, steps in all.

    ``atol`` and ``bound`` are numbers or one per coordinate, in the coordinates' units.
    """

    rtol: float = 1e-8  # the paper's
    atol: ArrayLike = 1e-10  # the paper's, for coordinates of size 1
    max_step: float = np.inf
    bound: ArrayLike = np.inf
    max_steps: int | None = None  # None: as many as STEPS_PER_SAMPLE allows


def integrate(field: Field, x0: ArrayLike, n_samples: int, dt: float, **control: Any) -> Integration:
    """Integrate from ``x0`` and sample at 0, dt, …, (n_samples - 1) dt; ``control``: what :class:`Control` takes."""
    return integrate_many(field, np.asarray(x0, dtype=np.float64)[None], n_samples, dt, **control)[0]


def integrate_many(field: Field, x0: ArrayLike, n_samples: int, dt: float, **control: Any) -> list[Integration]:
    """:func:`integrate` from each row of ``x0`` (s, d), side by side."""
    asked = Control(**control)
    d = field.dimension
    starts = np.array(x0, dtype=np.float64, order="C")
    if starts.ndim != 2 or starts.shape[1] != d:
        raise InputError(f"The 'x0' parameter must have {d} coordinates. Got shape {starts.shape[1:]} instead.")
    if n_samples < 1:
        raise InputError(f"The 'n_samples' parameter must be an int ≥ 1. Got {n_samples} instead.")
    for name, value in (("dt", dt), ("rtol", asked.rtol), ("max_step", asked.max_step)):
        if not value > 0:
            raise InputError(f"The '{name}' parameter must be > 0. Got {value} instead.")
    tolerances = _vector("atol", asked.atol, d)
    bounds = _vector("bound", asked.bound, d)
    limit = STEPS_PER_SAMPLE * n_samples + 10_000 if asked.max_steps is None else asked.max_steps
    states = np.empty((starts.shape[0], n_samples, d))
    counts = np.empty((starts.shape[0], 4), dtype=np.int64)
    times = np.empty(starts.shape[0])
    rates, denominators = field.rates(starts)
    settings = (float(dt), max(asked.rtol, MIN_RTOL), float(asked.max_step), limit)

    def run(rows: slice) -> None:
        begin = starts[rows], rates[rows], denominators[rows]
        results = states[rows], counts[rows], times[rows]
        run_lanes(begin, results, settings, tolerances, bounds, field.arrays, field.lanes(), scratch(d))

    size = LANES * max(1, starts.shape[0] // (BLOCKS * LANES))
    side_by_side(run, [slice(first, first + size) for first in range(0, starts.shape[0], size)])
    states.setflags(write=False)
    return [
        Integration(states[i, :samples], _STOPS[stop], float(times[i]), int(steps), int(evaluations))
        for i, (samples, stop, steps, evaluations) in enumerate(counts)
    ]


def _vector(name: str, value: ArrayLike, d: int) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (d,)) or not np.all(array > 0):
        raise InputError(f"The '{name}' parameter must be a number > 0 or {d} of them. Got {value!r} instead.")
    return np.array(np.broadcast_to(array, (d,)))
