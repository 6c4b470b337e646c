"""Trials: starts lie in what is held out, the fit sees none of it, and every start is followed by what was measured."""

from __future__ import annotations

import numpy as np

from jetode.records.series import Series
from jetode.signal.trials import TrialSettings, plan

PERIOD = 40
SINE = Series(np.sin(2 * np.pi * np.arange(2000) / PERIOD), 0.1)


def test_folds_cover_the_record_once_and_starts_lie_in_theirs():
    trials = plan([SINE])
    assert trials is not None and abs(trials.period - PERIOD) < 1
    covered = np.zeros(SINE.n, dtype=int)
    for fold in trials.folds:
        covered[fold.start : fold.stop] += 1
        assert all(fold.start <= end and end + trials.steps < fold.stop for end in fold.ends)
    assert (covered == 1).all()
    assert trials.truths([SINE]).shape == (trials.count, trials.steps + 1)


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
    assert plan([SINE.slice(0, 60)], TrialSettings(folds=8)) is None
