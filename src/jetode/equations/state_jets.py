"""From states of a cascade to jets of the record and back (docs/mathematics.md (3.2), (3.15)).

With polynomial rows u_{k+1} = Σ_i ∂u_k/∂x_i x_i' by exact algebra.  Where an element stands in a row before the last,
the first such derivatives are taken from the field and its Jacobian, which reaches two coordinates beyond the leading
shifts: regular closures of any order, and chains of order 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from jetode.equations import element_terms
from jetode.equations.polynomials import Polynomial, add, derivative, evaluate, multiply
from jetode.equations.rows import rate
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.equations.equation import Equation


def jets(equation: Equation, states: FloatArray) -> FloatArray:
    """Jet coordinates (…, n) of states (…, n)."""
    if element_terms.in_rows(equation.elements) - {equation.dimension - 1}:
        return _element_jets(equation, states)
    flow = [
        evaluate(row.offset, states[..., : i + 1]) + evaluate(row.factor, states[..., : i + 1]) * states[..., i + 1]
        for i, row in enumerate(equation.cascade())
    ]
    out = [np.asarray(states[..., 0], dtype=np.float64)]
    for slopes in _jet_slopes(equation):
        out.append(_total([evaluate(p, states) * flow[i] for i, p in slopes]))
    return np.stack(out, axis=-1)


def states(equation: Equation, at: FloatArray) -> FloatArray:
    """States of jets, the inverse of :func:`jets`; not finite where a factor vanishes."""
    if element_terms.in_rows(equation.elements) - {equation.dimension - 1}:
        return _element_states(equation, at)
    out = np.full_like(at, 0.0, dtype=np.float64)
    out[..., 0] = at[..., 0]
    flow: list[FloatArray] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (row, slopes) in enumerate(zip(equation.cascade(), _jet_slopes(equation), strict=True)):
            *earlier, (_, own) = slopes  # u_{i+1} is affine in the rate of x_i, with ∂u_i/∂x_i free of x_i
            rising = at[..., i + 1]
            if earlier:
                rising = rising - _total([evaluate(p, out) * flow[k] for k, p in earlier])
            if any(any(e) for e in own) or own[(0,) * equation.dimension] != 1.0:
                rising = rising / evaluate(own, out)
            flow.append(rising)
            lower = out[..., : i + 1]
            out[..., i + 1] = (rising - evaluate(row.offset, lower)) / evaluate(row.factor, lower)
    return out


def offset_and_factor(equation: Equation, i: int, lower: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Offset and factor of coupled row i at x_0 … x_i, elements included."""
    row = equation.cascade()[i]
    offset, factor = evaluate(row.offset, lower), evaluate(row.factor, lower)
    if equation.elements:
        offset = offset + element_terms.values(equation.elements, i, lower, False)
        factor = factor + element_terms.values(equation.elements, i, lower, True)
    return offset, factor


def _jet_slopes(equation: Equation) -> Iterator[list[tuple[int, Polynomial]]]:
    """The gradients of u0, u1 … u_{n−2} over the state: (i, ∂u_k/∂x_i) where that is not zero, i = k last."""
    n = equation.dimension
    rates = [rate(equation.rows, i) for i in range(n)]
    u: Polynomial = {(1,) + (0,) * (n - 1): 1.0}
    for _ in range(n - 1):
        slopes = [(i, slope) for i in range(n) if (slope := derivative(u, i))]
        yield slopes
        u = add(*(multiply(slope, rates[i]) for i, slope in slopes))


def _first_coupled(equation: Equation) -> int:
    """The first row that is no shift; two coordinates after its own can be had."""
    first = equation.leading_shifts
    if first + 3 < equation.dimension:
        raise InputError("Jets of an equation with an element so far from its last row are not known.")
    return first


def _element_jets(equation: Equation, at: FloatArray) -> FloatArray:
    first, n = _first_coupled(equation), equation.dimension
    flat = np.asarray(at, dtype=np.float64).reshape(-1, n)
    out, rates = flat.copy(), equation.field(flat)
    out[:, first + 1] = rates[:, first]
    if first + 2 < n:
        out[:, first + 2] = np.sum(equation.field.jacobian(flat)[:, first] * rates, axis=1)
    return out.reshape(at.shape)


def _element_states(equation: Equation, at: FloatArray) -> FloatArray:
    first, n = _first_coupled(equation), equation.dimension
    jet = np.asarray(at, dtype=np.float64).reshape(-1, n)
    out = jet.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        offset, factor = offset_and_factor(equation, first, out[:, : first + 1])
        out[:, first + 1] = (jet[:, first + 1] - offset) / factor
        if first + 2 < n:
            slopes = equation.field.jacobian(np.where(np.arange(n) > first + 1, 0.0, out))[:, first]
            known = np.sum(slopes[:, : first + 1] * jet[:, 1 : first + 2], axis=1)
            rising = (jet[:, first + 2] - known) / factor
            offset, factor = offset_and_factor(equation, first + 1, out[:, : first + 2])
            out[:, first + 2] = (rising - offset) / factor
    return out.reshape(at.shape)


def _total(terms: list[FloatArray]) -> FloatArray:
    """Their sum, without adding zeros: infinite rates may be among them."""
    return reduce(np.add, terms)
