"""What physiological recorders, loggers, multimeters and teaching sensors write: the same record from each layout."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from jetode.records.reading import read
from jetode.support.errors import InputError

N, DT = 60, 0.01
V = np.round(np.sin(np.arange(N) / 4), 4)
START = datetime(2026, 5, 4, 10)


def rows(pattern, step=DT):
    """One line per sample; {t} s from the start, {d} its date, {m} the milliseconds of it."""
    out = ""
    for i, v in enumerate(V.tolist()):
        d = START + timedelta(seconds=step * i)
        out += pattern.format(i=i, t=round(step * i, 6), v=v, d=d, m=d.microsecond // 1000) + "\n"
    return out


def german(text):
    return text.replace(".", ",")


LAB = "Interval=\t0.01 s\nExcelDateTime=\t4.6E4\t05/04/2026 10:00:00\nChannelTitle=\tPulse\tResp\n"
YOKOGAWA = (
    '"//YOKOGAWA ASCII FILE FORMAT"\n"TraceName","CH1"\n"BlockSize",60\n"VUnit","V"\n"HResolution",1.0E-02\n'
    '"HOffset",0.0\n"HUnit","s"\n"Date","2026/05/04"\n"Time","10:00:00.00"\n\n'
)
HOBO = '"Plot Title: pond"\n"#","Date Time, GMT+02:00","Temp, °C (LGR S/N: 1, SEN S/N: 2)","Attached (LGR S/N: 1)"\n'
# text, what is asked for, (name, unit, unit of time)
LAYOUTS = {
    "LabChart": (LAB + "Range=\t10.000 V\t5 mV\n" + rows("{t}\t{v}\t1"), {"column": "pulse"}, ("Pulse", "V", "s")),
    "LabChart, units": (
        LAB + "UnitName=\tmmHg\t*\nRange=\t10 V\t5 V\n" + rows("{t}\t{v}\t1"),
        {"column": "Pulse"},
        ("Pulse", "mmHg", "s"),
    ),
    "BIOPAC": (
        "a.acq\n10 msec/sample\n2 channels\nPPG\nVolts\nsec,CH1,CH2,\n,60,60,\n" + rows("{t},{v},1,"),
        {"column": "CH1"},
        ("CH1", "", "s"),
    ),
    "a multimeter with words": (
        "Model,DMM6500\n\nIndex,Reading,Unit,Relative Time\n" + rows("{i},{v},Volt DC,{t}"),
        {},
        ("Reading", "", ""),
    ),
    "events in words": (
        "Zeit;Puls;Ereignis\n" + german(rows("{t};{v};")).replace(";\n", ";Husten\n", 1),
        {},
        ("Puls", "", ""),
    ),
    "PASCO": ('"Time (s) Run #1","Angle (rad) Run #1"\n' + rows("{t},{v}"), {}, ("Angle", "rad", "s")),
    "Vernier": ('"Latest: Time (s)","Latest: Angle (rad)"\n' + rows("{t},{v}"), {}, ("Latest: Angle", "rad", "s")),
    "the serial monitor of Arduino": (rows("{d:%H:%M:%S}.{m:03d} -> {v}"), {}, ("", "", "s")),
    "WFDB": ("'Elapsed time','MLII'\n'hh:mm:ss.mmm','mV'\n" + rows("'0:{t:06.3f}',{v}"), {}, ("MLII", "mV", "s")),
    "Origin": ("Time\tVoltage\ns\tmV\n\tRun 1\n" + rows("{t}\t{v}"), {}, ("Voltage", "mV", "s")),
    "Hantek": ("#CHANNEL:CH1\n#CLOCK=10.0mS\n#SIZE=60\n\n" + rows("{v}"), {}, ("", "", "")),
    "OWON": ("Time interval : ,10.0000mS\nindex,CH1_Voltage(mV)\n" + rows("{i},{v}"), {}, ("CH1_Voltage", "mV", "s")),
    "Yokogawa": (YOKOGAWA + rows("{v:.5E},"), {}, ("", "V", "s")),
    "CH Instruments": (
        "May 4, 2026   10:00:00\ni - t Curve\nSample Interval (s) = 0.01\n\nTime/sec, Current/A\n\n" + rows("{t}, {v}"),
        {},
        ("Current", "A", "s"),
    ),
    "comments by percent": ("% made by MATLAB\n% fs = 100 Hz\n% x\n" + rows("{v}"), {}, ("x", "", "s")),
    "COMSOL": ("% Model: a.mph\n% Time (s)      u (m)\n" + rows("{t:<12}{v}"), {}, ("u", "m", "s")),
    "the index of pandas": (",t,x\n" + rows("{i},{t},{v}"), {}, ("x", "", "")),
    "Fortran": ("# t x\n" + rows("{t:.4E}  {v:.4E}").replace("E", "D"), {}, ("x", "", "")),
    "durations of pandas": (",x\n" + rows("0 days 00:00:{t:09.6f},{v}"), {}, ("x", "", "s")),
    "bars": ("time|x\n" + rows("{t}|{v}"), {}, ("x", "", "")),
    "a chest belt": (
        "Phone timestamp;sensor timestamp [ns];ecg [uV]\n" + rows("{d:%Y-%m-%dT%H:%M:%S}.{m:03d};{i}0000000;{v}"),
        {},
        ("ecg", "uV", "s"),
    ),
    "a monitor": ("SamplingRate=100\n\nECG II,SpO2\n" + rows("{v},1"), {"column": "ECG II"}, ("ECG II", "", "s")),
    "seconds": ("Sekunden;Wert\n" + german(rows("{t};{v}")), {}, ("Wert", "", "s")),
    "since 1970 in ms": (
        "timestamp,x\n" + "".join(f"{1777888800000 + 10 * i},{v}\n" for i, v in enumerate(V.tolist())),
        {},
        ("x", "", "s"),
    ),
}


@pytest.mark.parametrize("case", LAYOUTS)
def test_the_same_record_from_every_layout(tmp_path, case):
    text, asked, (name, unit, time_unit) = LAYOUTS[case]
    path = tmp_path / "record.txt"
    path.write_text(text, encoding="utf-8")
    series = read(path, **asked)
    np.testing.assert_allclose(series.values, V, atol=1e-9)
    assert series.dt == pytest.approx(DT, rel=1e-6)
    assert (series.name, series.unit, series.time_unit) == (name, unit, time_unit)


def test_a_temperature_logger(tmp_path):
    path = tmp_path / "hobo.csv"
    path.write_text(HOBO + rows("{i},{d:%m/%d/%y %I:%M:%S %p},{v},", step=60.0))
    series = read(path)
    assert (series.name, series.unit, series.dt) == ("Temp", "°C", 60.0)
    assert str(series.start).startswith("2026-05-04T10:00:00")
    np.testing.assert_array_equal(series.values, V)


def test_days_with_points_have_the_day_first(tmp_path):
    path = tmp_path / "pulse.csv"
    path.write_text(
        "Datum;Uhrzeit;Atmung [l/min]\n" + rows("{d:%d.%m.%Y;%H:%M:%S},{m:03d};{v}").replace(";-0.", ";-0,")
    )
    assert str(read(path).start).startswith("2026-05-04T10:00:00")


def test_points_that_group_digits(tmp_path):
    path = tmp_path / "pressure.csv"
    cells = [f"{101325 + 1000 * v:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") for v in V.tolist()]
    path.write_text("Zeit [s];p [Pa]\n" + "".join(f"{german(str(i * DT))};{c}\n" for i, c in enumerate(cells)))
    np.testing.assert_allclose(read(path).values, 101325 + 1000 * V, atol=0.006)


def test_a_clock_of_whole_seconds_needs_the_interval(tmp_path):
    path = tmp_path / "coarse.csv"
    path.write_text("Zeit;Puls\n" + rows("{d:%H:%M:%S};{v}", step=0.1).replace(".", ","))
    with pytest.raises(InputError, match=r"too coarsely to show the sampling interval; give it as 'dt' \(--dt\)"):
        read(path)
    assert read(path, dt=0.1).dt == 0.1
    with pytest.raises(InputError, match="too coarsely"):
        read(path, dt=0.5)


def test_several_columns_are_named_with_an_example(tmp_path):
    path = tmp_path / "several.csv"
    path.write_text("Zeit;Puls;Trigger\n" + rows("{t};{v};0"))
    with pytest.raises(InputError, match=r"1 'Zeit', 2 'Puls', 3 'Trigger'.*\(--column 2\)"):
        read(path)
