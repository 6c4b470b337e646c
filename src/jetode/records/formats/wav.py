"""Sound files: channels 1, 2, … at the stated rate."""

from __future__ import annotations

from pathlib import Path

from jetode.records.formats.base import Format, register, understood
from jetode.records.table import ArrayTable, Column, Reading
from jetode.support.errors import InputError

WHAT = "a WAV file"


def open_wav(path: Path, reading: Reading) -> ArrayTable:
    from scipy.io import wavfile

    with understood(path, WHAT):
        rate, data = wavfile.read(path)  # metadata it does not know only warns
        channels = [data] if data.ndim == 1 else list(data.T)
    if rate <= 0:
        raise InputError(f"{path.name} states a sampling rate of {rate}; it is not a WAV file of a record.")
    if not data.size:
        raise InputError(f"{path.name} is a WAV file without samples.")
    return ArrayTable(path, [Column(step=1.0 / rate, time_unit="s")] * len(channels), channels)


register(Format("WAV", (".wav",), open_wav, magic=(b"RIFF", b"RIFX", b"RF64")))
