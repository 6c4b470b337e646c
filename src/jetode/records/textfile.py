"""Columns of numbers in a text file: delimiter, decimal comma and header are found from the first lines.

The fast path is numpy's compiled parser; only when it refuses is the file read again line by line, which
accepts empty cells as gaps and dates as times, and names the line of anything else.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

import numpy as np

from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SNIFFED_BYTES = 1 << 16
SNIFFED_LINES = 100
# Up to this many columns all are parsed at once (and ragged rows found); beyond, only those asked for.
WIDE = 16
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "?"})
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
HEADER_WORD = re.compile(r"\S+(?:\s*[\[(][^\])]*[\])])?")


@dataclass(frozen=True)
class TextTable:
    """How to read one text file; ``names`` is empty when the file has no header."""

    path: Path
    encoding: str
    delimiter: str | None  # None: any white space
    decimal_comma: bool
    n_columns: int
    names: tuple[str, ...]
    first_line: int  # 1-based line of the first row of data

    def read(self, columns: Sequence[int]) -> FloatArray:
        """The asked columns as an array of shape (rows, len(columns)), NaN where a cell is empty."""
        try:
            return self._read_fast(columns)
        except ValueError:  # also what loadtxt raises on bytes that do not decode
            return self._read_carefully(columns)

    def place(self, row: int) -> str:
        """Where row ``row`` (0-based) stands in the file."""
        for i, (line, _) in enumerate(self._rows()):
            if i == row:
                return f"{self.path.name} line {line}"
        return f"{self.path.name} row {row + 1}"

    def _read_fast(self, columns: Sequence[int]) -> FloatArray:
        wide = self.n_columns > WIDE
        with self._open() as file:
            for _ in range(self.first_line - 1):
                file.readline()
            lines: IO[str] | Iterator[str] = file
            if self.decimal_comma:
                lines = (line.replace(",", ".") for line in file)
            data = np.loadtxt(
                lines,
                delimiter=self.delimiter,
                ndmin=2,
                quotechar='"',
                usecols=list(columns) if wide else None,
            )
        if wide:
            return data
        if data.shape[1] != self.n_columns:
            raise ValueError("another number of columns than in the first lines")
        return np.ascontiguousarray(data[:, list(columns)])

    def _read_carefully(self, columns: Sequence[int]) -> FloatArray:
        cells = array("d")
        start: datetime | None = None
        for line, fields in self._rows():
            if len(fields) != self.n_columns:
                raise InputError(
                    f"{self.path.name} line {line}: {_count(len(fields), 'value')} where the first row has "
                    f"{self.n_columns}; every row must have the same columns."
                )
            for column in columns:
                text = fields[column]
                number = self._number(text)
                if number is None:
                    date = _date(text)
                    if date is None:
                        raise InputError(
                            f"{self.path.name} line {line}: {_shown(text)} in column {self._label(column)} "
                            "is not a number; correct the cell, or leave it empty for a missing sample."
                        )
                    start = start or date
                    if (start.tzinfo is None) != (date.tzinfo is None):
                        raise InputError(f"{self.path.name} line {line}: only some of the times have a time zone.")
                    number = (date - start).total_seconds()
                cells.append(number)
        return np.array(cells, dtype=np.float64).reshape(-1, len(columns))

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of every row of data."""
        with self._open() as file:
            for line, text in enumerate(file, start=1):
                if line < self.first_line:
                    continue
                content = _content(text)
                if content:
                    fields = split(content, self.delimiter)
                    if len(fields) == self.n_columns + 1 and not fields[-1]:
                        fields.pop()  # a delimiter at the end of the line
                    yield line, fields

    def _open(self) -> IO[str]:
        return open(self.path, encoding=self.encoding, errors="replace", newline=None)

    def _number(self, text: str) -> float | None:
        if text.lower() in MISSING:
            return float("nan")
        if self.decimal_comma:
            text = text.replace(",", ".")
        return float(text) if NUMBER.fullmatch(text) else None

    def _label(self, column: int) -> str:
        return f"'{self.names[column]}'" if self.names else str(column + 1)


def open_table(path: Path) -> TextTable:
    """Find out how ``path`` is written."""
    with open(path, "rb") as raw:
        head = raw.read(SNIFFED_BYTES)
    encoding = _encoding(path, head)
    comment = ""
    lines: list[tuple[int, str]] = []
    with open(path, encoding=encoding, errors="replace", newline=None) as file:
        for number, text in enumerate(file, start=1):
            content = _content(text)
            if content:
                lines.append((number, content))
                if len(lines) == SNIFFED_LINES:
                    break
            elif not lines and text.lstrip().startswith("#"):
                comment = text.lstrip()[1:].strip()
    if not lines:
        raise InputError(f"{path.name} holds no data; it must have one row per sample.")
    delimiter, decimal_comma = _delimiter([text for _, text in lines])

    def numeric(fields: list[str]) -> bool:
        cells = [f.replace(",", ".") if decimal_comma else f for f in fields]
        return all(NUMBER.fullmatch(c) or c.lower() in MISSING or _date(c) for c in cells) and any(cells)

    rows = [(number, split(text, delimiter)) for number, text in lines]
    names: tuple[str, ...] = ()
    if not numeric(rows[0][1]) and any(not NUMBER.fullmatch(f) for f in rows[0][1] if f):
        header = rows.pop(0)
        if not rows:
            raise InputError(f"{path.name} holds a header but no rows of data.")
        names = tuple(_header_names(lines[0][1], delimiter))
        # one odd cell in a first row of numbers is a bad value, not a header
        if _numbers(header[1]) and _numbers(header[1]) >= len(header[1]) / 2:
            odd = next(f for f in header[1] if not NUMBER.fullmatch(f))
            raise InputError(
                f"{path.name} line {header[0]}: {_shown(odd)} is not a number; correct the cell, or leave it "
                "empty for a missing sample."
            )
    n_columns = len(rows[0][1])
    named = len(names) == n_columns and names[-1] != ""
    if n_columns > 1 and not named and all(len(f) == n_columns and not f[-1] for _, f in rows):
        n_columns -= 1  # a delimiter at the end of every line
    if names and not names[-1] and len(names) == n_columns + 1:
        names = names[:-1]
    if names and len(names) != n_columns:
        raise InputError(
            f"{path.name} line {rows[0][0]}: {_count(n_columns, 'value')} under a header of "
            f"{_count(len(names), 'name')}; header and rows must have the same columns."
        )
    if not names and comment:
        words = _header_names(comment, delimiter)
        if len(words) == n_columns > 1 and not any(NUMBER.fullmatch(w) for w in words):
            names = tuple(words)
    return TextTable(path, encoding, delimiter, decimal_comma, n_columns, names, rows[0][0])


def split(text: str, delimiter: str | None) -> list[str]:
    return [field.strip().strip('"').strip() for field in text.split(delimiter)]


def _content(text: str) -> str:
    """A line without its comment; tabs at its ends are empty cells, other white space is nothing."""
    content = text.split("#", 1)[0].strip(" \r\n\ufeff")
    return content if content.strip() else ""


def _delimiter(lines: list[str]) -> tuple[str | None, bool]:
    """Delimiter and whether the decimal sign is a comma."""
    body = lines[1:] or lines
    for delimiter in ("\t", ";"):
        if all(delimiter in line for line in body):
            cells = [cell for line in body for cell in split(line, delimiter)]
            return delimiter, any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    if not any("," in line for line in body):
        return (("," if "," in lines[0] else None), False)
    words = [word for line in body for word in line.split()]
    if all(DECIMAL_COMMA.fullmatch(word) or NUMBER.fullmatch(word) for word in words):
        alone = all(len(line.split()) == 1 for line in body)
        if not alone:
            return None, True
        first = [int(w.partition(",")[0]) for w in words if re.fullmatch(r"[+-]?\d+,.*", w)]
        counts = len(first) > 1 and len(set(np.diff(first).tolist())) == 1 and first[1] > first[0]
        if "," not in lines[0] or (not counts and DECIMAL_COMMA.fullmatch(lines[0].strip())):
            return None, True
    return ",", False


def _header_names(text: str, delimiter: str | None) -> list[str]:
    return HEADER_WORD.findall(text) if delimiter is None else split(text, delimiter)


def _numbers(fields: list[str]) -> int:
    return sum(1 for f in fields if NUMBER.fullmatch(f))


def _encoding(path: Path, head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head:
        raise InputError(
            f"{path.name} is not a text file; give CSV or TSV, or a file that ends in .npy, .npz, .parquet, "
            ".wav or .edf."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _date(text: str) -> datetime | None:
    if len(text) < 8 or not text[:4].isdigit() or text.isdigit():
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
