"""The fit as a whole: it forecasts what it has not seen, in any units, over gaps, and survives a trip through JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from jetode import systems
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.memory.fit import MemoryFit, fit_memory
from jetode.memory.settings import DEFAULT
from jetode.records.series import Series
from jetode.signal.trials import plan
from jetode.support.errors import InputError

QUICK = replace(DEFAULT, memories=((3, 0.3), (4, 0.6)), degree=3, lengths=(0.15,), kept=(4,))


@pytest.fixture(scope="module")
def record():
    x = systems["rossler"].simulate(600.0, dt=0.15, transient=100.0).states[:, 0]
    return Series(x + 0.01 * np.std(x) * np.random.default_rng(0).standard_normal(x.size), 0.15)


@pytest.fixture(scope="module")
def fitted(record):
    return fit_memory([record], plan([record]), QUICK)


def test_held_out_forecasts_reach_far(record, fitted):
    trials = plan([record])
    times = windowed_vpt((fitted.held_out - trials.truths([record])) / trials.spread, trials.period)
    assert fitted.held_out.shape == (trials.count, trials.steps + 1)
    assert np.median(times) > 1.5


def test_units_do_not_matter(record, fitted):
    """A power of two in amplitude and time: the same model to the last bits."""
    moved = Series(8.0 * record.values, record.dt / 4.0)
    other = fit_memory([moved], plan([moved]), QUICK)
    assert [m.n_terms for m in other.members] == [m.n_terms for m in fitted.members]
    np.testing.assert_allclose(other.members[0].coefficients, fitted.members[0].coefficients, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.held_out / 8.0, fitted.held_out, rtol=1e-5, atol=1e-6)
    assert other.members[0].theta == pytest.approx(fitted.members[0].theta / 4.0)


def test_a_forecast_sees_the_past_only(record, fitted):
    values = record.values.copy()
    ends = np.array([1500, 2500])
    runs = fitted.forecasts(values, ends, 60)
    values[2501:] = np.nan
    values[1501:1600] += 3.0
    later = fitted.forecasts(values, ends, 60)
    np.testing.assert_array_equal(runs[0], later[0])
    np.testing.assert_array_equal(fitted.forecasts(record.values[:2501], ends[1:], 60)[0], runs[1])


def test_gaps_and_several_records(record):
    """Missing samples, also at a start, and two records of one system."""
    values = record.values.copy()
    values[700:720] = values[1500] = values[2990:2996] = np.nan
    parts = [Series(values[:2000], record.dt), Series(values[2000:], record.dt)]
    fit = fit_memory(parts, plan(parts), QUICK)
    run = fit.forecasts(values, np.array([2995, 1500]), 40)
    error = (run - np.stack([record.values[e : e + 41] for e in (2995, 1500)])) / record.std
    assert np.isfinite(run).all() and np.sqrt(np.mean(error**2)) < 0.3


def test_json_round_trip(record, fitted):
    back = MemoryFit.from_json(json.loads(json.dumps(fitted.to_json())))
    ends = np.array([2000])
    np.testing.assert_array_equal(back.forecasts(record.values, ends, 50), fitted.forecasts(record.values, ends, 50))
    np.testing.assert_array_equal(back.held_out, fitted.held_out)


def test_an_interruption_ends_the_search(record):
    assert fit_memory([record], plan([record]), QUICK, lambda: True) is None


@pytest.mark.parametrize(("name", "value"), [("dt", 1e6), ("theta", 1e-9), ("step", 1e-9)])
def test_times_that_would_take_forever_are_refused(fitted, name, value):
    data = json.loads(json.dumps(fitted.to_json()))
    (data if name == "dt" else data["members"][0])[name] = value
    with pytest.raises(InputError, match="sampling interval"):
        MemoryFit.from_json(data)
