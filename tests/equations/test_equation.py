"""Equations of rows beyond the regular closure: cascades of any depth, jets, memory closures; one set of algorithms."""

import json

import numpy as np
import pytest
import sympy

from jetode.equations.closure import relative_l2
from jetode.equations.equation import Equation, Readout
from jetode.equations.equilibria import equilibria
from jetode.equations.regular import RegularClosure, equation_of_rows, read_equation
from jetode.equations.rows import Coupled
from jetode.support.errors import InputError
from truths import CUBIC, FOURTH, LORENZ, ROSSLER, TILTED, to_exact

DEEP = Equation(  # two factors that can vanish before the last row but one, with a shift between jets first
    (
        Coupled.shift(0),
        Coupled({(1, 0): -0.5, (0, 2): 0.25}, {(1, 0): 1.0, (0, 0): -0.5}),
        Coupled({(0, 0, 1): 0.5, (0, 0, 0): 0.25}, {(0, 0, 1): 1.0, (0, 1, 0): 0.5, (0, 0, 0): 2.0}),
        {(0, 0, 0, 0): 1.0, (1, 0, 0, 1): -0.5, (0, 1, 1, 0): 0.25, (0, 0, 0, 2): 0.125},
    )
)
JETS = Equation((Coupled.shift(0), Coupled.shift(1), {(1, 0, 0): -1.0, (0, 2, 0): 1.0, (0, 0, 1): -2.017}), jet_count=3)
THETA = 0.5
MEMORY = Equation(  # x' = P(x, m), θ m_i' = A m + B x
    (
        {(1, 0, 0): 1.0, (0, 0, 1): -0.5, (3, 0, 0): -1.0},
        {(0, 1, 0): -1.0 / THETA, (0, 0, 1): 0.25 / THETA, (1, 0, 0): 1.0 / THETA},
        {(0, 1, 0): 1.0 / THETA, (0, 0, 1): -1.0 / THETA},
    ),
    ("x", "m0", "m1"),
)
ALL = pytest.mark.parametrize("equation", [DEEP, JETS, LORENZ, TILTED, CUBIC, FOURTH])


def states_of(equation: Equation, count: int = 10) -> np.ndarray:
    return np.random.default_rng(4).uniform(1.2, 2.0, (count, equation.dimension))


def same(one: Equation, other: Equation, tolerance: float) -> None:
    mine, theirs = one.parts(), other.parts()
    assert list(mine) == list(theirs)
    for part, q in theirs.items():
        size = max((abs(c) for c in q.values()), default=1.0)
        for e in {*mine[part], *q}:
            assert mine[part].get(e, 0.0) == pytest.approx(q.get(e, 0.0), rel=tolerance, abs=tolerance * size)


def test_coordinates_and_parts():
    assert DEEP.names() == ("u0", "u1", "v", "w") and DEEP.n_jets == 2
    assert list(DEEP.parts()) == ["f1", "c1", "a", "D", "P"]
    assert DEEP.leads() == {"c1": (1, 0), "D": (0, 0, 1)}
    assert len(DEEP.coefficients()) == sum(map(len, DEEP.parts().values())) - 2
    assert JETS.names() == ("u0", "u1", "u2") and JETS.field.rows == (JETS.rows[-1],)
    assert list(LORENZ.parts()) == ["a", "D", "P"] and LORENZ.names() == ("u0", "u1", "w")


# -- cascades -------------------------------------------------------------------------------------------------


@ALL
def test_jets_are_derivatives_along_the_flow(equation):
    x = states_of(equation)
    jets, rates, step = equation.jets(x), equation.field(x), 1e-6
    slope = (equation.jets(x + step * rates) - equation.jets(x - step * rates)) / (2 * step)
    np.testing.assert_allclose(slope[:, :-1], jets[:, 1:], rtol=1e-6, atol=1e-6 * np.abs(jets).max())
    np.testing.assert_allclose(slope[:, -1], equation.rational().rate(jets), rtol=1e-5)
    np.testing.assert_allclose(equation.states(jets), x, rtol=1e-7)


def test_the_rational_closure_is_exact():
    x = sympy.symbols("x0:4")
    rates = [to_exact(rate, x) for rate in DEEP.rates()]
    u = [x[0]]
    for _ in range(4):
        u.append(sympy.expand(sum(sympy.diff(u[-1], s) * r for s, r in zip(x, rates, strict=True))))
    closure = DEEP.rational()
    jets = sympy.symbols("u0:4")
    at = dict(zip(jets, u, strict=False))
    numerator, denominator = (to_exact(p, jets).subs(at) for p in (closure.numerator, closure.denominator))
    assert sympy.expand(denominator * u[4] - numerator) == 0


@pytest.mark.parametrize("j", [2, 3])
def test_the_canonical_form_does_not_see_the_gauge(j):
    g = {2: {(0, 0): 0.3, (1, 0): -0.2, (0, 1): 0.1}, 3: {(1, 0, 0): 0.4, (0, 0, 1): -0.3}}[j]
    moved = DEEP.changed(j, -1.7, g)
    assert max(relative_l2(moved.rational(), DEEP.rational())) < 1e-8
    same(moved.canonical(), DEEP.canonical(), 1e-9)
    for row in DEEP.canonical().cascade():
        assert row.factor[row.lead] == 1.0
        assert not any(all(i >= k for i, k in zip(e, row.lead, strict=True)) for e in row.offset)


def test_states_follow_the_equation_to_its_canonical_form():
    moved = DEEP.changed(2, 0.5, {(0, 1): 0.3}).changed(3, -2.0, {(1, 0, 0): 0.7})
    for x in states_of(DEEP, 4):
        rate = moved.canonical().field(moved.canonical_states(x))
        np.testing.assert_allclose(moved.canonical_jacobian(x) @ moved.field(x), rate, rtol=1e-8)


@ALL
@pytest.mark.parametrize(("amplitude", "time"), [(3.0, 0.5), (1e6, 1e-3)])
def test_units(equation, amplitude, time):
    moved = equation.in_units(amplitude, time)
    assert max(relative_l2(moved.rational(), equation.rational().rescaled(amplitude, time))) < 1e-11
    same(moved.in_units(1 / amplitude, 1 / time), equation, 1e-12)


def test_equilibria_of_a_deep_cascade_stand_still():
    found = equilibria(DEEP)
    assert found
    for e in found:
        size = np.abs(DEEP.field.jacobian(np.array(e.state))).max() * np.abs(e.state).max()
        np.testing.assert_allclose(DEEP.field(np.array(e.state)), 0.0, atol=1e-8 * size)


# -- memory closures ------------------------------------------------------------------------------------------


def test_a_memory_closure_is_an_equation_without_jets():
    x = np.array([0.3, -0.2, 0.5])
    expected = [x[0] - 0.5 * x[2] - x[0] ** 3, (-x[1] + 0.25 * x[2] + x[0]) / THETA, (x[1] - x[2]) / THETA]
    np.testing.assert_allclose(MEMORY.field(x), expected, rtol=1e-14)
    assert MEMORY.names() == ("x", "m0", "m1") and list(MEMORY.parts()) == ["P0", "P1", "P"]
    assert MEMORY.readout(x) == x[0] and not MEMORY.is_cascade
    assert MEMORY.text().splitlines()[2] == "m1' = 2 m0 - 2 m1" and r"\dot m_{0} &= " in MEMORY.latex()
    for refused in (MEMORY.rational, lambda: MEMORY.jets(x), lambda: MEMORY.states(x)):
        with pytest.raises(InputError, match="no cascade"):
            refused()


def test_units_of_a_memory_closure():
    """The memory keeps its scale; only the signal and time change theirs."""
    amplitude, time = 5.0, 0.25
    moved = MEMORY.in_units(amplitude, time)
    x = np.array([0.3, -0.2, 0.5])
    np.testing.assert_allclose(moved.field(x * [amplitude, 1, 1]), MEMORY.field(x) / time * [amplitude, 1, 1])


def test_the_signal_can_be_read_off_any_coordinate():
    equation = Equation(MEMORY.rows, MEMORY.labels, readout=Readout(1, 2.0, -1.0))
    x = np.array([[0.3, -0.2, 0.5]])
    assert equation.readout(x)[0] == pytest.approx(-1.4)
    moved = equation.in_units(5.0, 0.25)
    assert moved.readout(x)[0] == pytest.approx(5.0 * -1.4)


# -- as data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("equation", [DEEP, JETS, MEMORY])
def test_plain_data(equation):
    back = read_equation(json.loads(json.dumps(equation.to_json())))
    assert back.rows == equation.rows and back.names() == equation.names() and back.n_jets == equation.n_jets
    assert back.readout == equation.readout and back.text() == equation.text()


def test_files_of_regular_closures_stay_as_they_are():
    data = {
        "order": 3,
        "a": [{"powers": [0, 0], "coefficient": -6.1}, {"powers": [0, 1], "coefficient": 0.2}],
        "D": [{"powers": [0, 0], "coefficient": -5.9}, {"powers": [1, 0], "coefficient": 1.0}],
        "P": [
            {"powers": [0, 0, 0], "coefficient": -5.9},
            {"powers": [1, 0, 0], "coefficient": 1.0},
            {"powers": [0, 0, 1], "coefficient": -5.7},
            {"powers": [1, 0, 1], "coefficient": 1.0},
        ],
    }
    assert ROSSLER.to_json() == data
    back = read_equation(data)
    assert isinstance(back, RegularClosure) and (back.a, back.D, back.P) == (ROSSLER.a, ROSSLER.D, ROSSLER.P)


def test_rows_of_a_regular_closure_are_one():
    assert isinstance(equation_of_rows(LORENZ.rows), RegularClosure)
    assert type(equation_of_rows(DEEP.rows)) is Equation and type(equation_of_rows(MEMORY.rows)) is Equation
    with pytest.raises(InputError, match="regular closure"):
        RegularClosure.of(DEEP)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ((), {}, "end in a plain row"),
        ((Coupled.shift(0),), {}, "end in a plain row"),
        ((Coupled({(0, 0): 1.0}, {(0,): 1.0}), {}), {}, "Exponents of 'a' must have 1 entries"),
        ((Coupled({}, {}), {}), {}, "'D' parameter must have at least one term"),
        (MEMORY.rows, {"labels": ("x", "x", "y")}, "different names"),
        (MEMORY.rows, {"jet_count": 2}, "'jet_count' parameter must be 1 to 1"),
        (MEMORY.rows, {"readout": Readout(3)}, "one of 3 coordinates"),
    ],
)
def test_what_is_no_equation_is_refused(rows, options, words):
    with pytest.raises(InputError, match=words):
        Equation(rows, **options)
