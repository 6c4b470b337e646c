"""Rows that hold words beside their numbers, as multimeters and loggers write them: ``12,1.503,Volt DC,0.120``.

Only where a file has no rows of nothing but numbers: the columns of words are found, and their cells taken as missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile

from jetode.records.textlines import Line, looks_numeric, split

DELIMITERS = ("\t", ";", ",")
FEWEST = 3  # rows in a row that make a table
BLANK = "nan"


def without_words(lines: Sequence[Line]) -> tuple[list[Line], frozenset[int]]:
    """The lines with the words of the table's rows blanked out, and the fields in which they stand.

    The table goes from its first row to the last line, each with the same number of fields, of which the same ones are
    numbers or dates throughout.
    """
    for delimiter in DELIMITERS:
        rows = _last_rows([split(text, delimiter) for _, text in lines])
        words = _words(rows)
        if words is not None:
            begin = len(lines) - len(rows)
            blanked = [[BLANK if i in words else cell for i, cell in enumerate(row)] for row in rows]
            table = [(n, delimiter.join(row)) for (n, _), row in zip(lines[begin:], blanked, strict=True)]
            return [*lines[:begin], *table], words
    return list(lines), frozenset()


def _last_rows(rows: list[list[str]]) -> list[list[str]]:
    """The last rows with as many fields as the very last, from the first on that has a number or a date."""
    width = len(rows[-1])
    begin = next((i + 1 for i in range(len(rows) - 1, -1, -1) if len(rows[i]) != width), 0)
    return list(dropwhile(lambda row: not any(map(looks_numeric, row)), rows[begin:]))


def _words(rows: Sequence[Sequence[str]]) -> frozenset[int] | None:
    """The fields that hold words, None where this is no table: too few rows, or no column with a number in each."""
    if len(rows) < FEWEST or len(rows[0]) < 2:
        return None
    columns = list(zip(*rows, strict=True))
    words = frozenset(i for i, cells in enumerate(columns) if any(c and not looks_numeric(c) for c in cells))
    full = [i for i, cells in enumerate(columns) if i not in words and all(cells)]
    return words if full else None
