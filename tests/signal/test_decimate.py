"""The rule for very long records: gain, whiteness, time axis, gaps, and when it applies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import freqz

import jetode
from jetode.records.resample import resampled
from jetode.signal.decimate import (
    DENSE,
    HALF,
    LONG,
    MOST,
    decimate,
    low_pass,
    reduce_all,
    samples_per_tc,
)
from jetode.support.errors import InputError


@pytest.mark.parametrize("factor", [2, 5, 20])
def test_gain_is_one_below_and_nothing_aliases(factor):
    passed = freqz(low_pass(factor), worN=2 * np.pi * np.linspace(0, 0.3, 301) / factor)[1]
    assert np.abs(np.abs(passed) - 1).max() < 2e-5
    stopped = freqz(low_pass(factor), worN=2 * np.pi * np.linspace(0.7, 0.5 * factor, 301) / factor)[1]
    assert np.abs(stopped).max() < 2e-5


def test_values_and_times_are_those_of_the_signal():
    t = 3.0 + 0.001 * np.arange(30_000)
    record = jetode.Series(np.sin(5 * t) + 0.1 * np.sin(40 * t), 0.001, t0=3.0, unit="V", time_unit="s")
    short = decimate(record, 7)
    np.testing.assert_allclose(short.values, np.sin(5 * short.times) + 0.1 * np.sin(40 * short.times), atol=2e-5)
    assert short.dt == pytest.approx(0.007) and short.unit == "V" and short.time_unit == "s"
    assert record.times[-1] - short.times[-1] == pytest.approx(HALF * 0.007)


def test_noise_stays_white_and_falls():
    rng = np.random.default_rng(0)
    left = decimate(jetode.Series(rng.standard_normal(400_000), 1.0), 10).values
    assert left.std() == pytest.approx(np.sqrt(0.1), rel=0.08)
    assert abs(np.corrcoef(left[1:], left[:-1])[0, 1]) < 0.08


def test_gaps_stay_gaps():
    values = np.sin(np.arange(20_000) / 100)
    values[9000:9200] = np.nan
    short = decimate(jetode.Series(values, 1.0), 10)
    missing = np.flatnonzero(np.isnan(short.values))
    assert np.all(np.diff(missing) == 1)
    times = short.times[missing]
    assert 9000 - 10 * HALF - 10 <= times[0] <= 9000 and 9199 <= times[-1] <= 9199 + 10 * HALF + 10


def test_the_rule():
    short = jetode.Series(np.sin(np.arange(LONG) / 100), 1.0)
    assert reduce_all([short]) == ((short,), [])
    rng = np.random.default_rng(1)
    dense = jetode.Series(np.sin(np.arange(60_000) / 100) + 0.1 * rng.standard_normal(60_000), 1.0)
    assert samples_per_tc(dense) == pytest.approx(100.0, rel=0.02)
    assert samples_per_tc(dense) > DENSE
    (reduced, other), notes = reduce_all([dense, short])
    assert reduced.dt == other.dt == 10.0 and reduced.n == pytest.approx(6000 - 2 * HALF, abs=1)
    assert len(notes) == 1 and "decimated by 10" in notes[0]
    (last,), notes = reduce_all([jetode.Series(np.sin(np.arange(MOST + 500) / 12), 1.0)])
    assert last.n == MOST and last.t0 == 500.0 and "last" in notes[0]


@pytest.mark.parametrize(("per_oscillation", "kept"), [(8.0, LONG), (40.0, 40_000), (90.0, MOST)])
def test_oscillations_are_limited_as_samples_are(per_oscillation, kept):
    rng = np.random.default_rng(3)
    wave = np.sin(2 * np.pi * np.arange(MOST + 500) / per_oscillation) + 0.05 * rng.standard_normal(MOST + 500)
    (last,), notes = reduce_all([jetode.Series(wave, 1.0)])
    assert last.n == pytest.approx(kept, rel=0.02) and len(notes) == 1
    assert last.times[-1] == MOST + 499.0


def test_resampling_on_request(tmp_path):
    rng = np.random.default_rng(2)
    t = np.cumsum(0.01 * rng.uniform(0.5, 1.5, 3000))
    t[1500:] += 0.5
    path = tmp_path / "unequal.csv"
    np.savetxt(path, np.column_stack([t, np.sin(t)]), delimiter=",", header="t,x", comments="")
    with pytest.raises(InputError, match="step"):
        jetode.read(path)
    record = jetode.read(path, resample=0.02)
    assert record.dt == 0.02 and record.t0 == pytest.approx(t[0])
    gap = np.isnan(record.values)
    assert 20 <= gap.sum() <= 27
    np.testing.assert_allclose(record.values[~gap], np.sin(record.times[~gap]), atol=1e-6)
    with pytest.raises(InputError, match="resample"):
        resampled(t, np.sin(t), 1e6)
    with pytest.raises(InputError, match="later"):
        resampled(t[::-1], np.sin(t), 0.1)


def test_a_wrong_date_does_not_make_a_grid_of_gaps():
    t = np.arange(64.0)
    t[0] = -5e6  # two months before the rest
    with pytest.raises(InputError, match="8 to 1000000 samples"):
        resampled(t, np.sin(t), 0.2)
