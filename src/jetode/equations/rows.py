"""Rows of an equation of motion (docs/mathematics.md (3.14)) and what changes of one coordinate do to all of them.

A row is the rate of one coordinate.  A *coupled* row introduces the next coordinate,

    x_i' = offset(x_0 … x_i) + factor(x_0 … x_i) x_{i+1},

and leaves it free up to x_{i+1} → α x_{i+1} + g(x_0 … x_i), its *gauge*.  A *shift* is the coupled row x_i' = x_{i+1}.
A plain row is a polynomial over all coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jetode.equations.polynomials import Exponents, Polynomial, add, derivative, multiply, power, rescale, scale, widen

CANCELLED = 1e-13  # of what a sum is made of: a few hundred roundings


@dataclass(frozen=True)
class Coupled:
    """x_i' = offset + factor · x_{i+1}, both over x_0 … x_i."""

    offset: Polynomial
    factor: Polynomial

    @classmethod
    def shift(cls, i: int) -> Coupled:
        """x_i' = x_{i+1}."""
        return cls({}, {(0,) * (i + 1): 1.0})

    @property
    def is_shift(self) -> bool:
        """Whether the row says no more than that the next coordinate is the rate of this one."""
        return not self.offset and list(self.factor.values()) == [1.0] and not self.vanishes

    @property
    def lead(self) -> Exponents:
        """The factor's leading monomial."""
        return leading_monomial(self.factor)

    @property
    def vanishes(self) -> bool:
        """Whether the factor can be zero: it is no constant."""
        return any(any(e) for e in self.factor)


Row = Coupled | Polynomial
Rows = tuple[Row, ...]


def leading_monomial(polynomial: Mapping[Exponents, float]) -> Exponents:
    """Highest total degree; among those, the highest power of the last coordinate (u1 before u0)."""
    return max(polynomial, key=lambda e: (sum(e), e[::-1]))


def part_names(i: int, n: int) -> tuple[str, str, str]:
    """Names of a row's offset, factor and, if plain, rate: a, D in the last row but one, P in the last; before, f0 and
    c, f1 and c1, …; plain rows before the last P0, P1, …"""
    offset, factor = ("a", "D") if i == n - 2 else (f"f{i}", "c" if i == 0 else f"c{i}")
    return offset, factor, "P" if i == n - 1 else f"P{i}"


def row_of_part(part: str, n: int) -> int:
    """The row that a part belongs to; what multiplies element m there is ``part.m``, its parameters, ``e…``, come after
    all rows."""
    if is_parameter_part(part):
        return n + int(part[1:])
    part = part.partition(".")[0]
    last = {"a": n - 2, "D": n - 2, "P": n - 1, "c": 0}
    return last[part] if part in last else int(part[1:])


def is_parameter_part(part: str) -> bool:
    """Whether a part holds the parameters of an element."""
    return part[0] == "e"


def element_of_part(part: str) -> int | None:
    """Which element a part multiplies; None where it multiplies none."""
    return int(part.partition(".")[2]) if "." in part else None


def is_factor_part(part: str) -> bool:
    """Whether a part multiplies the next coordinate."""
    return part[0] in "Dc"


def rate(rows: Sequence[Row], i: int) -> Polynomial:
    """The rate of x_i as a polynomial over all coordinates."""
    row, n = rows[i], len(rows)
    if not isinstance(row, Coupled):
        return dict(row)
    following: Polynomial = {tuple(int(j == i + 1) for j in range(n)): 1.0}
    return add(widen(row.offset, n), multiply(widen(row.factor, n), following))


def divide(dividend: Mapping[Exponents, float], divisor: Mapping[Exponents, float]) -> tuple[float, Polynomial]:
    """Leading coefficient of the divisor, and the quotient by the monic one: no term of the rest has its lead."""
    lead = leading_monomial(divisor)
    alpha = divisor[lead]
    monic = scale(divisor, 1.0 / alpha)
    quotient: Polynomial = {}
    rest = dict(dividend)
    while divisible := [e for e in rest if all(i >= j for i, j in zip(e, lead, strict=True))]:
        top = leading_monomial({e: rest[e] for e in divisible})
        factor = {tuple(i - j for i, j in zip(top, lead, strict=True)): rest[top]}
        quotient = add(quotient, factor)
        rest = add(rest, scale(multiply(monic, factor), -1.0))
        rest.pop(top, None)
    return alpha, quotient


def substitute(polynomial: Mapping[Exponents, float], j: int, replacement: Mapping[Exponents, float]) -> Polynomial:
    """The polynomial with x_j replaced by a polynomial over the same or fewer variables."""
    parts: list[Polynomial] = []
    for e, c in polynomial.items():
        monomial: Polynomial = {(*e[:j], 0, *e[j + 1 :]): c}
        parts.append(multiply(monomial, power(widen(replacement, len(e)), e[j], len(e))))
    return add(*parts)


def scaled(rows: Rows, j: int, alpha: float) -> Rows:
    """The same equation in x̃_j = α x_j, which the coupled row j − 1 introduces."""

    def moved(p: Polynomial, own: bool) -> Polynomial:
        inverse = [1.0] * len(next(iter(p), ()))
        if len(inverse) <= j:
            return p
        inverse[j] = 1.0 / alpha
        p = rescale(p, inverse)
        return scale(p, alpha) if own else p

    def of(i: int, row: Row) -> Row:
        if not isinstance(row, Coupled):
            return moved(row, i == j)
        if i == j - 1:  # a division: the leading coefficient becomes exactly 1
            return Coupled(row.offset, {e: c / alpha for e, c in row.factor.items()})
        return Coupled(moved(row.offset, i == j), moved(row.factor, i == j))

    return tuple(of(i, row) for i, row in enumerate(rows))


def shifted(rows: Rows, j: int, g: Mapping[Exponents, float]) -> tuple[Rows, Polynomial]:
    """The same equation in x̃_j = x_j + g(x_0 … x_{j−1}): its rows but for g' along the flow, which row j has to add,
    and that."""
    n = len(rows)
    old = add({(0,) * j + (1,): 1.0}, scale(widen(g, j + 1), -1.0))

    def moved(p: Polynomial) -> Polynomial:
        return substitute(p, j, old) if len(next(iter(p), ())) > j else p

    def of(i: int, row: Row) -> Row:
        if not isinstance(row, Coupled):
            return moved(row)
        if i == j - 1:
            return Coupled(add(row.offset, scale(multiply(row.factor, g), -1.0)), row.factor)
        return Coupled(moved(row.offset), moved(row.factor))

    out = tuple(of(i, row) for i, row in enumerate(rows))
    slopes = [(i, derivative(widen(g, n), i)) for i in range(j)]
    return out, add(*(multiply(slope, rate(out, i)) for i, slope in slopes if slope))


def with_drift(rows: Rows, j: int, drift: Polynomial) -> Rows:
    """Row j with a polynomial over x_0 … x_j added to its rate."""
    row = rows[j]
    if isinstance(row, Coupled):
        row = Coupled(add(row.offset, {e[: j + 1]: c for e, c in drift.items()}), row.factor)
    else:
        row = add(row, drift)
    return (*rows[:j], row, *rows[j + 1 :])


def changed(rows: Rows, j: int, alpha: float, g: Mapping[Exponents, float]) -> Rows:
    """The same equation in x̃_j = α x_j + g(x_0 … x_{j−1})."""
    rows = rows if alpha == 1.0 else scaled(rows, j, alpha)
    if not g:
        return rows
    rows, drift = shifted(rows, j, g)
    return with_drift(rows, j, drift)


def sizes(rows: Rows) -> Rows:
    """Absolute values of all coefficients: with them, sums show how large the terms are that could cancel."""

    def positive(p: Polynomial) -> Polynomial:
        return {e: abs(c) for e, c in p.items()}

    def of(row: Row) -> Row:
        return Coupled(positive(row.offset), positive(row.factor)) if isinstance(row, Coupled) else positive(row)

    return tuple(map(of, rows))


def without_cancelled(rows: Rows, size: Rows, tolerance: float) -> Rows:
    """Without the terms of offsets and plain rows that are smaller than ``tolerance`` of what they are made of."""

    def kept(p: Polynomial, by: Polynomial) -> Polynomial:
        return {e: c for e, c in p.items() if abs(c) > tolerance * by[e]}

    out: list[Row] = []
    for row, by in zip(rows, size, strict=True):
        if isinstance(row, Coupled) and isinstance(by, Coupled):
            out.append(Coupled(kept(row.offset, by.offset), row.factor))
        elif not isinstance(row, Coupled) and not isinstance(by, Coupled):
            out.append(kept(row, by))
    return tuple(out)


def reduced(rows: Rows, j: int, tolerance: float = CANCELLED) -> Rows:
    """x_j in its canonical gauge: the factor of row j − 1 has leading coefficient 1, its offset no term divisible by
    the factor's leading monomial.  What cancels to less than ``tolerance`` of what it is made of is dropped."""
    before = rows[j - 1]
    assert isinstance(before, Coupled)
    alpha, g = divide(before.offset, before.factor)
    rows = scaled(rows, j, alpha)
    if not g:
        return rows
    size, drift = shifted(sizes(rows), j, {e: -abs(c) for e, c in g.items()})
    size = with_drift(size, j, scale(drift, -1.0))
    rows = changed(rows, j, 1.0, g)
    row = rows[j - 1]
    assert isinstance(row, Coupled)
    rest = {e: c for e, c in row.offset.items() if any(i < k for i, k in zip(e, row.lead, strict=True))}
    rows = (*rows[: j - 1], Coupled(rest, row.factor), *rows[j:])
    return without_cancelled(rows, size, tolerance)
