"""One small valid file of every input format and layout, from which damaged ones are made."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

N = 64
T = 0.5 + 0.25 * np.arange(N)
X = np.round(np.sin(np.arange(N) / 3) + 0.3 * np.sin(np.arange(N) / 1.7), 5)
START = np.datetime64("2024-02-28T23:59:50", "us")


def _rows(pattern: str = "{t},{x}") -> str:
    return "".join(pattern.format(t=t, x=x, i=i) + "\n" for i, (t, x) in enumerate(zip(T, X, strict=True)))


def _texts() -> dict[str, str]:
    stamps = [(START + np.timedelta64(250_000 * i, "us")).item() for i in range(N)]
    return {
        "plain.csv": "t,x\n" + _rows(),
        "columns.tsv": "time [s]\ta [V]\tb\n" + _rows("{t}\t{x}\t{i}"),
        "comma.csv": "Zeit;U\n" + _rows("{t};{x}").replace(".", ","),
        "space.txt": "# made by hand\n" + _rows("  {t}   {x}"),
        "one.dat": _rows("{x}"),
        "dates.csv": "Timestamp,x\n" + "".join(f"{s.isoformat(' ')},{x}\n" for s, x in zip(stamps, X, strict=True)),
        "german.csv": "Datum;Zeit;x\n"
        + "".join(f"{s:%d.%m.%Y};{s:%H:%M:%S},{s:%f};{x}\n" for s, x in zip(stamps, X, strict=True)),
        "keysight.csv": "x-axis,1,2\nsecond,Volt,Volt\n" + _rows("{t:+.8E},{x:+.5E},{i}"),
        "rigol.csv": "X,CH1,Start,Increment,\nSequence,Volt,-6.0e-04,1.0e-06\n" + _rows("{i},{x:.2e},,"),
        "tds.csv": "".join(
            f"{left},{t:018.12f},{x:10.5f},\n"
            for left, t, x in zip(
                ["Record Length,64,", "Sample Interval,0.25,", "Vertical Units,V,"] + [",,"] * (N - 3),
                T,
                X,
                strict=True,
            )
        ),
        "siglent.csv": "Record Length,Analog:64\nSample Interval,Analog:0.25\nVertical Units,CH1:V\nSource,CH1\n"
        "Second,Volt\n" + _rows(),
        "pico.csv": "Time,Channel A\n(ms),(V)\n\n" + _rows(),
        "labview.lvm": "LabVIEW Measurement\t\nX0\t0.5\t\nDelta_X\t0.25\t\n***End_of_Header***\t\t\n"
        "X_Value\tUntitled\tComment\n" + _rows("{t}\t{x}"),
        "sep.csv": "sep=;\nt;x\n" + _rows("{t};{x}"),
    }


def write_samples(folder: Path) -> list[Path]:
    """The files, each with the library of its format; formats without their library are left out."""
    for name, text in _texts().items():
        (folder / name).write_text(text)
    (folder / "utf16.csv").write_bytes(_texts()["plain.csv"].encode("utf-16"))
    (folder / "packed.csv.gz").write_bytes(gzip.compress(_texts()["plain.csv"].encode()))
    np.save(folder / "vector.npy", X)
    np.save(folder / "matrix.npy", np.stack([T, X], axis=1))
    fields = np.zeros(N, dtype=[("time", "f8"), ("x", "f4")])
    fields["time"], fields["x"] = T, X
    np.save(folder / "fields.npy", fields)
    np.savez(folder / "plain.npz", t=T, x=X)
    np.savez_compressed(folder / "packed.npz", x=X, dt=0.25)
    for write in (_parquet, _wav, _edf, _matlab, _hdf5, _excel, _tdms):
        try:
            write(folder)
        except ImportError:
            continue
    return sorted(folder.iterdir())


def _parquet(folder: Path) -> None:
    pd.DataFrame({"t": T, "x": X}).to_parquet(folder / "plain.parquet")
    dates = pd.DatetimeIndex(START + np.arange(N) * np.timedelta64(250, "ms"))
    pd.DataFrame({"x": X, "note": "a"}, index=dates).to_parquet(folder / "dates.parquet")


def _wav(folder: Path) -> None:
    from scipy.io import wavfile

    wavfile.write(folder / "short.wav", 8000, (1e4 * X).astype(np.int16))
    wavfile.write(folder / "float.wav", 8000, np.stack([X, -X], axis=1).astype(np.float32))


def _edf(folder: Path) -> None:
    import pyedflib

    for kind, bits, type_ in (("edf", 15, pyedflib.FILETYPE_EDF), ("bdf", 23, pyedflib.FILETYPE_BDFPLUS)):
        header = {"dimension": "uV", "sample_frequency": 4, "physical_min": -2, "physical_max": 2, "transducer": ""}
        header |= {"digital_min": -(2**bits), "digital_max": 2**bits - 1, "prefilter": "", "label": "ecg"}
        with pyedflib.EdfWriter(str(folder / f"plain.{kind}"), 1, file_type=type_) as file:
            file.setSignalHeaders([header])
            file.writeSamples([X])


def _matlab(folder: Path) -> None:
    from scipy.io import savemat

    savemat(folder / "plain.mat", {"t": T, "x": X})
    savemat(folder / "packed.mat", {"run": {"x": X, "fs": 4.0}}, do_compression=True)
    savemat(folder / "old.mat", {"x": X, "dt": 0.25}, format="4")
    import hdf5storage

    hdf5storage.savemat(str(folder / "new.mat"), {"t": T, "x": X}, format="7.3", matlab_compatible=True)


def _hdf5(folder: Path) -> None:
    import h5py

    with h5py.File(folder / "plain.h5", "w") as file:
        file["time"] = T
        file.create_dataset("run/x", data=X, compression="gzip")
        file["run/x"].attrs["units"] = "mV"
    with h5py.File(folder / "dates.nc", "w") as file:
        file["time"] = np.arange(N)
        file["time"].attrs["units"] = "hours since 2024-02-28 23:59:50"
        file["x"] = X


def _excel(folder: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["Time [s]", "U [V]"])
    for t, x in zip(T.tolist(), X.tolist(), strict=True):
        book.active.append([t, x])
    book.save(folder / "plain.xlsx")


def _tdms(folder: Path) -> None:
    import nptdms

    waveform = {"wf_increment": 0.25, "wf_start_offset": 0.5, "wf_start_time": START, "unit_string": "mV"}
    with nptdms.TdmsWriter(folder / "plain.tdms") as file:
        file.write_segment([nptdms.ChannelObject("run", "x", X, properties=waveform)])
        file.write_segment([nptdms.ChannelObject("run", "x", X)])
