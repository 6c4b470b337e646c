"""Functions are found in the weak form and named by the joint fit: identities, and known systems by seed."""

from itertools import pairwise

import numpy as np
import pytest

from jetode.equations.elements import KINDS, Element
from jetode.equations.polynomials import evaluate
from jetode.equations.regular import RegularClosure
from jetode.experiments.elements.cases import CASES
from jetode.joint.elements.candidates import candidate_of, element_form, equation_from, gains_of, linear_form
from jetode.joint.elements.discover import Discovery, Look, Suggestion
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.naming import CATALOGUE, NONE, Functions, imitates, ranking, search_elements
from jetode.joint.elements.rival import polynomial_start
from jetode.joint.elements.weak_form import TEST, Argument, Projection, WeakForm
from jetode.joint.elements.weak_form import test_function as psi
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.problem import Prepared, prepare
from jetode.joint.search import compared_on
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
