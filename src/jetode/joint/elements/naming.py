"""Which named function it is (docs/mathematics.md §8.4): the joint fit of every likely one, its parameters free; BIC.

The weak form suggests functions of coordinates; each is fitted jointly with the path as any other form is, its linear
terms selected, and all are compared by BIC at one small q with each other and with the polynomials found before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jetode.equations.elements import Shape
from jetode.joint.candidates import Found, Interrupt, Progress, by_bic
from jetode.joint.elements.candidates import begin
from jetode.joint.elements.combination import mixed_discovery
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion
from jetode.joint.elements.fits import Fits, Named, fit_of
from jetode.joint.elements.friction import ORDER as MECHANICS
from jetode.joint.elements.friction import SETTINGS as FRICTION
from jetode.joint.elements.friction import friction_laws, is_decided
from jetode.joint.elements.guesses import GUESSES
from jetode.joint.elements.known import Known
from jetode.joint.elements.likeness import Begun
from jetode.joint.elements.rival import polynomial_rival
from jetode.joint.elements.second import second_functions
from jetode.joint.elements.unnamed import unnamed_function
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate
from jetode.joint.problem import Prepared
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION


@dataclass(frozen=True)
class NamingSettings:
    """Numbers of the naming, each with its reason."""

    tried: int = 4  # functions that are fitted jointly at first: 0.2 s each, and mostly the first is right
    per_coordinate: int = 3  # and of every coordinate where none of these satisfies: smoothing blurs arguments
    firsts: int = 2  # functions that a second one is looked for beside
    beside: int = 3  # fitted functions whose path is asked for a second one: the right first one is mostly among them
    patient: int = 2  # functions that are cooled once more where all else has failed
    mixed: int = 3  # functions of a combination of coordinates that are fitted: a curve has singled it out
    combined: float = 0.03  # of the target's sum of squares: what a free curve of a combination may leave in weak form


NAMING = NamingSettings()


@dataclass(frozen=True)
class Functions:
    """Which functions the search may use, and whether one of u0 may act through its derivatives too; ``known`` ones are
    in the equation, and nothing else is searched."""

    kinds: tuple[str, ...] = tuple(GUESSES)
    spread: bool = True
    known: tuple[Known, ...] = ()

    @property
    def searched(self) -> tuple[str, ...]:
        """The functions that are looked for."""
        return () if self.known else self.kinds


CATALOGUE = Functions()
NONE = Functions(())


def asks_for_function(prepared: Prepared, order: int, functions: Functions) -> bool:
    """Whether functions are worth to be looked for before any polynomial: the weak form shows a curve."""
    weak = WeakForm.of(prepared, order) if functions.kinds else None
    return weak is not None and Discovery.of(weak).asks_for_a_function(prepared.slow_sigma)


def function_stands_out(prepared: Prepared, order: int, functions: Functions) -> bool:
    """Whether a function should challenge a polynomial that satisfies: in weak form a named one leaves no more than the
    noise, and clearly less than powers and than quadratic polynomials, as a saturation at 15 % noise does, for whose
    many derivatives a free curve takes too many coefficients."""
    weak = WeakForm.of(prepared, order) if functions.kinds else None
    return weak is not None and Discovery.of(weak).has_function(prepared.slow_sigma, functions.kinds, functions.spread)


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

    @cached_property
    def fits(self) -> Fits:
        """Joint fits of what is suggested."""
        return Fits(self.problem, self.functions.kinds, self.interrupt)

    def named_functions(self, imitated: bool = False) -> Found | None:
        """The equations with one function; where those leave more than noise, with a second one, or with one of a
        combination of coordinates; among them the polynomial that they have to beat.  None where the weak form shows
        none, or none follows the record."""
        discovery, kinds = self.discovery, self.functions.kinds
        limit = discovery.linear() - DISCOVERY.gain
        seen = discovery.every(kinds, self.functions.spread)
        if not self._worth_a_fit(seen):
            return None
        ranked = ranking([s for s in seen if s.bic < limit and s.left < DISCOVERY.unexplained])
        fitted = self.fits.with_other_names(self._suggested(discovery, ranked[: NAMING.tried]))
        fitted += self._bare(seen, fitted)
        chosen = self.fits.selected(fitted)
        found = self.fits.found(chosen)
        later: tuple[Callable[[], list[Named]], ...] = (
            lambda: self._friction(fitted),
            lambda: self._suggested(discovery, self._left_over(ranked, fitted)),
            self._unnamed,
            lambda: self._pairs(ranked, fitted),
            lambda: self._combinations(ranked),
            lambda: self._patiently(discovery, fitted),
        )
        for more in () if imitated else later:
            if found.satisfies() or self.interrupt():
                break
            new = self.fits.with_other_names(more())
            fitted += new
            if any(map(self.fits.follows, new)):
                chosen += self.fits.selected(new)
                found = self.fits.found(chosen)
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
        noise = weak.noise(self.problem.prepared.slow_sigma) / float(weak.target @ weak.target)
        leaves = 1.0 + DISCOVERY.function_excess * DECISION.scatter(self.problem.data.n_samples)
        if best.left < leaves * noise and best.bic < self.discovery.quadratic() - DISCOVERY.gain:
            return True
        return best.bic <= self.discovery.powers() - DISCOVERY.gain

    def _suggested(self, discovery: Discovery, ranked: Sequence[tuple[Suggestion, ...]]) -> list[Named]:
        """The joint fits of functions that the weak form suggests, each in the last row alone unless that fails."""
        return self.fits.tried((self._begun(discovery, suggestion) for suggestion in ways) for ways in ranked)

    def _begun(self, discovery: Discovery, suggestion: Suggestion) -> Begun:
        return suggestion, *begin(self.problem.prepared, self.problem.data, discovery, suggestion)

    def _left_over(
        self, ranked: Sequence[tuple[Suggestion, ...]], fitted: Sequence[Named]
    ) -> list[tuple[Suggestion, ...]]:
        """The first functions of every coordinate that were not tried: where noise blurs an argument, another one can
        seem better, and what followed a coordinate at first kept others of it from being tried."""
        done = {s.functions for _, s in fitted}
        followed = {s.coordinates for c, s in fitted if self.fits.follows((c, s))}
        out: dict[int, list[tuple[Suggestion, ...]]] = {}
        for i, ways in enumerate(ranked):
            if (i >= NAMING.tried or ways[0].coordinates in followed) and ways[0].functions not in done:
                out.setdefault(ways[0].elements[-1].variable, []).append(ways)
        return [ways for of_one in out.values() for ways in of_one[: NAMING.per_coordinate]]

    def _patiently(self, discovery: Discovery, fitted: Sequence[Named]) -> list[Named]:
        """Once more, from looser and more slowly: the best of all from its own path, and the best of those that the
        weak form suggests from their starts."""
        near = self.fits.near(fitted)
        out = list[Named]()
        for candidate, suggestion in near[:1]:
            fit = fit_of(candidate)
            out += self.fits.fitted([(suggestion, fit.terms, fit.states)], fit.cost, COOLING.reheats[0])
        begun = [(c.cost, s) for c, s in near if len(s.elements) == 1 and not s.mix]
        for cost, suggestion in begun[: NAMING.patient]:
            out += self.fits.fitted([self._begun(discovery, suggestion)], cost, COOLING.patient)
        return out

    def _friction(self, fitted: Sequence[Named]) -> list[Named]:
        """The friction law beside functions of the position, or in the place of those of the velocity, where it takes
        two of its functions beyond doubt: one alone is a pair like any other."""
        if self.problem.prepared.jets.u.shape[1] != MECHANICS:
            return []
        near: dict[frozenset[Shape], Named] = {}
        for candidate, suggestion in self.fits.near(fitted):
            if not (suggestion.spread or suggestion.mix):
                near.setdefault(suggestion.functions, (candidate, suggestion))
        some = [c for c, _ in near.values()][: FRICTION.forces]
        laws = friction_laws(self.problem, some, self.functions.kinds, self.interrupt, DECISION.selectable)
        best = laws[0] if laws and is_decided(laws) else None
        return [] if best is None else [(best, Suggestion(MECHANICS, best.form.elements, False, 0.0, 0.0))]

    def _bare(self, seen: Sequence[Suggestion], fitted: Sequence[Named]) -> list[Named]:
        """Names that follow beside a line, once more without it: the valley between the two is flat."""
        done = {s.functions for _, s in fitted if s.bare}
        beside = {s.functions for c, s in fitted if self.fits.follows((c, s))} - done
        begun = (self._begun(self.discovery, s) for s in seen if s.bare and s.functions in beside)
        return self.fits.fitted(list(begun), self.fits.ceiling(fitted))

    def _unnamed(self) -> list[Named]:
        """The curve that no name has been found for; names that are like it begin from its path."""
        curve = unnamed_function(self.discovery)
        return [] if curve is None else self._suggested(self.discovery, [(curve,)])

    def _pairs(self, ranked: Sequence[tuple[Suggestion, ...]], fitted: Sequence[Named]) -> list[Named]:
        """Two functions: beside the first ones of the weak form in the last row, what their joint fits lack, or what
        the weak form asks for most in addition."""
        alone = [f for f in self.fits.near(fitted) if len(f[1].elements) == 1 and not f[1].spread]
        begun = (
            [pair]
            for candidate, suggestion in alone[: NAMING.beside]
            for pair in second_functions(self.problem, candidate, suggestion, self.functions.kinds)
        )
        found = self.fits.tried(begun)
        if any(map(self.fits.follows, found)) or self.interrupt():
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
        if any(map(self.fits.follows, found)):
            return found
        gross = DECISION.gross * self.problem.data.n_samples  # a combination is known roughly at first
        return found + self.fits.fitted([self._begun(mixed, ways[0]) for ways in wanted[:1]], gross, COOLING.patient)


def ranking(suggestions: Sequence[Suggestion]) -> list[tuple[Suggestion, ...]]:
    """The functions by the weak form's BIC, each bare at first, then with a straight line beside it in the last row
    alone, then in all of them: beside a line a sine of 2 rad has a flat valley of frequencies to be lost in.
    """
    by_function: dict[tuple[Shape, ...], list[Suggestion]] = {}
    for one in suggestions:
        by_function.setdefault(tuple(e.shape for e in one.elements), []).append(one)
    ranked = sorted(by_function.values(), key=lambda ways: min(s.bic for s in ways))
    return [tuple(sorted(ways, key=lambda s: (s.spread, not s.bare))) for ways in ranked]


def imitates(candidate: Candidate) -> bool:
    """Whether a polynomial equation without a pole could stand for a function: its only terms beyond linear ones are
    powers of one coordinate, a cube or more among them."""
    if candidate.fit is None or candidate.form.has_pole or candidate.form.elements:
        return False
    beyond = [e for e in candidate.fit.terms.exponents if sum(e) > 1]
    coordinates = {tuple(k > 0 for k in e) for e in beyond}
    return len(coordinates) == 1 and sum(coordinates.pop()) == 1 and max(map(sum, beyond)) > 2
