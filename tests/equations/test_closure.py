import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from jetode.equations.closure import Closure, cosine, gauge_factor, relative_l2, singular_set
from jetode.support.errors import InputError

LORENZ = Closure(
    {
        (0, 1, 1): 3, (0, 2, 0): 33, (1, 0, 1): -41, (1, 1, 0): -88,
        (2, 0, 0): 2160, (3, 1, 0): -3, (4, 0, 0): -30,
    },
    {(1, 0, 0): 3},
    3,
)  # fmt: skip


def test_rate_agrees_with_sympy():
    points = np.random.default_rng(0).normal(size=(5, 3))
    expression = LORENZ.sympy()
    u = sympy.symbols("u0 u1 u2")
    for point, rate in zip(points, LORENZ.rate(points), strict=True):
        assert rate == pytest.approx(float(expression.subs(dict(zip(u, point, strict=True)))))


def test_rate_on_the_singular_set_is_no_error():
    assert not np.isfinite(LORENZ.rate(np.array([0.0, 1.0, 1.0])))


def test_poles():
    assert LORENZ.poles() == (0.0,)
    assert Closure({}, {(0, 0): -6.0, (1, 0): 5.0, (2, 0): -1.0}, 2).poles() == pytest.approx((2.0, 3.0))
    assert Closure({}, {(0, 0): 1.0, (0, 2): 1.0}, 2).poles() == ()
    constant, several = Closure({}, {(0, 0): 2.0}, 2), Closure({}, {(1, 0): 1.0, (0, 1): 1.0}, 2)
    assert constant.poles() == several.poles() == ()
    assert constant.pole_variable is several.pole_variable is None


@given(st.floats(-5, 5).filter(lambda x: abs(x) > 1e-3))
def test_gauge_does_not_matter(factor):
    other = LORENZ.scaled(factor)
    assert gauge_factor(other, LORENZ) == pytest.approx(1 / factor)
    assert relative_l2(other, LORENZ) == pytest.approx((0, 0), abs=1e-14)
    assert cosine(other, LORENZ) == pytest.approx((1, 1))
    assert other.normalised().denominator == pytest.approx({(1, 0, 0): 1.0})
    assert other.normalised().numerator == pytest.approx(LORENZ.normalised().numerator)


def test_relative_errors_are_those_of_the_paper():
    other = Closure({**LORENZ.numerator, (0, 0, 0): 2.0}, {(1, 0, 0): 3.0, (0, 0, 0): 0.3}, 3)
    kappa = 9 / 9.09
    norm = np.linalg.norm(list(LORENZ.numerator.values()))
    expected_n = np.hypot((1 - kappa) * norm, 2 * kappa) / norm
    expected_d = np.hypot(3 * kappa - 3, 0.3 * kappa) / 3
    assert relative_l2(other, LORENZ) == pytest.approx((expected_n, expected_d))
    assert cosine(other, LORENZ)[1] == pytest.approx(3 / np.hypot(3, 0.3))


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_change_of_units(amplitude, time):
    point = np.array([0.7, -1.3, 2.1])
    changed = LORENZ.rescaled(amplitude, time)
    scales = amplitude / time ** np.arange(4)
    assert changed.rate(point * scales[:3]) == pytest.approx(LORENZ.rate(point) * scales[3])
    assert relative_l2(changed.rescaled(1 / amplitude, 1 / time), LORENZ) == pytest.approx((0, 0), abs=1e-12)


def test_writing_it_down():
    plain = Closure({(1, 0): -1.0, (0, 1): 0.5}, {(0, 0): 1.0}, 2)
    assert plain.text() == "u1' = -u0 + 0.5 u1"
    assert plain.latex() == r"\dot{u}_{1} = -u_{0} + 0.5\,u_{1}"
    assert LORENZ.text().endswith(" / (3 u0)")
    assert LORENZ.latex().startswith(r"\dot{u}_{2} = \frac{")
    assert Closure.from_json(LORENZ.to_json()) == LORENZ


def test_singular_set_along_a_record():
    angle = np.linspace(0.1, 20.1, 2001)
    jets = np.stack([np.cos(angle), -np.sin(angle), -np.cos(angle)], axis=1)
    regular = Closure({(1, 1, 0): -1.0}, {(1, 0, 0): 1.0}, 3)
    found = singular_set(regular, jets)
    assert found.crossed
    np.testing.assert_allclose(angle[found.crossings], np.pi / 2 + np.pi * np.arange(6), atol=0.011)
    assert found.misfit < 1e-3 and found.closest < 0.01
    assert singular_set(Closure({(0, 1, 0): 1.0}, {(1, 0, 0): 1.0}, 3), jets).misfit > 1
    assert not singular_set(Closure({}, {(1, 0, 0): 1.0, (0, 0, 0): 3.0}, 3), jets).crossed


def test_bad_closures_are_refused():
    for arguments in (({(1,): 1.0}, {(0, 0): 1.0}, 2), ({}, {}, 2), ({}, {(): 1.0}, 0)):
        with pytest.raises(InputError):
            Closure(*arguments)
