"""Elements against SymPy, finite differences and their own identities."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from jetode.equations import curve_basis
from jetode.equations.element_terms import PlacedElement
from jetode.equations.element_writing import sympy_function
from jetode.equations.elements import KINDS, Element
from jetode.equations.equation import Equation
from jetode.equations.equilibria import equilibria
from jetode.equations.regular import RegularClosure
from jetode.equations.rows import Coupled
from jetode.support.errors import InputError


def some(name: str, seed: int = 0) -> Element:
    """An element with parameters away from special values."""
    element = Element.start(name, 0)
    rng = np.random.default_rng(seed)
    return element.with_parameters(np.array(element.parameters) + 0.1 * rng.normal(size=len(element.parameters)))


def places(name: str) -> np.ndarray:
    v = np.random.default_rng(1).normal(size=40) * 1.3
    return np.abs(v) if name == "michaelis-menten" else v  # off its pole


@pytest.mark.parametrize("name", KINDS)
def test_values_are_those_of_sympy(name: str) -> None:
    sympy = pytest.importorskip("sympy")
    v = sympy.Symbol("v", real=True)
    function = sympy.lambdify(v, sympy_function(some(name), v), "numpy")
    at = places(name)
    assert np.allclose(some(name)(at), function(at), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", KINDS)
def test_derivatives(name: str) -> None:
    """By the coordinate and by every parameter that can be free."""
    element, at, step = some(name), places(name), 1e-6
    _, slope, by_parameter = element.derivatives(at)
    assert np.allclose(slope, (element(at + step) - element(at - step)) / (2 * step), rtol=1e-6, atol=1e-7)
    for j in range(element.info.fixed, len(element.parameters)):
        ends = []
        for sign in (1.0, -1.0):
            moved = np.array(element.parameters)
            moved[j] += sign * step
            ends.append(element.with_parameters(moved)(at))
        assert np.allclose(by_parameter[:, j], (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("factor", [2.5, -0.4])
def test_other_units_say_the_same(name: str, factor: float) -> None:
    if name == "michaelis-menten" and factor < 0:
        factor = 0.4
    element, at = some(name), places(name)
    moved, gain = element.in_units(factor)
    assert np.allclose(gain * moved(factor * at), element(at), rtol=1e-12, atol=1e-12)
    back, gain_back = moved.in_units(1.0 / factor)
    assert np.allclose(back.parameters, element.parameters) and gain * gain_back == pytest.approx(1.0)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_canonical_form_is_the_same_function_and_unique(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    element = Element.start(name, 0)
    wild = np.array(element.parameters) * rng.choice([-3.0, 1.0, 7.0], size=len(element.parameters)) + rng.normal()
    if name in ("power", "michaelis-menten", "curve"):
        wild = np.abs(wild) + np.arange(wild.size)
    element, at = element.with_parameters(wild), places(name)
    once, gain = element.canonical()
    assert np.allclose(gain * once(at), element(at), rtol=1e-12, atol=1e-12)
    again, unity = once.canonical()
    assert unity == 1.0 and np.allclose(again.parameters, once.parameters, atol=1e-15)


def test_a_curve_carries_no_polynomial_of_degree_one() -> None:
    """Constant and slope are left to polynomial terms: a straight line has no modes, a parabola is kept."""
    s = np.linspace(0.0, 1.0, 400)
    assert np.allclose(curve_basis.project(s, 3.0 - 2.0 * s), 0.0, atol=1e-10)
    bent = (s - 0.5) ** 2
    modes = curve_basis.project(s, bent)
    rest = bent - curve_basis.basis(s) @ modes
    line = np.polynomial.Polynomial.fit(s, rest, 1)(s)
    assert np.abs(rest - line).max() < 2e-3, "but for the natural ends"


def test_roughness_is_the_integral_of_the_curvature() -> None:
    s = np.linspace(0.0, 1.0, 20001)
    for k in (0, 3, curve_basis.MODES - 1):
        values = curve_basis.basis(s)[:, k]
        curvature = np.diff(values, 2) / (s[1] - s[0]) ** 2
        assert np.sum(curvature**2) * (s[1] - s[0]) == pytest.approx(curve_basis.ROUGHNESS[k], rel=2e-3)
        assert np.mean(curve_basis.MODE_VALUES[:, k] ** 2) == pytest.approx(1.0)


def test_wrong_elements_are_refused() -> None:
    with pytest.raises(InputError, match="one of sin"):
        Element("sinh", 0, ())
    with pytest.raises(InputError, match="frequency, phase"):
        Element("sin", 0, (1.0,))
    late = PlacedElement(Element("abs", 1, (0.0,)), {0: {(0, 0): 1.0}})
    with pytest.raises(InputError, match="coordinates 0 to 0"):
        RegularClosure({}, {(0,): 1.0}, {}, 2, elements=(late,))


def test_a_product_is_the_argument_and_refused_beyond_its_row() -> None:
    product = Element("exp", 0, (0.5,), 1)
    states = np.random.default_rng(3).normal(size=(7, 3))
    assert np.allclose(product.argument(states), states[:, 0] * states[:, 1])
    assert Element.from_json(product.to_json()) == product and product.shape.with_parameters((0.5,)) == product
    with pytest.raises(InputError, match="coordinates 0 to 0"):
        RegularClosure({}, {(0,): 1.0}, {}, 2, elements=(PlacedElement(product, {0: {(0, 0): 1.0}}),))
    with pytest.raises(InputError, match="one of 2 coordinates"):
        RegularClosure(
            {}, {(0,): 1.0}, {}, 2, elements=(PlacedElement(replace(product, partner=2), {1: {(0, 0): 1.0}}),)
        )


# -- in equations ------------------------------------------------------------------------------------------


def closures() -> dict[str, Equation]:
    """Elements in the last row, in the offset, in the factor, and in the first row of a chain."""
    tanh, holling = Element("tanh", 0, (0.2, 0.7)), Element("holling", 0, (0.8,))
    factor = RegularClosure(
        {(1,): 0.5}, {}, {(0, 1): -0.4, (1, 1): 0.3}, 2, elements=(PlacedElement(holling, {0: {(0, 1): -2.0}}),)
    )
    chain = Equation(
        (Coupled({(1,): -0.3}, {(0,): 1.0, (1,): 0.5}), Coupled({(0, 1): -0.2}, {(0, 0): 2.0}), {(0, 1, 1): 0.3}),
        elements=(PlacedElement(tanh, {0: {(0, 0, 0): 0.6}, 2: {(0, 0, 1): -0.5}}),),
    )
    offset = RegularClosure(
        {(0, 1): 0.2}, {(0, 0): 2.0}, {(1, 0, 0): -1.0}, 3,
        elements=(PlacedElement(tanh, {1: {(0, 1, 0): 0.6}, 2: {(1, 0, 1): 0.4}}),),
    )  # fmt: skip
    last = RegularClosure(
        {}, {(0, 0): 2.0}, {(0, 1, 0): -1.0}, 3,
        elements=(PlacedElement(Element("sin", 2, (1.3, 0.4)), {2: {(0, 0, 0): -0.7, (1, 0, 0): 0.2}}),),
    )  # fmt: skip
    product = Element("cosh", 0, (0.7,), 1)
    rows = (
        Coupled({(1,): -0.3}, {(0,): 2.0}),
        Coupled({}, {(1, 0): 1.5, (0, 0): 0.2}),
        {(0, 0, 0): 1.0, (0, 0, 1): -0.5},
    )
    behind_a_pole = RegularClosure.of(Equation(rows, elements=(PlacedElement(product, {2: {(0, 0, 0): -0.4}}),)))
    square = replace(last, elements=(PlacedElement(replace(product, partner=0), {2: {(0, 0, 0): -0.4}}),))
    return {
        "factor": factor, "chain": chain, "offset": offset, "last": last, "product": behind_a_pole, "square": square,
    }  # fmt: skip


@pytest.mark.parametrize("name", closures())
def test_jets_are_derivatives_and_come_back(name: str) -> None:
    """Along the flow, every jet's rate of change is the next jet."""
    equation = closures()[name]
    states = np.random.default_rng(5).uniform(0.3, 1.2, size=(6, equation.dimension))
    jets, step = equation.jets(states), 1e-5
    rates = equation.field(states)
    ahead, behind = (equation.jets(states + sign * step * rates) for sign in (1.0, -1.0))
    slopes = (ahead - behind) / (2 * step)
    assert np.allclose(slopes[:, :-1], jets[:, 1:], rtol=1e-6, atol=1e-8)
    assert np.allclose(equation.states(jets), states, rtol=1e-9)


@pytest.mark.parametrize("name", closures())
def test_units_and_gauge_leave_the_signal_as_it_is(name: str) -> None:
    equation = closures()[name]
    states = np.random.default_rng(6).uniform(0.3, 1.2, size=(5, equation.dimension))
    canonical = equation.canonical()
    moved = equation.canonical_states(states)
    jacobian = np.stack([equation.canonical_jacobian(s) for s in states])
    assert np.allclose(canonical.field(moved), np.einsum("nij,nj->ni", jacobian, equation.field(states)), rtol=1e-9)
    assert np.allclose(canonical.jets(moved), equation.jets(states), rtol=1e-9)
    amplitude, time = 2.5, 0.4
    units = np.array([amplitude / time**i if i < equation.n_jets else 1.0 for i in range(equation.dimension)])
    there = equation.in_units(amplitude, time)
    assert np.allclose(there.field(states * units), equation.field(states) * units / time, rtol=1e-12)


@pytest.mark.parametrize("name", closures())
def test_plain_data_and_text(name: str) -> None:
    equation = closures()[name]
    states = np.random.default_rng(7).uniform(0.3, 1.2, size=(5, equation.dimension))
    again = type(equation).from_json(equation.to_json())
    assert np.array_equal(again.field(states), equation.field(states))
    assert again.coefficients() == equation.coefficients()
    rates = equation.sympy_rates()
    at = dict(zip(equation.names(), states[0].tolist(), strict=True))
    assert [float(r.subs(at)) for r in rates.values()] == pytest.approx(equation.field(states[0]).tolist(), rel=1e-12)
    for one in equation.elements:
        shown = {"tanh": "tanh(", "sin": "sin(", "holling": "u0²", "cosh": "cosh(0.7 u0 "}[one.element.kind]
        assert shown in equation.text()


def test_text_is_what_people_write() -> None:
    def shown(element: Element, gain: float = 1.0) -> str:
        placed = PlacedElement(element, {1: {(0, 0): gain}})
        return RegularClosure({}, {(0,): 1.0}, {}, 2, elements=(placed,)).text().splitlines()[1]

    assert shown(Element("sin", 0, (1.0, 0.0)), -9.81) == "w' = -9.81 sin(u0)"
    assert shown(Element("sin", 0, (2.0, np.pi / 2))) == "w' = cos(2 u0)"
    assert shown(Element("abs", 0, (0.3,))) == "w' = |u0 - 0.3|"
    assert shown(Element("tanh", 0, (-0.1, 0.5))) == "w' = tanh((u0 + 0.1) / 0.5)"
    assert shown(Element("michaelis-menten", 0, (0.5,)), -2.0) == "w' = -2 (u0 / (0.5 + u0))"
    assert shown(Element("drag", 1, ())) == "w' = w |w|"
    assert shown(Element("exp", 0, (0.5,), 1), -2.0) == "w' = -2 exp(0.5 u0 w)"
    assert shown(Element("tanh", 0, (0.5, 2.0), 1)) == "w' = tanh((u0 w - 0.5) / 2)"
    assert shown(Element("piecewise-linear", 0, (-1.0, 1.0, -1.0)), 0.5) == "w' = 0.5 (|u0 + 1| - |u0 - 1|)"


def test_equilibria_by_changes_of_sign() -> None:
    """x'' = −sin x within ±4: at 0 and ±π; an element's pole is no equilibrium."""
    sine = PlacedElement(Element("sin", 0, (1.0, 0.0)), {1: {(0, 0): -1.0}})
    pendulum = RegularClosure({}, {(0,): 1.0}, {(0, 1): -0.1}, 2, elements=(sine,))
    found = equilibria(pendulum, (-2.0, 2.0))
    assert [e.state[0] for e in found] == pytest.approx([-np.pi, 0.0, np.pi], abs=1e-9)
    assert [e.kind for e in found] == ["saddle", "stable focus", "saddle"]
    ratio = PlacedElement(Element("michaelis-menten", 0, (1.0,)), {1: {(0, 0): -1.0}})
    single = RegularClosure({}, {(0,): 1.0}, {(0, 0): 0.25}, 2, elements=(ratio,))
    assert [e.state[0] for e in equilibria(single, (-2.0, 2.0))] == pytest.approx([1 / 3], abs=1e-9)
    with pytest.raises(InputError, match="within"):
        equilibria(pendulum)


def test_an_element_is_all_that_a_new_process_needs():
    """Its routine is compiled, or loaded, when the first one is evaluated, and not only with an equation."""
    code = "from jetode.equations.elements import Element; print(float(Element('sin', 0, (1.0, 0.0))(0.5)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(run.stdout.split()[-1]) == pytest.approx(np.sin(0.5), rel=1e-12)
