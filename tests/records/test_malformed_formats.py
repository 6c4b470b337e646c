"""Malformed files of the instrument and laboratory formats: one sentence that says what is wrong, exit 2, no output."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile

import h5py
import hdf5storage
import nptdms
import numpy as np
import openpyxl
import pyedflib
import pytest
from click.testing import CliRunner
from scipy.io import savemat

from jetode.cli.main import cli

N = 40
T = 0.25 * np.arange(N)
X = np.sin(np.arange(N) / 3)
ROWS = [list(row) for row in zip(T.tolist(), X.tolist(), strict=True)]
CSV = "t,x\n" + "".join(f"{t},{x}\n" for t, x in ROWS)


RIGOL = "X,CH1,Start,Increment,\nSequence,Volt,0,0\n"


def numbered(pattern):
    return "".join(pattern.format(i, x=x) + "\n" for i, (_, x) in enumerate(ROWS))


def matlab(variables, cut=None, **options):
    def write(path):
        savemat(path, variables, **options)
        path.write_bytes(path.read_bytes()[:cut])

    return write


def matlab_7_3(variables, change=lambda raw: raw):
    def write(path):
        hdf5storage.savemat(str(path), variables, format="7.3", matlab_compatible=True)
        path.write_bytes(change(path.read_bytes()))

    return write


def hdf5(fill, change=lambda raw: raw):
    def write(path):
        with h5py.File(path, "w") as file:
            fill(file)
        path.write_bytes(change(path.read_bytes()))

    return write


def excel(sheets, change=lambda raw: raw):
    def write(path):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(path)
        path.write_bytes(change(path.read_bytes()))

    return write


def without_member(ending):
    def change(raw):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                if not name.endswith(ending):
                    new.writestr(name, old.read(name))
        return out.getvalue()

    return change


def tdms(channels, change=lambda raw: raw):
    def write(path):
        with nptdms.TdmsWriter(path) as file:
            file.write_segment([nptdms.ChannelObject("run", n, d, properties=p) for n, d, p in channels])
        path.write_bytes(change(path.read_bytes()))

    return write


def edf(bits, change=lambda raw: raw, values=X, labels=("ecg",)):
    type_ = pyedflib.FILETYPE_EDF if bits == 15 else pyedflib.FILETYPE_BDF
    header = {"dimension": "uV", "sample_frequency": 4, "physical_min": -2, "physical_max": 2, "transducer": ""}
    header |= {"digital_min": -(2**bits), "digital_max": 2**bits - 1, "prefilter": ""}

    def write(path):
        with pyedflib.EdfWriter(str(path), len(labels), file_type=type_) as file:
            file.setSignalHeaders([{**header, "label": label} for label in labels])
            file.writeSamples([values] * len(labels))
        path.write_bytes(change(path.read_bytes()))

    return write


def data(content):
    raw = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(raw)


def put(at, new):
    return lambda raw: raw[:at] + new + raw[at + len(new) :]


def cut(n):
    return lambda raw: raw[:n]


def unequal(file):
    file["time"] = np.r_[T[:20], T[20:] + 3]
    file["x"] = X


def strings(file):
    file["x"] = ["a", "b"]


def two_dates(file):
    file["time"] = T
    file["time"].attrs["units"] = "hours since 2024-99-99"
    file["x"] = X


CASES = {
    # MATLAB up to version 7
    "empty.mat": (data(b""), [], "not a MATLAB file"),
    "prose.mat": (data("it was the best of times\n" * 20), [], "not a MATLAB file"),
    "cut header.mat": (matlab({"x": X}, 100), [], "not a MATLAB file"),
    "cut data.mat": (matlab({"x": X}, 300), [], "not a MATLAB file"),
    "cut packed.mat": (matlab({"x": X}, 250, do_compression=True), [], "not a MATLAB file"),
    "no sampling.mat": (matlab({"x": X}), [], "no time column; give the sampling interval"),
    "several.mat": (matlab({"t": T, "a": X, "b": X}), [], "several columns (1 't', 2 'a', 3 'b')"),
    "only text.mat": (matlab({"note": "hello"}), [], "no plain arrays; in MATLAB, save tables"),
    "only scalars.mat": (matlab({"fs": 3.0, "gain": 2.0}), [], "no plain arrays"),
    "cube.mat": (matlab({"x": np.ones((3, 4, 5))}), [], "no array of one or two dimensions"),
    "complex.mat": (matlab({"x": X + 1j, "fs": 4.0}), [], "does not hold real numbers"),
    "constant.mat": (matlab({"x": np.ones(40), "fs": 4.0}), [], "constant (1 at every sample)"),
    "short.mat": (matlab({"x": X[:5], "fs": 4.0}), [], "at least 8 samples"),
    "infinite.mat": (matlab({"x": np.append(X, np.inf), "fs": 4.0}), [], "sample 40: the value is infinite"),
    "unequal.mat": (matlab({"t": T**1.1, "x": X}), [], "The time step at unequal.mat sample"),
    "lengths.mat": (matlab({"t": T[:-1], "x": X}), [], "different lengths [39, 40]"),
    "rate 0.mat": (matlab({"x": X, "fs": 0.0}), [], "no time column"),
    "rows.mat": (matlab({"x": X, "fs": 4.0}), ["--skip-rows", "2"], "(--skip-rows) is for text and Excel"),
    "wrong name.mat": (matlab({"t": T, "x": X}), ["--column", "u"], "no column 'u' for 'column'"),
    # MATLAB 7.3
    "cut.mat": (matlab_7_3({"x": X}, cut(900)), [], "not a MATLAB file"),
    "only its title.mat": (matlab_7_3({"x": X}, cut(128)), [], "not a MATLAB file"),
    "no sampling 7.3.mat": (matlab_7_3({"x": X}), [], "no time column"),
    "text 7.3.mat": (matlab_7_3({"note": np.array(["abc"])}), ["--dt", "1"], "samples"),
    "overwritten.mat": (matlab_7_3({"x": X}, put(512, b"\0" * 300)), [], "not a MATLAB file"),
    # HDF5
    "empty.h5": (data(b""), [], "not an HDF5 file"),
    "prose.h5": (data("time,x\n"), [], "damaged (it begins with 'time,x'; a text file needs an ending such as .csv)"),
    "cut.h5": (hdf5(lambda f: f.update({"x": X}), cut(700)), [], "not an HDF5 file"),
    "nothing.h5": (hdf5(lambda f: None), [], "no array of one or two dimensions"),
    "only groups.h5": (hdf5(lambda f: f.create_group("a/b")), [], "no array"),
    "strings.h5": (hdf5(strings), [], "no array"),
    "cube.h5": (hdf5(lambda f: f.update({"x": np.ones((3, 4, 5))})), [], "no array"),
    "complex.h5": (hdf5(lambda f: f.update({"x": X + 1j})), ["--dt", "1"], "does not hold real numbers"),
    "unequal.h5": (hdf5(unequal), [], "The time step at unequal.h5 sample 20"),
    "two groups.h5": (hdf5(lambda f: f.update({"a": X, "b": X})), [], "columns 1 'a', 2 'b'"),
    "no date.nc": (hdf5(two_dates), [], "not an HDF5 file"),
    # Excel
    "empty.xlsx": (data(b""), [], "not an Excel workbook"),
    "prose.xlsx": (data("time,x\n"), [], "not an Excel workbook"),
    "zip.xlsx": (excel({"S": ROWS}, without_member("workbook.xml")), [], "not an Excel workbook"),
    "no sheet.xlsx": (excel({"S": ROWS}, without_member("sheet1.xml")), [], "without sheets"),
    "cut.xlsx": (excel({"S": ROWS}, cut(2000)), [], "not an Excel workbook"),
    "no rows.xlsx": (excel({"S": []}), [], "no rows of numbers in the first 200 rows of 1 sheet"),
    "words.xlsx": (excel({"A": [["a"]], "B": [["b"]]}), [], "no rows of numbers in the first 200 rows of 2 sheets"),
    "late.xlsx": (excel({"A": [["word"]] * 300 + ROWS}), [], "(--skip-rows)"),
    "cell.xlsx": (excel({"A": [*ROWS[:9], [9.0, "oops"], *ROWS[10:]]}), [], "row 10: 'oops' in column 2"),
    "several.xlsx": (excel({"A": [["t", "a", "b"]] + [[t, x, x] for t, x in ROWS]}), [], "several columns"),
    "two sheets.xlsx": (excel({"A": [["t", "x"], *ROWS], "B": [["t", "x"], *ROWS]}), [], "2 'A/x', 3 'B/t'"),
    "unequal.xlsx": (excel({"A": [["t", "x"], *ROWS[:9], *ROWS[12:]]}), [], "unequal.xlsx row 11"),
    "old.xls": (data(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)), [], "save it as .xlsx or CSV"),
    # TDMS
    "empty.tdms": (data(b""), [], "no channel with samples"),
    "prose.tdms": (data("time,x\n" * 9), [], "not a TDMS file"),
    "cut.tdms": (tdms([("x", X, {})], cut(40)), [], "no channel with samples"),
    "no samples.tdms": (tdms([("x", np.array([]), {})]), [], "no channel with samples"),
    "no sampling.tdms": (tdms([("x", X, {})]), [], "no time column"),
    "step 0.tdms": (tdms([("x", X, {"wf_increment": 0.0})]), [], "no time column"),
    "words.tdms": (tdms([("x", ["a", "b"], {})]), ["--dt", "1"], "does not hold real numbers"),
    "several.tdms": (tdms([("Time", T, {}), ("a", X, {}), ("b", X, {})]), [], "several columns"),
    "lengths.tdms": (tdms([("Time", T, {}), ("a", X[:30], {})]), [], "different lengths [30, 40]"),
    # EDF and BDF
    "empty.bdf": (data(b""), [], "not an EDF or BDF file"),
    "prose.bdf": (data("time,x\n" * 99), [], "not an EDF or BDF file"),
    "cut.bdf": (edf(23, cut(600)), [], "bytes where its header declares"),
    "longer.edf": (edf(15, lambda raw: raw + b"\0"), [], "bytes where its header declares"),
    "header only.edf": (edf(15, cut(256)), [], "not an EDF or BDF file"),
    "records.edf": (edf(15, put(236, b"9       ")), [], "bytes where its header declares"),
    "signals.bdf": (edf(23, put(252, b"9   ")), [], "not an EDF or BDF file"),
    "text.edf": (edf(15, put(244, b"eight   ")), [], "not an EDF or BDF file"),
    "duration 0.edf": (edf(15, put(244, b"0       ")), [], "duration 0.edf"),
    "several.bdf": (edf(23, labels=("a", "b")), [], "several columns (1 'a', 2 'b')"),
    "constant.edf": (edf(15, values=np.zeros(N)), [], "constant"),
    # gzip and text of instruments
    "empty.csv.gz": (data(b""), [], "holds no data"),
    "cut.csv.gz": (data(gzip.compress(CSV.encode())[:100]), [], "not a gzip file"),
    "two bytes.csv.gz": (data(b"\x1f\x8b"), [], "not a gzip file"),
    "checksum.csv.gz": (data(gzip.compress(CSV.encode())[:-8] + bytes(8)), [], "not a gzip file"),
    "binary.csv.gz": (data(gzip.compress(bytes(range(256)) * 9)), [], "not a text file (its first bytes are"),
    "only a preamble.csv": (data("Model,DSO\nPoints,10\nXInc,1e-6\n"), [], "no rows of numbers in its first 3 lines"),
    "no step.csv": (data("Model,DSO\nData,\n" + "".join(f"{x}\n" for x in X)), [], "give the sampling interval"),
    "rigol.csv": (data(RIGOL + numbered("{0},{x},,").replace("1,", "7,", 1)), [], "rigol.csv"),
    "row in the middle.csv": (data(CSV.replace("\n2.5,", "\nChannel 2\n2.5,")), [], "line 12"),
    "midnight.csv": (data("time,x\n" + numbered("25:61:{0:02d},{x}")), [], "'25:61:00'"),
    "zones.csv": (
        data("time,x\n" + numbered("2024-01-01T00:00:{0:02d},{x}") + "2024-01-01T00:01:00Z,1\n"),
        [],
        "42: only some",
    ),
    "skipped.csv": (data(CSV), ["--skip-rows", "99"], "holds no data"),
    "negative.csv": (data(CSV), ["--skip-rows", "-1"], "must be ≥ 0"),
    "infinite.csv": (data(CSV + "10.1,1e999\n"), ["--resample", "0.2"], "line 42: the value is infinite"),
    "resample.csv": (data(CSV), ["--resample", "-1"], "'resample' parameter must be a number > 0"),
    "unpacked.npz": (data(struct.pack("<I", 0x04034B50) + bytes(60)), [], "not a NumPy file"),
}


def test_there_are_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize("command", ["diagnose", "reconstruct"])
@pytest.mark.parametrize("name", CASES)
def test_one_sentence_and_exit_2(tmp_path, name, command):
    write, options, says = CASES[name]
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / name)
    out = ["--out", str(tmp_path / "out")] if command == "reconstruct" else []
    result = CliRunner().invoke(cli, [command, str(folder / name), *out, *options])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    assert says in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["in"] and [p.name for p in folder.iterdir()] == [name]
