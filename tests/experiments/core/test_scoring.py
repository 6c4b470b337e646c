"""Scores: exact cases of the windowed valid prediction time, of coverage, and of the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.experiments.core import scoring
from jetode.experiments.core.oracle import Oracle, exact_regular
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.signal.noise import add_noise

PERIOD = 40
VALUES = np.sin(2 * np.pi * np.arange(2000) / PERIOD)
ENDS = np.array([500, 777, 1200])
TRUTH = scoring.truths(VALUES, ENDS, 4 * PERIOD)
STD = float(np.std(VALUES))


def test_a_perfect_forecast_has_no_error_and_the_whole_horizon():
    scores = scoring.score_runs(TRUTH, TRUTH, STD, PERIOD)
    assert scores["vpt"] == 4.0 and scores["quartiles"] == [4.0, 4.0]
    assert set(scores["error"].values()) == {0.0}
    assert not scoring.blown_up(TRUTH, VALUES).any()


def test_an_error_that_sets_in_is_seen_where_its_window_is_half_full_of_it():
    """rms over 4 samples of an error e from sample k on exceeds 0.4 where more than (0.4/e)² of the window is wrong."""
    error = np.zeros((3, 161))
    error[0, 50:], error[1, 50:], error[2, 50:] = 0.41, 0.39, 10.0
    np.testing.assert_allclose(windowed_vpt(error, PERIOD) * PERIOD, [50, 160, 47])


def test_a_single_wrong_sample_is_averaged_away():
    error = np.zeros((1, 161))
    error[0, 50] = 0.7  # rms over the window 0.35
    assert windowed_vpt(error, PERIOD) == [4.0]


def test_the_time_is_free_of_units():
    rng = np.random.default_rng(0)
    runs = TRUTH + 0.2 * np.cumsum(rng.standard_normal(TRUTH.shape), axis=1)
    one = scoring.score_runs(runs, TRUTH, STD, PERIOD)
    other = scoring.score_runs(1e6 * runs, 1e6 * TRUTH, 1e6 * STD, PERIOD)
    assert one["vpt"] == other["vpt"] < 4.0
    for at, value in one["error"].items():
        assert other["error"][at] == pytest.approx(value)


def test_a_forecast_that_ends_counts_as_blown_up():
    runs = TRUTH.copy()
    runs[1, PERIOD:] = np.nan
    runs[2, 3 * PERIOD] = 100.0
    assert scoring.blown_up(runs, VALUES).tolist() == [False, True, True]
    scores = scoring.score_runs(runs, TRUTH, STD, PERIOD)
    assert scores["times"][1] <= 1.0 and scores["times"][0] == 4.0
    runs[:, PERIOD:] = np.nan
    assert scoring.score_runs(runs, TRUTH, STD, PERIOD)["error"]["2"] is None


def test_coverage_counts_what_a_band_does_not_reach_as_outside():
    truth = np.arange(10.0)
    assert scoring.coverage(truth, truth - 1, truth + 1) == 1.0
    assert scoring.coverage(truth, (truth - 1)[:5], (truth + 1)[:5]) == 0.5
    assert scoring.coverage(truth, truth + 0.5, truth + 1) == 0.0


def test_starts_without_a_forecast_score_nothing():
    starts = [100, 200]
    runs = {100: VALUES[100:181], 200: None}
    assert scoring.vpts_within(runs.get, VALUES, starts, 80, 0.5) == [40.0, 0.0]


@pytest.fixture(scope="module")
def lorenz():
    return systems["lorenz"].simulate(40.0).observe("x")


def test_the_oracle_follows_the_truth(lorenz):
    true = exact_regular(systems["lorenz"].closure("x"))
    noisy = lorenz.with_values(add_noise(lorenz.values, 0.05, np.random.default_rng(1)))
    oracle = Oracle(true, noisy.slice(0, 3001))
    within, ahead = oracle.within(2000, 600), oracle.ahead(600)
    assert scoring.vpt_at(within, lorenz.values, 2000, 600, 0.01) > 2.0
    assert scoring.vpt_at(ahead, lorenz.values, 3000, 600, 0.01) > 2.0


def test_the_oracle_does_not_look_beyond_a_start(lorenz):
    true = exact_regular(systems["lorenz"].closure("x"))
    noisy = lorenz.with_values(add_noise(lorenz.values, 0.05, np.random.default_rng(1))).slice(0, 2001)
    later = noisy.values.copy()
    later[1501:] = 0.3
    sigma = 0.05 * noisy.std
    runs = [Oracle(true, noisy.with_values(values), sigma).within(1500, 50) for values in (noisy.values, later)]
    assert abs(runs[0][0] - runs[1][0]) < 0.05 * noisy.std


def test_exact_forms_have_no_rounding_left():
    lorenz = exact_regular(systems["lorenz"].closure("x"))
    assert set(lorenz.a) == {(0, 1)} and len(lorenz.P) == 4
