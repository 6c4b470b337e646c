"""Input formats, one file each: a file in this folder that calls ``register`` is a format that jetode reads.

The ending decides; a file with an unknown ending is known by its first bytes, else it is text.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from jetode.records.formats.base import FORMATS, Format, library
from jetode.records.table import Reading, Table
from jetode.support.errors import InputError

MAGIC_BYTES = 16


def open_table(path: Path, reading: Reading | None = None) -> Table:
    """The columns of a file of any format."""
    reading = reading or Reading()
    if path.is_dir():
        raise IsADirectoryError(path)
    format_ = format_of(path)
    if reading.skip_rows is not None and not format_.has_rows:
        raise InputError(f"The 'skip_rows' option (--skip-rows) is for text and Excel; {path.name} is {format_.name}.")
    if format_.library:
        library(format_.library, format_.name, format_.extra)
    return format_.open(path, reading)


def format_of(path: Path) -> Format:
    """By the ending, by the first bytes, else text; raises FileNotFoundError."""
    _discover()
    name = path.name.lower()
    with open(path, "rb") as file:
        head = file.read(MAGIC_BYTES)
    named = [f for f in FORMATS if name.endswith(f.endings)]
    if named and not named[0].has_rows:
        return named[0]
    marked = [f for f in FORMATS if f.magic and head.startswith(f.magic)]
    return (marked or named or [f for f in FORMATS if f.name == "text"])[0]


def endings() -> list[str]:
    """The endings of all formats that are read."""
    _discover()
    return sorted({ending for format_ in FORMATS for ending in format_.endings})


@cache
def _discover() -> None:
    """Import every file of this folder once; the libraries themselves are imported when a file needs them."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
