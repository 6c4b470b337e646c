"""Coloured noise in the joint fit (4.18): the equation is found, its error bars hold, and files remember the colour."""

import numpy as np
import pytest

from jetode.experiments.trust.records import record
from jetode.joint.own_noise import own_correlation
from jetode.joint.path import Identified
from jetode.joint.problem import prepare
from jetode.reconstruction.joint_method import joint
from jetode.records.series import Series
from jetode.signal.colour import WHITE
from jetode.signal.noise import coloured_noise


def test_the_correlation_of_residuals():
    noise = coloured_noise(20_000, 0.7, np.random.default_rng(0))
    noise[::50] = np.nan
    assert own_correlation(noise) == pytest.approx(0.7, abs=0.02)


def test_weights_of_a_prepared_record():
    """1/σ² at the start of a record and after a gap, 1/(σ² (1 − φ²)) elsewhere, and the noise level is the std."""
    rng = np.random.default_rng(1)
    values = np.sin(0.1 * np.arange(3000)) + 0.05 * coloured_noise(3000, 0.9, rng)
    values[1000] = np.nan
    prepared = prepare([Series(values, 0.1)], 2)
    assert prepared.sigma * prepared.amplitude == pytest.approx(0.05, rel=0.25)
    data, phi = prepared.data(0.1), prepared.colour.correlation
    assert data.colour[0] == -1.0 and data.colour[1001] == 0.0 and data.colour[1002] == phi
    assert data.weight[[0, 1001]] == pytest.approx(100.0) and data.weight[1000] == 0.0
    assert data.weight[5] == pytest.approx(100.0 / (1.0 - phi**2))
    assert prepare([Series(values, 0.1)], 2, sigma=0.05).colour == WHITE  # who gives a level speaks of white noise


@pytest.mark.slow  # one whole fit
def test_an_equation_under_coloured_noise():
    """A drawn jerk flow with AR(1) noise, φ = 0.9: every coefficient within four standard errors of the truth, the
    noise as it was made, and the same after a file."""
    drawn = record(90)
    model = joint(drawn.series)
    assert model.verdict.grade == "exact" and "remembers" in model.verdict.reason
    true = drawn.truth.P
    assert {c.powers for c in model.coefficients() if c.part == "P"} == set(true)
    for c in model.coefficients():
        if c.part == "P":
            assert abs(c.value - true[c.powers]) < 4.0 * c.standard_error
    found = model.dynamics.identified
    assert found.noise.colour.correlation == pytest.approx(0.9, abs=0.05)
    assert Identified.from_json(found.to_json()).noise.colour == found.noise.colour
    left = model.dynamics.residuals[1:]
    assert abs(own_correlation(left)) < 4.0 / np.sqrt(left.size)
