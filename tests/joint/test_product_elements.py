"""Functions of a product behind a pole: the regression against exact states, and YuWang2's cosh by name."""

import numpy as np
import pytest

from jetode.equations.elements import Element
from jetode.experiments.elements.cases import CASES
from jetode.joint.elements.likeness import alike, replaced_product
from jetode.joint.elements.naming import CATALOGUE
from jetode.joint.elements.product import Behind, likeliest, search_products
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared, prepare
from jetode.joint.search import compared_on
from jetode.records.series import Series

A, D = 10.0, 2.5  # of YuWang2: x' = A (y − x), z' = cosh(x y) − D z
CASE = CASES["YuWang2 x"]


@pytest.fixture(scope="module")
def clean() -> Prepared:
    return prepare([Series(CASE.record(0.0, 0)[0].values, CASE.dt)], 3, 1e-3)


def test_the_collapse_curve_gives_the_hidden_coordinate_up_to_a_constant(clean: Prepared) -> None:
    """w is ab − ac z whatever α is: what is left of its increments over 1, w and the true cosh is small."""
    behind = Behind.of(clean.jets, 0.0)
    assert behind.slope == pytest.approx(-A * clean.time, rel=0.03)
    true = Element("cosh", 0, (clean.amplitude**2 / clean.time / A,), 1)
    columns = behind.integrals(np.column_stack([np.ones_like(behind.w), behind.w, true(behind.argument)]))
    solution, *_ = np.linalg.lstsq(columns, behind.increments(), rcond=None)
    assert solution[1] == pytest.approx(-D * clean.time, rel=0.15) and solution[2] < 0.0


def test_integrals_over_windows_are_those_of_the_trapezoid(clean: Prepared) -> None:
    """Of a constant, the length of the window; of a derivative, the increment."""
    behind = Behind.of(clean.jets, 0.0)
    u = clean.jets.u
    ones, rates = behind.integrals(np.column_stack([np.ones(u.shape[0]), u[:, 1]])).T
    assert np.ptp(ones) < 1e-12
    moved = Behind(clean.jets, 0.0, 0.0, 0.0, u[:, 0]).increments()
    assert np.allclose(rates, moved, atol=2e-2 * np.abs(moved).max())


def test_the_pole_and_the_equation_that_the_search_begins_from(clean: Prepared) -> None:
    behind = likeliest(clean.jets)
    assert behind is not None
    assert abs(behind.p) < 0.1 and behind.curve() < 0.3 * behind.quadratic()
    best = behind.suggestions(("cosh", "exp", "tanh", "abs"))[0]
    assert best.of_product and best.kinds[0] in ("cosh", "exp")
    equation = behind.equation(best.elements[0])
    states = equation.states(clean.jets.u)
    away = np.abs(clean.jets.u[:, 0]) > 0.5
    assert np.std(states[away, 1]) == pytest.approx(1.0, rel=0.3)
    argument = best.elements[0](behind.argument)
    (placed,) = equation.elements
    assert np.allclose(placed.element(placed.element.argument(states)), argument, rtol=1e-9)


def test_another_function_of_the_product_takes_the_place_of_one_that_is_like_it(clean: Prepared) -> None:
    """2 cosh v = exp v + exp(−v): beyond 3 the two say the same."""
    behind = likeliest(clean.jets)
    assert behind is not None
    equation = behind.equation(Element("exp", 0, (0.5,), 1))
    rate = equation.elements[0].element.parameters[0]
    samples = np.linspace(6.0, 12.0, 300) / rate
    other = replaced_product(equation, 0, Element("cosh", 0, (rate,), 1), samples)
    states = np.column_stack([np.ones(300), samples, np.zeros(300)])
    assert np.allclose(other.field(states)[:, 2], equation.field(states)[:, 2], rtol=1e-4)


def test_functions_of_a_product_are_like_each_other_beside_a_constant_alone() -> None:
    """No row has the product itself as a term: the rate is that of the best γ cosh(r v) + c, by brute force too."""
    v = np.random.default_rng(0).uniform(-1.0, 4.0, 4000)
    (found,) = alike(Element("exp", 0, (1.0,), 1), v, ["cosh"])
    places = np.quantile(v, np.linspace(0.002, 0.998, 201))
    rates = np.linspace(0.7, 1.3, 601)

    def left(rate: float) -> float:
        columns = np.column_stack([np.cosh(rate * places), np.ones_like(places)])
        return float(np.sum((np.exp(places) - columns @ np.linalg.lstsq(columns, np.exp(places), rcond=None)[0]) ** 2))

    assert found.partner == 1
    assert found.parameters[0] == pytest.approx(rates[np.argmin([left(r) for r in rates])], abs=2e-3)


@pytest.mark.slow
def test_the_cosh_of_a_product_by_name() -> None:
    """One second of CPU per fit, some ten fits: the search alone."""
    prepared = prepare([CASE.record(0.01, 0)[0]], 3)
    found = search_products(compared_on(prepared, 3, fine=True), CATALOGUE, lambda: False, lambda _: None)
    assert found is not None and found.satisfies()
    fitted = equation_of(found.candidates[0].fit.terms).canonical().in_units(prepared.amplitude, prepared.time)
    (placed,) = fitted.elements
    assert placed.element.kind == "cosh" and placed.element.coordinates == (0, 1)
    assert fitted.rows[0].offset[1,] == pytest.approx(-A, rel=0.01)
    assert fitted.rows[2][0, 0, 1] == pytest.approx(-D, rel=0.01)


def test_a_record_without_a_pole_is_not_searched() -> None:
    """Sprott's jerk with |x|: a curve of a product behind a pole leaves more than a polynomial does."""
    prepared = prepare([CASES["abs jerk"].record(0.05, 0)[0]], 3)
    behind = likeliest(prepared.jets)
    assert behind is not None and behind.curve() > behind.quadratic()
    short = prepare([Series(CASE.record(0.01, 0)[0].values[:120], CASE.dt)], 3)
    assert likeliest(short.jets) is None
