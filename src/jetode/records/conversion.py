"""Whatever holds a record in memory, made into a Series: arrays, pandas, xarray, or the path of a file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.columns import series_of
from jetode.records.reading import read_with
from jetode.records.series import Series
from jetode.records.table import ArrayTable, Column, Reading, kind_of
from jetode.records.units import SECONDS, split_unit
from jetode.support.errors import InputError

ACCEPTED = "a Series, an array, a pandas Series or DataFrame, an xarray DataArray, or the path of a file"


def as_series(
    obj: Any,
    dt: float | None = None,
    column: str | int | None = None,
    time: str | int | None = None,
    default_dt: float | None = None,
) -> Series:
    """One record from ``obj``; ``dt`` is the sampling interval where the object has no times of its own.

    A pandas index or an xarray coordinate is the time, dates count in seconds and their first is ``Series.start``.
    ``default_dt`` is taken where there are neither times nor ``dt``.  Of a DataFrame (or of an array of several
    columns) ``column`` and ``time`` choose as they do for files.
    """
    if isinstance(obj, Series):
        return _with_step(obj, dt)
    if isinstance(obj, str | PathLike):
        return read_with(Path(obj), Reading(column, time, dt))
    if dt is None and default_dt is not None and not _has_times(obj):
        dt = default_dt
    library = type(obj).__module__.partition(".")[0]
    if library == "pandas" and hasattr(obj, "columns"):
        return series_of(_frame_table(obj), Reading(column, time, dt))
    if library == "pandas" and hasattr(obj, "index") and hasattr(obj, "to_numpy"):
        return _from_pandas(obj, dt)
    if library == "xarray":
        return _from_xarray(obj, dt, column)
    return _from_array(obj, Reading(column, time, dt))


def _with_step(series: Series, dt: float | None) -> Series:
    if dt is not None and abs(dt - series.dt) > 1e-9 * series.dt:
        raise InputError(f"The record has steps of {series.dt:g} but 'dt' is {dt:g}; give only one.")
    return series


def _from_pandas(series: Any, dt: float | None) -> Series:
    name, unit = split_unit("" if series.name is None else str(series.name))
    return Series.from_pandas(series.rename(name or None), dt, unit, _index_unit(series.index))


def as_records(obj: Any, dt: float | None = None) -> Series | tuple[Series, ...]:
    """One record, or several where ``obj`` is a list or tuple of records rather than of numbers."""
    several = isinstance(obj, list | tuple) and len(obj) > 0 and not any(np.isscalar(x) or x is None for x in obj)
    return tuple(as_series(record, dt) for record in obj) if several else as_series(obj, dt)


def _has_times(obj: Any) -> bool:
    """Whether an object in memory has an index or coordinate of its own: one that is more than a count of rows."""
    index = getattr(obj, "index", None)
    return bool(getattr(obj, "coords", None)) or (hasattr(index, "dtype") and type(index).__name__ != "RangeIndex")


class MemoryTable(ArrayTable):
    """Columns of an object in memory, which errors call by its kind."""

    def __init__(self, what: str, columns: Sequence[Column], arrays: Sequence[NDArray[Any]]) -> None:
        super().__init__(Path(what), columns, arrays)

    def place(self, row: int) -> str:
        return f"row {row} of {self.source}"


def _frame_table(frame: Any) -> MemoryTable:
    """The index, where it is more than a count of rows, comes first and is the time."""
    import pandas as pd

    if frame.shape[1] == 0:
        raise InputError("The DataFrame has no columns.")
    arrays = [_plain(frame.iloc[:, i]) for i in range(frame.shape[1])]
    columns = [Column.titled(str(name), kind=kind_of(a.dtype)) for name, a in zip(frame.columns, arrays, strict=True)]
    index = frame.index
    if not isinstance(index, pd.RangeIndex):
        stamps = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
        times = _plain(pd.Series(stamps))
        unit = split_unit(str(index.name))[1] if index.name is not None else ""
        columns.insert(0, Column(name="time", unit=unit, header="time", kind=kind_of(times.dtype)))
        arrays.insert(0, times)
    return MemoryTable("The DataFrame", columns, arrays)


def _plain(column: Any) -> NDArray[Any]:
    """A column as NumPy's own type: nullable numbers with NaN, dates with a zone in UTC."""
    import pandas as pd

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        numbers: NDArray[Any] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    return np.asarray(column.to_numpy())


def _index_unit(index: Any) -> str:
    unit = split_unit(str(index.name))[1] if index.name is not None else ""
    return unit if unit in SECONDS else ""


def _from_xarray(obj: Any, dt: float | None, column: str | int | None) -> Series:
    """A DataArray of one dimension, whose coordinate is the time; of a Dataset the variable ``column``."""
    if hasattr(obj, "data_vars"):
        names = [str(name) for name in obj.data_vars]
        if column is None and len(names) == 1:
            column = names[0]
        if column not in names:
            raise InputError(f"Choose a variable of the Dataset with 'column'; it has {', '.join(names) or 'none'}.")
        obj = obj[column]
    array = obj.squeeze()
    if array.ndim != 1:
        raise InputError(f"The DataArray must have one dimension. Got the shape {obj.shape}; select one channel.")
    name = "" if array.name is None else str(array.name)
    value = Column(name=name, unit=str(array.attrs.get("units", "")), kind=kind_of(array.dtype))
    columns, arrays = [value], [np.asarray(array.values)]
    coordinate = array.coords.get(array.dims[0])
    if coordinate is not None and (dt is None or coordinate.dtype.kind == "M"):
        unit = str(coordinate.attrs.get("units", ""))
        columns.append(Column(name="time", header="time", unit=unit, kind=kind_of(coordinate.dtype)))
        arrays.append(np.asarray(coordinate.values))
    return series_of(MemoryTable("The DataArray", columns, arrays), Reading(1, None, dt))


def _from_array(obj: Any, reading: Reading) -> Series:
    if obj is None or isinstance(obj, bytes | dict | set):
        raise InputError(f"A record must be {ACCEPTED}. Got {type(obj).__name__} instead.")
    try:
        array = np.ma.filled(obj.astype(np.float64), np.nan) if np.ma.isMA(obj) else np.asarray(obj)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError):
        raise InputError(f"A record must be {ACCEPTED}. Got a {type(obj).__name__} of unequal parts instead.") from None
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim == 2:
        columns = [Column(kind=kind_of(array.dtype))] * array.shape[1]
        return series_of(MemoryTable("The array", columns, list(array.T)), reading)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        shape, kind = array.shape, array.dtype
        raise InputError(f"A record must be {ACCEPTED}. Got an array of shape {shape} and type {kind} instead.")
    if reading.dt is None:
        raise InputError("An array has no times of its own; give the sampling interval as 'dt'.")
    return Series(array, reading.dt)
