"""Trials: starts lie in what is held out, the fit sees none of it, and every start is followed by what was measured."""

from __future__ import annotations

import numpy as np

from jetode.records.series import Series
from jetode.signal.trials import TrialSettings, _spread, median, plan

PERIOD = 40
SINE = Series(np.sin(2 * np.pi * np.arange(2000) / PERIOD), 0.1)


def test_a_fold_hides_all_that_comes_after_its_first_start():
    trials = plan([SINE])
    assert trials is not None and abs(trials.period - PERIOD) < 1
    for fold in trials.folds:
        assert fold.start == fold.ends[0] + 1 and fold.stop == SINE.n
        assert all(end + trials.steps < SINE.n for end in fold.ends)
    starts = [fold.start for fold in trials.folds]
    assert starts == sorted(starts) and starts[0] > SINE.n // 2
    assert trials.truths([SINE]).shape == (trials.count, trials.steps + 1)


def test_of_several_records_each_is_held_out_as_a_whole():
    trials = plan([SINE] * 4)
    assert trials is not None
    assert [(f.record, f.start, f.stop) for f in trials.folds] == [(i, 0, SINE.n) for i in range(4)]
    assert len(trials.without([SINE] * 4, trials.folds[1])) == 3


def test_a_fit_sees_nothing_of_its_fold_and_forecasts_come_in_the_order_of_the_truths():
    trials = plan([SINE, SINE.with_values(2 * SINE.values)])
    records = [SINE, SINE.with_values(2 * SINE.values)]
    assert trials is not None
    seen = []

    def fit(known):
        seen.append([int(np.isfinite(r.values).sum()) for r in known])
        return lambda values, ends, steps: np.stack([values[e : e + steps + 1] for e in ends])

    assert np.array_equal(trials.forecasts(records, fit), trials.truths(records))
    held = [fold.stop - fold.start for fold in trials.folds]
    assert [2 * SINE.n - sum(s) for s in seen] == held


def test_starts_before_a_gap_are_left_out_and_too_short_a_record_has_no_trials():
    values = SINE.values.copy()
    values[900:1000] = np.nan
    record = SINE.with_values(values)
    trials = plan([record])
    assert trials is not None and np.isfinite(trials.truths([record])).all()
    assert plan([SINE.slice(0, 30)], TrialSettings(folds=8)) is None


def test_starts_see_all_phases_of_an_oscillation_that_they_would_beat_with():
    n, steps = 2061, 252  # even starts would be 20.0 samples apart, half an oscillation
    found = _spread(n // 2, n - 1 - steps, 40)
    assert np.all(np.diff(found) > 0) and found[0] >= n // 2 and found[-1] <= n - 1 - steps
    phases = np.sort(found / 40.0 % 1.0)
    gaps = np.diff(np.concatenate([phases, phases[:1] + 1.0]))
    assert gaps.max() < 0.15
    assert _spread(5, 5, 1).tolist() == [5]


def test_median_of_those_that_go_on():
    gone = np.nan
    runs = [np.array([[1.0, 2.0, gone, gone]]), np.array([[3.0, gone, gone, gone]]), np.array([[2.0, 4.0, 1.0, gone]])]
    np.testing.assert_array_equal(median(runs), [[2.0, 3.0, 1.0, gone]])
