"""Excel workbooks through openpyxl: every sheet with a table is a group, cells are read as their stored values."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats.base import Format, library, refuse_bomb, register, understood
from jetode.records.table import Column, Kind, Reading, Table
from jetode.records.textlines import count, shown
from jetode.records.units import unit_symbol
from jetode.support.errors import InputError

WHAT = "an Excel workbook"
SNIFFED_ROWS = 200
RUN = 3  # rows of numbers in a row that make a body
DTYPES = {"date": "datetime64[us]", "time of day": "timedelta64[us]"}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Place:
    """A column and its index in the rows of its sheet."""

    index: int
    column: Column


Found = tuple[int, list[Place]]  # 1-based row of the first data, columns


def open_excel(path: Path, reading: Reading) -> ExcelTable:
    with understood(path, WHAT):
        with zipfile.ZipFile(path) as archive:
            refuse_bomb(path, sum(member.file_size for member in archive.infolist()))
        sheets = {name: _columns(rows, reading.skip_rows or 0) for name, rows in _sheets(path, SNIFFED_ROWS)}
    found = {name: columns for name, columns in sheets.items() if columns}
    if not sheets:
        raise InputError(f"{path.name} is an Excel workbook without sheets of cells.")
    if not found:
        raise InputError(
            f"{path.name} has no rows of numbers in the first {SNIFFED_ROWS} rows of {count(len(sheets), 'sheet')}; "
            "if a longer preamble comes first, skip it with 'skip_rows' (--skip-rows)."
        )
    return ExcelTable(path, found)


class ExcelTable(Table):
    """The tables of a workbook; rows are named as Excel numbers them."""

    def __init__(self, path: Path, sheets: dict[str, Found]) -> None:
        self.path = path
        places = [(sheet, first, place) for sheet, (first, found) in sheets.items() for place in found]
        self.places = tuple((sheet, first, place.index) for sheet, first, place in places)
        self.columns = tuple(
            replace(place.column, group=sheet if len(sheets) > 1 else "") for sheet, _, place in places
        )

    def read(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        sheets = {self.places[i][0] for i in indices}
        with understood(self.path, WHAT):
            rows = dict(_sheets(self.path, None, sheets))
        return [self._cells(rows[self.places[i][0]], i) for i in indices]

    def place(self, row: int) -> str:
        return f"{self.source} row {self.places[0][1] + row}"

    def _cells(self, rows: list[Row], index: int) -> NDArray[Any]:
        _, first, place = self.places[index]
        kind = self.columns[index].kind
        last = max(i for i, row in enumerate(rows) if any(cell is not None for cell in row))
        cells = [row[place] if len(row) > place else None for row in rows[first - 1 : last + 1]]
        out = np.empty(len(cells), dtype=DTYPES.get(kind, np.float64))
        for i, cell in enumerate(cells):
            number = _converted(cell, kind)
            if number is None:
                raise InputError(
                    f"{self.source} row {first + i}: {shown(str(cell))} in column {self.label(index)} is not a {kind}; "
                    "correct the cell, or empty it for a missing sample."
                )
            out[i] = number
        return out


def _sheets(path: Path, most: int | None, only: set[str] | None = None) -> Iterator[tuple[str, list[Row]]]:
    openpyxl = library("openpyxl", "Excel", "excel")
    with path.open("rb") as raw:  # closed here whatever the library does with a file that is damaged
        book = openpyxl.load_workbook(raw, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                if only is None or sheet.title in only:
                    sheet.reset_dimensions()  # the stated size may be missing or wrong
                    yield sheet.title, list(sheet.iter_rows(values_only=True, max_row=most))
        finally:
            book.close()


def _columns(rows: list[Row], skip: int) -> Found | None:
    """Where the table of a sheet begins and its columns, None where there is no table."""
    start = next((i for i in range(skip, len(rows)) if all(_numeric(row) for row in rows[i : i + RUN])), None)
    if start is None:
        return None
    body = rows[start:]
    above = [row for row in rows[skip:start] if any(cell is not None for cell in row)]
    width = max(len(row) for row in body)
    names, units = _header(above, width)
    places = []
    for place in range(width):
        cell = _first_cell(body, place)
        if cell is not None or names[place]:
            title = {"unit": units[place]} if units[place] else {}
            places.append(Place(place, Column.titled(names[place], kind=_kind(cell), **title)))
    return start + 1, places


def _header(above: list[Row], width: int) -> tuple[list[str], list[str]]:
    """Names and units from the last rows above the table; a row of nothing but units stands below the names."""
    empty = [""] * width
    names = _texts(above[-1], width) if above else empty
    symbols = [unit_symbol(name) if name else "" for name in names]
    if len(above) > 1 and any(names) and None not in symbols:
        return _texts(above[-2], width), [symbol or "" for symbol in symbols]
    return names, empty


def _first_cell(body: list[Row], place: int) -> Any:
    return next((row[place] for row in body if len(row) > place and row[place] is not None), None)


def _numeric(row: Row) -> bool:
    cells = [cell for cell in row if cell is not None]
    numbers = [cell for cell in cells if isinstance(cell, int | float | date | time | timedelta)]
    return bool(numbers) and len(numbers) == len(cells)


def _texts(row: Row, width: int) -> list[str]:
    texts = ["" if cell is None else str(cell).strip() for cell in row[:width]]
    return texts + [""] * (width - len(texts))


def _kind(cell: Any) -> Kind:
    if isinstance(cell, date):
        return "date"
    return "time of day" if isinstance(cell, time) else "number"


def _converted(cell: Any, kind: Kind) -> Any:
    """A cell as its column's kind of number, None where it is another kind."""
    if cell is None:
        return float("nan") if kind == "number" else "NaT"
    if kind == "date":
        return np.datetime64(cell, "us") if isinstance(cell, date) else None
    if kind == "time of day":
        whole = isinstance(cell, time)
        return np.timedelta64(datetime.combine(date.min, cell) - datetime.min) if whole else None
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    return float(cell) if isinstance(cell, int | float) else None


def refuse_old_excel(path: Path, reading: Reading) -> Table:
    raise InputError(f"{path.name} is a workbook of Excel 97–2003; save it as .xlsx or CSV.")


register(Format("Excel", (".xlsx", ".xlsm"), open_excel, "openpyxl", "excel", has_rows=True))
register(Format("old Excel", (".xls",), refuse_old_excel, magic=(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",), has_rows=True))
