"""Forecasts: the paper's settings in any unit, early stops, the file."""

from pathlib import Path

import numpy as np
import pytest

from jetode.equations.field import Field
from jetode.integration.dop853 import Stop, integrate, integrate_many
from jetode.integration.forecast import forecast, forecast_many
from jetode.support.errors import InputError
from truths import LORENZ_FIELD, LORENZ_JETS_FIELD, lorenz_jets

SCALE = np.array([7.9, 45.0, 700.0])


def test_forecast_of_the_exact_closure() -> None:
    """From 20 starts: N/D is 0/0 at the pole, where rounding decides how much of one forecast in twenty is lost."""
    starts = integrate(LORENZ_FIELD, [1.0, 0.0, 0.0], 31, 2.0, rtol=1e-12, atol=1e-12, max_steps=10**6).states[11:]
    truths = [run.states[:, 0] for run in integrate_many(LORENZ_FIELD, starts, 301, 0.01, rtol=1e-12, atol=1e-12)]
    runs = forecast_many(LORENZ_JETS_FIELD, [lorenz_jets(s) for s in starts], SCALE, 3.0, 0.01)
    for ahead in runs:
        assert ahead.completed and ahead.stop_time == pytest.approx(3.0)
        assert np.allclose(ahead.t, 0.01 * np.arange(301))
        assert np.array_equal(ahead.values, ahead.states[:, 0]) and ahead.lower is None
    errors = [np.max(np.abs(ahead.values - truth)) for ahead, truth in zip(runs, truths, strict=True)]
    assert np.median(errors) < 0.002 * SCALE[0]


def test_same_forecast_in_other_units() -> None:
    amplitude, time = 1e6, 1e-3
    units = amplitude / time ** np.arange(3)
    factor = {e: np.prod((1 / units) ** np.array(e)) for e in LORENZ_JETS_FIELD.rows[0]}
    numerator = {e: c * factor[e] for e, c in LORENZ_JETS_FIELD.rows[0].items()}
    other = Field(3, (numerator,), {(1, 0, 0): 3.0 / amplitude * time**3 / amplitude})
    start = np.array([4.0, 5.0, 6.0])
    here = forecast(LORENZ_JETS_FIELD, start, SCALE, 1.0, 0.01)
    there = forecast(other, start * units, SCALE * units, 1.0 * time, 0.01 * time)
    assert there.states.shape == here.states.shape
    assert np.allclose(there.states / units, here.states, rtol=1e-6, atol=1e-6)


def test_stopped_forecast_is_short() -> None:
    runaway = Field(2, ({(2, 0): 1.0},))
    ahead = forecast(runaway, [1.0, 1.0], [1.0, 1.0], 100.0, 0.1)
    assert ahead.stop is Stop.DIVERGED and ahead.t.size == ahead.values.size < 1001
    assert ahead.t[-1] <= ahead.stop_time < 100.0


def test_many_is_one_by_one_and_read_only() -> None:
    starts = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    both = forecast_many(LORENZ_JETS_FIELD, starts, SCALE, 0.5, 0.01)
    assert np.array_equal(both[1].values, forecast(LORENZ_JETS_FIELD, starts[1], SCALE, 0.5, 0.01).values)
    assert not both[0].values.flags.writeable


def test_csv_round_trip(tmp_path: Path) -> None:
    ahead = forecast(LORENZ_JETS_FIELD, [4.0, 5.0, 6.0], SCALE, 0.5, 0.01)
    ahead.to_csv(tmp_path / "ahead.csv")
    table = np.loadtxt(tmp_path / "ahead.csv", delimiter=",", skiprows=1)
    assert (tmp_path / "ahead.csv").read_text().startswith("t,value\n")
    assert np.array_equal(table, np.column_stack([ahead.t, ahead.values]))


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="horizon"):
        forecast(LORENZ_JETS_FIELD, [1.0, 1.0, 1.0], SCALE, 0.001, 0.01)
    with pytest.raises(InputError, match="backend"):
        forecast(LORENZ_JETS_FIELD, [1.0, 1.0, 1.0], SCALE, 1.0, 0.01, backend="euler")
