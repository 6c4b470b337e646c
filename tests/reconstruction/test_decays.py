"""Decays are judged over the record's own span: a damped oscillation whose equation is in the family is exact."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.joint.fit import JointFit, fit_joint
from jetode.joint.request import Request
from jetode.reconstruction.gathering import gather, own_motion
from jetode.reconstruction.verdict import judge
from jetode.records.series import Series


def decay(rate, start, seed, noise=0.05, n=1200, duration=80.0):
    t = np.linspace(0.0, duration, n)
    values = solve_ivp(rate, (0.0, duration), start, t_eval=t, rtol=1e-10, atol=1e-10).y[0]
    rng = np.random.default_rng(seed)
    return Series(values + noise * values.std() * rng.standard_normal(n), t[1])


def linear(_, s):
    return [s[1], -s[0] - 0.06 * s[1]]


def masses(_, s):
    pull = 0.6 * (s[2] - s[0])
    return [s[1], -s[0] - 0.02 * s[1] + pull, s[3], -1.5 * s[2] - 0.02 * s[3] - pull]


def judged(records):
    joint = fit_joint(Request(records))
    assert isinstance(joint, JointFit)
    evidence = gather(joint, records, lambda: False)
    return joint, evidence, judge(evidence)


def test_a_damped_oscillation_is_exact():
    joint, evidence, verdict = judged([decay(linear, [1.0, 0.0], 0)])
    assert verdict.grade == "exact"
    assert evidence.transient and evidence.lyapunov < 0
    assert joint.identified.equation.parts()["P"] == pytest.approx({(1, 0): -1.0, (0, 1): -0.06}, abs=0.005)


def test_three_decays_of_one_system_are_one_equation():
    records = [decay(linear, [a, b], i) for i, (a, b) in enumerate([(1.0, 0.0), (0.5, 1.0), (-1.5, 0.3)])]
    _, evidence, verdict = judged(records)
    assert verdict.grade == "exact"
    assert evidence.transient


def test_few_oscillations_do_where_the_coefficients_are_certain():
    _, evidence, verdict = judged([decay(linear, [1.0, 0.0], 0, noise=0.01, duration=22.0)])
    assert evidence.oscillations < 5
    assert verdict.grade == "exact"


def test_a_coordinate_that_follows_from_the_others_is_no_motion_of_its_own():
    """x'' = −sin x − 0.06 x' makes x'' a function of (x, x'); of two masses no derivative below the fourth is."""
    t = np.linspace(0.0, 80.0, 1200)
    angle = solve_ivp(lambda _, s: [s[1], -np.sin(s[0]) - 0.06 * s[1]], (0, 80), [2.2, 0.0], t_eval=t, rtol=1e-9).y.T
    assert own_motion(np.column_stack([angle, -np.sin(angle[:, 0]) - 0.06 * angle[:, 1]])) < 1e-4
    both = solve_ivp(masses, (0, 80), [1.0, 0.0, -0.5, 0.0], t_eval=t, rtol=1e-9).y.T
    assert own_motion(both) > 0.1
    assert np.isnan(own_motion(angle))


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_pendulum_from_two_radians_is_a_sine_and_no_line_beside_it(noise):
    """Clean, an equation of order 4 imitates it; at 5 %, a cubic of order 2 and a power beside a line."""
    joint, *_ = judged([decay(lambda _, s: [s[1], -np.sin(s[0]) - 0.06 * s[1]], [2.1, 0.0], 100, noise)])
    equation = joint.identified.equation
    (one,) = equation.elements
    assert (one.element.kind, one.element.variable) == ("sin", 0)
    assert one.element.parameters == pytest.approx((1.0, 0.0), abs=0.02)
    assert equation.parts()["P"] == pytest.approx({(0, 1): -0.06}, abs=0.002)


def test_a_name_whose_further_coefficients_are_not_significant_is_no_rival():
    """Beside a line an arctangent fits this sine as well, with four coefficients instead of three."""
    joint, evidence, verdict = judged([decay(lambda _, s: [s[1], -np.sin(s[0]) - 0.06 * s[1]], [2.35, 0.0], 101)])
    assert any(r.superfluous and r.delta_bic < 10.0 for r in joint.rivals)
    assert evidence.rival > 10.0
    assert verdict.grade == "exact"


def test_a_sine_that_a_cube_holds_is_ambiguous():
    """From 1 rad at 5 % noise x − x³/6 is the sine to 0.8 %: whichever is ahead has the other as its rival."""
    joint, evidence, verdict = judged([decay(lambda _, s: [s[1], -np.sin(s[0]) - 0.06 * s[1]], [1.0, 0.0], 3)])
    names = {"".join(e.element.kind for e in equation.elements) for equation in
             (joint.identified.equation, *(r.regular for r in joint.rivals if r.delta_bic < 10.0))}  # fmt: skip
    assert {"sin", ""} <= names
    assert evidence.rival < 10.0 and verdict.grade != "exact"


@pytest.mark.slow
def test_a_pendulum_is_not_exact_at_a_higher_order_than_its_own():
    """At 5 % noise an equation of order 3 imitates the sine better than a cubic of order 2 does."""
    joint, _, verdict = judged([decay(lambda _, s: [s[1], -np.sin(s[0]) - 0.06 * s[1]], [2.0, 0.0], 0)])
    assert joint.identified.terms.dimension == 2 or verdict.grade != "exact"


@pytest.mark.parametrize("start", [[1.0, 0.0, -0.5, 0.0], [-1.05, 0.0, -0.91, 0.0]], ids=["both modes", "mostly one"])
def test_two_coupled_masses_are_of_order_four(start):
    joint, _, verdict = judged([decay(masses, start, 0)])
    assert joint.identified.terms.dimension == 4
    assert verdict.grade == "exact"
    law = joint.identified.equation.parts()["P"]
    assert law == pytest.approx({(1, 0, 0, 0): -3.0, (0, 1, 0, 0): -0.074, (0, 0, 1, 0): -3.7004, (0, 0, 0, 1): -0.04},
                                abs=0.02)  # fmt: skip
