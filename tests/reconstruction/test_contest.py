"""The contest on forecasts of known quality, conformal bands on known errors, and the grades that follow."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from jetode.baselines.contest import SIMPLE
from jetode.baselines.kernel import DEFAULT as KERNEL
from jetode.baselines.kernel import fit_kernel
from jetode.integration.dop853 import Stop
from jetode.integration.forecast import Forecast
from jetode.memory.fit import fit_memory
from jetode.memory.settings import DEFAULT
from jetode.reconstruction.contest import Contest, Contestant, _trend, simple_contestants, together
from jetode.reconstruction.dynamics.base import Ahead
from jetode.reconstruction.dynamics.black_box import BlackBoxDynamics
from jetode.reconstruction.dynamics.memory import MemoryDynamics
from jetode.reconstruction.evidence import ContestEvidence
from jetode.reconstruction.held_out_bands import HeldOutBands
from jetode.reconstruction.verdict import METHODS, Verdict, judge_contest
from jetode.records.series import Series
from jetode.signal.trials import plan

RNG = np.random.default_rng(0)
T = np.arange(2000)
WAVE = np.sin(2 * np.pi * T / 40) * (1 + 0.5 * np.sin(2 * np.pi * T / 333))
RECORD = Series(WAVE, 0.1)
TRIALS = plan([RECORD])
TRUTH = TRIALS.truths([RECORD])
FEW = replace(KERNEL, windows=(0.35,), centres=60, few=60, spanning=80, whole=80)
LAST = np.array([WAVE.size - 1])
REFUSED = Verdict("none", "No equation fits.", "Try another channel.")


def made(name, kind, growth, terms=None):
    """A contestant whose error grows by ``growth`` std per oscillation."""
    ahead = np.arange(TRIALS.steps + 1) / TRIALS.period
    runs = TRUTH + growth * RECORD.std * ahead * RNG.uniform(0.9, 1.1, (TRIALS.count, 1))
    return Contestant(name, kind, runs, lambda: name, terms)


def contest(*others):
    return Contest.of(
        [made("repetition", "simple", 1.0), made("persistence", "simple", 9.0), *others], TRIALS, [RECORD]
    )


def verdict_of(found):
    evidence = found.evidence(found.forecaster, None)
    readable = found.readable
    return judge_contest(evidence, None if readable is None else readable.contestant.name, REFUSED)


def test_times_are_those_of_the_error_that_was_put_in():
    found = contest(made("memory closure", "memory", 0.2))
    by_name = {s.contestant.name: s for s in found.field}
    # growth·t averaged over a window of a tenth of an oscillation reaches 0.4 at t = 0.4/growth less half the window
    assert np.median(by_name["repetition"].times) == pytest.approx(0.4 - 0.05, abs=0.05)
    assert np.median(by_name["memory closure"].times) == pytest.approx(2.0 - 0.05, abs=0.1)
    assert found.baseline.contestant.name == "repetition"


def test_grades():
    none = contest(made("memory closure", "memory", 0.98))
    assert verdict_of(none).grade == "none" and none.forecaster.contestant.name == "repetition"
    forecast = contest(made("memory closure", "memory", 0.2), made("an equation", "equation", 0.8, 6))
    assert verdict_of(forecast).grade == "forecast" and forecast.forecaster.contestant.name == "memory closure"
    near = contest(made("memory closure", "memory", 0.2), made("an equation", "equation", 0.3, 6))
    assert verdict_of(near).grade == "approximate" and near.forecaster.contestant.name == "memory closure"
    assert "memory closure forecasts farther" in verdict_of(near).reason
    long = contest(made("an equation", "equation", 0.2, 29))
    assert verdict_of(long).grade == "forecast"


def test_an_equation_that_holds_to_the_end_is_not_lost_to_a_simple_method_that_does_so_too():
    def ending(kind, growth, terms=None):
        simple = made("autoregression", "simple", 0.001)
        return Contest.of([simple, made("the other", kind, growth, terms)], TRIALS, [RECORD])

    tie = verdict_of(ending("equation", 0.0012, 5))
    assert tie.grade == "approximate" and "Autoregression forecasts it as far" in tie.reason
    assert verdict_of(ending("memory", 0.0012)).grade == "forecast"
    assert verdict_of(ending("black box", 0.0012)).grade == "none"  # says no more than the simple method
    assert verdict_of(ending("equation", 0.3, 5)).grade == "none"  # fails before


def test_of_equals_the_one_that_says_most_forecasts():
    same = np.random.default_rng(1)
    ahead = np.arange(TRIALS.steps + 1) / TRIALS.period
    runs = TRUTH + 0.2 * RECORD.std * ahead * same.uniform(0.9, 1.1, (TRIALS.count, 1))
    equal = [
        Contestant("kernel ridge", "black box", runs, lambda: None),
        Contestant("memory closure", "memory", runs, lambda: None),
        Contestant("an equation", "equation", runs, lambda: None, 5),
    ]
    assert contest(*equal).forecaster.contestant.name == "an equation"
    assert contest(*equal[:2]).forecaster.contestant.name == "memory closure"


def test_the_verdict_tells_how_long_and_against_what_and_survives_json():
    found = contest(made("memory closure", "memory", 0.2))
    evidence = found.evidence(found.forecaster, {"kind": "refusal", "reason": "r", "advice": "a"})
    assert ContestEvidence.from_json(evidence.to_json()) == evidence
    verdict = judge_contest(evidence, None, REFUSED)
    period = TRIALS.period * RECORD.dt
    assert verdict.holds.median == pytest.approx(1.95 * period, rel=0.05)
    assert verdict.holds.lower <= verdict.holds.median <= verdict.holds.upper
    assert verdict.baseline.name == "repetition" and verdict.baseline.time < verdict.holds.median
    assert verdict.advice == REFUSED.advice


# -- bands ----------------------------------------------------------------------------------------------------------


def flat(n):
    t = 0.1 * np.arange(n)
    return Forecast(t, np.zeros(n), np.zeros((n, 1)), 0.1, Stop.COMPLETED, float(t[-1]))


def test_bands_hold_a_further_error_as_often_as_they_say():
    rng = np.random.default_rng(2)
    inside = np.zeros(2)
    for _ in range(400):
        errors = rng.standard_cauchy((41, 3))  # heavy tails: no distribution is assumed
        bands = HeldOutBands.of(errors[:40], 0.1, 1.0).around(flat(3))
        inside += (
            (bands.lower[1] <= errors[40, 1] <= bands.upper[1]),
            (bands.inner_lower[1] <= errors[40, 1] <= bands.inner_upper[1]),
        )
    # n = 40: order statistics 2 and 40 (41 · 0.05 = 2.05), 10 and 31: 38/41 and 21/41
    assert inside / 400 == pytest.approx([38 / 41, 21 / 41], abs=0.06)


def test_bands_are_of_forecasts_that_still_run():
    """That one has ended is seen when it is made: a further one that runs is like the others that do."""
    rng = np.random.default_rng(3)
    inside = np.zeros(2)
    for _ in range(600):
        errors = rng.standard_normal((41, 2))
        errors[rng.random(41) < 0.3, 1] = np.nan
        errors[40, 1] = rng.standard_normal()
        bands = HeldOutBands.of(errors[:40], 0.1, 1.0).around(flat(2))
        inside += (
            bands.lower[1] <= errors[40, 1] <= bands.upper[1],
            bands.inner_lower[1] <= errors[40, 1] <= bands.inner_upper[1],
        )
    assert np.all(inside / 600 > [0.88, 0.48]) and np.all(inside / 600 < [0.97, 0.6])


def test_starts_that_err_alike_count_as_one():
    """Five errors, eight times each: between the least and the largest of five a sixth lies in 4 of 6; counted as 40,
    nine are left out at either end, one of the five with them, and it lies there in 2 of 6, where half was promised."""
    rng = np.random.default_rng(4)
    inside = np.zeros(2)
    for _ in range(600):
        errors = np.repeat(rng.standard_normal(5), 8)[:, None] * np.ones(2)
        further = rng.standard_normal()
        for i, independent in enumerate((5.0, np.inf)):
            bands = HeldOutBands.of(errors, 0.1, 1.0, independent).around(flat(2))
            inside[i] += bands.inner_lower[1] <= further <= bands.inner_upper[1]
    assert inside / 600 == pytest.approx([4 / 6, 2 / 6], abs=0.06)


def test_bands_are_infinite_where_most_forecasts_have_ended_and_json_keeps_them():
    errors = np.zeros((20, 5))
    errors[:11, 3:] = np.nan
    bands = HeldOutBands.of(errors, 0.1, 1.0)
    shown = bands.around(flat(5))
    assert np.isinf(shown.upper[4]) and np.isinf(shown.lower[4]) and shown.upper[1] == 0.0
    again = HeldOutBands.from_json(bands.to_json())
    assert np.array_equal(again.edges, bands.edges) and np.array_equal(again.times, bands.times)
    assert HeldOutBands.of(errors[:1], 0.1, 1.0) is None


def test_bands_of_a_fading_record_shrink_with_it():
    fading = Series(np.sin(2 * np.pi * T / 40) * np.exp(-T / 700), 0.1)
    trials = plan([fading])
    truth = trials.truths([fading])
    ends = np.array([end for fold in trials.folds for end in fold.ends])
    off = 0.1 * np.exp(-ends / 700)[:, None] * np.random.default_rng(3).standard_normal(truth.shape)
    runs = [Contestant("repetition", "simple", truth - off, lambda: None)]
    found = Contest.of(runs, trials, [fading])
    bands = found.bands(found.baseline)
    assert bands.period > 0
    late, early = (bands.after(fading.values[:n]).around(flat(9)) for n in (2000, 1000))
    assert np.mean(late.upper / early.upper) == pytest.approx(np.exp(-1000 / 700), rel=0.35)
    steady = Contest.of([made("repetition", "simple", 1.0)], TRIALS, [RECORD])
    assert steady.bands(steady.baseline).period == 0


def scattered(name, kind, growth, seed):
    """A contestant whose forecasts are good from some starts and bad from others."""
    ahead = np.arange(TRIALS.steps + 1) / TRIALS.period
    luck = np.random.default_rng(seed).uniform(0.3, 3.0, (TRIALS.count, 1))
    return Contestant(name, kind, TRUTH + growth * RECORD.std * ahead * luck, lambda: name)


def test_a_black_box_needs_trials_that_tell_it_from_an_equation():
    explicit = made("memory closure", "memory", 0.2)
    assert contest(explicit, made("kernel ridge", "black box", 0.17)).forecaster.contestant.name == "kernel ridge"
    found = contest(scattered("memory closure", "memory", 0.2, 1), scattered("kernel ridge", "black box", 0.19, 2))
    kernel, memory = sorted(found.field, key=lambda s: s.contestant.kind)[:2]
    if memory.mean < 0.95 * kernel.mean:  # ahead, and by less than the starts' own scatter
        assert not found.ahead(kernel, memory)
    assert found.forecaster.contestant.kind == "memory"


def test_near_equals_are_also_tried_together():
    kinds = ("memory closure", "memory", 0.3), ("kernel ridge", "black box", -0.3)
    sides = [Contestant(name, kind, TRUTH + error, lambda: None) for name, kind, error in kinds]
    found = contest(*sides)
    (both,) = together(found, [RECORD])
    np.testing.assert_allclose(both.held_out, TRUTH, atol=1e-12)
    assert both.kind == "mean" and both.name in METHODS
    assert found.joined_by([both]).forecaster.contestant is both
    assert not together(contest(sides[0]), [RECORD])
    far = made("kernel ridge", "black box", 0.9)
    assert not together(contest(made("memory closure", "memory", 0.2), far), [RECORD])


def test_a_black_box_is_plainer_than_its_mean_with_another():
    memory, kernel = made("memory closure", "memory", 0.2), made("kernel ridge", "black box", 0.17)
    mean = made("memory closure with kernel ridge", "mean", 0.169)
    assert contest(memory, kernel, mean).forecaster.contestant is kernel
    farther = made("memory closure with kernel ridge", "mean", 0.1)
    assert contest(memory, kernel, farther).forecaster.contestant is farther
    assert contest(made("memory closure", "memory", 0.17), kernel, mean).forecaster.contestant.kind == "memory"


# -- dynamics that run from samples -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIMPLE)
def test_a_black_box_forecasts_from_the_end_of_any_record_and_after_json(name):
    (one,) = simple_contestants([RECORD], TRIALS, [name])
    dynamics = one.dynamics()
    ahead = Ahead(4.0, RECORD.dt)
    run = dynamics.forecast(ahead)
    assert run.completed and run.values.size == 41
    saved = BlackBoxDynamics.from_json(dynamics.to_json())
    assert np.array_equal(saved.forecast(ahead).values, run.values)
    cut = RECORD.slice(0, 1500)
    there = dynamics.with_records([cut]).forecast(ahead)
    from_inside = dynamics.forecast(Ahead(4.0, RECORD.dt, start=1499))
    np.testing.assert_allclose(there.values, from_inside.values)
    coarse = dynamics.forecast(Ahead(4.0, 2 * RECORD.dt))
    np.testing.assert_allclose(coarse.values, run.values[::2])


def test_a_memory_closure_with_kernel_ridge_forecasts_their_mean_also_after_json():
    quick = replace(DEFAULT, memories=((3, 0.3),), degree=2, lengths=(), kept=(), rounds=0)
    memory, kernel = fit_memory([RECORD], TRIALS, quick), fit_kernel([RECORD], TRIALS, FEW)
    both = MemoryDynamics.of(memory, [RECORD], kernel.map)
    ahead = Ahead(4.0, RECORD.dt)
    alone, other = (
        MemoryDynamics.of(memory, [RECORD]).forecast(ahead).values,
        both.beside.forecasts(WAVE, LAST, 40)[0],
    )
    np.testing.assert_allclose(both.forecast(ahead).values, 0.5 * (alone + other))
    saved = MemoryDynamics.from_json(json.loads(json.dumps(both.to_json())))
    np.testing.assert_allclose(saved.forecast(ahead).values, both.forecast(ahead).values)
    assert both.samples.keep >= kernel.map.seen


def test_bands_of_a_fading_record_widen_as_its_errors_have_grown():
    rng = np.random.default_rng(5)
    sizes = np.geomspace(1.0, 0.5, 41)  # errors grow by the cube of what fades, which no power up to 2 explains
    held, rest = np.zeros(2), 300
    for _ in range(rest):
        errors = rng.standard_normal((41, 12)) / sizes[:, None] ** 3
        bands = HeldOutBands.relative(errors[:40], sizes[:40], sizes[40], 0.1, 4.0)
        plain = HeldOutBands.of(errors[:40], 0.1, 4.0)
        for i, found in enumerate((bands, plain)):
            shown = found.around(flat(12))
            held[i] += np.mean((shown.lower <= errors[40]) & (errors[40] <= shown.upper))
    assert 0.85 < held[0] / rest < 0.97 and held[1] < held[0]


def test_bands_do_not_shrink_with_the_motion_where_the_first_errors_are_noise():
    """The first oscillation's errors are noise of one size, all later ones go with the square of the motion's."""
    rng = np.random.default_rng(7)
    sizes, leads, held, rest = np.geomspace(1.0, 0.3, 40), np.arange(40), 0.0, 100
    for _ in range(rest):
        late = 5.0 * (leads > 4) * rng.standard_normal((40, leads.size)) * sizes[:, None] ** 2
        bands = HeldOutBands.relative(rng.standard_normal((40, leads.size)) + late, sizes, 0.15, 0.1, 4.0)
        shown = bands.around(flat(5))
        noise = rng.standard_normal(5)
        held += np.mean((shown.lower <= noise) & (noise <= shown.upper))
    assert held / rest > 0.85


def test_a_contest_is_open_while_a_black_box_could_win():
    """Not where something explicit holds as long as trials can show; a simple method that does leaves it open."""
    assert contest(made("memory closure", "memory", 0.2)).open
    assert contest(made("autoregression", "simple", 0.0)).open
    closed = contest(made("memory closure", "memory", 0.0))
    assert not closed.open
    joined = closed.joined_by([made("kernel ridge", "black box", 0.0)])
    assert joined.forecaster.contestant.name == closed.forecaster.contestant.name == "memory closure"
    assert len(joined.field) == len(closed.field) + 1


def test_the_trend_of_several_decays_is_that_of_each():
    """Pooled, three decays that begin at 3, 1 and 0.3 have no common trend; each of them fades."""
    ends, record = np.tile(np.arange(10), 3), np.repeat(np.arange(3), 10)
    sizes = np.repeat([3.0, 1.0, 0.3], 10) * np.exp(-0.1 * ends)
    assert _trend(sizes, ends, record) == pytest.approx(-1.0)
    assert abs(_trend(sizes, ends, np.zeros(30, dtype=int))) < 0.5
    assert _trend(sizes[:2], ends[:2], record[:2]) == 0.0


def test_near_the_end_of_the_trials_it_counts_how_much_is_lacking():
    """Their end hides how much farther a forecast goes: 9.9 of 10 oscillations is far better than 9.6."""
    late = contest(made("memory closure", "memory", 0.006), made("kernel ridge", "black box", 0.002))
    memory, kernel = late.field[2:]
    assert 0.95 * kernel.mean < memory.mean < 0.98 * late.longest < kernel.mean
    assert late.ahead(kernel, memory) and late.forecaster is kernel
    both = contest(made("memory closure", "memory", 0.0021), made("kernel ridge", "black box", 0.002))
    assert both.forecaster.contestant.name == "memory closure"


def test_what_is_worth_a_look_is_part_of_the_farthest_time():
    assert contest().least == 0.0
    found = contest(made("memory closure", "memory", 0.2), made("kernel ridge", "black box", 0.1))
    assert found.least == pytest.approx(0.4 * np.mean(found.field[-1].times))
