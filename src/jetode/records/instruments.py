"""What oscilloscopes and loggers state around the numbers of a text file: sampling interval, first time, units.

| instrument | where |
|---|---|
| Tektronix, Siglent, Keysight Infiniium, LabVIEW | ``Sample Interval,2e-7``, ``XInc:``, ``Delta_X`` in a preamble |
| Tektronix TDS, TBS | the same in the fields to the left of the first rows of data |
| Rigol DS | header cells ``Start,Increment`` with their values in the row below |
| Rigol MSO, DHO | header cells ``t0 = -5e-4s, tInc = 1e-8`` |
| LabChart | ``Interval=``, ``ChannelTitle=``, ``Range=`` with a tab before each value |
| anybody | ``# dt=0.02``, ``# sampling rate: 200 Hz`` in comments at the top |
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jetode.records.units import SECONDS, split_unit, unit_symbol

STEP_KEYS = frozenset(
    {"sample interval", "sampling interval", "xinc", "x increment", "xincrement", "delta x", "dt", "tinc", "clock"}
    | {
        "interval",
        "time interval",
        "hresolution",
        "abtastintervall",
        "horizontal interval",
        "sample period",
        "sampling period",
        "sampling time",
        "sample time",
    }
)
RATE_KEYS = frozenset(
    {
        "sample rate",
        "sampling rate",
        "samplerate",
        "sampling frequency",
        "sample frequency",
        "fs",
        "abtastrate",
        "sampling rate hz",
        "abtastfrequenz",
    }
)
T0_KEYS = frozenset({"hoffset", "xorg", "x0", "t0", "x origin", "xorigin"})
UNIT_KEYS = frozenset({"vunit", "vertical units", "vertical unit", "yunits", "y units", "y unit label", "y unit"})
TIME_UNIT_KEYS = frozenset(
    {"hunit", "horizontal units", "horizontal unit", "xunits", "x units", "x unit label", "x unit"}
)
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3}
QUANTITY = re.compile(r"(?:\w+:)?\s*(?P<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*(?P<unit>\S*)")
RATE_UNIT = re.compile(r"(?P<prefix>[kMGm]?)(Hz|Sa/s|S/s|Sps)?")
CELL = re.compile(r"(?P<key>t0|tInc)\s*=\s*(?P<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?)\s*s?", re.IGNORECASE)


@dataclass(frozen=True)
class Stated:
    """What a preamble says; times in ``time_unit``."""

    step: float | None = None
    t0: float = 0.0
    unit: str = ""
    time_unit: str = "s"


def stated(preamble: Iterable[Sequence[str]]) -> Stated:
    """What the lines ``key, value …`` say; the first of several channels counts."""
    values: dict[str, str] = {}
    for row in preamble:
        cells = [cell for cell in row if cell]
        if len(cells) == 1:
            cells = re.split(r"[:=\t]\s*", cells[0], maxsplit=1)
        if len(cells) > 1:
            written, scale = split_unit(cells[0].strip(" :=#%/"))
            value = cells[1].strip()
            key = re.sub(r"[_\s]+", " ", written).strip().lower()
            values.setdefault(key, f"{value} {scale}" if scale and _number(value) is not None else value)

    def first(keys: frozenset[str]) -> str:
        closed = {key.replace(" ", "") for key in keys}
        return next((value for key, value in values.items() if key.replace(" ", "") in closed), "")

    unit = unit_symbol(first(UNIT_KEYS).rpartition(":")[2])
    time_unit = unit_symbol(first(TIME_UNIT_KEYS)) or ""
    step = seconds(first(STEP_KEYS)) or _period(first(RATE_KEYS))
    t0 = seconds(first(T0_KEYS))
    usable = step is not None and step > 0
    return Stated(step if usable else None, t0 or 0.0, unit or "", time_unit if time_unit in SECONDS else "s")


def seconds(text: str) -> float | None:
    """``2e-7``, ``Analog:1e-9``, ``4 ns``; a unit of time converts to seconds."""
    match = QUANTITY.fullmatch(text)
    number = None if match is None else _number(match["number"])
    if match is None or number is None:
        return None
    unit = match["unit"]
    return number * SECONDS.get(unit, SECONDS.get(unit.lower(), 1.0))


def _period(text: str) -> float | None:
    """``250 Hz``, ``1.00GSa/s`` as the interval."""
    match = QUANTITY.fullmatch(text)
    number = None if match is None else _number(match["number"])
    rate = None if match is None else RATE_UNIT.fullmatch(match["unit"])
    if rate is None or not number or number < 0:
        return None
    return 1.0 / (number * PREFIXES[rate["prefix"]])


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def header_without_sampling(rows: list[list[str]]) -> tuple[list[list[str]], Stated | None]:
    """The lines above the data without the cells in which Rigol states the sampling, and what these say."""
    return _without_cells(rows) or _without_columns(rows) or (rows, None)


def _without_cells(rows: list[list[str]]) -> tuple[list[list[str]], Stated] | None:
    """Cells such as ``tInc = 1e-6`` in the row of names."""
    cells = {i: match for i, cell in enumerate(rows[-1] if rows else []) if (match := CELL.fullmatch(cell))}
    if not cells:
        return None
    found = {match["key"].lower(): _number(match["number"]) for match in cells.values()}
    kept = [cell for i, cell in enumerate(rows[-1]) if i not in cells]
    return [*rows[:-1], kept], Stated(found.get("tinc") or None, found.get("t0") or 0.0)


def _without_columns(rows: list[list[str]]) -> tuple[list[list[str]], Stated] | None:
    """Columns Start and Increment, whose numbers stand in the row below."""
    if len(rows) < 2 or not {"Start", "Increment"} <= set(rows[-2]):
        return None
    start, step = rows[-2].index("Start"), rows[-2].index("Increment")
    if max(start, step) >= len(rows[-1]):
        return None
    said = Stated(_number(rows[-1][step]) or None, _number(rows[-1][start]) or 0.0)
    kept = [[c for i, c in enumerate(row) if i not in (start, step)] for row in rows[-2:]]
    return [*rows[:-2], *kept], said


def channel_titles(rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]] | None:
    """(names, units) of the columns from LabChart's lines ``ChannelTitle=`` and ``UnitName=`` or ``Range=``."""
    said = {row[0]: list(row[1:]) for row in rows if len(row) > 1 and row[0].endswith("=")}
    names = said.get("ChannelTitle=")
    if names is None:
        return None
    units = said.get("UnitName=") or [cell.rpartition(" ")[2] for cell in said.get("Range=", [])]
    return ["time", *names], ["", *(units + [""] * len(names))[: len(names)]]


def counts_samples(numbers: Sequence[float]) -> bool:
    """Whether a column is 0, 1, 2 … or 1, 2, 3 …."""
    return len(numbers) > 1 and all(b - a == 1 for a, b in pairwise(numbers))
