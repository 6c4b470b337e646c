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
from jetode.signal.trials import Rollout, Trials, median
from jetode.support.arrays import BoolArray, FloatArray

THRESHOLDS = (0.2, 0.4, 0.8)  # std: good beginnings, the verdict's own, and what stays near
S = TypeVar("S", bound=Hashable)


def scores(runs: FloatArray, truth: FloatArray, trials: Trials) -> FloatArray:
    """The score of each forecast, in oscillations."""
    error = (runs - truth) / trials.spread
    return np.asarray(np.mean([windowed_vpt(error, trials.period, t) for t in THRESHOLDS], axis=0))


@dataclass(frozen=True, eq=False)
class Blend(Generic[S]):
    """Settings whose median is the forecast, best first, and nested held-out forecasts (count, steps + 1)."""

    members: tuple[S, ...]
    held_out: FloatArray


def ranked(runs: Mapping[S, FloatArray], records: Sequence[Series], trials: Trials) -> list[S]:
    """Settings by their held-out forecasts, best first."""
    truth = trials.truths(records)
    means = {name: float(scores(run, truth, trials).mean()) for name, run in runs.items()}
    return sorted(means, key=lambda name: -means[name])


def blend(
    runs: Mapping[S, FloatArray], records: Sequence[Series], trials: Trials, most: int = 1, near: float = 1.0
) -> Blend[S]:
    """The best settings, an odd number up to ``most`` of those with ``near`` times the best score; each fold is
    forecast by those that are best on the others."""
    names, truth = list(runs), trials.truths(records)
    table = np.stack([scores(runs[name], truth, trials) for name in names])
    fold = np.repeat(np.arange(len(trials.folds)), [len(f.ends) for f in trials.folds])

    def best(where: BoolArray) -> list[S]:
        means = table[:, where].mean(axis=1) if where.any() else np.zeros(len(names))
        order = [int(i) for i in np.argsort(-means, kind="stable") if means[i] >= near * means.max()]
        order = order[: min(most, len(order))]
        return [names[i] for i in order[: len(order) - 1 + len(order) % 2]]

    held_out = np.full(truth.shape, np.nan)
    for k in np.unique(fold):
        held_out[fold == k] = median([runs[name][fold == k] for name in best(fold != k)])
    return Blend(tuple(best(np.ones(fold.size, dtype=np.bool_))), held_out)


def tried(
    settings: Sequence[tuple[float, ...]],
    records: Sequence[Series],
    trials: Trials,
    fit: Callable[[Sequence[Series]], Callable[..., Rollout | None]],
) -> dict[tuple[float, ...], FloatArray]:
    """Held-out forecasts of every setting that can be fitted without every fold; ``fit`` sees each rest once."""
    out: dict[tuple[float, ...], FloatArray] = {}
    made = [(fold, fit(trials.without(records, fold))) for fold in trials.folds]
    for setting in settings:
        rollouts = [(fold, make(*setting)) for fold, make in made]
        if any(rollout is None for _, rollout in rollouts):
            continue
        rows = [
            rollout(records[fold.record].values, np.array(fold.ends, dtype=np.int64), trials.steps)
            for fold, rollout in rollouts
            if rollout is not None and fold.ends
        ]
        out[setting] = np.concatenate(rows)
    return out
