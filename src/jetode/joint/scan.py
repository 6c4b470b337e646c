"""From many guesses to a few fits: a first look on a stretch of the record, then cooling on all that is searched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Interrupt, by_cost, distinct, held_terms, plausible, states_for
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of, is_factor
from jetode.joint.problem import STEP, Prepared
from jetode.joint.progress import fitted_side_by_side
from jetode.joint.search_settings import COOLING, DECISION, SCAN, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, path_states


def scan_data(prepared: Prepared, sigma: float, candidates: Iterable[Candidate] = ()) -> Data:
    """The stretch that candidates are scanned on; for forms whose hidden coordinates show only now and then, all that
    is searched."""
    length = SEARCH.length if any(c.form.shows_late for c in candidates) else SCAN.length
    return prepared.data(sigma, min(prepared.y.size, round(length / prepared.jets.spacing)), SCAN.step * STEP)


def scan(
    prepared: Prepared,
    sigma: float,
    candidates: Iterable[Candidate],
    interrupt: Interrupt,
    reach: float = np.inf,
) -> list[Candidate]:
    """Fit every candidate on a stretch with its factor fixed, the better ones further with it held; best first.  What
    trails the best of the first look by more than ``reach`` is given up on the way."""
    candidates = list(candidates)
    data = scan_data(prepared, sigma, candidates)
    jets = prepared.jets.head(data.y.size)

    def look(candidate: Candidate, interrupt: Interrupt) -> Candidate:
        start = candidate.start(jets)
        terms = start.terms
        if candidate.fixed:
            terms = replace(terms, free=terms.free & ~is_factor(terms))
        else:
            terms = candidate.form.terms(equation_of(terms), candidate.hold)
        return replace(candidate, fit=anneal(data, terms, start.states[data.layout.first], SCAN.look, interrupt))

    def again(candidate: Candidate, interrupt: Interrupt, ceiling: float = np.inf) -> Candidate:
        assert candidate.fit is not None
        held = held_terms(candidate, candidate.fit)
        fit = anneal(data, held, candidate.fit.states, SCAN.again, interrupt, ceiling=ceiling)
        return replace(candidate, fit=fit)

    if interrupt():
        return []
    looked = sorted(fitted_side_by_side(look, candidates, interrupt), key=by_cost)
    late = any(c.form.shows_late for c in looked)
    limit = DECISION.gross * data.n_samples if late else np.inf  # on all the record, the factor has little left to gain
    kept = [c for c in looked[: SCAN.kept] if c.cost < limit]
    first = [again(c, interrupt) for c in kept[:1]]
    ceiling = min(map(by_cost, first), default=np.inf) + reach
    out = first + fitted_side_by_side(lambda c, stop: again(c, stop, ceiling), kept[1:], interrupt)
    return distinct(sorted((c for c in out if c.cost < limit and plausible(c, prepared)), key=by_cost))


@dataclass(frozen=True)
class Problem:
    """What candidates of one climb are compared on: the record, the noise level trusted, the samples searched, and the
    price of a term."""

    prepared: Prepared
    sigma: float
    data: Data
    price: float


def begun(
    problem: Problem, plain: list[Candidate], interrupt: Interrupt, schedule: Schedule = COOLING.schedule
) -> list[Candidate]:
    """Candidates that need no scan, quickly cooled on all that is searched; cost inf where that was given up."""
    ceiling = COOLING.hopeless * float(problem.data.n_samples)
    return [_cooled(problem, candidate, schedule, interrupt, ceiling) for candidate in plain]


def cool(problem: Problem, scanned: list[Candidate], plain: list[Candidate], interrupt: Interrupt) -> list[Candidate]:
    """Cool the scanned candidates on all that is searched with their factors held, and those that need no scan and have
    only :func:`begun` more patiently; keep what term selection could still make best."""
    carried = _carried_on(problem, scanned, interrupt)
    out, data, reach = [*plain, *carried], problem.data, COOLING.select_reach * problem.price
    lowest, n = min(map(by_cost, out), default=np.inf), float(data.n_samples)
    ceiling = min(COOLING.hopeless * max(lowest, n), max(lowest, n) + reach)
    ceiling = min(ceiling, DECISION.gross * n) if np.isfinite(lowest) else ceiling  # one that is cheaper is there
    for candidate in plain:
        if not candidate.cost <= DECISION.suspicious(data.n_samples) * n:
            out.append(_cooled(problem, candidate, COOLING.patient, interrupt, ceiling))
    out = distinct(sorted((c for c in out if np.isfinite(c.cost)), key=by_cost))
    return [c for c in out if c.cost <= out[0].cost + reach and plausible(c, problem.prepared)]


def _cooled(
    problem: Problem, candidate: Candidate, schedule: Schedule, interrupt: Interrupt, ceiling: float
) -> Candidate:
    """A candidate that needs no scan, from its start along a schedule; given up above ``ceiling``."""
    data = problem.data
    start = candidate.start(problem.prepared.jets.head(data.y.size))
    fit = anneal(data, start.terms, start.states[data.layout.first], schedule, interrupt, ceiling=ceiling)
    return replace(candidate, fit=fit)


def _carried_on(problem: Problem, scanned: list[Candidate], interrupt: Interrupt) -> list[Candidate]:
    """The best of the scanned candidates, fitted to all that is searched."""
    prepared, data = problem.prepared, problem.data
    stretch = scan_data(prepared, problem.sigma, scanned)
    reach = scanned[0].cost + SCAN.carry_reach * problem.price if scanned else 0.0

    def carry_on(candidate: Candidate, interrupt: Interrupt) -> Candidate:
        assert candidate.fit is not None
        start = states_for(prepared, equation_of(candidate.fit.terms), data)
        known = data.layout.first < stretch.y.size
        start[known] = path_states(candidate.fit, stretch)[data.layout.first[known]]
        levels = COOLING.schedule.levels[COOLING.cold_start if known.all() else 0 :]
        schedule = Schedule(levels, COOLING.schedule.iterations)
        held = held_terms(candidate, candidate.fit)
        return replace(candidate, fit=anneal(data, held, start, schedule, interrupt))

    if interrupt():
        return []
    return fitted_side_by_side(carry_on, [c for c in scanned[: SCAN.carried] if c.cost <= reach], interrupt)
