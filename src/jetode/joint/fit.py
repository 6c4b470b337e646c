"""The joint fit (docs/mathematics.md §4): coefficients and path together, from records to an identified closure.

search (forms, terms) → polish on the whole record at the noise's own level → noise refined → uncertainties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.candidates import Found, states_for
from jetode.joint.elements.friction import at_own_noise, with_spring
from jetode.joint.elements.naming import asks_for_function
from jetode.joint.exchanged_terms import nearest_exchange
from jetode.joint.filtered_search import search_filtered
from jetode.joint.forms.base import PRIOR, Candidate
from jetode.joint.forms.registry import ladder
from jetode.joint.null_space_proposals import DEGREES, LINEAR, Proposal
from jetode.joint.order_hints import false_neighbour_order, is_decay, repeats_itself
from jetode.joint.own_colour import with_own_colour
from jetode.joint.own_noise import POLISH_ITERATIONS, SIGMA_STEP, covariance_of, refined, robust_covariance
from jetode.joint.parts import equation_of, is_pole_constant, released
from jetode.joint.path import Identified, StateFit, carried_through, describe, estimate_path, final_q
from jetode.joint.problem import Prepared
from jetode.joint.progress import Budget, Effort, WithModel
from jetode.joint.request import Request
from jetode.joint.rivals import Rival, rivals_of
from jetode.joint.search import FREE, clean_functions, climb, propose, search
from jetode.joint.search_settings import COOLING, DECISION, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal, settled
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.joint.stepping import stepped
from jetode.joint.term_stability import TermStability, term_stability
from jetode.joint.unscanned import compared_on, search_driven, search_linear
from jetode.signal.scales import Unsuitable
from jetode.support.arrays import FloatArray
from jetode.support.threads import Beside, side_by_side

LONGER = 3  # times the stretch that was searched: what holds on a small part of a record is tried on more of it first
HOPELESS = 100.0  # cost per sample at which the path of a searched equation through a noisy record is given up
ORDERS = (2, 3, 4, 5)
FUNCTION_ORDERS = (2, 3)  # of equations with a function of one coordinate
LINEAR_ORDERS = (2, 4)  # of linear equations: one oscillator, or two that are coupled
CLEAN_ITERATIONS = 3000  # where the null space of a clean record has found nothing: its iterations take longer
STOPPED = "The fit was stopped before its first candidate was fitted: allow it more time."
UNFITTED = "No equation of the kinds that were tried could be fitted to this record."
UNFOLLOWED = (
    "None of the equations that were tried follows the whole record: it obeys another kind of equation or none, or its "
    "noise is larger than was estimated (then give its size, sigma)."
)


@dataclass(frozen=True)
class Refusal:
    """Why there is no fit at all, in one sentence."""

    reason: str


@dataclass(frozen=True)
class JointFit:
    """What the joint fit found, in all the detail the model and its verdict need.

    ``chi2`` is the cost per sample at the noise level estimated *before* the fit; ``margin`` the smallest change of
    BIC over adding or removing one term, ``exchange`` over exchanging one for another; ``score`` the score test of
    :mod:`jetode.joint.missing_terms_test`; ``stability`` how often each term is kept on resampled stretches;
    ``noise_ratio`` the refined noise over the estimated one; ``exhausted`` whether the search ended at its
    bound before it had tried every form.
    """

    identified: Identified
    prepared: Prepared
    data: Data
    fit: Fit
    paths: tuple[StateFit, ...]
    rivals: tuple[Rival, ...]
    chi2: float
    noise_ratio: float
    margin: float
    exchange: float
    score: float
    stability: tuple[TermStability, ...]
    exhausted: bool
    complete: bool


def on_longer_stretch(prepared: Prepared, fit: Fit, searched: Data, interrupt: Callable[[], bool]) -> Fit:
    """A fit to a small part of a noisy record, with its terms fitted to more of it; infinite cost where no path follows
    there, at a fraction of what the path through all of it takes.  Else the fit itself."""
    samples = LONGER * searched.y.size
    if prepared.clean or samples >= prepared.y.size or interrupt():
        return fit
    data = prepared.data(max(prepared.sigma, SEARCH.sigma), samples)
    states = states_for(prepared, equation_of(fit.terms), data)
    known = data.layout.first < searched.y.size
    states[known] = path_states(fit, searched)[data.layout.first[known]]
    longer = anneal(data, fit.terms, states, COOLING.transfer, interrupt, ceiling=DECISION.gross * data.n_samples)
    return fit if interrupt() else longer  # a stopped fit ends with what it has


def polish(
    prepared: Prepared, terms_fit: Fit, sigma: float, interrupt: Callable[[], bool], searched: Data | None = None
) -> tuple[Data, Fit]:
    """Carry a selected fit, D no longer held, to all samples at noise level ``sigma`` and to its final continuity.

    The path begins anew from the smoothed record; where that does not follow it (spikes that smoothing hides), from the
    path of the search through the data that were ``searched``."""
    if searched is not None:
        terms_fit = on_longer_stretch(prepared, terms_fit, searched, interrupt)
        if not np.isfinite(terms_fit.cost):
            return searched, terms_fit
    level = max(sigma, SEARCH.sigma)
    terms = released(terms_fit.terms, 1e-3 * PRIOR.ridge)
    model = Identified(terms, prepared.amplitude, prepared.time, level, np.zeros((0, 0)))
    bearable = np.inf if prepared.clean or interrupt() else HOPELESS  # a stopped fit ends with what it has
    data, path = estimate_path(model, prepared, interrupt, bearable)
    fit = replace(path, terms=terms)
    if searched is not None and not _follows(fit.cost, data, DECISION.gross):
        carried = carried_through(prepared, data, replace(terms_fit, terms=terms), searched, interrupt)
        fit = carried if carried.cost < fit.cost or not np.isfinite(fit.cost) else fit
    if not np.isfinite(fit.cost):
        return data, fit
    satisfied = searched is not None and _follows(terms_fit.cost, searched, DECISION.suspicious(searched.n_samples))
    while True:
        last = final_q(level)
        fit = anneal(data, fit.terms, fit.states, Schedule((30.0 * last, last), POLISH_ITERATIONS), interrupt)
        fit = settled(data, fit, DECISION.suspicious(data.n_samples) * data.n_samples, interrupt) if satisfied else fit
        if level <= sigma or interrupt():
            return data, fit
        level = max(sigma, level / SIGMA_STEP)
        finer = prepared.data(level)
        nodes = path_states(fit, data)[finer.layout.first]
        data, fit = finer, replace(fit, states=nodes)


def centre_pole(data: Data, fit: Fit, price: float, interrupt: Callable[[], bool]) -> Fit:
    """Put the pole at 0 where the record cannot tell it from 0 (BIC): one parameter less for the same misfit."""
    at = np.flatnonzero(is_pole_constant(fit.terms))
    if at.size == 0 or interrupt():
        return fit
    variance = np.diag(covariance_of(data, fit))[np.flatnonzero(np.flatnonzero(fit.terms.free) == at[0])[0]]
    if not fit.terms.coefficients[at[0]] ** 2 < price * variance:
        return fit
    terms = fit.terms.select(np.arange(len(fit.terms.exponents)) != at[0])
    centred = anneal(data, terms, fit.states, Schedule((30.0 * fit.q, fit.q), POLISH_ITERATIONS), interrupt)
    return centred if centred.cost < fit.cost + price else fit


Formed = tuple[Prepared, Found]


def null_space_form(
    request: Request, prepared: Prepared, interrupt: Effort, say: Callable[[str], None]
) -> Formed | Proposal | None:
    """Order, form and terms of a clean record by its null space; the rational proposal where it has no regular form.

    A function that the weak form shows comes before any higher order, which could only imitate it, and the harmonics of
    one oscillator, which are in tune, are not taken for several linear ones."""
    orders = (request.order,) if request.order else ORDERS
    others = [n for n in orders if n != (request.order or 3)]
    ready = {request.order or 3: prepared} | dict(zip(others, side_by_side(request.prepared, others), strict=True))
    for n, degrees in _tries(orders, prepared):
        say(f"null space of order {n}")
        proposed = propose(ready[n], n, interrupt, degrees) if n in DEGREES else None
        if isinstance(proposed, Proposal):
            return proposed
        if proposed is None and degrees is None and n in FUNCTION_ORDERS:
            proposed = clean_functions(ready[n], n, request.functions, interrupt, say)
        if proposed is not None:
            return ready[n], proposed
    return None


def _tries(orders: Sequence[int], prepared: Prepared) -> list[tuple[int, tuple[tuple[int, int], ...] | None]]:
    """Orders and degrees of a clean record's closure: linear ones first."""
    linear = LINEAR_ORDERS[:1] if repeats_itself(prepared) else orders
    return [*((n, LINEAR) for n in orders if n in linear), *((n, None) for n in orders)]


def searched_form(request: Request, prepared: Prepared, interrupt: Effort, say: Callable[[str], None]) -> Formed:
    """Order, form and terms by the search.

    Without an order linear equations come first, which take no time; then order 2 where false neighbours suggest it, of
    a decay, of a record that repeats itself, or where its weak form shows a function, then 3, then a plane with a drive
    unless the record repeats itself, then 4, until one satisfies; of those that do not, the third.  A plane whose flow
    follows a decay as the noise allows is not left for a higher order, which could only imitate the terms that it lacks
    (6.4).
    """
    if request.order is not None or request.functions.known:
        order = request.order or max(2, min(3, false_neighbour_order(prepared)))
        prepared = request.prepared(order) if request.order is None else prepared
        return prepared, search(prepared, order, interrupt, say, request.constraints, request.functions)
    repeats = repeats_itself(prepared)
    simpler = _linear_form(request, repeats, interrupt, say) or _planar_form(request, prepared, repeats, interrupt, say)
    if simpler is not None:
        return simpler
    found = search(prepared, 3, interrupt.renew(), say, functions=request.functions)
    if not (found.satisfies() or interrupt()):
        higher = request.prepared(4)
        driven = None if repeats else search_driven(higher, interrupt, say)
        if driven is not None:
            return higher, driven
        larger = climb(higher, 4, ladder(4)[:1], interrupt, say)
        if larger.satisfies():
            return higher, larger
    return prepared, found


def _linear_form(request: Request, repeats: bool, interrupt: Effort, say: Callable[[str], None]) -> Formed | None:
    """The linear equation of the lowest order that satisfies, where the record may have one.  That cubes predict a
    record which repeats itself better (6.3) says nothing of its equation: its amplitude need not be told from noise.
    Two oscillators would have to be in tune to do so, as the harmonics of one always are."""
    for order in LINEAR_ORDERS[:1] if repeats else LINEAR_ORDERS if request.maybe_linear else ():
        prepared = request.prepared(order)
        found = search_linear(prepared, order, interrupt, say)
        if found is not None:
            return _rather_friction(request, found, interrupt) or (prepared, found)
    return None


def _rather_friction(request: Request, linear: Found, interrupt: Effort) -> Formed | None:
    """A spring with a friction law that satisfies with fewer coefficients than a linear equation of four coordinates:
    two oscillators that beat can imitate a decay that is no exponential."""
    if linear.candidates[0].form.order == LINEAR_ORDERS[0] or not request.functions.searched:
        return None
    planar = request.prepared(LINEAR_ORDERS[0])
    lawful = with_spring(compared_on(planar, LINEAR_ORDERS[0], fine=True), request.functions.searched, interrupt)
    fewer = lawful is not None and lawful.candidates[0].free < linear.candidates[0].free
    return (planar, lawful) if lawful is not None and fewer and lawful.satisfies() else None


def _planar_form(
    request: Request, prepared: Prepared, repeats: bool, interrupt: Effort, say: Callable[[str], None]
) -> Formed | None:
    """Order 2 where something suggests it and it satisfies, or follows a decay."""
    flat = Beside(lambda: false_neighbour_order(prepared) == 2)
    planar = request.prepared(2)
    asks = Beside(lambda: asks_for_function(planar, 2, request.functions))
    decays = is_decay(planar)
    if not (decays or repeats or flat.result() or asks.result()):
        return None
    found = search(planar, 2, interrupt, say, functions=request.functions, repeats=repeats)
    return (planar, found) if found.satisfies() or (found.follows() and decays) else None


def identify_form(
    request: Request,
    budget: Budget,
    say: Callable[[str], None],
    accept: Callable[[Proposal], bool],
) -> tuple[Formed | Proposal, bool]:
    """The null space where the record is clean, else the search, at last for two hidden coordinates; and whether that
    ended at its bound.  A rational proposal that is not accepted leaves the record to the search, with all iterations.
    """
    effort = budget.effort()
    say("smoothing the record")
    request = with_own_colour(request, request.order or 3, effort)
    prepared = request.prepared(request.order or 3)
    if prepared.clean and request.constraints == FREE and not request.functions.known:
        formed = null_space_form(request, prepared, effort, say)
        if isinstance(formed, Proposal):
            if accept(formed):
                return formed, False
            effort = budget.effort()
        elif formed is not None:
            return formed, effort.exhausted
        else:
            effort.limit(CLEAN_ITERATIONS)
    formed = searched_form(request, prepared, effort, say)
    budget.searched(effort)
    free = request.order is None and not request.functions.known
    filtered = search_filtered(formed, lambda: request.prepared(4), budget.effort(), say) if free else None
    return filtered or formed, effort.exhausted and filtered is None


def _worth_polishing(found: Found, stopped: bool) -> tuple[Candidate, Fit] | Refusal:
    """The first candidate that could be fitted, or why none is worth a path through the whole record."""
    fitted = [(c, c.fit) for c in found.candidates if c.fit is not None and np.isfinite(c.cost)]
    if not fitted:
        return Refusal(STOPPED if stopped else UNFITTED)
    follows = stopped or _follows(fitted[0][1].cost, found.data, DECISION.selectable)
    return fitted[0] if follows else Refusal(UNFOLLOWED)


def _follows(cost: float, data: Data, most: float) -> bool:
    """Whether a path follows its record to ``most`` per sample."""
    return bool(np.isfinite(cost) and cost <= most * data.n_samples)


def _all_finite(*arrays: FloatArray) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays)


def _unfollowed(interrupt: Callable[[], bool]) -> Refusal:
    """No path follows the record: the equation's fault, or that of too little time."""
    return Refusal(STOPPED if interrupt() else UNFOLLOWED)


def fit_joint(
    request: Request,
    budget: Budget | None = None,
    progress: Callable[[str], None] | None = None,
    accept: Callable[[Proposal], bool] = lambda _: True,
) -> JointFit | Refusal | Proposal:
    """The whole fit, or why no candidate could be fitted at all; of a clean record with a rational closure that has no
    regular form, that closure, if it is ``accept``ed."""
    budget = budget or Budget()
    say = budget.watching(progress)

    def interrupt() -> bool:
        return budget.spent

    try:
        formed, exhausted = identify_form(request, budget, say, accept)
    except Unsuitable as reason:
        return Refusal(str(reason))
    if isinstance(formed, Proposal):
        return formed
    formed = formed[0], at_own_noise(*formed, request.functions.searched, interrupt)
    chosen = _worth_polishing(formed[1], interrupt())
    if isinstance(chosen, Refusal):
        return chosen
    say(WithModel("polishing coefficients and path"))
    (best, searched), found = chosen, formed[1]
    stability = Beside(lambda: term_stability(found.data, best.form, searched, found.price, request.seed))
    prepared = stepped(formed[0], searched.terms)
    data, fit = polish(prepared, searched, prepared.sigma, interrupt, found.data)
    if not _follows(fit.cost, data, np.inf if prepared.clean or interrupt() else DECISION.gross):
        return _unfollowed(interrupt)
    fit = centre_pole(data, fit, found.price, interrupt)
    chi2 = fit.cost / data.n_samples
    estimated = prepared.sigma * prepared.colour.innovation
    prepared, data, fit, level = refined(prepared, data, fit, request, interrupt)
    covariance = robust_covariance(prepared, data, fit)
    if not _all_finite(covariance, path_states(fit, data)):
        return _unfollowed(interrupt)
    units = prepared.amplitude, prepared.time
    identified = Identified(
        fit.terms, *units, level, covariance, prepared.robust, rails=prepared.rails, noise=prepared.noise
    )
    paths = describe(identified, prepared, data, fit, [r.n for r in request.records])
    return JointFit(
        identified,
        prepared,
        data,
        fit,
        tuple(paths),
        rivals_of(best, found),
        chi2,
        level * prepared.colour.innovation / estimated,
        found.margin(),
        nearest_exchange(found.data, best.form, searched, interrupt)
        if _follows(searched.cost, found.data, DECISION.rich)
        else 0.0,
        found.score(),
        stability.result(),
        exhausted,
        not budget.spent,
    )
