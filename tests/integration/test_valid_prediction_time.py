"""VPT follows the paper's definition on hand-made errors, including forecasts that stop early."""

import numpy as np
import pytest

from jetode.integration.valid_prediction_time import interior_starts, lyapunov_times, valid_prediction_time
from jetode.support.errors import InputError

DT = 0.5
TRUTH = np.sin(0.3 * np.arange(201))
OFF = 10.0


def with_errors(*ranges: tuple[int, int]) -> np.ndarray:
    predicted = TRUTH.copy()
    for start, stop in ranges:
        predicted[start:stop] += OFF
    return predicted


def test_perfect_forecast_scores_the_horizon() -> None:
    assert valid_prediction_time(TRUTH, TRUTH, DT) == 200 * DT


def test_onset_of_the_first_long_run() -> None:
    assert valid_prediction_time(with_errors((10, 29), (50, 70), (90, 201)), TRUTH, DT) == 50 * DT


def test_short_runs_are_ignored_even_at_the_end() -> None:
    assert valid_prediction_time(with_errors((10, 29), (182, 201)), TRUTH, DT) == 200 * DT


def test_threshold_is_in_units_of_the_truths_std() -> None:
    offset = 0.25 * TRUTH.std()
    assert valid_prediction_time(TRUTH + offset, TRUTH, DT) == 0.0
    assert valid_prediction_time(TRUTH + offset, TRUTH, DT, threshold=0.3) == 200 * DT
    assert valid_prediction_time(1e6 * (TRUTH + offset), 1e6 * TRUTH, DT) == 0.0


@pytest.mark.parametrize("length", [0, 1, 77, 195, 200])
def test_a_forecast_that_stops_fails_where_it_ends(length: int) -> None:
    assert valid_prediction_time(TRUTH[:length], TRUTH, DT) == length * DT


def test_stop_joins_the_errors_before_it() -> None:
    assert valid_prediction_time(with_errors((60, 70))[:70], TRUTH, DT) == 60 * DT


def test_nan_is_an_error_and_longer_forecasts_are_cut() -> None:
    predicted = TRUTH.copy()
    predicted[40:] = np.nan
    assert valid_prediction_time(predicted, TRUTH, DT) == 40 * DT
    assert valid_prediction_time(np.append(TRUTH, 99.0), TRUTH, DT) == 200 * DT


def test_window_shorter_than_the_run() -> None:
    assert valid_prediction_time(TRUTH[:10] + OFF, TRUTH[:10], DT) == 9 * DT
    assert valid_prediction_time(TRUTH[:10] + OFF, TRUTH[:10], DT, run=5) == 0.0


@pytest.mark.parametrize("run", [202, 10**9, 10**300])
def test_a_run_longer_than_any_is_met_only_by_a_forecast_that_stops(run: int) -> None:
    assert valid_prediction_time(with_errors((0, 201)), TRUTH, DT, run=run) == 200 * DT
    assert valid_prediction_time(with_errors((10, 30), (60, 70))[:70], TRUTH, DT, run=run) == 60 * DT


def test_interior_starts_have_a_full_horizon() -> None:
    starts = interior_starts(6001, 2000)
    assert starts.size == 8 and starts[0] > 0 and starts[-1] + 2000 < 6000
    assert np.ptp(np.diff(starts)) <= 1
    with pytest.raises(InputError, match="horizon"):
        interior_starts(2001, 2000)


def test_lyapunov_times() -> None:
    assert lyapunov_times(20.0, 0.906) == pytest.approx(18.12)


@pytest.mark.parametrize(
    ("name", "bad"), [("dt", 0.0), ("threshold", -1.0), ("run", 0), ("truth", np.ones(50)), ("truth", [1.0])]
)
def test_bad_arguments(name: str, bad: object) -> None:
    arguments = {"predicted": TRUTH, "truth": TRUTH, "dt": DT, name: bad}
    with pytest.raises(InputError, match=name):
        valid_prediction_time(**arguments)  # type: ignore[arg-type]
