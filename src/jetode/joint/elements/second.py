"""A second function beside a fitted one (docs/mathematics.md §8.4): the score test of the joint fit proposes it.

Friction that is a hundredth of the force does not show in the weak form under noise, but the path of the equation
without it is off by many times the noise.  At the fitted point every function that might be missing stands in the
equation with gain 0; one linearisation tells by how much each would lower the cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import Element
from jetode.joint.elements.candidates import candidate_of
from jetode.joint.elements.discover import Suggestion
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.likeness import Begun
from jetode.joint.forms.base import Candidate, Form
from jetode.joint.parts import Term, equation_of, named
from jetode.joint.scan import Problem
from jetode.joint.shooting.gaussnewton import Fit, Linearisation
from jetode.joint.term_selection import Quadratic
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class SecondSettings:
    """Numbers of the proposals, each with its reason."""

    guesses: int = 3  # of every kind, spread over its grid: the score is a slope, parameters move in the fit
    proposed: int = 4  # functions that are fitted beside each first one: far from the minimum scores differ little
    fall: float = 5.0  # terms' worth of cost that a function has to promise: less could be any term


SETTINGS = SecondSettings()


def second_functions(
    problem: Problem, candidate: Candidate, suggestion: Suggestion, kinds: Sequence[str]
) -> Iterator[Begun]:
    """Starts of joint fits with one more function in the last row, those that promise most."""
    fit = candidate.fit
    assert fit is not None
    promising: list[tuple[float, Element]] = []
    for variable in range(suggestion.order):
        if any(e.variable == variable for e in suggestion.elements):
            continue
        library = thinned(fit.states[:, variable], variable, kinds)
        falls = promised(problem, candidate.form, fit, library)
        best: dict[str, tuple[float, Element]] = {}
        for fall, element in zip(falls.tolist(), library, strict=True):
            best[element.kind] = max(best.get(element.kind, (0.0, element)), (fall, element), key=lambda f: f[0])
        promising += best.values()
    worth = [(fall - problem.price * len(element.parameters), element) for fall, element in promising]
    for fall, element in sorted(worth, key=lambda f: -f[0])[: SETTINGS.proposed]:
        if fall > SETTINGS.fall * problem.price:
            both = replace(suggestion, elements=(*suggestion.elements, element))
            yield both, candidate_of(both).form.terms(equation_of(fit.terms)), fit.states


def thinned(samples: FloatArray, variable: int, kinds: Sequence[str]) -> list[Element]:
    """A few guesses of every kind for a coordinate with these samples."""
    out = []
    for kind in kinds:
        guesses = [g for g in GUESSES[kind](samples) if sensible(kind, g, samples)]
        places = np.unique(np.linspace(0, len(guesses) - 1, SETTINGS.guesses + 2).round().astype(int)[1:-1])
        out += [Element(kind, variable, guesses[i]) for i in places if guesses]
    return out


def promised(problem: Problem, form: Form, fit: Fit, library: Sequence[Element]) -> FloatArray:
    """By how much each function, alone, would lower the cost at a fit, its parameters held (score test)."""
    known: list[tuple[Term, float]] = []
    for m, element in enumerate(library, start=len(form.elements)):
        form = form.with_element(element, "P")
        known += [((f"e{m}", (i,)), p) for i, p in enumerate(element.parameters)]
    full = replace(form, fixed=(*form.fixed, *known)).terms(equation_of(fit.terms))
    linear = Linearisation(problem.data, full)
    linear.at(fit.states, full.coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    model = Quadratic.around(full.coefficients[full.free], eliminated.schur, eliminated.reduced)
    if model is None:
        return np.zeros(len(library))
    present = set(named(fit.terms))
    terms = [term for term, free in zip(named(full), full.free, strict=True) if free]
    changes = model.changes(np.array([term in present for term in terms]))
    first = len(form.elements) - len(library)
    fall = {part: -float(change) for (part, _), change in zip(terms, changes, strict=True)}
    return np.array([fall.get(f"P.{m}", 0.0) for m in range(first, len(form.elements))])
