"""Parquet tables through pyarrow; a pandas index of dates is the time."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from jetode.records.formats.base import Format, library, refuse_bomb, register, understood
from jetode.records.table import ArrayTable, Column, Kind, Reading
from jetode.support.errors import InputError

WHAT = "a Parquet file"


def open_parquet(path: Path, reading: Reading) -> ArrayTable:
    parquet = library("pyarrow.parquet", "Parquet", "tables")
    with understood(path, WHAT):
        metadata = parquet.read_metadata(path)
        schema = parquet.read_schema(path)
        refuse_bomb(path, metadata.num_rows * 8)
    if not schema.names:
        raise InputError(f"{path.name} has no columns.")
    columns = [Column.titled(field.name, kind=_kind(field.type)) for field in schema]
    return ArrayTable(path, columns, [partial(_load, path, name) for name in schema.names])


def _kind(type_: Any) -> Kind:
    types = library("pyarrow.types", "Parquet", "tables")
    if types.is_timestamp(type_) or types.is_date(type_):
        return "date"
    real = types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_) or types.is_duration(type_)
    return "number" if real else "other"


def _load(path: Path, name: str) -> NDArray[Any]:
    parquet = library("pyarrow.parquet", "Parquet", "tables")
    with understood(path, WHAT):
        column: NDArray[Any] = parquet.read_table(path, columns=[name])[name].to_numpy()
        return column


register(Format("Parquet", (".parquet", ".pq"), open_parquet, "pyarrow", "tables", magic=(b"PAR1",)))
