"""Linear equations with elements as forms of the joint fit (docs/mathematics.md (8.9)), and where their fit begins.

An element of u0 whose derivatives act too, u_n = … + Σ_k b_k (d/dt)^k f(u0), is regular in the coordinates

    x_i' = x_{i+1} + β_i f(x_0)   (i < n − 1),        x_{n−1}' = c + Σ_j c_j x_j + β_{n−1} f(x_0),

where nothing is differentiated; b_{n−1−i} = β_i − Σ_{k<i} c_{n−i+k} β_k.  Other elements stand in the last row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import Element
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, total_degree_exponents
from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled, part_names
from jetode.joint.candidates import states_for
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate, Form
from jetode.joint.forms.pole_free import PoleFree
from jetode.joint.forms.starts import hidden_states
from jetode.joint.problem import Prepared
from jetode.joint.shooting.gaussnewton import Data
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

Begun = tuple[str, Form, Terms, FloatArray]


def linear_form(order: int, spread: bool = False) -> PoleFree:
    """Every linear term in the last row, the rows before it shifts that elements can be added to where ``spread``."""
    parts: list[tuple[str, tuple[tuple[int, ...], ...]]] = []
    for i in range(0 if spread else order - 2, order - 1):
        offset, factor, _ = part_names(i, order)
        parts += [(offset, ()), (factor, ((0,) * (i + 1),))]
    return PoleFree(order, (*parts, ("P", tuple(total_degree_exponents(order, 1)))))


def element_form(order: int, elements: tuple[Element, ...], spread: bool, mixed: bool = False) -> PoleFree:
    """A linear equation with elements, the first of them in every row where ``spread``; ``mixed``: its last coordinate
    is any combination w of the derivatives, u_{n−1} = Σ_j α_j u_j + w."""
    form = linear_form(order, spread)
    if mixed:
        form = form.with_parts(a=tuple(linear_monomials(order - 1)[1:]))
    for element in elements:
        form = form.with_element(element, "P")
    if spread:
        rows = {f"{part_names(i, order)[0]}.0": ((0,) * (i + 1),) for i in range(order - 1)}
        form = form.with_parts(**rows)
    return form


def product_form(element: Element) -> Form:
    """Behind a pole in x_0, a function of x_0 x_1 in the last row, (8.11); x_1 is any combination of u0 and u1."""
    own = (("f0", ((1,), (0,))), ("c", ((0,),)), ("a", ((0, 0), (0, 1))), ("D", ((1, 0), (0, 0))))
    return Form(3, (*own, ("P", tuple(linear_monomials(3))))).with_element(element, "P")


def candidate_of(suggestion: Suggestion) -> Candidate:
    """The form of a suggestion, unfitted; a sign stays as narrow as it begins, which under noise is 0."""
    order = suggestion.order
    if suggestion.of_product:
        return Candidate(product_form(suggestion.elements[0]), {(1, 0): 1.0})
    form = element_form(order, suggestion.elements, suggestion.spread, bool(suggestion.mix))
    monomials = linear_monomials(order)
    form = form.with_parts(P=tuple(monomials[i] for i in suggestion.linear))
    narrow = tuple(((f"e{m}", (0,)), e.parameters[0]) for m, e in enumerate(suggestion.elements) if e.kind == "sign")
    return Candidate(replace(form, fixed=narrow), {(0,) * (order - 1): 1.0})


def weak_columns(discovery: Discovery, element: Element, count: int) -> FloatArray:
    """The weak integrals of an element and of its first derivatives, ``count`` in all."""
    argument = discovery.arguments[element.variable]
    values = element(argument.places)
    return np.column_stack([operator @ values for operator in argument.operators[:count]])


def weak_solution(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Least squares with scaled columns."""
    scale = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(matrix / scale, target, rcond=1e-10)[0] / scale)


def gains_of(b: FloatArray, c: FloatArray) -> FloatArray:
    """β_0 … β_{n−1} from b_0 … b_{n−1} and c_0 … c_{n−1}."""
    n = c.size
    beta = np.zeros(n)
    for i in range(n):
        beta[i] = b[n - 1 - i] + sum(c[n - i + k] * beta[k] for k in range(i))
    return beta


def linear_monomials(order: int) -> list[Exponents]:
    """1, u_0, … u_{n−1}."""
    return [(0,) * order, *(tuple(int(i == j) for i in range(order)) for j in range(order))]


def equation_from(discovery: Discovery, suggestion: Suggestion) -> Equation:
    """The equation of a suggestion with the coefficients of the weak form."""
    n, weak, elements = suggestion.order, discovery.weak, suggestion.elements
    columns = [weak_columns(discovery, e, n if suggestion.spread else 1) for e in elements]
    beside = list(suggestion.linear)
    found = weak_solution(np.column_stack([weak.linear[:, beside], *columns]), weak.target)
    constant, *_ = monomials = linear_monomials(n)
    linear = found[: len(beside)]
    if suggestion.mix:
        linear = mixed_row(linear, suggestion.mix)
    last = dict(zip([monomials[i] for i in beside], linear.tolist(), strict=True))
    gains = found[len(beside) :]
    if suggestion.spread:
        acting = [{i: {constant: float(g)} for i, g in enumerate(gains_of(gains, found[1 : n + 1]))}]
    else:
        acting = [{n - 1: {constant: float(b)}} for b in gains]
    placed = tuple(PlacedElement(e, rows) for e, rows in zip(elements, acting, strict=True))
    return equation_of_rows((*shift_rows(n, suggestion.mix), last), placed)


def shift_rows(order: int, mix: tuple[float, ...] = ()) -> tuple[Coupled, ...]:
    """u_i' = u_{i+1}; with a ``mix`` the last of them is u_{n−2}' = Σ_j mix_j u_j + w."""
    rows = [Coupled.shift(i) for i in range(order - 1)]
    if mix:
        offset = dict(zip(linear_monomials(order - 1)[1:], mix, strict=True))
        rows[-1] = Coupled(offset, {(0,) * (order - 1): 1.0})
    return tuple(rows)


def mixed_row(linear: FloatArray, mix: tuple[float, ...]) -> FloatArray:
    """Coefficients over 1, u_0 … u_{n−2}, w in w' from those over 1, u_0 … u_{n−1} in u_n, (8.10)."""
    constant, *c = linear.tolist()
    own = c[-1] - mix[-1]
    earlier = [c[j] + own * mix[j] - (mix[j - 1] if j else 0.0) for j in range(len(mix))]
    return np.array([constant, *earlier, own])


def starts(prepared: Prepared, order: int, kinds: Sequence[str], samples: int) -> Iterator[Begun]:
    """The likeliest equations of the weak form with one function, with two, and with one that stands for all that its
    argument does: form, coefficients, and states at every sample of a stretch."""
    weak = WeakForm.of(prepared, order) if kinds else None
    if weak is None:
        return
    discovery = Discovery.of(weak)
    limit = discovery.linear() - DISCOVERY.gain

    def likely(found: list[Suggestion], count: int) -> list[Suggestion]:
        return [s for s in found if s.bic < limit and s.left < DISCOVERY.unexplained][:count]

    single = likely(discovery.suggestions(kinds), DISCOVERY.begun)
    pairs = [s for first in single[:1] for s in discovery.suggestions(kinds, given=first.elements)[:1]]
    better = [s for s in pairs if s.bic < single[0].bic - DISCOVERY.gain]
    for suggestion in (*single, *better, *likely(discovery.bare(kinds), 1)):
        equation = equation_from(discovery, suggestion)
        form = candidate_of(suggestion).form
        name = f"order {order}, {' and '.join(suggestion.kinds)}"
        yield name, form, form.terms(equation), hidden_states(prepared.jets.head(samples), equation)


def begin(
    prepared: Prepared, data: Data, discovery: Discovery, suggestion: Suggestion, form: Form | None = None
) -> tuple[Terms, FloatArray]:
    """The terms of a suggestion (of its ``form``, where that holds some of them) with the coefficients of the weak
    form, and states at the nodes from the jets."""
    equation = equation_from(discovery, suggestion)
    return (form or candidate_of(suggestion).form).terms(equation), states_for(prepared, equation, data)
