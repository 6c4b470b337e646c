"""Names and units of the columns, from the lines above the numbers of a text file.

The line above the body is the header; above a row of units (``second,Volt``) it is the line before.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from jetode.records.dates import is_date, is_time_of_day
from jetode.records.instruments import Stated, channel_titles
from jetode.records.textlines import NUMBER, Line, count, looks_numeric, shown, split
from jetode.records.units import unit_symbol
from jetode.support.errors import InputError

HEADER_WORD = re.compile(r"\S+(?:\s*[\[(][^\])]*[\])])?")


@dataclass(frozen=True)
class Head:
    """The first lines of a file: those before its body and those of its body."""

    source: str
    above: tuple[Line, ...]
    body: tuple[Line, ...]
    comments: tuple[str, ...]  # before the first line with content
    separator: str | None
    said: Stated | None = None  # by cells of the header
    left: int = 0  # fields at the left of the data that are none
    words: frozenset[int] = frozenset()  # fields that hold words


def header(head: Head, delimiter: str | None, positions: list[int], width: int) -> tuple[list[str], list[str]]:
    """(names, units) of the columns, empty where the file gives none."""
    empty = [""] * len(positions)
    if not head.above:
        return _names_in_comment((head.comments or ("",))[-1], delimiter, len(positions)) or empty, empty
    rows = [_header_names(text, delimiter) for _, text in head.above]
    titles = channel_titles(rows)
    if titles is not None and len(titles[0]) >= len(positions):
        return _placed(titles[0], positions), _placed(titles[1], positions)
    for last in (len(rows) - 1, len(rows) - 2):  # Origin writes a row of comments below the units
        units = _units(rows[last]) if last > 0 and not looks_numeric(head.above[last - 1][1]) else []
        if units and len(rows[last - 1]) >= len(units) >= len(positions):
            return _placed(rows[last - 1], positions), _placed(units, positions)
    _refuse_bad_first_row(head, rows[-1])
    fitted = None if states_a_value(rows) else _fitted(rows[-1], positions, width)
    if fitted is not None:
        return fitted, empty
    if len(head.above) == 1:
        raise InputError(
            f"{head.source} line {head.body[0][0]}: {count(len(positions), 'value')} under a header of "
            f"{count(len(rows[-1]), 'name')}; header and rows must have the same columns."
        )
    return empty, empty


def _units(cells: list[str]) -> list[str]:
    """The units of a row of nothing but units, else none at all."""
    units = [unit_symbol(cell) if cell else "" for cell in cells]
    return [unit or "" for unit in units] if any(cells) and None not in units else []


def _fitted(names: list[str], positions: list[int], width: int) -> list[str] | None:
    """The names at the columns' places, None where their number does not fit the rows."""
    while len(names) > len(positions) and not names[-1]:
        names = names[:-1]
    if names and names[-1].lower() == "comment" and len(names) == len(positions) + 1:
        names = names[:-1]  # LabVIEW's text files
    if len(names) == len(positions):
        return names
    if len(names) in (positions[-1] + 1, width):
        return _placed(names, positions)
    return None


def _placed(names: list[str], positions: list[int]) -> list[str]:
    return [names[p] if p < len(names) else "" for p in positions]


def states_a_value(rows: list[list[str]]) -> bool:
    """Whether the last line of a preamble is one such as ``Time,10:00:00``, which is no header."""
    cells = rows[-1][1:] if len(rows) > 1 else []
    return any(NUMBER.fullmatch(cell) or is_date(cell) or is_time_of_day(cell) for cell in cells)


def _refuse_bad_first_row(head: Head, cells: list[str]) -> None:
    """One odd cell in a first row of numbers is a bad value, not a header."""
    numbers = sum(1 for cell in cells if NUMBER.fullmatch(cell))
    if len(head.above) == 1 and numbers and numbers >= len(cells) / 2:
        odd = next((cell for cell in cells if not NUMBER.fullmatch(cell)), "")
        raise InputError(
            f"{head.source} line {head.above[0][0]}: {shown(odd)} is not a number; correct the cell, or leave it "
            "empty for a missing sample."
        )


def _names_in_comment(comment: str, delimiter: str | None, n: int) -> list[str] | None:
    words = _header_names(comment, delimiter)
    return words if len(words) == n > 1 and not any(NUMBER.fullmatch(w) for w in words) else None


def _header_names(text: str, delimiter: str | None) -> list[str]:
    text = re.sub(r"^(%|//)+", "", text)
    if delimiter is None:
        return HEADER_WORD.findall(text)
    if delimiter in text and text.count('"') > 1:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter, skipinitialspace=True))]
    return split(text, delimiter)
