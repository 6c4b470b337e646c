"""Every binary format, written through its own library, gives back the record with its names, units and times."""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat, wavfile

from jetode.records import formats
from jetode.records.formats import base, format_of, open_table
from jetode.records.formats.mat5 import check_elements
from jetode.records.reading import read
from jetode.support.errors import InputError

N = 80
T = 0.5 + 0.25 * np.arange(N)
X = np.sin(np.arange(N) / 3)
START = np.datetime64("2024-02-28T23:59:50", "us")


def same(series, dt=0.25, t0=0.5, **said):
    np.testing.assert_allclose(series.values, X, atol=1e-6)
    assert (series.dt, series.t0) == (pytest.approx(dt), pytest.approx(t0))
    for name, value in said.items():
        assert getattr(series, name) == value


# -- a new format is one file --------------------------------------------------------------------------------------


TOY = """
import struct

import numpy as np

from jetode.records.formats.base import Format, register
from jetode.records.table import ArrayTable, Column


def open_toy(path, reading):
    raw = path.read_bytes()
    (rate,) = struct.unpack(">d", raw[3:11])
    values = np.frombuffer(raw[11:], dtype=">f8")
    return ArrayTable(path, [Column("x", unit="mV", step=1 / rate, time_unit="s")], [values])


register(Format("toy", (".toy",), open_toy, magic=(b"TOY",)))
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Big-endian numbers after the word TOY and a rate, read by one more file of the folder."""
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    formats._discover.cache_clear()
    yield
    formats._discover.cache_clear()
    base.FORMATS[:] = [f for f in base.FORMATS if f.name != "toy"]
    sys.modules.pop(f"{formats.__name__}.toy")


def toy_record(tmp_path):
    path = tmp_path / "record.toy"
    path.write_bytes(b"TOY" + struct.pack(">d", 4.0) + X.astype(">f8").tobytes())
    return path


def test_a_new_format_is_one_file(tmp_path, toy):
    path = toy_record(tmp_path)
    same(read(path), t0=0.0, unit="mV", name="x", time_unit="s")
    same(read(path.rename(tmp_path / "record.bin")), t0=0.0)  # known by its first bytes too


def test_without_its_file_the_format_is_unknown(tmp_path):
    with pytest.raises(InputError, match="not a text file"):
        read(toy_record(tmp_path))


def test_every_file_of_the_folder_is_found(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1\n")
    assert format_of(path).name == "text"
    assert {f.name for f in base.FORMATS} >= {
        "text",
        "NumPy",
        "Parquet",
        "WAV",
        "EDF",
        "MATLAB",
        "Excel",
        "HDF5",
        "TDMS",
    }


@pytest.mark.parametrize(
    ("ending", "module", "extra"),
    [
        (".parquet", "pyarrow", "tables"),
        (".edf", "pyedflib", "edf"),
        (".bdf", "pyedflib", "edf"),
        (".xlsx", "openpyxl", "excel"),
        (".h5", "h5py", "hdf5"),
        (".tdms", "nptdms", "tdms"),
        (".mat", "h5py", "matlab"),
    ],
)
def test_a_missing_library_is_one_sentence_that_names_the_extra(tmp_path, monkeypatch, ending, module, extra):
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"MATLAB 7.3 MAT-file" if ending == ".mat" else b"x")
    monkeypatch.setattr(base, "find_spec", lambda name: None if name == module else sys.modules.get(name))
    with pytest.raises(InputError, match=rf"needs the '{extra}' extra: pip install 'jetode\[{extra}\]'"):
        read(path)


# -- MATLAB --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("version", ["5", "4"])
def test_matlab_up_to_version_7(tmp_path, version, compressed):
    path = tmp_path / "a.mat"
    savemat(path, {"t": T, "x": X[:, None]}, format=version, do_compression=compressed and version == "5")
    same(read(path), name="x")
    savemat(path, {"x": X, "fs": 4.0}, format=version)
    same(read(path), t0=0.0, time_unit="s")
    savemat(path, {"data": np.stack([T, X], axis=1)}, format=version)
    same(read(path), name="data.2")
    savemat(path, {"data": np.stack([X, 2 * X]), "dt": 0.25}, format=version)
    same(read(path, column="data.1"), t0=0.0)


def test_matlab_structs(tmp_path):
    path = tmp_path / "a.mat"
    savemat(path, {"run": {"time": T, "x": X, "note": "hello"}, "other": np.arange(5.0)})
    same(read(path, column="x"))
    same(read(path, column="run/x"))
    with pytest.raises(InputError, match=r"several columns \(1 'other', 2 'run/time', 3 'run/x'\)"):
        read(path)


def test_matlab_elements_of_no_known_type_do_not_reach_scipy(tmp_path):
    """With an element's type set to 0 scipy's reader ends the process."""
    path = tmp_path / "a.mat"
    for variables in ({"t": T, "x": X}, {"run": {"x": X, "note": "hi", "cell": np.array([1, "a"], dtype=object)}}):
        savemat(path, variables)
        raw = path.read_bytes()
        check_elements(raw, 10**6)
        at = raw.rindex(struct.pack("<II", 9, 8 * N))  # the tag of the numbers
        for kind in (0, 8, 10, 19, 200):
            path.write_bytes(raw[:at] + struct.pack("<I", kind) + raw[at + 4 :])
            with pytest.raises(InputError, match="not a MATLAB file"):
                read(path)


def test_matlab_version_7_3(tmp_path):
    hdf5storage = pytest.importorskip("hdf5storage")
    path = tmp_path / "a.mat"
    hdf5storage.savemat(str(path), {"t": T, "x": X}, format="7.3", matlab_compatible=True)
    assert path.read_bytes().startswith(b"MATLAB 7.3")
    same(read(path), name="x")
    path.unlink()
    hdf5storage.savemat(str(path), {"run": {"x": X, "fs": 4.0}}, format="7.3", matlab_compatible=True)
    same(read(path), t0=0.0, time_unit="s", name="x")


# -- HDF5 ----------------------------------------------------------------------------------------------------------


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["time"] = T
        file["x"] = X
        file["x"].attrs["units"] = "mV"
        file["time"].attrs["units"] = "ms"
    same(read(path), unit="mV", time_unit="ms", name="x")
    with h5py.File(path, "w") as file:
        file.create_dataset("day 1/ecg", data=X, compression="gzip")
        file["day 1/ecg"].attrs["sampling_rate"] = 4.0
        file["day 2/ecg"] = -X
        file["notes"] = "text is no column"
    same(read(path, column="day 1/ecg"), t0=0.0, time_unit="s")
    with pytest.raises(InputError, match="2 columns named 'ecg'"):
        read(path, column="ecg")
    with h5py.File(path, "w") as file:
        table = np.zeros(N, dtype=[("time", "f8"), ("x", "f4"), ("label", "S3")])
        table["time"], table["x"] = T, X
        file["run"] = table
    same(read(path))
    with h5py.File(path, "w") as file:
        file["time"] = T  # at the root it serves every group
        file["left/x"] = X
        file["right/x"] = 2 * X
    same(read(path, column="left/x"))
    same(read(path.rename(tmp_path / "a.bin"), column="left/x"))


def test_netcdf_times_count_from_their_date(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.nc"
    with h5py.File(path, "w") as file:
        file["time"] = np.arange(N) / 3600
        file["time"].attrs["units"] = "hours since 2024-02-28 23:59:50"
        file["x"] = X
    same(read(path), dt=1.0, t0=0.0, time_unit="s", start=START)


# -- Excel ---------------------------------------------------------------------------------------------------------


def workbook(path, sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_excel(tmp_path):
    rows = [list(row) for row in zip(T.tolist(), X.tolist(), strict=True)]
    path = tmp_path / "a.xlsx"
    same(read(workbook(path, {"S": [["Time [s]", "U (V)"], *rows]})), unit="V", time_unit="s", name="U")
    same(read(workbook(path, {"S": rows})))
    preamble = [["Measured by", "me"], [], ["Range", 3]]
    same(read(workbook(path, {"S": [*preamble, ["time", "U"], ["ms", "V"], *rows]})), unit="V", time_unit="ms")
    same(read(workbook(path, {"Notes": [["hello"]], "Data": [["t", "x"], *rows]})))
    two = {"A": [["t", "x"], *rows], "B": [["t", "x"], *rows[::-1]]}
    same(read(workbook(path, two), column="A/x"))
    same(read(workbook(path, {"S": [[1.0, 2.0]] * 5 + [["t", "x"]] + rows}), skip_rows=5))


def test_excel_dates_gaps_and_errors(tmp_path):
    stamps = [(START + np.timedelta64(250_000 * i, "us")).item() for i in range(N)]
    rows = [[s, x] for s, x in zip(stamps, X.tolist(), strict=True)]
    path = workbook(tmp_path / "a.xlsx", {"S": [["when", "x"], *rows]})
    same(read(path), t0=0.0, start=START, time_unit="s")
    rows[7][1] = None
    assert np.flatnonzero(np.isnan(read(workbook(path, {"S": [["when", "x"], *rows]})).values)).tolist() == [7]
    rows[9][1] = "oops"
    with pytest.raises(InputError, match="row 11: 'oops' in column 2 'x' is not a number"):
        read(workbook(path, {"S": [["when", "x"], *rows]}))
    rows = [[s.time(), x] for s, x in zip(stamps, X.tolist(), strict=True)]
    same(read(workbook(path, {"S": [["clock", "x"], *rows]})), t0=0.0, start=None)
    with pytest.raises(InputError, match=r"no rows of numbers.*--skip-rows"):
        read(workbook(path, {"S": [["only", "words"]] * 20}))
    with pytest.raises(InputError, match=r"save it as \.xlsx"):
        read(path.rename(tmp_path / "a.xls"))


# -- TDMS ----------------------------------------------------------------------------------------------------------


def test_tdms(tmp_path):
    tdms = pytest.importorskip("nptdms")
    path = tmp_path / "a.tdms"
    waveform = {"wf_increment": 0.25, "wf_start_offset": 0.5, "wf_start_time": START, "unit_string": "mV"}
    with tdms.TdmsWriter(path) as file:
        file.write_segment([tdms.ChannelObject("run", "x", X, properties=waveform)])
    same(read(path), unit="mV", time_unit="s", name="x")
    assert read(path).timestamps[0] == START + np.timedelta64(500, "ms")  # as npTDMS's own time_track counts
    with tdms.TdmsWriter(path) as file:
        for half in (slice(0, 40), slice(40, N)):  # in two segments, with a channel of times
            parts = [("a", "Time", T), ("a", "x", X), ("b", "Time", 2 * T), ("b", "y", X)]
            file.write_segment([tdms.ChannelObject(group, name, data[half]) for group, name, data in parts])
    same(read(path, column="x"))
    same(read(path, column="b/y"), dt=0.5, t0=1.0)
    with pytest.raises(InputError, match="several columns"):
        read(path)


# -- EDF and BDF ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["edf", "bdf"])
def test_edf_and_bdf(tmp_path, kind):
    pyedflib = pytest.importorskip("pyedflib")
    path = tmp_path / f"a.{kind}"
    bits = 15 if kind == "edf" else 23
    header = {"dimension": "uV", "sample_frequency": 4, "physical_min": -2, "physical_max": 2, "transducer": ""}
    header |= {"digital_min": -(2**bits), "digital_max": 2**bits - 1, "prefilter": ""}
    type_ = pyedflib.FILETYPE_EDFPLUS if kind == "edf" else pyedflib.FILETYPE_BDFPLUS
    with pyedflib.EdfWriter(str(path), 2, file_type=type_) as file:
        file.setStartdatetime(START.item())
        file.setSignalHeaders([{**header, "label": "resp"}, {**header, "label": "ecg"}])
        file.writeSamples([2 * X - X.mean(), X])
    series = read(path, column="ecg")
    assert (series.name, series.unit, series.dt, series.time_unit) == ("ecg", "uV", 0.25, "s")
    np.testing.assert_allclose(series.values, X, atol=4 / 2**bits)
    assert series.start == START
    if kind == "bdf":  # finer than the 16 bits of EDF
        assert np.abs(series.values - X).max() < 4 / 2**16 / 4


# -- sizes, damage -------------------------------------------------------------------------------------------------


def npy_bytes(header, data=b""):
    text = header.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def wav_bytes(bits=16, data=None, rate=8000, kind=1, channels=1, chunk=True, block=None):
    data = (1000 * X).astype("<i2").tobytes() if data is None else data
    block = max(1, channels * bits // 8) if block is None else block
    body = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, kind, channels, rate, rate * block, block, bits)
    body += b"data" + struct.pack("<I", len(data)) + data if chunk else b""
    return b"RIFF" + struct.pack("<I", len(body)) + body


NPY = "{'descr': '<f8', 'fortran_order': False, 'shape': (80,), }"
DAMAGED = {
    "open bracket.npy": npy_bytes("{'descr': '<f8', 'fortran_order': False, 'shape': (80,\n"),
    "open quote.npy": npy_bytes("{'descr': '''<f8', 'fortran_order': False, 'shape': (80,), }\n"),
    "no dictionary.npy": npy_bytes("80\n"),
    "deep header.npy": npy_bytes("(" * 300 + "\n"),
    "unknown type.npy": npy_bytes("{'descr': 'zz', 'fortran_order': False, 'shape': (80,), }\n"),
    "negative shape.npy": npy_bytes(NPY.replace("80", "-80") + "\n", X.tobytes()),
    "shape of terabytes.npy": npy_bytes(NPY.replace("80", "10**12") + "\n", X.tobytes()),
    "huge shape.npy": npy_bytes(NPY.replace("80", "1000000000000") + "\n", X.tobytes()),
    "version 9.npy": npy_bytes(NPY + "\n", X.tobytes()).replace(b"Y\x01", b"Y\x09", 1),
    "bytes of the header.npy": npy_bytes("\xff\xfe\x00" + NPY, X.tobytes()),
    "no data chunk.wav": wav_bytes(chunk=False),
    "empty data.wav": wav_bytes(data=b""),
    "bits 0.wav": wav_bytes(bits=0),
    "bits 7.wav": wav_bytes(bits=7),
    "bits 12.wav": wav_bytes(bits=12),
    "bits 40.wav": wav_bytes(bits=40),
    "bits 300.wav": wav_bytes(bits=300),
    "9 bytes a sample.wav": wav_bytes(bits=0, block=9),
    "float of 3 bytes.wav": wav_bytes(bits=32, kind=3, block=3),
    "no bytes a sample.wav": wav_bytes(channels=0, block=0),
    "float 16.wav": wav_bytes(kind=3),
    "rate 0.wav": wav_bytes(rate=0),
    "no channels.wav": wav_bytes(channels=0),
    "compressed.wav": wav_bytes(kind=0x55),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_numpy_and_wav(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(DAMAGED[name])
    try:
        series = read(path, dt=1.0 if name.endswith("npy") else None)
    except InputError as error:
        assert str(error).startswith(name) and "\n" not in str(error)
    else:  # scipy reads samples of 1 to 64 bits in their containers
        assert name.startswith("bits") and series.n >= 8


def test_encrypted_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, x=X, dt=0.25)
    raw = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(mark, at + 4)
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"a\.npz is encrypted"):
        read(path)


def bomb_npz(path, megabytes):
    """An .npz whose member declares and unpacks to many megabytes of zeros."""
    count = megabytes * 2**17
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as file,
    ):
        file.write(npy_bytes(NPY.replace("80", str(count)) + "\n"))
        block = bytes(2**24)
        for _ in range(megabytes // 16):
            file.write(block)


def test_an_npz_that_unpacks_to_gigabytes_is_refused_unopened(tmp_path, monkeypatch):
    path = tmp_path / "bomb.npz"
    bomb_npz(path, 256)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(InputError, match=r"declares 268 MB of content; it is not unpacked"):
        read(path)


@pytest.mark.parametrize("honest", [True, False], ids=["declared size", "size not declared"])
def test_gzip_bombs_are_refused(tmp_path, honest):
    path = tmp_path / "bomb.csv.gz"
    packer = zlib.compressobj(9, wbits=31)
    block = b"0.0,1.0\n" * 2**17
    packed = b"".join(packer.compress(block) for _ in range(100)) + packer.flush()
    if not honest:  # a second, small member states its own size only
        small = zlib.compressobj(9, wbits=31)
        packed += small.compress(b"1,2\n") + small.flush()
    path.write_bytes(packed)
    with pytest.raises(InputError, match="it is not unpacked" if honest else "unpacks to more than 100 times its size"):
        read(path)


def test_declared_sizes_of_hdf5_and_matlab(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", shape=(10**12,), chunks=(10**6,), dtype="f8", compression="gzip")
    with pytest.raises(InputError, match="declares 8e\\+06 MB"):
        read(tmp_path / "a.h5", dt=1.0)
    savemat(tmp_path / "a.mat", {"x": np.zeros(10**7)}, do_compression=True)
    with pytest.raises(InputError, match="declares 80 MB"):
        read(tmp_path / "a.mat", dt=1.0)


def test_what_the_hdf5_library_would_read_for_ever_is_refused(monkeypatch):
    """An attribute whose heap was damaged (case 19014 of the fuzzer's seed 1795001234)."""
    pytest.importorskip("h5py")
    monkeypatch.setattr("jetode.records.formats.hdf5_walk.SECONDS", 4.0)
    with pytest.raises(InputError, match="does not come to an end"):
        read(Path(__file__).parent / "damaged" / "endless_attribute.h5", column="x")


def test_what_would_take_gigabytes_of_memory_is_refused_in_another_process():
    """A length of an attribute (case 12652 of the fuzzer's seed 1795005555), for which libhdf5 takes 2 GB."""
    pytest.importorskip("h5py")
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="or it is damaged"):
        read(Path(__file__).parent / "damaged" / "long_attribute.nc")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_what_packs_well_is_not_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.repeat([0.0, 1.0, 0.5], 10**6), dt=1.0)
    assert read(tmp_path / "a.npz").n == 3 * 10**6


def test_a_signalling_nan_is_a_gap_without_a_warning(tmp_path):
    raw = np.append(X.astype(np.float32).view(np.uint32), np.uint32(0x7FA00000))
    wavfile.write(tmp_path / "a.wav", 8000, raw.view(np.float32))
    assert np.isnan(read(tmp_path / "a.wav").values[-1])


def test_wav_of_any_usual_depth(tmp_path):
    for kind, scale in ((np.int16, 1e4), (np.int32, 1e9), (np.float32, 1.0), (np.uint8, 100)):
        samples = (scale * (X + (1 if kind is np.uint8 else 0))).astype(kind)
        wavfile.write(tmp_path / "a.wav", 8000, samples)
        np.testing.assert_array_equal(read(tmp_path / "a.wav").values, samples.astype(float))


def test_text_columns_of_tables_are_left_out_of_the_choice(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"t": T, "label": ["a"] * N, "x": X})
    frame.to_parquet(tmp_path / "a.parquet")
    same(read(tmp_path / "a.parquet"), name="x")
    with pytest.raises(InputError, match="does not hold real numbers"):
        read(tmp_path / "a.parquet", column="label")
    assert len(open_table(tmp_path / "a.parquet").columns) == 3
