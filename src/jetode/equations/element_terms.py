"""Elements in the rows of an equation (docs/mathematics.md (8.1)): x_i' = polynomial + Σ_m M_mi(x) f_m(x_v; p_m).

A :class:`PlacedElement` is an element with the polynomials M over all coordinates that multiply it, by row.  In a
coupled row x_i' = offset + factor · x_{i+1} it belongs to the offset where M is free of x_{i+1} and to the factor where
M has x_{i+1} once; either way f is of one of x_0 … x_i.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from jetode.equations.elements import Element
from jetode.equations.polynomials import (
    Exponents,
    Polynomial,
    add,
    derivative,
    evaluate,
    from_json,
    multiply,
    rescale,
    scale,
    to_json,
    widen,
)
from jetode.equations.rows import Coupled, Rows, part_names, substitute
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True, eq=False)
class PlacedElement:
    """An element and what multiplies it: row → polynomial over all coordinates."""

    element: Element
    multipliers: Mapping[int, Polynomial]

    def in_row(self, i: int) -> Polynomial:
        """What multiplies the element in one row; nothing where it is not there."""
        return self.multipliers.get(i, {})

    def with_gain(self, gain: float) -> PlacedElement:
        """The same element ``gain`` times as strong."""
        return replace(self, multipliers={i: scale(p, gain) for i, p in self.multipliers.items()})

    def with_element(self, element: Element, gain: float) -> PlacedElement:
        """Another element in its places, ``gain`` times as strong."""
        return replace(self.with_gain(gain), element=element)

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        terms = [{"row": i, **term} for i, p in self.multipliers.items() for term in to_json(p)]
        return {**self.element.to_json(), "terms": terms}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlacedElement:
        """Inverse of :meth:`to_json`."""
        rows: dict[int, list[Mapping[str, Any]]] = {}
        for term in data["terms"]:
            rows.setdefault(int(term["row"]), []).append(term)
        return cls(Element.from_json(data), {i: from_json(terms) for i, terms in rows.items()})


Placed = tuple[PlacedElement, ...]


def check(rows: Rows, placed: Placed) -> None:
    """Refuse elements that the rows have no place for."""
    n = len(rows)
    for one in placed:
        for i, multiplier in one.multipliers.items():
            within = all(0 <= v < n for v in one.element.coordinates)
            if not 0 <= i < n or not within or any(len(e) != n for e in multiplier):
                raise InputError(f"Elements must be in one of {n} rows and of one of {n} coordinates. Got {one}.")
            if isinstance(rows[i], Coupled):
                later = any(e[i + 1] > 1 or any(e[i + 2 :]) for e in multiplier)
                if later or max(one.element.coordinates) > i:
                    raise InputError(
                        f"An element in the rate of coordinate {i} must be of coordinates 0 to {i}, times the next one "
                        f"at most. Got {one} instead."
                    )


def parts(rows: Rows, placed: Placed) -> dict[str, Polynomial]:
    """What multiplies the elements, by part: ``P.0`` for element 0 in the part P, exponents as in that part; and the
    parameters, ``e0``, by their number."""
    out: dict[str, Polynomial] = {}
    for m, i, e, c in listed(placed):
        part, powers = gain_key(rows, m, i, e)
        out.setdefault(part, {})[powers] = c
    for m, one in enumerate(placed):
        if one.element.parameters:
            out[f"e{m}"] = {(i,): p for i, p in enumerate(one.element.parameters)}
    return out


def gain_key(rows: Rows, m: int, i: int, e: Exponents) -> tuple[str, Exponents]:
    """Part and exponents there of the term x^e f_m in row i."""
    offset, factor, rate = part_names(i, len(rows))
    if isinstance(rows[i], Coupled):
        return f"{factor if e[i + 1] else offset}.{m}", e[: i + 1]
    return f"{rate}.{m}", e


def rate(placed: Placed, i: int) -> Polynomial:
    """The elements' part of the rate of x_i, a polynomial over the coordinates and the elements."""
    out: Polynomial = {}
    for m, one in enumerate(placed):
        last = tuple(int(k == m) for k in range(len(placed)))
        out |= {(*e, *last): c for e, c in one.in_row(i).items()}
    return out


def values(placed: Placed, i: int, states: FloatArray, factor: bool) -> FloatArray:
    """What the elements add to the offset, or to the factor, of coupled row i at states (…, ≥ i + 1)."""
    out = np.zeros(states.shape[:-1])
    for one in placed:
        own = {e[: i + 1]: c for e, c in one.in_row(i).items() if bool(sum(e[i + 1 :])) == factor}
        if own:
            out = out + evaluate(own, states[..., : i + 1]) * one.element(one.element.argument(states))
    return out


def in_rows(placed: Placed) -> set[int]:
    """Rows with an element."""
    return {i for one in placed for i, p in one.multipliers.items() if p}


# -- changes of coordinates ------------------------------------------------------------------------------


def scaled(placed: Placed, j: int, alpha: float) -> Placed:
    """In x̃_j = α x_j."""

    def of(one: PlacedElement) -> PlacedElement:
        n = len(next(iter(next(iter(one.multipliers.values())))))
        inverse = [1.0 / alpha if k == j else 1.0 for k in range(n)]
        moved = {i: scale(rescale(p, inverse), alpha if i == j else 1.0) for i, p in one.multipliers.items()}
        if j not in one.element.coordinates:
            return replace(one, multipliers=moved)
        element, gain = one.element.in_units(alpha ** one.element.coordinates.count(j))
        return replace(one, multipliers=moved).with_element(element, gain)

    return tuple(map(of, placed))


def shifted(placed: Placed, j: int, g: Mapping[Exponents, float]) -> Placed:
    """In x̃_j = x_j + g(x_0 … x_{j−1}), where no element is of x_j: their part of g' goes into row j."""

    def of(one: PlacedElement) -> PlacedElement:
        n = len(next(iter(next(iter(one.multipliers.values())))))
        old = add({tuple(int(k == j) for k in range(n)): 1.0}, scale(widen(g, n), -1.0))
        moved = {i: substitute(p, j, old) for i, p in one.multipliers.items()}
        slopes = [multiply(derivative(widen(g, n), i), moved[i]) for i in range(j) if moved.get(i)]
        drift = add(*slopes)
        return replace(one, multipliers=moved | ({j: add(moved.get(j, {}), drift)} if drift else {}))

    return tuple(map(of, placed))


def in_units(placed: Placed, factors: Sequence[float], rates: Sequence[float]) -> Placed:
    """With coordinates x_i = x̃_i / factors_i, the rate of x_i being rates_i times that of x̃_i."""

    def of(one: PlacedElement) -> PlacedElement:
        moved = {i: scale(rescale(p, factors), rates[i]) for i, p in one.multipliers.items()}
        element, gain = one.element.in_units(1.0 / prod(factors[v] for v in one.element.coordinates))
        return replace(one, multipliers=moved).with_element(element, gain)

    return tuple(map(of, placed))


def canonical(placed: Placed) -> Placed:
    """Every element written in its one way."""
    return tuple(one.with_element(*one.element.canonical()) for one in placed)


def listed(placed: Placed) -> Iterator[tuple[int, int, Exponents, float]]:
    """(element, row, exponents, coefficient) of every term."""
    for m, one in enumerate(placed):
        for i, multiplier in sorted(one.multipliers.items()):
            for e, c in multiplier.items():
                yield m, i, e, c
