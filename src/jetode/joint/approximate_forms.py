"""Which forms an approximate equation may have, and their fits with model error: start, search of q, terms.

Forms are fitted on a stretch that bounds the time, their terms selected there by the marginal likelihood at the q it
chooses, then fitted to the whole record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from jetode.equations.polynomials import Exponents
from jetode.equations.rows import is_factor_part, row_of_part
from jetode.joint.approximate_candidates import plain_candidates, pole_candidates
from jetode.joint.candidates import states_for
from jetode.joint.elements.candidates import starts
from jetode.joint.elements.discover import DISCOVERY
from jetode.joint.elements.friction import ORDER as MECHANICS
from jetode.joint.elements.friction import beside_force, law_of
from jetode.joint.fit import JointFit
from jetode.joint.forms.base import PRIOR, Candidate, Form
from jetode.joint.parts import curve_modes, equation_of, is_factor, named, placed_elements
from jetode.joint.problem import CLEAN_SIGMA, NODE, Prepared
from jetode.joint.request import Request
from jetode.joint.search_settings import DECISION, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import minimise, path_states
from jetode.joint.shooting.layout import Terms
from jetode.joint.shooting.likelihood import learned_rows, marginal
from jetode.joint.term_selection import expand, quadratic_model
from jetode.joint.unscanned import library_size, term_price
from jetode.joint.weak_fit import WeakFit, corrected, rescaled, search_ratio, weak_data
from jetode.support.arrays import FloatArray

Interrupt = Callable[[], bool]


@dataclass(frozen=True)
class FormSettings:
    """Numbers of the forms' fits, each with its reason."""

    readable: int = 12  # free coefficients at most: more are not read
    samples: int = 3000  # of the stretch on which forms are fitted and terms selected, to bound the time
    fewest: int = 600  # of the same, where sampling is coarse
    nodes: int = 2500  # of the part that coefficients are fitted to in the end: a second of time each fit
    length: float = 200.0  # tc, of the same: about 30 oscillations
    look: float = 100.0  # tc: of the stretch on which poles are looked for
    rounds: int = 4  # of selection and refit: at the likely q the quadratic model is nearly exact
    refits: int = 8  # Gauss–Newton iterations of a refit on other terms
    poles: int = 2  # poles that are fitted further
    whole: int = 4  # Gauss–Newton iterations on the whole record, from the path on the stretch
    short: int = 4  # coefficients: where the misfit is no noise, the likelihood alone would never ask for so few
    tried: int = 5  # supports that are fitted to the whole record and forecast with
    share: float = 0.02  # of what is left unexplained, that a term of the shorter version must explain
    shares: tuple[float, ...] = (0.1, 0.5, 3.0, 20.0)  # the same for the versions that are tried while forecasts hold


SETTINGS = FormSettings()
MOST_WITH_FUNCTIONS = 4  # orders below it: a function of noisy higher derivatives cannot be told from a polynomial
JOINT = "the joint fit's"
LOOK = Schedule((1.0, 0.3, 0.1, 0.04), 3)
TIGHT = 3e-3  # std per node: from here a joint fit of order 4 that follows is carried on; looser jumps would lose it


@dataclass(frozen=True, eq=False)
class Begun:
    """A form with first coefficients, and states at every sample of the stretch it is fitted on; ``around``: the q near
    which its path is known, where loose jumps would lose it."""

    name: str
    form: Form
    terms: Terms
    states: FloatArray
    around: float | None = None

    @property
    def drives(self) -> tuple[int | None, ...]:
        """Where noise may enter: through the learned rows, or from u1' on where that is not one of them."""
        return (None, 1) if min(learned_rows(self.terms)) > 1 else (None,)


@dataclass(frozen=True, eq=False)
class Trial:
    """A form with its terms selected and fitted; ``joint`` are the coefficients that minimise J with the path, before
    the correction of their bias; ``bic`` is of the ``stretch`` that all forms are compared on."""

    name: str
    form: Form
    prepared: Prepared
    weak: WeakFit
    joint: FloatArray
    bic: float
    driven: int | None = None
    stretch: WeakFit | None = None

    @property
    def order(self) -> int:
        """Of the equation."""
        return self.weak.fit.terms.dimension


@dataclass(frozen=True)
class Holds:
    """What forecasts within the stretch of a fit tell, where it knows the path: whether they hold long enough for those
    ahead to be of use, and whether they follow the record as far as can be seen."""

    long_enough: bool
    to_the_end: bool


def fitted_forms(
    request: Request,
    start: JointFit | None,
    interrupt: Interrupt,
    holds: Callable[[Trial], Holds],
) -> list[Trial]:
    """The most likely forms, at least one of every order, fitted to the whole record with their terms selected; those
    that a look at the stretch they were fitted on has left with hope.  No order above one that holds to its end."""
    compared = _every_order(request, start, interrupt, holds)
    hopeful = [trial for trial in _promising(compared) if holds(trial).long_enough]
    whole = (on_whole(trial, interrupt) for trial in hopeful if not interrupt())
    return [trial for trial in whole if trial is not None]


def _every_order(
    request: Request, start: JointFit | None, interrupt: Interrupt, holds: Callable[[Trial], Holds]
) -> list[Trial]:
    """Every form of every order up to one that holds to its end."""
    compared: list[Trial] = []
    for order in (request.order,) if request.order else (2, 3, 4):
        if compared and (interrupt() or any(holds(trial).to_the_end for trial in _promising(compared))):
            break
        compared += _of_order(request, order, start, interrupt)
    return compared


def _of_order(request: Request, order: int, start: JointFit | None, interrupt: Interrupt) -> list[Trial]:
    """Every form of one order on the stretch, with what the joint fit has found where it is of that order."""
    if start is None or start.prepared.jets.u.shape[1] != order:
        prepared, start = request.prepared(order), None
    else:
        prepared = start.prepared
    samples, kinds = stretch_samples(prepared, SETTINGS.length), request.functions.kinds
    with_functions = starts(prepared, order, kinds if order < MOST_WITH_FUNCTIONS else (), samples)
    begun = chain(_begun(prepared, order, start, samples, interrupt), (Begun(*one) for one in with_functions))
    return _with_law(_on_stretch(prepared, order, begun, interrupt), interrupt)


def _with_law(compared: list[Trial], interrupt: Interrupt) -> list[Trial]:
    """The same; where the joint fit has found a friction law (8.13) which the likelihood asks for too, with that law
    beside the other functions of x, and without those that have no more coefficients and are far less likely: forecasts
    of a few oscillations, which would choose the shortest, cannot tell what friction does over many."""
    lawful, lawless = ([t for t in compared if bool(_law(t)) is has] for has in (True, False))
    found = min((t for t in lawful if t.name == JOINT), key=lambda t: t.bic, default=None)
    if found is None:
        return compared
    for trial in {t.weak.fit.terms.elements: t for t in lawless}.values():
        lawful += _lawful(trial, _law(found), interrupt)
    most = max(t.weak.free for t in lawful), min(t.bic for t in lawful) + DISCOVERY.gain
    return [*lawful, *(t for t in lawless if t.weak.free > most[0] or t.bic < most[1])]


def _lawful(trial: Trial, law: Sequence[str], interrupt: Interrupt) -> list[Trial]:
    """An equation with one function, of x, with a friction law in place of what it has of v."""
    weak, other = trial.weak, beside_force(trial.form, trial.weak.fit, law)
    if other is None or len(weak.fit.terms.elements) != 1:
        return []
    form, equation = other
    around = weak.q / weak.sigma * max(trial.prepared.sigma, CLEAN_SIGMA)
    begun = Begun("order 2, friction", form, form.terms(equation), path_states(weak.fit, weak.data), around)
    return _on_stretch(trial.prepared, trial.order, [begun], interrupt)


def _law(trial: Trial) -> tuple[str, ...]:
    return law_of(trial.weak.fit.terms.elements) if trial.order == MECHANICS else ()


def _promising(compared: list[Trial]) -> list[Trial]:
    """The most likely of each order, the most likely short one, then the most likely of all; a support once."""
    ranked = sorted(compared, key=lambda t: t.bic)
    first = [next(t for t in ranked if t.order == order) for order in dict.fromkeys(t.order for t in ranked)]
    short = [t for t in ranked if t.weak.free <= SETTINGS.short][:1]
    chosen: dict[tuple[object, ...], Trial] = {}
    for trial in [*first, *short, *ranked]:
        terms = trial.weak.fit.terms
        support = (frozenset(zip(terms.rows.tolist(), terms.exponents, strict=True)), terms.elements)
        if len(chosen) < SETTINGS.tried:
            chosen.setdefault(support, trial)
    return list(chosen.values())


def _on_stretch(prepared: Prepared, order: int, forms: Iterable[Begun], interrupt: Interrupt) -> list[Trial]:
    """Forms of one order on the stretch: q searched, terms selected by BIC and once more where a term has to explain a
    share of what is left."""
    sigma, samples = max(prepared.sigma, CLEAN_SIGMA), stretch_samples(prepared, SETTINGS.length)
    out = []
    for begun in forms:
        weak, driven = None, None
        for drive in begun.drives:
            data = weak_data(prepared, sigma, begun.terms, samples, drive)
            states = begun.states[data.layout.first]
            other = search_ratio(data, begun.terms, states, sigma, interrupt, begun.around)
            if other is not None and (weak is None or other.likelihood < weak.likelihood):
                weak, driven = other, drive
        price = term_price(data.n_samples, library_size(order))
        for worth in (price, max(price, SETTINGS.share * data.n_samples)):
            if weak is None or interrupt():
                break
            weak = selected(weak, begun.form, worth, interrupt)
            if weak.free == 0:
                break
            out.append(
                Trial(begun.name, begun.form, prepared, weak, weak.fit.terms.coefficients, weak.bic(price), driven)
            )
    return out


def _begun(
    prepared: Prepared, order: int, start: JointFit | None, samples: int, interrupt: Interrupt
) -> Iterator[Begun]:
    """Every form of one order with its start; last what the joint fit had found."""
    jets, sigma = prepared.jets.head(samples), max(prepared.sigma, CLEAN_SIGMA)
    looked = look(prepared, pole_candidates(order, jets), sigma, interrupt)
    for name, guess in [*plain_candidates(order), *looked]:
        begun = guess.start(jets)
        terms = guess.form.terms(equation_of(begun.terms), guess.hold if guess.form.has_pole else 0.0)
        yield Begun(name, guess.form, terms, begun.states)
    if start is not None:
        yield _joint_fit(start, order, samples)


def _joint_fit(start: JointFit, order: int, samples: int) -> Begun:
    """What the joint fit had found, with its path."""
    terms = held(start.fit.terms)
    parts: dict[str, list[Exponents]] = {}
    for part, e in sorted(named(terms), key=lambda t: (row_of_part(t[0], order), is_factor_part(t[0]))):
        parts.setdefault(part, []).append(e)
    elements = tuple(one.element for one in placed_elements(terms))
    steps = {f"e{m}" for m, one in enumerate(elements) if one.kind == "sign"}  # jumps would let their widths run away
    fixed = tuple((t, c) for t, c in zip(named(terms), terms.coefficients.tolist(), strict=True) if t[0] in steps)
    form = Form(order, tuple((part, tuple(p)) for part, p in parts.items()), fixed=fixed, elements=elements)
    known = (
        order > SEARCH.coarse_order
        and start.fit.cost <= DECISION.suspicious(start.data.n_samples) * start.data.n_samples
    )
    states = path_states(start.fit, start.data)[:samples]
    return Begun(JOINT, form, terms, states, TIGHT if known else None)


def stretch_samples(prepared: Prepared, length: float) -> int:
    """Samples of a stretch ``length`` tc long, more where sampling is coarse."""
    wanted = max(round(length / prepared.jets.spacing), SETTINGS.fewest)
    return min(prepared.y.size, SETTINGS.samples, wanted)


def fitted_samples(prepared: Prepared) -> int:
    """Samples that coefficients are fitted to: the whole record, or as many nodes of it as the time allows."""
    node = max(NODE, prepared.jets.spacing)
    return min(prepared.y.size, round(SETTINGS.nodes * node / prepared.jets.spacing))


def look(
    prepared: Prepared, candidates: list[tuple[str, Candidate]], sigma: float, interrupt: Interrupt
) -> list[tuple[str, Candidate]]:
    """The most likely of many guesses of a pole, on a stretch with the factor held."""
    if not candidates:
        return []
    samples = stretch_samples(prepared, SETTINGS.look)
    jets = prepared.jets.head(samples)
    ranked = []
    for name, guess in candidates:
        if interrupt():
            break
        start = guess.start(jets)
        terms = replace(start.terms, free=start.terms.free & ~is_factor(start.terms))
        data = weak_data(prepared, sigma, terms, samples)
        fit = anneal(data, terms, start.states[data.layout.first], LOOK, interrupt)
        ranked.append((marginal(data, fit).value, name, replace(guess, fit=fit)))
    ranked.sort(key=lambda r: r[0])
    moved = [replace(g, guess=equation_of(g.fit.terms).parts()["D"]) for _, _, g in ranked if g.fit is not None]
    return [(name, _monic(g)) for (_, name, _), g in zip(ranked, moved, strict=True)][: SETTINGS.poles]


def _monic(guess: Candidate) -> Candidate:
    """The guess with its lead at 1, as starts want it."""
    lead = guess.guess[guess.form.lead]
    return replace(guess, guess={e: c / lead for e, c in guess.guess.items()}, fit=None)


def selected(weak: WeakFit, form: Form, price: float, interrupt: Interrupt) -> WeakFit:
    """Terms of the form that the likelihood asks for, at most as many as can be read, and the q that goes with them."""
    for _ in range(SETTINGS.rounds):
        if interrupt():
            break
        full = form.terms(equation_of(weak.fit.terms), PRIOR.pole_hold if form.has_pole else 0.0)
        quadratic = quadratic_model(weak.data, full, weak.fit)
        if quadratic is None:
            break
        now = expand(full, weak.fit.terms)[0][full.free]
        protected = form.protected(full)[full.free]
        keep = quadratic.best_support(now, protected, price)
        while keep.sum() > SETTINGS.readable + curve_modes(full).sum():
            keep[quadratic.ranked_removals(keep, protected)[0][1]] = False
        if np.array_equal(keep, now):
            break
        chosen = ~full.free
        chosen[full.free] = keep
        coefficients = expand(full, weak.fit.terms)[1]
        terms = full.with_coefficients(coefficients).select(chosen)
        refit = minimise(weak.data, terms, weak.fit.states, weak.q, SETTINGS.refits, interrupt=interrupt)
        again = search_ratio(weak.data, refit.terms, refit.states, weak.sigma, interrupt, weak.q)
        if again is None:
            break
        weak = again
    return weak


def shortened(trial: Trial, interrupt: Interrupt) -> Iterator[Trial]:
    """Ever shorter versions of a fitted form on the whole record: a term has to explain ever more of what is left."""
    weak = trial.stretch
    for share in SETTINGS.shares:
        if weak is None or interrupt():
            return
        before = weak.free
        weak = selected(weak, trial.form, share * weak.data.n_samples, interrupt)
        if weak.free == 0:
            return
        if weak.free < before:
            found = on_whole(replace(trial, weak=weak), interrupt)
            if found is not None:
                yield found


def held(terms: Terms) -> Terms:
    """The terms with nothing but a weak ridge on them, the pole held about where it is: jumps would let it run away;
    curves stay smooth."""
    factor = is_factor(terms)
    lead = np.abs(terms.coefficients[factor & ~terms.free]).max(initial=1e-12)
    mean = np.where(factor, terms.coefficients, 0.0)
    precision = np.where(factor, PRIOR.pole_hold / lead**2, PRIOR.ridge)
    return replace(terms, mean=mean, precision=np.where(curve_modes(terms), terms.precision, precision))


def on_whole(trial: Trial, interrupt: Interrupt) -> Trial | None:
    """The selected terms on the whole record, the pole held, q searched again; the bias of the joint fit's coefficients
    is found on the stretch and taken off."""
    weak = trial.weak
    bias = corrected(weak, interrupt).fit.terms.coefficients - weak.fit.terms.coefficients
    terms, prepared = held(weak.fit.terms), trial.prepared
    data = weak_data(prepared, weak.sigma, terms, fitted_samples(prepared), trial.driven)
    states = states_for(prepared, equation_of(terms), data)
    known = data.layout.first < weak.data.y.size
    states[known] = path_states(weak.fit, weak.data)[data.layout.first[known]]
    begun = anneal(data, terms, states, Schedule((3.0 * weak.q,), SETTINGS.whole), interrupt)
    found = search_ratio(data, begun.terms, begun.states, weak.sigma, interrupt, weak.q)
    if found is None:
        return None
    moved = found.fit.terms.with_coefficients(found.fit.terms.coefficients + bias)
    frozen = replace(moved, free=np.zeros_like(moved.free))
    path = minimise(found.data, frozen, found.fit.states, found.q, SETTINGS.whole, interrupt=interrupt)
    shifted = rescaled(
        found.data, replace(path, terms=moved), found.sigma, marginal(found.data, replace(path, terms=moved))
    )
    kept = shifted if np.isfinite(shifted.likelihood) else found
    return replace(trial, weak=kept, joint=found.fit.terms.coefficients, stretch=weak)
