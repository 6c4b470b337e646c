"""Walks through an HDF5 file in a process of its own, for :mod:`jetode.records.formats.hdf5`: ``hdf5_walk.py FILE``.

Damaged files make libhdf5 loop forever or crash in compiled code that holds Python's lock, where nothing but another
process can end it.  Names, attributes and data sets of moderate size are read and forgotten.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SECONDS = 25.0  # starting Python and h5py takes less than one, the walk through 10,000 data sets some five
READ_BYTES = 16 << 20  # of a data set: larger ones are left to the reader, which would otherwise take twice as long


def ends(path: Path) -> bool:
    """Whether a walk through the file comes to an end; an error that libhdf5 reports is one."""
    command = [sys.executable, "-P", __file__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode >= 0  # negative: ended by a signal


def walk(path: str) -> None:
    """Read what a reader may read."""
    import h5py

    def visit(_: str, item: h5py.Dataset | h5py.Group) -> None:
        dict(item.attrs)
        if isinstance(item, h5py.Dataset) and item.size and item.size * item.dtype.itemsize <= READ_BYTES:
            item[()]

    with h5py.File(path, "r") as file:
        dict(file.attrs)
        file.visititems(visit)


if __name__ == "__main__":
    walk(sys.argv[1])
