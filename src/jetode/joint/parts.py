"""The terms of the fitted vector field, by the parts of the equation they belong to, and back to the equation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Polynomial
from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled, Row, is_factor_part, part_names, row_of_part
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray

Term = tuple[str, Exponents]  # part of the equation, exponents over the coordinates that it is a polynomial in


def field_terms(keys: Sequence[Term], values: Sequence[float], order: int) -> Terms:
    """Terms of an equation with these coefficients as a vector field, none of them free; rows before the first term
    are shifts."""
    count = len(keys)
    rows = [row_of_part(part, order) for part, _ in keys]
    exponents = []
    for part, e in keys:
        own = (*e, 1) if is_factor_part(part) else e  # a factor multiplies the coordinate after its own
        exponents.append((*own, *(0,) * (order - len(own))))
    return Terms(
        order, min(rows, default=order - 1), np.array(rows, np.int64), tuple(exponents), np.array(values),
        np.zeros(count, dtype=bool), np.zeros(count), np.zeros(count),
    )  # fmt: skip


def equation_terms(equation: Equation) -> Terms:
    """The terms of a given equation, none of them free."""
    parts = equation.parts()
    keys = [(part, e) for part, polynomial in parts.items() for e in polynomial]
    return field_terms(keys, [c for polynomial in parts.values() for c in polynomial.values()], equation.dimension)


def named(terms: Terms) -> list[Term]:
    """Part of the equation and exponents of every term of a vector field."""
    n, rows = terms.dimension, terms.rows.tolist()
    coupled = {
        i for i in set(rows) if _is_coupled(i, n, (e for row, e in zip(rows, terms.exponents, strict=True) if row == i))
    }
    out = []
    for i, e in zip(rows, terms.exponents, strict=True):
        offset, factor, rate = part_names(i, n)
        if i in coupled:
            out.append((factor if e[i + 1] else offset, e[: i + 1]))
        else:
            out.append((rate, e))
    return out


def _is_coupled(i: int, n: int, exponents: Iterable[Exponents]) -> bool:
    """Whether the terms of row i are offset + factor · x_{i+1}."""
    if i == n - 1:
        return False
    highest = np.max(np.array(list(exponents)), axis=0)
    return bool(highest[i + 1] == 1 and not np.any(highest[i + 2 :]))


def equation_of(terms: Terms) -> Equation:
    """The equation that a vector field stands for."""
    n = terms.dimension
    parts: dict[str, Polynomial] = {}
    for (part, e), c in zip(named(terms), terms.coefficients.tolist(), strict=True):
        parts.setdefault(part, {})[e] = c
    rows: list[Row] = [Coupled.shift(i) for i in range(terms.shifts)]
    for i in range(terms.shifts, n):
        offset, factor, rate = part_names(i, n)
        coupled = i < n - 1 and factor in parts
        rows.append(Coupled(parts.get(offset, {}), parts[factor]) if coupled else parts.get(rate, {}))
    return equation_of_rows(tuple(rows))


def is_factor(terms: Terms) -> BoolArray:
    """Marks the terms that belong to a factor: D, or the c of a chain."""
    return np.array([is_factor_part(part) for part, _ in named(terms)])


def is_pole_constant(terms: Terms) -> BoolArray:
    """Marks the constant of a factor that can vanish: the pole is a parameter, not a term that could be removed."""
    constant = np.array([is_factor_part(part) and not any(e) for part, e in named(terms)])
    return constant & terms.free
