"""The terms of one candidate: reheating, selection in the form's own gauge, and in one where fewer terms may do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode.joint.candidates import Interrupt, held_terms, regauge
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.sheared_gauge import in_sheared_gauge
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.sparsest_gauge import cancels, sparsest
from jetode.joint.term_selection import eliminate


def choose_terms(
    data: Data, candidate: Candidate, price: float, interrupt: Interrupt, ceiling: float = np.inf
) -> Candidate:
    """Reheat a suspicious fit and select terms, its factors held about where they have come to; a grossly wrong fit, or
    one that costs more than ``ceiling`` with all its terms, is left; one with a function also where it is grossly wrong
    only at the q of the selection, since functions are taken where they satisfy and nowhere else."""
    assert candidate.fit is not None
    if candidate.form.elements:
        ceiling = min(ceiling, DECISION.gross * data.n_samples)
    fit = replace(candidate.fit, terms=held_terms(candidate, candidate.fit))
    fit = reheat(data, fit, interrupt)
    fit = replace(fit, terms=held_terms(candidate, fit))
    if not fit.cost <= DECISION.selectable * data.n_samples:
        return replace(candidate, fit=fit, bic=fit.cost + price * float(fit.terms.free.sum()))
    protected = candidate.form.protected(fit.terms)
    selection = eliminate(data, fit.terms, fit, protected, price, interrupt, ceiling=ceiling)
    chosen = replace(candidate, fit=selection.fit, bic=selection.bic)
    if chosen.cost > ceiling or candidate.form.elements:
        return chosen
    if not candidate.form.has_pole:
        dense = replace(candidate, fit=fit)
        chosen = sparser(data, dense, chosen, price, interrupt)
        return in_sheared_gauge(data, dense, chosen, price, interrupt) or chosen
    other = regauge(chosen)
    if other is None or other.fit is None or interrupt():
        return chosen
    again = eliminate(data, other.fit.terms, other.fit, other.form.protected(other.fit.terms), price, interrupt)
    return replace(other, fit=again.fit, bic=again.bic) if again.bic <= selection.bic else chosen


def sparser(data: Data, dense: Candidate, chosen: Candidate, price: float, interrupt: Interrupt) -> Candidate:
    """A closure without a pole in the gauge with fewer terms, where one with a linear ``a`` has fewer."""
    assert dense.fit is not None and chosen.fit is not None
    if dense.form.required or dense.form.fixed or interrupt():
        return chosen
    moved = sparsest(data, dense.form, dense.fit, price, int(chosen.fit.terms.free.sum()))
    if moved is None:
        return chosen
    form, fit = moved
    again = eliminate(data, fit.terms, fit, form.protected(fit.terms), price, interrupt)
    fewer = again.fit.terms.free.sum() < chosen.fit.terms.free.sum()
    if again.bic < chosen.bic and fewer and not cancels(equation_of(again.fit.terms)):
        return replace(dense, form=form, fit=again.fit, bic=again.bic)
    return chosen


def reheat(data: Data, fit: Fit, interrupt: Interrupt) -> Fit:
    """Cool a suspicious fit again, ever more slowly, while that makes it cheaper and such that terms could be selected;
    a grossly wrong one is left, and so is cooling that has come to cost more than the fit does, since q still falls."""
    n = data.n_samples
    most = DECISION.gross
    for schedule in COOLING.reheats:
        if not DECISION.suspicious(n) * n < fit.cost <= most * n or interrupt():
            break
        again = anneal(data, fit.terms, fit.states, schedule, interrupt, ceiling=fit.cost)
        if not again.cost < fit.cost:
            break
        fit, most = again, DECISION.selectable
    return fit
