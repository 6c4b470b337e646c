"""Which named function it is (docs/mathematics.md §8.4): the joint fit of every likely one, its parameters free; BIC.

The weak form suggests functions of coordinates; each is fitted jointly with the path as any other form is, its linear
terms selected, and all are compared by BIC at one small q with each other and with the polynomials found before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import begin, candidate_of
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.rival import polynomial_rival
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import Fit

Named = tuple[Candidate, Suggestion]
SYMMETRIC = {"sin": 1, "tanh": 0, "arctan": 0}  # the parameter whose vanishing makes the function odd


@dataclass(frozen=True)
class NamingSettings:
    """Numbers of the naming, each with its reason."""

    tried: int = 4  # functions that are fitted jointly at first: 0.2 s each, and mostly the first is right
    per_coordinate: int = 3  # and of every coordinate where none of these satisfies: smoothing blurs arguments
    firsts: int = 2  # functions that a second one is looked for beside
    chosen: int = 4  # of these, whose terms are selected: a sine needs no term beside it, its imitations do
    rivals: float = 60.0  # of the cost, in terms: names farther behind the best cannot win by fewer terms


NAMING = NamingSettings()


@dataclass(frozen=True)
class Functions:
    """Which functions the search may use, and whether one of u0 may act through its derivatives too."""

    kinds: tuple[str, ...] = tuple(GUESSES)
    spread: bool = True


CATALOGUE = Functions()
NONE = Functions(())


def search_elements(
    problem: Problem, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found | None:
    """Linear equations of an order with one function, or two, that satisfy and that squares and cubes of the same
    coordinate do not match; best first.  None where there is none."""
    weak = WeakForm.of(problem.prepared, order) if functions.kinds else None
    if weak is None:
        return None
    progress(f"functions of one coordinate, order {order}")
    found = named_functions(problem, Discovery.of(weak), functions, interrupt)
    return found if found is not None and found.satisfies() else None


def named_functions(problem: Problem, discovery: Discovery, functions: Functions, interrupt: Interrupt) -> Found | None:
    """The equations with one function, with a second one where the first leaves more than noise; None where the weak
    form shows none, or where a polynomial does as well."""
    limit, kinds = discovery.linear() - DISCOVERY.gain, functions.kinds
    seen = discovery.suggestions(kinds, (False, True) if functions.spread else (False,)) + discovery.bare(kinds)
    ranked = ranking([s for s in seen if s.bic < limit and s.left < DISCOVERY.unexplained])
    fitted = _named(problem, discovery, ranked[: NAMING.tried], interrupt)
    if not _satisfies(problem, fitted):
        fitted += _named(problem, discovery, each_coordinate(ranked[NAMING.tried :]), interrupt)
    if not _satisfies(problem, fitted) and not interrupt():
        fitted += _pairs(problem, discovery, ranked, kinds, interrupt)
    if not fitted:
        return None
    best, suggestion = min(fitted, key=lambda f: f[0].bic)
    rival = polynomial_rival(problem, discovery, suggestion, interrupt)
    return None if rival.bic <= best.bic else _found(problem, fitted)


def ranking(suggestions: Sequence[Suggestion]) -> list[tuple[Suggestion, ...]]:
    """The functions by the weak form's BIC, each in the last row alone and, after that, in all of them.

    A function that needs nothing beside it (bare) ranks as such; which terms it needs is left to the joint fit.
    """
    by_function: dict[tuple[tuple[str, int], ...], list[Suggestion]] = {}
    for one in suggestions:
        by_function.setdefault(tuple((e.kind, e.variable) for e in one.elements), []).append(one)
    ranked = sorted(by_function.values(), key=lambda ways: min(s.bic for s in ways))
    full = (tuple(sorted((s for s in ways if not s.bare), key=lambda s: s.spread)) for ways in ranked)
    return [ways for ways in full if ways]


def each_coordinate(ranked: Sequence[tuple[Suggestion, ...]]) -> list[tuple[Suggestion, ...]]:
    """The first functions of every coordinate: where noise blurs an argument, another one can seem better."""
    out: dict[int, list[tuple[Suggestion, ...]]] = {}
    for ways in ranked:
        out.setdefault(ways[0].elements[-1].variable, []).append(ways)
    return [ways for of_one in out.values() for ways in of_one[: NAMING.per_coordinate]]


def _pairs(
    problem: Problem, discovery: Discovery, ranked: Sequence[tuple[Suggestion, ...]], kinds: Sequence[str],
    interrupt: Interrupt,
) -> list[Named]:  # fmt: skip
    """Two functions: beside the first ones of the weak form, those that it asks for most in addition."""
    more: list[Suggestion] = []
    for ways in ranked[: NAMING.firsts]:
        if not ways[0].spread:
            wanted = discovery.suggestions(kinds, given=ways[0].elements)
            more += [s for s in wanted if s.bic < ways[0].bic - DISCOVERY.gain]
    return _named(problem, discovery, ranking(more)[: NAMING.tried], interrupt)


def _found(problem: Problem, fitted: list[Named]) -> Found:
    """The candidates by BIC, every set of names once."""
    best: dict[tuple[str, ...], Candidate] = {}
    for candidate, suggestion in sorted(fitted, key=lambda f: f[0].bic):
        best.setdefault(tuple(sorted(suggestion.kinds)), candidate)
    return Found(tuple(best.values()), problem.data, problem.price)


def _satisfies(problem: Problem, fitted: list[Named]) -> bool:
    return _found(problem, fitted).satisfies()


def _fit(candidate: Candidate) -> Fit:
    assert candidate.fit is not None
    return candidate.fit


def _named(
    problem: Problem, discovery: Discovery, ranked: Sequence[tuple[Suggestion, ...]], interrupt: Interrupt
) -> list[Named]:
    """The joint fits of functions, those that can still win with their terms selected."""
    n = problem.data.n_samples
    fitted: list[Named] = []
    for ways in ranked:
        for suggestion in ways:
            if interrupt():
                break
            fit = _fitted(problem, discovery, suggestion, interrupt)
            if np.isfinite(fit.cost) and _meant(fit, discovery):
                fitted.append((replace(candidate_of(suggestion), fit=fit), suggestion))
            if fit.cost <= DECISION.suspicious(n) * n:
                break
    fitted.sort(key=lambda f: f[0].cost)
    chosen: list[Named] = []
    for candidate, suggestion in fitted[: NAMING.chosen]:
        if interrupt() or candidate.cost > fitted[0][0].cost + NAMING.rivals * problem.price:
            break
        selected = choose_terms(problem.data, candidate, problem.price, interrupt)
        chosen.append((_simplified(problem, selected, interrupt), suggestion))
    return chosen


def _meant(fit: Fit, discovery: Discovery) -> bool:
    """Whether the fitted parameters still describe what their kinds are meant for."""
    return all(
        sensible(one.element.kind, one.element.parameters, discovery.arguments[one.element.variable].samples)
        for one in equation_of(fit.terms).elements
        if one.element.variable < len(discovery.arguments) - 1 or fit.terms.dimension == 1
    )


def _fitted(problem: Problem, discovery: Discovery, suggestion: Suggestion, interrupt: Interrupt) -> Fit:
    """A suggestion cooled on all that is searched, once more and more slowly where the first time does not satisfy."""
    data, n = problem.data, problem.data.n_samples
    terms, states = begin(problem.prepared, data, discovery, suggestion)
    fit = anneal(data, terms, states, COOLING.schedule, interrupt)
    if fit.cost <= DECISION.suspicious(n) * n or not fit.cost <= DECISION.selectable * n:
        return fit
    again = anneal(data, terms, states, COOLING.patient, interrupt)
    return again if again.cost < fit.cost else fit


def _simplified(problem: Problem, candidate: Candidate, interrupt: Interrupt) -> Candidate:
    """An odd function where the record cannot tell it from one: a phase or a centre of 0 for the same misfit."""
    fit = candidate.fit
    assert fit is not None
    for m, element in enumerate(candidate.form.elements):
        at = SYMMETRIC.get(element.kind)
        if at is None or interrupt():
            continue
        form = replace(candidate.form, fixed=(*candidate.form.fixed, ((f"e{m}", (at,)), 0.0)))
        held = form.terms(equation_of(fit.terms))
        kept = held.select(np.array([held.is_parameter[j] or c != 0.0 for j, c in enumerate(held.coefficients)]))
        trial = anneal(problem.data, kept, fit.states, COOLING.transfer, interrupt)
        bic = trial.cost + problem.price * float(trial.terms.free.sum())
        if bic < candidate.bic:
            candidate = replace(candidate, form=form, fit=trial, bic=bic)
            fit = trial
    return candidate


def imitates(candidate: Candidate) -> bool:
    """Whether a polynomial equation without a pole could stand for a function: its only terms beyond linear ones are
    powers of one coordinate, a cube or more among them."""
    if candidate.fit is None or candidate.form.has_pole or candidate.form.elements:
        return False
    beyond = [e for e in candidate.fit.terms.exponents if sum(e) > 1]
    coordinates = {tuple(k > 0 for k in e) for e in beyond}
    return len(coordinates) == 1 and sum(coordinates.pop()) == 1 and max(map(sum, beyond)) > 2
