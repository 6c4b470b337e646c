"""The terms of the fitted vector field, by the parts of the equation they belong to, and back to the equation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from jetode.equations.element_terms import Placed, PlacedElement
from jetode.equations.elements import Element
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Polynomial
from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled, Row, element_of_part, is_factor_part, part_names, row_of_part
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray

Term = tuple[str, Exponents]  # part of the equation, exponents over the coordinates that it is a polynomial in


def field_terms(keys: Sequence[Term], values: Sequence[float], order: int, elements: Sequence[Element] = ()) -> Terms:
    """Terms of an equation with these coefficients as a vector field, none of them free; rows before the first term
    are shifts.  Terms of elements, and their parameters, are named as in
    :func:`jetode.equations.element_terms.parts`."""
    count, width = len(keys), order + len(elements)
    rows = [row_of_part(part, order) for part, _ in keys]
    exponents = []
    for part, e in keys:
        own = (*e, 1) if is_factor_part(part) else e  # a factor multiplies the coordinate after its own
        full = [*own, *(0,) * (width - len(own))]
        m = element_of_part(part)
        if m is not None:
            full[order + m] = 1
        exponents.append(tuple(full))
    return Terms(
        order, min((row for row in rows if row < order), default=order - 1), np.array(rows, np.int64), tuple(exponents),
        np.array(values), np.zeros(count, dtype=bool), np.zeros(count), np.zeros(count),
        tuple(element.shape for element in elements),
    )  # fmt: skip


def by_row(parts: Iterable[str], order: int) -> list[str]:
    """Parts in the order of a field's rows, offsets before factors."""
    return sorted(parts, key=lambda part: (row_of_part(part, order), is_factor_part(part)))


def equation_terms(equation: Equation) -> Terms:
    """The terms of a given equation, none of them free."""
    parts = equation.parts() | equation.element_parts()
    keys = [(part, e) for part in by_row(parts, equation.dimension) for e in parts[part]]
    elements = [one.element for one in equation.elements]
    return field_terms(keys, [parts[part][e] for part, e in keys], equation.dimension, elements)


def named(terms: Terms) -> list[Term]:
    """Part of the equation and exponents of every term of a vector field, parameters of elements last."""
    n, rows = terms.dimension, terms.rows.tolist()
    coupled = {
        i
        for i in set(rows)
        if i < n and _is_coupled(i, n, (e for row, e in zip(rows, terms.exponents, strict=True) if row == i))
    }
    out = []
    for i, e in zip(rows, terms.exponents, strict=True):
        if i >= n:
            out.append((f"e{i - n}", e[:1]))
            continue
        offset, factor, rate = part_names(i, n)
        acting = "".join(f".{m}" for m, k in enumerate(e[n:]) if k)
        if i in coupled:
            out.append(((factor if e[i + 1] else offset) + acting, e[: i + 1]))
        else:
            out.append((rate + acting, e[:n]))
    return out


def _is_coupled(i: int, n: int, exponents: Iterable[Exponents]) -> bool:
    """Whether the terms of row i are offset + factor · x_{i+1}."""
    if i == n - 1:
        return False
    highest = np.max(np.array([e[:n] for e in exponents]), axis=0)
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
        coupled = i < n - 1 and any(part.partition(".")[0] == factor for part in parts)
        rows.append(Coupled(parts.get(offset, {}), parts.get(factor, {})) if coupled else parts.get(rate, {}))
    return equation_of_rows(tuple(rows), placed_elements(terms))


def placed_elements(terms: Terms) -> Placed:
    """The elements of a vector field with what multiplies them."""
    n = terms.dimension
    multipliers: list[dict[int, Polynomial]] = [{} for _ in terms.elements]
    for i, e, c in zip(terms.rows.tolist(), terms.exponents, terms.coefficients.tolist(), strict=True):
        if i < n and any(e[n:]):
            multipliers[e[n:].index(1)].setdefault(i, {})[e[:n]] = c
    return tuple(
        PlacedElement(shape.with_parameters(terms.element_parameters(m).tolist()), multipliers[m])
        for m, shape in enumerate(terms.elements)
    )


def is_factor(terms: Terms) -> BoolArray:
    """Marks the terms that belong to a factor: D, or the c of a chain."""
    return np.array([is_factor_part(part) for part, _ in named(terms)])


def is_pole_constant(terms: Terms) -> BoolArray:
    """Marks the constant of a factor that can vanish: the pole is a parameter, not a term that could be removed."""
    constant = np.array([is_factor_part(part) and "." not in part and not any(e) for part, e in named(terms)])
    return constant & terms.free


def is_element(terms: Terms) -> BoolArray:
    """Marks what belongs to elements: the terms they stand in, and their parameters."""
    return terms.is_parameter | np.array([any(e[terms.dimension :]) for e in terms.exponents], dtype=bool)


def curve_modes(terms: Terms) -> BoolArray:
    """Marks the free parameters of curves, which a figure shows and nobody reads."""
    curves = [terms.dimension + m for m, shape in enumerate(terms.elements) if shape.kind == "curve"]
    return np.isin(terms.rows, curves) & terms.free


def released(terms: Terms, precision: float) -> Terms:
    """The terms with this one small precision around 0 as their prior; parameters of elements keep their own, which is
    the smoothness of curves."""
    own = terms.is_parameter
    return replace(terms, mean=np.where(own, terms.mean, 0.0), precision=np.where(own, terms.precision, precision))
