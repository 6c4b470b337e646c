"""The head of a chain, u0' = f0(u0) + c(u0) v: from the closure of its second coordinate to that of the record
(docs/mathematics.md (3.9), (3.10)).

With v = (u1 − f0)/c and v' = (u2 − (f0' + c' v) u1)/c, the closure B v'' = A(u0, v, v') gives

    u2' = (f0'' + c'' v) u1² + (f0' + c' v) u2 + 2 c' u1 v' + c A/B,

and a power of c leaves no fraction.
"""

from __future__ import annotations

from collections.abc import Mapping

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Exponents, Polynomial, add, derivative, embed, multiply, power, scale

SHIFT: Polynomial = {(0,): 1.0}  # the c of u0' = u1


def record_closure(f0: Polynomial, c: Polynomial, second: Closure) -> Closure:
    """The closure in (u0, u1, u2) of a chain of order 3 from that in (u0, v, v')."""
    unit: list[Polynomial] = [{tuple(int(j == i) for j in range(5)): 1.0} for i in range(5)]
    _, u1, u2, v, rate = unit
    wide = [embed(p, 5) for p in (f0, c)]
    slopes = [derivative(p, 0) for p in wide]
    bends = [derivative(p, 0) for p in slopes]
    below, above = ({(e[0], 0, 0, *e[1:]): x for e, x in p.items()} for p in (second.denominator, second.numerator))
    known = add(
        multiply(add(bends[0], multiply(bends[1], v)), multiply(u1, u1)),
        multiply(add(slopes[0], multiply(slopes[1], v)), u2),
        scale(multiply(multiply(slopes[1], u1), rate), 2.0),
    )
    numerator = add(multiply(below, known), multiply(wide[1], above))
    cleared = max(e[3] + 2 * e[4] for e in (*numerator, *below))
    return Closure(_in_jets(numerator, f0, c, cleared), _in_jets(below, f0, c, cleared), 3)


def _in_jets(polynomial: Polynomial, f0: Polynomial, c: Polynomial, cleared: int) -> Polynomial:
    """c^cleared times a polynomial in (u0, u1, u2, v, v') as one in (u0, u1, u2)."""
    u1: Polynomial = {(0, 1, 0): 1.0}
    u2: Polynomial = {(0, 0, 1): 1.0}
    factor = embed(c, 3)
    lower = add(u1, scale(embed(f0, 3), -1.0))  # c v
    drift = add(multiply(factor, embed(derivative(f0, 0), 3)), multiply(embed(derivative(c, 0), 3), lower))
    rate = add(multiply(factor, u2), scale(multiply(drift, u1), -1.0))  # c² v'
    parts = []
    for (*visible, m, n), x in polynomial.items():
        hidden = multiply(power(lower, m, 3), power(rate, n, 3))
        monomial: Polynomial = {tuple(visible): x}
        parts.append(multiply(multiply(monomial, power(factor, cleared - m - 2 * n, 3)), hidden))
    return add(*parts)


def substitute_second(polynomial: Mapping[Exponents, float], second: Polynomial) -> Polynomial:
    """The polynomial with its second variable replaced by ``second``, over the same variables."""
    parts: list[Polynomial] = []
    for e, c in polynomial.items():
        monomial: Polynomial = {(e[0], 0, *e[2:]): c}
        parts.append(multiply(monomial, power(second, e[1], len(e))))
    return add(*parts)
