"""Three people who were stuck once, step by step, each to a result that she can use."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import jetode

ENVIRONMENT = os.environ | {"COLUMNS": "110"}


def jetode_command(folder, *words):
    command = [sys.executable, "-m", "jetode", *map(str, words)]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=600)


def plain_language(text):
    """No enum names, no backticks, no tracebacks."""
    assert not re.search(r"\b(COMPLETED|DIVERGED|STEP_TOO_SMALL|STEP_LIMIT|POLE)\b|`|Traceback|\bnan\b", text), text


@pytest.mark.long
def test_a_physiologist_with_a_pulse(tmp_path):
    """Her recording holds no equation.  She learns so in words, is told what would help, and nothing is dressed up."""
    rng = np.random.default_rng(4)
    beats = np.cumsum(0.85 + 0.08 * rng.standard_normal(70))  # every beat comes when it wants to
    t = np.arange(0.0, 30.0, 0.025)
    pulse = sum(np.exp(-(((t - b) / 0.1) ** 2)) + 0.4 * np.exp(-(((t - b - 0.28) / 0.12) ** 2)) for b in beats)
    pulse = pulse + 0.03 * rng.standard_normal(t.size)
    stamps = pd.Timestamp("2026-05-04 10:00:00") + pd.to_timedelta(t, unit="s")
    pd.DataFrame({"Zeit": stamps, "Pleth [a.u.]": pulse}).to_csv(tmp_path / "pulse.csv", index=False)
    asked = jetode_command(tmp_path, "diagnose", "pulse.csv")
    assert asked.returncode == 0, asked.stderr
    plain_language(asked.stdout)
    done = jetode_command(tmp_path, "reconstruct", "pulse.csv", "--out", "result", "--max-seconds", 8)
    assert done.returncode in (3, 4), done.stderr  # she is never told that this is exact
    plain_language(done.stdout)
    verdict = done.stdout.split("verdict")[1]
    assert re.match(r"\s+(none|forecast|approximate): ", verdict)
    page = (tmp_path / "result" / "report.html").read_text()
    grade = re.search(r'data-grade="(\w+)"', page)[1]
    assert grade in done.stdout
    if grade == "none":
        assert "next" in done.stdout and 'id="h-equation"' not in page  # what to do, and no equation as if it were one
    else:
        assert re.search(r"hold for (about|at least) [\d.]+ s", done.stdout)
    forecast = pd.read_csv(tmp_path / "result" / "forecast.csv", parse_dates=["timestamp"])
    assert forecast["timestamp"][0] >= stamps[-1] - pd.Timedelta(1, "s")  # on her clock


@pytest.mark.long
def test_an_engineer_with_the_file_of_her_oscilloscope(tmp_path):
    """A preamble, a header of two lines and volts: read as it is, fitted, run on from later data, handed on."""
    values = jetode.systems["lorenz"].simulate(45.0).observe("x").values
    volts = 0.05 * jetode.add_noise(values, 0.03, np.random.default_rng(0))
    rows = "".join(f"{i * 1e-5:.5e},{v:.4f}\n" for i, v in enumerate(volts[:3001].tolist()))
    (tmp_path / "scope.csv").write_text(
        "Model,MSO4054\nFirmware Version,2.48\nSample Interval,1e-05,s\n\nTIME,CH1\nsecond,Volt\n" + rows
    )
    done = jetode_command(tmp_path, "reconstruct", "scope.csv", "--out", "result")
    assert done.returncode == 0, done.stdout + done.stderr
    plain_language(done.stdout)
    assert "CH1' = v" in done.stdout.replace("\u00a0", " ") and "V" in done.stdout and "exact" in done.stdout
    page = (tmp_path / "result" / "report.html").read_text()
    assert "V s⁻¹" in page and "hidden coordinate" in page
    later = "".join(f"{i * 1e-5:.5e},{v:.4f}\n" for i, v in enumerate(volts[3001:].tolist()))
    (tmp_path / "later.csv").write_text(f"TIME,CH1\nsecond,Volt\n{later}")
    ahead = jetode_command(
        tmp_path, "forecast", "result/model.json", "--horizon", 1e-3, "--record", "later.csv", "--out", "ahead.csv"
    )
    assert ahead.returncode == 0, ahead.stderr
    assert list(pd.read_csv(tmp_path / "ahead.csv").columns[:4]) == ["t", "value", "lower", "upper"]
    code = jetode_command(tmp_path, "export", "result/model.json", "--format", "matlab")
    assert code.returncode == 0 and "CH1 = state(1);" in code.stdout
    pages = jetode_command(tmp_path, "figures", "result/model.json", "--record", "scope.csv")
    assert pages.returncode == 0 and (tmp_path / "figures" / "forecast.pdf").exists()


NOTEBOOK = """
import numpy as np, pandas as pd, jetode
values = jetode.systems["rossler"].simulate(120.0, dt=0.04).observe("x").values
frame = pd.DataFrame({"V [mV]": values}, index=pd.date_range("2026-01-01", periods=values.size, freq="40ms"))
model = jetode.reconstruct(frame["V [mV]"][:2501])
ahead = model.forecast(2.0)
table = ahead.to_pandas()
error = np.abs(table["value"].to_numpy() - values[2500:2551]).max()
"""


@pytest.mark.long
def test_a_student_in_a_notebook_with_a_pandas_column():
    """Her column is taken, she sees that work goes on, and what comes back is in her own words and on her own clock."""
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [NOTEBOOK, "model", "ahead", "table.head(3)", "print(model.equation()); print(error)"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    first, shown, forecast, table, said = (cell["outputs"] for cell in book["cells"])
    assert any("Reconstructing" in str(out) for out in first)  # not silent
    html = "".join(shown[0]["data"]["text/html"])
    assert "verdict" in html and "<math" in html and "the recorded channel" in html
    assert "2026-01-01" in forecast[0]["data"]["text/plain"] and "<svg" in "".join(forecast[0]["data"]["text/html"])
    assert "2026-01-01 00:01:40" in table[0]["data"]["text/plain"] and "inner_lower" in table[0]["data"]["text/plain"]
    text = "".join(out.get("text", "") for out in said)
    assert text.startswith("V' = ") and float(text.split()[-1]) < 0.5
