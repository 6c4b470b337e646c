"""HDF5 and netCDF 4 through h5py: data sets are columns, groups are groups, attributes say units and sampling."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats import hdf5_walk
from jetode.records.formats.arrays import Stored, table_of
from jetode.records.formats.base import Format, library, refuse_bomb, register, understood
from jetode.records.formats.hdf5_walk import Walk
from jetode.records.table import ArrayTable, Reading
from jetode.records.units import SECONDS
from jetode.support.errors import InputError

WHAT = "an HDF5 file"
MAGIC = b"\x89HDF\r\n\x1a\n"
MOST_DATA_SETS = 10_000
SINCE = re.compile(
    r"(?P<unit>\w+) since (?P<date>\d{4}-\d{1,2}-\d{1,2})(?:[T ](?P<time>\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?.*"
)
NOT_A_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def open_hdf5(path: Path, reading: Reading) -> ArrayTable:
    with understood(path, WHAT):
        return table_of(path, stored_arrays(path))


def stored_arrays(path: Path, skip: Callable[[str, Any], bool] = lambda name, item: False) -> list[Stored]:
    """Every array of numbers with what stands beside it; within :func:`understood`."""
    h5py = library("h5py", "HDF5", "hdf5")
    walked = hdf5_walk.walk(path)
    if walked is Walk.ENDLESS:
        raise InputError(
            f"{path.name} is damaged: the HDF5 library does not come to an end with it. Save it again, or as CSV."
        )
    if walked is Walk.DAMAGED:
        raise OSError(walked.value)
    found: list[Stored] = []
    scalars: dict[str, dict[str, Any]] = {}

    def visit(full: str, item: Any) -> None:
        group, _, name = full.rpartition("/")
        if not isinstance(item, h5py.Dataset) or skip(full, item) or len(found) >= MOST_DATA_SETS:
            return
        if item.size == 1 and item.dtype.kind in "iuf":
            scalars.setdefault(group, {})[name] = item[()].ravel()[0] if item.shape else item[()]
        elif item.size and item.size > 1:
            found.extend(_stored(path, full, item))

    with h5py.File(path, "r") as file:
        file.visititems(visit)
        roots = _numbers(file.attrs)
    refuse_bomb(path, max((_bytes(array) for array in found), default=0))
    return [_with_scalars(array, roots, scalars) for array in found]


def _with_scalars(array: Stored, roots: dict[str, Any], scalars: dict[str, dict[str, Any]]) -> Stored:
    said = {**roots, **scalars.get("", {}), **scalars.get(array.group, {}), **(array.said or {})}
    return Stored(array.name, array.group, array.shape, array.dtype, array.load, array.unit, said)


def _bytes(array: Stored) -> int:
    return int(np.prod(array.shape, dtype=object)) * array.dtype.itemsize


def _stored(path: Path, full: str, item: Any) -> list[Stored]:
    """A data set, or each field of one of records (pandas, PyTables)."""
    group, _, name = full.rpartition("/")
    said = {**_numbers(item.parent.attrs), **_numbers(item.attrs)}
    unit = _text(item.attrs.get("units", item.attrs.get("unit", "")))
    if _text(item.attrs.get("NAME", "")).startswith(NOT_A_VARIABLE):
        return []
    if item.dtype.names:
        return [
            Stored(field, full, item.shape, item.dtype[field], partial(_load, path, full, field, ""), said=said)
            for field in item.dtype.names
        ]
    if item.dtype.kind not in "biufc":
        return []
    since = SINCE.fullmatch(unit)
    dtype = np.dtype("datetime64[us]") if since and since["unit"] in SECONDS else item.dtype
    shown = "" if dtype.kind == "M" else unit
    return [Stored(name, group, item.shape, dtype, partial(_load, path, full, "", unit), shown, said)]


def _load(path: Path, full: str, field: str, unit: str) -> NDArray[Any]:
    h5py = library("h5py", "HDF5", "hdf5")
    with understood(path, WHAT), h5py.File(path, "r") as file:
        data: NDArray[Any] = file[full][field] if field else file[full][()]
        since = SINCE.fullmatch(unit)
        if since is None or since["unit"] not in SECONDS:
            return data
        start = np.datetime64(f"{since['date']}T{since['time'] or '00:00'}", "us")
        micro = np.round(data.astype(np.float64) * (SECONDS[since["unit"]] * 1e6))
        return start + micro.astype("timedelta64[us]")


def _numbers(attributes: Any) -> dict[str, Any]:
    """Attributes that are single numbers."""
    out = {}
    for name, value in attributes.items():
        array = np.asarray(value)
        if array.size == 1 and array.dtype.kind in "iuf":
            out[name] = array.ravel()[0]
    return out


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


register(Format("HDF5", (".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4"), open_hdf5, "h5py", "hdf5", magic=(MAGIC,)))
