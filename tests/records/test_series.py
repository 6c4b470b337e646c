"""A Series is checked once: what it accepts, what it refuses, and the words it uses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from jetode.records.series import Series, require_complete, require_samples, uniform_step
from jetode.support.errors import InputError

WAVE = np.sin(np.arange(50) / 3)


def test_values_are_a_read_only_copy():
    source = WAVE.copy()
    series = Series(source, dt=0.1, t0=2.0)
    source[0] = 99.0
    assert series.values[0] == WAVE[0]
    with pytest.raises(ValueError, match="read-only"):
        series.values[0] = 1.0
    assert series.n == len(series) == 50
    assert series.std == pytest.approx(WAVE.std())
    assert series.duration == pytest.approx(4.9)
    np.testing.assert_allclose(series.times, 2.0 + 0.1 * np.arange(50))


@pytest.mark.parametrize("kind", [np.float32, np.int16, bool, list])
def test_other_number_types_become_float64(kind):
    values = [0, 1, 0, 1, 1, 0, 1, 0, 1]
    series = Series(values if kind is list else np.array(values, dtype=kind), dt=1)
    assert series.values.dtype == np.float64
    np.testing.assert_array_equal(series.values, values)


def test_slice_keeps_the_time_axis():
    part = Series(WAVE, dt=0.1, t0=1.0, name="x", unit="V").slice(10, 30)
    assert (part.n, part.t0, part.name, part.unit) == (20, pytest.approx(2.0), "x", "V")
    assert part.with_values(part.values * 2).t0 == part.t0


def test_gaps():
    values = WAVE.copy()
    values[7] = np.nan
    series = Series(values, dt=0.5, t0=1.0)
    assert series.has_gaps and np.isfinite(series.std)
    with pytest.raises(InputError, match=r"'paper' method needs every sample.*first sample 7 \(t = 4.5\)"):
        require_complete(series, "paper")
    require_complete(Series(WAVE, dt=1), "paper")


def test_longest_stretch():
    values = WAVE.copy()
    values[[3, 30, 31]] = np.nan
    part = Series(values, dt=0.5).longest_stretch()
    np.testing.assert_array_equal(part.values, WAVE[4:30])
    assert part.t0 == 2.0
    assert Series(WAVE, dt=1).longest_stretch().n == 50


def test_require_samples():
    with pytest.raises(InputError, match="has 50 samples, but windows of half-width 40 needs at least 81"):
        require_samples(Series(WAVE, dt=1), 81, "windows of half-width 40")
    require_samples(Series(WAVE, dt=1), 50, "anything")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "at least 8 samples. Got 2"),
        ([1.0, 2.0] + [np.nan] * 20, "not missing. Got 2"),
        (np.ones(20), "constant"),
        (1e300 * WAVE, "order 1e.300; use a unit"),
        (1e-300 * WAVE, "order 1e-300; use a unit"),
        (np.append(WAVE, np.inf), "Sample 50 .* infinite"),
        (np.ones((4, 4)), r"single channel. Got the shape \(4, 4\)"),
        (["a"] * 10, "must be numbers"),
        (WAVE + 1j, "complex"),
    ],
)
def test_bad_values(values, words):
    with pytest.raises(InputError, match=words):
        Series(values, dt=1.0)


@pytest.mark.parametrize("dt", [0, -1, np.nan, np.inf, "fast", None])
def test_bad_dt(dt):
    with pytest.raises(InputError, match="'dt'"):
        Series(WAVE, dt=dt)


def test_bad_t0():
    with pytest.raises(InputError, match="'t0'"):
        Series(WAVE, dt=1, t0=np.nan)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("start", [0.0, -3.0, 1e6])
def test_uniform_step_in_any_unit(unit, start):
    times = unit * (start + 0.01 * np.arange(1000))
    assert uniform_step(times) == pytest.approx(0.01 * unit, rel=1e-5)


def test_rounded_times_are_uniform():
    with pytest.raises(InputError, match="equal steps"):
        uniform_step(np.append(0.25 * np.arange(60), 1e307))
    assert uniform_step(np.round(np.arange(1000) / 30, 3)) == pytest.approx(1 / 30, rel=1e-4)
    assert uniform_step(np.round(np.arange(1000) / 3, 2)) == pytest.approx(1 / 3, rel=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: np.r_[t[:10], t[9], t[10:]], "time at sample 10 .* repeats"),
        (lambda t: np.r_[t[:10], t[5], t[10:]], "time at sample 10 .* is earlier"),
        (lambda t: np.delete(t, 20), "time step at sample 20 is 0.2 where the others are 0.1"),
        (lambda t: t**1.2, "time step at sample"),
        (lambda t: np.where(t > 2, 10 * t + 1, 10 * t), "time step at sample 21 is 2 where the others are 1"),
        (lambda t: np.where(t > 2, 10 * t + 0.1, 10 * t), "time step at sample 21 is 1.1"),
        (lambda t: np.where(t > 2, np.nan, t), "not a finite number"),
        (lambda t: t[:1], "at least 8 samples"),
    ],
)
def test_unequal_times(change, words):
    with pytest.raises(InputError, match=words):
        uniform_step(change(0.1 * np.arange(50)))


def test_pandas_float_index_round_trip():
    series = Series.from_pandas(pd.Series(WAVE, index=3 + 0.25 * np.arange(50), name="x"), unit="mV")
    assert (series.dt, series.t0, series.name, series.unit) == (0.25, 3.0, "x", "mV")
    back = Series.from_pandas(series.to_pandas())
    np.testing.assert_array_equal(back.values, series.values)
    assert (back.dt, back.t0, back.name) == (0.25, 3.0, "x")


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s"])
def test_pandas_datetime_index(unit):
    index = pd.date_range("2024-03-01", periods=50, freq="2s").as_unit(unit)
    series = Series.from_pandas(pd.Series(WAVE, index=index))
    assert (series.dt, series.t0, series.time_unit) == (2.0, 0.0, "s")


def test_pandas_other_indices():
    assert Series.from_pandas(pd.Series(WAVE, index=pd.timedelta_range("0s", periods=50, freq="10ms"))).dt == 0.01
    assert Series.from_pandas(pd.Series(WAVE, index=pd.period_range("2024", periods=50, freq="h"))).dt == 3600.0
    assert Series.from_pandas(pd.Series(WAVE), dt=0.5).dt == 0.5
    nullable = pd.Series([1, 2, None, 4, 5, 6, 7, 8, 9, 10], dtype="Int64")
    assert np.isnan(Series.from_pandas(nullable, dt=1).values[2])


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (pd.Series(WAVE), "give the sampling interval as 'dt'"),
        (pd.Series(["a"] * 50, index=np.arange(50.0)), "must hold numbers"),
        (pd.Series(WAVE, index=[f"r{i}" for i in range(50)]), "index must hold times"),
        (pd.Series(WAVE, index=pd.DatetimeIndex(["2024"] * 49 + [None])), "missing times"),
    ],
)
def test_pandas_errors(series, words):
    with pytest.raises(InputError, match=words):
        Series.from_pandas(series)


@pytest.mark.parametrize("dt", [1e-300, 1e-31, 1e31, 1e300])
def test_steps_in_an_impossible_unit(dt):
    """Their fifth powers, which splines need, would be 0 or infinite."""
    with pytest.raises(InputError, match="use a unit of time"):
        Series(WAVE, dt=dt)
