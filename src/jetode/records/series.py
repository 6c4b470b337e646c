"""One uniformly sampled channel y_i = s(t0 + i dt), the only thing jetode needs to know about a system.

A :class:`Series` is checked once, here, and trusted everywhere else.  NaN marks a missing sample (a gap);
methods that cannot use gaps call :func:`require_complete`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.axis import timestamps
from jetode.support import markup
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

MINIMUM_SAMPLES = 8
# Steps of a time axis may differ by rounding of the printed times (half a unit of the last digit), not more.
STEP_TOLERANCE = 1e-3
COARSE = (
    0.2  # share of repeated times from which on it is the clock that is coarse, not single samples that are doubled
)
# Beyond, squares and powers of values leave the range of float64; so do fifth powers of the sampling interval.
LARGEST = 1e60
LARGEST_STEP = 1e30


@dataclass(frozen=True, eq=False, repr=False)
class Series:
    """A uniformly sampled channel; ``values`` is a read-only float64 array, NaN where a sample is missing."""

    values: FloatArray
    dt: float
    t0: float = 0.0
    name: str = ""
    unit: str = ""
    time_unit: str = ""
    start: np.datetime64 | None = None  # absolute time of t = 0, in UTC where the record stated its zone
    locate: Callable[[int], str] | None = field(default=None, repr=False)  # where a sample stands in its file

    def __post_init__(self) -> None:
        values = _checked_values(self.values)
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "dt", _checked_step(self.dt))
        object.__setattr__(self, "t0", _finite_number("t0", self.t0))
        object.__setattr__(self, "start", _checked_start(self.start))

    def __len__(self) -> int:
        return self.values.size

    @property
    def n(self) -> int:
        return self.values.size

    @property
    def times(self) -> FloatArray:
        return self.t0 + self.dt * np.arange(self.n, dtype=np.float64)

    @property
    def timestamps(self) -> NDArray[np.datetime64] | None:
        """Absolute times of the samples, where the record has a start and its unit of time is known."""
        return timestamps(self.start, self.time_unit, self.times)

    @property
    def duration(self) -> float:
        return self.dt * (self.n - 1)

    @property
    def std(self) -> float:
        return float(np.nanstd(self.values))

    @property
    def has_gaps(self) -> bool:
        return bool(np.isnan(self.values).any())

    def slice(self, start: int, stop: int) -> Series:
        """Samples ``start`` to ``stop`` (excluded), with the time axis kept."""
        start, stop, _ = slice(start, stop).indices(self.n)
        locate = None if self.locate is None else partial(_shifted, self.locate, start)
        return replace(self, values=self.values[start:stop], t0=self.t0 + start * self.dt, locate=locate)

    def longest_stretch(self) -> Series:
        """The longest run of samples without a gap."""
        missing = np.flatnonzero(np.isnan(self.values))
        edges = np.concatenate([[-1], missing, [self.n]])
        k = int(np.argmax(np.diff(edges)))
        return self.slice(int(edges[k]) + 1, int(edges[k + 1]))

    def with_values(self, values: FloatArray) -> Series:
        """The same time axis, names and units with other values."""
        return replace(self, values=values)

    @classmethod
    def from_pandas(
        cls, series: pd.Series[Any], dt: float | None = None, unit: str = "", time_unit: str = ""
    ) -> Series:
        """From a pandas Series: its index is the time (dates count in seconds) unless ``dt`` is given."""
        import pandas as pd

        try:
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            raise InputError(f"The pandas Series must hold numbers. Got dtype {series.dtype} instead.") from None
        name = "" if series.name is None else str(series.name)
        index = series.index
        if dt is not None or isinstance(index, pd.RangeIndex):
            if dt is None:
                raise InputError("The pandas Series has no time in its index; give the sampling interval as 'dt'.")
            return cls(values, dt, name=name, unit=unit, time_unit=time_unit)
        if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex | pd.PeriodIndex):
            if index.hasnans:
                raise InputError("The pandas index must not hold missing times.")
            stamps = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
            times = np.asarray((stamps - stamps[0]).total_seconds(), dtype=np.float64)
            start = None if isinstance(index, pd.TimedeltaIndex) else stamps[0].to_datetime64()
            first = stamps[0].total_seconds() if isinstance(index, pd.TimedeltaIndex) else 0.0
            return cls(values, uniform_step(times), first, name, unit, time_unit or "s", start)
        try:
            times = index.to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"The pandas index must hold times. Got dtype {index.dtype} instead; give 'dt'.") from None
        step = uniform_step(times)
        return cls(values, step, t0=float(times[0]), name=name, unit=unit, time_unit=time_unit)

    def to_pandas(self) -> pd.Series[float]:
        """A pandas Series with the times as its index, absolute where the record has a start."""
        import pandas as pd

        times = self.times if self.timestamps is None else self.timestamps
        return pd.Series(self.values, index=pd.Index(times, name="t"), name=self.name or None)

    def __repr__(self) -> str:
        gaps = int(np.isnan(self.values).sum())
        missing = f", {gaps} missing" if gaps else ""
        since = f", from {self.start}" if self.start is not None else ""
        named = " ".join(word for word in (self.name, f"[{self.unit}]" if self.unit else "") if word)
        size = f"{self.n} samples{missing}, dt {self.dt:g} {self.time_unit}".rstrip()
        return f"Series({named}{': ' if named else ''}{size}, std {self.std:.4g}{since})"

    def _repr_html_(self) -> str:
        gaps = int(np.isnan(self.values).sum())
        rows = [
            ("samples", f"{self.n}" + (f", {gaps} missing" if gaps else "")),
            ("dt", f"{self.dt:g} {self.time_unit}"),
            ("std", f"{self.std:.4g} {self.unit}"),
        ]
        return markup.card(self.name or "Series", rows, markup.sparkline(self.values))


def require_complete(series: Series, method: str) -> None:
    """Refuse gaps for a method that needs every sample."""
    missing = np.flatnonzero(np.isnan(series.values))
    if missing.size:
        first = int(missing[0])
        where = f"sample {first}" if series.locate is None else series.locate(first)
        raise InputError(
            f"The '{method}' method needs every sample, but {missing.size} of {series.n} are missing, first "
            f"{where} (t = {series.t0 + first * series.dt:g}); use a complete stretch of the record or "
            "a method that takes gaps."
        )


def _shifted(locate: Callable[[int], str], start: int, sample: int) -> str:
    return locate(start + sample)


def require_samples(series: Series, minimum: int, purpose: str) -> None:
    """Refuse a record that is too short for ``purpose``."""
    if series.n < minimum:
        raise InputError(f"The record has {series.n} samples, but {purpose} needs at least {minimum}.")


def uniform_step(times: FloatArray, place: Callable[[int], str] = "sample {}".format) -> float:
    """The step of a uniform increasing time axis; otherwise an error that names the first bad ``place``."""
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise InputError(f"The time at {place(int(bad[0]))} is not a finite number; every sample needs its time.")
    if times.size < 2:
        raise InputError(f"A record needs at least {MINIMUM_SAMPLES} samples. Got {times.size} instead.")
    steps = np.diff(times)
    bad = np.flatnonzero(steps <= 0)
    if bad.size:
        i = int(bad[0])
        if (steps >= 0).all() and bad.size > COARSE * steps.size:
            raise InputError(
                f"The times repeat from {place(i + 1)} on ({times[i]:.10g}): they are written too coarsely to show the "
                "sampling interval; give it as 'dt' (--dt)."
            )
        kind = "repeats" if steps[i] == 0 else "is earlier than"
        raise InputError(
            f"The time at {place(i + 1)} ({times[i + 1]:.10g}) {kind} the one before it ({times[i]:.10g}); "
            "sort the record and keep each time once."
        )
    step = float((times[-1] - times[0]) / (times.size - 1))
    typical = float(np.median(steps))
    # printed times are rounded: allow half a unit of the last digit that the axis itself shows
    rounding = 2.0 * float(np.finfo(np.float64).eps) * float(np.abs(times[[0, -1]]).max())
    allowed = max(STEP_TOLERANCE * typical, 8.0 * rounding, _printed_resolution(times))
    bad = np.flatnonzero(np.abs(steps - typical) > allowed)
    if bad.size:
        i = int(bad[0])
        raise InputError(
            f"The time step at {place(i + 1)} is {steps[i]:.6g} where the others are {typical:.6g}; the "
            "method needs equal steps: resample the record (--resample), or give one complete stretch of it."
        )
    return step


def _printed_resolution(times: FloatArray) -> float:
    """Rounding of times printed with few digits (0.33, 0.67, 1.00): at most one unit of the last digit.

    Only where that unit is at most a twentieth of the step; a coarser axis cannot be told from unequal times.
    """
    typical = float(np.median(np.diff(times)))
    sample = times[: min(times.size, 1000)]
    finest = float(np.finfo(np.float64).eps * np.abs(sample).max())  # what a number of that size can show at all
    for digits in range(-math.floor(math.log10(typical)), 16):
        unit = 10.0**-digits
        if unit > 0.05 * typical:
            continue
        if unit < finest:
            break
        if np.allclose(sample, np.round(sample, digits), rtol=1e-12, atol=1e-3 * unit):
            return 1.0001 * unit
    return 0.0


def _checked_values(values: Any) -> FloatArray:
    if np.iscomplexobj(values):
        raise InputError("The 'values' of a Series must be real numbers. Got complex numbers instead.")
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("The 'values' of a Series must be numbers; other content was found.") from None
    if array.ndim != 1:
        raise InputError(f"The 'values' of a Series must be a single channel. Got the shape {array.shape} instead.")
    if array.size < MINIMUM_SAMPLES:
        raise InputError(f"A record needs at least {MINIMUM_SAMPLES} samples. Got {array.size} instead.")
    infinite = np.flatnonzero(np.isinf(array))
    if infinite.size:
        raise InputError(f"Sample {infinite[0]} of the record is infinite; samples must be finite numbers.")
    present = array[~np.isnan(array)]
    if present.size < MINIMUM_SAMPLES:
        raise InputError(f"A record needs at least {MINIMUM_SAMPLES} samples not missing. Got {present.size} instead.")
    size = float(np.abs(present).max())
    if size > LARGEST or (present.max() > present.min() and np.ptp(present) < 1.0 / LARGEST):
        raise InputError(f"The record's values are of the order {size:.0e}; use a unit in which they are near 1.")
    if present.max() == present.min():
        raise InputError(
            f"The record is constant ({present[0]:g} at every sample); there are no dynamics in it. "
            "Choose another column."
        )
    return array


def _checked_start(start: Any) -> np.datetime64 | None:
    """A datetime, a pandas Timestamp or NumPy's own."""
    if start is None:
        return None
    try:
        moment = np.datetime64(start)
    except ValueError:
        moment = np.datetime64("NaT")
    if np.isnat(moment):
        raise InputError(f"The 'start' of a Series must be a date with its time. Got {start!r} instead.")
    return (
        moment.astype("datetime64[us]")
        if np.datetime_data(moment)[0] in ("Y", "M", "W", "D", "h", "m", "s", "ms")
        else moment
    )


def _finite_number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"The '{name}' of a Series must be a number. Got {value!r} instead.") from None
    if not math.isfinite(number):
        raise InputError(f"The '{name}' of a Series must be a finite number. Got {value!r} instead.")
    return number


def _checked_step(value: Any) -> float:
    number = _finite_number("dt", value)
    if number <= 0:
        raise InputError(f"The 'dt' of a Series must be > 0. Got {value!r} instead.")
    if not 1.0 / LARGEST_STEP <= number <= LARGEST_STEP:
        raise InputError(f"The time steps are of the order {number:.0e}; use a unit of time in which they are near 1.")
    return number
