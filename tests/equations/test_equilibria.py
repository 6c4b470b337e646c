"""Equilibria of regular closures: known ones of Lorenz and Rössler, on and off the pole, in any unit."""

import numpy as np
import pytest

from jetode.equations.equilibria import equilibria
from jetode.equations.regular import RegularClosure
from truths import LORENZ, ROSSLER, eigenvalues_at


@pytest.mark.parametrize(("amplitude", "time"), [(1.0, 1.0), (1e6, 1e-6), (1e-6, 1e6), (1e-9, 1.0)])
def test_lorenz(amplitude, time):
    found = equilibria(LORENZ.in_units(amplitude, time).canonical())
    c = np.sqrt(8 / 3 * 27)
    assert [e.state[0] / amplitude for e in found] == pytest.approx([-c, 0.0, c], abs=1e-9)
    for e, x in zip(found, (-c, 0.0, c), strict=True):
        assert e.state[1] == 0.0
        expected = eigenvalues_at("lorenz", (x, x, x * x / (8 / 3)))
        assert np.sort_complex(np.array(e.eigenvalues)) * time == pytest.approx(expected, rel=1e-6)
    assert [e.kind for e in found] == ["saddle focus", "saddle", "saddle focus"]


def test_rossler():
    found = equilibria(ROSSLER)
    a, b, c = 0.2, 0.2, 5.7
    roots = [(c - s * np.sqrt(c * c - 4 * a * b)) / 2 for s in (1, -1)]
    assert [e.state[0] for e in found] == pytest.approx(roots)
    for e, x in zip(found, roots, strict=True):
        expected = eigenvalues_at("rossler", (x, -x / a, x / a))
        assert np.sort_complex(np.array(e.eigenvalues)) == pytest.approx(expected, rel=1e-6)


def test_a_pole_that_is_nearly_zero_is_one_equilibrium():
    found = equilibria(RegularClosure(dict(LORENZ.a), {(1, 0): 1.0, (0, 0): 1e-13}, dict(LORENZ.P), 3))
    assert len(found) == 3


def test_no_equilibrium_and_complex_ones():
    assert equilibria(RegularClosure({}, {(0, 0): 1.0}, {(0, 0, 0): 1.0, (2, 0, 0): 1.0}, 3)) == ()
    assert equilibria(RegularClosure({}, {(0, 0): 1.0}, {(0, 0, 0): 1e-18, (2, 0, 0): 1.0}, 3)) == ()


def test_order_two_and_four():
    damped = RegularClosure({}, {(0,): 1.0}, {(1, 0): -1.0, (0, 1): -0.2}, 2)
    (rest,) = equilibria(damped)
    assert rest.state == (0.0, 0.0) and rest.kind == "stable focus"
    quartic = RegularClosure({}, {(0, 0, 0): 1.0}, {(1, 0, 0, 0): -1.0, (3, 0, 0, 0): 1.0, (0, 0, 0, 1): -1.0}, 4)
    assert [e.state[0] for e in equilibria(quartic)] == pytest.approx([-1.0, 0.0, 1.0])
