"""Settings chosen on held-out trials, and what the choice is worth where it was not made (docs/mathematics.md §7.4).

A setting's score is the valid prediction time (5.5) averaged over starts and over thresholds, so that no single number
decides.  The forecasts of a fold are those of the setting that is best on the *other* folds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.records.series import Series
from jetode.signal.trials import Rollout, Trials
from jetode.support.arrays import FloatArray

THRESHOLDS = (0.2, 0.4, 0.8)  # std: good beginnings, the verdict's own, and what stays near
S = TypeVar("S", bound=Hashable)


def scores(runs: FloatArray, truth: FloatArray, trials: Trials) -> FloatArray:
    """The score of each forecast, in oscillations."""
    error = (runs - truth) / trials.spread
    return np.asarray(np.mean([windowed_vpt(error, trials.period, t) for t in THRESHOLDS], axis=0))


@dataclass(frozen=True, eq=False)
class Chosen(Generic[S]):
    """The best setting of all folds, that of each trial, chosen without its fold, and the latter's held-out forecasts
    (count, steps + 1)."""

    setting: S
    of_trials: tuple[S, ...]
    held_out: FloatArray


def choose(runs: Mapping[S, FloatArray], records: Sequence[Series], trials: Trials) -> Chosen[S] | None:
    """Of settings with their held-out forecasts."""
    if not runs:
        return None
    names, truth = list(runs), trials.truths(records)
    table = np.stack([scores(runs[name], truth, trials) for name in names])
    fold = np.repeat(np.arange(len(trials.folds)), [len(f.ends) for f in trials.folds])
    best = np.zeros(fold.size, dtype=np.int64)
    for k in np.unique(fold):
        others = fold != k
        best[fold == k] = int(np.argmax(table[:, others].mean(axis=1))) if others.any() else 0
    of_trials = tuple(names[i] for i in best)
    return Chosen(names[int(np.argmax(table.mean(axis=1)))], of_trials, taken(runs, of_trials))


def taken(runs: Mapping[S, FloatArray], of_trials: Sequence[S]) -> FloatArray:
    """The forecast of every trial by the setting that is its own."""
    return np.stack([runs[name][i] for i, name in enumerate(of_trials)])


def tried(
    settings: Sequence[S],
    records: Sequence[Series],
    trials: Trials,
    fit: Callable[[Sequence[Series], S], Rollout | None],
) -> dict[S, FloatArray]:
    """Held-out forecasts of every setting that can be fitted without every fold."""
    out: dict[S, FloatArray] = {}
    for setting in settings:
        rollouts = [(fold, fit(trials.without(records, fold), setting)) for fold in trials.folds]
        if any(rollout is None for _, rollout in rollouts):
            continue
        rows = [
            rollout(records[fold.record].values, np.array(fold.ends, dtype=np.int64), trials.steps)
            for fold, rollout in rollouts
            if rollout is not None and fold.ends
        ]
        out[setting] = np.concatenate(rows)
    return out
