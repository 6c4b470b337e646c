"""Where forecasts are tried (docs/mathematics.md §7.4): stretches held out of a fit, starts in them, and how far to go.

One plan serves every way to forecast a record, so that their times are compared start by start.  A fit is given the
records with the held-out samples missing (NaN); forecasts from a start may see every sample up to it.  Within a record
only what comes *before* a fold may be learnt from: a fit that has seen both sides of a stretch finds its neighbours
there, which a forecast beyond the record does not have (a drifting cell: 1.4 oscillations with both sides, 1.1 ahead).
Of several records one at a time is held out as a whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from jetode.records.series import MINIMUM_SAMPLES, Series
from jetode.signal.oscillations import count_oscillations
from jetode.signal.scales import filled
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray

# (values up to any end, ends, steps) → forecasts (len(ends), steps + 1) from each end itself on, NaN after a failure
Rollout = Callable[[FloatArray, IntArray, int], FloatArray]

GOLDEN = 0.5 * (5.0**0.5 - 1.0)  # its multiples fill an interval most evenly, however many they are


@dataclass(frozen=True)
class TrialSettings:
    """How trials are laid out, each number with its reason."""

    folds: int = 4  # two held-out stretches let settings be chosen by luck (a flag's forecast doubled with four)
    starts: int = 10  # per fold: 40 in all give quartiles, and bands of 90 %
    first: float = 0.5  # of a record that every fit has seen
    cap: float = 10.0  # oscillations of a trial at most: forecasts of a pulse or a reed only part late
    room: float = 0.5  # of what is held out that one forecast may fill, so that starts differ
    past: float = 2.0  # oscillations before a start: what a state needs at least
    shortest: float = 0.25  # oscillations of a forecast at least: less tells nothing


DEFAULT = TrialSettings()


@dataclass(frozen=True)
class Fold:
    """Samples ``start`` … ``stop`` − 1 of one record, held out, and the ``ends`` from which forecasts start."""

    record: int
    start: int
    stop: int
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Trials:
    """The plan: folds, samples of every forecast, samples per oscillation, and the std that errors are measured in."""

    folds: tuple[Fold, ...]
    steps: int
    period: float
    spread: float

    @property
    def count(self) -> int:
        """Forecasts in all."""
        return sum(len(fold.ends) for fold in self.folds)

    def without(self, records: Sequence[Series], fold: Fold) -> list[Series]:
        """The records with the samples of a fold missing; one that is left without samples is left out."""
        values = records[fold.record].values.copy()
        values[fold.start : fold.stop] = np.nan
        held = [records[fold.record].with_values(values)] if np.isfinite(values).sum() >= MINIMUM_SAMPLES else []
        return [*records[: fold.record], *held, *records[fold.record + 1 :]]

    def truths(self, records: Sequence[Series]) -> FloatArray:
        """What followed every start, itself included: (count, steps + 1)."""
        rows = [records[f.record].values[end : end + self.steps + 1] for f in self.folds for end in f.ends]
        return np.stack(rows) if rows else np.empty((0, self.steps + 1))

    def forecasts(self, records: Sequence[Series], fit: Callable[[list[Series]], Rollout]) -> FloatArray:
        """Forecasts from every start by what ``fit`` makes of the records without its fold: (count, steps + 1)."""
        rows = [np.empty((0, self.steps + 1))]
        for fold in self.folds:
            rollout = fit(self.without(records, fold))
            rows.append(rollout(records[fold.record].values, np.array(fold.ends, dtype=np.int64), self.steps))
        return np.concatenate(rows)


def samples_per_oscillation(records: Sequence[Series]) -> float:
    """Of the smoothed records, by :func:`.count_oscillations`."""
    counts = sum(count_oscillations(smooth(filled(r.values), 1.0, 5, "gcv").jets(0)[:, 0]) for r in records)
    return sum(r.n for r in records) / max(counts, 1.0)


def plan(records: Sequence[Series], settings: TrialSettings = DEFAULT) -> Trials | None:
    """Trials on the records; None where nothing is long enough."""
    period = samples_per_oscillation(records)
    spread = float(np.nanstd(np.concatenate([r.values for r in records])))
    each = max(1, -(-settings.folds // len(records)))
    whole = each == 1 and len(records) > 1
    held = min(r.n for r in records) * (1.0 if whole else 1.0 - settings.first)
    steps = int(min(settings.cap * period, settings.room * held))
    if steps < max(settings.shortest * period, 2) or not spread > 0:
        return None
    starts = each * settings.starts
    folds: list[Fold] = []
    for i, record in enumerate(records):
        last = record.n - 1 - steps
        first = min(round(settings.past * period), last) if whole else round(settings.first * record.n)
        for ends in np.array_split(_spread(first, last, starts), each):
            begin = 0 if whole else int(ends[0]) + 1
            folds.append(Fold(i, begin, record.n, _followed(record.values, ends, steps)))
    return Trials(tuple(folds), steps, period, spread) if any(f.ends for f in folds) else None


def median(runs: Sequence[FloatArray]) -> FloatArray:
    """Pointwise median of those that go on; NaN where none does: of five settings that part from the motion one by one,
    the last is still a forecast within its range, and where most agree the others do not count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # all of them have failed
        return np.asarray(np.nanmedian(np.stack(runs), axis=0))


def _spread(first: int, last: int, count: int) -> IntArray:
    """So many samples over a stretch, not quite even: even ones beat with the oscillations and see few of their phases
    (a pendulum's errors at half periods, and none between, made bands that held 61 % instead of 90 %)."""
    places = np.arange(count)
    shifts = places * GOLDEN % 1.0 - 0.5
    share = (places + shifts * (count > 2)) / max(count - 1, 1)
    return np.asarray(first + np.clip(share, 0.0, 1.0) * (last - first)).astype(np.int64)


def _followed(values: FloatArray, ends: IntArray, steps: int) -> tuple[int, ...]:
    """Starts that were measured with all that follows them."""
    there = np.isfinite(values)
    return tuple(e for e in np.unique(ends).tolist() if e > 0 and there[e : e + steps + 1].all())
