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
from jetode.joint.parts import equation_of
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

POWERS = (2, 3)  # the flexibility of a function with two parameters


def polynomial_rival(
    problem: Problem, discovery: Discovery, best: tuple[Candidate, Suggestion], interrupt: Interrupt
) -> Candidate:
    """The last element of a fitted suggestion replaced by powers of its coordinate, fitted and its terms selected;
    given up where it costs more than the element's BIC."""
    found, suggestion = best
    data, ceiling = problem.data, found.bic
    if suggestion.mix:
        form, terms, states = mixed_start(found, suggestion)
    else:
        form, equation = polynomial_start(discovery, suggestion)
        terms, states = form.terms(equation), states_for(problem.prepared, equation, data)
    fit = anneal(data, terms, states, COOLING.schedule, interrupt, ceiling=ceiling)
    if not np.isfinite(fit.cost):
        fit = anneal(data, terms, states, COOLING.patient, interrupt, ceiling=ceiling)
    candidate = Candidate(form, {(0,) * (suggestion.order - 1): 1.0}, fit=fit)
    return choose_terms(data, candidate, problem.price, interrupt, ceiling) if np.isfinite(fit.cost) else candidate


def mixed_start(found: Candidate, suggestion: Suggestion) -> tuple[PoleFree, Terms, FloatArray]:
    """The form with powers of a combination w in place of its element, which begin from the element's fitted curve."""
    assert found.fit is not None
    n, fitted = suggestion.order, equation_of(found.fit.terms)
    one, last = fitted.elements[-1], dict(fitted.parts()["P"])
    w = found.fit.states[:, -1]
    gain = one.in_row(n - 1)[(0,) * n]
    degrees = range(1 + max(POWERS))
    matched = np.linalg.lstsq(w[:, None] ** np.arange(len(degrees)), gain * one.element(w), rcond=1e-10)[0]
    for k, c in zip(degrees, matched.tolist(), strict=True):
        last[_power(n - 1, k, n)] = last.get(_power(n - 1, k, n), 0.0) + c
    form = linear_form(n).with_parts(a=found.form["a"], P=tuple(dict.fromkeys((*found.form["P"], *last))))
    equation = equation_of_rows((*fitted.rows[:-1], last))
    return form, form.terms(equation), found.fit.states


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
