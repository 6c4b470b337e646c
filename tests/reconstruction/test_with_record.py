"""A model at the end of another record: it starts there, knows its path, and says which of several it uses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import jetode
from jetode.cli.main import cli
from jetode.support.errors import InputError

SAVED = Path(__file__).parent / "saved"
N, DT = 3001, 0.01


def lorenz(initial, dt=DT):
    """(record with 15 % noise, the truth and its continuation)."""
    whole = jetode.systems["lorenz"].simulate(33.0, dt=dt, initial=initial).observe("x")
    n = round(30.0 / dt) + 1
    noisy = jetode.add_noise(whole.values[:n], 0.15, np.random.default_rng(1))
    return jetode.Series(noisy, dt, name="x"), whole.values


@pytest.fixture(scope="module")
def model():
    return jetode.load(SAVED / "joint_lorenz.json")


@pytest.fixture(scope="module")
def other():
    return lorenz((1.0, 5.0, 20.0))


def test_the_forecast_starts_at_the_end_of_the_record_given(model, other):
    record, truth = other
    moved = model.with_record(record)
    assert moved.record.n == N and model.record.n == 6001
    np.testing.assert_array_equal(moved.end_state, moved.state(N - 1))
    ahead = moved.forecast(2.0)
    assert abs(ahead.values[0] - truth[N - 1]) < 0.3 * record.std
    assert jetode.valid_prediction_time(ahead.values, truth[N - 1 : N + 200], DT) > 0.5
    assert ahead.lower is not None and np.mean((ahead.lower <= truth[N - 1 : N + 200])[:50]) > 0.8
    assert abs(model.forecast(2.0).values[0] - ahead.values[0]) > 0.1 * record.std


def test_the_path_comes_with_the_record(model, other):
    record, truth = other
    moved = model.with_record(record)
    assert moved.path.shape == (N, 3) and moved.jet_path.shape == (N, 3)
    assert np.std(moved.path[:, 0] - truth[:N]) < 0.05 * record.std
    np.testing.assert_array_equal(moved.state(1000, past_only=False), moved.path[1000])
    again = moved.with_record(record)
    np.testing.assert_array_equal(again.path, moved.path)
    assert np.nanstd(moved.dynamics.residuals) == pytest.approx(1.0, abs=0.15)


def test_of_several_records_the_last_counts(model, other):
    first, last = lorenz((3.0, 1.0, 15.0))[0], other[0]
    moved = model.with_record([first, last])
    assert moved.record.count == 2 and len(moved.records) == 2
    np.testing.assert_array_equal(moved.end_state, model.with_record(last).end_state)
    assert moved.path.shape == (last.n, 3)


def test_a_model_of_the_papers_method_moves_too():
    model = jetode.load(SAVED / "paper_lorenz.json")
    whole = jetode.systems["lorenz"].simulate(33.0, initial=(1.0, 5.0, 20.0)).observe("x")
    ahead = model.with_record(whole.slice(0, N)).forecast(2.0)
    np.testing.assert_allclose(ahead.values, whole.values[N - 1 : N + 200], atol=0.02 * whole.std)


def test_a_record_is_decimated_as_the_fitted_one_was(model):
    fine, truth = lorenz((1.0, 5.0, 20.0), dt=0.005)
    halved = replace(model, record=replace(model.record, decimation=2))
    moved = halved.with_record(fine)
    assert moved.record.dt == pytest.approx(DT) and "decimated by 2" in moved.record.notes[0]
    end = round(moved.record.end / 0.005)
    assert abs(moved.forecast(0.5).values[0] - truth[end]) < 0.3 * fine.std
    with pytest.raises(InputError, match=r"0\.01 \(or 0\.005"):
        halved.with_record(jetode.Series(fine.values, 0.003))
    with pytest.raises(InputError, match="sampling interval"):
        model.with_record(fine)


def test_the_command_line_says_which_record_it_uses(tmp_path, other):
    first, last = lorenz((3.0, 1.0, 15.0))[0], other[0]
    for name, record in (("a.csv", first), ("b.csv", last)):
        np.savetxt(tmp_path / name, record.values)
    common = ["forecast", str(SAVED / "joint_lorenz.json"), "--horizon", "0.5", "--dt", "0.01"]
    both = CliRunner().invoke(cli, [*common, "--record", str(tmp_path / "a.csv"), "--record", str(tmp_path / "b.csv")])
    alone = CliRunner().invoke(cli, [*common, "--record", str(tmp_path / "b.csv")])
    own = CliRunner().invoke(cli, common)
    assert both.exit_code == alone.exit_code == own.exit_code == 0, both.output
    assert both.stdout == alone.stdout != own.stdout
    assert "Of 2 records" in both.stderr and "b.csv" in both.stderr and alone.stderr == ""
