"""Friction laws (docs/mathematics.md (8.13)): of dry friction, drag, v and v³ those remain that made the decay."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.elements import Shape
from jetode.joint.candidates import Found
from jetode.joint.elements.friction import KINDS, POWERS, Mechanics, at_own_noise, law_of, with_spring
from jetode.joint.elements.naming import NONE
from jetode.joint.forms.pole_free import candidate
from jetode.joint.parts import equation_of
from jetode.joint.problem import prepare
from jetode.joint.search import compared_on
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.records.series import Series

SLOWLY = Schedule((1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4), 10)
NARROW = 1e-3  # of a sign: far below the speeds that are seen


def never() -> bool:
    return False


def decay(force: Callable[[float], float], friction: Callable[[float], float], noise: float, seed: int = 0) -> Series:
    """x'' = −force(x) − friction(v) from 2, 13 oscillations of a linear spring."""
    times = 0.1 * np.arange(800)
    run = solve_ivp(
        lambda t, s: [s[1], -force(s[0]) - friction(s[1])], (0.0, times[-1]), [2.0, 0.0], "LSODA", times,
        rtol=1e-8, atol=1e-9, max_step=0.1,
    )  # fmt: skip
    x = run.y[0]
    return Series(x + noise * np.std(x) * np.random.default_rng(seed).standard_normal(x.size), 0.1)


def dry(v: float) -> float:
    return float(np.tanh(v / NARROW))


LAWS: dict[str, tuple[Callable[[float], float], dict[str, float]]] = {
    "drag": (lambda v: 0.05 * v * abs(v), {"drag": -0.05}),
    "dry, viscous": (lambda v: 0.02 * dry(v) + 0.02 * v, {"sign": -0.02, "v": -0.02}),
    "dry, drag": (lambda v: 0.02 * dry(v) + 0.02 * v * abs(v), {"sign": -0.02, "drag": -0.02}),
    "viscous, cubic": (lambda v: 0.02 * v + 0.02 * v**3, {"v": -0.02, "v3": -0.02}),
}


def law_in_units(found: Found, amplitude: float, time: float) -> dict[str, float]:
    """The friction of the best candidate in the record's units."""
    assert found.candidates[0].fit is not None
    equation = equation_of(found.candidates[0].fit.terms).in_units(amplitude, time).canonical()
    out = {one.element.kind: one.in_row(1)[(0, 0)] for one in equation.elements if one.element.variable == 1}
    powers = equation.parts()["P"]
    return out | {name: powers[e] for name, e in zip(("v", "v3"), POWERS, strict=True) if e in powers}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("force", [lambda x: x, lambda x: x + x**3], ids=["linear", "cubic"])
def test_a_spring_gets_the_law_that_it_was_made_with(force, name):
    friction, true = LAWS[name]
    prepared = prepare([decay(force, friction, 0.01)], 2)
    found = with_spring(compared_on(prepared, 2, fine=True), KINDS, never)
    assert found is not None and found.satisfies()
    law = law_in_units(found, prepared.amplitude, prepared.time)
    assert set(law) == set(true)
    for term, value in true.items():
        assert law[term] == pytest.approx(value, rel=0.1)


def test_the_law_does_not_depend_on_units():
    """A record in other units of amplitude and time has the same law in these."""
    record = decay(lambda x: x, LAWS["dry, drag"][0], 0.01)
    other = Series(1e6 * record.values, 1e-6 * record.dt)
    laws = []
    for one in (record, other):
        prepared = prepare([one], 2)
        found = with_spring(compared_on(prepared, 2, fine=True), KINDS, never)
        assert found is not None
        laws.append(law_in_units(found, prepared.amplitude, prepared.time))
    assert laws[1]["sign"] == pytest.approx(1e18 * laws[0]["sign"], rel=1e-3)  # a force per mass: 10⁶/(10⁻⁶)²
    assert laws[1]["drag"] == pytest.approx(1e-6 * laws[0]["drag"], rel=1e-3)  # per length


def test_a_law_that_the_noise_of_the_search_hides_is_found_at_the_records_own():
    """At 0.3 % noise; the search assumes 1 %, at which linear friction follows this decay."""
    prepared = prepare([decay(lambda x: x, lambda v: 0.002 * dry(v) + 0.03 * v, 0.003)], 2)
    problem = compared_on(prepared, 2, fine=True)
    linear = candidate(2, 1)
    start = linear.start(prepared.jets.head(problem.data.y.size))
    fit = anneal(problem.data, start.terms, start.states[problem.data.layout.first], SLOWLY)
    before = Found((replace(linear, fit=fit, bic=fit.cost),), problem.data, problem.price)
    assert before.follows()
    found = at_own_noise(prepared, before, KINDS, never)
    law = law_in_units(found, prepared.amplitude, prepared.time)
    assert law == {"sign": pytest.approx(-0.002, rel=0.2), "v": pytest.approx(-0.03, rel=0.1)}
    assert at_own_noise(prepared, before, NONE.kinds, never) is before


def test_the_kinds_of_a_law_are_those_of_the_velocity():
    shapes = [Shape("sin", 0), Shape("sign", 1), Shape("sign", 0), Shape("drag", 1), Shape("tanh", 1)]
    assert law_of(shapes) == ("sign", "drag")


def test_an_equation_with_a_law_without_effect_is_the_same_equation():
    """The force of a fitted equation with every term of the law at 0 has the rates of the equation."""
    prepared = prepare([decay(lambda x: x + x**3, lambda v: 0.05 * v, 0.01)], 2)
    cubic = candidate(2, 3)
    start = cubic.start(prepared.jets)
    pure = [e in ((0, 0), (1, 0), (3, 0), (0, 1)) for e in start.terms.exponents]
    terms = start.terms.select(np.array(pure) | ~start.terms.free)
    mechanics = Mechanics.of(cubic.form, Fit(terms, start.states, 0.0, 0.0, 0.0, 0, False))
    assert mechanics is not None
    form, equation = mechanics.with_law(KINDS)
    assert [e.kind for e in form.elements] == list(KINDS)
    lawful = equation_of(form.terms(equation))
    before = equation_of(terms)
    np.testing.assert_allclose(lawful.field(start.states), before.field(start.states), atol=1e-12)


def test_without_functions_there_is_no_law():
    record = decay(lambda x: x, LAWS["drag"][0], 0.01)
    assert with_spring(compared_on(prepare([record], 2), 2, fine=True), NONE.kinds, never) is None


def test_viscous_friction_asks_for_no_other():
    """Where linear friction is right the score test promises nothing, and nothing is fitted."""
    prepared = prepare([decay(lambda x: x + x**3, lambda v: 0.05 * v, 0.01)], 2)
    assert with_spring(compared_on(prepared, 2, fine=True), KINDS, never) is None
