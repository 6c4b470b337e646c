"""Parameters of elements are fitted with coefficients and path, from starts that are off, within standard errors."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import Element
from jetode.equations.equation import Equation
from jetode.equations.regular import RegularClosure
from jetode.integration.dop853 import integrate
from jetode.joint.bands import forecast_band
from jetode.joint.candidates import states_for
from jetode.joint.fit import polish
from jetode.joint.forms.base import Form
from jetode.joint.own_noise import covariance_of
from jetode.joint.parts import equation_of, equation_terms, named
from jetode.joint.path import Identified, describe, fit_state, past_state
from jetode.joint.problem import Prepared, prepare
from jetode.joint.refit import refit
from jetode.joint.shooting.annealing import Schedule, anneal, rescale_hidden
from jetode.joint.shooting.gaussnewton import Fit, Linearisation, minimise
from jetode.joint.weak_fit import search_ratio, weak_data
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.records.series import Series

COOLING = Schedule((1.0, 0.3, 0.1, 0.03, 0.01), 10)


def pendulum(k: float = 2.0, c: float = 0.02, frequency: float = 1.0, phase: float = 0.0) -> RegularClosure:
    sine = PlacedElement(Element("sin", 0, (frequency, phase)), {1: {(0, 0): -k}})
    return RegularClosure({}, {(0,): 1.0}, {(0, 1): -c}, 2, elements=(sine,))


def jerk(a: float = 0.6, b: float = 1.0, kink: float = 0.3) -> RegularClosure:
    """x''' = −a x'' − b x' + |x − kink| − 1 (Sprott 2000)."""
    bent = PlacedElement(Element("abs", 0, (kink,)), {2: {(0, 0, 0): 1.0}})
    big_p = {(0, 0, 1): -a, (0, 1, 0): -b, (0, 0, 0): -1.0}
    return RegularClosure({}, {(0, 0): 1.0}, big_p, 3, elements=(bent,))


def record(equation: Equation, start: list[float], n: int, dt: float, noise: float, seed: int = 1) -> Series:
    run = integrate(equation.field, np.array(start), n, dt, rtol=1e-10, atol=1e-11, max_step=4 * dt)
    x = run.states[:, 0]
    return Series(x + noise * x.std() * np.random.default_rng(seed).normal(size=n), dt)


def fitted(guess: RegularClosure, prepared: Prepared) -> tuple[Identified, Fit, tuple[int, ...]]:
    """The joint fit of the terms of ``guess`` from its coefficients."""
    scaled = guess.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time)
    form = Form(guess.order, tuple((part, tuple(p)) for part, p in scaled.parts().items()))
    form = form.with_element(scaled.elements[0].element, "P")
    data = prepared.data(prepared.sigma)
    fit = anneal(data, form.terms(scaled), states_for(prepared, scaled, data), COOLING)
    data, fit = polish(prepared, fit, prepared.sigma, lambda: False)
    found = Identified(fit.terms, prepared.amplitude, prepared.time, prepared.sigma, covariance_of(data, fit))
    return found, fit, (data.n_samples,)


CASES = {
    "sin": (pendulum(), pendulum(2.4, 0.024, 0.8, 0.2), [2.5, 0.0], 2001, 0.05),
    "abs": (jerk(), jerk(0.72, 0.8, 0.6), [0.1, 0.0, 0.0], 2501, 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_parameters_within_their_standard_errors(name: str) -> None:
    true, guess, start, n, dt = CASES[name]
    series = record(true, start, n, dt, 0.01)
    prepared = prepare([series], true.order)
    found, fit, (samples,) = fitted(guess, prepared)
    assert fit.cost / samples < 1.15
    data = prepared.data(prepared.sigma)
    dynamics = RegularDynamics.of(found, [series], describe(found, prepared, data, fit, [series.n]))
    truth = {(part, e): c for part, e, c in true.canonical().coefficients()}
    for c in dynamics.coefficients():
        assert 0.0 < c.standard_error < 0.1
        assert abs(c.value - truth[c.part, c.powers]) < 3.5 * c.standard_error, c
    again = refit(found, [series])
    assert again is not None
    assert np.allclose(again.identified.terms.coefficients, found.terms.coefficients, atol=0.02)
    past = past_state(found, series, n // 2)
    assert np.all(np.isfinite(past.end_covariance))
    clean = record(true, start, n, dt, 0.0).values
    assert abs(past.end[0] - clean[n // 2]) < 0.02 * np.std(clean)
    band = forecast_band(found, past.last, 40, dt, 60, np.random.default_rng(0))
    ahead = clean[n // 2 : n // 2 + 41]
    assert np.mean((band.lower < ahead + 1e-3) & (ahead - 1e-3 < band.upper)) > 0.7


def test_a_clean_record_with_kinks_is_followed_finely() -> None:
    """A step h across a kink is wrong by about h² in a method of any order: 0.05 tc, long enough for a smooth field and
    an 8th-order method, leaves 6e-4 of the std, which no clean record can hide."""
    series = record(jerk(), [0.1, 0.0, 0.0], 1201, 0.1, 0.0)
    path = fit_state(jerk(), series)
    left = path.states[:, 0] - series.values
    assert np.sqrt(np.mean(left**2)) < 1e-5 * series.std


@pytest.mark.slow
def test_model_error_leaves_the_parameters() -> None:
    """The same problem with jumps of unknown size (docs/mathematics.md §4.9)."""
    true, guess, start, n, dt = CASES["sin"]
    prepared = prepare([record(true, start, n, dt, 0.01)], 2)
    scaled = guess.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time)
    form = Form(2, tuple((part, tuple(p)) for part, p in scaled.parts().items()))
    terms = form.with_element(scaled.elements[0].element, "P").terms(scaled)
    data = weak_data(prepared, prepared.sigma, terms)
    weak = search_ratio(data, terms, states_for(prepared, scaled, data), prepared.sigma, lambda: False)
    assert weak is not None
    found = equation_of(weak.fit.terms).in_units(prepared.amplitude, prepared.time).canonical()
    (sine,) = found.elements
    assert sine.element.parameters[0] == pytest.approx(1.0, abs=0.02)
    assert sine.in_row(1)[0, 0] == pytest.approx(-2.0, abs=0.04)


@pytest.mark.slow
def test_a_curve_finds_the_function_without_its_name() -> None:
    """−k sin x as a curve beside the constant and the linear term that it does not carry."""
    true, _, start, n, dt = CASES["sin"]
    prepared = prepare([record(true, start, n, dt, 0.01)], 2)
    u0 = prepared.jets.u[:, 0]
    curve = Element.start("curve", 0).with_parameters([u0.min(), u0.max(), *(0.0,) * 14])
    lead = prepared.time**2  # of x'' = −k sin x in units of the record
    guess = RegularClosure({}, {(0,): 1.0}, {(1, 0): -lead, (0, 1): 0.0}, 2, elements=())
    form = Form(2, (("a", ()), ("D", ((0,),)), ("P", ((0, 0), (1, 0), (0, 1))))).with_element(curve, "P")
    data = prepared.data(prepared.sigma)
    terms = form.terms(guess)
    terms = terms.with_coefficients(np.where([p == "P.0" for p, _ in named(terms)], 1.0, terms.coefficients))
    fit = anneal(data, terms, states_for(prepared, guess, data), COOLING)
    data, fit = polish(prepared, fit, prepared.sigma, lambda: False)
    assert fit.cost / data.n_samples < 1.1
    found = equation_of(fit.terms).in_units(prepared.amplitude, prepared.time).canonical()
    x = np.linspace(-2.3, 2.3, 40)
    force = found.field(np.column_stack([x, np.zeros_like(x)]))[:, 1]
    assert np.abs(force + 2.0 * np.sin(x)).max() < 0.03 * 2.0


def sensitivities(equation: Equation, name: str) -> None:
    """Analytic derivatives of the path by the parameters against differences."""
    terms = equation_terms(equation)
    ends = [name == "curve" and part == "e0" and e[0] < 2 for part, e in named(terms)]  # of a curve, never free
    terms = replace(terms, free=(np.arange(len(terms.exponents)) >= 1) & ~np.array(ends))
    prepared = prepare([record(pendulum(), [2.0, 0.0], 400, 0.05, 0.01)], terms.dimension)
    data = prepared.data(0.05)
    states = 0.5 + 0.1 * np.random.default_rng(3).normal(size=(data.layout.first.size, terms.dimension))
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    step = 1e-6
    for column, j in enumerate(np.flatnonzero(terms.free)):
        ends = []
        for sign in (1.0, -1.0):
            moved = terms.coefficients.copy()
            moved[j] += sign * step
            other = Linearisation(data, terms)
            other.at(states, moved)
            ends.append(other.defects[:-1].copy())
        slope = (ends[0] - ends[1]) / (2 * step)
        assert np.allclose(linear.arrows[:-1, :, column], slope, atol=1e-6), (name, j)
    for c in range(terms.dimension):
        ends = [Linearisation(data, terms) for _ in range(2)]
        for other, sign in zip(ends, (1.0, -1.0), strict=True):
            moved = states.copy()
            moved[:, c] += sign * step
            other.at(moved, terms.coefficients)
        slope = (ends[0].defects[:-1] - ends[1].defects[:-1]) / (2 * step)
        slope[:, c] += 1.0  # the defect is Φ − X_{k+1}, and all nodes were moved
        assert np.allclose(linear.transitions[:-1, :, c], slope, atol=1e-6), (name, c)


@pytest.mark.parametrize("name", ["sin", "tanh", "diode", "power", "holling", "gaussian", "michaelis-menten", "curve"])
def test_sensitivities_of_a_path_with_an_element(name: str) -> None:
    """In a regular closure of order 2: the element in both rows, times a monomial."""
    element = Element.start(name, 0).with_parameters(0.7 * p + 0.2 for p in Element.start(name, 0).parameters)
    placed = PlacedElement(element, {0: {(0, 0): 0.3}, 1: {(0, 1): -0.4, (0, 0): -1.0}})
    closure = RegularClosure({}, {(0,): 1.0}, {(1, 0): -0.2, (0, 1): -0.1}, 2, elements=(placed,))
    terms = equation_terms(closure)
    assert equation_of(terms).element_parts() == closure.element_parts()
    sensitivities(closure, name)


@pytest.mark.parametrize("partner", [0, 1])
def test_sensitivities_of_a_path_with_a_function_of_a_product(partner: int) -> None:
    """Of two coordinates, and of the square of one."""
    placed = PlacedElement(Element("cosh", 0, (0.8,), partner), {1: {(0, 1): -0.4, (0, 0): -1.0}})
    closure = RegularClosure({}, {(0,): 1.0}, {(1, 0): -0.2, (0, 1): -0.1}, 2, elements=(placed,))
    assert equation_of(equation_terms(closure)).elements[0].element == placed.element
    sensitivities(closure, "cosh")


@pytest.mark.parametrize("element", [Element("tanh", 1, (0.2, 0.7)), Element("cosh", 0, (0.3,), 1)])
def test_a_hidden_coordinate_in_other_units_is_the_same_fit(element: Element) -> None:
    """Elements of a hidden coordinate, or of a product with one, follow its rescaling."""
    placed = PlacedElement(element, {1: {(0, 0): -1.3, (1, 0): 0.2}})
    closure = RegularClosure({}, {(0,): 2.0}, {(1, 0): -1.0, (0, 1): -0.1}, 2, elements=(placed,))
    prepared = prepare([record(pendulum(), [2.0, 0.0], 400, 0.05, 0.01)], 2)
    data = prepared.data(0.05)
    terms = equation_terms(closure)
    fit = minimise(data, terms, 3.0 * states_for(prepared, closure, data), 0.1, 1)
    moved = rescale_hidden(fit)
    assert np.std(moved.states[:, 1]) == pytest.approx(1.0)
    before, after = (equation_of(f.terms).field(f.states) for f in (fit, moved))
    spread = np.std(fit.states[:, 1])
    assert np.allclose(before[:, 0], after[:, 0], rtol=1e-12)
    assert np.allclose(before[:, 1], spread * after[:, 1], rtol=1e-12)
