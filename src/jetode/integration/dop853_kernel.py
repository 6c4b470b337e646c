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
from jetode.support.rows import (
    Row,
    everywhere,
    larger,
    load,
    magnitude,
    root,
    rows_of_zeros,
    smaller,
    some,
    store,
    where_less,
)

SAFETY = 0.9
MIN_FACTOR = 0.2  # largest decrease of the step
MAX_FACTOR = 10.0  # largest increase
ERROR_EXPONENT = -1.0 / 8.0
POLE_FRACTION = 1e-3  # |D| below this part of its largest value so far counts as "at the pole"

COMPLETED, POLE, DIVERGED, STEP_TOO_SMALL, STEP_LIMIT = range(5)
# rows of numbers that the lanes keep: whether they run; where they are, how far the step goes, where it ends and how
# much the next one may grow; D there, the largest |D| so far, the least and the largest D within the step and the one
# at its end; the error of the step and its power that scales the next one; the next sample and whether it lies in the
# step; whether all states of the step are sound; steps, evaluations and attempts
ACTIVE, TIME, STEP, END, GROWTH = range(5)
POLE_NOW, POLE_LARGEST, POLE_LOW, POLE_HIGH, POLE_END = range(5, 10)
ERROR, POWER, SAMPLE, PENDING, SOUND, STEPS, EVALUATIONS, ATTEMPTS = range(10, 18)
A = STAGES.ravel()
D_3, D_4, D_5, D_6 = DENSE

Counts = NDArray[np.int64]
Starts = tuple[FloatArray, FloatArray, FloatArray]  # states (s, d), f and D there
Results = tuple[FloatArray, Counts, FloatArray]  # states (s, n, d); samples, stop, steps, evaluations; times
Settings = tuple[float, float, float, int]  # dt, rtol, longest step, limit of attempts
Scratch = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, Counts]


def scratch(d: int) -> Scratch:
    """Where the lanes keep x, x at the end of the step, a trial state, stages, dense output, numbers and starts."""
    x, x_new, trial = rows_of_zeros(3, d)
    k, dense = rows_of_zeros(N_STAGES_EXTENDED * d), rows_of_zeros(INTERPOLATOR_POWER * d)
    return x, x_new, trial, k, dense, rows_of_zeros(ATTEMPTS + 1), np.full(LANES, -1)


@leaf()
def _stage_state(x: FloatArray, h: Row, stage: int, k: FloatArray, out: FloatArray) -> None:
    """x + h Σ_j A[stage, j] k[j]; three sums at once, where there are three, take half the time."""
    d, row = x.shape[0], stage * N_STAGES_EXTENDED
    a = load(A, row)
    if d == 3:
        sum_0, sum_1, sum_2 = a * load(k, 0), a * load(k, 1), a * load(k, 2)
        for j in range(SECOND[stage], stage):
            a = load(A, row + j)
            sum_0 = sum_0 + a * load(k, 3 * j)
            sum_1 = sum_1 + a * load(k, 3 * j + 1)
            sum_2 = sum_2 + a * load(k, 3 * j + 2)
        store(out, 0, load(x, 0) + h * sum_0)
        store(out, 1, load(x, 1) + h * sum_1)
        store(out, 2, load(x, 2) + h * sum_2)
        return
    for i in range(d):
        total = a * load(k, i)
        for j in range(SECOND[stage], stage):
            total = total + load(A, row + j) * load(k, d * j + i)
        store(out, i, load(x, i) + h * total)


@leaf()
def _error(x: FloatArray, x_new: FloatArray, h: Row, k: FloatArray, rtol: float, atol: FloatArray) -> Row:
    """The norm of the error in units of what is allowed; 0 where both estimates are."""
    norm_5 = everywhere(0.0)
    norm_3 = everywhere(0.0)
    d = x.shape[0]
    for i in range(d):
        scale = atol[i] + rtol * larger(magnitude(load(x, i)), magnitude(load(x_new, i)))
        error_5 = load(ERROR_5, 0) * load(k, i)
        error_3 = load(ERROR_3, 0) * load(k, i)
        for j in range(FIRST_USED, N_STAGES):
            error_5 = error_5 + load(ERROR_5, j) * load(k, d * j + i)
            error_3 = error_3 + load(ERROR_3, j) * load(k, d * j + i)
        error_5 = error_5 / scale
        error_3 = error_3 / scale
        norm_5 = norm_5 + error_5 * error_5
        norm_3 = norm_3 + error_3 * error_3
    both = norm_5 + norm_3
    return where_less(0.0, both, h * norm_5 / root((norm_5 + 0.01 * norm_3) * d), both)


@leaf()
def _dense_coefficients(x: FloatArray, x_new: FloatArray, h: Row, k: FloatArray, dense: FloatArray) -> None:
    d = x.shape[0]
    for i in range(d):
        delta = load(x_new, i) - load(x, i)
        store(dense, i, delta)
        store(dense, d + i, h * load(k, i) - delta)
        store(dense, 2 * d + i, 2.0 * delta - h * (load(k, d * N_STAGES + i) + load(k, i)))
        rate = load(k, i)
        sum_3, sum_4, sum_5, sum_6 = D_3[0] * rate, D_4[0] * rate, D_5[0] * rate, D_6[0] * rate
        for j in range(FIRST_USED, N_STAGES_EXTENDED):
            rate = load(k, d * j + i)
            sum_3 = sum_3 + load(D_3, j) * rate
            sum_4 = sum_4 + load(D_4, j) * rate
            sum_5 = sum_5 + load(D_5, j) * rate
            sum_6 = sum_6 + load(D_6, j) * rate
        store(dense, 3 * d + i, h * sum_3)
        store(dense, 4 * d + i, h * sum_4)
        store(dense, 5 * d + i, h * sum_5)
        store(dense, 6 * d + i, h * sum_6)


@leaf()
def _dense_state(x: FloatArray, dense: FloatArray, theta: Row, out: FloatArray) -> None:
    d, rest = x.shape[0], 1.0 - theta
    for i in range(d):
        value = everywhere(0.0)
        for p in range(INTERPOLATOR_POWER - 1, -1, -1):
            value = (value + load(dense, p * d + i)) * (theta if p % 2 == 0 else rest)
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
def _inside(x: FloatArray, bound: FloatArray) -> Row:
    """1 where a state is finite and within its bounds, otherwise 0."""
    inside = everywhere(1.0)
    for i in range(x.shape[0]):
        size = magnitude(load(x, i))
        inside = where_less(size, np.inf, where_less(bound[i], size, 0.0, inside), 0.0)
    return inside


@leaf()
def _sound(x: FloatArray, rate: FloatArray, bound: FloatArray) -> bool:
    """Whether one state can be started from."""
    sound = True
    for i in range(x.shape[0]):
        sound = sound and np.isfinite(x[i]) and abs(x[i]) <= bound[i] and np.isfinite(rate[i])
    return sound


@leaf()
def _fate(lane: int, numbers: FloatArray, duration: float, smallest: float, limit: int, divided: bool) -> int:
    """How the run on a lane has ended; -1 where it goes on."""
    low, high = numbers[POLE_LOW, lane], numbers[POLE_HIGH, lane]
    near = min(abs(low), abs(high)) < POLE_FRACTION * numbers[POLE_LARGEST, lane]
    at_pole = divided and (low * high <= 0.0 or near)
    if not numbers[ERROR, lane] < 1.0:
        if numbers[STEP, lane] < smallest:
            return POLE if at_pole else STEP_TOO_SMALL
    elif numbers[SOUND, lane] == 0.0:
        return POLE if at_pole else DIVERGED
    elif not numbers[TIME, lane] < duration:
        return COMPLETED
    return STEP_LIMIT if not numbers[ATTEMPTS, lane] < limit else -1


@leaf()
def _settle(
    starts: Starts,
    results: Results,
    settings: Settings,
    atol: FloatArray,
    bound: FloatArray,
    divided: bool,
    own: tuple[FloatArray, FloatArray, FloatArray, Counts],
    waiting: int,
) -> int:
    """Write down the runs that have ended and put starts that wait on their lanes; returns the next that waits."""
    x_0, rate_0, denominator_0 = starts
    states, found, times = results
    dt, rtol, _, limit = settings
    x, k, numbers, running = own
    d, duration = x.shape[0], (states.shape[1] - 1) * dt
    for lane in range(LANES):
        while True:
            start = running[lane]
            if start >= 0:
                smallest = 10.0 * np.finfo(np.float64).eps * max(numbers[TIME, lane], dt)
                fate = _fate(lane, numbers, duration, smallest, limit, divided)
                if fate < 0:
                    break
                found[start, 0], found[start, 1] = np.int64(numbers[SAMPLE, lane]), fate
                found[start, 2], found[start, 3] = np.int64(numbers[STEPS, lane]), np.int64(numbers[EVALUATIONS, lane])
                times[start] = numbers[TIME, lane]
                running[lane], numbers[ACTIVE, lane], numbers[STEP, lane] = -1, 0.0, 0.0
            if waiting == x_0.shape[0]:
                break
            start = waiting
            waiting += 1
            if not _sound(x_0[start], rate_0[start], bound):
                found[start, 0], found[start, 2], found[start, 3] = 0, 0, 1
                found[start, 1] = POLE if divided and denominator_0[start] == 0.0 else DIVERGED
                times[start] = 0.0
                continue
            for i in range(d):
                x[i, lane], k[i, lane], states[start, 0, i] = x_0[start, i], rate_0[start, i], x_0[start, i]
            for row in range(ATTEMPTS + 1):
                numbers[row, lane] = 0.0
            numbers[ACTIVE, lane] = numbers[SAMPLE, lane] = numbers[SOUND, lane] = numbers[EVALUATIONS, lane] = 1.0
            numbers[STEP, lane] = _first_step(x_0[start], rate_0[start], duration, rtol, atol)
            numbers[GROWTH, lane] = MAX_FACTOR
            numbers[POLE_NOW, lane], numbers[POLE_LARGEST, lane] = denominator_0[start], abs(denominator_0[start])
            running[lane] = start
    return waiting


@leaf()
def _look_ahead(numbers: FloatArray, sound: Row, dt: float, n_samples: int) -> bool:
    """Which lanes have their next sample in a good step; whether any has."""
    sample = load(numbers, SAMPLE)
    here = where_less(load(numbers, END), sample * dt, 0.0, load(numbers, ACTIVE) * sound)
    pending = where_less(load(numbers, ERROR), 1.0, where_less(sample, n_samples, here, 0.0), 0.0)
    store(numbers, PENDING, pending)
    return some(pending)


@leaf()
def _set_out(numbers: FloatArray, duration: float, max_step: float) -> None:
    """How far the next steps go."""
    t, h = load(numbers, TIME), smaller(load(numbers, STEP), max_step)
    end = t + h
    store(numbers, STEP, where_less(end, duration, h, duration - t))
    store(numbers, END, where_less(end, duration, end, duration))
    store(numbers, ATTEMPTS, load(numbers, ATTEMPTS) + 1.0)


@leaf()
def _conclude(
    x: FloatArray, x_new: FloatArray, k: FloatArray, numbers: FloatArray, dt: float, duration: float, limit: int
) -> bool:
    """Take the good steps, make the others shorter; whether any lane has ended."""
    d = x.shape[0]
    for lane in range(LANES):
        if numbers[ACTIVE, lane] == 1.0:
            numbers[POWER, lane] = numbers[ERROR, lane] ** ERROR_EXPONENT  # ∞ for an error of 0
    error, active, sound = load(numbers, ERROR), load(numbers, ACTIVE), load(numbers, SOUND)
    failed = where_less(error, 1.0, 1.0 - sound, 2.0)  # 0: a good step, 1: a state is not sound, 2: too inexact
    for i in range(d):
        store(x, i, where_less(failed, 1.0, load(x_new, i), load(x, i)))
        store(k, i, where_less(failed, 1.0, load(k, d * N_STAGES + i), load(k, i)))
    before, largest, at_end = load(numbers, POLE_NOW), load(numbers, POLE_LARGEST), load(numbers, POLE_END)
    store(numbers, POLE_NOW, where_less(failed, 1.0, at_end, before))
    store(numbers, POLE_LARGEST, where_less(failed, 1.0, larger(magnitude(at_end), largest), largest))
    t = load(numbers, TIME)
    smallest = 10.0 * np.finfo(np.float64).eps * larger(t, dt)
    t = where_less(failed, 1.0, load(numbers, END), t)
    store(numbers, TIME, t)
    factor = SAFETY * load(numbers, POWER)
    grown = smaller(load(numbers, GROWTH), smaller(factor, MAX_FACTOR))
    h = load(numbers, STEP) * where_less(error, 1.0, grown, larger(factor, MIN_FACTOR))
    store(numbers, STEP, h)
    store(numbers, GROWTH, where_less(error, 1.0, MAX_FACTOR, 1.0))
    store(numbers, STEPS, load(numbers, STEPS) + where_less(failed, 1.0, 1.0, 0.0))
    ended = where_less(failed, 1.0, where_less(t, duration, 0.0, 1.0), where_less(h, smallest, 1.0, 2.0 - failed))
    return some(active * where_less(load(numbers, ATTEMPTS), limit, ended, 1.0))


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
    states = results[0]
    dt, rtol, max_step, limit = settings
    x, x_new, trial, k, dense, numbers, running = scratch
    n_samples, d = states.shape[1], states.shape[2]
    duration = (n_samples - 1) * dt
    divided = arrays[0][3] == 1
    waiting = 0
    ended = True
    while True:
        if ended:
            own = (x, k, numbers, running)
            waiting = _settle(starts, results, settings, atol, bound, divided, own, waiting)
            if not some(load(numbers, ACTIVE)):
                break
        _set_out(numbers, duration, max_step)
        h = load(numbers, STEP)
        low = load(numbers, POLE_NOW)
        high = low
        pending = False
        for stage in range(1, N_STAGES_EXTENDED):
            _stage_state(x, h, stage, k, trial)
            value = field_rhs(trial, k, stage * d, arrays, work)
            if stage <= N_STAGES:
                low = smaller(value, low)
                high = larger(value, high)
            if stage == N_STAGES:
                store(numbers, POLE_END, value)
                for i in range(d):
                    store(x_new, i, load(trial, i))
                store(numbers, ERROR, _error(x, x_new, h, k, rtol, atol))
                pending = _look_ahead(numbers, everywhere(1.0), dt, n_samples)
                used = where_less(0.0, load(numbers, PENDING), N_STAGES_EXTENDED - 1.0, N_STAGES)
                store(numbers, EVALUATIONS, load(numbers, EVALUATIONS) + used)
                if not pending:
                    break  # the other stages serve samples within the step
        store(numbers, POLE_LOW, low)
        store(numbers, POLE_HIGH, high)
        sound = _inside(x_new, bound)
        if pending:
            _dense_coefficients(x, x_new, h, k, dense)
        t = load(numbers, TIME)
        samples_sound = everywhere(1.0)
        while pending:
            sample = load(numbers, SAMPLE)
            _dense_state(x, dense, (sample * dt - t) / h, trial)
            for lane in range(LANES):
                if numbers[PENDING, lane] == 1.0:
                    start, at = running[lane], np.int64(numbers[SAMPLE, lane])
                    for i in range(d):
                        states[start, at, i] = trial[i, lane]
            found = load(numbers, PENDING)
            inside = _inside(trial, bound)
            samples_sound = where_less(found, 1.0, samples_sound, samples_sound * inside)
            store(numbers, SAMPLE, sample + found * inside)
            pending = _look_ahead(numbers, samples_sound, dt, n_samples)
        store(numbers, SOUND, sound * samples_sound)
        ended = _conclude(x, x_new, k, numbers, dt, duration, limit)
