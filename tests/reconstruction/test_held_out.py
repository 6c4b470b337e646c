"""Held-out stretches: states that begin at the whole fit's path are those of the past alone."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.joint.fit import JointFit, fit_joint
from jetode.joint.path import past_state
from jetode.joint.request import Request
from jetode.reconstruction.held_out import past_only
from jetode.signal.noise import add_noise

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
