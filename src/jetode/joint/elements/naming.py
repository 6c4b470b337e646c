"""Which named function it is (docs/mathematics.md §8.4): the joint fit of every likely one, its parameters free; BIC.

The weak form suggests functions of coordinates; each is fitted jointly with the path as any other form is, its linear
terms selected, and all are compared by BIC at one small q with each other and with the polynomials found before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import begin, candidate_of
from jetode.joint.elements.combination import mixed_discovery
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion
from jetode.joint.elements.guesses import GUESSES, crossed, sensible
from jetode.joint.elements.known import Known
from jetode.joint.elements.likeness import Begun, other_names
from jetode.joint.elements.rival import polynomial_rival
from jetode.joint.elements.second import second_functions
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
    beside: int = 3  # fitted functions whose path is asked for a second one: the right first one is mostly among them
    chosen: int = 4  # of these, whose terms are selected: a sine needs no term beside it, its imitations do
    mixed: int = 3  # functions of a combination of coordinates that are fitted: a curve has singled it out
    combined: float = 0.03  # of the target's sum of squares: what a free curve of a combination may leave in weak form
    rivals: float = 60.0  # of the cost, in terms: names farther behind the best cannot win by a better selection
    fewer: float = 10.0  # the same where the best follows the record: they could win by fewer terms only


NAMING = NamingSettings()


@dataclass(frozen=True)
class Functions:
    """Which functions the search may use, and whether one of u0 may act through its derivatives too; ``known`` ones are
    in the equation, and nothing else is searched."""

    kinds: tuple[str, ...] = tuple(GUESSES)
    spread: bool = True
    known: tuple[Known, ...] = ()


CATALOGUE = Functions()
NONE = Functions(())


def search_elements(
    problem: Problem,
    order: int,
    functions: Functions,
    interrupt: Interrupt,
    progress: Progress,
    imitated: bool = False,
) -> Found | None:
    """Linear equations of an order with one function, or two, that satisfy and that squares and cubes of the same
    coordinate do not match, in weak form or fitted; best first.  None where there is none.  Where a polynomial
    satisfies that could be one (``imitated``), only the likeliest are tried."""
    weak = WeakForm.of(problem.prepared, order) if functions.kinds else None
    if weak is None:
        return None
    progress(f"functions of one coordinate, order {order}")
    found = Naming(problem, Discovery.of(weak), functions, interrupt).named_functions(imitated)
    return found if found is not None and found.satisfies() else None


@dataclass(frozen=True, eq=False)
class Naming:
    """The functions of one order for one record: what the weak form suggests, fitted jointly and compared."""

    problem: Problem
    discovery: Discovery
    functions: Functions
    interrupt: Interrupt

    def named_functions(self, imitated: bool = False) -> Found | None:
        """The equations with one function; where those leave more than noise, with a second one, or with one of a
        combination of coordinates.  None where the weak form shows none, or where a polynomial does as well."""
        discovery, kinds = self.discovery, self.functions.kinds
        limit = discovery.linear() - DISCOVERY.gain
        seen = discovery.suggestions(kinds, (False, True) if self.functions.spread else (False,)) + discovery.bare(
            kinds
        )
        if min((s.bic for s in seen), default=np.inf) > discovery.powers() - DISCOVERY.gain:
            return None  # a square and a cube do about as well
        ranked = ranking([s for s in seen if s.bic < limit and s.left < DISCOVERY.unexplained])
        fitted = self._with_other_names(self._suggested(discovery, ranked[: NAMING.tried]))
        later: tuple[Callable[[], list[Named]], ...] = (
            lambda: self._suggested(discovery, each_coordinate(ranked[NAMING.tried :])),
            lambda: self._pairs(ranked),
            lambda: self._combinations(ranked),
        )
        for more in () if imitated else later:
            if self._satisfies(fitted) or self.interrupt():
                break
            fitted += self._with_other_names(more())
        if not fitted:
            return None
        best, suggestion = min(fitted, key=lambda f: f[0].bic)
        rival = polynomial_rival(self.problem, discovery, (best, suggestion), self.interrupt)
        return None if rival.bic <= best.bic else self._found(fitted)

    def _suggested(self, discovery: Discovery, ranked: Sequence[tuple[Suggestion, ...]]) -> list[Named]:
        """The joint fits of functions that the weak form suggests, each in the last row alone unless that fails."""
        n = self.problem.data.n_samples
        fitted: list[Named] = []
        for ways in ranked:
            for suggestion in ways:
                if self.interrupt():
                    break
                terms, states = begin(self.problem.prepared, self.problem.data, discovery, suggestion)
                worst = np.inf if suggestion.mix else DECISION.selectable  # a combination is known roughly at first
                fitted += self._fitted([(suggestion, terms, states)], worst)
                if fitted and fitted[-1][0].cost <= DECISION.suspicious(n) * n:
                    break
        return self._selected(fitted)

    def _with_other_names(self, fitted: list[Named]) -> list[Named]:
        """These, and what is like the best of them where it has been."""
        data = self.problem.data
        near = [f for f in fitted if f[0].cost <= DECISION.selectable * data.n_samples]
        if not near or self.interrupt():
            return fitted
        best, suggestion = min(near, key=lambda f: f[0].bic)
        tried = {s.kinds for _, s in fitted}
        begun = [b for b in other_names(_fit(best), suggestion, self.functions.kinds) if b[0].kinds not in tried]
        return fitted + self._selected(self._fitted(begun), best.cost)

    def _pairs(self, ranked: Sequence[tuple[Suggestion, ...]]) -> list[Named]:
        """Two functions: beside the first ones of the weak form in the last row, what their joint fits lack, or what
        the weak form asks for most in addition."""
        data = self.problem.data
        alone = [ways[0] for ways in ranked[: NAMING.tried] if not ways[0].spread]
        firsts = self._fitted([(s, *begin(self.problem.prepared, data, self.discovery, s)) for s in alone])
        near = sorted((f for f in firsts if f[0].cost <= DECISION.selectable * data.n_samples), key=lambda f: f[0].cost)
        begun: list[Begun] = []
        for candidate, suggestion in near[: NAMING.beside]:
            begun += second_functions(self.problem, candidate, suggestion, self.functions.kinds)
        found = self._selected(self._fitted(begun))
        if self._satisfies(found) or self.interrupt():
            return found
        more: list[Suggestion] = []
        for ways in ranked[: NAMING.firsts]:
            if not ways[0].spread:
                wanted = self.discovery.suggestions(self.functions.kinds, given=ways[0].elements)
                more += [s for s in wanted if s.bic < ways[0].bic - DISCOVERY.gain]
        return found + self._suggested(self.discovery, ranking(more)[: NAMING.tried])

    def _combinations(self, ranked: Sequence[tuple[Suggestion, ...]]) -> list[Named]:
        """One function of a combination of coordinates, where a free curve of it leaves far less than the others."""
        if not self.functions.spread:
            return []
        mixed, bic, left = mixed_discovery(self.discovery)
        before = min((s.bic for ways in ranked for s in ways), default=self.discovery.linear())
        if not (bic < before - DISCOVERY.gain and left < NAMING.combined):
            return []
        return self._suggested(mixed, ranking(mixed.suggestions(self.functions.kinds))[: NAMING.mixed])

    def _fitted(self, begun: Sequence[Begun], worst: float = 0.0) -> list[Named]:
        """Joint fits from their starts, those whose parameters still make sense; starts that are rough are cooled once
        more and more slowly where the first time does not satisfy, up to a ``worst`` cost per sample."""
        data, enough = self.problem.data, DECISION.suspicious(self.problem.data.n_samples)
        out: list[Named] = []
        for suggestion, terms, states in begun:
            if self.interrupt():
                break
            fit = anneal(data, terms, states, COOLING.schedule, self.interrupt)
            if enough < fit.cost / data.n_samples <= worst:
                again = anneal(data, terms, states, COOLING.patient, self.interrupt)
                fit = again if again.cost < fit.cost else fit
            if np.isfinite(fit.cost) and meant(fit):
                out.append((replace(candidate_of(suggestion), fit=fit), suggestion))
        return out

    def _selected(self, fitted: list[Named], best: float = np.inf) -> list[Named]:
        """Those that can still win with their terms selected."""
        problem, chosen = self.problem, list[Named]()
        fitted = sorted(fitted, key=lambda f: f[0].cost)
        best, n = min((best, *(f[0].cost for f in fitted[:1]))), problem.data.n_samples
        reach = NAMING.fewer if best <= DECISION.suspicious(n) * n else NAMING.rivals
        for candidate, suggestion in fitted[: NAMING.chosen]:
            if self.interrupt() or candidate.cost > best + reach * problem.price:
                break
            selected = choose_terms(problem.data, candidate, problem.price, self.interrupt)
            chosen.append((settled(problem, selected, self.interrupt), suggestion))
        return chosen

    def _found(self, fitted: list[Named]) -> Found:
        """The candidates by BIC, every set of names once."""
        best: dict[tuple[str, ...], Candidate] = {}
        for candidate, suggestion in sorted(fitted, key=lambda f: f[0].bic):
            best.setdefault(tuple(sorted(suggestion.kinds)), candidate)
        return Found(tuple(best.values()), self.problem.data, self.problem.price)

    def _satisfies(self, fitted: list[Named]) -> bool:
        return self._found(fitted).satisfies()


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


def _fit(candidate: Candidate) -> Fit:
    assert candidate.fit is not None
    return candidate.fit


def meant(fit: Fit) -> bool:
    """Whether the fitted parameters still describe what their kinds are meant for, where the path has been."""
    equation = equation_of(fit.terms)
    return all(
        sensible(one.element.kind, one.element.parameters, fit.states[:, one.element.variable])
        for one in equation.elements
    )


def settled(problem: Problem, candidate: Candidate, interrupt: Interrupt) -> Candidate:
    """The parameters that the record tells: a function is odd where a phase or a centre of 0 does as well, and the
    width of a sign is free where that does better."""
    for m, element in enumerate(candidate.form.elements):
        part, at = f"e{m}", SYMMETRIC.get(element.kind)
        fixed = tuple((term, value) for term, value in candidate.form.fixed if term[0] != part)
        if at is not None and crossed(_fit(candidate).states[:, element.variable]):
            fixed = (*fixed, ((part, (at,)), 0.0))
        if fixed == candidate.form.fixed or interrupt():
            continue
        form = replace(candidate.form, fixed=fixed)
        held = form.terms(equation_of(_fit(candidate).terms))
        kept = held.select(np.array([held.is_parameter[j] or c != 0.0 for j, c in enumerate(held.coefficients)]))
        trial = anneal(problem.data, kept, _fit(candidate).states, COOLING.transfer, interrupt)
        bic = trial.cost + problem.price * float(trial.terms.free.sum())
        if bic < candidate.bic and meant(trial):
            candidate = replace(candidate, form=form, fit=trial, bic=bic)
    return candidate


def imitates(candidate: Candidate) -> bool:
    """Whether a polynomial equation without a pole could stand for a function: its only terms beyond linear ones are
    powers of one coordinate, a cube or more among them."""
    if candidate.fit is None or candidate.form.has_pole or candidate.form.elements:
        return False
    beyond = [e for e in candidate.fit.terms.exponents if sum(e) > 1]
    coordinates = {tuple(k > 0 for k in e) for e in beyond}
    return len(coordinates) == 1 and sum(coordinates.pop()) == 1 and max(map(sum, beyond)) > 2
