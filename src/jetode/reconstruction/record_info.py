"""What a model remembers of its record and of the spline that smoothed it: plain numbers, no samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jetode.records.series import Series
from jetode.signal.spline import SmoothingSpline


@dataclass(frozen=True)
class RecordInfo:
    """Size, step, spread and names of the record a model starts from, and how it came to be.

    ``decimation``: how many samples of the given record one sample stands for; ``notes``: what was done to the given
    record, in sentences; ``count``: of how many records this is the last.
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

    @classmethod
    def of(cls, records: Series | Sequence[Series], decimation: int = 1, notes: Sequence[str] = ()) -> RecordInfo:
        """Of a record, or of the last of several."""
        given = (records,) if isinstance(records, Series) else tuple(records)
        last = given[-1]
        names = last.name, last.unit, last.time_unit
        return cls(last.n, last.dt, last.std, last.t0, *names, decimation, tuple(notes), len(given))

    @property
    def end(self) -> float:
        """Time of the last sample."""
        return self.t0 + (self.n - 1) * self.dt

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return vars(self) | {"notes": list(self.notes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RecordInfo:
        """Inverse of :meth:`to_json`; what older files do not have is left at its default."""
        return cls(**{**data, "notes": tuple(str(note) for note in data.get("notes", ()))})


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
