"""CSV, TSV and any other text with one row per sample, also gzipped.

The fast path is numpy's compiled parser; only when it refuses is the file read again line by line, which
accepts empty cells as gaps and dates as times, and names the line of anything else.
"""

from __future__ import annotations

import gzip
import io
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from jetode.records.dates import ClockCells, DateCells
from jetode.records.formats.base import UNPACKED_BYTES, UNPACKED_TIMES, Format, refuse_bomb, register
from jetode.records.table import Reading, Table
from jetode.records.textlayout import SNIFFED_BYTES, Layout, find_layout
from jetode.records.textlines import MISSING, NUMBER, content_of, count, decimal_point, number_of, shown, split
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

# Up to this many columns all are parsed at once (and ragged rows found); beyond, only those asked for.
WIDE = 16
GZIP = b"\x1f\x8b"
MOST_PACKED = 1032  # times that gzip's algorithm can pack anything


@dataclass
class NumberCells:
    """Numbers, one cell after another."""

    decimal_comma: bool
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def add(self, text: str) -> bool:
        plain = decimal_point(text, self.decimal_comma)
        if not NUMBER.fullmatch(plain):
            return False
        self.numbers.append(number_of(plain))
        return True

    def add_missing(self) -> None:
        self.numbers.append(float("nan"))

    def values(self) -> FloatArray:
        return np.array(self.numbers, dtype=np.float64)


Cells = NumberCells | DateCells | ClockCells


class TextTable(Table):
    """The rows of a text file of known layout."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path, self.layout, self.columns = path, layout, layout.columns

    def read(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        if all(self.columns[i].kind == "number" for i in indices):
            try:
                return self._read_fast(indices)
            except InputError:
                raise
            except ValueError:  # also what loadtxt raises on bytes that do not decode
                pass
        return self._read_carefully(indices)

    def place(self, row: int) -> str:
        for i, (line, _) in enumerate(self._rows()):
            if i == row:
                return f"{self.source} line {line}"
        return f"{self.source} row {row + 1}"

    def _read_fast(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        layout = self.layout
        positions = [layout.positions[i] for i in indices]
        some = layout.width > WIDE or not layout.plain
        with self._opened() as file:
            for _ in range(layout.first_line - 1):
                file.readline()
            lines: IO[str] | Iterator[str] = file
            if layout.decimal_comma:
                lines = (line.replace(",", ".") for line in file)
            data = np.loadtxt(
                lines, delimiter=layout.delimiter, ndmin=2, quotechar='"', usecols=positions if some else None
            )
        if not some:
            if data.shape[1] != layout.width:
                raise ValueError("another number of columns than in the first lines")
            data = data[:, positions]
        return [np.ascontiguousarray(column) for column in data.T]

    def _read_carefully(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        cells = [self._cells(i) for i in indices]
        for line, fields in self._rows():
            if len(fields) != self.layout.width:
                raise InputError(
                    f"{self.source} line {line}: {count(len(fields), 'value')} where the first row has "
                    f"{self.layout.width}; every row must have the same columns."
                )
            for index, column in zip(indices, cells, strict=True):
                text = fields[self.layout.positions[index]]
                if text.lower() in MISSING:
                    column.add_missing()
                elif not self._added(column, text, line):
                    raise InputError(
                        f"{self.source} line {line}: {shown(text)} in column {self._name(index)} "
                        "is not a number; correct the cell, or leave it empty for a missing sample."
                    )
        return [self._values(column) for column in cells]

    def _cells(self, index: int) -> Cells:
        kind = self.columns[index].kind
        if kind == "date":
            return DateCells()
        return ClockCells() if kind == "time of day" else NumberCells(self.layout.decimal_comma)

    def _added(self, column: Cells, text: str, line: int) -> bool:
        try:
            return column.add(text)
        except InputError as error:
            raise InputError(f"{self.source} line {line}: {error}") from None

    def _values(self, column: Cells) -> NDArray[Any]:
        if not isinstance(column, DateCells):
            return column.values()
        try:
            dates, certain = column.values()
        except InputError as error:
            raise InputError(f"{self.source}: {error}") from None
        elapsed: NDArray[Any] = dates - dates[0]
        return dates if certain else elapsed  # without the day only the steps are known

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and fields of every row of data."""
        width = self.layout.width
        last = self.layout.positions[-1]
        with self._opened() as file:
            for line, text in enumerate(file, start=1):
                content = content_of(text) if line >= self.layout.first_line else ""
                if not content:
                    continue
                fields = split(content, self.layout.delimiter)
                if len(fields) == width + 1 and not fields[-1]:
                    fields.pop()  # a delimiter at the end of the line
                elif last < len(fields) < width:
                    fields += [""] * (width - len(fields))  # no delimiters at the end of the line
                yield line, fields

    def _opened(self) -> IO[str]:
        return opened(self.path, self.layout.encoding)

    def _name(self, index: int) -> str:
        return f"'{self.columns[index].header}'" if self.columns[index].header else str(index + 1)


class Guarded(io.RawIOBase):
    """The content of a gzip file, ended with a sentence where it is damaged or unpacks without end."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, gzip.GzipFile(path)
        self._left = max(UNPACKED_BYTES, UNPACKED_TIMES * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._file.read(len(buffer))
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{self._path.name} is not a gzip file that can be read, or it is damaged.") from None
        self._left -= len(data)
        if self._left < 0:
            raise InputError(
                f"{self._path.name} unpacks to more than {UNPACKED_TIMES} times its size; unpack it first."
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def opened_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where it is gzipped."""
    with open(path, "rb") as raw:
        zipped = raw.read(2) == GZIP
        if zipped:
            size = path.stat().st_size
            raw.seek(max(0, size - 4))
            declared = int.from_bytes(raw.read(4), "little")  # where gzip states the size of the content
            refuse_bomb(path, declared if declared <= MOST_PACKED * size else 0)  # more is a file cut short
    return cast("IO[bytes]", io.BufferedReader(Guarded(path))) if zipped else open(path, "rb")


def opened(path: Path, encoding: str) -> IO[str]:
    """The text of a file, unpacked where it is gzipped."""
    return io.TextIOWrapper(opened_bytes(path), encoding=encoding, errors="replace", newline=None)


def open_text(path: Path, reading: Reading | None = None) -> TextTable:
    """Find out how ``path`` is written."""
    with opened_bytes(path) as file:
        head = file.read(SNIFFED_BYTES)
        while isinstance(file, io.BufferedReader) and isinstance(file.raw, Guarded) and file.read(SNIFFED_BYTES):
            pass  # a first pass that keeps nothing: what unpacks without end is refused before a row is parsed
    skip_rows = (reading.skip_rows if reading else None) or 0
    return TextTable(path, find_layout(path.name, lambda encoding: opened(path, encoding), head, skip_rows))


ENDINGS = (".csv", ".tsv", ".txt", ".dat", ".asc", ".lvm", ".tab", ".prn")
register(Format("text", ENDINGS + tuple(f"{ending}.gz" for ending in ENDINGS), open_text, magic=(GZIP,), has_rows=True))
