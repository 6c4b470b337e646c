"""Approximate equations: a pendulum with friction that no polynomial states, forecast where it was held out."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.joint.approximate import approximations
from jetode.joint.elements.naming import NONE
from jetode.joint.request import Request
from jetode.records.series import Series
from jetode.signal.trials import plan

DT = 0.1


@pytest.fixture(scope="module")
def pendulum():
    def rate(_, s):
        return [s[1], -np.sin(s[0]) - 0.02 * s[1] - 0.01 * np.tanh(s[1] / 0.05)]

    t = np.arange(900) * DT
    angle = solve_ivp(rate, (0.0, t[-1]), [1.8, 0.0], t_eval=t, rtol=1e-10, atol=1e-10).y[0]
    return [Series(angle + 0.002 * np.random.default_rng(0).standard_normal(t.size), DT)]


@pytest.fixture(scope="module")
def found(pendulum):
    trials = plan(pendulum)
    return trials, approximations(Request(pendulum, order=2), trials)


def test_the_physics_is_readable(found):
    """x'' = −sin x − c x' with a friction that is no part of it."""
    best = found[1][0]
    equation = best.identified.equation
    (placed,) = equation.elements
    frequency, phase = placed.element.parameters
    assert placed.element.kind == "sin" and best.free == 4
    assert frequency == pytest.approx(1.0, abs=0.02) and phase == pytest.approx(0.0, abs=0.02)
    assert placed.in_row(1) == {(0, 0): pytest.approx(-1.0, abs=0.02)}
    assert list(equation.parts()["P"]) == [(0, 1)] and -0.06 < equation.parts()["P"][(0, 1)] < -0.015
    assert best.identified.jump > 0.0


def test_without_functions_powers_imitate_the_sine(pendulum):
    best = approximations(Request(pendulum, order=2, functions=NONE), plan(pendulum))[0]
    law = best.identified.equation.parts()["P"]
    assert best.free <= 5 and not best.identified.equation.elements
    assert law[(1, 0)] == pytest.approx(-1.0, abs=0.05)
    assert law[(3, 0)] == pytest.approx(1 / 6, abs=0.05)
    assert -0.06 < law[(0, 1)] < -0.015


def test_held_out_forecasts_hold(pendulum, found):
    trials, approximated = found
    best = approximated[0]
    truths = trials.truths(pendulum)
    assert best.held_out.shape == truths.shape
    assert best.skill > 0.9 * trials.steps / trials.period
    assert best.error < 0.1


def test_forecasts_see_the_past_only(pendulum, found):
    trials, approximated = found
    values, ends = pendulum[0].values, np.array([500, 600])
    cut = values.copy()
    cut[601:] = np.nan
    whole = approximated[0].forecasts(values, ends, 50)
    np.testing.assert_array_equal(whole, approximated[0].forecasts(cut, ends, 50))
    assert np.abs(whole - np.stack([values[e : e + 51] for e in ends])).max() < 0.1 * trials.spread


def test_nothing_is_approximated_where_nothing_can_be_fitted():
    noise = [Series(np.random.default_rng(0).standard_normal(30), 1.0)]
    trials = plan(noise)
    if trials is not None:
        assert isinstance(approximations(Request(noise), trials), tuple)
