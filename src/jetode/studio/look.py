"""A first look at a file: columns with previews, the record with gaps and outliers marked, the diagnosis in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from jetode.joint.problem import without_spikes
from jetode.records.columns import choose, measured, series_of
from jetode.records.formats import open_table
from jetode.records.series import Series
from jetode.records.table import Reading, Table
from jetode.records.units import is_time_name
from jetode.signal.diagnose import QUICK, Diagnosis, diagnose
from jetode.studio.asked import Asked
from jetode.studio.settings import DRAWING
from jetode.studio.texts import say
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Opened:
    """A file as it was read: its table, the columns that were taken (from 0), the whole record, and whether the step
    of 1 is only assumed."""

    table: Table
    column: int
    clock: int | None
    series: Series
    assumed: bool


def open_record(path: Path, name: str, asked: Asked) -> Opened:
    """The record that is asked for; of several columns that could be it the first, and without any times at steps of 1.

    Errors call the file by the ``name`` its owner gave it.
    """
    try:
        return _open(path, asked)
    except InputError as error:
        raise InputError(str(error).replace(path.name, name)) from None
    except OSError as error:
        raise InputError(say("error_unreadable", name=name, reason=error.strerror or str(error))) from None


def _open(path: Path, asked: Asked) -> Opened:
    reading = Reading(asked.column, asked.time, asked.dt, None, asked.resample, asked.skip_rows)
    table = open_table(path, reading)
    if asked.column is None:
        reading = replace(reading, column=_first_choice(table, reading) + 1)
    series, assumed = _read(table, reading)
    choice = choose(table, reading)
    unit = asked.time_unit if asked.time_unit is not None else series.time_unit
    return Opened(table, choice.value, None if assumed else choice.clock, replace(series, time_unit=unit), assumed)


def _first_choice(table: Table, reading: Reading) -> int:
    """The column that is the record without doubt, else the first that could be."""
    try:
        return choose(table, reading).value
    except InputError:
        found = measured(table)
        if not found:
            raise
        return found[0]


def _read(table: Table, reading: Reading) -> tuple[Series, bool]:
    """The record, and whether it is only assumed that a step counts as 1: where the table has no times of its own."""
    try:
        return series_of(table, reading), False
    except InputError as error:
        if any((reading.dt, reading.resample, reading.time)):
            raise
        try:
            return series_of(table, replace(reading, dt=1.0)), True
        except InputError:
            raise error from None


def stretch_of(series: Series, asked: Asked) -> Series:
    """The chosen stretch."""
    begin, end = asked.begin or 0, series.n if asked.end is None else min(asked.end, series.n)
    if begin >= end:
        raise InputError(say("error_stretch", begin=begin, end=end))
    return series.slice(begin, end)


def record_of(path: Path, name: str, asked: Asked) -> Series:
    """The record of a fit or a forecast, named after its column, else after its file."""
    series = stretch_of(open_record(path, name, asked).series, asked)
    return series if series.name else replace(series, name=name)


# -- what the page draws ---------------------------------------------------------------------------------------------


def envelope(values: FloatArray, points: int) -> tuple[list[int], list[float | None]]:
    """Indices and values of at most about ``points`` samples that show all that the whole curve would: of every bin its
    lowest and highest one; None where samples are missing."""
    if values.size <= points:
        index = np.arange(values.size)
    else:
        edges = np.linspace(0, values.size, max(2, points // 2 + 1)).astype(np.int64).tolist()
        kept: set[int] = set()
        for first, stop in pairwise(edges):  # bin by bin: a very long record is never copied
            part = values[first:stop]
            missing = np.isnan(part)
            kept.add(first + int(np.argmin(np.where(missing, np.inf, part))))
            kept.add(first + int(np.argmax(np.where(missing, -np.inf, part))))
        index = np.array(sorted(kept))
    return index.tolist(), numbers(values[index])


def numbers(values: Any, digits: int = 6) -> list[float | None]:
    """Plain numbers with few digits; None where there is none."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=float).tolist()]


def curve(series: Series, points: int = DRAWING.points) -> dict[str, Any]:
    """The record thinned for the page, with its time axis."""
    index, values = envelope(series.values, points)
    times = numbers(series.t0 + series.dt * np.asarray(index, dtype=float), 10)
    return {"t": times, "y": values, "thinned": len(index) < series.n}


def gaps(values: FloatArray) -> list[tuple[int, int]]:
    """First and last sample of every run of missing ones, the longest first."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.isnan(values).astype(np.int8), [0])))).reshape(-1, 2)
    order = np.argsort(edges[:, 0] - edges[:, 1], kind="stable")
    return [(int(a), int(b) - 1) for a, b in edges[order]]


def outliers(values: FloatArray) -> list[int]:
    """Samples that the fit would leave out as spikes."""
    if values.size < 8 or not np.nanstd(values) > 0:
        return []
    return [int(i) for i in np.flatnonzero(np.isnan(without_spikes(values)) & ~np.isnan(values))]


def columns(opened: Opened, size: int) -> list[dict[str, Any]]:
    """Every column by its number, with a small preview where that is cheap."""
    table = opened.table
    previewed: dict[int, list[float | None]] = {opened.column: envelope(opened.series.values, DRAWING.thumbnail)[1]}
    if size <= DRAWING.thumbnail_bytes:
        for i in range(min(len(table.columns), DRAWING.thumbnails)):
            if i not in previewed and table.columns[i].kind == "number":
                previewed[i] = _thumbnail(table, i)
    return [
        {
            "number": i + 1,
            "label": column.label or "",
            "unit": column.unit,
            "kind": column.kind,
            "clock": column.kind in ("date", "time of day") or is_time_name(column.header or column.name),
            "preview": previewed.get(i, []),
        }
        for i, column in enumerate(table.columns)
    ]


def _thumbnail(table: Table, index: int) -> list[float | None]:
    try:
        (values,) = table.read([index])
    except InputError:
        return []
    return envelope(values, DRAWING.thumbnail)[1] if values.dtype.kind == "f" and values.size else []


# -- in words --------------------------------------------------------------------------------------------------------


def words(found: Diagnosis, marked: int) -> list[str]:
    """The diagnosis in sentences."""
    unit = f" {found.time_unit}" if found.time_unit else ""
    duration = f"{found.dt * (found.n - 1):.4g}{unit}"
    out = [say("look_size", n=f"{found.n:,}", dt=f"{found.dt:g}{unit}", duration=duration)]
    if found.missing:
        out.append(say("look_missing", count=f"{found.missing:,}"))
    if marked:
        out.append(say("look_outliers", count=f"{marked:,}"))
    out.append(
        say("look_clean") if found.clean else say("look_noise", percent=f"{100 * min(found.noise_fraction, 1):.2g}")
    )
    per = f"{found.samples_per_oscillation:.3g}"
    out.append(say("look_oscillations", count=f"{found.oscillations:,.0f}", samples=per))
    if found.dimension is not None:
        out.append(say("look_dimension", dimension=found.dimension))
    out.append(say("look_deterministic" if found.deterministic else "look_linear"))
    return out


def diagnosis(series: Series, marked: int) -> dict[str, Any]:
    """Headline, sentences and what stands against a fit, or why the stretch cannot be diagnosed; of very long ones the
    beginning."""
    try:
        found = diagnose(series.slice(0, DRAWING.examined), effort=QUICK)
    except InputError as error:
        return {"headline": say("look_undiagnosed"), "good": False, "words": [], "advice": [str(error)]}
    word, why = found.suitability
    good = word == "suitable"
    return {
        "headline": say("look_good" if good else "look_doubtful"),
        "good": good,
        "words": words(found, marked),
        "advice": [] if good else list(dict.fromkeys((why, *found.advice))),
        "oscillation": found.samples_per_oscillation * found.dt,
        "reduced": QUICK.samples if found.n > QUICK.samples else 0,
        "examined": found.n if found.n < series.n else 0,
    }


def look(path: Path, name: str, asked: Asked) -> dict[str, Any]:
    """All that the first page shows of a file."""
    size = path.stat().st_size
    opened = open_record(path, name, asked)
    series = opened.series
    chosen = stretch_of(series, asked)
    begin = asked.begin or 0
    far = outliers(chosen.values[: DRAWING.examined])
    return {
        "columns": columns(opened, size),
        "column": opened.column + 1,
        "time": None if opened.clock is None else opened.clock + 1,
        "assumed": opened.assumed,
        "samples": series.n,
        "dt": series.dt,
        "t0": series.t0,
        "unit": series.unit,
        "time_unit": series.time_unit,
        "channel": series.name,
        "begin": begin,
        "end": begin + chosen.n,
        "curve": curve(series),
        "gaps": gaps(series.values)[: DRAWING.marks],
        "outliers": [begin + i for i in far[: DRAWING.marks]],
        "diagnosis": diagnosis(chosen, len(far)),
    }


def suggestion(path: Path, asked: Asked) -> dict[str, Any]:
    """The step to which unequal times could be brought, where it is they that stand in the way; else nothing."""
    try:
        table = open_table(path, Reading(skip_rows=asked.skip_rows))
        column = (asked.column or _first_choice(table, Reading(time=asked.time)) + 1) - 1
        clock = choose(table, Reading(column=column + 1, time=asked.time)).clock
        if clock is None or asked.resample is not None:
            return {}
        (times,) = table.read([clock])
    except (InputError, OSError):
        return {}
    if times.dtype.kind in "mM":
        times = (times - times[0]) / np.timedelta64(1, "s")
    steps = np.diff(times[np.isfinite(times)])
    step = float(np.median(steps)) if steps.size else 0.0
    return {"resample": float(f"{step:.6g}")} if step > 0 else {}
