"""Every spelling of the same record gives the same Series; what cannot be read names its file and line."""

from __future__ import annotations

import wave

import numpy as np
import pandas as pd
import pytest

from jetode.records.reading import read
from jetode.records.series import require_complete
from jetode.records.units import is_time_name, split_unit, time_unit_of
from jetode.support.errors import InputError

T = 0.5 + 0.25 * np.arange(40)
X = np.round(np.sin(np.arange(40) / 3), 4)


def rows(pattern="{t},{x}", decimal="."):
    lines = [pattern.format(t=f"{t:.2f}", x=f"{x:.4f}", i=i) for i, (t, x) in enumerate(zip(T, X, strict=True))]
    return "\n".join(lines).replace(".", decimal) + "\n"


def write(tmp_path, text, name="r.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


TEXTS = {
    "header": "t,x\n" + rows(),
    "capital time with unit": "Time [s],x\n" + rows(),
    "no header": rows(),
    "comments": "# made by hand\nt,x\n" + rows().replace("\n", "\n# note\n\n", 3),
    "header in comment": "# t,x\n" + rows(),
    "trailing comment": rows("{t},{x} # ok"),
    "bom": "\ufefft,x\n" + rows(),
    "tabs": "t\tx\n" + rows("{t}\t{x}"),
    "semicolons": "t;x\n" + rows("{t};{x}"),
    "decimal comma": "t;x\n" + rows("{t};{x}", ","),
    "decimal comma with tabs": rows("{t}\t{x}", ","),
    "decimal comma with spaces": rows("{t}   {x}", ","),
    "white space": "  t     x\n" + rows("  {t}  {x}"),
    "white space and units in the header": "time (s)  x [mV]\n" + rows("  {t}  {x}"),
    "comma and space": "t, x\n" + rows("{t}, {x}"),
    "crlf": ("t,x\n" + rows()).replace("\n", "\r\n"),
    "quoted": '"t","x"\n' + rows('"{t}","{x}"'),
    "delimiter at the end": "t,x\n" + rows("{t},{x},"),
    "delimiter at the end of all": "t,x,\n" + rows("{t},{x},"),
    "dates": "time,x\n" + "".join(f"2024-02-28T23:59:{v:06.3f},{x:.4f}\n" for v, x in zip(T, X, strict=True)),
    "no newline at the end": ("t,x\n" + rows()).rstrip(),
}


@pytest.mark.parametrize("case", TEXTS)
def test_spellings_of_one_record(tmp_path, case):
    series = read(write(tmp_path, TEXTS[case]))
    np.testing.assert_allclose(series.values, X, atol=1e-12)
    assert series.dt == pytest.approx(0.25)
    assert series.t0 == pytest.approx(0.0 if case == "dates" else 0.5)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig"])
def test_encodings(tmp_path, encoding):
    series = read(write(tmp_path, "t [µs],x [µV]\n" + rows(), encoding=encoding))
    assert (series.name, series.unit, series.time_unit) == ("x", "µV", "µs")


def test_decimal_comma_alone(tmp_path):
    series = read(write(tmp_path, rows("{x}", ",")), dt=0.25)
    np.testing.assert_allclose(series.values, X)


def test_counted_integers_are_two_columns(tmp_path):
    text = "".join(f"{i},{v}\n" for i, v in enumerate([3, 1, 4, 1, 5, 9, 2, 6, 5, 3]))
    series = read(write(tmp_path, text))
    np.testing.assert_array_equal(series.values, [3, 1, 4, 1, 5, 9, 2, 6, 5, 3])


def test_one_column_needs_dt(tmp_path):
    path = write(tmp_path, "current [mA]\n" + rows("{x}"))
    with pytest.raises(InputError, match="no time column; give the sampling interval"):
        read(path)
    series = read(path, dt=0.25, t0=7)
    assert (series.name, series.unit, series.dt, series.t0) == ("current", "mA", 0.25, 7.0)


@pytest.mark.parametrize("column", ["B", "b", "B [V]", "3", 3])
def test_column_by_name_or_number(tmp_path, column):
    path = write(tmp_path, "t,A [V],B [V]\n" + rows("{t},{i},{x}"))
    series = read(path, column=column)
    assert (series.name, series.unit) == ("B", "V")
    np.testing.assert_allclose(series.values, X)


def test_time_by_name_and_number(tmp_path):
    path = write(tmp_path, "x,clock\n" + rows("{x},{t}"))
    for clock in ("clock", 2, "2"):
        assert read(path, time=clock).t0 == 0.5
    path = write(tmp_path, "x,when,t\n" + rows("{x},{t},{i}"))
    assert read(path, column="x", time="when").dt == 0.25


def test_index_column_and_dt(tmp_path):
    series = read(write(tmp_path, rows("{i},{x}")), dt=0.01)
    assert (series.dt, series.t0) == (0.01, 0.0)
    np.testing.assert_allclose(series.values, X)


def test_empty_cells_are_gaps(tmp_path):
    lines = ["t,x", *rows().splitlines()]
    for row, cell in ((5, ""), (9, "NaN"), (11, "NA"), (12, "null")):
        lines[row] = lines[row].split(",")[0] + "," + cell
    series = read(write(tmp_path, "# one\n" + "\n".join(lines)))
    assert np.flatnonzero(np.isnan(series.values)).tolist() == [4, 8, 10, 11]
    with pytest.raises(InputError, match=r"4 of 40 are missing, first r.csv line 7 \(t = 1.5\)"):
        require_complete(series, "paper")
    with pytest.raises(InputError, match=r"first r[.]csv line 7"):
        require_complete(series.slice(2, 40), "paper")


def test_a_million_rows(tmp_path):
    n = 1_000_000
    path = tmp_path / "long.csv"
    values = np.sin(np.arange(n) / 50)
    with open(path, "w") as file:
        file.write("t,x\n")
        file.writelines(f"{i / 1000:.3f},{v:.6f}\n" for i, v in enumerate(values.tolist()))
    series = read(path)
    assert series.n == n and series.dt == pytest.approx(1e-3)
    np.testing.assert_allclose(series.values, values, atol=1e-6)


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.testing.assert_array_equal(read(tmp_path / "a.npy", dt=0.1).values, X)
    np.save(tmp_path / "b.npy", np.stack([T, X], axis=1).astype(np.float32))
    assert read(tmp_path / "b.npy").dt == pytest.approx(0.25)
    table = np.zeros(40, dtype=[("time", "f8"), ("x", "f8"), ("y", "f8")])
    table["time"], table["x"], table["y"] = T, X, 2 * X
    np.save(tmp_path / "c.npy", table)
    np.testing.assert_array_equal(read(tmp_path / "c.npy", column="y").values, 2 * X)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", t=T, x=X)
    assert read(tmp_path / "a.npz").name == "x"
    np.savez(tmp_path / "b.npz", x=X, dt=0.125)
    assert read(tmp_path / "b.npz").dt == 0.125
    assert read(tmp_path / "b.npz", dt=1).dt == 1


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"time [s]": T, "x (V)": X}).to_parquet(tmp_path / "a.parquet")
    series = read(tmp_path / "a.parquet")
    assert (series.dt, series.name, series.unit, series.time_unit) == (0.25, "x", "V", "s")
    dates = pd.date_range("2024-01-01", periods=40, freq="250ms")
    pd.DataFrame({"x": X}, index=dates).to_parquet(tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet").dt == pytest.approx(0.25)
    pd.DataFrame({"t": T, "x": [None, *X[1:]]}).to_parquet(tmp_path / "c.parquet")
    assert read(tmp_path / "c.parquet").has_gaps


def test_wav(tmp_path):
    path = tmp_path / "a.wav"
    samples = (1000 * X).astype(np.int16)
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, 8000, 40, "NONE", ""))
        file.writeframes(np.stack([samples, 2 * samples], axis=1).tobytes())
    with pytest.raises(InputError, match=r"several columns \(1, 2\)"):
        read(path)
    series = read(path, column=2)
    assert (series.dt, series.time_unit) == (1 / 8000, "s")
    np.testing.assert_array_equal(series.values, 2.0 * samples)


def test_edf(tmp_path):
    pyedflib = pytest.importorskip("pyedflib")
    path = tmp_path / "a.edf"
    header = {
        "dimension": "uV",
        "sample_frequency": 40,
        "physical_min": -2,
        "physical_max": 2,
        "digital_min": -32768,
        "digital_max": 32767,
        "transducer": "",
        "prefilter": "",
    }
    with pyedflib.EdfWriter(str(path), 2, file_type=pyedflib.FILETYPE_EDFPLUS) as file:
        file.setSignalHeaders([{**header, "label": "resp"}, {**header, "label": "ecg"}])
        file.writeSamples([X, 2 * X])
    series = read(path, column="ecg")
    assert (series.name, series.unit, series.dt, series.time_unit) == ("ecg", "uV", 1 / 40, "s")
    np.testing.assert_allclose(series.values, 2 * X, atol=1e-4)


@pytest.mark.parametrize("name", ["t", "T", "time", "TIME", "Time [s]", "t (ms)", "time/s", "t_us", "time_s"])
def test_time_names(name):
    assert is_time_name(name)


@pytest.mark.parametrize("name", ["x", "temp", "timer", "tt", "T1", "theta [rad]", ""])
def test_other_names(name):
    assert not is_time_name(name)


def test_units_of_names():
    assert split_unit("current (mA)") == ("current", "mA")
    assert split_unit("x") == ("x", "")
    assert split_unit("(x)") == ("(x)", "")
    assert (time_unit_of("t_ms"), time_unit_of("Time [h]"), time_unit_of("t")) == ("ms", "h", "")
