"""The search for hidden coordinates that are filters of the record (docs/mathematics.md §3.9, §3.10): an echo at order
3, then two filters at order 4.

Of two filters every guess of the rates is fitted jointly with its path on a stretch, the best of each kind on all that
is searched, and its terms selected.  The start is near the path already, and no level of q is loose: where jumps of u2
cost little, order 4 follows any record, with coefficients that mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Found, Interrupt, Progress, by_bic, by_cost
from jetode.joint.forms import echo
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.filtered import ORDER, filtered_flows
from jetode.joint.order_hints import repeats_itself
from jetode.joint.parts import equation_of
from jetode.joint.problem import KINK_STEP, Prepared
from jetode.joint.progress import Effort
from jetode.joint.search_settings import DECISION, SCAN, SEARCH
from jetode.joint.shooting.annealing import Rounds, Schedule, anneal, arrived, settled
from jetode.joint.shooting.gaussnewton import Data, path_states
from jetode.joint.term_selection import Refitting, eliminate
from jetode.joint.unscanned import library_size, term_price

LOOK = Schedule((0.1, 0.03, 0.01, 0.003, 0.001), 5)
COOL = Schedule((0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4), 12)
LOOSEN = Rounds(Schedule((3e-3, 1e-3, 3e-4, 1e-4), 40), 20, 0.3)  # a fit 90 above its end was within 3 after four
COMPARE = Refitting(Schedule((1e-3, 3e-4, 1e-4), 25))
TIGHT = Schedule((1e-2, 3e-3, 1e-3, 3e-4, 1e-4), 15)


@dataclass(frozen=True)
class FilteredSettings:
    """The fits of the search; a hidden coordinate that spikes needs short steps, and patience where q is small."""

    look: Schedule = LOOK
    cool: Schedule = COOL
    compare: Refitting = COMPARE
    carried: int = 2  # guesses of each kind that are fitted to all that is searched
    loosen: Rounds = LOOSEN
    iterations: int = 5000  # in all, so that these rounds, 160 each, are not cut short
    tight: Schedule = TIGHT  # of an echo: from q = 0.1 its rates run away to filters that follow anything
    undoubted: float = 1.0  # standard deviations of the score test of one whose terms the record does not decide


SETTINGS = FilteredSettings()
SHOWN = 3  # coordinates of the forms that were tried before


def search_filtered(
    formed: tuple[Prepared, Found], higher: Callable[[], Prepared], effort: Effort, progress: Progress
) -> tuple[Prepared, Found] | None:
    """The equation of these forms that satisfies, where no other does, or for an echo, which has few coefficients, only
    one that could imitate it; not of a plane that follows a decay, and two filters not of a record that repeats itself,
    on which many flows are alike.  ``higher``: the record prepared for order 4."""
    prepared, before = formed
    satisfied = before.satisfies()
    if prepared.jets.u.shape[1] < SHOWN or (satisfied and not _may_imitate(before.candidates[0])):
        return None
    effort.limit(SETTINGS.iterations)
    progress("a record multiplied by its echo")
    echoed = search_echo(prepared, before, effort)
    if echoed is not None:
        return prepared, echoed
    if satisfied or repeats_itself(prepared):
        return None
    progress("two hidden coordinates, filters of the record")
    prepared = higher()
    found = _search(replace(prepared, step=KINK_STEP), effort)
    return (prepared, found) if found.satisfies() or (_states(found) and not _states(before)) else None


def search_echo(prepared: Prepared, before: Found, interrupt: Interrupt) -> Found | None:
    """The record multiplied by its echo, where that satisfies and, if what was found ``before`` does so too, is the
    likelier one; the other is then its rival.

    Its rows with v and v' have five coefficients, which the record tells; the closure without v' has nine, and others
    of its kind follow a noisy record as well.  So the rows are fitted first."""
    sigma = max(prepared.sigma, SEARCH.sigma)
    data = prepared.data(sigma, min(prepared.y.size, round(SEARCH.length / prepared.jets.spacing)))
    jets = prepared.jets.head(data.y.size)
    heard = echo.Look(jets).likeliest()
    if heard is None or interrupt():
        return None
    nodes, n = heard.states(jets)[data.layout.first], data.n_samples
    rows = anneal(data, heard.begun, nodes, SETTINGS.tight, interrupt, rescale=False, ceiling=DECISION.gross * n)
    if not rows.cost <= DECISION.suspicious(n) * n:
        return None
    closure, states = echo.eliminated(rows.terms, path_states(rows, data))
    fit = anneal(data, echo.FORM.terms(closure), states[data.layout.first], SETTINGS.compare.schedule, interrupt)
    if interrupt() or not np.isfinite(fit.cost):
        return None
    price = term_price(n, library_size(echo.ORDER))
    best = with_terms(data, Candidate(echo.FORM, {}, hold=0.0, fixed=False, fit=fit), price, interrupt)
    best = replace(best, bic=min(best.bic, rows.cost + price * float(rows.terms.free.sum())))
    found = Found((best, *(before.candidates if before.satisfies() else ())), data, price)
    return found if best.bic < min(map(by_bic, found.candidates[1:]), default=np.inf) and found.satisfies() else None


def _may_imitate(candidate: Candidate) -> bool:
    """Whether what satisfies has functions, or many terms without a pole (ten of them, 15 % off, were once exact)."""
    many = candidate.free > DECISION.sure_terms
    return bool(candidate.form.elements) or (many and not candidate.form.has_pole)


def _states(found: Found) -> bool:
    """Whether the best lacks nothing, though the record may not tell each of its terms from none: such an equation is
    not exact, and yet better than one of a lower order that does not follow, or needs many terms to do so."""
    few = found.follows() and found.candidates[0].free <= DECISION.few_terms
    return few and found.score() <= SETTINGS.undoubted


def _search(prepared: Prepared, interrupt: Interrupt) -> Found:
    """The best of each kind, by BIC."""
    sigma = max(prepared.sigma, SEARCH.sigma)
    samples = [round(length / prepared.jets.spacing) for length in (SCAN.length, SEARCH.length)]
    stretch, data = (prepared.data(sigma, min(prepared.y.size, n)) for n in samples)
    looked = [looked_at(prepared, c, stretch, interrupt) for c in filtered_flows(prepared.jets.head(data.y.size))]
    price = term_price(data.n_samples, library_size(ORDER))
    chosen = []
    for form in dict.fromkeys(c.form for c in looked):
        follow = sorted((c for c in looked if c.form == form and np.isfinite(c.cost)), key=by_cost)
        whole = [carried_on(prepared, c, stretch, data, interrupt) for c in follow[: SETTINGS.carried]]
        best = min(whole, key=by_cost, default=None)
        if best is not None and best.cost <= DECISION.suspicious(data.n_samples) * data.n_samples and not interrupt():
            chosen.append(with_terms(data, best, price, interrupt))
    return Found(tuple(sorted(chosen, key=by_bic)), data, price)


def looked_at(prepared: Prepared, candidate: Candidate, stretch: Data, interrupt: Interrupt) -> Candidate:
    """A guess fitted to a stretch; cost inf where it does not come near."""
    start = candidate.start(prepared.jets.head(stretch.y.size))
    states, ceiling = start.states[stretch.layout.first], DECISION.gross * stretch.n_samples
    return replace(candidate, fit=anneal(stretch, start.terms, states, SETTINGS.look, interrupt, ceiling=ceiling))


def carried_on(prepared: Prepared, candidate: Candidate, stretch: Data, data: Data, interrupt: Interrupt) -> Candidate:
    """The fit to a stretch carried on to all that is searched, beyond it from the filters with its rates."""
    assert candidate.fit is not None
    fitted = equation_of(candidate.fit.terms).parts()["P"]
    guess = {e: fitted.get(e, value) for e, value in candidate.guess.items()}
    start = replace(candidate, guess=guess).start(prepared.jets.head(data.y.size))
    states = start.states.copy()
    source = next(e for e in candidate.form["P"] if not e[-1])
    states[:, -1] *= fitted[source] / equation_of(start.terms).parts()["P"][source]
    states[: stretch.y.size] = path_states(candidate.fit, stretch)
    n, nodes = data.n_samples, states[data.layout.first]
    fit = anneal(data, candidate.fit.terms, nodes, SETTINGS.cool, interrupt, ceiling=DECISION.gross * n)
    return replace(candidate, fit=settled(data, fit, DECISION.suspicious(n) * n, interrupt))


def with_terms(data: Data, candidate: Candidate, price: float, interrupt: Interrupt) -> Candidate:
    """The candidate with the terms that BIC keeps."""
    assert candidate.fit is not None
    fit = candidate.fit
    protected = candidate.form.protected(fit.terms)
    selection = eliminate(data, fit.terms, fit, protected, price, interrupt, SETTINGS.compare)
    fit = arrived(data, selection.fit, SETTINGS.loosen, interrupt)
    return replace(candidate, fit=fit, bic=selection.bic - selection.fit.cost + fit.cost)
