"""Walks through an HDF5 file in a process of its own, for :mod:`jetode.records.formats.hdf5`: ``hdf5_walk.py FILE``.

Damaged files make libhdf5 loop for ever, crash or take gigabytes, in compiled code that holds Python's lock, where
nothing but another process can end it.  Names, attributes and data sets of moderate size are read and forgotten.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path

SECONDS = 25.0  # starting Python and h5py takes less than one, the walk through 10,000 data sets some five
READ_BYTES = 16 << 20  # of a data set: larger ones are left to the reader, which would otherwise take twice as long
MEMORY = 1 << 30  # of addresses beyond those of Python and h5py
UNREADABLE = 65  # exit code (EX_DATAERR): attributes or names that the reader could not read either


class Walk(Enum):
    """How it ended."""

    WHOLE = "the end was reached"
    DAMAGED = "libhdf5 refused something on the way, or wanted too much memory for it"
    ENDLESS = "libhdf5 did not come back, or crashed"


def walk(path: Path) -> Walk:
    """Walk through a file in another process."""
    command = [sys.executable, "-P", __file__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Walk.ENDLESS
    if done.returncode < 0:  # by a signal
        return Walk.ENDLESS
    return Walk.DAMAGED if done.returncode == UNREADABLE else Walk.WHOLE


def main(path: str) -> int:
    """The walk itself."""
    import h5py

    _limit_memory()

    def visit(_: str, item: h5py.Dataset | h5py.Group) -> None:
        dict(item.attrs)
        if isinstance(item, h5py.Dataset) and item.size and item.size * item.dtype.itemsize <= READ_BYTES:
            with suppress(Exception):  # it may be none that is asked for, packed by a filter that is not there
                item[()]

    try:
        with h5py.File(path, "r") as file:
            dict(file.attrs)
            file.visititems(visit)
    except Exception:  # whatever it is, the reader says what it makes of the file
        return UNREADABLE
    return 0


def _limit_memory() -> None:
    """Where the system can: what would take more is refused by libhdf5 itself."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
