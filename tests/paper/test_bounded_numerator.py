"""The bounded numerator: exact on clean data, in the crossing family always, untouched where there is no pole."""

import numpy as np
import pytest

import jetode
from jetode.equations.regularise import regularise
from jetode.signal.noise import add_noise

PRESET = {"method": "paper", "denominator_degree": 1, "numerator_degree": 4}


@pytest.mark.parametrize("name", ["lorenz", "rossler"])
def test_clean_closure_is_recovered_within_the_family(name):
    system = jetode.systems[name]
    model = jetode.reconstruct(system.simulate(60.0).observe("x"), **PRESET, crossing=True)
    assert max(jetode.relative_l2(model.closure, system.closure("x"))) < 1e-4
    assert model.regular is not None


def test_noisy_closure_obeys_the_crossing_conditions_and_the_free_one_does_not():
    record = jetode.systems["lorenz"].simulate(60.0).observe("x")
    noisy = record.with_values(add_noise(record.values, 0.05, np.random.default_rng(0)))
    bounded, free = (jetode.reconstruct(noisy, **PRESET, crossing=c) for c in (True, False))
    assert regularise(bounded.closure, bounded.spread).misfit < 1e-9
    assert regularise(free.closure, free.spread).misfit > 1e-2


def test_without_a_pole_nothing_changes():
    record = jetode.systems["rossler"].simulate(60.0).observe("y")
    plain, bounded = (
        jetode.reconstruct(record, method="paper", denominator_degree=0, numerator_degree=2, crossing=c)
        for c in (False, True)
    )
    assert plain.closure.numerator == bounded.closure.numerator
