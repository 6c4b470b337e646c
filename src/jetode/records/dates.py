"""Dates and times of day as loggers write them, read column by column.

A column is parsed as one: whether ``03/04/2024`` is in March or April can only be seen from its other rows.  Where the
whole column leaves it open and both readings give the same time steps, the steps are kept and the absolute start is
unknown; where the steps depend on it, the column is refused.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.support.arrays import BoolArray
from jetode.support.errors import InputError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
TIME_OF_DAY = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{1,2}(?:[.,]\d{1,9})?))?\s*(?P<half>[AaPp][Mm])?"
DAY = rf"(?P<a>\d{{1,4}})(?P<sep>[-/.])(?P<b>\d{{1,2}}|{'|'.join(m.title() for m in MONTHS)})(?P=sep)(?P<c>\d{{2,4}})"
ZONE = r"(?P<zone>Z|UTC|[+-]\d{2}(?::?\d{2})?)"
DATE = re.compile(rf"{DAY}(?:(?:T|\s+|,\s*){TIME_OF_DAY}\s*{ZONE}?)?", re.IGNORECASE)
CLOCK = re.compile(TIME_OF_DAY)
DAYS = re.compile(r"(?P<days>\d{1,6}) days? (?P<rest>.*)")  # as pandas writes durations
ELAPSED = re.compile(r"(?P<minutes>\d{1,4}):(?P<seconds>[0-5]\d[.,]\d{1,9})")  # 12:07.250 without hours
MICROSECONDS_PER_DAY = 86_400_000_000
NO_ZONE = 10_000  # minutes; no offset from UTC is that large


def is_date(text: str) -> bool:
    """A day, with or without a time of day."""
    match = DATE.fullmatch(text)
    return match is not None and (len(match["a"]) == 4 or (len(match["c"]) in (2, 4) and len(match["a"]) <= 2))


def is_time_of_day(text: str) -> bool:
    """Hours and minutes, or minutes and seconds with decimals."""
    return _time_of_day(text) is not None


def _time_of_day(text: str) -> int | None:
    """Microseconds."""
    whole = DAYS.fullmatch(text)
    if whole is not None:
        rest = _time_of_day(whole["rest"])
        return None if rest is None else int(whole["days"]) * MICROSECONDS_PER_DAY + rest
    elapsed = ELAPSED.fullmatch(text)
    if elapsed is not None:
        return round(1e6 * (60 * int(elapsed["minutes"]) + float(elapsed["seconds"].replace(",", "."))))
    match = CLOCK.fullmatch(text)
    return None if match is None else _microseconds(match)


def _microseconds(match: re.Match[str]) -> int | None:
    """Time of day, None where there is no such time."""
    if match["hour"] is None:
        return 0
    hour, minute = int(match["hour"]), int(match["minute"])
    second = float((match["second"] or "0").replace(",", "."))
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"].lower() == "pm" else 0)
    if hour > 24 or minute > 59 or second >= 61:
        return None
    return (hour * 60 + minute) * 60_000_000 + round(second * 1e6)


@dataclass
class ClockCells:
    """Times of day, one cell after another; midnight is passed where they jump back by more than half a day."""

    micro: array[int] = field(default_factory=lambda: array("q"))

    def add(self, text: str) -> bool:
        micro = _time_of_day(text)
        if micro is not None:
            self.micro.append(micro)
        return micro is not None

    def add_missing(self) -> None:
        self.micro.append(np.iinfo(np.int64).min)  # what NaT is

    def values(self) -> NDArray[Any]:
        micro = np.array(self.micro, dtype="timedelta64[us]")
        return micro


def past_midnight(times: NDArray[Any]) -> NDArray[Any]:
    """Times of day made to go on: + 1 day after each jump back by more than half a day."""
    half = np.timedelta64(MICROSECONDS_PER_DAY // 2, "us")
    jumps = np.concatenate([[0], np.cumsum(np.diff(times) < -half)])
    out: NDArray[Any] = times + jumps * np.timedelta64(MICROSECONDS_PER_DAY, "us")
    return out


@dataclass
class DateCells:
    """Dates, one cell after another: the three numbers of the day as written, the time of day, the zone."""

    days: array[int] = field(default_factory=lambda: array("q"))  # a, b, c of each cell
    micro: array[int] = field(default_factory=lambda: array("q"))
    zones: array[int] = field(default_factory=lambda: array("q"))
    named: bool = False  # months by name, so b is the month
    american: bool = False  # AM or PM was seen
    dotted: bool = False  # 04.05.2024, which nobody writes with the month first
    missing: list[int] = field(default_factory=list)
    example: str = ""

    def add(self, text: str) -> bool:
        """Whether ``text`` is a date; mixed zones raise."""
        match = DATE.fullmatch(text)
        micro = None if match is None else _microseconds(match)
        if match is None or micro is None:
            return False
        month = MONTHS.index(match["b"].lower()) + 1 if match["b"].isalpha() else int(match["b"])
        zone = _zone(match["zone"])
        if self.zones and (zone == NO_ZONE) != (self.zones[0] == NO_ZONE):
            raise InputError("only some of the times have a time zone.")
        self.named = self.named or match["b"].isalpha()
        self.dotted = self.dotted or match["sep"] == "."
        self.american = self.american or match["half"] is not None
        self.example = self.example or text
        self.days.extend((int(match["a"]), month, int(match["c"])))
        self.micro.append(micro)
        self.zones.append(zone)
        return True

    def add_missing(self) -> None:
        self.missing.append(len(self.micro))
        self.days.extend((2000, 1, 1))
        self.micro.append(0)
        self.zones.append(self.zones[0] if self.zones else NO_ZONE)

    def values(self) -> tuple[NDArray[Any], bool]:
        """(datetime64 in UTC where zones are stated, whether the day is certain)."""
        a, b, c = np.array(self.days, dtype=np.int64).reshape(-1, 3).T
        readings = self._readings(a, b, c)
        dates = [self._dates(*reading) for reading in readings if _valid(*reading).all()]
        if not dates:
            raise InputError(f"dates such as {self.example!r} are no days of a calendar.")
        if len(dates) == 1:
            return dates[0], True
        if np.array_equal(np.diff(dates[0]), np.diff(dates[1])):
            return dates[0], bool((dates[0] == dates[1]).all())
        rising = [d for d in dates if (np.diff(d) > np.timedelta64(0, "us")).all()]
        if len(rising) == 1:
            return rising[0], True
        raise InputError(
            f"dates such as {self.example!r} can be read with the day or the month first; write them as 2024-12-31."
        )

    def _readings(self, a: Any, b: Any, c: Any) -> list[tuple[Any, Any, Any]]:
        """(year, month, day) in the orders that are possible."""
        if a.size and a.max() > 31:
            return [(a, b, c)]
        year = np.where(c < 100, 2000 + c, c)
        day_first, month_first = (year, b, a), (year, a, b)
        if self.named or self.dotted:
            return [day_first]
        return [month_first] if self.american else [day_first, month_first]

    def _dates(self, year: Any, month: Any, day: Any) -> NDArray[Any]:
        months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
        out = months.astype("datetime64[D]").astype("datetime64[us]") + (day - 1) * np.timedelta64(1, "D")
        out = out + np.array(self.micro, dtype=np.int64).astype("timedelta64[us]")
        zones = np.array(self.zones, dtype=np.int64)
        out = out - np.where(zones == NO_ZONE, 0, zones).astype("timedelta64[m]")
        out[self.missing] = np.datetime64("NaT")
        return out


def _valid(year: Any, month: Any, day: Any) -> BoolArray:
    lengths = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    possible = (month >= 1) & (month <= 12) & (year >= 1) & (day >= 1)
    longest = lengths[np.clip(month, 1, 12) - 1] - ((month == 2) & ~leap)
    out: BoolArray = possible & (day <= longest)
    return out


def _zone(text: str | None) -> int:
    """Minutes ahead of UTC."""
    if text is None:
        return NO_ZONE
    if text.upper() in {"Z", "UTC"}:
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (-1 if text[0] == "-" else 1) * (60 * int(digits[:2]) + int(digits[2:]))
