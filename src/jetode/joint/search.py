"""Which regular closure fits (docs/mathematics.md §4): scan of poles, cooling with the pole held, elimination, BIC.

Every candidate is a form with a guess of D.  They are screened on a stretch of the record, the best are carried on
to all of it, their terms eliminated, and compared by BIC at one small q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.polynomials import Polynomial
from jetode.equations.regular import RegularClosure
from jetode.joint.constraints import Constraints
from jetode.joint.forms import (
    POLE_HOLD,
    Form,
    affine_pole,
    chain,
    curved_pole,
    is_denominator,
    pole_free,
    regular_of,
    regular_states,
    start_form,
)
from jetode.joint.missing_terms_test import score_test
from jetode.joint.null_space_proposals import Proposal, fit_proposal, proposals
from jetode.joint.problem import STEP, Prepared
from jetode.joint.progress import WithModel
from jetode.joint.shooting.annealing import Schedule, anneal, rescale_hidden
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.joint.shooting.layout import Terms
from jetode.joint.sparsest_gauge import cancels, sparsest
from jetode.joint.term_selection import eliminate, expand, quadratic_model
from jetode.support.arrays import FloatArray

SCREEN_LENGTH = 100.0  # tc
SEARCH_LENGTH = 360.0  # tc: forms and terms are searched on this much of a long record
SECOND_CHANCE = 0.4  # of a record: where the second try of the first rung begins
SHORTEST_SEARCH = 60.0  # tc: and how much must be left for it
SCREEN = Schedule((1.0, 0.3, 0.1, 0.04, 0.015), 3)
RESCREEN = Schedule((0.03, 0.015, 0.008, 0.004), 4)
PATIENT = Schedule(tuple(float(q) for q in np.geomspace(1.0, 1e-3, 14)), 8)  # without a pole there is no scan
COOL = Schedule((0.3, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003, 0.001), 4)
TRANSFER = Schedule((*COOL.levels, 1e-4), 8)
COLD_START = 3  # level of COOL at which a path that screening has covered in full begins
REHEATS = (
    Schedule(tuple(float(q) for q in np.geomspace(0.3, 1e-3, 10)), 8),
    Schedule(tuple(float(q) for q in np.geomspace(1.0, 1e-3, 16)), 8),
)
RESCREENED = 6  # candidates kept after the first look
CARRIED = 3  # candidates carried on to the whole search stretch
CARRY_REACH = 5.0  # terms' worth of cost by which a candidate may trail after screening
HOPELESS = 1.3  # times the best cost so far: a candidate without a pole is given up there
SELECT_REACH = 10.0  # and after cooling, before elimination
SEARCH_STEP = 0.1  # tc: the search integrates coarsely where the noise hides it
COARSE_SIGMA = 0.03
CERTAIN_GAP = 1e4  # of the null space: a rational closure without a regular form is taken from here on
PROPOSED = 3  # null vectors of a clean record that are fitted
POLES = 11  # candidate poles along u0
TILTED_POLES = 7  # and along each tilted direction
TILTS = (30.0, 60.0, 90.0, 120.0, 150.0)  # degrees, of D's gradient from u0 to u1
EDGE_QUANTILE = 0.02  # of the smoothed record: its edge
BEYOND = (0.0, 0.03, 0.1, 0.3)  # std: how far beyond the edge a chain's c may vanish
FARTHEST = 1.0  # std beyond the range of the record: where it still may after the fit
CURVED_HOLD = 3.0  # precision with which a curved D is held: it has to find its shape first
NEAR = 3.0  # std: a mean no farther from 0 leaves the prior on the coefficients as it is
FEW_TERMS = 10
SATISFYING = 1.035  # cost per sample
MAX_SCORE = 3.0  # of the score test
MIN_MARGIN = 2.0  # rise of BIC by one term more or less below which a record has not decided
SEARCH_SIGMA = 0.01  # of std: the search never trusts the samples more than this (integrator, loose start)
GROSS = 4.0  # cost per sample from which no term is worth eliminating
SUSPICIOUS = 1.04  # cost per sample above which a fit is reheated


@dataclass(frozen=True)
class Candidate:
    """A form, a guess of its D (over u0 … u_{n−2}; in a chain, of its c), and, once fitted, the fit and its score.

    D is ``fixed`` during the first look, or free from the start; then it is held with precision ``hold``.
    """

    form: Form
    denominator: Polynomial
    hold: float = POLE_HOLD
    fixed: bool = True
    fit: Fit | None = None
    bic: float = np.inf

    @property
    def cost(self) -> float:
        """Cost of the fit (inf where there is none)."""
        return np.inf if self.fit is None else self.fit.cost


@dataclass(frozen=True)
class Found:
    """The search's result: competing candidates by BIC, best first, and the problem they were compared on."""

    candidates: tuple[Candidate, ...]
    data: Data
    price: float

    def satisfies(self) -> bool:
        """Whether the best fits as well as the noise allows, with few enough terms not to imitate another form, none of
        them in doubt, and no need of terms beyond its own."""
        if not self.candidates or self.candidates[0].fit is None:
            return False
        best = self.candidates[0].fit
        if int(best.terms.free.sum()) > FEW_TERMS or best.cost >= SATISFYING * self.data.n_samples:
            return False
        return not self.score() > MAX_SCORE and self.margin() >= MIN_MARGIN

    def score(self) -> float:
        """The score test of the best candidate in its canonical gauge."""
        best = self.candidates[0]
        best = best if best.form.has_pole else regauge(best) or best
        assert best.fit is not None
        return score_test(self.data, best.form, best.fit)

    def margin(self) -> float:
        """Smallest predicted rise of BIC over adding or removing one term of the best candidate's form."""
        best = self.candidates[0]
        assert best.fit is not None
        full = best.form.terms(regular_of(best.fit.terms))
        model = quadratic_model(self.data, full, best.fit)
        if model is None:
            return 0.0
        keep = expand(full, best.fit.terms)[0][full.free]
        protected = best.form.protected(full)[full.free]
        base = model.restricted_cost(keep)
        out = [rise - self.price for rise, _ in model.ranked_removals(keep, protected)[:1]]
        for j in np.flatnonzero(~keep):
            trial = keep.copy()
            trial[j] = True
            out.append(model.restricted_cost(trial) + self.price - base)
        return float(min(out, default=np.inf))


FREE = Constraints()
Interrupt = Callable[[], bool]
Progress = Callable[[str], None]


def term_price(n_samples: int, n_terms: int) -> float:
    """Extended BIC: log n for the coefficient and 2·½·log of the terms it could have been."""
    return float(np.log(n_samples) + np.log(n_terms))


def pole_quantiles(values: FloatArray, count: int) -> FloatArray:
    """Candidate poles: quantiles of the coordinate, so that the record comes near each of them."""
    return np.quantile(values, np.linspace(0.02, 0.98, count))


def u0_poles(prepared: Prepared, order: int, a_degree: int, degree: int) -> list[Candidate]:
    """D = u0 − p for candidate poles p."""
    form = affine_pole(order, 0, (), a_degree, degree)
    unit = (1,) + (0,) * (order - 2)
    zero = (0,) * (order - 1)
    return [Candidate(form, {unit: 1.0, zero: -float(p)}) for p in pole_quantiles(prepared.jets.u[:, 0], POLES)]


def without_pole(order: int, degree: int) -> Candidate:
    """D = 1."""
    return Candidate(pole_free(order, degree), {(0,) * (order - 1): 1.0})


def screening(prepared: Prepared, sigma: float, candidates: Iterable[Candidate] = ()) -> Data:
    """The stretch that candidates are screened on; for chains, whose hidden coordinates show only while the record is
    away from its edge, all that is searched."""
    length = SEARCH_LENGTH if any(c.form.is_chain for c in candidates) else SCREEN_LENGTH
    return prepared.data(sigma, min(prepared.y.size, round(length / prepared.jets.spacing)), 1.5 * STEP)


def screen(prepared: Prepared, sigma: float, candidates: Iterable[Candidate], interrupt: Interrupt) -> list[Candidate]:
    """Fit every candidate on a stretch with its D fixed, the better ones further with D held; best first."""
    candidates = list(candidates)
    data = screening(prepared, sigma, candidates)
    jets = prepared.jets.head(data.y.size)
    looked: list[Candidate] = []
    for candidate in candidates:
        if interrupt():
            break
        start = start_form(jets, candidate.form, candidate.denominator)
        terms = start.terms
        if candidate.fixed:
            terms = replace(terms, free=terms.free & ~is_denominator(terms))
        else:
            terms = candidate.form.terms(regular_of(terms), candidate.hold)
        fit = anneal(data, terms, start.states[data.layout.first], SCREEN, interrupt)
        looked.append(replace(candidate, fit=fit))
    looked.sort(key=lambda c: c.cost)
    chained = any(c.form.is_chain for c in looked)
    limit = GROSS * data.n_samples if chained else np.inf  # the edges leave a chain's c little freedom to do better
    out = []
    for candidate in looked[:RESCREENED]:
        if candidate.fit is None or not candidate.cost < limit:
            continue
        held = held_terms(candidate, candidate.fit)
        fit = anneal(data, held, candidate.fit.states, RESCREEN, interrupt)
        out.append(replace(candidate, fit=fit))
    return _distinct(sorted((c for c in out if c.cost < limit and _vanishes(c, prepared)), key=lambda c: c.cost))


def _distinct(ranked: list[Candidate]) -> list[Candidate]:
    """Drop candidates that have come to the same place as a better one."""
    out: list[Candidate] = []
    for c in ranked:
        if not any(c.form == o.form and abs(c.cost - o.cost) < 1e-3 * o.cost for o in out):
            out.append(c)
    return out


def states_for(prepared: Prepared, regular: RegularClosure, data: Data) -> FloatArray:
    """Node states from the smoothed jets, the hidden coordinates by the penalised solve."""
    return regular_states(prepared.jets.head(data.y.size), regular)[data.layout.first]


def carry(
    prepared: Prepared,
    sigma: float,
    data: Data,
    candidates: list[Candidate],
    plain: list[Candidate],
    price: float,
    interrupt: Interrupt,
) -> list[Candidate]:
    """Cool the screened candidates on ``data`` with D held, and those without a pole, which need no scan, from the
    start; keep what elimination could still make best."""
    out = []
    screened = screening(prepared, sigma, candidates)
    reach = candidates[0].cost + CARRY_REACH * price if candidates else 0.0
    for candidate in candidates[:CARRIED]:
        if interrupt() or candidate.fit is None or candidate.cost > reach:
            break
        held = held_terms(candidate, candidate.fit)
        start = states_for(prepared, regular_of(candidate.fit.terms), data)
        known = data.layout.first < screened.y.size
        start[known] = path_states(candidate.fit, screened)[data.layout.first[known]]
        levels = COOL.levels[COLD_START:] if known.all() else COOL.levels
        out.append(replace(candidate, fit=anneal(data, held, start, Schedule(levels, COOL.iterations), interrupt)))
    ceiling = HOPELESS * max(min((c.cost for c in out), default=np.inf), float(data.n_samples))
    for candidate in plain:
        begun = start_form(prepared.jets.head(data.y.size), candidate.form, candidate.denominator)
        for schedule in (COOL, PATIENT):
            fit = anneal(data, begun.terms, begun.states[data.layout.first], schedule, interrupt, ceiling=ceiling)
            out.append(replace(candidate, fit=fit))
            if fit.cost <= SUSPICIOUS * data.n_samples:
                break
    out = _distinct(sorted((c for c in out if np.isfinite(c.cost)), key=lambda c: c.cost))
    reach = out[0].cost + SELECT_REACH * price if out else 0.0
    return [c for c in out if c.cost <= reach and _vanishes(c, prepared)]


def select_terms(
    data: Data, candidate: Candidate, price: float, interrupt: Interrupt, ceiling: float = np.inf
) -> Candidate:
    """Reheat a suspicious fit and eliminate terms, D held about where it has come to; a grossly wrong fit, or one
    that costs more than ``ceiling`` with all its terms, is left."""
    assert candidate.fit is not None
    fit = replace(candidate.fit, terms=held_terms(candidate, candidate.fit))
    fit = reheat(data, fit, interrupt)
    fit = replace(fit, terms=held_terms(candidate, fit))
    if not fit.cost <= GROSS * data.n_samples:
        return replace(candidate, fit=fit, bic=fit.cost + price * float(fit.terms.free.sum()))
    protected = candidate.form.protected(fit.terms)
    selection = eliminate(data, fit.terms, fit, protected, price, interrupt, ceiling=ceiling)
    chosen = replace(candidate, fit=selection.fit, bic=selection.bic)
    if chosen.cost > ceiling:
        return chosen
    if not candidate.form.has_pole:
        return sparser(data, replace(candidate, fit=fit), chosen, price, interrupt)
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
    moved = sparsest(data, dense.form, dense.fit, price)
    if moved is None:
        return chosen
    form, fit = moved
    again = eliminate(data, fit.terms, fit, form.protected(fit.terms), price, interrupt)
    fewer = again.fit.terms.free.sum() < chosen.fit.terms.free.sum()
    if again.bic < chosen.bic and fewer and not cancels(regular_of(again.fit.terms)):
        return replace(dense, form=form, fit=again.fit, bic=again.bic)
    return chosen


def regauge(candidate: Candidate) -> Candidate | None:
    """The same fit in the canonical gauge, where other terms can vanish; None where it is there already."""
    assert candidate.fit is not None
    regular = regular_of(candidate.fit.terms)
    g = regular.gauge()[1]
    if (not g and regular.lead == candidate.form.lead) or candidate.form.required or candidate.form.fixed:
        return None
    canonical = regular.canonical()
    states = regular.canonical_states(candidate.fit.states)
    others = {e: None for e in canonical.D if e != canonical.lead}
    if any(canonical.lead):
        others |= {(0,) * (regular.order - 1): None}
    form = Form(
        regular.order,
        canonical.lead,
        tuple(others),
        tuple(canonical.a),
        tuple(canonical.P),
        f0=candidate.form.f0,
        c=candidate.form.c,
        reach=candidate.form.reach,
    )
    fit = rescale_hidden(replace(candidate.fit, terms=form.terms(canonical, candidate.hold), states=states))
    return replace(candidate, form=form, fit=fit)


def held_terms(candidate: Candidate, fit: Fit) -> Terms:
    """All terms of the form at the fit's coefficients, D held near where it is."""
    return candidate.form.terms(regular_of(fit.terms), candidate.hold)


def reheat(data: Data, fit: Fit, interrupt: Interrupt) -> Fit:
    """Cool a suspicious fit again, ever more slowly, while that makes it cheaper."""
    for schedule in REHEATS:
        if fit.cost <= SUSPICIOUS * data.n_samples or interrupt():
            break
        again = anneal(data, fit.terms, fit.states, schedule, interrupt)
        fit = again if again.cost < fit.cost else fit
    return fit


def search(
    prepared: Prepared, order: int, interrupt: Interrupt, progress: Progress, constraints: Constraints = FREE
) -> Found:
    """Climb the rungs; where the first does not satisfy, it gets a second chance on another stretch."""
    first = climb(prepared, order, interrupt, progress, constraints, 0, 1)
    if first.satisfies() or interrupt():
        return first
    offset = min(SEARCH_LENGTH, SECOND_CHANCE * prepared.duration)
    if prepared.duration - offset > SHORTEST_SEARCH:
        other = prepared.without_head(round(offset / prepared.jets.spacing))
        second = climb(other, order, interrupt, progress, constraints, 0, 1)
        if second.satisfies():
            again = [transfer(prepared, first.data, second.candidates[0], first.price, interrupt)]
            first = replace(first, candidates=tuple(_different(sorted([*again, *first.candidates], key=by_bic))))
            if first.satisfies():
                return first
    return climb(prepared, order, interrupt, progress, constraints, 1, None, first.candidates)


def propose(
    prepared: Prepared, order: int, interrupt: Interrupt, degrees: tuple[tuple[int, int], ...] | None = None
) -> Found | Proposal | None:
    """For a clean record: the closure that the null space singles out, fitted where it has a regular form that follows
    the record; the rational proposal itself where it has none but its gap leaves no doubt."""
    ranked = sorted(proposals(prepared, order, degrees), key=lambda p: -p.gap)[:PROPOSED]
    price = term_price(prepared.n_samples, len(affine_pole(order, 0, (), 2, 2).big_p) + 3)
    for proposal in ranked:
        fitted = fit_proposal(prepared, proposal, price, interrupt)
        if fitted is not None:
            form, selection, data = fitted
            candidate = Candidate(form, regular_of(selection.fit.terms).D, fit=selection.fit, bic=selection.bic)
            return Found((candidate,), data, price)
    return ranked[0] if ranked and ranked[0].gap > CERTAIN_GAP else None


def by_bic(candidate: Candidate) -> float:
    """Sorting key."""
    return candidate.bic


def transfer(prepared: Prepared, data: Data, candidate: Candidate, price: float, interrupt: Interrupt) -> Candidate:
    """A candidate found on another stretch, its terms fitted to this one."""
    assert candidate.fit is not None
    terms = candidate.fit.terms
    fit = anneal(data, terms, states_for(prepared, regular_of(terms), data), TRANSFER, interrupt)
    return replace(candidate, fit=fit, bic=fit.cost + price * float(terms.free.sum()))


def climb(
    prepared: Prepared,
    order: int,
    interrupt: Interrupt,
    progress: Progress,
    constraints: Constraints,
    start: int,
    stop: int | None,
    before: tuple[Candidate, ...] = (),
) -> Found:
    """Rungs ``start`` to ``stop`` (excluded), each scanned, carried and selected; ends where one satisfies."""

    def constrained(candidates: list[Candidate]) -> list[Candidate]:
        forms = [constraints.apply(c.form, prepared.amplitude, prepared.time) for c in candidates]
        allowed = [(c, f) for c, f in zip(candidates, forms, strict=True) if f is not None]
        return [replace(c, form=replace(f, reach=reach)) for c, f in allowed]

    reach = max(1.0, abs(float(np.mean(prepared.jets.u[:, 0]))) / NEAR)
    sigma = max(prepared.sigma, SEARCH_SIGMA)
    samples = min(prepared.y.size, round(SEARCH_LENGTH / prepared.jets.spacing))
    data = prepared.data(sigma, samples, SEARCH_STEP if sigma > COARSE_SIGMA else STEP)
    price = term_price(data.n_samples, len(affine_pole(order, 0, (), 2, 2).big_p) + 3)
    found = Found(before, data, price)
    for name, all_plain, all_poles in rungs(prepared, order)[start:stop]:
        plain, candidates = constrained(all_plain), constrained(all_poles)
        if interrupt() or found.satisfies():
            break
        progress(f"{name}: scanning {len(candidates)} candidates")
        screened = screen(prepared, sigma, candidates, interrupt)
        progress(f"{name}: fitting the best on the record")
        chosen = list(found.candidates)
        for i, candidate in enumerate(carry(prepared, sigma, data, screened, plain, price, interrupt)):
            progress(WithModel(f"{name}: eliminating terms"))
            ceiling = SATISFYING * data.n_samples if i else np.inf  # only the rung's best may fail to satisfy
            chosen.append(select_terms(data, candidate, price, interrupt, ceiling))
            if interrupt():
                break
        chosen = [c for c in chosen if _vanishes(c, prepared)]
        found = Found(tuple(_different(sorted(chosen, key=by_bic))), data, price)
    return found


Rung = tuple[str, list[Candidate], list[Candidate]]


def rungs(prepared: Prepared, order: int) -> list[Rung]:
    """The ladder (name, candidates without a pole, candidate poles): a pole in u0 with quadratic P; tilted poles,
    and cubic P without a pole; chains; cubic P with a pole in u0; curved poles."""
    ladder: list[Rung] = [("quadratic", [without_pole(order, 2)], u0_poles(prepared, order, 2, 2))]
    if order == 3:
        ladder.append(("tilted", [without_pole(order, 3)], tilted_poles(prepared)))
        ladder.append(("chain", [], chains(prepared)))
        ladder.append(("cubic", [], u0_poles(prepared, order, 3, 3)))
        ladder.append(("curved", [], curved_poles(prepared)))
    else:
        ladder.append(("cubic", [without_pole(order, 3)], u0_poles(prepared, order, 3, 3)))
    return ladder


def tilted_poles(prepared: Prepared) -> list[Candidate]:
    """D = u1 + c u0 − p over directions and quantiles."""
    form = affine_pole(3, 1, (0,), 3, 2)
    out = []
    for angle in TILTS:
        tilt = 1.0 / np.tan(np.radians(angle))
        values = prepared.jets.u[:, 1] + tilt * prepared.jets.u[:, 0]
        for p in pole_quantiles(values, TILTED_POLES):
            out.append(Candidate(form, {(0, 1): 1.0, (1, 0): float(tilt), (0, 0): -float(p)}))
    return out


def chains(prepared: Prepared) -> list[Candidate]:
    """u0' = f0 + (u0 − p) v: a recurrent orbit cannot cross u0 = p, where u0' = f0, in one direction only, so that p
    lies beyond the range of the record."""
    form = chain(2, 1)
    low, high = np.quantile(prepared.jets.u[:, 0], (EDGE_QUANTILE, 1.0 - EDGE_QUANTILE))
    return [Candidate(form, {(1,): 1.0, (0,): -float(p)}) for d in BEYOND for p in (low - d, high + d)]


def _vanishes(candidate: Candidate, prepared: Prepared) -> bool:
    """Whether the c of a chain vanishes near the record's range: where it does not, it is no more than u0' = u1."""
    if candidate.fit is None or not candidate.form.is_chain:
        return True
    c = regular_of(candidate.fit.terms).c
    p = -c.get((0,), 0.0) / c[1,]
    u0 = prepared.jets.u[:, 0]
    return bool(u0.min() - FARTHEST < p < u0.max() + FARTHEST)


def curved_poles(prepared: Prepared) -> list[Candidate]:
    """D = u1 − c(u0) with cubic c, starting from straight lines and free to bend."""
    form = curved_pole(5, 3, 3)
    return [replace(c, form=form, hold=CURVED_HOLD, fixed=False) for c in tilted_poles(prepared)[::2]]


def _different(ranked: list[Candidate]) -> list[Candidate]:
    """Drop candidates that elimination has brought to the terms of a better one."""
    out: list[Candidate] = []
    seen = set()
    for c in ranked:
        if c.fit is None:
            continue
        terms = frozenset(zip(c.fit.terms.rows.tolist(), c.fit.terms.exponents, strict=True))
        if terms not in seen:
            seen.add(terms)
            out.append(c)
    return out
