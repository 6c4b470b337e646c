"""The search for the top of a food chain (docs/mathematics.md §3.11), about a second where a record looks like one:
starts on a stretch, first of meals that do not saturate and with r held, then the likeliest on all that is searched.

On a stretch nearly all starts come to one path; on a long record at once, under noise, none does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress
from jetode.joint.forms.base import Candidate, Start
from jetode.joint.forms.food_chain import (
    FORM,
    INFLOW,
    ORDER,
    RATE,
    food_chains,
    held,
    not_saturating,
    spikes_from_nothing,
    start_like,
)
from jetode.joint.problem import Prepared
from jetode.joint.scan import Problem
from jetode.joint.search_settings import DECISION, SCAN
from jetode.joint.shooting.annealing import Rounds, Schedule, anneal, arrived
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.joint.term_selection import eliminate
from jetode.joint.unscanned import compared_on

PLAIN = Schedule((1.0, 0.5, 0.2, 0.1), 12)  # meals that do not saturate, z' held
SATURATED = Schedule((0.2, 0.1), 12)  # all meals, z' held
INFLOWS = Schedule((0.1, 0.05), 12)  # r held
FREE = Schedule((0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01, 6e-3, 3e-3, 1e-3, 3e-4, 1e-4), 12)  # slowly: r is free
BEYOND = Schedule((1.0, 0.5, 0.2, 0.1, 0.05, 0.03), 12)  # on all of it, the path alone: rough beyond the stretch
LOOSEN = Rounds(Schedule((3e-3, 1e-3, 3e-4, 1e-4), 40), 20, 0.3)  # r and the shares trade in a long valley
CARRIED = 2  # of the stretch's fits


def search_food_chain(prepared: Prepared, order: int, interrupt: Interrupt, progress: Progress) -> Found | None:
    """The chain, where the record looks like the top of one and it satisfies."""
    if order != ORDER or interrupt() or not spikes_from_nothing(prepared.jets):
        return None
    progress("the top of a food chain")
    problem = compared_on(prepared, order, fine=True)
    samples = min(problem.data.y.size, round(SCAN.length / prepared.jets.spacing))
    stretch = prepared.data(problem.sigma, samples)
    looked = [_looked_at(stretch, start, interrupt) for start in food_chains(prepared.jets.head(samples))]
    for fit in sorted((fit for fit in looked if np.isfinite(fit.cost)), key=lambda fit: fit.cost)[:CARRIED]:
        found = _selected(problem, _carried_on(problem, fit, stretch, interrupt), interrupt)
        if found is not None and found.satisfies():
            return found
    return None


def _looked_at(stretch: Data, start: Start, interrupt: Interrupt) -> Fit:
    """A start fitted to the stretch, ever more of it free; cost inf where it does not come near."""
    terms, states = start.terms, start.states[stretch.layout.first]
    stages = (
        (held(not_saturating(terms), RATE, INFLOW), PLAIN),
        (held(terms, RATE, INFLOW), SATURATED),
        (held(terms, RATE), INFLOWS),
        (terms, FREE),
    )
    ceiling = DECISION.gross * stretch.n_samples
    for allowed, schedule in stages:
        terms = replace(terms, free=allowed.free)
        fit = anneal(stretch, terms, states, schedule, interrupt, rescale=False, ceiling=ceiling)
        if not np.isfinite(fit.cost):
            break
        terms, states = fit.terms, fit.states
    return fit


def _carried_on(problem: Problem, fit: Fit, stretch: Data, interrupt: Interrupt) -> Fit:
    """The fit to the stretch on all that is searched, beyond it from the record with its rates."""
    data = problem.data
    states = start_like(problem.prepared.jets.head(data.y.size), fit.terms)
    states[: stretch.y.size] = path_states(fit, stretch)
    ceiling = DECISION.gross * data.n_samples
    terms = fit.terms
    known = replace(terms, free=np.zeros_like(terms.free))
    fit = anneal(data, known, states[data.layout.first], BEYOND, interrupt, rescale=False, ceiling=ceiling)
    whole = replace(fit.terms, free=terms.free)
    fit = anneal(data, whole, fit.states, FREE, interrupt, rescale=False, ceiling=ceiling)
    return arrived(data, fit, LOOSEN, interrupt) if np.isfinite(fit.cost) else fit


def _selected(problem: Problem, fit: Fit, interrupt: Interrupt) -> Found | None:
    """The fit with the terms that BIC keeps, where it follows the record."""
    data, n = problem.data, problem.data.n_samples
    if interrupt() or not fit.cost <= DECISION.suspicious(n) * n:
        return None
    selection = eliminate(data, fit.terms, fit, FORM.protected(fit.terms), problem.price, interrupt)
    candidate = Candidate(FORM, {(1,): 1.0}, fit=selection.fit, bic=selection.bic)
    return Found((candidate,), data, problem.price)
