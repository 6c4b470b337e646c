"""Which column is the record and which its time, and the Series they make.

The time is the column asked for, else one named t or time (any case, with or without a unit), else one of dates, else
a first column that is uniform and increasing; the record is the column asked for, else the only one left.  A time
column serves the columns of its own group.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.dates import past_midnight
from jetode.records.resample import resampled
from jetode.records.series import Series, uniform_step
from jetode.records.table import Column, Reading, Table
from jetode.records.units import is_counter_name, is_date_name, is_time_name, split_unit, time_unit_of
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

EPOCH_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
# What makes a column the time, the strongest reason first.
CLOCK_TESTS: tuple[Callable[[Column], bool], ...] = (
    lambda column: is_time_name(column.header or column.name) and column.kind != "other",
    lambda column: column.kind == "time of day",
    lambda column: column.kind == "date",
    lambda column: is_date_name(column.header or column.name) and column.kind != "other",
)


@dataclass(frozen=True)
class Choice:
    """Columns by index: the record, its time, and a column of days that goes with times of day."""

    value: int
    clock: int | None = None
    day: int | None = None
    guessed: bool = False  # the clock is an unnamed first column that may turn out to be none


@dataclass(frozen=True)
class Axis:
    """Times in ``unit`` from the absolute ``start`` of t = 0, where the file has one."""

    times: FloatArray
    unit: str = ""
    start: np.datetime64 | None = None


def series_of(table: Table, reading: Reading) -> Series:
    """The record that ``reading`` asks for."""
    choice = choose(table, reading)
    values, axis = _data(table, choice, reading)
    if choice.guessed and reading.resample is None and axis is not None:
        axis = _confirmed(table, axis, reading)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InputError(
            f"{table.place(int(infinite[0]))}: the value is infinite; samples must be finite numbers, or "
            "empty where one is missing."
        )
    if reading.resample is not None:
        if axis is None:
            raise InputError(f"{table.source} has no time column, so there is nothing to resample; give 'dt' (--dt).")
        values, first = resampled(axis.times, values, reading.resample, table.place)
        step = reading.resample
    else:
        step, first = _sampling(table, choice, axis, reading)
    column = table.columns[choice.value]
    stated = axis is None and reading.dt is None
    unit = axis.unit if axis is not None else column.time_unit if stated else ""
    start = axis.start if axis is not None else column.start
    t0 = first if reading.t0 is None else reading.t0
    if start is not None and unit == "s":
        start = start + np.timedelta64(round((first - t0) * 1e6), "us")
    try:
        return Series(
            values,
            step,
            t0=t0,
            name=column.name,
            unit=column.unit,
            time_unit=unit,
            start=start,
            locate=partial(_place, table),
        )
    except InputError as error:
        raise InputError(f"{table.source}: {error}") from None


def _place(table: Table, row: int) -> str:
    return table.place(row)


def choose(table: Table, reading: Reading) -> Choice:
    """The columns by what was asked, by name, by kind, by place."""
    value = None if reading.column is None else resolve(table, reading.column, "column")
    asked = None if reading.time is None else resolve(table, reading.time, "time")
    group = table.columns[value].group if value is not None else None
    clock = asked if asked is not None else _named_clock(table, value, group)
    first = _first_column(table, value) if clock is None else None
    rest = [i for i in measured(table, group) if i not in (clock, first)]
    if value is None:
        value = _only(table, rest if clock is None else _without_counter(table, rest))
    if value == clock:
        raise InputError(f"{table.source}: column {table.label(value)} cannot be both the time and the record.")
    if clock is not None and asked is None:
        clock = _named_clock(table, value, table.columns[value].group)
    day = None if clock is None else _day(table, clock)
    return Choice(value, clock if clock is not None else first, day, first is not None)


def _without_counter(table: Table, rest: list[int]) -> list[int]:
    """Without a column that numbers the rows, where one other is left; a nameless one can only be the first."""
    names = [table.columns[i].header or table.columns[i].name for i in rest]
    left = [i for i, name in zip(rest, names, strict=True) if not is_counter_name(name) or (i > 0 and not name)]
    return left if len(left) == 1 else rest


def _only(table: Table, rest: list[int]) -> int:
    """The one column that is left."""
    if len(rest) == 1:
        return rest[0]
    if not rest:
        raise InputError(f"{table.source} has a time column but no column of values.")
    raise InputError(
        f"{table.source} has several columns ({table.labels()}); say which one is the record with 'column' "
        f"(--column {rest[0] + 1})."
    )


def measured(table: Table, group: str | None = None) -> list[int]:
    """Columns that may be the record: those of numbers, where there are any."""
    own = [i for i, column in enumerate(table.columns) if group is None or column.group == group]
    numbers = [i for i in own if table.columns[i].kind == "number" and not _is_clock(table, i)]
    return numbers or [i for i in own if not _is_clock(table, i)]


def _is_clock(table: Table, index: int) -> bool:
    column = table.columns[index]
    return column.kind in ("date", "time of day") or is_time_name(column.header or column.name)


def _named_clock(table: Table, value: int | None, group: str | None) -> int | None:
    """A column named time, else one of dates or times of day, else one named date; of the group, else of the root."""
    others = [i for i in range(len(table.columns)) if i != value]
    own = [i for i in others if group is None or table.columns[i].group == group]
    own += [i for i in others if group and not table.columns[i].group]
    return next((i for test in CLOCK_TESTS for i in own if test(table.columns[i])), None)


def _day(table: Table, clock: int) -> int | None:
    """The column of days beside a column of times of day."""
    if table.columns[clock].kind != "time of day":
        return None
    group = table.columns[clock].group
    return next((i for i, c in enumerate(table.columns) if c.kind == "date" and c.group == group), None)


def _first_column(table: Table, value: int | None) -> int | None:
    """A first column that may turn out to be the time: only where nothing else states the sampling."""
    group = table.columns[value or 0].group
    first = next(i for i, c in enumerate(table.columns) if c.group == group)
    alone = sum(c.group == group for c in table.columns) == 1
    stated = table.columns[value or 0].step is not None
    return None if alone or stated or value == first or table.columns[first].kind != "number" else first


def _data(table: Table, choice: Choice, reading: Reading) -> tuple[FloatArray, Axis | None]:
    wanted = [i for i in (choice.value, choice.clock, choice.day) if i is not None]
    arrays = table.read(wanted)
    lengths = {a.size for a in arrays}
    if len(lengths) > 1 and choice.guessed and reading.column is not None:
        return np.ascontiguousarray(arrays[0]), None
    if len(lengths) > 1:
        raise InputError(f"{table.source}: the chosen columns have different lengths {sorted(lengths)}.")
    values = arrays[0]
    if values.dtype.kind in "mM":
        raise InputError(f"{table.source}: column {table.label(choice.value)} holds dates or times, not numbers.")
    if choice.clock is None:
        return np.ascontiguousarray(values), None
    times, day = arrays[1], arrays[2] if choice.day is not None else None
    return np.ascontiguousarray(values), _axis(table, choice.clock, times, day)


def _axis(table: Table, clock: int, times: NDArray[Any], day: NDArray[Any] | None) -> Axis:
    """Dates and durations count in seconds from the first; numbers in the unit of their column."""
    column = table.columns[clock]
    if times.dtype.kind == "m" and day is not None:
        whole = day == day.astype("datetime64[D]" if day.dtype.kind == "M" else "timedelta64[D]")
        times = day + times if bool((whole | np.isnat(day)).all()) else day
    elif times.dtype.kind == "m" and column.kind == "time of day":
        times = past_midnight(times)
    if times.dtype.kind == "f" or not times.size:
        return _counted(column, times)
    start = times[0] if times.dtype.kind == "M" and not np.isnat(times[0]) else None
    origin = times[0] if times.dtype.kind == "M" or column.kind == "time of day" else np.timedelta64(0, "s")
    return Axis(np.asarray((times - origin) / np.timedelta64(1, "s"), dtype=np.float64), "s", start)


def _counted(column: Column, times: NDArray[Any]) -> Axis:
    """Times that are numbers."""
    name = column.header or column.name
    unit = column.unit or time_unit_of(name)
    dated = _since_1970(times, unit) if is_time_name(name) and column.start is None else None
    return dated or Axis(times.astype(np.float64), unit, column.start)


def _since_1970(times: NDArray[Any], unit: str) -> Axis | None:
    """Numbers that can only count from 1970 (in s, ms, µs or ns: the years 2001 to 2096), as dates."""
    for symbol, seconds in EPOCH_UNITS.items():
        if unit in ("", symbol) and times.size and bool(((times > 1e9 / seconds) & (times < 4e9 / seconds)).all()):
            first = np.datetime64(0, "us") + np.timedelta64(round(float(times[0]) * seconds * 1e6), "us")
            return Axis((times - times[0]) * seconds, "s", first)
    return None


def _confirmed(table: Table, axis: Axis, reading: Reading) -> Axis | None:
    """A first column is the time when it is uniform and increasing; when not, two columns are ambiguous."""
    try:
        uniform_step(axis.times, place=table.place)
        return axis
    except InputError as error:
        if reading.column is None:
            raise InputError(
                f"{table.source} has columns {table.labels()} and the first is no time axis "
                f"({error}) Say which column is the record with 'column' (--column)."
            ) from None
        if reading.dt is None:
            raise InputError(
                f"{table.source} has no time column: name it with 'time' (--time), or give the sampling "
                "interval 'dt' (--dt)."
            ) from None
        return None


def _sampling(table: Table, choice: Choice, axis: Axis | None, reading: Reading) -> tuple[float, float]:
    """Step and first time."""
    column, dt = table.columns[choice.value], reading.dt
    if axis is None:
        step = dt if dt is not None else column.step
        if step is None:
            raise InputError(f"{table.source} has no time column; give the sampling interval as 'dt' (--dt).")
        return step, column.t0 if dt is None else 0.0
    step = _step_of(table, axis.times, column.step if dt is None else dt)
    if dt is None:
        return step, float(axis.times[0])
    named = not choice.guessed and choice.clock is not None and _is_clock(table, choice.clock)
    if named and abs(step - dt) > 1e-3 * dt:
        raise InputError(f"{table.source}: the time column has steps of {step:g} but 'dt' is {dt:g}; give only one.")
    return dt, float(axis.times[0]) if named else 0.0


def _step_of(table: Table, times: FloatArray, stated: float | None) -> float:
    """The step of the times; the one that the file states where they are printed too coarsely to show it."""
    try:
        return uniform_step(times, place=table.place)
    except InputError:
        if stated is None or not np.isfinite(times).all():
            raise
        steps = np.diff(times)
        printed = float(np.min(steps, where=steps > 0, initial=np.inf))  # the smallest step they can show
        allowed = max(stated, printed if np.isfinite(printed) and not (steps < 0).any() else 0.0)
        if np.abs(times - times[0] - stated * np.arange(times.size)).max() > allowed:
            raise
        return stated


def resolve(table: Table, key: str | int, option: str) -> int:
    """A column by name (exactly, then without case or unit) or by 1-based number."""
    text = str(key).strip()
    if isinstance(key, str):
        spellings = (
            [c.label for c in table.columns],
            [c.header or c.name for c in table.columns],
            [split_unit(c.label)[0].lower() for c in table.columns],
            [c.name.lower() for c in table.columns],
        )
        for names, wanted in zip(spellings, (text, text, text.lower(), text.lower()), strict=True):
            found = [i for i, name in enumerate(names) if name == wanted and name]
            if len(found) > 1:
                raise InputError(
                    f"{table.source} has {len(found)} columns named {text!r}; give '{option}' as a number."
                )
            if found:
                return found[0]
    if re.fullmatch(r"[+-]?\d{1,9}", text) and 1 <= int(text) <= len(table.columns):
        return int(text) - 1
    raise InputError(
        f"{table.source} has no column {text!r} for '{option}' (--{option}); its columns are {table.labels()}."
    )
