"""Functions that the user knows (docs/mathematics.md §8.4): of what is recorded, some or all parameters given.

No search: the linear equation with exactly these functions, the parameters that are given held, the others and the
linear terms fitted jointly with the path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import Element, kind_of
from jetode.joint.candidates import Found, Interrupt
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import begin, candidate_of
from jetode.joint.elements.discover import Discovery, Look, Suggestion
from jetode.joint.elements.guesses import GUESSES
from jetode.joint.elements.weak_form import Projection, WeakForm
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import anneal


@dataclass(frozen=True)
class Known:
    """A function of the recorded quantity with those of its parameters that are known, in the record's unit."""

    kind: str
    parameters: tuple[tuple[str, float], ...] = ()

    def held(self, amplitude: float) -> dict[int, float]:
        """The known parameters by number, for a coordinate in units of ``amplitude`` (8.3)."""
        kind = kind_of(self.kind)
        powers = dict(zip(kind.parameters, kind.powers, strict=True))
        return {kind.parameters.index(name): value / amplitude ** powers[name] for name, value in self.parameters}


def with_known(problem: Problem, order: int, known: Sequence[Known], interrupt: Interrupt) -> Found | None:
    """The equation of an order with these functions, whether it satisfies or not; None where the record is shorter than
    a window of the weak form."""
    weak = WeakForm.of(problem.prepared, order)
    if weak is None:
        return None
    discovery = Discovery.of(weak)
    held = [one.held(problem.prepared.amplitude) for one in known]
    elements: tuple[Element, ...] = ()
    for one, given in zip(known, held, strict=True):
        elements = (*elements, first_guess(discovery, one.kind, given, elements))
    suggestion = Suggestion(order, elements, False, 0.0, 0.0)
    fixed = tuple(((f"e{m}", (i,)), value) for m, given in enumerate(held) for i, value in given.items())
    candidate = candidate_of(suggestion)
    candidate = replace(candidate, form=replace(candidate.form, fixed=fixed))
    data, n = problem.data, problem.data.n_samples
    terms, states = begin(problem.prepared, data, discovery, suggestion, candidate.form)
    fit = anneal(data, terms, states, COOLING.schedule, interrupt)
    if not fit.cost <= DECISION.suspicious(n) * n:
        fit = min(fit, anneal(data, terms, states, COOLING.patient, interrupt), key=lambda f: f.cost)
    chosen = choose_terms(data, replace(candidate, fit=fit), problem.price, interrupt)
    return Found((chosen,), data, problem.price)


def first_guess(discovery: Discovery, kind: str, given: dict[int, float], before: tuple[Element, ...]) -> Element:
    """The likeliest parameters of a function of u0 in weak form, those that are ``given`` as they are."""
    weak, argument = discovery.weak, discovery.arguments[0]
    acting = [(argument.operators[0] @ e(argument.places))[:, None] for e in before]
    look = Look.of(argument, Projection.of(np.column_stack([weak.linear, *acting]), weak.target), 1)
    start = kind_of(kind).start
    guesses = {
        tuple(given.get(i, p) for i, p in enumerate(guess)) for guess in (start, *GUESSES[kind](argument.samples))
    }
    best = min(sorted(guesses), key=lambda p: float(np.sum(look.residual(kind, p) ** 2)))
    return Element(kind, 0, best)
