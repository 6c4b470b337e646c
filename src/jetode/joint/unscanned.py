"""Forms that need no scan: begun on all that is searched, their terms selected, compared by BIC; and what is told by
them alone, the linear equation and the plane that is driven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jetode.equations.regular import DRIVEN_ORDER
from jetode.joint.candidates import Found, Interrupt, Progress, by_bic, different, plausible
from jetode.joint.choose_terms import choose_terms
from jetode.joint.forms.base import Candidate, hidden_library
from jetode.joint.forms.driven import driven_planes
from jetode.joint.forms.pole_free import candidate as plain_candidate
from jetode.joint.problem import Prepared
from jetode.joint.scan import Problem, begun
from jetode.joint.search_settings import COOLING, DECISION, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.stepping import FAST, fastest_rate

# of the drawn flows that are fast the rates come out at 40 and more, of others below 17
LOOSE = Schedule((0.3, 0.1), 4)


def term_price(n_samples: int, n_terms: int) -> float:
    """Extended BIC: log n for the coefficient and 2·½·log of the terms it could have been."""
    return float(np.log(n_samples) + np.log(n_terms))


def library_size(order: int) -> int:
    """How many terms a coefficient could have been."""
    return len(hidden_library(order, SEARCH.library_degree)) + SEARCH.library_extra


def is_coarse(prepared: Prepared, order: int) -> bool:
    """Whether a search integrates coarsely: the noise hides what that errs by, unless the motion is fast."""
    return order <= SEARCH.coarse_order and _sigma(prepared) > SEARCH.coarse_sigma


def compared_on(prepared: Prepared, order: int, fine: bool = False) -> Problem:
    """The stretch that is searched, at the noise level that is trusted; ``fine``: with the record's own step at any, as
    kinks of functions and spikes need, and the fast motions of order 4, where coarse ones ask for terms too many."""
    sigma = _sigma(prepared)
    samples = min(prepared.y.size, round(SEARCH.length / prepared.jets.spacing))
    data = prepared.data(sigma, samples, SEARCH.step if is_coarse(prepared, order) and not fine else None)
    return Problem(prepared, sigma, data, term_price(data.n_samples, library_size(order)))


def _sigma(prepared: Prepared) -> float:
    """The noise level that a search trusts."""
    return max(prepared.sigma, SEARCH.sigma)


def looks_fast(problem: Problem, candidate: Candidate, interrupt: Interrupt) -> bool:
    """Whether a form without a pole is faster than usual steps follow: a loose fit in such steps tells, whose
    coefficients are no longer those of the smoothed record and whose path is not lost yet."""
    jets = problem.prepared.jets.head(problem.data.y.size)
    start = candidate.start(jets)
    fit = anneal(problem.data, start.terms, start.states[problem.data.layout.first], LOOSE, interrupt)
    return fastest_rate(fit.terms, jets) > FAST


def unscanned(
    problem: Problem,
    candidates: Sequence[Candidate],
    interrupt: Interrupt,
    schedule: Schedule = COOLING.schedule,
) -> Found:
    """Those of the candidates that follow the record, with their terms selected."""
    chosen = selected(problem, begun(problem, list(candidates), interrupt, schedule), interrupt)
    return ranked(problem, [candidate for _, candidate in chosen])


def selected(problem: Problem, plain: Sequence[Candidate], interrupt: Interrupt) -> list[tuple[Fit, Candidate]]:
    """Of candidates that needed no scan, those that follow the record: their fits, and what selection makes of them."""
    most = DECISION.suspicious(problem.data.n_samples) * problem.data.n_samples
    follow = [c for c in plain if c.cost <= most and plausible(c, problem.prepared)]
    return [(c.fit, choose_terms(problem.data, c, problem.price, interrupt)) for c in follow if c.fit is not None]


def ranked(problem: Problem, chosen: Sequence[Candidate]) -> Found:
    """Candidates that differ, by BIC."""
    likely = sorted((c for c in chosen if plausible(c, problem.prepared)), key=by_bic)
    return Found(tuple(different(likely)), problem.data, problem.price)


def beyond_doubt(found: Found) -> bool:
    """Whether the best satisfies with so few terms that scanned forms, which all have a pole, need not be tried."""
    return bool(found.candidates) and found.candidates[0].free <= DECISION.sure_terms and found.satisfies()


def search_linear(prepared: Prepared, order: int, interrupt: Interrupt, progress: Progress) -> Found | None:
    """The linear equation of an order, where it satisfies: given up at the first q at which it does not follow."""
    progress(f"linear equation of order {order}")
    problem, linear = compared_on(prepared, order), plain_candidate(order, 1)
    data, n = problem.data, problem.data.n_samples
    start = linear.start(prepared.jets.head(data.y.size))
    ceiling = DECISION.gross * n
    fit = anneal(data, start.terms, start.states[data.layout.first], COOLING.patient, interrupt, ceiling=ceiling)
    for again in COOLING.reheats:  # one that follows roughly may have stuck
        if not DECISION.suspicious(n) * n < fit.cost <= ceiling:
            break
        fit = anneal(data, fit.terms, fit.states, again, interrupt, ceiling=ceiling)
    if not fit.cost <= DECISION.suspicious(n) * n:
        return None
    found = Found((choose_terms(data, replace(linear, fit=fit), problem.price, interrupt),), data, problem.price)
    return found if found.satisfies() else None


def search_driven(prepared: Prepared, interrupt: Interrupt, progress: Progress) -> Found | None:
    """The plane with a drive of one frequency, where the record shows one and it satisfies.  Of a linear plane, which
    could as well be what drives, the equation is the linear one of order 4."""
    problem = compared_on(prepared, DRIVEN_ORDER)
    candidates = driven_planes(prepared.jets.head(problem.data.y.size))
    if not candidates or interrupt():
        return None
    progress("a plane that is driven")
    found = unscanned(problem, candidates, interrupt)
    return found if found.satisfies() and _is_nonlinear(found.candidates[0]) else None


def _is_nonlinear(candidate: Candidate) -> bool:
    """Whether a fitted field has a term that is no multiple of one coordinate, and no constant."""
    return candidate.fit is not None and any(sum(e) > 1 for e in candidate.fit.terms.exponents)
