"""Physiological recordings: EDF, EDF+ and the 24-bit BDF of BioSemi, through pyedflib."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.records.formats.base import Format, library, register, understood
from jetode.records.table import ArrayTable, Column, Reading
from jetode.support.errors import InputError

WHAT = "an EDF or BDF file"
UNDATED = np.datetime64("1985-01-01T00:00:00", "us")  # the format's first date, written where there is none


def open_edf(path: Path, reading: Reading) -> ArrayTable:
    pyedflib = library("pyedflib", "EDF", "edf")
    with understood(path, WHAT), pyedflib.EdfReader(str(path)) as reader:
        start = np.datetime64(reader.getStartdatetime(), "us")
        labels = [label.strip() for label in reader.getSignalLabels()]
        rates = [reader.getSampleFrequency(i) for i in range(len(labels))]
        units = [reader.getPhysicalDimension(i).strip() for i in range(len(labels))]
    if not labels:
        raise InputError(f"{path.name} holds no signals.")
    columns = [
        Column(
            name=label,
            unit=unit,
            step=1.0 / rate if rate > 0 else None,
            time_unit="s",
            start=None if start <= UNDATED else start,
        )
        for label, unit, rate in zip(labels, units, rates, strict=True)
    ]
    return ArrayTable(path, columns, [partial(_load, path, i) for i in range(len(labels))])


def _load(path: Path, index: int) -> NDArray[Any]:
    pyedflib = library("pyedflib", "EDF", "edf")
    with understood(path, WHAT), pyedflib.EdfReader(str(path)) as reader:
        signal: NDArray[Any] = reader.readSignal(index)
        return signal


register(Format("EDF", (".edf", ".bdf", ".rec"), open_edf, "pyedflib", "edf", magic=(b"\xffBIOSEMI",)))
