"""LabVIEW's TDMS through npTDMS: channels are columns of their group, their waveform properties state the sampling."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats.base import Format, library, refuse_bomb, register, understood
from jetode.records.table import ArrayTable, Column, Kind, Reading, kind_of
from jetode.support.errors import InputError

WHAT = "a TDMS file"
BYTES = 8  # of a number after scaling


def open_tdms(path: Path, reading: Reading) -> ArrayTable:
    tdms = library("nptdms", "TDMS", "tdms")
    with understood(path, WHAT), _silent(), tdms.TdmsFile.read_metadata(path) as file:
        channels = [channel for group in file.groups() for channel in group.channels() if len(channel)]
        refuse_bomb(path, max((len(channel) * BYTES for channel in channels), default=0))
        several = len({channel.group_name for channel in channels}) > 1
        columns = [_column(channel, several) for channel in channels]
        loads = [partial(_load, path, channel.group_name, channel.name) for channel in channels]
    if not columns:
        raise InputError(f"{path.name} holds no channel with samples.")
    return ArrayTable(path, columns, loads)


@contextmanager
def _silent() -> Iterator[None]:
    """Without what npTDMS logs on the terminal; a recording that was cut short is read to its end."""
    handler = library("nptdms.log", "TDMS", "tdms").log_manager.console_handler
    level = handler.level
    handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        handler.setLevel(level)


def _column(channel: Any, several: bool) -> Column:
    properties = channel.properties
    step = properties.get("wf_increment")
    usable = isinstance(step, int | float) and np.isfinite(step) and step > 0
    start = properties.get("wf_start_time")
    return Column(
        name=channel.name,
        unit=str(properties.get("unit_string", "")),
        kind=_kind(channel.dtype),
        group=channel.group_name if several else "",
        step=float(step) if usable else None,
        t0=_number(properties.get("wf_start_offset")),
        time_unit="s" if usable else "",
        start=start.astype("datetime64[us]") if isinstance(start, np.datetime64) else None,
    )


def _kind(dtype: Any) -> Kind:
    return kind_of(np.dtype(dtype)) if dtype is not None else "other"


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else 0.0


def _load(path: Path, group: str, name: str) -> NDArray[Any]:
    tdms = library("nptdms", "TDMS", "tdms")
    with understood(path, WHAT), _silent(), tdms.TdmsFile.open(path) as file:
        data: NDArray[Any] = file[group][name][:]
        return data


register(Format("TDMS", (".tdms",), open_tdms, "nptdms", "tdms", magic=(b"TDSm",)))
