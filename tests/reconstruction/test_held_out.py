"""Held-out stretches: states that begin at the whole fit's path are those of the past alone."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.experiments.trust.outcome import is_the_truth
from jetode.experiments.trust.records import record as drawn_record
from jetode.joint.fit import JointFit, fit_joint
from jetode.joint.path import past_state
from jetode.joint.request import Request
from jetode.reconstruction.held_out import held_out_forecasts, past_only
from jetode.reconstruction.reconstruct import reconstruct
from jetode.signal.noise import add_noise
from jetode.signal.trials import plan

SIZES = {0.0: 1e-6, 0.1: 1e-3}  # of the state's scatter: how exactly both minima are found


@pytest.mark.parametrize("noise", SIZES)
def test_past_only_states_do_not_depend_on_where_they_begin(noise: float) -> None:
    clean = systems["rossler"].simulate(200.0).observe("x")
    record = clean.with_values(add_noise(clean.values, noise, np.random.default_rng(0)))
    joint = fit_joint(Request((record,), 3))
    assert isinstance(joint, JointFit)
    spread = np.nanstd(joint.paths[0].states, axis=0)
    for sample in (record.n // 2, record.n - 50):
        begun = past_only(joint, joint.identified, 0, sample)
        assert begun is not None
        off = (begun - past_state(joint.identified, record, sample).end) / spread
        assert np.abs(off).max() < SIZES[noise]


def test_a_record_before_another_is_no_part_of_its_past() -> None:
    clean = systems["rossler"].simulate(200.0).observe("x")
    whole = clean.with_values(add_noise(clean.values, 0.05, np.random.default_rng(1)))
    parts = whole.slice(0, whole.n // 2), whole.slice(whole.n // 2, whole.n)
    joint = fit_joint(Request(parts, 3))
    assert isinstance(joint, JointFit)
    begun = past_only(joint, joint.identified, 1, 400)
    assert begun is not None
    off = (begun - past_state(joint.identified, parts[1], 400).end) / np.nanstd(joint.paths[1].states, axis=0)
    assert np.abs(off).max() < 1e-3


def test_forecasts_of_trials_begin_nearer_than_the_samples_and_follow_the_motion() -> None:
    """The filter knows a start better than its sample does, and a right equation keeps near for an oscillation."""
    clean = systems["rossler"].simulate(200.0).observe("x")
    noise = 0.1
    record = clean.with_values(add_noise(clean.values, noise, np.random.default_rng(2)))
    joint = fit_joint(Request((record,), 3))
    trials = plan((record,))
    assert isinstance(joint, JointFit) and trials is not None
    runs = held_out_forecasts(joint, (record,), trials, lambda: False)
    assert runs.shape == (trials.count, trials.steps + 1) and np.isfinite(runs).all()
    off = np.sqrt(np.mean((runs - trials.truths((clean,))) ** 2, axis=0)) / np.std(clean.values)
    assert off[0] < 0.5 * noise
    assert off[: round(trials.period)].max() < 2.0 * noise


def test_trials_of_one_record_learn_from_the_others_and_from_what_came_before() -> None:
    clean = systems["rossler"].simulate(200.0).observe("x")
    whole = clean.with_values(add_noise(clean.values, 0.05, np.random.default_rng(1)))
    parts = whole.slice(0, whole.n // 2), whole.slice(whole.n // 2, whole.n)
    joint = fit_joint(Request(parts, 3))
    trials = plan(parts)
    assert isinstance(joint, JointFit) and trials is not None
    runs = held_out_forecasts(joint, parts, trials, lambda: False)
    there = np.isfinite(runs).all(axis=1)
    assert there.mean() > 0.9
    off = (runs - trials.truths(parts))[there, : round(0.5 * trials.period)]
    assert np.sqrt(np.mean(off**2)) < 0.15 * np.std(clean.values)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1676, 1733])
def test_right_equations_are_not_refused_for_the_way_to_them(seed: int) -> None:
    """Drawn jerk flows: the held-out path of the one, which spikes, sticks at its last levels and has to be cooled
    again; of the other the searched stretch leaves more than a search is satisfied with, and exchanges are asked for
    all the same."""
    drawn = drawn_record(seed)
    assert drawn is not None
    model = reconstruct(drawn.series, contest=False)
    assert model.verdict.trusted and is_the_truth(model, drawn)
