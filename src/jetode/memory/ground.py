"""Records as a memory closure sees them (docs/mathematics.md §7.2): in std, at the steps of one clock, gaps marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from jetode.memory.clock import Clock, bridged
from jetode.memory.settings import MemorySettings
from jetode.records.series import Series
from jetode.signal.trials import Trials
from jetode.support.arrays import BoolArray, FloatArray

BLOCKS = 20  # whose means tell how far the mean wanders by itself
NOT_ZERO = 2.0  # standard errors from which on a mean is one


@dataclass(frozen=True, eq=False)
class Part:
    """One record: its points, the samples at which they stand, and where a long gap is bridged."""

    points: FloatArray
    times: FloatArray
    bridged: BoolArray


@dataclass(frozen=True, eq=False)
class Ground:
    """All records at the steps of a clock, in std from their mean, and the trials on them."""

    records: tuple[Series, ...]
    trials: Trials
    clock: Clock
    mean: float
    spread: float
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, records: Sequence[Series], trials: Trials, settings: MemorySettings) -> Ground:
        """At steps of a length that suits the oscillations and their number."""
        every = np.concatenate([record.values for record in records])
        mean, spread = middle(records), float(np.nanstd(every))
        density = settings.points * trials.period / np.isfinite(every).sum()
        clock = Clock.of(trials.period, float(np.clip(density, settings.density, settings.densest)))
        parts = []
        for record in records:
            values, far = bridged((record.values - mean) / spread, settings.gap * trials.period)
            points = clock.points(values)
            times = clock.times(points.size, record.n)
            nearest = np.clip(np.round(times).astype(np.int64), 0, record.n - 1)
            near = far[nearest] | far[np.maximum(nearest - 1, 0)] | far[np.minimum(nearest + 1, record.n - 1)]
            parts.append(Part(points, times, near))
        return cls(tuple(records), trials, clock, mean, spread, tuple(parts))

    @property
    def dt(self) -> float:
        """Of the records."""
        return self.records[0].dt

    @property
    def step(self) -> float:
        """Of the clock, in oscillations."""
        return self.clock.step / self.trials.period

    def usable(self, part: Part, theta: float) -> BoolArray:
        """Where a state that remembers ``theta`` oscillations has seen nothing but samples."""
        span = round(theta / self.step) + 1
        spoiled = part.bridged.copy()
        spoiled[: min(span, spoiled.size)] = True
        last = np.maximum.accumulate(np.where(part.bridged, np.arange(spoiled.size), -span - 1))
        return ~(spoiled | (np.arange(spoiled.size) - last <= span))

    def held(self, record: int, theta: float) -> BoolArray:
        """(folds, points): where a row shows samples of a fold, in what it predicts or in what it remembers."""
        times = self.parts[record].times
        out = np.zeros((len(self.trials.folds), times.size), dtype=np.bool_)
        for row, fold in zip(out, self.trials.folds, strict=True):
            if fold.record == record:
                row[:] = (times >= fold.start) & (times < fold.stop + theta * self.trials.period)
        return out


def middle(records: Sequence[Series]) -> float:
    """The mean, or 0 where it cannot be told from 0 by the scatter of its parts: odd forms need the middle of a
    symmetry better than a mean of long excursions has it."""
    parts = [part for record in records for part in np.array_split(record.values, ceil(BLOCKS / len(records)))]
    means = np.array([np.nanmean(part) for part in parts if np.isfinite(part).any()])
    mean = float(np.nanmean(np.concatenate([record.values for record in records])))
    return 0.0 if abs(mean) < NOT_ZERO * float(np.std(means)) / means.size**0.5 else mean
