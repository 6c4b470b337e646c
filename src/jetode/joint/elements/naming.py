"""Which named function it is (docs/mathematics.md §8.3): the joint fit of every likely one, its parameters free; BIC.

The weak form suggests functions of coordinates; each is fitted jointly with the path as any other form is, its linear
terms selected, and all are compared by BIC at one small q with each other and with the polynomials found before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import KINDS
from jetode.joint.candidates import Found, Interrupt, Progress, by_bic, by_cost
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import begin, candidate_of
from jetode.joint.elements.discover import Discovery, Suggestion
from jetode.joint.elements.guesses import GUESSES
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import Fit

EVERY_KIND = tuple(GUESSES)
SYMMETRIC = {"sin": 1, "tanh": 0, "arctan": 0}  # the parameter whose vanishing makes the function odd


@dataclass(frozen=True)
class NamingSettings:
    """Numbers of the naming, each with its reason."""

    tried: int = 5  # suggestions that are fitted jointly: 0.2 s each, and the smoothing has not misled farther
    chosen: int = 3  # of these, whose terms are selected
    unexplained: float = 0.12  # of the target's sum of squares: an equation that leaves more in weak form is another one
    gain: float = 20.0  # of BIC over the linear equation in weak form: less is noise in a few rows
    rivals: float = 60.0  # of the cost, in terms: names farther behind the best cannot win by fewer terms


NAMING = NamingSettings()


def search_elements(
    problem: Problem, order: int, interrupt: Interrupt, progress: Progress, kinds: Sequence[str] = EVERY_KIND
) -> Found | None:
    """Linear equations of an order with one function, or two, best first; None where the weak form shows none."""
    kinds = [kind for kind in kinds if kind in GUESSES]
    weak = WeakForm.of(problem.prepared, order) if kinds else None
    if weak is None:
        return None
    progress(f"functions of one coordinate, order {order}")
    discovery = Discovery.of(weak)
    limit = discovery.linear() - NAMING.gain
    seen = [*discovery.suggestions(kinds, False), *discovery.suggestions(kinds, True)]
    likely = [s for s in seen if s.bic < limit and s.left < NAMING.unexplained]
    found = _named(problem, discovery, sorted(likely, key=_weak_bic), interrupt)
    if found.satisfies() or interrupt() or not found.candidates:
        return found if found.candidates else None
    first = found.candidates[0]
    if not first.cost <= DECISION.gross * problem.data.n_samples:
        return None
    more = list(discovery.suggestions(kinds, False, given=first.form.elements))
    second = _named(problem, discovery, sorted(more, key=_weak_bic), interrupt)
    every = sorted([*found.candidates, *second.candidates], key=by_bic)
    return Found(tuple(every), problem.data, problem.price)


def _weak_bic(suggestion: Suggestion) -> float:
    return suggestion.bic


def _named(
    problem: Problem, discovery: Discovery, ranked: list[Suggestion], interrupt: Interrupt
) -> Found:
    """The joint fits of the first suggestions with their terms selected, by BIC."""
    data, n = problem.data, problem.data.n_samples
    fitted: list[Candidate] = []
    for suggestion in ranked[: NAMING.tried]:
        if interrupt():
            break
        fit = _fitted(problem, discovery, suggestion, interrupt)
        if np.isfinite(fit.cost):
            fitted.append(replace(candidate_of(suggestion), fit=fit))
    fitted.sort(key=by_cost)
    chosen: list[Candidate] = []
    for candidate in fitted[: NAMING.chosen]:
        if interrupt() or candidate.cost > fitted[0].cost + NAMING.rivals * problem.price:
            break
        chosen.append(_simplified(problem, choose_terms(data, candidate, problem.price, interrupt), interrupt))
    return Found(tuple(sorted(chosen, key=by_bic)), data, problem.price)


def _fitted(problem: Problem, discovery: Discovery, suggestion: Suggestion, interrupt: Interrupt) -> Fit:
    """A suggestion cooled on all that is searched, once more and more slowly where the first time does not satisfy."""
    data, n = problem.data, problem.data.n_samples
    terms, states = begin(problem.prepared, data, discovery, suggestion)
    fit = anneal(data, terms, states, COOLING.schedule, interrupt)
    if fit.cost <= DECISION.suspicious(n) * n or not fit.cost <= DECISION.gross * n:
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
