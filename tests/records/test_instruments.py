"""Text files as instruments write them: each layout of the same record gives the same Series."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from jetode.records.reading import read
from jetode.records.units import unit_symbol
from jetode.support.errors import InputError

N = 60
DT = 2e-6
T = -4e-5 + DT * np.arange(N)
V = np.round(np.sin(np.arange(N) / 4), 4)


def pairs(pattern="{t:.10e},{v:.4f}", scale=1.0):
    return "".join(pattern.format(i=i, t=scale * t, v=v) + "\n" for i, (t, v) in enumerate(zip(T, V, strict=True)))


def tektronix_tds():
    """Preamble in the fields to the left of the first rows."""
    left = ["Record Length,2.5e+03,", f"Sample Interval,{DT:e},", "Trigger Point,1.25e+03,", ",,", ",,", ",,"]
    left += [
        "Source,CH1,",
        "Vertical Units,V,",
        "Vertical Scale,1.0e+00,",
        "Horizontal Units,s,",
        "Model Number,TDS1002,",
    ]
    left += [",,"] * (N - len(left))
    return "".join(f"{a},{b}\n" for a, b in zip(left, pairs("{t:018.12f},{v:10.5f},").splitlines(), strict=True))


LAYOUTS = {
    "Keysight InfiniiVision": ("x-axis,1\nsecond,Volt\n" + pairs("{t:+.8E},{v:+.5E}"), {}),
    "Keysight InfiniiVision, 2 channels": (
        "x-axis,1,2\nsecond,Volt,Volt\n" + pairs("{t:+.8E},{v:+.5E},{i}"),
        {"column": "1"},
    ),
    "Keysight Infiniium": (
        f"Revision,1.0\nType,raw\nStart,0\nPoints,{N}\nCount,1\nXInc,{DT:e}\nXOrg,{T[0]:e}\nXUnits,Second\nYUnits,Volt\n"
        "Date,12 Nov 2024\nTime,10:22:03\nData,\n" + pairs(),
        {},
    ),
    "Keysight Infiniium, values only": (
        f"Type:          raw\nPoints:        {N}\nXInc:          {DT:E}\nXOrg:          {T[0]:E}\nXUnits: second\n"
        "YUnits: Volt\nData:\n" + pairs("{v:.4f}"),
        {},
    ),
    "Rigol DS1000Z": (
        f"X,CH1,Start,Increment,\nSequence,Volt,{T[0]:e},{DT:e}\n" + pairs("{i},{v:.2e},,"),
        {},
    ),
    "Rigol MSO5000": (f"Time(s),CH1(V),t0 = {T[0]:e}, tInc = {DT:e},\n" + pairs("{t:.6e},{v:.4f},"), {}),
    "Rigol DHO, values only": (f"CH1(V),t0 ={T[0]:e}s, tInc = {DT:e},\n" + pairs("{v:.4f},,"), {}),
    "Tektronix TDS": (tektronix_tds(), {}),
    "Tektronix MSO": (
        f"Model,MSO3034\nFirmware Version,2.38\n\nWaveform Type,ANALOG\nPoint Format,Y\nHorizontal Units,s\n"
        f"Horizontal Scale,4e-06\nSample Interval,{DT}\nRecord Length,{N}\nGating,0.0% to 100.0%\nVertical Units,V\n,\n"
        "Label,\nTIME,CH1\n" + pairs(),
        {},
    ),
    "PicoScope": ("Time,Channel A\n(us),(V)\n\n" + pairs("{t:.8f},{v:.8f}", 1e6), {}),
    "PicoScope, German": (
        "Zeit;Kanal A\n(us);(V)\n\n" + pairs("{t:.8f};{v:.8f}", 1e6).replace(".", ","),
        {},
    ),
    "Siglent": (
        f"Record Length,Analog:{N}\nSample Interval,Analog:{DT:.2e}\nVertical Units,CH1:V\nVertical Scale,CH1:1.00\n"
        "Horizontal Units,s\nModel Number,SDS1104X-E\nSoftware Version,8.2.6.1.37R9\nSource,CH1\nSecond,Volt\n"
        + pairs("{t:.10f},{v:.5f}"),
        {},
    ),
    "Rohde & Schwarz": ("in s,CH1 in V\n" + pairs("{t:E},{v:E}"), {}),
    "LeCroy": (
        f"LECROYWS434,12345,Waveform\nSegments,1,SegmentSize,{N}\nSegment,TrigTime,TimeSinceSegment1\n"
        "#1,09-Nov-2010 12:45:12,0\nTime (s),Ampl (V)\n" + pairs(),
        {},
    ),
    "LabVIEW .lvm": (
        "LabVIEW Measurement\t\nWriter_Version\t2\nDate\t2024/11/12\n***End_of_Header***\t\n\t\n"
        f"Channels\t1\t\nSamples\t{N}\t\nY_Unit_Label\tV\t\nX0\t{T[0]:e}\t\nDelta_X\t{DT:e}\t\n"
        "***End_of_Header***\t\t\nX_Value\tUntitled\tComment\n" + pairs("{t:.10e}\t{v:.4f}"),
        {},
    ),
    "sep= line": ("sep=;\nTime [s];U [V]\n" + pairs("{t:.10e};{v:.4f}"), {}),
    "sep= line, decimal comma": ('"sep=;"\nTime [s];U [V]\n' + pairs("{t:.10e};{v:.4f}").replace(".", ","), {}),
    "units row": ("time,voltage\ns,V\n" + pairs(), {}),
    "units row in brackets": ("time\tvoltage\n[s]\t[V]\n" + pairs("{t:.10e}\t{v:.4f}"), {}),
    "numbers in the preamble, skipped by hand": ("3.5\n" * 4 + "time [s],U [V]\n" + pairs(), {"skip_rows": 4}),
    "long preamble, skipped by hand": ("a line of words\n" * 500 + "time [s],U [V]\n" + pairs(), {"skip_rows": 500}),
    "header with number signs": ("time [s],Sensor #1 [V]\n" + pairs(), {}),
}


def write(tmp_path, text, name="scope.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("case", LAYOUTS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_layouts_of_instruments(tmp_path, case, packed):
    text, options = LAYOUTS[case]
    path = write(tmp_path, text)
    if packed:
        path = tmp_path / "scope.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    series = read(path, **options)
    scale = 1e6 if series.time_unit == "us" else 1.0
    np.testing.assert_allclose(series.values, V, atol=6e-3 if "DS1000Z" in case else 1e-4)
    assert series.time_unit == ("us" if "Pico" in case else "s")
    assert series.dt == pytest.approx(scale * DT, rel=1e-6)
    assert series.t0 == pytest.approx(scale * T[0], rel=1e-6)
    assert series.unit == "V"


def test_coarsely_printed_times_with_a_stated_interval(tmp_path):
    """A scope that prints 6 digits of a time far from 0 states its interval in the preamble."""
    rows = "".join(f"{1 + 3.3e-6 * i:.6f},{v}\n" for i, v in enumerate(V))
    series = read(write(tmp_path, "Sample Interval,3.3e-6\nVertical Units,V\nTIME,CH1\n" + rows))
    assert series.dt == pytest.approx(3.3e-6)


def test_clipped_samples_of_picoscope_are_named(tmp_path):
    text = "Time,Channel A\n(us),(V)\n\n" + pairs("{t:.8f},{v:.8f}", 1e6)
    lines = text.splitlines()
    lines[20] = lines[20].split(",")[0] + ",-∞"
    with pytest.raises(InputError, match="line 21: the value is infinite"):
        read(write(tmp_path, "\n".join(lines)))


DATES = {
    "iso": ("%Y-%m-%dT%H:%M:%S.%f", True),
    "iso with a space": ("%Y-%m-%d %H:%M:%S.%f", True),
    "utc": ("%Y-%m-%dT%H:%M:%S.%fZ", True),
    "German": ("%d.%m.%Y %H:%M:%S.%f", True),
    "British": ("%d/%m/%Y %H:%M:%S.%f", True),
    "American": ("%m/%d/%Y %I:%M:%S.%f %p", True),
    "Japanese": ("%Y/%m/%d %H:%M:%S.%f", True),
    "month by name": ("%d-%b-%Y %H:%M:%S.%f", True),
    "two digits of the year": ("%d.%m.%y %H:%M:%S.%f", True),
    "time of day": ("%H:%M:%S.%f", False),
}


@pytest.mark.parametrize("case", DATES)
def test_local_dates(tmp_path, case):
    """40 samples of 0.25 s over the midnight after 28 February 2023."""
    pattern, dated = DATES[case]
    start = np.datetime64("2023-02-28T23:59:55", "us")
    stamps = [(start + np.timedelta64(250_000 * i, "us")).item() for i in range(40)]
    text = "Timestamp;x [mV]\n" + "".join(f"{s.strftime(pattern)};{v}\n" for s, v in zip(stamps, V, strict=False))
    series = read(write(tmp_path, text))
    assert (series.dt, series.t0, series.time_unit, series.unit) == (pytest.approx(0.25), 0.0, "s", "mV")
    assert series.start == (start if dated else None)
    np.testing.assert_array_equal(series.values, V[:40])
    if dated:
        assert series.timestamps[-1] == np.datetime64(stamps[-1])
        assert series.slice(10, 40).timestamps[0] == np.datetime64(stamps[10])


@pytest.mark.parametrize(("delimiter", "header"), [(",", "Date,Time,x\n"), (";", "Datum;Zeit;x\n"), (" ", "")])
def test_day_and_time_in_two_columns(tmp_path, delimiter, header):
    start = np.datetime64("2024-02-28T23:59:30", "us")
    stamps = [(start + np.timedelta64(2 * i, "s")).item() for i in range(40)]
    rows = [
        delimiter.join([s.strftime("%Y-%m-%d"), s.strftime("%H:%M:%S"), str(v)])
        for s, v in zip(stamps, V, strict=False)
    ]
    series = read(write(tmp_path, header + "\n".join(rows)))
    assert (series.dt, series.start) == (2.0, start)


def test_zones_convert_to_utc(tmp_path):
    rows = "".join(f"2024-03-01T01:00:{i:02d}+01:30,{v}\n" for i, v in enumerate(V))
    assert read(write(tmp_path, "time,x\n" + rows)).start == np.datetime64("2024-02-29T23:30:00")


def test_a_day_that_can_be_read_in_two_ways(tmp_path):
    within = "".join(f"03/04/2024 10:00:{i:02d},{v}\n" for i, v in enumerate(V[:40]))
    series = read(write(tmp_path, "time,x\n" + within))
    assert (series.dt, series.start) == (1.0, None)  # the steps are certain, the day is not
    days = "".join(f"{i + 1:02d}/04/2024,{v}\n" for i, v in enumerate(V[:30]))
    assert read(write(tmp_path, "date,x\n" + days)).dt == 86400.0
    months = "".join(f"{i + 1:02d}/01/2024,{v}\n" for i, v in enumerate(V[:12]))
    with pytest.raises(InputError, match="'01/01/2024' can be read with the day or the month first"):
        read(write(tmp_path, "date,x\n" + months))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no data"),
        ("hello\nworld\nthis is prose\n", r"no rows of numbers in its first 3 lines \(line 1 'hello', line 2 'world'"),
        ("word\n" * 300, "skip it with 'skip_rows' \\(--skip-rows\\)"),
        ("t,x\n" + "".join(f"31/02/2024 10:00:{i},{i % 7}\n" for i in range(10, 40)), "no days of a calendar"),
        ("t,x\n0,1\n1,2\noops,3\n3,4\n4,2\n5,4\n6,3\n7,4\n", "line 4: 'oops' in column 't' is not a number"),
    ],
)
def test_what_is_not_understood_says_what_was_seen(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(write(tmp_path, text))


def test_skip_rows_is_checked(tmp_path):
    path = write(tmp_path, "t,x\n" + pairs())
    with pytest.raises(InputError, match="'skip_rows' parameter must be ≥ 0"):
        read(path, skip_rows=-1)
    with pytest.raises(InputError, match="holds no data"):
        read(path, skip_rows=1000)
    np.save(tmp_path / "a.npy", V)
    with pytest.raises(InputError, match="for text and Excel"):
        read(tmp_path / "a.npy", dt=1, skip_rows=1)


@pytest.mark.parametrize(
    ("cell", "unit"), [("(ms)", "ms"), ("Volt", "V"), ("mV", "mV"), ("[]", ""), ("x", None), ("CH1", None)]
)
def test_cells_of_units_rows(cell, unit):
    assert unit_symbol(cell) == unit


@pytest.mark.parametrize(
    ("said", "step"),
    [("# dt=0.02", 0.02), ("# sampling_rate_hz=200", 0.005), ("# a pendulum\n# fs: 50 Hz\n# MIT", 0.02)],
)
def test_an_interval_in_a_comment(tmp_path, said, step):
    path = tmp_path / "angle.csv"
    path.write_text(f"{said}\nvalue\n" + "\n".join(f"{0.1 * i % 1:.3f}" for i in range(40)) + "\n")
    record = read(path)
    assert record.dt == pytest.approx(step) and record.n == 40 and record.t0 == 0.0
    assert read(path, dt=0.5).dt == 0.5  # what a person says goes before what the file says
