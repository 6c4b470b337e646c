"""Polynomial expressions in text, ``"x**2 + y*z/3"``, read into exact rational coefficients.

Only numbers, the named variables and constants, ``+ - *``, division by a number, powers with whole exponents
(``**`` or ``^``) and, where asked for, the sine of a variable: nothing is ever evaluated as Python code.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from fractions import Fraction

from jetode.equations.polynomials import Exponents, Polynomial
from jetode.support.errors import InputError

ExactPolynomial = dict[Exponents, Fraction]
MAX_POWER = 20
LARGEST = 10**300  # a float holds it
TOO_LARGE = (float("inf"),)  # what Python reads a literal like 1e999 as


def parse_polynomial(
    text: str, variables: Sequence[str], constants: Mapping[str, Fraction] | None = None, sines: bool = False
) -> ExactPolynomial:
    """The polynomial in ``variables`` (followed, with ``sines``, by the sine of each of them)."""
    try:
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval").body
    except SyntaxError:
        raise InputError(f"The expression {text!r} cannot be read.") from None
    reader = _Reader(text, tuple(variables), constants or {}, sines)
    found = reader.read(tree)
    if any(abs(c) > LARGEST for c in found.values()):
        raise reader.refused("a number that is too large")
    return found


def to_floats(polynomial: Mapping[Exponents, Fraction]) -> Polynomial:
    """The nearest floating-point coefficients."""
    return {exponents: float(c) for exponents, c in polynomial.items()}


class _Reader:
    def __init__(self, text: str, variables: tuple[str, ...], constants: Mapping[str, Fraction], sines: bool) -> None:
        self.text = text
        self.variables = variables
        self.constants = constants
        self.sines = sines
        self.size = len(variables) * (2 if sines else 1)

    def read(self, node: ast.expr) -> ExactPolynomial:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and value not in TOO_LARGE:
                return self._constant(Fraction(str(value)))
            case ast.Name(id=name) if name in self.variables:
                return self._variable(self.variables.index(name))
            case ast.Name(id=name) if name in self.constants:
                return self._constant(self.constants[name])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _scaled(self.read(operand), Fraction(-1))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(self.read(left), operator, self.read(right))
            case ast.Call(func=ast.Name(id="sin"), args=[ast.Name(id=name)], keywords=[]) if (
                self.sines and name in self.variables
            ):
                return self._variable(len(self.variables) + self.variables.index(name))
            case _:
                raise self.refused(ast.unparse(node))

    def _binary(self, left: ExactPolynomial, operator: ast.operator, right: ExactPolynomial) -> ExactPolynomial:
        match operator:
            case ast.Add():
                return _sum(left, right)
            case ast.Sub():
                return _sum(left, _scaled(right, Fraction(-1)))
            case ast.Mult():
                return _product(left, right)
            case ast.Div():
                divisor = self._number(right)
                if divisor == 0:
                    raise self.refused("a division by zero")
                return _scaled(left, 1 / divisor)
            case ast.Pow():
                power = self._number(right)
                if power.denominator != 1 or not 0 <= power <= MAX_POWER:
                    raise self.refused(f"the power {power}")
                out = self._constant(Fraction(1))
                for _ in range(int(power)):
                    out = _product(out, left)
                return out
            case _:
                raise self.refused(type(operator).__name__)

    def _number(self, polynomial: ExactPolynomial) -> Fraction:
        if any(any(exponents) for exponents in polynomial):
            raise self.refused("a variable in a divisor or exponent")
        return sum(polynomial.values(), Fraction(0))

    def _constant(self, value: Fraction) -> ExactPolynomial:
        return {(0,) * self.size: value} if value else {}

    def _variable(self, index: int) -> ExactPolynomial:
        return {tuple(int(i == index) for i in range(self.size)): Fraction(1)}

    def refused(self, what: str) -> InputError:
        """The sentence about what stands in the expression."""
        known = ", ".join((*self.variables, *self.constants))
        return InputError(f"The expression {self.text!r} must be a polynomial in {known}. Got {what} in it.")


def _sum(p: ExactPolynomial, q: ExactPolynomial) -> ExactPolynomial:
    out = dict(p)
    for exponents, c in q.items():
        out[exponents] = out.get(exponents, Fraction(0)) + c
    return {exponents: c for exponents, c in out.items() if c}


def _scaled(p: ExactPolynomial, factor: Fraction) -> ExactPolynomial:
    return {exponents: c * factor for exponents, c in p.items() if factor}


def _product(p: ExactPolynomial, q: ExactPolynomial) -> ExactPolynomial:
    out: ExactPolynomial = {}
    for e, c in p.items():
        out = _sum(out, {tuple(map(int.__add__, e, f)): c * d for f, d in q.items()})
    return out
