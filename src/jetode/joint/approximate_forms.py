"""Which forms an approximate equation may have, and their fits with model error: start, search of q, terms.

Forms are fitted on a stretch that bounds the time, their terms selected there by the marginal likelihood at the q it
chooses, then fitted to the whole record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.polynomials import total_degree_exponents
from jetode.joint.candidates import states_for
from jetode.joint.fit import JointFit, Request
from jetode.joint.forms.affine_pole import u0_poles
from jetode.joint.forms.base import PRIOR, Candidate
from jetode.joint.forms.pole_free import PoleFree, candidate
from jetode.joint.jets import Jets
from jetode.joint.parts import equation_of, is_factor
from jetode.joint.problem import CLEAN_SIGMA, Prepared
from jetode.joint.search import library_size, term_price
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import minimise
from jetode.joint.shooting.likelihood import marginal
from jetode.joint.term_selection import expand, quadratic_model
from jetode.joint.weak_fit import WeakFit, corrected, search_ratio, weak_data
from jetode.support.arrays import FloatArray

Interrupt = Callable[[], bool]


@dataclass(frozen=True)
class FormSettings:
    """Numbers of the forms' fits, each with its reason."""

    readable: int = 12  # free coefficients at most: more are not read
    samples: int = 3000  # of the stretch on which forms are fitted and terms selected, to bound the time
    length: float = 200.0  # tc, of the same: about 30 oscillations
    look: float = 100.0  # tc: of the stretch on which poles are looked for
    rounds: int = 4  # of selection and refit: at the likely q the quadratic model is nearly exact
    refits: int = 8  # Gauss–Newton iterations of a refit on other terms
    poles: int = 2  # poles that are fitted further
    whole: int = 4  # Gauss–Newton iterations on the whole record, from the path on the stretch
    odd_degree: int = 5  # of u0 at order 2: a sine's first three terms


SETTINGS = FormSettings()
LOOK = Schedule((1.0, 0.3, 0.1, 0.04), 3)


@dataclass(frozen=True, eq=False)
class Trial:
    """A form with its terms selected and fitted to the whole record; ``joint`` are the coefficients that minimise J with
    the path, before the correction of their bias."""

    name: str
    prepared: Prepared
    weak: WeakFit
    joint: FloatArray
    bic: float


def planar(degree: int) -> Candidate:
    """x'' = P(x, x'): cubic in both, and higher powers of x alone."""
    powers = tuple(total_degree_exponents(2, 3)) + tuple((k, 0) for k in range(4, degree + 1))
    return Candidate(PoleFree(2, (("a", ()), ("D", ((0,),)), ("P", powers))), {(0,): 1.0})


def plain_candidates(order: int) -> list[tuple[str, Candidate]]:
    """Forms without a pole."""
    if order == 2:
        return [("order 2", planar(SETTINGS.odd_degree))]
    if order == 3:
        return [("order 3, quadratic", candidate(3, 2)), ("order 3, cubic", candidate(3, 3))]
    return [("order 4, linear", candidate(4, 1)), ("order 4, quadratic", candidate(4, 2))]


def pole_candidates(order: int, jets: Jets) -> list[tuple[str, Candidate]]:
    """Forms with a pole in u0, the Lorenz type."""
    return [("order 3, pole", c) for c in u0_poles(jets, 3, 2, 2)] if order == 3 else []


def fitted_forms(request: Request, start: JointFit | None, interrupt: Interrupt) -> list[Trial]:
    """Every form of every order, fitted and its terms selected; most likely first."""
    orders = (request.order,) if request.order else (2, 3, 4)
    out: list[Trial] = []
    for order in orders:
        if interrupt() and out:
            break
        known = start is not None and start.prepared.jets.u.shape[1] == order
        prepared = start.prepared if start is not None and known else request.prepared(order)
        out += _of_order(prepared, order, interrupt)
    return sorted(out, key=lambda t: t.bic)


def _of_order(prepared: Prepared, order: int, interrupt: Interrupt) -> list[Trial]:
    sigma = max(prepared.sigma, CLEAN_SIGMA)
    samples = stretch_samples(prepared, SETTINGS.length)
    jets = prepared.jets.head(samples)
    out = []
    looked = look(prepared, pole_candidates(order, jets), sigma, interrupt)
    for name, begun in [*plain_candidates(order), *looked]:
        terms, states = _start(prepared, begun, jets)
        data = weak_data(prepared, sigma, terms, samples)
        weak = search_ratio(data, terms, states[data.layout.first], sigma, interrupt)
        if weak is None:
            continue
        price = term_price(data.n_samples, library_size(order))
        weak = selected(weak, begun, price, interrupt)
        trial = on_whole(prepared, weak, name, price, interrupt)
        if trial is not None:
            out.append(trial)
    return out


def stretch_samples(prepared: Prepared, length: float) -> int:
    """Samples of a stretch ``length`` tc long."""
    return min(prepared.y.size, SETTINGS.samples, round(length / prepared.jets.spacing))


def _start(prepared: Prepared, begun: Candidate, jets: Jets) -> tuple:
    if begun.fit is None:
        start = begun.form.start(jets, begun.guess)
        return start.terms, start.states
    equation = equation_of(begun.fit.terms)
    start = begun.form.start(jets, equation.parts()["D"])
    return begun.form.terms(equation_of(start.terms), begun.hold), start.states


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
        start = guess.form.start(jets, guess.guess)
        terms = replace(start.terms, free=start.terms.free & ~is_factor(start.terms))
        data = weak_data(prepared, sigma, terms, samples)
        fit = anneal(data, terms, start.states[data.layout.first], LOOK, interrupt)
        ranked.append((marginal(data, fit).value, name, replace(guess, fit=fit)))
    ranked.sort(key=lambda r: r[0])
    return [(name, guess) for _, name, guess in ranked[: SETTINGS.poles]]


def selected(weak: WeakFit, begun: Candidate, price: float, interrupt: Interrupt) -> WeakFit:
    """Terms of the form that the likelihood asks for, at most as many as can be read, and the q that goes with them."""
    form, hold = begun.form, begun.hold
    for _ in range(SETTINGS.rounds):
        if interrupt():
            break
        full = form.terms(equation_of(weak.fit.terms), hold if form.has_pole else 0.0)
        quadratic = quadratic_model(weak.data, full, weak.fit)
        if quadratic is None:
            break
        now = expand(full, weak.fit.terms)[0][full.free]
        protected = form.protected(full)[full.free]
        keep = quadratic.best_support(now, protected, price)
        while keep.sum() > SETTINGS.readable:
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


def on_whole(prepared: Prepared, weak: WeakFit, name: str, price: float, interrupt: Interrupt) -> Trial | None:
    """The selected terms on the whole record, nothing held, q searched again and the bias of the joint fit corrected."""
    count = len(weak.fit.terms.exponents)
    terms = replace(weak.fit.terms, mean=np.zeros(count), precision=np.full(count, PRIOR.ridge))
    data = weak_data(prepared, weak.sigma, terms)
    states = states_for(prepared, equation_of(terms), data)
    begun = anneal(data, terms, states, Schedule((1.0, 0.3, weak.q), SETTINGS.whole), interrupt)
    found = search_ratio(data, begun.terms, begun.states, weak.sigma, interrupt, weak.q)
    if found is None:
        return None
    joint = found.fit.terms.coefficients
    found = corrected(found, interrupt)
    return Trial(name, prepared, found, joint, found.likelihood + price * found.free)
