"""What a model remembers of its record and of the spline that smoothed it: plain numbers, no samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetode.records.axis import Axis
from jetode.records.series import Series
from jetode.signal.spline import SmoothingSpline


@dataclass(frozen=True)
class RecordInfo:
    """Size, step, spread and names of the record a model starts from, and how it came to be.

    ``decimation``: how many samples of the given record one sample stands for; ``notes``: what was done to the given
    record, in sentences; ``count``: of how many records this is the last; ``start``: absolute time of t = 0.
    """

    n: int
    dt: float
    std: float
    t0: float = 0.0
    name: str = ""
    unit: str = ""
    time_unit: str = ""
    decimation: int = 1
    notes: tuple[str, ...] = ()
    count: int = 1
    start: np.datetime64 | None = None

    @classmethod
    def of(cls, records: Series | Sequence[Series], decimation: int = 1, notes: Sequence[str] = ()) -> RecordInfo:
        """Of a record, or of the last of several."""
        given = (records,) if isinstance(records, Series) else tuple(records)
        last = given[-1]
        names = last.name, last.unit, last.time_unit
        return cls(last.n, last.dt, last.std, last.t0, *names, decimation, tuple(notes), len(given), last.start)

    @property
    def end(self) -> float:
        """Time of the last sample."""
        return self.t0 + (self.n - 1) * self.dt

    def axis(self, sample: int | None = None) -> Axis:
        """Names and units, with the time of a sample (None: the last one) as its origin."""
        origin = self.end if sample is None else self.t0 + sample * self.dt
        return Axis(origin, self.name, self.unit, self.time_unit, self.start)

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return vars(self) | {"notes": list(self.notes), "start": None if self.start is None else str(self.start)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RecordInfo:
        """Inverse of :meth:`to_json`; what older files do not have is left at its default."""
        start = data.get("start")
        notes = tuple(str(note) for note in data.get("notes", ()))
        return cls(**{**data, "notes": notes, "start": None if start is None else np.datetime64(start)})


@dataclass(frozen=True)
class SplineInfo:
    """The spline that gave the jets: degree, the rule for λ, λ, effective degrees of freedom, residual."""

    degree: int
    rule: str
    weight: float
    dof: float
    rss: float

    @classmethod
    def of(cls, spline: SmoothingSpline) -> SplineInfo:
        """Its numbers without its coefficients."""
        return cls(spline.degree, spline.rule, spline.weight, spline.dof, spline.rss)
