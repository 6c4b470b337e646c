"""Rows that hold words beside their numbers, as multimeters and loggers write them: ``12,1.503,Volt DC,0.120``.

Only where a file has no rows of nothing but numbers: the columns of words are found, and their cells taken as missing.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        rows = [split(text, delimiter) for _, text in lines]
        width = len(rows[-1])
        begin = next((i + 1 for i in range(len(rows) - 1, -1, -1) if len(rows[i]) != width), 0)
        numeric = [[looks_numeric(cell) if cell else None for cell in row] for row in rows[begin:]]
        while numeric and True not in numeric[0]:  # the header
            numeric.pop(0)
        begin = len(rows) - len(numeric)
        words = frozenset(i for i in range(width) if any(row[i] is False for row in numeric))
        if width < 2 or len(numeric) < FEWEST or not _numbers_in(numeric, words):
            continue
        blanked = [[BLANK if i in words else cell for i, cell in enumerate(row)] for row in rows[begin:]]
        table = [(n, delimiter.join(row)) for (n, _), row in zip(lines[begin:], blanked, strict=True)]
        return [*lines[:begin], *table], words
    return list(lines), frozenset()


def _numbers_in(numeric: Sequence[Sequence[bool | None]], words: frozenset[int]) -> bool:
    """Whether a column that is none of words has a number in every row."""
    return any(i not in words and all(row[i] for row in numeric) for i in range(len(numeric[0])))
