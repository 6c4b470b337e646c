"""How a text file is laid out: preamble, header, units, delimiter, decimal comma, found from its first lines.

The body begins at the first line of numbers that is followed by more of them.  The line above it is the header; above a
row of units (``second,Volt``) it is the line before.  Whatever stands further up is the preamble, in which
:mod:`.instruments` looks for what oscilloscopes and loggers state there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from jetode.records.dates import is_date, is_time_of_day
from jetode.records.instruments import Stated, counts_samples, header_without_sampling, stated
from jetode.records.table import Column, Kind
from jetode.records.textheader import Head, header, states_a_value
from jetode.records.textlines import (
    MISSING,
    NUMBER,
    Line,
    content_of,
    decimal_point,
    find_encoding,
    looks_numeric,
    number_of,
    shown,
    split,
)
from jetode.records.units import SECONDS, is_time_name
from jetode.records.wordcolumns import without_words
from jetode.support.errors import InputError

SNIFFED_BYTES = 1 << 16
SNIFFED_LINES = 200  # preambles of instruments have up to some tens of lines
RUN = 3  # lines of numbers in a row that make a body
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
SEPARATOR_LINE = re.compile(r"\s*\"?sep=(.)\"?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """Everything needed to read the rows; ``positions`` are the fields of a row that are columns."""

    encoding: str
    delimiter: str | None  # None: any white space
    decimal_comma: bool
    columns: tuple[Column, ...]
    positions: tuple[int, ...]
    width: int  # fields of a row
    first_line: int  # 1-based line of the first row of data

    @property
    def plain(self) -> bool:
        """Every field is a column of numbers."""
        return len(self.positions) == self.width


def find_layout(source: str, opened: Callable[[str], IO[str]], head: bytes, skip_rows: int) -> Layout:
    """The layout of the file whose first bytes are ``head``; ``opened(encoding)`` opens it as text."""
    encoding = find_encoding(source, head)
    with opened(encoding) as file:
        lines, comments, separator = _first_lines(file, skip_rows)
    if not lines:
        raise InputError(f"{source} holds no data; it must have one row per sample.")
    words: frozenset[int] = frozenset()
    if not _has_body(lines):
        lines, words = without_words(lines)
    first = _body_start(source, lines)
    found = _without_counts(Head(source, tuple(lines[:first]), tuple(lines[first:]), comments, separator, words=words))
    delimiter, decimal_comma = _dialect(found)
    found = _without_sampling(_with_earlier_rows(found, delimiter), delimiter)
    positions, width = _positions(found, delimiter)
    columns = _columns(found, delimiter, decimal_comma, positions, width)
    keep = [i for i, column in enumerate(columns) if column is not None]
    return Layout(
        encoding,
        delimiter,
        decimal_comma,
        tuple(column for column in columns if column is not None),
        tuple(positions[i] for i in keep),
        width,
        found.body[0][0],
    )


# -- lines ---------------------------------------------------------------------------------------------------------


def _first_lines(file: IO[str], skip_rows: int) -> tuple[list[Line], tuple[str, ...], str | None]:
    """(lines with content, comments before them, the delimiter of a ``sep=`` line)."""
    comments: list[str] = []
    separator = None
    lines: list[Line] = []
    for number, text in enumerate(file, start=1):
        if number <= skip_rows:
            continue
        marked = SEPARATOR_LINE.fullmatch(text.strip("\ufeff\r\n")) if not lines else None
        if marked:
            separator = marked[1]
            continue
        content = content_of(text)
        if content:
            lines.append((number, content))
            if len(lines) == SNIFFED_LINES:
                break
        elif not lines and text.lstrip().startswith("#"):
            comments.append(text.lstrip()[1:].strip())
    return lines, tuple(comments), separator


def _has_body(lines: list[Line]) -> bool:
    numeric = [looks_numeric(text) for _, text in lines]
    return any(all(numeric[i : i + RUN]) for i in range(len(lines)))


def _body_start(source: str, lines: list[Line]) -> int:
    """Index of the first line of the first run of numbers."""
    numeric = [looks_numeric(text) for _, text in lines]
    for i in range(len(lines)):
        if all(numeric[i : i + RUN]):
            return i
    if len(lines) == 1:
        raise InputError(f"{source} holds a header but no rows of data.")
    raise InputError(_not_understood(source, lines))


def _without_counts(head: Head) -> Head:
    """Without the row in which BIOPAC counts the samples of each channel, under a time that is left empty."""
    first, second = (re.split(r"[\t,;]", text) for _, text in (*head.body, *head.body[:1])[:2])
    counts = {cell.strip() for cell in first[1:]} - {""}
    if head.above and not first[0].strip() and second[0].strip() and len(counts) == 1 and counts.pop().isdigit():
        return replace(head, body=head.body[1:])
    return head


def _not_understood(source: str, lines: list[Line]) -> str:
    """What was seen, and which option would help."""
    seen = ", ".join(f"line {number} {shown(text)}" for number, text in lines[:3])
    word = next((w for _, text in lines[1:] for w in re.split(r"[\s,;]+", text) if w and not looks_numeric(w)), "")
    more = ""
    if len(lines) == SNIFFED_LINES:
        more = "; if a longer preamble comes first, skip it with 'skip_rows' (--skip-rows)"
    return (
        f"{source} has no rows of numbers in its first {lines[-1][0]} lines ({seen}; {shown(word)} is not a number); "
        f"give a table with one row per sample and one delimiter{more}."
    )


# -- delimiter and columns -----------------------------------------------------------------------------------------


def _dialect(head: Head) -> tuple[str | None, bool]:
    """Delimiter and whether the decimal sign is a comma."""
    body = [text for _, text in head.body if looks_numeric(text)]
    if head.separator:
        return head.separator, head.separator != "," and _has_decimal_comma(body, head.separator)
    first = head.above[-1][1] if head.above else body[0]
    return _delimiter(first, body if head.above else body[1:] or body)


def _delimiter(first: str, body: list[str]) -> tuple[str | None, bool]:
    for delimiter in ("\t", ";", "|"):
        if all(delimiter in line for line in body):
            return delimiter, _has_decimal_comma(body, delimiter)
    if not any("," in line for line in body):
        return (("," if "," in first else None), False)
    return (None, True) if _commas_are_decimal(first, [line.split() for line in body]) else (",", False)


def _has_decimal_comma(body: list[str], delimiter: str) -> bool:
    return any(DECIMAL_COMMA.fullmatch(cell) for line in body for cell in split(line, delimiter))


def _commas_are_decimal(first: str, rows: list[list[str]]) -> bool:
    """Whether commas are decimal signs; of lone words ``1,5`` the header and a counting first part tell."""
    words = [word for row in rows for word in row]
    if not all(DECIMAL_COMMA.fullmatch(word) or NUMBER.fullmatch(word) for word in words):
        return False
    if any(len(row) != 1 for row in rows) or "," not in first:
        return True
    whole = [int(w.partition(",")[0]) for w in words if re.fullmatch(r"[+-]?\d{1,15},.*", w)]
    counts = len(whole) > 1 and len(set(np.diff(whole).tolist())) == 1 and whole[1] > whole[0]
    return not counts and DECIMAL_COMMA.fullmatch(first.strip()) is not None


def _with_earlier_rows(head: Head, delimiter: str | None) -> Head:
    """Rows of numbers above the body with its number of fields belong to it: what stands between them is an error.

    So do rows with words where the body has nothing: what Tektronix writes at the left, or a remark on a sample.
    """
    fields = split(head.body[0][1], delimiter)
    width = len(fields)
    left = next((i for i, field in enumerate(fields) if field), 0)

    def belongs(text: str) -> bool:
        cells = split(text, delimiter)
        if len(cells) != width:
            return False
        data = [cell for cell, field in zip(cells, fields, strict=True) if field and cell]
        return looks_numeric(text) or ("" in fields and bool(data) and all(looks_numeric(cell) for cell in data))

    earlier = [i for i, (_, text) in enumerate(head.above) if belongs(text)]
    if not earlier:
        return head
    cut = earlier[0]
    beside = any(not looks_numeric(head.above[i][1]) for i in earlier)
    return replace(head, above=head.above[:cut], body=head.above[cut:] + head.body, left=left if beside else 0)


def _without_sampling(head: Head, delimiter: str | None) -> Head:
    if delimiter is None:
        return head
    rows, said = header_without_sampling([split(text, delimiter) for _, text in head.above])
    if said is None:
        return head
    above = tuple((n, delimiter.join(row)) for (n, _), row in zip(head.above, rows, strict=True))
    return replace(head, above=above, said=said)


def _names_above(head: Head, delimiter: str | None, width: int) -> list[str]:
    """The cells of the line above the body where they are as many as its fields, else empty ones."""
    above = [split(text, delimiter) for _, text in head.above]
    return above[-1] if above and len(above[-1]) == width and not states_a_value(above) else [""] * width


def _positions(head: Head, delimiter: str | None) -> tuple[list[int], int]:
    """(fields that are columns, fields of a row): empty fields at both ends of every row are none."""
    rows = [split(text, delimiter) for _, text in head.body]
    width = len(rows[0])
    alike = [row for row in rows if len(row) == width]
    used = [any(row[i] for row in alike) for i in range(width)]
    used = [u or bool(name) for u, name in zip(used, _names_above(head, delimiter, width), strict=True)]
    used = [u and i >= head.left for i, u in enumerate(used)]
    first, last = used.index(True), width - used[::-1].index(True)
    if any(len(row) == last - first for row in rows):  # some rows end without the delimiter
        first = 0
    return list(range(first, last)), width


# -- header --------------------------------------------------------------------------------------------------------


def _columns(
    head: Head, delimiter: str | None, decimal_comma: bool, positions: list[int], width: int
) -> list[Column | None]:
    """The columns with their names and units; None for a field that is none (a counter, cells of the header)."""
    kinds = _kinds(head, delimiter, decimal_comma, positions)
    preamble = [split(text, delimiter or ",") for _, text in (*head.above, *_left_fields(head, delimiter, positions))]
    names, units = header(head, delimiter, positions, width)
    found = head.said or stated(preamble)
    if found.step is None:  # a comment rarely says in which unit
        found = replace(stated([[text] for text in head.comments]), time_unit="")
    titled = [
        Column.titled(name, kind=kind, **({"unit": unit} if unit else {}))
        for name, unit, kind in zip(names, units, kinds, strict=True)
    ]
    if len(titled) > 1 and units[0] in SECONDS and not is_time_name(titled[0].header):
        titled[0] = replace(titled[0], name="time", header="time")
    return _with_sampling(titled, found, _samples(head, delimiter, decimal_comma, positions))


def _with_sampling(columns: list[Column], found: Stated, samples: list[list[float]]) -> list[Column | None]:
    """Columns with the step that the preamble states; a column that only counts samples goes."""
    out: list[Column | None] = list(columns)
    if found.step is None:
        return out
    timed = any(is_time_name(c.header or c.name) or c.kind != "number" for c in columns)
    if not timed and len(columns) > 1 and samples:
        if counts_samples(samples[0]):
            out[0] = None
        elif _steps_by(samples[0], found.step):
            out[0] = replace(columns[0], name="time", header="time", unit=found.time_unit)
    for i, column in enumerate(out):
        if column is not None:
            unit = column.unit or (found.time_unit if is_time_name(column.header) else found.unit)
            out[i] = replace(column, unit=unit, step=found.step, t0=found.t0, time_unit=found.time_unit)
    return out


def _steps_by(samples: list[float], step: float) -> bool:
    return len(samples) > 1 and bool(np.all(np.abs(np.diff(samples) - step) < step))


def _samples(head: Head, delimiter: str | None, decimal_comma: bool, positions: list[int]) -> list[list[float]]:
    """The numbers of the first rows, column by column; NaN for anything else."""
    rows = [split(text, delimiter) for _, text in head.body]
    rows = [row for row in rows if len(row) > positions[-1]]

    def value(cell: str) -> float:
        cell = decimal_point(cell, decimal_comma)
        return number_of(cell) if NUMBER.fullmatch(cell) else float("nan")

    return [[value(row[p]) for row in rows] for p in positions]


def _kinds(head: Head, delimiter: str | None, decimal_comma: bool, positions: list[int]) -> list[Kind]:
    """What the first row that has a value shows each column to hold."""
    rows = [split(text, delimiter) for _, text in head.body]
    kinds: list[Kind] = []
    for position in positions:
        cell = next((row[position] for row in rows if len(row) > position and row[position].lower() not in MISSING), "")
        kinds.append("other" if position in head.words else _kind(decimal_point(cell, decimal_comma), cell))
    return kinds


def _kind(plain: str, cell: str) -> Kind:
    if not cell or NUMBER.fullmatch(plain):
        return "number"
    if is_date(cell) or is_time_of_day(cell):
        return "date" if is_date(cell) else "time of day"
    return "number" if looks_numeric(cell) else "other"


def _left_fields(head: Head, delimiter: str | None, positions: list[int]) -> list[Line]:
    """What Tektronix writes in the fields to the left of the data."""
    if positions[0] == 0 or delimiter is None:
        return []
    return [(n, delimiter.join(split(text, delimiter)[: positions[0]])) for n, text in head.body]
