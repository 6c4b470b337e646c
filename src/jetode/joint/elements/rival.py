"""The polynomial that an element has to beat: squares and cubes of its coordinate in its places."""

from __future__ import annotations

import numpy as np

from jetode.equations.element_terms import PlacedElement
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Polynomial
from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled, part_names
from jetode.joint.candidates import Interrupt, states_for
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import gains_of, linear_form, linear_monomials, weak_columns, weak_solution
from jetode.joint.elements.discover import Discovery, Suggestion
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.pole_free import PoleFree
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import anneal
from jetode.support.arrays import FloatArray

POWERS = (2, 3)  # the flexibility of a function with two parameters


def polynomial_rival(problem: Problem, discovery: Discovery, suggestion: Suggestion, interrupt: Interrupt) -> Candidate:
    """The last element of a suggestion replaced by powers of its coordinate, fitted and its terms selected."""
    form, equation = polynomial_start(discovery, suggestion)
    data, n = problem.data, problem.data.n_samples
    terms, states = form.terms(equation), states_for(problem.prepared, equation, data)
    fit = anneal(data, terms, states, COOLING.schedule, interrupt)
    if not fit.cost <= DECISION.suspicious(n) * n:
        fit = min(fit, anneal(data, terms, states, COOLING.patient, interrupt), key=lambda f: f.cost)
    candidate = Candidate(form, {(0,) * (suggestion.order - 1): 1.0}, fit=fit)
    return choose_terms(data, candidate, problem.price, interrupt) if np.isfinite(fit.cost) else candidate


def polynomial_start(discovery: Discovery, suggestion: Suggestion) -> tuple[PoleFree, Equation]:
    """The form with powers instead of the last element, and its equation with the coefficients of the weak form."""
    n, spread = suggestion.order, suggestion.spread
    *given, replaced = suggestion.elements
    linear, known, powers = np.split(_solution(discovery, suggestion), [n + 1, n + 1 + len(given)])
    last: Polynomial = dict(zip(linear_monomials(n), linear.tolist(), strict=True))
    offsets: list[Polynomial] = [{} for _ in range(n - 1)]
    for k, b in zip(POWERS, np.split(powers, len(POWERS)), strict=True):
        gains = gains_of(b, linear[1:]) if spread else np.append(np.zeros(n - 1), b)
        last[_power(replaced.variable, k, n)] = float(gains[-1])
        for i in range(n - 1) if spread else ():
            offsets[i][_power(0, k, i + 1)] = float(gains[i])
    rows = tuple(Coupled(offset, {(0,) * (i + 1): 1.0}) for i, offset in enumerate(offsets))
    placed = tuple(PlacedElement(e, {n - 1: {(0,) * n: float(b)}}) for e, b in zip(given, known, strict=True))
    form = linear_form(n, spread).with_parts(P=tuple(last))
    if spread:
        form = form.with_parts(**{part_names(i, n)[0]: tuple(p) for i, p in enumerate(offsets)})
    for element in given:
        form = form.with_element(element, "P")
    return form, equation_of_rows((*rows, last), placed)


def _solution(discovery: Discovery, suggestion: Suggestion) -> FloatArray:
    """Linear coefficients, gains of the elements before the last, and those of the powers, by the weak form."""
    weak = discovery.weak
    *given, replaced = suggestion.elements
    argument = discovery.arguments[replaced.variable]
    operators = argument.operators[: weak.order if suggestion.spread else 1]
    columns = [weak.linear, *(weak_columns(discovery, e, 1) for e in given)]
    columns += [np.column_stack([o @ argument.places**k for o in operators]) for k in POWERS]
    return weak_solution(np.column_stack(columns), weak.target)


def _power(variable: int, k: int, width: int) -> Exponents:
    return tuple(k * int(i == variable) for i in range(width))
