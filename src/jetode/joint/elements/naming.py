"""Which named function it is (docs/mathematics.md §8.4): the joint fit of every likely one, its parameters free; BIC.

The weak form suggests functions of coordinates; each is fitted jointly with the path as any other form is, its linear
terms selected, and all are compared by BIC at one small q with each other and with the polynomials found before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress, by_bic
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import begin, candidate_of
from jetode.joint.elements.combination import mixed_discovery
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion
from jetode.joint.elements.guesses import GUESSES, crossed, sensible
from jetode.joint.elements.known import Known
from jetode.joint.elements.likeness import Begun, other_names
from jetode.joint.elements.rival import polynomial_rival
from jetode.joint.elements.second import second_functions
from jetode.joint.elements.unnamed import unnamed_function
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.term_selection import COMPARE, eliminate

Named = tuple[Candidate, Suggestion]
SYMMETRIC = {"sin": 1, "tanh": 0, "arctan": 0}  # the parameter whose vanishing makes the function odd


@dataclass(frozen=True)
class NamingSettings:
    """Numbers of the naming, each with its reason."""

    tried: int = 4  # functions that are fitted jointly at first: 0.2 s each, and mostly the first is right
    per_coordinate: int = 3  # and of every coordinate where none of these satisfies: smoothing blurs arguments
    firsts: int = 2  # functions that a second one is looked for beside
    beside: int = 3  # fitted functions whose path is asked for a second one: the right first one is mostly among them
    rounds: int = 3  # in which names that are like the best are fitted: each round begins from a better one
    chosen: int = 4  # of those that follow, whose terms are selected: a sine needs no term beside it, its imitations do
    patient: int = 2  # functions that are cooled once more where all else has failed
    mixed: int = 3  # functions of a combination of coordinates that are fitted: a curve has singled it out
    combined: float = 0.03  # of the target's sum of squares: what a free curve of a combination may leave in weak form
    doubt: float = 10.0  # of BIC: a name that lies farther behind can neither win nor cast doubt on the best
    fewer: float = 10.0  # of the cost, in terms: a name farther behind one that follows cannot win by fewer terms


NAMING = NamingSettings()
TIGHT = Schedule((3e-4, COMPARE.levels[-1]), COOLING.schedule.iterations)  # to the q at which terms are selected
RENAMED = Schedule((0.03, 0.01, 3e-3, 1e-3), 8)  # from the path of another name: looser, a dense fit would lose it


@dataclass(frozen=True)
class Functions:
    """Which functions the search may use, and whether one of u0 may act through its derivatives too; ``known`` ones are
    in the equation, and nothing else is searched."""

    kinds: tuple[str, ...] = tuple(GUESSES)
    spread: bool = True
    known: tuple[Known, ...] = ()


CATALOGUE = Functions()
NONE = Functions(())


def asks_for_function(prepared: Prepared, order: int, functions: Functions) -> bool:
    """Whether functions are worth to be looked for before any polynomial: the weak form shows a curve."""
    weak = WeakForm.of(prepared, order) if functions.kinds else None
    return weak is not None and Discovery.of(weak).asks_for_a_function(prepared.sigma)


def search_elements(
    problem: Problem,
    order: int,
    functions: Functions,
    interrupt: Interrupt,
    progress: Progress,
    imitated: bool = False,
) -> Found | None:
    """Linear equations of an order with one function, or two, that follow the record, and the one with squares and
    cubes of the same coordinate in its place; best first.  None where there is none, or powers match it in weak form.
    Where a polynomial satisfies that could be one (``imitated``), only the likeliest are tried."""
    weak = WeakForm.of(problem.prepared, order) if functions.kinds else None
    if weak is None:
        return None
    progress(f"functions of one coordinate, order {order}")
    return Naming(problem, Discovery.of(weak), functions, interrupt).named_functions(imitated)


@dataclass(frozen=True, eq=False)
class Naming:
    """The functions of one order for one record: what the weak form suggests, fitted jointly and compared."""

    problem: Problem
    discovery: Discovery
    functions: Functions
    interrupt: Interrupt

    def named_functions(self, imitated: bool = False) -> Found | None:
        """The equations with one function; where those leave more than noise, with a second one, or with one of a
        combination of coordinates; among them the polynomial that they have to beat.  None where the weak form shows
        none, or none follows the record."""
        discovery, kinds = self.discovery, self.functions.kinds
        limit = discovery.linear() - DISCOVERY.gain
        seen = discovery.suggestions(kinds, (False, True) if self.functions.spread else (False,)) + discovery.bare(
            kinds
        )
        if not self._worth_a_fit(seen):
            return None
        ranked = ranking([s for s in seen if s.bic < limit and s.left < DISCOVERY.unexplained])
        fitted = self._with_other_names(self._suggested(discovery, ranked[: NAMING.tried]))
        fitted += self._bare(seen, fitted)
        chosen = self._selected(fitted)
        found = self._found(chosen)
        later: tuple[Callable[[], list[Named]], ...] = (
            lambda: self._suggested(discovery, self._left_over(ranked, fitted)),
            self._unnamed,
            lambda: self._pairs(ranked, fitted),
            lambda: self._combinations(ranked),
            lambda: self._patiently(discovery, fitted),
        )
        for more in () if imitated else later:
            if found.satisfies() or self.interrupt():
                break
            new = self._with_other_names(more())
            fitted += new
            if any(map(self._follows, new)):
                chosen += self._selected(new)
                found = self._found(chosen)
        if imitated or not found.follows():
            return found if found.follows() else None
        best, suggestion = min(chosen, key=lambda f: f[0].bic)
        rival = polynomial_rival(self.problem, discovery, (best, suggestion), self.interrupt)
        every = (*found.candidates, *([rival] if np.isfinite(rival.cost) else []))
        return replace(found, candidates=tuple(sorted(every, key=by_bic)))

    def _worth_a_fit(self, seen: Sequence[Suggestion]) -> bool:
        """Whether the best function does clearly better in weak form than a square and a cube of one coordinate, or
        leaves no more than the noise where quadratic polynomials do: then the joint fits decide, since powers, which
        smoothing blurs less than a bend, can do as well there and not follow the record."""
        best = min(seen, key=lambda s: s.bic, default=None)
        if best is None:
            return False
        weak = self.discovery.weak
        noise = weak.noise(self.problem.prepared.sigma) / float(weak.target @ weak.target)
        leaves = 1.0 + DISCOVERY.function_excess * DECISION.scatter(self.problem.data.n_samples)
        if best.left < leaves * noise and best.bic < self.discovery.quadratic() - DISCOVERY.gain:
            return True
        return best.bic <= self.discovery.powers() - DISCOVERY.gain

    def _suggested(self, discovery: Discovery, ranked: Sequence[tuple[Suggestion, ...]]) -> list[Named]:
        """The joint fits of functions that the weak form suggests, each in the last row alone unless that fails."""
        return self._tried((self._begun(discovery, suggestion) for suggestion in ways) for ways in ranked)

    def _begun(self, discovery: Discovery, suggestion: Suggestion) -> Begun:
        return suggestion, *begin(self.problem.prepared, self.problem.data, discovery, suggestion)

    def _left_over(
        self, ranked: Sequence[tuple[Suggestion, ...]], fitted: Sequence[Named]
    ) -> list[tuple[Suggestion, ...]]:
        """The first functions of every coordinate that were not tried: where noise blurs an argument, another one can
        seem better, and what followed a coordinate at first kept others of it from being tried."""
        done = {s.functions for _, s in fitted}
        followed = {s.coordinates for c, s in fitted if self._follows((c, s))}
        out: dict[int, list[tuple[Suggestion, ...]]] = {}
        for i, ways in enumerate(ranked):
            if (i >= NAMING.tried or ways[0].coordinates in followed) and ways[0].functions not in done:
                out.setdefault(ways[0].elements[-1].variable, []).append(ways)
        return [ways for of_one in out.values() for ways in of_one[: NAMING.per_coordinate]]

    def _patiently(self, discovery: Discovery, fitted: Sequence[Named]) -> list[Named]:
        """Once more, from looser and more slowly: the best of all from its own path, and the best of those that the
        weak form suggests from their starts."""
        near = self._near(fitted)
        out = list[Named]()
        for candidate, suggestion in near[:1]:
            fit = _fit(candidate)
            out += self._fitted([(suggestion, fit.terms, fit.states)], fit.cost, COOLING.reheats[0])
        begun = [(c.cost, s) for c, s in near if len(s.elements) == 1 and not s.mix]
        for cost, suggestion in begun[: NAMING.patient]:
            out += self._fitted([self._begun(discovery, suggestion)], cost, COOLING.patient)
        return out

    def _tried(self, groups: Iterable[Iterable[Begun]]) -> list[Named]:
        """Joint fits from their starts: of each group, and of each set of coordinates, up to the first that follows;
        its other names are found by their likeness."""
        fitted: list[Named] = []
        for group in groups:
            for begun in group:
                done = {s.coordinates for c, s in fitted if self._follows((c, s))}
                if begun[0].coordinates in done or self.interrupt():
                    break
                fitted += self._fitted([begun], self._ceiling(fitted, bool(begun[0].mix)))
        return fitted

    def _with_other_names(self, fitted: list[Named]) -> list[Named]:
        """These, and what is like the best of them where it has been, as long as one is better."""
        tried: set[frozenset[tuple[str, int]]] = set()
        for _ in range(NAMING.rounds):
            near = self._near(fitted)
            if not near or self.interrupt():
                break
            best, suggestion = near[0]
            follows = self._follows(near[0])
            ceiling = self._ceiling(near[:1]) if follows else best.cost
            as_good = best.cost + self.problem.price * follows  # what has stuck farther off begins again from here
            done = tried | {s.functions for c, s in fitted if c.cost <= as_good and self._follows((c, s)) >= follows}
            begun = [b for b in other_names(_fit(best), suggestion, self.functions.kinds) if b[0].functions not in done]
            tried |= {b[0].functions for b in begun}
            new = self._fitted(begun, ceiling, RENAMED)
            fitted = fitted + new
            if not any(c.cost < best.cost - self.problem.price for c, _ in new):
                break
        return fitted

    def _bare(self, seen: Sequence[Suggestion], fitted: Sequence[Named]) -> list[Named]:
        """Names that follow beside a line, once more without it: the valley between the two is flat."""
        done = {s.functions for _, s in fitted if s.bare}
        beside = {s.functions for c, s in fitted if self._follows((c, s))} - done
        begun = (self._begun(self.discovery, s) for s in seen if s.bare and s.functions in beside)
        return self._fitted(list(begun), self._ceiling(fitted))

    def _unnamed(self) -> list[Named]:
        """The curve that no name has been found for; names that are like it begin from its path."""
        curve = unnamed_function(self.discovery)
        return [] if curve is None else self._suggested(self.discovery, [(curve,)])

    def _pairs(self, ranked: Sequence[tuple[Suggestion, ...]], fitted: Sequence[Named]) -> list[Named]:
        """Two functions: beside the first ones of the weak form in the last row, what their joint fits lack, or what
        the weak form asks for most in addition."""
        alone = [f for f in self._near(fitted) if len(f[1].elements) == 1 and not f[1].spread]
        begun = (
            [pair]
            for candidate, suggestion in alone[: NAMING.beside]
            for pair in second_functions(self.problem, candidate, suggestion, self.functions.kinds)
        )
        found = self._tried(begun)
        if any(map(self._follows, found)) or self.interrupt():
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
        wanted = ranking(mixed.suggestions(self.functions.kinds))[: NAMING.mixed]
        found = self._suggested(mixed, wanted)
        if any(map(self._follows, found)):
            return found
        gross = DECISION.gross * self.problem.data.n_samples  # a combination is known roughly at first
        return found + self._fitted([self._begun(mixed, ways[0]) for ways in wanted[:1]], gross, COOLING.patient)

    def _fitted(
        self, begun: Sequence[Begun], ceiling: float = np.inf, schedule: Schedule = COOLING.schedule
    ) -> list[Named]:
        """Joint fits from their starts, those that stay below a cost and whose parameters still make sense; where one
        follows, at the q at which terms are selected.  What a bare one lacks is for the selection of terms to add."""
        data, out = self.problem.data, list[Named]()
        for suggestion, terms, states in begun:
            if self.interrupt():
                break
            fit = anneal(data, terms, states, schedule, self.interrupt, ceiling=ceiling)
            if fit.cost <= self._enough:
                tight = anneal(data, fit.terms, fit.states, TIGHT, self.interrupt, ceiling=self._enough)
                fit = tight if np.isfinite(tight.cost) else fit
            if np.isfinite(fit.cost) and meant(fit):
                out.append((replace(candidate_of(replace(suggestion, bare=False)), fit=fit), suggestion))
        return out

    def _selected(self, fitted: Sequence[Named]) -> list[Named]:
        """Those that follow and can still win, with their terms selected."""
        problem, chosen = self.problem, list[Named]()
        following = [(self._least_bic(f), *f) for f in fitted if self._follows(f)]
        for least, candidate, suggestion in sorted(following, key=lambda f: f[0])[: NAMING.chosen]:
            if self.interrupt() or least > min((c.bic for c, _ in chosen), default=np.inf) + NAMING.doubt:
                break
            selected = choose_terms(problem.data, candidate, problem.price, self.interrupt)
            chosen.append((settled(problem, selected, self.interrupt), suggestion))
        return chosen

    def _found(self, chosen: Sequence[Named]) -> Found:
        """The candidates by BIC, every set of names and coordinates once."""
        best: dict[frozenset[tuple[str, int]], Candidate] = {}
        for candidate, suggestion in sorted(chosen, key=lambda f: f[0].bic):
            best.setdefault(suggestion.functions, candidate)
        return Found(tuple(best.values()), self.problem.data, self.problem.price)

    def _least_bic(self, named: Named) -> float:
        """What the BIC of a fit would be if it needed nothing beside its functions."""
        candidate, suggestion = named
        fit = _fit(candidate)
        bare = candidate.form.protected(fit.terms) & fit.terms.free
        symmetric = sum(kind in SYMMETRIC for kind in suggestion.kinds)
        return fit.cost + self.problem.price * (float(bare.sum()) - symmetric)

    @property
    def _enough(self) -> float:
        """The cost up to which a fit follows the record."""
        n = self.problem.data.n_samples
        return DECISION.suspicious(n) * n

    def _follows(self, named: Named) -> bool:
        """Whether a fit follows the record at the q at which terms are selected."""
        fit = _fit(named[0])
        return fit.q <= TIGHT.levels[-1] and fit.cost <= self._enough

    def _near(self, fitted: Iterable[Named]) -> list[Named]:
        """Fits that are near enough to the record for their curve to mean something, the best first: those that follow
        come before those that would not at a smaller q."""
        near = [f for f in fitted if f[0].cost <= DECISION.selectable * self.problem.data.n_samples]
        return sorted(near, key=lambda f: (not self._follows(f), f[0].cost))

    def _ceiling(self, fitted: Sequence[Named], rough: bool = False) -> float:
        """The cost at which one more fit is given up: no curve to learn from (grossly wrong where its start is
        ``rough``, as that of a combination is), or too far behind one that follows."""
        best = min((c.cost for c, s in fitted if self._follows((c, s))), default=np.inf)
        most = DECISION.gross if rough else DECISION.selectable
        return min(most * self.problem.data.n_samples, best + NAMING.fewer * self.problem.price)


def ranking(suggestions: Sequence[Suggestion]) -> list[tuple[Suggestion, ...]]:
    """The functions by the weak form's BIC, each bare at first, then with a straight line beside it in the last row
    alone, then in all of them: beside a line a sine of 2 rad has a flat valley of frequencies to be lost in.
    """
    by_function: dict[tuple[tuple[str, int], ...], list[Suggestion]] = {}
    for one in suggestions:
        by_function.setdefault(tuple((e.kind, e.variable) for e in one.elements), []).append(one)
    ranked = sorted(by_function.values(), key=lambda ways: min(s.bic for s in ways))
    return [tuple(sorted(ways, key=lambda s: (s.spread, not s.bare))) for ways in ranked]


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
    """The parameters that the record tells: a function is odd where a phase or a centre of 0 does as well (and then may
    need no constant, which a phase does), and the width of a sign is free where that does better."""
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
        trial = anneal(problem.data, kept, _fit(candidate).states, COMPARE, interrupt)
        again = eliminate(problem.data, kept, trial, form.protected(kept), problem.price, interrupt)
        if again.bic < candidate.bic and meant(again.fit):
            candidate = replace(candidate, form=form, fit=again.fit, bic=again.bic)
    return candidate


def imitates(candidate: Candidate) -> bool:
    """Whether a polynomial equation without a pole could stand for a function: its only terms beyond linear ones are
    powers of one coordinate, a cube or more among them."""
    if candidate.fit is None or candidate.form.has_pole or candidate.form.elements:
        return False
    beyond = [e for e in candidate.fit.terms.exponents if sum(e) > 1]
    coordinates = {tuple(k > 0 for k in e) for e in beyond}
    return len(coordinates) == 1 and sum(coordinates.pop()) == 1 and max(map(sum, beyond)) > 2
