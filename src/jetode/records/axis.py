"""What the samples of a channel are called and when they were taken: what forecasts inherit from their record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jetode.records.units import SECONDS
from jetode.support.arrays import FloatArray


def timestamps(start: np.datetime64 | None, time_unit: str, times: FloatArray) -> NDArray[np.datetime64] | None:
    """Absolute times, where t = 0 has one (``start``) and the unit of time is known."""
    seconds = SECONDS.get(time_unit)
    if start is None or seconds is None:
        return None
    return start + np.round(times * (seconds * 1e9)).astype("timedelta64[ns]")


@dataclass(frozen=True)
class Axis:
    """Name and unit of a channel, unit of its time, absolute time ``start`` of t = 0 (where it is known), and the time
    ``origin`` of the first sample meant."""

    origin: float = 0.0
    name: str = ""
    unit: str = ""
    time_unit: str = ""
    start: np.datetime64 | None = None

    def timestamps(self, times: FloatArray) -> NDArray[np.datetime64] | None:
        """Absolute times, where they are known."""
        return timestamps(self.start, self.time_unit, times)

    def counted(self, size: float, digits: int = 4) -> str:
        """A length of time with its unit."""
        return f"{size:.{digits}g} {self.time_unit}".strip()
