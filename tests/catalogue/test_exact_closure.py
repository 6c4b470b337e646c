"""Exact closures: the paper's, checked symbolically by substitution; honest answers where there is none."""

import pytest
import sympy

from jetode.catalogue.systems import systems


def test_lorenz_x_is_the_papers() -> None:
    closure = systems["lorenz"].closure("x")
    assert closure is not None
    assert closure.denominator == {(1, 0, 0): 3}
    assert closure.numerator == {
        (0, 1, 1): 3,
        (0, 2, 0): 33,
        (1, 0, 1): -41,
        (1, 1, 0): -88,
        (2, 0, 0): 2160,
        (3, 1, 0): -3,
        (4, 0, 0): -30,
    }


def test_rossler_x_and_y() -> None:
    x, y = (systems["rossler"].closure(name) for name in "xy")
    assert x is not None and y is not None
    assert x.denominator == {(1, 0, 0): 500, (0, 0, 0): -2950} and len(x.numerator) == 12
    assert x.numerator[(0, 0, 1)] == 16225 and x.numerator[(1, 0, 0)] == 16835
    assert set(y.denominator) == {(0, 0, 0)}, "a plain polynomial jerk equation"


@pytest.mark.parametrize(
    ("name", "observable"),
    [
        ("lorenz", "x"),
        ("rossler", "x"),
        ("rossler", "z"),
        ("rossler", "3*y/7 - 2"),
        ("van_der_pol", "x"),
        ("chua", "z"),
        ("sprott_jerk", "z"),
        ("hyper_rossler", "x"),
        ("hyper_rossler", "w"),
        ("lorenz_stenflo", "x"),
    ],
)
def test_closure_holds_identically(name: str, observable: str) -> None:
    system = systems[name]
    closure = system.closure(observable)
    assert closure is not None and closure.order == system.dimension
    names = {k: sympy.Rational(v.numerator, v.denominator) for k, v in system.parameters.items()}
    symbols = sympy.symbols(system.variables)
    field = [sympy.sympify(text, names, rational=True) for text in system.equations]
    ring, *_ = sympy.ring(symbols, sympy.QQ)
    jets = [sympy.sympify(observable, rational=True)]
    for _ in range(system.dimension):
        jets.append(sympy.expand(sum(jets[-1].diff(s) * f for s, f in zip(symbols, field, strict=True))))
    elements = [ring.from_expr(jet) for jet in jets]

    def substituted(polynomial: dict[tuple[int, ...], float]) -> sympy.polys.rings.PolyElement:
        total = ring.zero
        for exponents, coefficient in polynomial.items():
            term = ring(int(coefficient))
            for element, power in zip(elements, exponents, strict=False):
                term *= element**power
            total += term
        return total

    assert substituted(closure.denominator) * elements[-1] == substituted(closure.numerator)


def test_none_where_the_jet_has_two_values() -> None:
    answer = systems["lorenz"].analytic_closure("z")
    assert answer.closure is None
    assert "degree 2" in answer.reason


def test_none_where_the_observable_is_blind() -> None:
    answer = systems["lorenz"].analytic_closure("0*x + 1")
    assert answer.closure is None and "whole state" in answer.reason


def test_none_where_the_field_is_not_polynomial() -> None:
    answer = systems["thomas"].analytic_closure("x")
    assert answer.closure is None and "not polynomial" in answer.reason
