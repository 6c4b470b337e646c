"""Forecasts from new data and into absolute time: what a person gets back is in the terms of her own record."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import jetode
from jetode.cli.main import cli
from jetode.integration.dop853 import Stop
from jetode.integration.forecast import ENDED

SAVED = Path(__file__).parent / "saved"
START = np.datetime64("2026-03-01T08:00:00")


@pytest.fixture(scope="module")
def model():
    return jetode.load(SAVED / "joint_lorenz.json")


@pytest.fixture(scope="module")
def new():
    """Another stretch of the model's system, with dates."""
    values = jetode.systems["lorenz"].simulate(30.0, initial=(1.0, 5.0, 20.0)).observe("x").values
    noisy = jetode.add_noise(values, 0.15, np.random.default_rng(1))
    return jetode.Series(noisy, 0.01, t0=5.0, name="x", unit="mV", time_unit="s", start=START)


def test_a_new_record_is_one_argument(model, new):
    direct, moved = model.forecast(1.0, record=new), model.with_record(new).forecast(1.0)
    np.testing.assert_array_equal(direct.values, moved.values)
    np.testing.assert_array_equal(direct.lower, moved.lower)
    np.testing.assert_array_equal(model.forecast(1.0, record=new.values).values, direct.values)  # an array
    np.testing.assert_array_equal(model.forecast(1.0, record=new.to_pandas()).values, direct.values)


def test_times_are_those_of_the_record(model, new):
    ahead = model.forecast(1.0, record=new)
    assert ahead.times[0] == pytest.approx(35.0) and ahead.t[0] == 0.0
    later = model.forecast(1.0, record=new, start=2000)
    assert later.times[0] == pytest.approx(25.0)
    assert model.with_record(new).record.axis().unit == "mV"


def test_pandas_has_timestamps_and_all_bands(model, new):
    table = model.forecast(1.0, record=new).to_pandas()
    assert list(table.columns) == ["value", "lower", "upper", "inner_lower", "inner_upper"]
    assert table.index[0] == pd.Timestamp(START) + pd.Timedelta(35, "s") and len(table) == 101
    assert (table.index[1] - table.index[0]) == pd.Timedelta(10, "ms")
    inside = table["lower"].le(table["inner_lower"]) & table["inner_upper"].le(table["upper"])
    assert inside.all()
    plain = model.forecast(1.0).to_pandas()
    assert plain.index.dtype == float and plain.index.name == "t"
    assert plain.index[0] == pytest.approx(model.record.end)


def test_csv_has_the_same(model, new, tmp_path):
    ahead = model.forecast(1.0, record=new)
    ahead.to_csv(tmp_path / "ahead.csv")
    table = pd.read_csv(tmp_path / "ahead.csv", parse_dates=["timestamp"], float_precision="round_trip")
    assert list(table.columns) == ["t", "value", "lower", "upper", "inner_lower", "inner_upper", "timestamp"]
    np.testing.assert_array_equal(table["value"], ahead.values)
    assert (table["timestamp"] == ahead.to_pandas().index).all()


def test_a_saved_model_keeps_the_dates(model, new, tmp_path):
    model.with_record(new).save(tmp_path / "model.json")
    again = jetode.load(tmp_path / "model.json")
    assert again.record == model.with_record(new).record and again.record.start == START
    assert again.forecast(0.5).to_pandas().index[0] == pd.Timestamp(START) + pd.Timedelta(35, "s")


def test_the_command_scores_its_own_forecast(model, new, tmp_path):
    """A CSV with dates in it is still a forecast for `jetode score`, and starts where the record ends."""
    pd.DataFrame({"time": new.to_pandas().index, "x": new.values}).to_csv(tmp_path / "new.csv", index=False)
    run = CliRunner().invoke(
        cli,
        ["forecast", str(SAVED / "joint_lorenz.json"), "--horizon", "1", "--record", str(tmp_path / "new.csv"), "--out",
         str(tmp_path / "ahead.csv")],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    shown = pd.read_csv(tmp_path / "ahead.csv")
    assert shown["timestamp"][0].startswith("2026-03-01T08:00:35")
    (tmp_path / "truth.csv").write_text("t,x\n" + "\n".join(f"{0.01 * i:.2f},{np.sin(i)}" for i in range(101)) + "\n")
    score = CliRunner().invoke(cli, ["score", str(tmp_path / "ahead.csv"), str(tmp_path / "truth.csv")])
    assert score.exit_code == 0, score.output


def test_reprs_are_one_short_line_in_the_records_words(model, new):
    ahead = model.forecast(1.0, record=new)
    for shown, word in (
        (new, "x [mV]: 3001 samples, dt 0.01 s"),
        (ahead, "with bands"),
        (model, "grade exact"),
        (jetode.diagnose(new), "noise"),
    ):
        assert word in repr(shown) and len(repr(shown)) < 160 and "\n" not in repr(shown)
        assert repr(shown).startswith(type(shown).__name__)
    for view in (ahead, model.verdict, jetode.diagnose(new)):
        assert view._repr_html_().startswith("<div>")


def test_every_early_end_has_words(model, new):
    assert set(ENDED) == set(Stop) - {Stop.COMPLETED}
    ahead = model.forecast(1.0, record=new)
    short = replace(ahead, stop=Stop.DIVERGED)
    assert ahead.ended == "" and "DIVERGED" not in repr(short) + short._repr_html_() and short.ended in repr(short)
