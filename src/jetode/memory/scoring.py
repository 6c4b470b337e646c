"""Scores of held-out forecasts (docs/mathematics.md §7.4), those of all ridges and folds at once: side by side, each
with coefficients of its own, and each until it has failed for every threshold, after which no score counts it."""

from __future__ import annotations

import numpy as np

from jetode.integration.windowed_prediction_time import FAILED, window_samples
from jetode.memory.closure import MemoryClosure
from jetode.memory.ground import Ground
from jetode.memory.rollout import stretches
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel


def held_out_scores(
    closure: MemoryClosure, states: FloatArray, truth: FloatArray, ground: Ground, settings: MemorySettings
) -> FloatArray:
    """Valid prediction times, averaged over the thresholds, of the forecast from each state by the row of the closure's
    ``coefficients`` that belongs to it."""
    dt, trials = ground.dt, ground.trials
    clock, steps, (parent, variable, own) = closure.clock(dt), closure.steps(dt), closure.program
    width, thresholds = min(window_samples(trials.period), trials.steps + 1), np.array(settings.thresholds)
    look = max(width, round(settings.look * trials.period))
    runs, slopes = np.empty((2, len(states), clock.reach(trials.steps) + 1))
    sums, worst = np.zeros((len(states), trials.steps + 2)), np.zeros(len(states))
    counts = np.zeros((len(states), thresholds.size), dtype=np.int64)
    going, states = np.arange(len(states)), states.copy()
    points = samples = 0  # that are behind
    for seen in [*range(look, trials.steps, look), trials.steps]:
        until = clock.reach(seen) + 1
        found = stretches(states[going], until - points, *steps, (parent, variable, own[going]))
        runs[going, points:until], slopes[going, points:until], states[going] = found
        forecasts = closure.read(runs[going], slopes[going], seen, dt, samples)
        errors = (forecasts - truth[going, samples : seen + 1]) / trials.spread
        _count(going, errors, samples, width, thresholds, sums, worst, counts)
        going = going[worst[going] <= thresholds.max()]
        if not going.size:
            break
        points, samples = until, seen + 1
    return np.asarray(counts.mean(axis=1) / trials.period)


@kernel(error_model="numpy", _nrt=False)
def _count(
    going: IntArray,
    errors: FloatArray,
    first: int,
    width: int,
    thresholds: FloatArray,
    sums: FloatArray,
    worst: FloatArray,
    counts: IntArray,
) -> None:
    """Errors in std from sample ``first`` on of the runs that are ``going``: the ``sums`` of their squares up to each,
    the ``worst`` rms over ``width`` samples so far (:func:`.windowed_rms`), and within which thresholds it has been."""
    for i in range(going.shape[0]):
        r = going[i]
        for k in range(errors.shape[1]):
            n = first + k + 1
            size = min(abs(errors[i, k]), FAILED) if np.isfinite(errors[i, k]) else FAILED
            sums[r, n] = sums[r, n - 1] + size * size
            if n >= width:
                worst[r] = max(worst[r], np.sqrt(max(sums[r, n] - sums[r, n - width], 0.0) / width))
                for t in range(thresholds.shape[0]):
                    if worst[r] <= thresholds[t]:
                        counts[r, t] += 1
