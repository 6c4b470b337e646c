"""Functions are found in the weak form and named by the joint fit: identities, and known systems by seed."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import KINDS, Element
from jetode.equations.polynomials import evaluate
from jetode.equations.regular import RegularClosure, equation_of_rows
from jetode.experiments.elements.cases import CASES
from jetode.joint.elements.candidates import (
    begin,
    candidate_of,
    element_form,
    equation_from,
    gains_of,
    linear_form,
    linear_monomials,
    mixed_row,
    shift_rows,
)
from jetode.joint.elements.combination import mixed_discovery
from jetode.joint.elements.discover import Discovery, Look, Suggestion
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.likeness import alike, derivative_gains, replaced
from jetode.joint.elements.naming import (
    CATALOGUE,
    NONE,
    Functions,
    Naming,
    asks_for_function,
    function_stands_out,
    imitates,
    ranking,
    search_elements,
)
from jetode.joint.elements.rival import polynomial_start
from jetode.joint.elements.second import promised, second_functions
from jetode.joint.elements.weak_form import TEST, Argument, Projection, WeakForm
from jetode.joint.elements.weak_form import test_function as psi
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared, prepare
from jetode.joint.search import compared_on
from jetode.joint.search_settings import COOLING
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.support.errors import InputError


def prepared_case(name: str, noise: float, order: int, samples: int | None = None) -> Prepared:
    record, _ = CASES[name].record(noise, 0)
    return prepare([Series(record.values[:samples], record.dt)], order)


@pytest.mark.parametrize("derivative", [0, 1, 2, 3])
def test_derivatives_of_test_functions_are_those_of_differences(derivative):
    half, spacing = 400, 0.01
    here, next_one = (psi(half, spacing, TEST.exponent, d) for d in (derivative, derivative + 1))
    slope = (here[2:] - here[:-2]) / (2.0 * spacing)
    assert np.abs(slope - next_one[1:-1]).max() < 1e-3 * np.abs(next_one).max()


def test_integrals_of_a_sine_obey_its_equation():
    times = 0.05 * np.arange(2000)
    prepared = prepare([Series(np.sin(times) + 1e-9, 0.05)], 3)
    weak = WeakForm.of(prepared, 2)
    ratio = (prepared.time) ** 2  # u'' = −u in units of tc
    mean = 1e-9 / prepared.amplitude
    np.testing.assert_allclose(weak.target, -ratio * (weak.linear[:, 1] - mean), atol=1e-6)
    assert np.allclose(weak.linear[:, 0], 1.0, atol=1e-6)  # ∫ ψ dt = 1


def test_what_columns_carry_is_projected_out():
    rng = np.random.default_rng(3)
    columns, more = rng.standard_normal((40, 3)), rng.standard_normal((40, 2))
    target = rng.standard_normal(40)
    base = Projection.of(columns, target)
    assert np.abs(columns.T @ base.target).max() < 1e-12
    assert np.abs(columns.T @ base.without(more)).max() < 1e-12


@pytest.mark.parametrize("n", [2, 3, 4])
def test_gains_of_rows_give_the_derivatives_of_the_element(n):
    """With f(t) = exp(s t) as an outside force both ways of writing have the same response."""
    rng = np.random.default_rng(5)
    b, c, s = rng.standard_normal(n), rng.standard_normal(n), 0.37
    beta = gains_of(b, c)
    # x_i' = x_{i+1} + β_i f, x_{n−1}' = Σ c_j x_j + β_{n−1} f with x ∝ exp(s t): linear system for the amplitudes
    matrix = s * np.eye(n) - np.diag(np.ones(n - 1), 1)
    matrix[-1] -= c
    amplitude = np.linalg.solve(matrix, beta)[0]
    direct = sum(b[k] * s**k for k in range(n)) / (s**n - sum(c[j] * s**j for j in range(n)))
    assert amplitude == pytest.approx(direct, rel=1e-10)


def test_the_pendulum_asks_for_a_sine_of_its_angle():
    prepared = prepared_case("pendulum", 0.01, 2)
    discovery = Discovery.of(WeakForm.of(prepared, 2))
    found = discovery.suggestions(("sin", "abs", "exp", "drag"))
    best = found[0].elements[0]
    assert (best.kind, best.variable) == ("sin", 0)
    assert best.in_units(prepared.amplitude)[0].parameters[0] == pytest.approx(1.0, abs=0.02)
    equation = equation_from(discovery, found[0])
    gain = equation.elements[0].in_row(1)[0, 0] * prepared.amplitude / prepared.time**2
    assert gain == pytest.approx(-1.0, abs=0.05)
    assert evaluate(equation.rows[-1], np.array([[0.0, 1.0]]))[0] / prepared.time == pytest.approx(-0.02, abs=0.01)


def test_a_triangle_leaves_what_all_rows_leave(monkeypatch):
    """A QR decomposition keeps every sum of squares, of any function and its derivatives."""
    weak = WeakForm.of(prepared_case("pendulum", 0.01, 2), 2)
    argument, base = Argument.of(weak, 0, 1), Projection.of(weak.linear, weak.target)
    monkeypatch.setattr("jetode.joint.elements.discover.WORTHWHILE", 0.5)
    short = Look.of(argument, base, 1)
    monkeypatch.setattr("jetode.joint.elements.discover.WORTHWHILE", np.inf)
    whole = Look.of(argument, base, 1)
    assert short.target.size <= argument.places.size + 1 < whole.target.size
    for kind, parameters in (("sin", (0.7, 0.1)), ("abs", (0.2,)), ("drag", ())):
        left = [float(np.sum(look.residual(kind, parameters) ** 2)) for look in (short, whole)]
        assert left[0] == pytest.approx(left[1], rel=1e-10)


@pytest.mark.parametrize(("kind", "parameters"), [("tanh", (0.2, 0.5)), ("sin", (1.3, 0.2)), ("exp", (0.8,))])
def test_what_a_function_leaves_falls_as_its_slope_says(kind, parameters):
    """The gradient of the sum of squares, coefficients projected out, against differences."""
    prepared = prepared_case("pendulum", 0.01, 2)
    weak = WeakForm.of(prepared, 2)
    look = Look.of(Argument.of(weak, 0, 2), Projection.of(weak.linear, weak.target), 2)
    here, step = look._varied(kind, np.array(parameters)), 1e-6
    for j in range(len(parameters)):
        moved = step * (np.arange(len(parameters)) == j)
        lefts = [look._varied(kind, np.array(parameters) + s * moved).left for s in (1.0, -1.0)]
        assert -2.0 * here.rest @ here.slope[:, j] == pytest.approx((lefts[0] - lefts[1]) / (2.0 * step), rel=1e-4)


def test_parameters_are_improved_to_those_of_the_curve():
    v = np.random.default_rng(1).uniform(-2.0, 2.0, 800)
    places = np.linspace(-2.0, 2.0, 201)
    base = Projection.of(np.column_stack([np.ones_like(places), places]), np.tanh((places - 0.3) / 0.4))
    look = Look.of(Argument(0, v, places, (np.eye(201),)), base, 1)
    element, left = look.best("tanh", [(0.0, 0.8)])
    assert element.parameters == pytest.approx((0.3, 0.4), abs=1e-3) and left < 1e-4


def test_noise_makes_the_sum_of_squares_that_is_predicted():
    sigma, rng = 0.2, np.random.default_rng(8)
    weak = WeakForm.of(prepared_case("abs jerk", 0.05, 3), 3)
    drawn = [np.sum((weak.operator(3) @ (sigma * rng.standard_normal(weak.jets.shape[0]))) ** 2) for _ in range(40)]
    assert np.mean(drawn) == pytest.approx(weak.noise(sigma), rel=0.1)


def test_functions_come_first_where_the_weak_form_shows_a_curve():
    def asks(record: Series) -> bool:
        return asks_for_function(prepare([record], 3), 3, CATALOGUE)

    assert asks(CASES["abs jerk"].record(0.05, 0)[0]) and asks(CASES["abs jerk"].record(0.15, 1)[0])
    noise = np.random.default_rng(0).standard_normal(4000)
    for rates, start in ((_sprott, [0.02, 0.0, 0.0]), (_rossler, [1.0, 1.0, 0.0])):  # a square of x', a product
        run = solve_ivp(rates, (0, 1000), start, t_eval=800 + 0.05 * np.arange(4000), rtol=1e-9, atol=1e-9)
        assert not asks(Series(run.y[0] + 0.05 * np.std(run.y[0]) * noise, 0.05))


def test_a_named_function_challenges_where_a_free_curve_takes_too_many_coefficients():
    """A saturation that acts through two derivatives: 24 modes of a curve, and a name with four numbers."""
    prepared = prepared_case("Michaelis–Menten", 0.15, 3)
    assert not asks_for_function(prepared, 3, CATALOGUE) and function_stands_out(prepared, 3, CATALOGUE)
    run = solve_ivp(_sprott, (0, 1000), [0.02, 0, 0], t_eval=800 + 0.05 * np.arange(4000), rtol=1e-9, atol=1e-9)
    noise = np.random.default_rng(0).standard_normal(4000)
    square = prepare([Series(run.y[0] + 0.15 * np.std(run.y[0]) * noise, 0.05)], 3)
    assert not function_stands_out(square, 3, CATALOGUE) and not function_stands_out(prepared, 3, NONE)


def _sprott(_, x):
    return [x[1], x[2], -2.017 * x[2] + x[1] ** 2 - x[0]]


def _rossler(_, x):
    return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)]


def test_every_kind_has_guesses_that_make_sense():
    v = np.random.default_rng(0).standard_normal(500)
    positive = v - v.min() + 0.5
    assert set(GUESSES) == set(KINDS) - {"curve"}
    for kind, guesses in GUESSES.items():
        tried = [*guesses(v), *guesses(positive)]
        assert tried and all(len(p) == len(KINDS[kind].parameters) for p in tried)
        assert any(sensible(kind, p, v) or sensible(kind, p, positive) for p in tried)


def test_a_function_in_all_rows_is_tried_after_the_last_row_alone():
    element = Element("tanh", 0, (0.0, 1.0))
    ways = [Suggestion(3, (element,), spread, bic, 0.1) for spread, bic in ((True, 1.0), (False, 2.0))]
    other = Suggestion(3, (Element("abs", 0, (0.0,)),), False, 1.5, 0.1)
    ranked = ranking([*ways, other])
    assert [one[0].kinds[0] for one in ranked] == ["tanh", "abs"]
    assert [one.spread for one in ranked[0]] == [False, True]
    assert all(a.bic <= b.bic for a, b in pairwise([min(w, key=lambda s: s.bic) for w in ranked]))


def test_a_function_is_tried_without_a_line_beside_it_first():
    element = Element("sin", 0, (1.0, 0.0))
    ways = [
        Suggestion(2, (element,), spread, 1.0, 0.1, bare)
        for spread, bare in ((True, False), (False, False), (False, True))
    ]
    (ranked,) = ranking(ways)
    assert [(one.bare, one.spread) for one in ranked] == [(True, False), (False, False), (False, True)]


def test_forms_hold_their_elements():
    form = element_form(3, (Element("abs", 0, (0.1,)),), True)
    assert {"f0.0", "a.0", "P.0", "e0"} <= {part for part, _ in form.parts}
    suggested = candidate_of(Suggestion(3, (Element("exp", 1, (2.0,)),), False, 0.0, 0.0)).form
    assert suggested["P"] == linear_form(3)["P"]
    assert "a.0" not in dict(suggested.parts)


def test_only_powers_of_one_coordinate_imitate_a_function():
    def of(*monomials):
        form = linear_form(2).with_parts(P=monomials)
        terms = form.terms(equation_of(form.terms(_pole_free_equation())))
        fit = Fit(terms, np.zeros((1, 2)), 1.0, 0.0, 0.0, 0, True)
        return Candidate(form, {(0,): 1.0}, fit=fit)

    assert imitates(of((1, 0), (3, 0)))
    assert not imitates(of((1, 0), (2, 0)))
    assert not imitates(of((1, 0), (2, 1)))
    assert not imitates(of((3, 0), (0, 3)))


def _pole_free_equation():
    return RegularClosure({}, {(0,): 1.0}, {(1, 0): -1.0}, 2)


def test_without_functions_nothing_is_searched():
    prepared = prepared_case("pendulum", 0.05, 2, 1500)
    said = []
    assert search_elements(compared_on(prepared, 2), 2, NONE, lambda: False, said.append) is None
    assert not said
    assert CATALOGUE.kinds and Functions(("sin",)).spread


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise", "parameter"), [("abs jerk", 0.05, 0.0), ("diode jerk", 0.05, 10.0)])
def test_jerk_systems_get_their_function_by_name(name, noise, parameter):
    case = CASES[name]
    prepared = prepared_case(name, noise, 3)
    found = search_elements(compared_on(prepared, 3), 3, CATALOGUE, lambda: False, lambda _: None)
    assert found is not None
    element = equation_of(found.candidates[0].fit.terms).elements[0].element
    assert element.kind == case.elements[0].name
    scale = prepared.amplitude / prepared.time**element.variable
    assert element.in_units(scale)[0].parameters[0] == pytest.approx(parameter, abs=0.1)


def _jet_rate(equation, states):
    """u_n at states, by differences along the flow."""
    step = 1e-6
    rates = equation.field(states)
    ahead, behind = (equation.jets(states + sign * step * rates)[:, -1] for sign in (1.0, -1.0))
    return (ahead - behind) / (2.0 * step)


def test_gains_of_derivatives_and_of_rows_are_inverse():
    rng = np.random.default_rng(7)
    b, c = rng.standard_normal((2, 4))
    np.testing.assert_allclose(derivative_gains(gains_of(b, c), c), b, rtol=1e-10)


@pytest.mark.parametrize("spread", [False, True])
def test_a_function_with_a_straight_line_replaces_another_that_says_the_same(spread):
    """|v − a| + r |v − b| is |v − a| and a line where v < b."""
    rng = np.random.default_rng(11)
    states, n = rng.uniform(-1.0, 1.0, (300, 3)), 3
    old = Element("piecewise-linear", 0, (0.2, 2.0, 0.7))
    gains = rng.standard_normal(n) if spread else np.array([0.0, 0.0, 1.3])
    acting = {i: {(0, 0, 0): float(g)} for i, g in enumerate(gains) if g}
    linear = dict(zip(linear_monomials(n), rng.standard_normal(4).tolist(), strict=True))
    equation = equation_of_rows((*shift_rows(n), linear), (PlacedElement(old, acting),))
    other = replaced(equation, 0, Element("abs", 0, (0.2,)), states[:, 0])
    jets = equation.jets(states)
    moved = other.states(jets)
    np.testing.assert_allclose(other.jets(moved), jets, atol=1e-9)
    np.testing.assert_allclose(_jet_rate(other, moved), _jet_rate(equation, states), atol=1e-5)


def test_an_equation_in_a_combination_of_coordinates_is_the_same_equation():
    rng = np.random.default_rng(13)
    mix, c, b = (0.4, -0.7), rng.standard_normal(4), 1.7
    element = Element("tanh", 2, (0.1, 0.5))
    row = dict(zip(linear_monomials(3), mixed_row(c, mix).tolist(), strict=True))
    equation = equation_of_rows((*shift_rows(3, mix), row), (PlacedElement(element, {2: {(0, 0, 0): b}}),))
    jets = rng.standard_normal((50, 3))
    wanted = c[0] + jets @ c[1:] + b * element(jets[:, 2] - jets[:, :2] @ np.array(mix))
    np.testing.assert_allclose(_jet_rate(equation, equation.states(jets)), wanted, atol=1e-6)


def test_the_combination_that_an_element_is_of_shows_in_the_weak_form():
    """Chua's x is a combination of z, z' and z''."""
    prepared = prepared_case("Chua z", 0.01, 3, 3000)
    mixed, _, left = mixed_discovery(Discovery.of(WeakForm.of(prepared, 3)))
    true = (-100.0 / 7.0 * prepared.time**2, -prepared.time)
    np.testing.assert_allclose(mixed.mix, true, rtol=0.15)
    assert left < 0.01
    assert mixed.suggestions(("tanh", "abs", "piecewise-linear"))[0].kinds == ("piecewise-linear",)


def test_names_for_a_curve_are_those_that_are_like_it():
    v = np.linspace(0.05, 4.0, 500)
    found = alike(Element("holling", 0, (0.22,)), v, ["michaelis-menten", "drag", "sin", "tanh"])
    assert found[0].kind == "michaelis-menten" and "drag" not in [e.kind for e in found]
    assert not alike(Element("sign", 0, (1.0,)), v - 2.0, ["tanh"])  # the same function again


def test_saturations_of_a_positive_quantity_keep_clear_of_their_pole():
    v = np.append(np.random.default_rng(2).uniform(0.1, 3.0, 500), -0.05)
    halves = [h for (h,) in GUESSES["michaelis-menten"](v)]
    assert halves and min(halves) > 0.05
    assert not list(GUESSES["michaelis-menten"](v - 1.0))


@pytest.mark.slow
def test_the_joint_fit_asks_for_friction_that_the_weak_form_does_not_show():
    prepared = prepared_case("dry friction", 0.1, 2, 2000)
    problem = compared_on(prepared, 2, fine=True)
    naming = Naming(problem, Discovery.of(WeakForm.of(prepared, 2)), CATALOGUE, lambda: False)
    sine = next(s for s in naming.discovery.suggestions(("sin",)) if s.elements[0].variable == 0)
    start = begin(prepared, problem.data, naming.discovery, sine)
    fit = anneal(problem.data, *start, COOLING.schedule, lambda: False)
    candidate = replace(candidate_of(sine), fit=fit)
    proposed = [b[0].elements[-1] for b in second_functions(problem, candidate, sine, ("sign", "drag", "gaussian"))]
    assert "sign" in [e.kind for e in proposed] and all(e.variable == 1 for e in proposed)
    assert np.all(promised(problem, candidate.form, fit, proposed) > 5.0 * problem.price)


@pytest.mark.slow
def test_the_right_pair_is_reached_from_the_path_of_another():
    """The first pair that follows this record is an arctangent with friction; the sine is reached from its path."""
    prepared = prepared_case("dry friction", 0.05, 2)
    functions = Functions(("sin", "arctan", "tanh", "sign"))
    found = search_elements(compared_on(prepared, 2, fine=True), 2, functions, lambda: False, lambda _: None)
    equation = equation_of(found.candidates[0].fit.terms)
    assert {(e.element.kind, e.element.variable) for e in equation.elements} == {("sin", 0), ("sign", 1)}


@pytest.mark.long
def test_a_name_that_has_not_arrived_is_carried_on():
    """At 15 % noise the first joint fit of this saturation ends 60 above its minimum, behind three other names."""
    record, _ = CASES["Michaelis–Menten"].record(0.15, 3)
    prepared = prepare([record], 3)
    functions = Functions(("michaelis-menten", "holling", "exp", "abs", "diode"))
    found = search_elements(compared_on(prepared, 3, fine=True), 3, functions, lambda: False, lambda _: None)
    assert found is not None and found.satisfies() and abs(found.score()) < 3.0
    element = equation_of(found.candidates[0].fit.terms).elements[0].element
    assert element.kind == "michaelis-menten" and found.candidates[1].bic > found.candidates[0].bic + 10.0
    assert element.in_units(prepared.amplitude)[0].parameters[0] == pytest.approx(1.0, abs=0.3)


@pytest.mark.slow
def test_a_right_equation_on_a_closed_curve_needs_nothing():
    """At the q of the selection the score test of this one is 8, out of rounding; 4 of 6 such records were refused."""
    record, _ = CASES["Michaelis–Menten"].record(0.01, 1)
    prepared = prepare([record], 3)
    functions = Functions(("michaelis-menten", "holling"))
    found = search_elements(compared_on(prepared, 3, fine=True), 3, functions, lambda: False, lambda _: None)
    assert found is not None and abs(found.score()) < 3.0
    element = equation_of(found.candidates[0].fit.terms).elements[0].element
    assert element.in_units(prepared.amplitude)[0].parameters[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.long
def test_chua_seen_in_z_gets_its_element_by_name():
    prepared = prepared_case("Chua z", 0.05, 3, 4000)
    functions = Functions(("tanh", "sin", "piecewise-linear"))
    found = search_elements(compared_on(prepared, 3, fine=True), 3, functions, lambda: False, lambda _: None)
    assert found is not None
    equation = equation_of(found.candidates[0].fit.terms).canonical()
    one = equation.elements[0].element
    assert (one.kind, one.variable) == ("piecewise-linear", 2)
    scale = prepared.amplitude / prepared.time**2  # of w = z'' + z' + 100/7 z = −100/7 x, whose kinks are at x = ±1
    assert np.array(one.parameters[:2]) * scale == pytest.approx([-100.0 / 7.0, 100.0 / 7.0], rel=0.05)


def test_the_polynomial_rival_begins_from_the_weak_form():
    prepared = prepared_case("pendulum", 0.01, 2)
    discovery = Discovery.of(WeakForm.of(prepared, 2))
    for spread in (False, True):
        form, equation = polynomial_start(discovery, Suggestion(2, (Element("sin", 0, (1.0, 0.0)),), spread, 0.0, 0.0))
        assert not form.elements and (3, 0) in form["P"]
        slope = equation.rows[-1][(1, 0)] * (1.0 / prepared.time) ** 2
        assert slope == pytest.approx(-1.0, abs=0.15)  # of sin x at 0, with a cube beside it


@pytest.mark.parametrize("options", [{"functions": ("sine",)}, {"structure": "electrics"}])
def test_unknown_functions_and_structures_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        reconstruct(Series(np.sin(0.1 * np.arange(500)), 0.1), **options)
