"""Joint fits of equations with functions (docs/mathematics.md §8.4): from their starts, with the names that are like
the best, their linear terms selected, compared by BIC at one small q."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import Shape
from jetode.joint.candidates import Found, Interrupt
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.candidates import candidate_of
from jetode.joint.elements.discover import Suggestion
from jetode.joint.elements.guesses import crossed, sensible
from jetode.joint.elements.likeness import Begun, other_names
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.scan import Problem
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import Rounds, Schedule, anneal, arrived
from jetode.joint.shooting.gaussnewton import Fit, path_states
from jetode.joint.stepping import kinked, stepped
from jetode.joint.term_selection import COMPARE, eliminate

Named = tuple[Candidate, Suggestion]
SYMMETRIC = {"sin": 1, "tanh": 0, "arctan": 0}  # the parameter whose vanishing makes the function odd


@dataclass(frozen=True)
class FitSettings:
    """Numbers of the comparison, each with its reason."""

    rounds: int = 3  # in which names that are like the best are fitted: each round begins from a better one
    chosen: int = 6  # of those that follow, whose terms are selected: what had not arrived was fifth, and the best then
    doubt: float = 10.0  # of BIC: a name that lies farther behind can neither win nor cast doubt on the best
    on_their_way: float = 30.0  # of BIC: a right name that had not arrived was 2 behind, and 20 above its minimum
    fewer: float = 10.0  # of the cost, in terms: a name farther behind one that follows cannot win by fewer terms
    jumps: float = 5.0  # of the cost: a winner with more is compared where it has next to none; right ones had 1 to 9


SETTINGS = FitSettings()
TIGHT = Schedule((3e-4, COMPARE.levels[-1]), COOLING.schedule.iterations)  # to the q at which terms are selected
RENAMED = Schedule((0.03, 0.01, 3e-3, 1e-3), 8)  # from the path of another name: looser, a dense fit would lose it

ARRIVE = Rounds(Schedule((1e-2, 5e-3, 3e-3, 2e-3, 1e-3, 5e-4, 3e-4, 2e-4, COMPARE.levels[-1]), 16), 4, 1.0)
CLOSE = Schedule(
    (3e-3, 1e-3, 5e-4, 2e-4, COMPARE.levels[-1]), 16
)  # the same where a path is lost as soon as it is loose
CONTINUOUS = Schedule((3e-5, 1e-5, 1e-6), 20)  # from the q at which terms are selected to next to no jumps


@dataclass(frozen=True, eq=False)
class Fits:
    """Equations with functions of these kinds, fitted to one record; ``renamed`` is how those begin that take the path
    of another name, which are given up (``hasty``) at the first q at which they cannot win."""

    problem: Problem
    kinds: tuple[str, ...]
    interrupt: Interrupt
    renamed: Schedule = RENAMED
    hasty: bool = True

    def tried(self, groups: Iterable[Iterable[Begun]]) -> list[Named]:
        """Joint fits from their starts: of each group, and of each set of coordinates, up to the first that follows;
        its other names are found by their likeness."""
        fitted: list[Named] = []
        for group in groups:
            for begun in group:
                done = {s.coordinates for c, s in fitted if self.follows((c, s))}
                if begun[0].coordinates in done or self.interrupt():
                    break
                fitted += self.fitted([begun], self.ceiling(fitted, begun[0].rough))
        return fitted

    def with_other_names(self, fitted: list[Named]) -> list[Named]:
        """These, and what is like the best of them where it has been, as long as one is better; a name whose path was
        lost begins again from every better one."""
        for _ in range(SETTINGS.rounds):
            near = self.near(fitted)
            if not near or self.interrupt():
                break
            best, suggestion = near[0]
            follows = self.follows(near[0])
            ceiling = self.ceiling(near[:1]) if follows else best.cost
            as_good = best.cost + self.problem.price * follows  # what has stuck farther off begins again from here
            done = {s.functions for c, s in fitted if c.cost <= as_good and self.follows((c, s)) >= follows}
            begun = [b for b in other_names(fit_of(best), suggestion, self.kinds) if b[0].functions not in done]
            new = self.fitted(begun, ceiling if self.hasty else np.inf, self.renamed)
            fitted = fitted + new
            if not any(c.cost < best.cost - self.problem.price for c, _ in new):
                break
        return fitted

    def fitted(
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

    def selected(self, fitted: Sequence[Named]) -> list[Named]:
        """Those that follow and can still win, with their terms selected."""
        problem, chosen = self.problem, list[Named]()
        for candidate, suggestion in self._likeliest(fitted):
            lowest = min((c.bic for c, _ in chosen), default=np.inf)
            if self.interrupt():
                break
            hopeful = self._hopeful(candidate, suggestion, lowest)
            if hopeful is not None:
                terms = choose_terms(problem.data, hopeful, problem.price, self.interrupt)
                chosen.append((settled(problem, terms, self.interrupt), suggestion))
        return self._continuous(self._arrived(chosen))

    def _likeliest(self, fitted: Sequence[Named]) -> list[Named]:
        """Those that follow by what their BIC could be, the best of every way to begin with the same functions."""
        best: dict[object, Named] = {}
        for one, way in sorted(filter(self.follows, fitted), key=self._least_bic):
            best.setdefault((way.functions, way.spread, way.bare), (one, way))
        return list(best.values())[: SETTINGS.chosen]

    def _hopeful(self, candidate: Candidate, suggestion: Suggestion, lowest: float) -> Candidate | None:
        """A fit that can win or cast doubt on the ``lowest`` BIC, carried on where it cannot from where it is but has
        not arrived."""
        fit, least = fit_of(candidate), self._least_bic((candidate, suggestion))
        if lowest + SETTINGS.doubt < least <= lowest + SETTINGS.on_their_way and not fit.converged:
            on = anneal(self.problem.data, fit.terms, fit.states, ARRIVE.schedule, self.interrupt)
            candidate = replace(candidate, fit=on) if on.cost < fit.cost and meant(on) else candidate
            least = self._least_bic((candidate, suggestion))
        return candidate if least <= lowest + SETTINGS.doubt else None

    def _arrived(self, chosen: Sequence[Named]) -> list[Named]:
        """The same, those that are on their way still carried on to their minimum where they could win or cast doubt:
        behind a saturation whose kinetics is far faster than the motion the valley is thin and bent."""
        least, out = min((c.bic for c, _ in chosen), default=np.inf), list[Named]()
        for candidate, suggestion in chosen:
            fit = fit_of(candidate)
            if not fit.converged and candidate.bic <= least + SETTINGS.on_their_way:
                there = arrived(self.problem.data, fit, ARRIVE, self.interrupt)
                if meant(there):
                    candidate = replace(candidate, fit=there, bic=candidate.bic - fit.cost + there.cost)
            out.append((candidate, suggestion))
        return out

    def _continuous(self, chosen: Sequence[Named]) -> list[Named]:
        """The same, the likeliest one at a q at which its path hardly jumps, until that is the likeliest: what is fast
        and unstable feeds on jumps that cost little, and followed the noise of an enzyme 50 better than the truth.
        BIC of the winner stays, since polynomials are compared with it at the usual q, and others lie behind by what
        they do without jumps.  Where none follows without them the record obeys none, and all keep theirs."""
        costs, n = [fit_of(candidate).cost for candidate, _ in chosen], self.problem.data.n_samples
        tight = dict[int, float]()
        while chosen and not self.interrupt():
            rise = [tight.get(i, cost) - cost for i, cost in enumerate(costs)]
            at = min(range(len(chosen)), key=lambda i: chosen[i][0].bic + rise[i])
            fit = fit_of(chosen[at][0])
            if at in tight or fit.cost - fit.misfit <= SETTINGS.jumps:
                if not tight.get(at, fit.cost) < DECISION.satisfying(n) * n:
                    break
                moved = [
                    (replace(c, bic=c.bic + rise[i] - rise[at] * (i in tight)), s) for i, (c, s) in enumerate(chosen)
                ]
                return [one for one in moved if np.isfinite(one[0].bic)]
            tight[at] = self._tightened(fit).cost
        return list(chosen)

    def _tightened(self, fit: Fit) -> Fit:
        """A fit with next to no jumps; one with kinks, at which jumps are what the steps of a search err by, in steps
        that follow these, which the other names do without."""
        data = self.problem.data
        if not kinked(fit.terms):
            return anneal(data, fit.terms, fit.states, CONTINUOUS, self.interrupt)
        prepared = stepped(self.problem.prepared, fit.terms)
        fine = prepared.data(self.problem.sigma, data.y.size)
        return anneal(fine, fit.terms, path_states(fit, data)[fine.layout.first], CONTINUOUS, self.interrupt)

    def found(self, chosen: Sequence[Named]) -> Found:
        """The candidates by BIC, every set of names and coordinates once."""
        best: dict[frozenset[Shape], Candidate] = {}
        for candidate, suggestion in sorted(chosen, key=lambda f: f[0].bic):
            best.setdefault(suggestion.functions, candidate)
        return Found(tuple(best.values()), self.problem.data, self.problem.price)

    def _least_bic(self, named: Named) -> float:
        """What the BIC of a fit would be if it needed nothing beside its functions."""
        candidate, suggestion = named
        fit = fit_of(candidate)
        bare = candidate.form.protected(fit.terms) & fit.terms.free
        symmetric = sum(kind in SYMMETRIC for kind in suggestion.kinds)
        return fit.cost + self.problem.price * (float(bare.sum()) - symmetric)

    @property
    def _enough(self) -> float:
        """The cost up to which a fit follows the record."""
        n = self.problem.data.n_samples
        return DECISION.suspicious(n) * n

    def follows(self, named: Named) -> bool:
        """Whether a fit follows the record at the q at which terms are selected."""
        fit = fit_of(named[0])
        return fit.q <= TIGHT.levels[-1] and fit.cost <= self._enough

    def near(self, fitted: Iterable[Named]) -> list[Named]:
        """Fits that are near enough to the record for their curve to mean something, the best first: those that follow
        come before those that would not at a smaller q."""
        near = [f for f in fitted if f[0].cost <= DECISION.selectable * self.problem.data.n_samples]
        return sorted(near, key=lambda f: (not self.follows(f), f[0].cost))

    def ceiling(self, fitted: Sequence[Named], rough: bool = False) -> float:
        """The cost at which one more fit is given up: no curve to learn from (grossly wrong where its start is
        ``rough``, as that of a combination or of a product is), or too far behind one that follows."""
        best = min((c.cost for c, s in fitted if self.follows((c, s))), default=np.inf)
        most = DECISION.gross if rough else DECISION.selectable
        return min(most * self.problem.data.n_samples, best + SETTINGS.fewer * self.problem.price)


def fit_of(candidate: Candidate) -> Fit:
    """The fit of a fitted candidate."""
    assert candidate.fit is not None
    return candidate.fit


def meant(fit: Fit) -> bool:
    """Whether the fitted parameters still describe what their kinds are meant for, where the path has been."""
    equation = equation_of(fit.terms)
    return all(
        sensible(one.element.kind, one.element.parameters, one.element.argument(fit.states))
        for one in equation.elements
    )


def settled(problem: Problem, candidate: Candidate, interrupt: Interrupt) -> Candidate:
    """The parameters that the record tells: a function is odd where a phase or a centre of 0 does as well (and then may
    need no constant, which a phase does), and the width of a sign is free where that does better."""
    for m, element in enumerate(candidate.form.elements):
        part, at = f"e{m}", SYMMETRIC.get(element.kind)
        fixed = tuple((term, value) for term, value in candidate.form.fixed if term[0] != part)
        if at is not None and crossed(element.argument(fit_of(candidate).states)):
            fixed = (*fixed, ((part, (at,)), 0.0))
        if fixed == candidate.form.fixed or interrupt():
            continue
        form = replace(candidate.form, fixed=fixed)
        held = form.terms(equation_of(fit_of(candidate).terms))
        kept = held.select(np.array([held.is_parameter[j] or c != 0.0 for j, c in enumerate(held.coefficients)]))
        trial = anneal(problem.data, kept, fit_of(candidate).states, COMPARE, interrupt)
        again = eliminate(problem.data, kept, trial, form.protected(kept), problem.price, interrupt)
        if again.bic < candidate.bic and meant(again.fit):
            candidate = replace(candidate, form=form, fit=again.fit, bic=again.bic)
    return candidate
