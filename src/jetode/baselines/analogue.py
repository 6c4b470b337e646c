"""Analogues: what followed the most similar stretches of the past (Lorenz 1969).

The futures of the k nearest windows are averaged with weights that fall with their distance; nothing is iterated, so a
nearly periodic record is followed for as long as one of its stretches resembles the present one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.records.series import Series
from jetode.signal.trials import Rollout
from jetode.support.arrays import FloatArray, IntArray

OPTIONS = tuple((window, count) for window in (0.3, 0.7, 1.5, 3.0) for count in (1, 4, 12))  # oscillations, neighbours
APART = 0.25  # oscillations between two analogues: nearer ones are one


def analogue(
    records: Sequence[Series], period: float, window: float = OPTIONS[4][0], count: int = OPTIONS[4][1]
) -> Rollout | None:
    """The mean future of the ``count`` nearest windows of ``window`` oscillations."""
    blocks = Blocks.of(records, period)
    length = max(2, round(window * blocks.period))
    library, _, owners, places = blocks.windows(length)
    if not 0 < 2 * count <= library.shape[0]:
        return None
    squares, apart = np.sum(library**2, axis=1), max(1.0, APART * period)
    record, last = blocks.ends(owners, places)

    def nearest(present: FloatArray, room: IntArray, needed: int) -> tuple[IntArray, FloatArray]:
        distance = np.maximum(squares - 2.0 * library @ present + present @ present, 0.0)
        distance = np.where(room >= min(needed, int(room.max())), distance, np.inf)
        chosen: list[int] = []
        for _ in range(count):
            i = int(np.argmin(distance))
            if not np.isfinite(distance[i]):
                break
            chosen.append(i)
            distance[(record == record[i]) & (np.abs(last - last[i]) < apart)] = np.inf
        index = np.array(chosen, dtype=np.int64)
        return index, np.sum((library[index] - present) ** 2, axis=1)

    room = _room(blocks, owners, places)

    def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        needed = blocks.count(steps)
        pasts, means = [], []
        for end in ends:
            past = blocks.past(values, int(end), length)
            index, squared = nearest(past, room, needed)
            futures = np.full((index.size, needed), np.nan)
            for row, i in zip(futures, index, strict=True):
                follow = blocks.parts[owners[i]][places[i] + 1 : places[i] + 1 + min(needed, int(room[i]))]
                row[: follow.size] = follow
            weight = 1.0 / (squared + squared.mean() + 1e-12)
            pasts.append(past)
            means.append(_mean(futures, weight))
        return blocks.sampled(np.stack(pasts), np.stack(means), steps)

    return rollout


def _room(blocks: Blocks, owners: IntArray, places: IntArray) -> IntArray:
    """Blocks measured after each window without a gap."""
    following = []
    for part in blocks.parts:
        left = np.zeros(part.size, dtype=np.int64)
        for i in range(part.size - 2, -1, -1):
            left[i] = left[i + 1] + 1 if np.isfinite(part[i + 1]) else 0
        following.append(left)
    return np.array([following[o][p] for o, p in zip(owners, places, strict=True)], dtype=np.int64)


def _mean(futures: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted mean over those that are there; NaN where none is."""
    there = np.isfinite(futures)
    total = weight @ there
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total > 0, weight @ np.where(there, futures, 0.0) / total, np.nan))
