"""Analogues: what followed the most similar stretches of the past (Lorenz 1969).

The futures of the k nearest windows are averaged with weights that fall with their distance; nothing is iterated, so a
nearly periodic record is followed for as long as one of its stretches resembles the present one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.records.series import Series
from jetode.signal.trials import Rollout
from jetode.support.arrays import FloatArray, IntArray

OPTIONS = tuple((window, count) for window in (0.3, 0.7, 1.5, 3.0) for count in (1, 4, 12))  # oscillations, neighbours
APART = 0.25  # oscillations between two analogues: nearer ones are one


MOST = max(count for _, count in OPTIONS)  # neighbours that are looked for at once: the first ones of more are fewer


def analogue(
    records: Sequence[Series], period: float, window: float = OPTIONS[4][0], count: int = OPTIONS[4][1]
) -> Rollout | None:
    """The mean future of the ``count`` nearest windows of ``window`` oscillations."""
    return Analogues(records, period)(window, count)


class Analogues:
    """The analogues of some records by any setting; settings of one window share what they find."""

    def __init__(self, records: Sequence[Series], period: float) -> None:
        self._blocks, self._period = Blocks.of(records, period), period
        self._libraries: dict[int, Library] = {}

    def __call__(self, window: float, count: int) -> Rollout | None:
        """:func:`analogue` with this window and so many neighbours; None where there are too few windows."""
        length = max(2, round(window * self._blocks.period))
        if length not in self._libraries:
            self._libraries[length] = Library.of(self._blocks, length, max(1.0, APART * self._period))
        library = self._libraries[length]
        return library.rollout(count) if 0 < 2 * count <= library.x.shape[0] else None


@dataclass(frozen=True, eq=False)
class Library:
    """All windows of one length: their blocks, sums of squares, (part, last block), how many blocks follow, and their
    record and last sample; ``apart``: samples between two analogues."""

    blocks: Blocks
    x: FloatArray
    squares: FloatArray
    owners: IntArray
    places: IntArray
    room: IntArray
    record: IntArray
    last: IntArray
    apart: float
    known: dict[tuple[bytes, int, int], tuple[IntArray, FloatArray]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, blocks: Blocks, length: int, apart: float) -> Library:
        """The windows of ``length`` blocks."""
        x, _, owners, places = blocks.windows(length)
        room = _room(blocks, owners, places)
        return cls(blocks, x, np.sum(x**2, axis=1), owners, places, room, *blocks.ends(owners, places), apart)

    def nearest(self, present: FloatArray, needed: int, count: int) -> tuple[IntArray, FloatArray]:
        """The ``count`` windows most like the present one that are followed by as many blocks as are ``needed``, or by
        the most that any is, and their squared distances."""
        key = present.tobytes(), needed, max(count, MOST)
        if key not in self.known:
            self.known[key] = self._nearest(present, needed, key[2])
        index, squared = self.known[key]
        return index[:count], squared[:count]

    def _nearest(self, present: FloatArray, needed: int, count: int) -> tuple[IntArray, FloatArray]:
        distance = np.maximum(self.squares - 2.0 * self.x @ present + present @ present, 0.0)
        distance = np.where(self.room >= min(needed, int(self.room.max())), distance, np.inf)
        chosen: list[int] = []
        for _ in range(count):
            i = int(np.argmin(distance))
            if not np.isfinite(distance[i]):
                break
            chosen.append(i)
            distance[(self.record == self.record[i]) & (np.abs(self.last - self.last[i]) < self.apart)] = np.inf
        index = np.array(chosen, dtype=np.int64)
        return index, np.sum((self.x[index] - present) ** 2, axis=1)

    def rollout(self, count: int) -> Rollout:
        """Forecasts by so many neighbours."""
        blocks, length = self.blocks, self.x.shape[1]

        def run(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
            needed = blocks.count(steps)
            pasts, means = [], []
            for end in ends:
                past = blocks.past(values, int(end), length)
                index, squared = self.nearest(past, needed, count)
                futures = np.full((index.size, needed), np.nan)
                for row, i in zip(futures, index, strict=True):
                    first = self.places[i] + 1
                    follow = blocks.parts[self.owners[i]][first : first + min(needed, int(self.room[i]))]
                    row[: follow.size] = follow
                weight = 1.0 / (squared + squared.mean() + 1e-12)
                pasts.append(past)
                means.append(_mean(futures, weight))
            return blocks.sampled(np.stack(pasts), np.stack(means), steps)

        return run


def _room(blocks: Blocks, owners: IntArray, places: IntArray) -> IntArray:
    """Blocks measured after each window without a gap."""
    following = [np.empty(0, dtype=np.int64)]
    for part in blocks.parts:
        missing = np.append(np.flatnonzero(~np.isfinite(part)), part.size)
        at = np.arange(part.size)
        following.append(missing[np.searchsorted(missing, at, side="right")] - 1 - at if part.size else following[0])
    first = np.cumsum([0, *(part.size for part in blocks.parts)])
    return np.concatenate(following)[first[owners] + places]


def _mean(futures: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean over those that are there; NaN where none is."""
    there = np.isfinite(futures)
    total = weight @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, weight @ np.where(there, futures, 0.0) / total, np.nan))
