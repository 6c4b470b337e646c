"""What every input format hands over: named columns with units, read only when they are asked for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jetode.records.units import split_unit
from jetode.support.errors import InputError

Kind = Literal["number", "date", "time of day", "other"]


@dataclass(frozen=True)
class Reading:
    """How one channel is to be read; ``column`` and ``time`` are names or 1-based numbers."""

    column: str | int | None = None
    time: str | int | None = None
    dt: float | None = None
    t0: float | None = None
    resample: float | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("dt", "resample"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"The '{name}' parameter must be a number > 0. Got {value} instead.")
        if self.skip_rows is not None and self.skip_rows < 0:
            raise InputError(f"The 'skip_rows' parameter must be ≥ 0. Got {self.skip_rows} instead.")


@dataclass(frozen=True)
class Column:
    """What is known of a column before its numbers are read."""

    name: str = ""
    unit: str = ""
    kind: Kind = "number"
    group: str = ""  # sheet, HDF5 or TDMS group, MATLAB struct: a time column serves the columns of its group
    header: str = ""  # the name as the file has it, with its unit
    step: float | None = None  # sampling interval where the file states it
    t0: float = 0.0  # time of the first sample where the file states it
    time_unit: str = ""  # of step and t0
    start: np.datetime64 | None = None  # absolute time of t = 0 where the file states it

    @classmethod
    def titled(cls, header: str, **fields: Any) -> Column:
        """From a header such as ``current [mA]``."""
        name, unit = split_unit(header)
        fields.setdefault("unit", unit)
        return cls(name=name, header=header, **fields)

    @property
    def label(self) -> str:
        own = self.header or self.name
        return f"{self.group}/{own}" if self.group else own


class Table(ABC):
    """Columns of one file."""

    path: Path
    columns: tuple[Column, ...]

    @abstractmethod
    def read(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        """The asked columns, each float64 with NaN where a cell is empty, or datetime64, or timedelta64."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where row ``row`` (0-based) stands in the file."""

    @property
    def source(self) -> str:
        """What errors call it."""
        return self.path.name

    def labels(self, indices: Sequence[int] | None = None) -> str:
        """The columns by number and name, the middle of a long list left out."""
        shown = [self.label(i) for i in (range(len(self.columns)) if indices is None else indices)]
        return ", ".join(shown if len(shown) <= 20 else [*shown[:19], f"… {shown[-1]}"])

    def label(self, index: int) -> str:
        name = self.columns[index].label
        return f"{index + 1} '{name}'" if name else str(index + 1)


class ArrayTable(Table):
    """Columns in memory, or each with a function that loads it."""

    def __init__(
        self, path: Path, columns: Sequence[Column], arrays: Sequence[NDArray[Any] | Callable[[], NDArray[Any]]]
    ) -> None:
        self.path, self.columns, self.arrays = path, tuple(columns), tuple(arrays)

    def read(self, indices: Sequence[int]) -> list[NDArray[Any]]:
        return [self._numbers(i) for i in indices]

    def place(self, row: int) -> str:
        return f"{self.source} sample {row}"

    def _numbers(self, index: int) -> NDArray[Any]:
        stored = self.arrays[index]
        column = np.asarray(stored() if callable(stored) else stored)
        if column.dtype.kind in "mM":
            return column
        if column.dtype.kind not in "biuf":
            raise InputError(
                f"{self.source}: column {self.label(index)} does not hold real numbers (its type is {column.dtype})."
            )
        with np.errstate(invalid="ignore", over="ignore"):  # a signalling NaN is a NaN, a huge number infinite
            return column.astype(np.float64)


def kind_of(dtype: np.dtype[Any]) -> Kind:
    """What a column of this type can be."""
    if dtype.kind == "M":
        return "date"
    return "number" if dtype.kind in "biufm" else "other"
