"""Steps of DOP853 from several starts side by side: the compiled part of :mod:`jetode.integration.dop853`.

Every start has a lane (:mod:`jetode.support.rows`) with a time, a step and a fate of its own: all lanes take their
stages together, whatever the length of their steps, each accepts or rejects its own, and one that has ended goes on
with the next start that waits.  No lane knows of another, so that a run has the same bits alone and in company.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jetode.equations.field import FieldArrays, Workspace, field_rhs
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
from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel, leaf
from jetode.support.lanes import LANES
from jetode.support.rows import Row, everywhere, larger, load, magnitude, root, smaller, store

SAFETY = 0.9
MIN_FACTOR = 0.2  # largest decrease of the step
MAX_FACTOR = 10.0  # largest increase
ERROR_EXPONENT = -1.0 / 8.0
POLE_FRACTION = 1e-3  # |D| below this part of its largest value so far counts as "at the pole"

COMPLETED, POLE, DIVERGED, STEP_TOO_SMALL, STEP_LIMIT = range(5)
RUNNING = -1
# numbers that every lane keeps: where it is, how far the step goes and may grow next time, D there, its largest |D|
# so far, its least and largest one within the step and the one at the end, sums of the error's squares and the error,
# where in the step the next sample lies
TIME, STEP, END, GROWTH, POLE_NOW, POLE_LARGEST, POLE_LOW, POLE_HIGH, POLE_END, NORM_5, NORM_3, ERROR, THETA = range(13)
# and counts: which start it runs, samples that it has, how it ended, steps, evaluations, attempts, whether the step is
# good so far, whether the next sample lies in it
START, SAMPLE, STOP, STEPS, EVALUATIONS, ATTEMPTS, GOOD, PENDING = range(8)

Counts = NDArray[np.int64]
Starts = tuple[FloatArray, FloatArray, FloatArray]  # states (s, d), f and D there
Results = tuple[FloatArray, Counts, FloatArray]  # states (s, n, d); samples, stop, steps, evaluations; times
Settings = tuple[float, float, float, int]  # dt, rtol, longest step, limit of attempts
Scratch = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, Counts]


def scratch(d: int) -> Scratch:
    """Where the lanes keep x, x at the end of the step, stages, dense output, a trial state, numbers and counts."""
    x, x_new, trial = np.zeros((3, d, LANES))
    k, dense = np.zeros((N_STAGES_EXTENDED, d, LANES)), np.zeros((INTERPOLATOR_POWER, d, LANES))
    return x, x_new, trial, k, dense, np.zeros((THETA + 1, LANES)), np.zeros((PENDING + 1, LANES), dtype=np.int64)


@leaf()
def _stage_state(x: FloatArray, h: Row, stage: int, k: FloatArray, out: FloatArray) -> None:
    """x + h Σ_j A[stage, j] k[j]."""
    for i in range(x.shape[0]):
        total = STAGES[stage, 0] * load(k[0], i)
        for j in range(SECOND[stage], stage):
            total = total + STAGES[stage, j] * load(k[j], i)
        store(out, i, load(x, i) + h * total)


@leaf()
def _error_norm(
    x: FloatArray, x_new: FloatArray, h: Row, k: FloatArray, rtol: float, atol: FloatArray, numbers: FloatArray
) -> None:
    norm_5 = everywhere(0.0)
    norm_3 = everywhere(0.0)
    d = x.shape[0]
    for i in range(d):
        scale = atol[i] + rtol * larger(magnitude(load(x, i)), magnitude(load(x_new, i)))
        error_5 = ERROR_5[0] * load(k[0], i)
        error_3 = ERROR_3[0] * load(k[0], i)
        for j in range(FIRST_USED, N_STAGES):
            error_5 = error_5 + ERROR_5[j] * load(k[j], i)
            error_3 = error_3 + ERROR_3[j] * load(k[j], i)
        error_5 = error_5 / scale
        error_3 = error_3 / scale
        norm_5 = norm_5 + error_5 * error_5
        norm_3 = norm_3 + error_3 * error_3
    store(numbers, NORM_5, norm_5)
    store(numbers, NORM_3, norm_3)
    store(numbers, ERROR, h * norm_5 / root((norm_5 + 0.01 * norm_3) * d))


@leaf()
def _dense_coefficients(x: FloatArray, x_new: FloatArray, h: Row, k: FloatArray, dense: FloatArray) -> None:
    for i in range(x.shape[0]):
        delta = load(x_new, i) - load(x, i)
        store(dense[0], i, delta)
        store(dense[1], i, h * load(k[0], i) - delta)
        store(dense[2], i, 2.0 * delta - h * (load(k[N_STAGES], i) + load(k[0], i)))
        for p in range(INTERPOLATOR_POWER - 3):
            total = DENSE[p, 0] * load(k[0], i)
            for j in range(FIRST_USED, N_STAGES_EXTENDED):
                total = total + DENSE[p, j] * load(k[j], i)
            store(dense[3 + p], i, h * total)


@leaf()
def _dense_state(x: FloatArray, dense: FloatArray, theta: Row, out: FloatArray) -> None:
    rest = 1.0 - theta
    for i in range(x.shape[0]):
        value = everywhere(0.0)
        for p in range(INTERPOLATOR_POWER - 1, -1, -1):
            value = (value + load(dense[p], i)) * (theta if p % 2 == 0 else rest)
        store(out, i, load(x, i) + value)


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
def _inside(x: FloatArray, lane: int, bound: FloatArray) -> bool:
    inside = True
    for i in range(x.shape[0]):
        inside = inside and np.isfinite(x[i, lane]) and abs(x[i, lane]) <= bound[i]
    return inside


@leaf()
def _begin(
    start: int,
    lane: int,
    starts: Starts,
    states: FloatArray,
    settings: Settings,
    atol: FloatArray,
    bound: FloatArray,
    divided: bool,
    own: tuple[FloatArray, FloatArray, FloatArray, Counts],
) -> None:
    """Put a start on a lane; it has ended already where it is no state of the field or has nowhere to go."""
    x, k, numbers, counts = own
    states_0, rates_0, denominators_0 = starts
    dt, rtol, max_step, limit = settings
    duration = (states.shape[1] - 1) * dt
    finite = True
    for i in range(x.shape[0]):
        x[i, lane], k[i, lane] = states_0[start, i], rates_0[start, i]
        finite = finite and np.isfinite(k[i, lane])
    denominator = denominators_0[start]
    numbers[TIME, lane], numbers[GROWTH, lane] = 0.0, MAX_FACTOR
    numbers[POLE_NOW, lane], numbers[POLE_LARGEST, lane] = denominator, abs(denominator)
    counts[START, lane], counts[STEPS, lane], counts[EVALUATIONS, lane], counts[ATTEMPTS, lane] = start, 0, 1, 0
    counts[SAMPLE, lane] = 0
    if not finite or not _inside(x, lane, bound):
        counts[STOP, lane] = POLE if divided and denominator == 0.0 else DIVERGED
        return
    counts[STOP, lane] = RUNNING if duration > 0.0 else COMPLETED
    counts[SAMPLE, lane] = 1
    for i in range(x.shape[0]):
        states[start, 0, i] = x[i, lane]
    numbers[STEP, lane] = _first_step(states_0[start], rates_0[start], duration, rtol, atol)


@leaf()
def _set_out(lane: int, dt: float, n_samples: int, max_step: float, numbers: FloatArray, counts: Counts) -> None:
    """How far the next step of a lane goes."""
    t, duration = numbers[TIME, lane], (n_samples - 1) * dt
    h = min(numbers[STEP, lane], max_step)
    last = t + h >= duration
    numbers[STEP, lane] = duration - t if last else h
    numbers[END, lane] = duration if last else t + h
    counts[ATTEMPTS, lane] += 1


@leaf()
def _look_ahead(lane: int, dt: float, n_samples: int, numbers: FloatArray, counts: Counts) -> bool:
    """Whether the next sample lies in a lane's step, and where."""
    sample = counts[SAMPLE, lane]
    pending = sample < n_samples and sample * dt <= numbers[END, lane]
    counts[PENDING, lane] = pending
    if pending:
        numbers[THETA, lane] = (sample * dt - numbers[TIME, lane]) / numbers[STEP, lane]
    return pending


@leaf()
def _judge(lane: int, dt: float, n_samples: int, numbers: FloatArray, counts: Counts) -> bool:
    """Whether a lane's step is good enough and has a sample within it."""
    counts[PENDING, lane] = 0
    if counts[START, lane] < 0:
        return False
    if numbers[NORM_5, lane] == 0.0 and numbers[NORM_3, lane] == 0.0:
        numbers[ERROR, lane] = 0.0
    counts[GOOD, lane] = numbers[ERROR, lane] < 1.0
    pending = counts[GOOD, lane] == 1 and _look_ahead(lane, dt, n_samples, numbers, counts)
    counts[EVALUATIONS, lane] += N_STAGES_EXTENDED - 1 if pending else N_STAGES
    return pending


@leaf()
def _conclude(
    lane: int,
    smallest: float,
    duration: float,
    x: FloatArray,
    x_new: FloatArray,
    k: FloatArray,
    bound: FloatArray,
    divided: bool,
    numbers: FloatArray,
    counts: Counts,
) -> None:
    """Take a lane's step or make it shorter."""
    low, high, error = numbers[POLE_LOW, lane], numbers[POLE_HIGH, lane], numbers[ERROR, lane]
    near = min(abs(low), abs(high)) < POLE_FRACTION * numbers[POLE_LARGEST, lane]
    at_pole = divided and (low * high <= 0.0 or near)
    if not error < 1.0:
        shorter = max(MIN_FACTOR, SAFETY * error**ERROR_EXPONENT) if np.isfinite(error) else MIN_FACTOR
        numbers[STEP, lane] *= shorter
        numbers[GROWTH, lane] = 1.0
        if numbers[STEP, lane] < smallest:
            counts[STOP, lane] = POLE if at_pole else STEP_TOO_SMALL
        return
    if counts[GOOD, lane] == 0 or not _inside(x_new, lane, bound):
        counts[STOP, lane] = POLE if at_pole else DIVERGED
        return
    factor = MAX_FACTOR if error == 0.0 else min(MAX_FACTOR, SAFETY * error**ERROR_EXPONENT)
    for i in range(x.shape[0]):
        x[i, lane] = x_new[i, lane]
        k[0, i, lane] = k[N_STAGES, i, lane]
    denominator = numbers[POLE_END, lane]
    numbers[POLE_NOW, lane] = denominator
    numbers[POLE_LARGEST, lane] = max(numbers[POLE_LARGEST, lane], abs(denominator))
    numbers[TIME, lane] = numbers[END, lane]
    numbers[STEP, lane] *= min(numbers[GROWTH, lane], factor)
    numbers[GROWTH, lane] = MAX_FACTOR
    counts[STEPS, lane] += 1
    if not numbers[TIME, lane] < duration:
        counts[STOP, lane] = COMPLETED


@kernel(error_model="numpy", _nrt=False)
def run_lanes(
    starts: Starts,
    results: Results,
    settings: Settings,
    atol: FloatArray,
    bound: FloatArray,
    arrays: FieldArrays,
    work: Workspace,
    scratch: Scratch,
) -> None:
    """Fill the results of all starts.

    The field is written out once only, in the loop over the stages: it is most of what is compiled here.
    """
    states, found, times = results
    dt, rtol, max_step, limit = settings
    x, x_new, trial, k, dense, numbers, counts = scratch
    n_starts, n_samples, d = states.shape
    duration = (n_samples - 1) * dt
    divided = arrays[0][3] == 1
    waiting = 0
    for lane in range(LANES):
        counts[START, lane] = -1
    while True:
        running = 0
        for lane in range(LANES):
            while True:
                start = counts[START, lane]
                if start >= 0:
                    if counts[STOP, lane] == RUNNING and counts[ATTEMPTS, lane] < limit:
                        _set_out(lane, dt, n_samples, max_step, numbers, counts)
                        running += 1
                        break
                    stop = counts[STOP, lane]
                    found[start, 0], found[start, 2] = counts[SAMPLE, lane], counts[STEPS, lane]
                    found[start, 1] = STEP_LIMIT if stop == RUNNING else stop
                    found[start, 3], times[start] = counts[EVALUATIONS, lane], numbers[TIME, lane]
                if waiting == n_starts:
                    counts[START, lane], numbers[STEP, lane] = -1, 0.0
                    break
                _begin(waiting, lane, starts, states, settings, atol, bound, divided, (x, k[0], numbers, counts))
                waiting += 1
        if running == 0:
            break
        h = load(numbers, STEP)
        low = load(numbers, POLE_NOW)
        high = low
        for stage in range(1, N_STAGES_EXTENDED):
            _stage_state(x, h, stage, k, trial)
            value = field_rhs(trial, k[stage], arrays, work)
            if stage <= N_STAGES:
                low = smaller(value, low)
                high = larger(value, high)
            if stage == N_STAGES:
                store(numbers, POLE_END, value)
                for i in range(d):
                    store(x_new, i, load(trial, i))
                _error_norm(x, x_new, h, k, rtol, atol, numbers)
                pending = False
                for lane in range(LANES):
                    pending = _judge(lane, dt, n_samples, numbers, counts) or pending
                if not pending:
                    break  # the other stages serve samples within the step
        store(numbers, POLE_LOW, low)
        store(numbers, POLE_HIGH, high)
        if pending:
            _dense_coefficients(x, x_new, h, k, dense)
        while pending:
            _dense_state(x, dense, load(numbers, THETA), trial)
            pending = False
            for lane in range(LANES):
                if counts[PENDING, lane] == 1:
                    start, sample = counts[START, lane], counts[SAMPLE, lane]
                    for i in range(d):
                        states[start, sample, i] = trial[i, lane]
                    if _inside(trial, lane, bound):
                        counts[SAMPLE, lane] = sample + 1
                        pending = _look_ahead(lane, dt, n_samples, numbers, counts) or pending
                    else:
                        counts[PENDING, lane] = counts[GOOD, lane] = 0
        for lane in range(LANES):
            if counts[START, lane] >= 0:
                smallest = 10.0 * np.finfo(np.float64).eps * max(numbers[TIME, lane], dt)
                _conclude(lane, smallest, duration, x, x_new, k, bound, divided, numbers, counts)
