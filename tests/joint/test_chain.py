"""Chains u0' = f0 + c v: exact closure of the record, gauge, units, terms of the field, and Rössler z recovered."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import jetode
from jetode.catalogue.systems import systems
from jetode.equations import mathml
from jetode.equations.closure import relative_l2
from jetode.equations.equilibria import equilibria
from jetode.equations.polynomials import to_sympy
from jetode.equations.regular import RegularClosure
from jetode.joint.forms.chain import chain
from jetode.joint.forms.registry import ladder
from jetode.joint.parts import equation_of, named
from jetode.joint.path import Identified, fit_state, identified_from
from jetode.joint.problem import prepare
from jetode.joint.search import climb
from jetode.joint.shooting.annealing import rescale_hidden
from jetode.joint.shooting.gaussnewton import Fit
from jetode.records.series import Series
from jetode.reporting.exports import export
from jetode.signal.noise import add_noise
from jetode.support.errors import InputError
from truths import LORENZ, eigenvalues_at, to_exact

ROSSLER_Z = RegularClosure(
    {},
    {(0, 0): 1.0},
    {(0, 0, 0): -5.9, (1, 0, 0): 0.2, (0, 1, 0): -1.0, (0, 0, 1): 0.2, (1, 1, 0): -1.0},
    3,
    {(0,): 0.2},
    {(1,): 1.0},
)
WITH_POLES = RegularClosure(
    {(0, 0): 0.5, (1, 1): -0.25},
    {(0, 1): 1.0, (0, 0): 0.75},
    {(0, 0, 0): 1.0, (1, 0, 1): -0.5, (0, 2, 0): 0.25, (0, 1, 2): 0.125},
    3,
    {(0,): -0.5, (1,): 0.25},
    {(2,): 1.0, (1,): -1.5, (0,): 0.5},
)
CHAINS = pytest.mark.parametrize("regular", [ROSSLER_Z, WITH_POLES])


def parts(regular: RegularClosure) -> dict:
    return {"f0": regular.f0, "c": regular.c, "a": regular.a, "D": regular.D, "P": regular.P}


def same(one: RegularClosure, other: RegularClosure, tolerance: float) -> None:
    for p, q in zip(parts(one).values(), parts(other).values(), strict=True):
        size = max((abs(c) for c in q.values()), default=1.0)
        for e in {*p, *q}:
            assert p.get(e, 0.0) == pytest.approx(q.get(e, 0.0), rel=tolerance, abs=tolerance * size)


def states_of(regular: RegularClosure, count: int = 20) -> np.ndarray:
    return np.random.default_rng(3).uniform(1.5, 2.5, (count, regular.order))


# -- the closure of the record -------------------------------------------------------------------------------


@CHAINS
def test_rational_form_is_the_third_derivative(regular):
    u0, v, w = x = sympy.symbols("u0 v w")
    f0, c = (to_exact(p, x[:1]) for p in (regular.f0, regular.c))
    a, big_d = (to_exact(p, x[:2]) for p in (regular.a, regular.D))
    rates = (f0 + c * v, a + big_d * w, to_exact(regular.P, x))

    def rate(e):
        return sum(sympy.diff(e, s) * r for s, r in zip(x, rates, strict=True))

    u1, u2, u3 = rates[0], rate(rates[0]), rate(rate(rates[0]))
    jets = sympy.symbols("u0:3")
    closure = regular.rational()
    numerator, denominator = (to_exact(p, jets) for p in (closure.numerator, closure.denominator))
    at = {jets[0]: u0, jets[1]: u1, jets[2]: u2}
    assert sympy.expand((denominator * sympy.Symbol("u3") - numerator).subs(at).subs(sympy.Symbol("u3"), u3)) == 0
    assert sympy.expand(denominator) != 0


def test_rossler_z_is_a_chain():
    assert max(relative_l2(ROSSLER_Z.rational(), systems["rossler"].closure("z"))) < 1e-15


@CHAINS
def test_jets_are_derivatives_along_the_flow(regular):
    x = states_of(regular)
    jets, rates, step = regular.jets(x), regular.field(x), 1e-6
    forward, backward = (regular.jets(x + s * step * rates) for s in (1, -1))
    slope = (forward - backward) / (2 * step)
    np.testing.assert_allclose(slope[:, :2], jets[:, 1:], rtol=1e-6, atol=1e-6 * np.abs(jets).max())
    np.testing.assert_allclose(slope[:, 2], regular.rational().rate(jets), rtol=1e-5)
    np.testing.assert_allclose(regular.states(jets), x, rtol=1e-9)
    np.testing.assert_allclose(regular.hidden(jets), x[:, 2], rtol=1e-9)


# -- gauge and units ------------------------------------------------------------------------------------------


@CHAINS
@settings(max_examples=20, deadline=None)
@given(alpha=st.floats(0.2, 5.0), shift=st.floats(-2.0, 2.0), slope=st.floats(-1.0, 1.0), beta=st.floats(-4.0, -0.3))
def test_the_canonical_form_does_not_see_the_gauge(regular, alpha, shift, slope, beta):
    canonical = regular.canonical()
    moved = regular.with_hidden_scaled(beta).with_hidden_shifted({(1, 0): 0.7, (0, 1): -0.4})
    moved = moved.changed(1, alpha, {(0,): shift, (1,): slope})
    assert max(relative_l2(moved.rational(), regular.rational())) < 1e-7
    same(moved.canonical(), canonical, 1e-7)
    assert canonical.c[max(canonical.c)] == 1.0 and all(e < max(canonical.c) for e in canonical.f0)


@CHAINS
def test_states_go_to_the_canonical_form_with_the_equations(regular):
    moved = regular.with_hidden_scaled(-2.0).with_hidden_shifted({(1, 0): 0.7, (0, 1): -0.4})
    moved = moved.changed(1, 0.5, {(0,): 0.3, (1,): -0.2})
    for x in states_of(regular, 5):
        jacobian = moved.canonical_jacobian(x)
        steps = 1e-6 * np.eye(3)
        numerical = [(moved.canonical_states(x + s) - moved.canonical_states(x - s)) / 2e-6 for s in steps]
        np.testing.assert_allclose(jacobian, np.transpose(numerical), rtol=1e-6, atol=1e-7)
        rate = moved.canonical().field(moved.canonical_states(x))
        np.testing.assert_allclose(jacobian @ moved.field(x), rate, rtol=1e-8, atol=1e-8 * np.abs(rate).max())


@CHAINS
@pytest.mark.parametrize(("amplitude", "time"), [(3.0, 0.5), (1e6, 1e-3), (1e-6, 1e3)])
def test_units(regular, amplitude, time):
    moved = regular.in_units(amplitude, time)
    assert max(relative_l2(moved.rational(), regular.rational().rescaled(amplitude, time))) < 1e-12
    same(moved.in_units(1 / amplitude, 1 / time), regular, 1e-12)


def test_a_constant_factor_is_no_chain():
    regular = RegularClosure({(0, 1): -11.0}, {(1, 0): 1.0}, dict(LORENZ.P), 3, {(0,): 0.5, (2,): 0.25}, {(0,): 2.0})
    canonical = regular.canonical()
    assert regular.is_chain and not canonical.is_chain and canonical.names() == ("u0", "u1", "w")
    assert max(relative_l2(canonical.rational(), regular.rational())) < 1e-12


# -- as data and in writing -----------------------------------------------------------------------------------


@CHAINS
def test_plain_data(regular):
    same(RegularClosure.from_json(json.loads(json.dumps(regular.to_json()))), regular, 1e-16)
    assert not {"f0", "c"} & LORENZ.to_json().keys()


def test_bad_chains_are_refused():
    with pytest.raises(InputError, match="'order' parameter must be 3 for a chain"):
        RegularClosure({}, {(0, 0, 0): 1.0}, {}, 4, {(0,): 1.0})
    with pytest.raises(InputError, match="Exponents of 'c' must have 1 entries"):
        RegularClosure({}, {(0, 0): 1.0}, {}, 3, {}, {(1, 0): 1.0})
    with pytest.raises(InputError, match="'c' parameter must have at least one term"):
        RegularClosure({}, {(0, 0): 1.0}, {}, 3, {}, {})


def test_text_latex_and_mathml():
    shown = replace(ROSSLER_Z, c={(1,): 1.0, (0,): -2.0})
    assert shown.text() == "u0' = 0.2 + (-2 + u0) v\nv' = w\nw' = -5.9 + 0.2 u0 - v + 0.2 w - u0 v"
    assert shown.latex().startswith(r"\begin{aligned}\dot u_{0} &= 0.2 + \left(-2 + u_{0}\right)\,v \\ \dot v &= w \\ ")
    assert [e.count("<mi>v</mi>") for e in mathml.equations(shown)] == [1, 1, 2]
    x = sympy.symbols("u0 v w")
    assert {k: to_sympy(p, [s.name for s in x][: len(next(iter(p)))]) for k, p in parts(shown).items() if p} == {
        k: e for k, e in shown.sympy().items() if k != "a"
    }


@CHAINS
def test_equilibria_stand_still(regular):
    found = equilibria(regular)
    assert found
    for e in found:
        size = np.abs(regular.field.jacobian(np.array(e.state))).max() * np.abs(e.state).max()
        np.testing.assert_allclose(regular.field(np.array(e.state)), 0.0, atol=1e-9 * size)


def test_equilibria_of_rossler():
    a, b, c = 0.2, 0.2, 5.7
    roots = [(c - s * np.sqrt(c * c - 4 * a * b)) / 2 for s in (1, -1)]
    found = equilibria(ROSSLER_Z)
    assert [e.state[0] for e in found] == pytest.approx([x / a for x in roots])
    assert [e.state[1] for e in found] == pytest.approx([x - c for x in roots])
    for e, x in zip(found, roots, strict=True):
        expected = eigenvalues_at("rossler", (x, -x / a, x / a))
        assert np.sort_complex(np.array(e.eigenvalues)) == pytest.approx(expected, rel=1e-6)


# -- the fit --------------------------------------------------------------------------------------------------


def test_terms_of_the_field_stand_for_the_chain():
    form = chain(2, 1)
    terms = form.terms(ROSSLER_Z)
    assert terms.shifts == 0 and not terms.free[named(terms).index(("c", (1,)))]
    assert form.protected(terms).tolist() == [term == ("c", (0,)) for term in named(terms)]
    same(equation_of(terms), ROSSLER_Z, 1e-16)
    states = np.random.default_rng(0).standard_normal((30, 3)) * [1.0, 7.0, 0.2]
    fit = rescale_hidden(Fit(terms, states, 1.0, 0.0, 0.0, 0, True))
    np.testing.assert_allclose(fit.states[:, 1:].std(axis=0), 1.0)
    assert max(relative_l2(equation_of(fit.terms).rational(), ROSSLER_Z.rational())) < 1e-12
    jets = equation_of(fit.terms).jets(fit.states)
    np.testing.assert_allclose(jets, ROSSLER_Z.jets(states), rtol=1e-9, atol=1e-9)


def record_of_z(noise: float, amplitude: float = 1.0, time: float = 1.0) -> Series:
    record = systems["rossler"].simulate(100.0, dt=0.02, transient=50.0).observe("z")
    values = add_noise(record.values, noise, np.random.default_rng(5)) if noise else record.values
    return Series(amplitude * values, time * record.dt, name="z")


def test_the_path_of_a_known_chain():
    truth = systems["rossler"].simulate(100.0, dt=0.02, transient=50.0).states
    noisy = record_of_z(0.15)
    path = fit_state(ROSSLER_Z, noisy)
    exact = np.column_stack([truth[:, 2], truth[:, 0] - 5.7, -truth[:, 1] - truth[:, 2]])
    assert path.converged and path.chi2 == pytest.approx(1.0, abs=0.1)
    error = np.std(path.states - exact, axis=0) / np.std(exact, axis=0)
    assert np.all(error < 0.02)  # v and w are hidden between the bursts of z
    z = (path.end - exact[-1]) / np.sqrt(np.diag(path.end_covariance))
    assert np.all(np.abs(z) < 4)


@pytest.mark.parametrize(("amplitude", "time"), [(1.0, 1.0), (1e-3, 1e4)])
def test_the_rung_of_chains_finds_rossler_z_under_noise(amplitude, time):
    prepared = prepare([record_of_z(0.05, amplitude, time)], 3, None)
    rungs = [rung for rung in ladder(3) if rung.name == "chain"]
    found = climb(prepared, 3, rungs, lambda: False, lambda _: None)
    assert found.satisfies()
    terms = found.candidates[0].fit.terms
    regular = Identified(terms, prepared.amplitude, prepared.time, 0.05, np.zeros((0, 0))).regular
    true = ROSSLER_Z.in_units(amplitude, time).canonical()
    assert set(regular.P) == set(true.P) and set(regular.f0) == set(true.f0) and not regular.a
    for e, c in true.P.items():
        assert regular.P[e] == pytest.approx(c, rel=0.05)
    assert abs(regular.c[0,]) < 0.01 * amplitude


@pytest.fixture(scope="module")
def clean():
    return jetode.reconstruct(record_of_z(0.0))


def test_rossler_z_clean(clean):
    assert clean.verdict.trusted and clean.regular.is_chain and clean.identified is not None
    same(clean.regular, ROSSLER_Z, 1e-8)
    assert relative_l2(clean.closure, systems["rossler"].closure("z"))[0] < 1e-8
    listed = {(c.part, c.powers): c for c in clean.coefficients()}
    assert listed["f0", (0,)].standard_error < 1e-6 and ("c", (0,)) in listed


def test_a_chain_is_saved_exported_and_run_like_any_model(clean, tmp_path):
    clean.save(tmp_path / "model.json")
    loaded = jetode.load(tmp_path / "model.json")
    assert loaded.to_json() == json.loads(json.dumps(clean.to_json()))
    schema = json.loads((files("jetode.reconstruction") / "schemas" / "model.schema.json").read_text())
    jsonschema.validate(json.loads((tmp_path / "model.json").read_text()), schema)
    ahead, again = clean.forecast(10.0), loaded.forecast(10.0)
    np.testing.assert_array_equal(again.values, ahead.values)
    np.testing.assert_array_equal(again.upper, ahead.upper)
    assert np.all(ahead.lower <= ahead.values + 1e-6) and np.all(ahead.values <= ahead.upper + 1e-6)
    np.testing.assert_allclose(loaded.forecast(5.0, coordinates="jet").values, ahead.values[:251], rtol=1e-5)
    past = loaded.with_record(record_of_z(0.0)).forecast(5.0, start=3000, samples=0)
    np.testing.assert_allclose(past.values, record_of_z(0.0).values[3000:3251], rtol=1e-5)
    module: dict = {}
    exec(export(clean, "python"), module)
    assert module["NAMES"] == ("z", "v", "w")
    np.testing.assert_allclose(module["trajectory"](250)[:, 0], ahead.values[:251], rtol=1e-6)
    rates = clean.equation("sympy")
    assert float(rates["z"].subs({"z": 2.0, "v": 3.0})) == pytest.approx(6.2)


def test_a_model_from_given_equations_knows_its_shape():
    prepared = prepare([record_of_z(0.05)], 3, None)
    model = identified_from(ROSSLER_Z, prepared, prepared.sigma)
    back = Identified.from_json(json.loads(json.dumps(model.to_json())))
    assert back.terms.shifts == model.terms.shifts == 0
    same(back.regular, ROSSLER_Z, 1e-9)


@pytest.mark.long
def test_rossler_z_under_noise():
    model = jetode.reconstruct(record_of_z(0.15))
    assert model.verdict.trusted and model.regular.is_chain
    true = parts(ROSSLER_Z)
    assert {(c.part, c.powers) for c in model.coefficients()} == {
        *((part, e) for part in ("f0", "P") for e in true[part]), ("c", (0,))
    }  # fmt: skip
    for c in model.coefficients():
        assert abs(c.value - true[c.part].get(c.powers, 0.0)) <= 5 * c.standard_error
