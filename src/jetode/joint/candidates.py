"""Competing candidates: comparing them, dropping doubles, and whether the best one satisfies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jetode.equations.equation import Equation
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.starts import hidden_states
from jetode.joint.missing_terms_test import score_test
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared
from jetode.joint.search_settings import DECISION, SCAN
from jetode.joint.shooting.annealing import rescale_hidden
from jetode.joint.shooting.gaussnewton import Data, Fit, minimise
from jetode.joint.shooting.layout import Terms
from jetode.joint.term_selection import expand, quadratic_model
from jetode.support.arrays import FloatArray

Interrupt = Callable[[], bool]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Tested:
    """Where the score test of an equation with a function is made: powers of the function's coordinate say nearly the
    same as the function, and at a smaller q rounding of 1/q² would decide in these directions, as where a coordinate
    spikes."""

    q: float = 1e-3
    iterations: int = 30
    tolerance: float = 1e-7  # of the cost: terms that trade with each other do so for little


TESTED = Tested()


@dataclass(frozen=True)
class Found:
    """The search's result: competing candidates by BIC, best first, and the problem they were compared on."""

    candidates: tuple[Candidate, ...]
    data: Data
    price: float

    def satisfies(self) -> bool:
        """Whether the best fits as well as the noise allows, with few enough terms not to imitate another form, none of
        them in doubt, and no need of terms beyond its own."""
        if not self.follows() or self.candidates[0].free > DECISION.few_terms:
            return False
        return not self.score() > DECISION.max_score and self.margin() >= DECISION.min_margin

    def follows(self) -> bool:
        """Whether the best fits as well as the noise allows, whatever is in doubt about its terms."""
        best = self.candidates[0].fit if self.candidates else None
        return best is not None and best.cost < DECISION.satisfying(self.data.n_samples) * self.data.n_samples

    def score(self) -> float:
        """The score test of the best candidate in its canonical gauge."""
        return self._score

    def margin(self) -> float:
        """Smallest predicted rise of BIC over adding or removing one term of the best candidate's form."""
        return self._margin

    @cached_property
    def _score(self) -> float:
        best = self.candidates[0]
        best = best if best.form.has_pole else regauge(best) or best
        assert best.fit is not None
        fit = best.fit
        if best.form.elements or best.form.rounds:
            fit = minimise(self.data, fit.terms, fit.states, TESTED.q, TESTED.iterations, TESTED.tolerance)
        return score_test(self.data, best.form, fit)

    @cached_property
    def _margin(self) -> float:
        best = self.candidates[0]
        assert best.fit is not None
        full = best.form.terms(equation_of(best.fit.terms))
        model = quadratic_model(self.data, full, best.fit)
        if model is None:
            return 0.0
        keep = expand(full, best.fit.terms)[0][full.free]
        protected = best.form.protected(full)[full.free]
        changes = model.changes(keep)
        removals = changes[keep & ~protected] - self.price
        return float(min([*removals, *(changes[~keep] + self.price)], default=np.inf))


def by_bic(candidate: Candidate) -> float:
    """Sorting key."""
    return candidate.bic


def by_cost(candidate: Candidate) -> float:
    """Sorting key."""
    return candidate.cost


def distinct(ranked: list[Candidate]) -> list[Candidate]:
    """Drop candidates that have come to the same place as a better one."""
    out: list[Candidate] = []
    for c in ranked:
        if not any(c.form == o.form and abs(c.cost - o.cost) < SCAN.same * o.cost for o in out):
            out.append(c)
    return out


def different(ranked: list[Candidate]) -> list[Candidate]:
    """Drop candidates that term selection has brought to the terms of a better one."""
    out: list[Candidate] = []
    seen = set()
    for c in ranked:
        if c.fit is None:
            continue
        terms = frozenset(zip(c.fit.terms.rows.tolist(), c.fit.terms.exponents, strict=True))
        if terms not in seen:
            seen.add(terms)
            out.append(c)
    return out


def plausible(candidate: Candidate, prepared: Prepared) -> bool:
    """Whether a candidate's fit is still what its form is meant for."""
    return candidate.fit is None or candidate.form.plausible(equation_of(candidate.fit.terms), prepared.jets)


def held_terms(candidate: Candidate, fit: Fit) -> Terms:
    """All terms of the form at the fit's coefficients, its factors held near where they are."""
    return candidate.form.terms(equation_of(fit.terms), candidate.hold)


def states_for(prepared: Prepared, equation: Equation, data: Data) -> FloatArray:
    """Node states from the smoothed jets, the hidden coordinates by the penalised solve."""
    return hidden_states(prepared.jets.head(data.y.size), equation)[data.layout.first]


def regauge(candidate: Candidate) -> Candidate | None:
    """The same fit in the canonical gauge, where other terms can vanish; None where it is there already."""
    assert candidate.fit is not None
    form, equation = candidate.form, equation_of(candidate.fit.terms)
    if not equation.is_cascade or form.required or form.fixed or form.elements:
        return None
    if not equation.gauge()[1] and equation.lead == form.lead:
        return None
    canonical = equation.canonical()
    parts = canonical.parts()
    big_d = dict.fromkeys((canonical.lead, *parts["D"]))
    if any(canonical.lead):
        big_d |= {(0,) * (form.order - 1): None}
    moved = form.with_parts(a=tuple(parts["a"]), D=tuple(big_d), P=tuple(parts["P"]))
    states = equation.canonical_states(candidate.fit.states)
    fit = rescale_hidden(replace(candidate.fit, terms=moved.terms(canonical, candidate.hold), states=states))
    return replace(candidate, form=moved, fit=fit)
