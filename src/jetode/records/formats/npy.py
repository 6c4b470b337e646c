"""NumPy's ``.npy`` and ``.npz``: columns, fields or arrays; nothing pickled, and sizes looked at before reading."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from jetode.records.formats.base import Format, refuse_bomb, register, stated_step, understood
from jetode.records.table import ArrayTable, Column, Reading, kind_of
from jetode.support.errors import InputError

WHAT = "a NumPy file of plain numbers"
HEADER_READERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,
}


def open_npy(path: Path, reading: Reading) -> ArrayTable:
    with understood(path, WHAT), open(path, "rb") as file:
        array = _array(file, path.stat().st_size)
    if array.dtype.names:
        names = array.dtype.names
        return _table(path, {name: array[name] for name in names})
    if array.ndim == 1:
        return ArrayTable(path, [Column(kind=kind_of(array.dtype))], [array])
    if array.ndim == 2 and array.shape[1] >= 1:
        return ArrayTable(path, [Column(kind=kind_of(array.dtype))] * array.shape[1], list(array.T))
    raise InputError(f"{path.name} must hold one or two dimensions. Got the shape {array.shape} instead.")


def open_npz(path: Path, reading: Reading) -> ArrayTable:
    """One column per one-dimensional array; a scalar called dt (or fs) is the sampling."""
    with understood(path, WHAT), zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
        refuse_bomb(path, sum(member.file_size for member in members))
        if any(member.flag_bits & 1 for member in members):
            raise InputError(f"{path.name} is encrypted; save it without a password.")
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                arrays[member.filename.removesuffix(".npy")] = _array(file, member.file_size)
    return _table(path, arrays)


def _table(path: Path, arrays: dict[str, NDArray[Any]]) -> ArrayTable:
    names = [name for name, array in arrays.items() if array.ndim == 1]
    if not names:
        raise InputError(f"{path.name} holds no one-dimensional array to be the record.")
    step = stated_step({name: array for name, array in arrays.items() if array.ndim == 0})
    columns = [Column.titled(name, kind=kind_of(arrays[name].dtype), **step) for name in names]
    return ArrayTable(path, columns, [arrays[name] for name in names])


def _array(file: IO[bytes], size: int) -> NDArray[Any]:
    """An array whose header agrees with the bytes that are there; ValueError where not."""
    version = npy.read_magic(file)
    shape, fortran, dtype = HEADER_READERS[version](file)
    count = int(np.prod([int(n) for n in shape], dtype=object)) if shape else 1
    if dtype.hasobject or min(shape, default=0) < 0 or count * dtype.itemsize > size:
        raise ValueError("pickled, or shorter than its header says")
    data = np.frombuffer(file.read(count * dtype.itemsize), dtype=dtype, count=count)
    return data.reshape(shape, order="F" if fortran else "C")


register(Format("NumPy", (".npy",), open_npy, magic=(b"\x93NUMPY",)))
register(Format("NumPy", (".npz",), open_npz))
