"""Simple methods and black boxes: exact cases, units, and that nothing after a start is looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jetode.baselines.analogue import MOST, Analogues, Library, _room, analogue
from jetode.baselines.blocks import Blocks, block_means
from jetode.baselines.contest import BLACK_BOXES, SIMPLE, fit_baseline
from jetode.baselines.kernel import DEFAULT as KERNEL
from jetode.baselines.kernel import fit_kernel
from jetode.baselines.kernel_map import KernelForecast
from jetode.baselines.kernel_regression import Spanned, Whole, Windows, kernel
from jetode.baselines.linear import autoregression, persistence, repetition
from jetode.baselines.nested import blend
from jetode.records.series import Series
from jetode.signal.trials import plan
from jetode.support.errors import InputError

PERIOD = 40
T = np.arange(640)
WAVE = np.sin(2 * np.pi * T / PERIOD) + 0.3 * np.sin(4 * np.pi * T / PERIOD + 1.0)
RECORD = Series(WAVE, 0.05)
ENDS = np.array([300, 341, 403])


def truth(values, steps):
    return np.stack([values[e : e + steps + 1] for e in ENDS])


def test_persistence_keeps_the_last_value_that_was_measured():
    values = WAVE.copy()
    values[339:342] = np.nan
    runs = persistence([RECORD], PERIOD)(values, ENDS, 5)
    assert np.array_equal(runs, np.repeat(WAVE[[300, 338, 403]][:, None], 6, axis=1))


@pytest.mark.parametrize("make", [repetition, autoregression, analogue])
def test_a_periodic_signal_is_followed(make):
    rollout = make([RECORD], float(PERIOD))
    assert np.abs(rollout(WAVE, ENDS, 200) - truth(WAVE, 200)).max() < 0.02


def test_fewer_than_one_analogue_are_refused():
    assert all(analogue([RECORD], float(PERIOD), 0.3, count) is None for count in (0, -1))


def test_fewer_analogues_are_the_first_of_more_and_settings_may_share_them():
    noisy = WAVE + 0.3 * np.random.default_rng(3).standard_normal(WAVE.size)
    blocks = Blocks.of([Series(noisy, 0.05)], float(PERIOD))
    present = blocks.past(noisy, 400, 12)
    index, squared = Library.of(blocks, 12, 10.0).nearest(present, 5, MOST)
    assert np.all(np.diff(squared[1:]) > -1e-9)  # the first may be the window itself
    for count in (1, 4):
        fewer, near = Library.of(blocks, 12, 10.0).nearest(present, 5, count)
        assert np.array_equal(fewer, index[:count]) and np.array_equal(near, squared[:count])
    shared = Analogues([Series(noisy, 0.05)], float(PERIOD))
    for count in (12, 1, 4):
        alone = analogue([Series(noisy, 0.05)], float(PERIOD), 0.7, count)
        assert np.array_equal(shared(0.7, count)(noisy, ENDS, 60), alone(noisy, ENDS, 60), equal_nan=True)


def test_room_counts_the_blocks_up_to_the_next_gap():
    values = WAVE.copy()
    values[[200, 201, 330]] = np.nan
    blocks = Blocks.of([Series(values, 0.05), Series(WAVE[:200], 0.05)], float(PERIOD))
    _, _, owners, places = blocks.windows(6)
    for owner, place, room in zip(owners, places, _room(blocks, owners, places), strict=True):
        after = np.isfinite(blocks.parts[owner][place + 1 :])
        assert room == (after.size if after.all() else np.argmin(after))


@pytest.mark.parametrize("name", [*SIMPLE, *BLACK_BOXES])
def test_nothing_after_a_start_is_looked_at_and_units_do_not_matter(name):
    noisy = WAVE + 0.05 * np.random.default_rng(0).standard_normal(WAVE.size)
    fitted = fit_baseline(name, [Series(noisy, 0.05)])
    runs = fitted.forecasts(noisy, ENDS, 60)
    assert runs.shape == (3, 61)
    for row, end in zip(runs, ENDS, strict=True):
        cut = noisy[: end + 1]
        np.testing.assert_allclose(fitted.forecasts(cut, np.array([end]), 60)[0], row, rtol=1e-9, atol=1e-12)
    other = fit_baseline(name, [Series(1e6 * noisy + 3e6, 5e-6)])
    np.testing.assert_allclose(other.forecasts(1e6 * noisy + 3e6, ENDS, 60), 1e6 * runs + 3e6, rtol=1e-5, atol=1e3)


def test_autoregression_is_the_least_squares_map_of_its_windows():
    rng = np.random.default_rng(1)
    values = np.zeros(4000)
    for i in range(2, values.size):
        values[i] = 1.6 * values[i - 1] - 0.8 * values[i - 2] + rng.standard_normal()
    rollout = autoregression([Series(values, 1.0)], 8.0, 0.5)
    assert rollout is not None
    ahead = rollout(values, np.array([3000]), 1)[0, 1]
    assert ahead == pytest.approx(1.6 * values[3000] - 0.8 * values[2999], abs=0.25)


def test_blocks_end_with_the_last_sample_and_leave_gaps():
    values = np.arange(10.0)
    assert np.array_equal(block_means(values, 3), [2.0, 5.0, 8.0])
    values[4] = np.nan
    assert np.isnan(block_means(values, 3)[1])
    blocks = Blocks.of([RECORD], 90.0)
    assert blocks.factor == 3 and blocks.period == 30.0
    past = blocks.past(WAVE, 500, 4)
    expected = (WAVE[489:501].reshape(4, 3).mean(axis=1) - blocks.middle) / blocks.spread
    np.testing.assert_allclose(past, expected)


def test_a_line_is_sampled_exactly_from_its_blocks():
    record = Series(np.arange(300.0), 1.0)
    blocks = Blocks.of([record], 90.0)
    past = blocks.past(record.values, 200, 5)
    step = past[1] - past[0]
    future = past[-1] + step * np.arange(1, 8)
    np.testing.assert_allclose(blocks.sampled(past[None], future[None], 15)[0], np.arange(200.0, 216.0), rtol=1e-12)


def test_blocks_of_every_phase_say_where_they_end():
    blocks = Blocks.of([RECORD, RECORD.slice(0, 700)], 90.0)
    _, _, owners, places = blocks.windows(4)
    record, last = blocks.ends(owners, places)
    assert set(record.tolist()) == {0, 1}
    for i in (0, 17, owners.size - 1):
        values = (RECORD, RECORD.slice(0, 700))[record[i]].values[last[i] - 2 : last[i] + 1]
        expected = (values.mean() - blocks.middle) / blocks.spread
        assert blocks.parts[owners[i]][places[i]] == pytest.approx(expected)
    assert np.unique(last[record == 0]).size > 0.9 * RECORD.n  # at every sample


RANDOM, AT = np.random.default_rng(0), np.arange(120)
FOLDS = (AT >= 30, AT >= 70, (AT >= 10) & (AT < 40))
WINDOWS = Windows(RANDOM.standard_normal((120, 3)), RANDOM.standard_normal(120), FOLDS, 2.0)


@pytest.mark.parametrize("fold", [None, 0, 1, 2])
def test_weights_of_whole_windows_solve_the_regression_of_those_not_held_out(fold):
    found = Whole.of(WINDOWS, 1.0, 200)
    weights = found.weights(1e-3, fold)
    left = np.ones(120, dtype=bool) if fold is None else ~FOLDS[fold]
    np.testing.assert_allclose(
        kernel(WINDOWS.x[left], WINDOWS.x, found.gamma) @ weights + 1e-3 * weights[left],
        2.0 * WINDOWS.dx[left],
        atol=1e-9,
    )
    assert not weights[~left].any()


@pytest.mark.parametrize("fold", [None, 0, 1, 2])
def test_spanned_by_all_windows_a_regression_is_the_whole_one(fold):
    """Folds share windows: each is weighed once and taken off wherever it is held out."""
    left = np.ones(120, dtype=bool) if fold is None else ~FOLDS[fold]
    spanned, whole = Spanned.of(WINDOWS, 1.0, 120), Whole.of(WINDOWS, 1.0, 120)
    shown = kernel(WINDOWS.x[left], WINDOWS.x, whole.gamma)
    np.testing.assert_allclose(shown @ spanned.weights(1e-2, fold), shown @ whole.weights(1e-2, fold), atol=1e-4)


def test_finalists_have_more_centres_than_the_search():
    few = replace(KERNEL, windows=(0.35,), centres=50, few=50, spanning=80, whole=90)
    fitted = fit_kernel([RECORD], plan([RECORD]), few)
    assert {m.centres.shape[0] for m in fitted.map.members} <= {80, 90}
    assert all(m.centres.shape[0] == m.weights.size for m in fitted.map.members)


def test_a_kernel_map_is_the_same_after_json():
    trials = plan([RECORD])
    fitted = fit_kernel([RECORD], trials)
    again = KernelForecast.from_json(fitted.map.to_json())
    assert np.array_equal(again.forecasts(WAVE, ENDS, 50), fitted.map.forecasts(WAVE, ENDS, 50))
    assert np.abs(fitted.map.forecasts(WAVE, ENDS, 100) - truth(WAVE, 100)).max() < 0.1


def test_the_choice_of_a_fold_does_not_see_it():
    trials = plan([RECORD])
    right = trials.truths([RECORD])
    fold = np.repeat(np.arange(len(trials.folds)), [len(f.ends) for f in trials.folds])
    good, lucky = right + 0.5 * np.std(WAVE), right + 3.0
    lucky[fold == 0] = right[fold == 0]  # perfect on the first fold alone
    chosen = blend({"good": good, "lucky": lucky}, [RECORD], trials)
    assert np.array_equal(chosen.held_out[fold == 0], good[fold == 0])
    assert chosen.members == ("good",)


def test_a_blend_is_the_median_of_those_near_the_best():
    trials = plan([RECORD])
    right = trials.truths([RECORD])
    std = np.std(WAVE)
    runs = {"a": right + 0.1 * std, "b": right - 0.15 * std, "c": right - 0.1 * std, "bad": right + 3.0 * std}
    found = blend(runs, [RECORD], trials, most=3, near=0.5)
    assert set(found.members) == {"a", "b", "c"}
    np.testing.assert_allclose(found.held_out, right - 0.1 * std)
    pair = {name: runs[name] for name in ("a", "c")}
    assert len(blend(pair, [RECORD], trials, most=3, near=0.5).members) == 1  # of two there is no median


def test_an_unknown_method_and_too_short_a_record_are_refused():
    with pytest.raises(InputError, match="must be one of"):
        fit_baseline("oracle", [RECORD])
    with pytest.raises(InputError, match="too short"):
        fit_baseline("kernel ridge", [RECORD.slice(0, 20)])


def test_kernel_forecasts_that_fail_early_change_neither_settings_nor_forecasts(monkeypatch):
    """What is left after half an oscillation far off has no score to lose, and what is chosen is run to the end."""
    rng = np.random.default_rng(1)
    noisy = Series(np.cumsum(rng.standard_normal(900)) * 0.2 + np.sin(0.2 * np.arange(900)), 1.0)
    trials = plan([noisy])
    few = replace(KERNEL, windows=(0.35,), centres=60, few=60, spanning=80, whole=80)
    early = fit_kernel([noisy], trials, few)
    monkeypatch.setattr("jetode.baselines.kernel.THRESHOLDS", (np.inf,))
    late = fit_kernel([noisy], trials, few)
    for one, other in zip(early.map.members, late.map.members, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(early.held_out, late.held_out)


def test_far_behind_a_rival_one_finalist_will_do():
    trials, few = plan([RECORD]), replace(KERNEL, windows=(0.35, 0.8), centres=50, few=50, spanning=60, whole=60)
    assert len(fit_kernel([RECORD], trials, few, rival=1e6).map.members) == 1
    assert len(fit_kernel([RECORD], trials, few).map.members) == 3
