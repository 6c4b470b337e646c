"""Records from files of every format (:mod:`.formats`), all through one choice of columns (:mod:`.columns`)."""

from __future__ import annotations

from pathlib import Path

from jetode.records.columns import series_of
from jetode.records.formats import open_table
from jetode.records.series import Series
from jetode.records.table import Reading
from jetode.support.errors import InputError


def read(
    path: str | Path,
    column: str | int | None = None,
    time: str | int | None = None,
    dt: float | None = None,
    t0: float | None = None,
    resample: float | None = None,
    skip_rows: int | None = None,
) -> Series:
    """Read one channel; ``column`` and ``time`` are names or 1-based numbers, ``dt`` replaces a time.

    ``resample`` is the step to which unequal times are brought (:func:`.resample.resampled`); without it
    they are an error.  ``skip_rows``: lines of a text file or rows of an Excel sheet that come before the table, where
    that is not found from the first lines.
    """
    return read_with(path, Reading(column, time, dt, t0, resample, skip_rows))


def read_with(path: str | Path, reading: Reading) -> Series:
    """:func:`read` with its options in one object."""
    source = Path(path)
    try:
        return series_of(open_table(source, reading), reading)
    except FileNotFoundError:
        raise InputError(f"There is no file {str(source)!r}.") from None
    except IsADirectoryError:
        raise InputError(f"{str(source)!r} is a directory; give the file of one record.") from None
    except PermissionError:
        raise InputError(f"The file {str(source)!r} must not be read: permission denied.") from None
    except OSError as error:
        raise InputError(f"The file {str(source)!r} cannot be read: {error.strerror or error}.") from None
