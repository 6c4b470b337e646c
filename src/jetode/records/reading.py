"""Records from files: CSV/TSV, NPY/NPZ, Parquet, WAV and EDF, all through one choice of columns.

The time column is the one asked for, else one named t or time (any case, with or without a unit), else a
first column that is uniform and increasing; the value column is the one asked for, else the only one left.
"""

from __future__ import annotations

import math
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from jetode.records.resample import resampled
from jetode.records.series import Series, uniform_step
from jetode.records.textfile import open_table
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

TIME_NAME = re.compile(r"(t|time)([_ ]?(s|sec|ms|us|µs|μs|ns|min|h|hours?|d|days?|seconds?))?", re.IGNORECASE)
UNIT = re.compile(r"(?P<name>.*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\)|/\s*(?P<slash>\S+))\s*")
PANDAS_INDEX = "__index_level_0__"


class Table(Protocol):
    """What every format offers: named columns, their numbers, and where a row stands."""

    @property
    def n_columns(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    def read(self, columns: Sequence[int]) -> FloatArray: ...
    def place(self, row: int) -> str: ...


@dataclass(frozen=True)
class ArrayTable:
    """Columns already in memory; ``dt`` where the format itself states the sampling."""

    path: Path
    columns: tuple[Any, ...]
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def read(self, columns: Sequence[int]) -> FloatArray:
        arrays = [self._numbers(i) for i in columns]
        lengths = {a.size for a in arrays}
        if len(lengths) > 1:
            raise InputError(f"{self.path.name}: the chosen columns have different lengths {sorted(lengths)}.")
        return np.stack(arrays, axis=1)

    def place(self, row: int) -> str:
        return f"{self.path.name} sample {row}"

    def _numbers(self, index: int) -> FloatArray:
        column = np.asarray(self.columns[index])
        if column.dtype.kind in "mM":
            return np.asarray((column - column[0]) / np.timedelta64(1, "s"), dtype=np.float64)
        if column.dtype.kind not in "biuf":
            raise InputError(
                f"{self.path.name}: column {_labels(self)[index]} does not hold real numbers "
                f"(its type is {column.dtype})."
            )
        return column.astype(np.float64)


def read(
    path: str | Path,
    column: str | int | None = None,
    time: str | int | None = None,
    dt: float | None = None,
    t0: float | None = None,
    resample: float | None = None,
) -> Series:
    """Read one channel; ``column`` and ``time`` are names or 1-based numbers, ``dt`` replaces a time.

    ``resample`` is the step to which unequal times are brought (:func:`.resample.resampled`); without it
    they are an error.
    """
    source = Path(path)
    if dt is not None and not (math.isfinite(dt) and dt > 0):
        raise InputError(f"The 'dt' parameter must be a number > 0. Got {dt} instead.")
    try:
        table = _open(source)
        return _choose(source, table, column, time, dt, t0, resample)
    except FileNotFoundError:
        raise InputError(f"There is no file {str(source)!r}.") from None
    except IsADirectoryError:
        raise InputError(f"{str(source)!r} is a directory; give the file of one record.") from None
    except PermissionError:
        raise InputError(f"The file {str(source)!r} must not be read: permission denied.") from None


def _choose(
    path: Path,
    table: Table,
    column: str | int | None,
    time: str | int | None,
    dt: float | None,
    t0: float | None,
    resample: float | None,
) -> Series:
    value = None if column is None else _resolve(path, table, column, "column")
    if time is not None:
        clock: int | None = _resolve(path, table, time, "time")
    else:
        named = [i for i, name in enumerate(table.names) if is_time_name(name) and i != value]
        clock = named[0] if named else None
    rest = [i for i in range(table.n_columns) if i != clock]
    first = None  # a first column without a name that may turn out to be the time
    if clock is None and table.n_columns > 1 and value != 0 and _step(table, value) is None:
        first = 0
        rest = rest[1:]
    if value is None and len(rest) == 1:
        value = rest[0]
    if value is None:
        if not rest:
            raise InputError(f"{path.name} has a time column but no column of values.")
        raise InputError(
            f"{path.name} has several columns ({', '.join(_labels(table))}); say which one is the record "
            "with 'column' (--column)."
        )
    if value == clock:
        raise InputError(f"{path.name}: column {_labels(table)[value]} cannot be both the time and the record.")
    asked = clock if clock is not None else first
    data = table.read([value] if asked is None else [value, asked])
    values = np.ascontiguousarray(data[:, 0])
    times = None if asked is None else data[:, 1]
    if first is not None and times is not None and resample is not None:
        clock = first
    elif first is not None and times is not None:
        times = _unnamed_time(path, table, times, column, dt)
        clock = None if times is None else first
    if resample is not None:
        if times is None or clock is None:
            raise InputError(f"{path.name} has no time column, so there is nothing to resample; give 'dt' (--dt).")
        values, start = resampled(times, values, resample, table.place)
        step = resample
    else:
        step, start = _sampling(path, table, value, times, clock, dt)
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise InputError(
            f"{table.place(int(infinite[0]))}: the value is infinite; samples must be finite numbers, or "
            "empty where one is missing."
        )
    name, unit = split_unit(table.names[value]) if table.names else ("", "")
    time_unit = "" if clock is None or not table.names else time_unit_of(table.names[clock])
    if isinstance(table, ArrayTable):
        unit = table.units[value] if table.units else unit
        time_unit = "s" if table.steps and dt is None else time_unit
    try:
        return Series(
            values,
            step,
            t0=start if t0 is None else t0,
            name=name,
            unit=unit,
            time_unit=time_unit,
            locate=partial(_place, table),
        )
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def _place(table: Table, row: int) -> str:
    return table.place(row)


def _unnamed_time(
    path: Path, table: Table, times: FloatArray, column: str | int | None, dt: float | None
) -> FloatArray | None:
    """A first column is the time when it is uniform and increasing; when not, two columns are ambiguous."""
    try:
        uniform_step(times, place=table.place)
        return times
    except InputError as error:
        if column is None:
            raise InputError(
                f"{path.name} has columns {', '.join(_labels(table))} and the first is no time axis "
                f"({error}) Say which column is the record with 'column' (--column)."
            ) from None
        if dt is None:
            raise InputError(
                f"{path.name} has no time column: name it with 'time' (--time), or give the sampling "
                "interval 'dt' (--dt)."
            ) from None
        return None


def _sampling(
    path: Path, table: Table, value: int, times: FloatArray | None, clock: int | None, dt: float | None
) -> tuple[float, float]:
    """Step and first time."""
    stated = _step(table, value)
    if times is None or clock is None:
        step = dt if dt is not None else stated
        if step is None:
            raise InputError(f"{path.name} has no time column; give the sampling interval as 'dt' (--dt).")
        return step, 0.0
    step = uniform_step(times, place=table.place)
    if dt is None:
        return step, float(times[0])
    named = bool(table.names) and is_time_name(table.names[clock])
    if named and abs(step - dt) > 1e-3 * dt:
        raise InputError(f"{path.name}: the time column has steps of {step:g} but 'dt' is {dt:g}; give only one.")
    return dt, float(times[0]) if named else 0.0


def _step(table: Table, value: int | None) -> float | None:
    if isinstance(table, ArrayTable) and table.steps:
        return table.steps[value or 0]
    return None


def _resolve(path: Path, table: Table, key: str | int, option: str) -> int:
    """A column by name (exactly, then without case or unit) or by 1-based number."""
    text = str(key).strip()
    if isinstance(key, str):
        plain = [split_unit(name)[0].lower() for name in table.names]
        for candidates in (list(table.names), plain):
            wanted = text if candidates is not plain else text.lower()
            found = [i for i, name in enumerate(candidates) if name == wanted]
            if len(found) > 1:
                raise InputError(f"{path.name} has {len(found)} columns named {text!r}; give '{option}' as a number.")
            if found:
                return found[0]
    if re.fullmatch(r"[+-]?\d+", text) and 1 <= int(text) <= table.n_columns:
        return int(text) - 1
    raise InputError(
        f"{path.name} has no column {text!r} for '{option}' (--{option}); its columns are {', '.join(_labels(table))}."
    )


def _labels(table: Table) -> list[str]:
    numbers = [str(i + 1) for i in range(table.n_columns)]
    labels = [f"{i} '{name}'" for i, name in zip(numbers, table.names, strict=True)] if table.names else numbers
    return labels if len(labels) <= 20 else [*labels[:19], f"… {labels[-1]}"]


def is_time_name(name: str) -> bool:
    """t or time in any case, with or without a unit: ``Time [s]``, ``t_ms``, ``time/s``."""
    return TIME_NAME.fullmatch(split_unit(name)[0]) is not None or name == PANDAS_INDEX


def split_unit(name: str) -> tuple[str, str]:
    """``current (mA)`` → ``current``, ``mA``."""
    match = UNIT.fullmatch(name)
    if match is None or not match["name"]:
        return name, ""
    return match["name"], match["square"] or match["round"] or match["slash"] or ""


def time_unit_of(name: str) -> str:
    base, unit = split_unit(name)
    match = TIME_NAME.fullmatch(base)
    return unit or (match[3] if match and match[3] else "")


def _open(path: Path) -> Table:
    if path.is_dir():
        raise IsADirectoryError(path)
    suffix = path.suffix.lower()
    if suffix in {".npy", ".npz"}:
        return _open_numpy(path)
    if suffix in {".parquet", ".pq"}:
        return _open_parquet(path)
    if suffix == ".wav":
        return _open_wav(path)
    if suffix in {".edf", ".bdf"}:
        return _open_edf(path)
    return open_table(path)


def _open_numpy(path: Path) -> Table:
    with open(path, "rb") as file:
        try:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.lib.npyio.NpzFile):
                loaded = {name: loaded[name] for name in loaded.files}
        except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error):
            raise InputError(f"{path.name} is not a NumPy file of plain numbers, or it is damaged.") from None
    if isinstance(loaded, dict):
        return _npz_table(path, loaded)
    if loaded.dtype.names:
        names = tuple(loaded.dtype.names)
        return ArrayTable(path, tuple(loaded[name] for name in names), names)
    if loaded.ndim == 1:
        return ArrayTable(path, (loaded,))
    if loaded.ndim == 2 and loaded.shape[1] >= 1:
        return ArrayTable(path, tuple(loaded.T))
    raise InputError(f"{path.name} must hold one or two dimensions. Got the shape {loaded.shape} instead.")


def _npz_table(path: Path, arrays: dict[str, Any]) -> ArrayTable:
    """One column per one-dimensional array; a scalar called dt is the sampling interval."""
    names = tuple(name for name, a in arrays.items() if a.ndim == 1)
    if not names:
        raise InputError(f"{path.name} holds no one-dimensional array to be the record.")
    step = arrays.get("dt")
    stated = step is not None and step.ndim == 0 and step.dtype.kind in "iuf"
    steps = tuple(float(step) for _ in names) if stated and step is not None else ()
    return ArrayTable(path, tuple(arrays[name] for name in names), names, steps=steps)


def _open_parquet(path: Path) -> Table:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("Reading Parquet needs the 'tables' extra: pip install 'jetode[tables]'.") from None
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError):
        raise InputError(f"{path.name} is not a Parquet file, or it is damaged.") from None
    names = tuple(table.column_names)
    if not names:
        raise InputError(f"{path.name} has no columns.")
    return ArrayTable(path, tuple(table[name].to_numpy() for name in names), names)


def _open_wav(path: Path) -> Table:
    from scipy.io import wavfile

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wavfile.WavFileWarning)  # chunks of metadata it does not know
            rate, data = wavfile.read(path)
    except (ValueError, EOFError, struct.error):
        raise InputError(f"{path.name} is not a WAV file that can be read, or it is damaged.") from None
    channels = (data,) if data.ndim == 1 else tuple(data.T)
    return ArrayTable(path, channels, steps=tuple(1.0 / rate for _ in channels))


def _open_edf(path: Path) -> Table:
    try:
        import pyedflib
    except ImportError:
        raise InputError("Reading EDF needs the 'edf' extra: pip install 'jetode[edf]'.") from None
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with pyedflib.EdfReader(str(path)) as reader:
            indices = range(reader.signals_in_file)
            return ArrayTable(
                path,
                tuple(reader.readSignal(i) for i in indices),
                tuple(label.strip() for label in reader.getSignalLabels()),
                units=tuple(reader.getPhysicalDimension(i).strip() for i in indices),
                steps=tuple(1.0 / reader.getSampleFrequency(i) for i in indices),
            )
    except OSError:
        raise InputError(f"{path.name} is not an EDF file, or it is damaged.") from None
