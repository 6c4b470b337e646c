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
BDF = b"\xffBIOSEMI"
UNDATED = np.datetime64("1985-01-01T00:00:00", "us")  # the format's first date, written where there is none


def open_edf(path: Path, reading: Reading) -> ArrayTable:
    pyedflib = library("pyedflib", "EDF", "edf")
    with understood(path, WHAT):
        _refuse_wrong_size(path)
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


def _refuse_wrong_size(path: Path) -> None:
    """The size that the header declares; pyedflib finds the same, but prints it to standard output."""
    with open(path, "rb") as file:
        fixed = file.read(256)
        signals = int(fixed[252:256])
        file.seek(216 * signals, 1)
        samples = sum(int(file.read(8)) for _ in range(signals))
    width = 3 if fixed.startswith(BDF) else 2
    declared = int(fixed[184:192]) + int(fixed[236:244]) * samples * width
    if declared != (size := path.stat().st_size):
        raise InputError(f"{path.name} has {size} bytes where its header declares {declared}; it is cut or damaged.")


def _load(path: Path, index: int) -> NDArray[Any]:
    pyedflib = library("pyedflib", "EDF", "edf")
    with understood(path, WHAT), pyedflib.EdfReader(str(path)) as reader:
        signal: NDArray[Any] = reader.readSignal(index)
        return signal


register(Format("EDF", (".edf", ".bdf", ".rec"), open_edf, "pyedflib", "edf", magic=(BDF,)))
