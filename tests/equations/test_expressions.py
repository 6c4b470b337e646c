"""Polynomial expressions agree with SymPy, exactly, and refuse everything else."""

from fractions import Fraction

import pytest
import sympy

from jetode.equations.expressions import parse_polynomial, to_floats
from jetode.support.errors import InputError


@pytest.mark.parametrize(
    "text", ["x", "x**2 + y*z/3 - 0.1", "-(x - 2*y)^3 * a", "+x*0", "(x + y + z)**4 - x*y*z", "2**3*x/7"]
)
def test_agrees_with_sympy(text: str) -> None:
    found = parse_polynomial(text, ("x", "y", "z"), {"a": Fraction(8, 3)})
    symbols = sympy.symbols("x y z")
    expression = sympy.sympify(text.replace("^", "**"), rational=True).subs("a", sympy.Rational(8, 3))
    expected = sympy.Poly(expression, *symbols).as_dict()
    assert {e: sympy.Rational(c.numerator, c.denominator) for e, c in found.items()} == expected


def test_sines_follow_the_variables() -> None:
    found = parse_polynomial("sin(y) - x/2", ("x", "y"), sines=True)
    assert to_floats(found) == {(0, 0, 0, 1): 1.0, (1, 0, 0, 0): -0.5}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x +",
        "q",
        "x/y",
        "x/0",
        "1e999*x",
        "9" * 400,
        "1e200*x*1e200",
        "x**y",
        "x**-1",
        "x**0.5",
        "x**99",
        "sin(x)",
        "__import__('os')",
        "x @ y",
        "x if y else z",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expression"):
        parse_polynomial(text, ("x", "y", "z"))
