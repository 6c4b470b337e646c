"""Records as rows of blocks: standardised, averaged to some thirty samples per oscillation, missing ones left missing.

A block is the mean of ``factor`` samples, counted backwards from the end that a forecast starts from, so that nothing
after it is used; it stands at the middle of its samples.  Methods learn how blocks follow one another, from rows of
blocks that end with the last sample, the one before it and so on (a clean record shows its motion as densely as it was
sampled), and a cubic spline through past and future blocks gives the samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jetode.records.series import Series
from jetode.signal.scales import filled
from jetode.signal.trials import Fold
from jetode.support.arrays import BoolArray, FloatArray, IntArray

DENSE = 30.0  # blocks per oscillation: enough for its shape, few enough for windows over two of them
PHASES = 8  # rows of blocks of one record at most: more are nearly the same
FAR = 0.5  # ranges of the record: nothing that was seen lies beyond, and a map that has left does not come back

# (windows (s, m) with the newest block last) → the block that follows each (s,)
Step = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Records of one system in blocks of ``factor`` samples; ``period`` in blocks, ``low`` and ``high`` their range.

    Each of ``parts`` is a row of blocks; ``origins`` has its record and the sample that it ends with."""

    parts: tuple[FloatArray, ...]
    origins: tuple[tuple[int, int], ...]
    factor: int
    period: float
    middle: float
    spread: float
    low: float
    high: float

    @classmethod
    def of(cls, records: Sequence[Series], period: float) -> Blocks:
        """Blocks of the records; ``period`` in samples."""
        values = np.concatenate([record.values for record in records])
        middle, spread = float(np.nanmean(values)), float(np.nanstd(values))
        factor = max(1, int(period / DENSE))
        shifts = np.unique(np.linspace(0, factor, min(factor, PHASES), endpoint=False).astype(np.int64)).tolist()
        origins = tuple((i, record.n - 1 - shift) for i, record in enumerate(records) for shift in shifts)
        scaled = [(record.values - middle) / spread for record in records]
        parts = tuple(block_means(scaled[i][: last + 1], factor) for i, last in origins)
        whole = np.concatenate(parts)
        low, high = float(np.nanmin(whole)), float(np.nanmax(whole))
        return cls(parts, origins, factor, period / factor, middle, spread, low, high)

    def windows(self, length: int, ahead: int = 1) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
        """Windows (n, length), what follows them ``ahead`` blocks on (n, ahead), and (part, last block) of each; those
        with a missing block are left out."""
        rows, futures, owners, ends = [], [], [], []
        for i, part in enumerate(self.parts):
            if part.size < length + ahead:
                continue
            view = sliding_window_view(part, length + ahead)
            sound = np.flatnonzero(np.isfinite(view).all(axis=1))
            rows.append(view[sound, :length])
            futures.append(view[sound, length:])
            owners.append(np.full(sound.size, i))
            ends.append(sound + length - 1)
        if not rows:
            none = np.empty(0, dtype=np.int64)
            return np.empty((0, length)), np.empty((0, ahead)), none, none
        return np.concatenate(rows), np.concatenate(futures), np.concatenate(owners), np.concatenate(ends)

    def ends(self, owners: IntArray, places: IntArray) -> tuple[IntArray, IntArray]:
        """The record and the last sample of blocks, given by part and place."""
        record, last = np.array(self.origins, dtype=np.int64).reshape(-1, 2)[owners].T
        sizes = np.array([part.size for part in self.parts], dtype=np.int64)
        return record, last - self.factor * (sizes[owners] - 1 - places)

    def past(self, values: FloatArray, end: int, length: int) -> FloatArray:
        """The last ``length`` blocks up to sample ``end``; gaps are bridged, and before the record stands its first."""
        first = max(0, end + 1 - self.factor * length)
        scaled = (values[first : end + 1] - self.middle) / self.spread
        blocks = block_means(filled(scaled) if np.isfinite(scaled).any() else np.zeros_like(scaled), self.factor)
        return np.concatenate([np.full(length - blocks.size, blocks[0] if blocks.size else 0.0), blocks])

    def following(self, values: FloatArray, end: int, count: int) -> FloatArray:
        """So many blocks after sample ``end``; NaN beyond the record and where samples are missing."""
        out = np.full(count * self.factor, np.nan)
        ahead = values[end + 1 : end + 1 + out.size]
        out[: ahead.size] = (ahead - self.middle) / self.spread
        return block_means(out, self.factor)

    def sampled(self, pasts: FloatArray, futures: FloatArray, steps: int) -> FloatArray:
        """Samples 0 … ``steps`` after each end by splines through blocks, in the records' units; NaN where they end."""
        from scipy.interpolate import CubicSpline

        out = np.full((pasts.shape[0], steps + 1), np.nan)
        wanted = np.arange(steps + 1, dtype=np.float64)
        missing = ~np.isfinite(futures)
        sound = np.where(missing.any(axis=1), missing.argmax(axis=1), futures.shape[1])
        for count in np.unique(sound).tolist():  # those that end together have one set of knots
            rows = sound == count
            known = np.concatenate([pasts[rows], futures[rows, :count]], axis=1)
            at = self.factor * (np.arange(known.shape[1]) - (pasts.shape[1] - 1)) - 0.5 * (self.factor - 1)
            inside = wanted <= at[-1] + 0.5 * (self.factor - 1)
            shown = CubicSpline(at, known, axis=1)(wanted[inside]) if known.shape[1] > 1 else known[:, :1]
            out[np.ix_(rows, inside)] = shown
        return np.asarray(self.middle + self.spread * out)

    def without(self, fold: Fold) -> Blocks:
        """The same with the blocks that show samples of a fold missing."""
        parts = []
        for i, part in enumerate(self.parts):
            record, last = self.ends(np.full(part.size, i), np.arange(part.size))
            held = (record == fold.record) & (last >= fold.start) & (last - self.factor + 1 < fold.stop)
            parts.append(np.where(held, np.nan, part))
        return replace(self, parts=tuple(parts))

    def count(self, steps: int) -> int:
        """Blocks that a forecast of ``steps`` samples needs."""
        return -(-steps // self.factor) + 1

    def lost(self, block: FloatArray) -> BoolArray:
        """Which blocks lie far outside of the records' range."""
        reach = FAR * (self.high - self.low)
        return ~((block > self.low - reach) & (block < self.high + reach))

    def closed_loop(
        self, step: Step, length: int, before: int = 0, prepare: Callable[[FloatArray], FloatArray] | None = None
    ) -> Callable[[FloatArray, IntArray, int], FloatArray]:
        """The rollout of a one-block map on its own output; ``prepare`` sees ``before`` blocks more of the pasts."""

        def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
            pasts = np.stack([self.past(values, int(end), length + before) for end in ends])
            pasts = (pasts if prepare is None else prepare(pasts))[:, before:]
            window, count = pasts.copy(), self.count(steps)
            future = np.full((ends.size, count), np.nan)
            alive = np.arange(ends.size)
            for k in range(count):
                new = step(window[alive])
                kept = ~self.lost(new)
                alive = alive[kept]
                if not alive.size:
                    break
                window[alive] = np.column_stack([window[alive, 1:], new[kept]])
                future[alive, k] = new[kept]
            return self.sampled(pasts, future, steps)

        return rollout


def block_means(values: FloatArray, factor: int) -> FloatArray:
    """Means of ``factor`` samples, the last one ending with the last sample; NaN where one is missing."""
    if factor == 1:
        return np.array(values, dtype=np.float64)
    count = values.size // factor
    return np.asarray(values[values.size - count * factor :].reshape(count, factor).mean(axis=1))
