"""MATLAB's ``.mat``: up to version 7 through scipy, version 7.3 (an HDF5 file) through h5py.

Variables are columns, fields of a struct are columns of its group; a scalar ``dt`` or ``fs`` states the sampling.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats.arrays import Stored, table_of
from jetode.records.formats.base import (
    UNPACKED_BYTES,
    UNPACKED_TIMES,
    Format,
    library,
    refuse_bomb,
    register,
    understood,
)
from jetode.records.formats.hdf5 import stored_arrays
from jetode.records.formats.mat5 import check_elements
from jetode.records.table import ArrayTable, Reading
from jetode.support.errors import InputError

WHAT = "a MATLAB file"
HDF5_VERSION = b"MATLAB 7.3"
USER_BLOCK = 512  # bytes of MATLAB's own before the HDF5 content
BYTES = 8  # of a number, at most 16 where it is complex


def open_matlab(path: Path, reading: Reading) -> ArrayTable:
    with open(path, "rb") as file:
        head = file.read(USER_BLOCK + 8)
    if head.startswith(HDF5_VERSION) or b"\x89HDF\r\n\x1a\n" in (head[:8], head[USER_BLOCK:]):
        library("h5py", "MATLAB files of version 7.3", "matlab")
        with understood(path, WHAT):
            arrays = stored_arrays(path, lambda name, item: name.startswith("#") or "MATLAB_empty" in item.attrs)
            if not arrays:
                raise _nothing(path)
            return table_of(path, arrays)
    with understood(path, WHAT):
        return table_of(path, _old(path))


def _old(path: Path) -> list[Stored]:
    """The variables of a file up to version 7."""
    from scipy.io import loadmat, whosmat

    listed = whosmat(path)
    refuse_bomb(path, sum(int(np.prod(shape, dtype=object)) * BYTES for _, shape, _ in listed))
    raw = path.read_bytes()
    if raw[126:128] in (b"IM", b"MI"):  # versions 5 to 7; version 4 has no such mark
        check_elements(raw, max(UNPACKED_BYTES, UNPACKED_TIMES * path.stat().st_size))
    loaded = loadmat(path, struct_as_record=True, chars_as_strings=True)
    variables = {name: value for name, value in loaded.items() if not name.startswith("__")}
    arrays = _collected("", variables)
    if not arrays:
        raise _nothing(path)
    return arrays


def _collected(group: str, variables: dict[str, Any]) -> list[Stored]:
    """Arrays of numbers, those in structs included."""
    found: list[Stored] = []
    scalars: dict[str, Any] = {}
    inner: list[Stored] = []
    for name, value in variables.items():
        array = np.asarray(value)
        if array.dtype.names and array.size == 1:
            fields = {field: array[field].ravel()[0] for field in array.dtype.names}
            inner += _collected(f"{group}.{name}" if group else name, fields)
        elif array.dtype.kind in "biufc" and array.size == 1:
            scalars[name] = array.ravel()[0]
        elif array.dtype.kind in "biufc" and array.size > 1:
            found.append(Stored(name, group, array.shape, array.dtype, partial(_same, array)))
    return [
        Stored(a.name, a.group, a.shape, a.dtype, a.load, a.unit, {**scalars, **(a.said or {})}) for a in found + inner
    ]


def _same(array: NDArray[Any]) -> NDArray[Any]:
    return array


def _nothing(path: Path) -> InputError:
    return InputError(
        f"{path.name} holds no plain arrays; in MATLAB, save tables and objects as arrays, such as "
        "t = T.time; x = T.x; save('record.mat', 't', 'x')."
    )


register(Format("MATLAB", (".mat",), open_matlab, magic=(b"MATLAB ",)))
