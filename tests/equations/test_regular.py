"""The regular closure: exact conversion to N/D and back, gauge, units, misfit, text."""

import json

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from jetode.catalogue.systems import systems
from jetode.equations.closure import Closure, relative_l2
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.support.errors import InputError
from truths import CUBIC, FOURTH, LORENZ, ROSSLER, SECOND, TILTED, to_exact

ALL = pytest.mark.parametrize("regular", [LORENZ, ROSSLER, TILTED, SECOND, FOURTH, CUBIC])


@ALL
def test_rational_form_is_the_derivative_of_the_regular_one(regular):
    n = regular.order
    u = sympy.symbols(f"u0:{n}")
    w = sympy.Symbol("w")
    a, big_d = to_exact(regular.a, u[:-1]), to_exact(regular.D, u[:-1])
    big_p = to_exact(regular.P, (*u[:-1], w))
    rates = [*u[1:-1], a + big_d * w]
    top = sum(sympy.diff(a + big_d * w, x) * r for x, r in zip(u[:-1], rates, strict=True)) + big_d * big_p
    derived = top.subs(w, (u[-1] - a) / big_d)
    closure = regular.rational()
    numerator, denominator = to_exact(closure.numerator, u), to_exact(closure.denominator, u)
    assert sympy.simplify(derived - numerator / denominator) == 0


@pytest.mark.parametrize(("name", "regular"), [("lorenz", LORENZ), ("rossler", ROSSLER)])
def test_known_systems(name, regular):
    assert max(relative_l2(regular.rational(), systems[name].closure("x"))) < 1e-14
    back = regularise(systems[name].closure("x"), [8.0, 40.0, 400.0])
    assert back.misfit < 1e-12
    same(back.regular, regular, 1e-9)


def same(one: RegularClosure, other: RegularClosure, tolerance: float) -> None:
    for p, q in ((one.a, other.a), (one.D, other.D), (one.P, other.P)):
        size = max((abs(c) for c in q.values()), default=1.0)
        for e in {*p, *q}:
            assert p.get(e, 0.0) == pytest.approx(q.get(e, 0.0), rel=tolerance, abs=tolerance * size)


@pytest.mark.parametrize("regular", [LORENZ, ROSSLER, TILTED, SECOND, FOURTH])
def test_regularise_undoes_rational(regular):
    result = regularise(regular.rational())
    if max(e[-1] for e in regular.P) < 2:  # with w² the collapse is not linear in a
        assert result.misfit < 1e-12
        same(result.regular, regular.canonical(), 1e-9)
    else:
        assert result.misfit > 1e-6


def test_constant_denominator_is_the_plain_jerk_form():
    result = regularise(Closure({(0, 0, 1): -0.6, (1, 0, 0): -1.0}, {(0, 0, 0): 2.0}, 3))
    assert result.misfit == 0.0 and result.regular.D == {(0, 0): 1.0} and not result.regular.a
    expected = {(0, 0, 1): -0.3, (1, 0, 0): -0.5}
    assert {e: result.regular.P[e] - c for e, c in expected.items()} == pytest.approx(dict.fromkeys(expected, 0.0))


def test_misfit_where_the_crossing_conditions_fail():
    numerator = dict(LORENZ.rational().numerator)
    numerator[(0, 1, 0)] = 50.0  # N no longer vanishes on the pole
    result = regularise(Closure(numerator, LORENZ.rational().denominator, 3))
    assert result.misfit > 1e-3
    grown = regularise(Closure(numerator | {(0, 0, 3): 1e3}, LORENZ.rational().denominator, 3))
    assert grown.misfit > 0.1


CURVED = RegularClosure(
    {(1, 0): -1.6, (0, 1): 0.3, (1, 1): 0.2},
    {(2, 0): 1.0, (0, 1): -4.9, (1, 0): 2.8, (0, 0): -12.0},
    {(0, 1, 0): -0.04, (0, 0, 1): -0.3, (1, 0, 1): -0.2},
    3,
)
FOURTH = RegularClosure(
    {(1, 0, 0): -2.6, (0, 0, 1): 0.3},
    {(2, 0, 0): 1.0, (0, 1, 0): 0.5, (0, 0, 0): -0.1},
    {(0, 0, 0, 0): 0.7, (1, 0, 0, 1): 1.3},
    4,
)


@pytest.mark.parametrize("regular", [CURVED, FOURTH])
def test_collapse_curve_of_a_bent_pole_from_the_rational_closure(regular):
    """a and D of a D that is monic in u1, whatever its degree in u0, come back from N/D exactly."""
    found = regularise(regular.rational()).regular
    for name in ("a", "D"):
        mine, theirs = getattr(found, name), getattr(regular.canonical(), name)
        assert {e: c for e, c in mine.items() if abs(c) > 1e-9} == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("denominator", "reason"), [({(1, 1, 0): 1.0}, "not monic"), ({(0, 0, 1): 1.0}, "highest derivative")]
)
def test_denominators_without_a_regular_form(denominator, reason):
    result = regularise(Closure({(0, 0, 0): 1.0}, denominator, 3))
    assert result.regular is None and reason in result.reason


coefficient = st.floats(-3.0, 3.0).filter(lambda c: abs(c) > 1e-2)


@settings(max_examples=40, deadline=None)
@given(alpha=coefficient, g=st.dictionaries(st.sampled_from([(0, 0), (1, 0), (0, 1), (2, 0)]), coefficient, min_size=1))
@pytest.mark.parametrize("regular", [LORENZ, ROSSLER, TILTED])
def test_gauge_does_not_matter(regular, alpha, g):
    moved = regular.with_hidden_scaled(alpha).with_hidden_shifted(g)
    canonical = moved.canonical(tolerance=1e-11)
    same(canonical, regular.canonical(), 1e-8)
    assert canonical.D[canonical.lead] == 1.0
    # a moved form is the same rational closure; D's factor cancels between N and D
    assert max(relative_l2(moved.rational(), regular.rational())) < 1e-9


def test_canonical_form_and_its_hidden_coordinate():
    moved = ROSSLER.with_hidden_shifted({(1, 0): 0.5, (0, 1): -1.0}).with_hidden_scaled(2.0)
    alpha, g = moved.gauge()
    rng = np.random.default_rng(0)
    states = rng.standard_normal((20, 3))
    jets = moved.jets(states)
    hidden = alpha * states[:, 2] + sum(c * states[:, 0] ** e[0] * states[:, 1] ** e[1] for e, c in g.items())
    assert moved.canonical().hidden(jets) == pytest.approx(hidden, rel=1e-9)


@pytest.mark.parametrize(("amplitude", "time"), [(1e6, 1e-6), (1e-6, 1e6), (1e-6, 1e-6)])
@pytest.mark.parametrize("g", [{}, {(1, 0): 0.5}])
def test_canonical_form_keeps_its_terms_in_any_unit(amplitude, time, g):
    there = ROSSLER.with_hidden_shifted(g).in_units(amplitude, time).canonical()
    here = there.in_units(1.0 / amplitude, 1.0 / time).canonical()
    same(here, ROSSLER, 1e-9)
    assert [set(p) for p in (there.a, there.D, there.P)] == [set(p) for p in (ROSSLER.a, ROSSLER.D, ROSSLER.P)]


@ALL
def test_units(regular):
    amplitude, time = 7.0, 0.2
    physical = regular.in_units(amplitude, time)
    expected = regular.rational().rescaled(amplitude, time)
    points = np.random.default_rng(1).standard_normal((10, regular.order)) * amplitude
    assert physical.rational().rate(points) == pytest.approx(expected.rate(points), rel=1e-9)


@ALL
def test_field_follows_the_rational_closure(regular):
    rng = np.random.default_rng(2)
    for state in rng.standard_normal((5, regular.order)):
        rate = regular.field(state)
        jets = regular.jets(state)
        assert regular.hidden(jets) == pytest.approx(state[-1])
        assert rate[: regular.order - 1] == pytest.approx(jets[1:])
        step = 1e-6
        slope = (regular.jets(state + step * rate)[-1] - regular.jets(state - step * rate)[-1]) / (2 * step)
        assert slope == pytest.approx(float(regular.rational().rate(jets[None])[0]), rel=1e-5)


@ALL
def test_json_and_text(regular):
    back = RegularClosure.from_json(json.loads(json.dumps(regular.to_json())))
    same(back, regular, 0.0)
    assert back.text() == regular.text() and back.order == regular.order
    assert len(regular.text().splitlines()) == regular.order
    assert regular.latex().startswith(r"\begin{aligned}") and "w" in regular.latex()
    assert set(regular.sympy()) == {"a", "D", "P"}


@pytest.mark.parametrize(
    ("a", "big_d", "big_p", "order"),
    [
        ({}, {(0, 0): 1.0}, {}, 1),
        ({(0,): 1.0}, {(0, 0): 1.0}, {}, 3),
        ({}, {}, {}, 3),
        ({}, {(0, 0): 1.0}, {(0, 0): 1.0}, 3),
    ],
)
def test_refuses_what_is_no_regular_closure(a, big_d, big_p, order):
    with pytest.raises(InputError):
        RegularClosure(a, big_d, big_p, order)
