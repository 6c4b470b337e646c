"""Clipped samples (docs/mathematics.md (4.17)): which they are, and what the smoothed record has in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.records.series import Series
from jetode.signal.artefacts import UNLIMITED, Rails, rails
from jetode.support.arrays import BoolArray, FloatArray

SHARE = 0.5  # of a clipped run: how far beside it the slope is taken from that the arch over it begins with,
FEWEST, MOST = 4, 15  # in samples: fewer are noise, more are another part of the motion


def common_rails(records: Sequence[Series]) -> Rails:
    """The limits at which several records of one instrument are clipped."""
    return rails(np.concatenate([record.values for record in records]))


def sides(values: FloatArray, limits: Rails) -> FloatArray:
    """1 for samples on the upper rail, −1 for those on the lower, else 0."""
    return (values >= limits[1]).astype(float) - (values <= limits[0]).astype(float)


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Where runs of true values begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def without_long_runs(records: Sequence[Series], limits: Rails, longest: int) -> Sequence[Series]:
    """The records with clipped runs of more than ``longest`` samples as gaps: no path is told by a bound that long."""
    if limits == UNLIMITED:
        return records
    out = []
    for record in records:
        values = record.values.copy()
        for start, stop in runs(sides(values, limits) != 0.0):
            values[start:stop] = np.nan if stop - start > longest else values[start:stop]
        out.append(record.with_values(values))
    return out


def arched(values: FloatArray, side: FloatArray) -> FloatArray:
    """The samples with a cubic over each clipped run, which leaves the rail with the slopes beside it and comes back:
    where the smoothed record would be cut off flat, the fit's first path begins above."""
    out, seen = values.copy(), (side == 0.0) & ~np.isnan(values)
    for start, stop in runs(side != 0.0):
        width = int(np.clip(round(SHARE * (stop - start)), FEWEST, MOST))
        left, right = np.arange(start - width, start), np.arange(stop, stop + width)
        if left[0] < 0 or right[-1] >= values.size or not (seen[left].all() and seen[right].all()):
            continue
        sign = side[start]
        up, down = (float(np.polyfit(at, values[at], 1)[0]) * sign for at in (left, right))
        length = float(stop - start + 1)
        f = np.arange(1, stop - start + 1) / length
        rise, fall = max(up, 0.0), min(down, 0.0)
        out[start:stop] += sign * length * (rise * f * (1 - f) ** 2 - fall * f**2 * (1 - f))
    return out


@dataclass(frozen=True)
class Part:
    """A stretch of a record: its ``values`` (NaN where missing), the ``side`` of those on a rail, the ordinary ones
    that were ``seen``, and for smoothing these with arches ``laid`` over the rails."""

    values: FloatArray
    side: FloatArray
    seen: FloatArray
    laid: FloatArray

    @classmethod
    def of(cls, values: FloatArray, limits: Rails) -> Part:
        """Of a stretch of one record."""
        side = sides(values, limits)
        if not side.any():
            return cls(values, side, values, values)
        return cls(values, side, np.where(side != 0.0, np.nan, values), arched(values, side))

    def without(self, seen: FloatArray) -> Part:
        """The same where fewer were ``seen``: what is left out is not smoothed either."""
        left_out = np.isnan(seen) & ~np.isnan(self.seen)
        return replace(self, seen=seen, laid=np.where(left_out, np.nan, self.laid))

    @property
    def n_seen(self) -> int:
        """How many were seen."""
        return int(np.count_nonzero(~np.isnan(self.seen)))

    @property
    def told(self) -> FloatArray:
        """What the fit takes: ordinary samples, and the rail where a sample is on it."""
        return np.where(self.side != 0.0, self.values, self.seen)
