"""Arrays of one or more dimensions by name, as MATLAB and HDF5 files hold them, made into columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats.base import stated_step
from jetode.records.table import ArrayTable, Column, kind_of
from jetode.support.errors import InputError

MOST_CHANNELS = 10_000  # columns of one array


@dataclass(frozen=True)
class Stored:
    """An array that can be loaded: where it is, its shape without axes of length 1, and what is said of it."""

    name: str
    group: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[], NDArray[Any]]
    unit: str = ""
    said: Mapping[str, Any] | None = None  # scalars beside it: dt, fs

    @property
    def squeezed(self) -> tuple[int, ...]:
        return tuple(n for n in self.shape if n != 1)


def table_of(path: Path, stored: list[Stored]) -> ArrayTable:
    """Vectors are columns; of a matrix its columns are (its rows, where these are longer)."""
    columns: list[Column] = []
    arrays: list[Callable[[], NDArray[Any]]] = []
    for array in stored:
        step = stated_step(array.said or {})
        for name, load in _vectors(array):
            title = {"unit": array.unit} if array.unit else {}
            columns.append(Column.titled(name, kind=kind_of(array.dtype), group=array.group, **title, **step))
            arrays.append(load)
    if not columns:
        raise InputError(f"{path.name} holds no array of one or two dimensions to be the record.")
    return ArrayTable(path, columns, arrays)


def _vectors(array: Stored) -> list[tuple[str, Callable[[], NDArray[Any]]]]:
    shape = array.squeezed
    if len(shape) == 1:
        return [(array.name, partial(_vector, array, None, 0))]
    if len(shape) != 2 or min(shape) > MOST_CHANNELS:
        return []
    axis = 1 if shape[0] >= shape[1] else 0
    return [(f"{array.name}.{k + 1}", partial(_vector, array, axis, k)) for k in range(shape[axis])]


def _vector(array: Stored, axis: int | None, index: int) -> NDArray[Any]:
    data = array.load()
    data = data.reshape(array.squeezed)
    return data if axis is None else np.take(data, index, axis=axis)
