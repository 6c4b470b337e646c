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
from numpy.typing import ArrayLike, NDArray

from jetode.equations.field import Field, FieldArrays, field_rhs
from jetode.integration.tableau import (
    DENSE,
    ERROR_3,
    ERROR_5,
    FIRST_USED,
    INTERPOLATOR_POWER,
    N_STAGES,
    N_STAGES_EXTENDED,
    SECOND,
    STAGES,
)
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf
from jetode.support.errors import InputError
from jetode.support.threads import side_by_side

SAFETY = 0.9
MIN_FACTOR = 0.2  # largest decrease of the step
MAX_FACTOR = 10.0  # largest increase
ERROR_EXPONENT = -1.0 / 8.0
POLE_FRACTION = 1e-3  # |D| below this part of its largest value so far counts as "at the pole"
MIN_RTOL = 100.0 * np.finfo(np.float64).eps
BLOCKS = 8  # of starts that run side by side: as many as the paper's starts, for any number of threads
STEPS_PER_SAMPLE = 50  # default limit of attempted steps: this many per sample, and 10,000

_COMPLETED, _POLE, _DIVERGED, _STEP_TOO_SMALL, _STEP_LIMIT = range(5)


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

    def run(rows: IntArray) -> None:
        k, scratch = np.empty((N_STAGES_EXTENDED, d)), np.empty((INTERPOLATOR_POWER + 2, d))
        work = field.workspace()[0]
        for i in rows:
            k[0] = rates[i]
            times[i] = _integrate(
                starts[i], denominators[i], states[i], counts[i], settings, tolerances, bounds, field.arrays, work, k,
                scratch,
            )  # fmt: skip

    side_by_side(run, np.array_split(np.arange(starts.shape[0]), max(1, min(BLOCKS, starts.shape[0]))))
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


@leaf()
def _stage_state(x: FloatArray, h: float, stage: int, k: FloatArray, out: FloatArray) -> None:
    """x + h Σ_j A[stage, j] k[j]; three sums at once, where there are three, take half the time."""
    a = STAGES[stage, 0]
    if x.shape[0] == 3:
        sum_0, sum_1, sum_2 = a * k[0, 0], a * k[0, 1], a * k[0, 2]
        for j in range(SECOND[stage], stage):
            a = STAGES[stage, j]
            sum_0 += a * k[j, 0]
            sum_1 += a * k[j, 1]
            sum_2 += a * k[j, 2]
        out[0] = x[0] + h * sum_0
        out[1] = x[1] + h * sum_1
        out[2] = x[2] + h * sum_2
        return
    for i in range(x.shape[0]):
        total = a * k[0, i]
        for j in range(SECOND[stage], stage):
            total += STAGES[stage, j] * k[j, i]
        out[i] = x[i] + h * total


@leaf()
def _error_norm(x: FloatArray, x_new: FloatArray, h: float, k: FloatArray, rtol: float, atol: FloatArray) -> float:
    norm_5 = 0.0
    norm_3 = 0.0
    d = x.shape[0]
    for i in range(d):
        scale = atol[i] + rtol * max(abs(x[i]), abs(x_new[i]))
        error_5 = ERROR_5[0] * k[0, i]
        error_3 = ERROR_3[0] * k[0, i]
        for j in range(FIRST_USED, N_STAGES):
            error_5 += ERROR_5[j] * k[j, i]
            error_3 += ERROR_3[j] * k[j, i]
        norm_5 += (error_5 / scale) ** 2
        norm_3 += (error_3 / scale) ** 2
    if norm_5 == 0.0 and norm_3 == 0.0:
        return 0.0
    return h * norm_5 / np.sqrt((norm_5 + 0.01 * norm_3) * d)


@leaf()
def _first_step(x: FloatArray, rate: FloatArray, duration: float, rtol: float, atol: FloatArray) -> float:
    """One percent of the time scale |x|/|x'| in the error norm: free of units, quickly enlarged."""
    size = slope = 0.0
    for i in range(x.shape[0]):
        scale = atol[i] + rtol * abs(x[i])
        size += (x[i] / scale) ** 2
        slope += (rate[i] / scale) ** 2
    h = 0.01 * np.sqrt(size / slope) if size > 0.0 and slope > 0.0 else 1e-6 * duration
    return min(h, duration)


@leaf()
def _dense_coefficients(x: FloatArray, x_new: FloatArray, h: float, k: FloatArray, dense: FloatArray) -> None:
    for i in range(x.shape[0]):
        delta = x_new[i] - x[i]
        dense[0, i] = delta
        dense[1, i] = h * k[0, i] - delta
        dense[2, i] = 2.0 * delta - h * (k[N_STAGES, i] + k[0, i])
        for p in range(INTERPOLATOR_POWER - 3):
            total = DENSE[p, 0] * k[0, i]
            for j in range(FIRST_USED, N_STAGES_EXTENDED):
                total += DENSE[p, j] * k[j, i]
            dense[3 + p, i] = h * total


@leaf()
def _dense_state(x: FloatArray, dense: FloatArray, theta: float, out: FloatArray) -> None:
    for i in range(x.shape[0]):
        value = 0.0
        for p in range(INTERPOLATOR_POWER - 1, -1, -1):
            value += dense[p, i]
            value *= theta if p % 2 == 0 else 1.0 - theta
        out[i] = x[i] + value


@leaf()
def _finite(x: FloatArray) -> bool:
    finite = True
    for i in range(x.shape[0]):
        finite = finite and np.isfinite(x[i])
    return finite


@leaf()
def _inside(x: FloatArray, bound: FloatArray) -> bool:
    inside = _finite(x)
    for i in range(x.shape[0]):
        inside = inside and abs(x[i]) <= bound[i]
    return inside


@kernel(error_model="numpy", _nrt=False)
def _integrate(
    x: FloatArray,
    denominator: float,
    states: FloatArray,
    counts: NDArray[np.int64],
    settings: tuple[float, float, float, int],
    atol: FloatArray,
    bound: FloatArray,
    arrays: FieldArrays,
    work: FloatArray,
    k: FloatArray,
    scratch: FloatArray,
) -> float:
    """Fill ``states`` and ``counts`` = (samples, stop, steps, evaluations); return the stop time.

    ``k[0]`` is f(x) and ``denominator`` D(x) at the start; ``settings`` = (dt, rtol, max_step, limit of attempts).
    The field is written out once only, in the loop over the stages: it is most of what is compiled here.
    """
    dt, rtol, max_step, limit = settings
    n_samples, d = states.shape
    duration = (n_samples - 1) * dt
    dense, trial, x_new = scratch[:INTERPOLATOR_POWER], scratch[INTERPOLATOR_POWER], scratch[INTERPOLATOR_POWER + 1]
    divided = arrays[0][3] == 1

    counts[0], counts[2], counts[3] = 0, 0, 1
    if not _inside(x, bound) or not _finite(k[0]):
        counts[1] = _POLE if divided and denominator == 0.0 else _DIVERGED
        return 0.0
    for i in range(d):
        states[0, i] = x[i]
    sample = 1
    largest = abs(denominator)
    t = 0.0
    h = _first_step(x, k[0], duration, rtol, atol)
    evaluations = 1
    attempts = 0
    growth = MAX_FACTOR
    stop = _COMPLETED
    while t < duration:
        smallest = 10.0 * np.finfo(np.float64).eps * max(t, dt)
        if attempts == limit:
            stop = _STEP_LIMIT
            break
        attempts += 1
        h = min(h, max_step)
        last = t + h >= duration
        if last:
            h = duration - t
        t_new = duration if last else t + h
        low = high = at_end = denominator
        error = 0.0
        for stage in range(1, N_STAGES_EXTENDED):
            _stage_state(x, h, stage, k, trial)
            value = field_rhs(trial, k[stage], arrays, work)
            evaluations += 1
            if stage <= N_STAGES:
                low = value if value < low else low
                high = value if value > high else high
            if stage == N_STAGES:
                at_end = value
                for i in range(d):
                    x_new[i] = trial[i]
                error = _error_norm(x, x_new, h, k, rtol, atol)
                if not error < 1.0 or sample == n_samples or sample * dt > t_new:
                    break  # the other stages serve samples within the step
        at_pole = divided and (low * high <= 0.0 or min(abs(low), abs(high)) < POLE_FRACTION * largest)
        if not error < 1.0:
            h *= max(MIN_FACTOR, SAFETY * error**ERROR_EXPONENT) if np.isfinite(error) else MIN_FACTOR
            growth = 1.0
            if h < smallest:
                stop = _POLE if at_pole else _STEP_TOO_SMALL
                break
            continue
        factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, SAFETY * error**ERROR_EXPONENT)
        sound = _inside(x_new, bound)
        if sample < n_samples and sample * dt <= t_new:
            _dense_coefficients(x, x_new, h, k, dense)
            while sample < n_samples and sample * dt <= t_new:
                _dense_state(x, dense, (sample * dt - t) / h, states[sample])
                if not _inside(states[sample], bound):
                    sound = False
                    break
                sample += 1
        if not sound:
            stop = _POLE if at_pole else _DIVERGED
            break
        t = t_new
        for i in range(d):
            x[i] = x_new[i]
            k[0, i] = k[N_STAGES, i]
        denominator = at_end
        largest = max(largest, abs(denominator))
        h *= min(growth, factor)
        growth = MAX_FACTOR
        counts[2] += 1
    counts[0], counts[1], counts[3] = sample, stop, evaluations
    return t
