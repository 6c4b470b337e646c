"""Forms and their starts: collapse curve, hidden coordinate and P from exact jets of known systems."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.equations.polynomials import Library, evaluate
from jetode.equations.regular import RegularClosure
from jetode.experiments.panel.channels import select
from jetode.joint.forms.affine_pole import affine_pole
from jetode.joint.forms.base import PRIOR, hidden_library
from jetode.joint.forms.curved_pole import curved_pole
from jetode.joint.forms.pole_free import pole_free
from jetode.joint.forms.starts import collapse_curve, regress_increments, smooth_hidden
from jetode.joint.jets import Jets
from jetode.joint.parts import equation_of, is_factor
from jetode.joint.problem import prepare
from truths import LORENZ, ROSSLER

U0 = affine_pole(3, 0, (), 2, 2)


@pytest.fixture(scope="module", params=[("lorenz", LORENZ, 60.0), ("rossler", ROSSLER, 200.0)], ids=lambda p: p[0])
def case(request):
    name, regular, duration = request.param
    prepared = prepare([systems[name].simulate(duration).observe("x")], 3)
    return prepared, regular.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time).canonical()


def test_collapse_finds_a_at_the_true_pole(case):
    prepared, truth = case
    jets = prepared.jets
    a, left = collapse_curve(jets, evaluate(truth.D, jets.u[:, :2]), U0)
    assert left < 0.25
    for e, c in truth.a.items():
        assert a[e] == pytest.approx(c, abs=0.1 * max(map(abs, truth.a.values())))


def test_hidden_coordinate_passes_through_the_pole(case):
    prepared, truth = case
    jets = prepared.jets
    big_d = evaluate(truth.D, jets.u[:, :2])
    w = smooth_hidden(jets, big_d, jets.u[:, 2] - evaluate(truth.a, jets.u[:, :2]))
    far = np.abs(big_d) > 0.5 * np.std(big_d)
    exact = truth.hidden(jets.u)
    assert np.std((w - exact)[far]) < 0.2 * np.std(exact[far])
    assert np.all(np.isfinite(w)) and np.abs(np.diff(w)).max() < 0.2 * np.ptp(w)


def test_start_is_near_the_truth(case):
    prepared, truth = case
    start = U0.start(prepared.jets, truth.D)
    assert np.std(start.states[:, -1]) == pytest.approx(1.0)
    found = equation_of(start.terms).canonical()
    assert evaluate(found.D, np.array([0.3, 0.1])) == pytest.approx(evaluate(truth.D, np.array([0.3, 0.1])), rel=1e-9)
    scale = max(map(abs, truth.P.values()))
    wrong = [found.P.get(e, 0.0) - truth.P.get(e, 0.0) for e in {*found.P, *truth.P}]
    assert np.abs(wrong).max() < 0.5 * scale


def test_increments_give_exact_coefficients_on_an_exact_path():
    t = np.arange(0.0, 60.0, 0.02)
    states = np.column_stack([np.sin(t), np.cos(t), -np.sin(t) + 0.3 * np.sin(2.2 * t)])
    jets = Jets(states, (t.size,), 0.02, 4)
    states = np.column_stack([np.sin(t), 0.3 * np.sin(2.2 * t), np.cos(t) / 1.0 + 0.3 / 2.2 * np.cos(2.2 * t) * -1.0])
    library = Library(((1, 0, 0), (0, 1, 0), (0, 0, 0)), 3)
    found = regress_increments(jets, states, library)
    assert found == pytest.approx([-1.0, 1.0, 0.0], abs=5e-3)


def test_terms_and_back():
    regular = RegularClosure({(0, 0): 1.0, (0, 1): 2.0}, {(1, 0): 3.0, (0, 0): -0.5}, {(1, 0, 1): 4.0}, 3)
    terms = U0.terms(regular, pole_hold=100.0)
    back = equation_of(terms)
    assert back.D == regular.D and {e: c for e, c in back.a.items() if c} == regular.a
    assert {e: c for e, c in back.P.items() if c} == regular.P
    denominator = is_factor(terms)
    assert [terms.exponents[i][:-1] for i in np.flatnonzero(denominator)] == [(1, 0), (0, 0)]
    assert not terms.free[denominator][0] and terms.free[denominator][1]  # the lead fixes the scale of w
    assert terms.mean[denominator][1] == -0.5 and terms.precision[denominator][1] == pytest.approx(100.0 / 9.0)
    assert U0.has_pole and not pole_free(3, 2).has_pole


@pytest.mark.parametrize("origin", [10.0, 100.0, 1000.0])
def test_the_prior_does_not_mind_a_far_origin(origin):
    """(u0 − m)² has coefficients up to m²; with the form's reach they cost as little as those of u0²."""
    square = RegularClosure({}, {(1, 0): 1.0}, {(2, 0, 0): 1.0, (1, 0, 0): -2 * origin, (0, 0, 0): origin**2}, 3)
    costs = []
    for form in (U0, replace(U0, reach=origin)):
        terms = form.terms(square)
        costs.append(float(np.sum((terms.precision * terms.coefficients**2)[terms.free])))
    assert costs[1] == pytest.approx(6 * PRIOR.ridge, rel=1e-9) and costs[0] > origin**4 * PRIOR.ridge  # 1 + 4 + 1


def test_libraries():
    assert all(e[-1] <= 1 and sum(e) <= 3 for e in hidden_library(3, 3))
    assert len(hidden_library(3, 2)) == 9
    tilted = affine_pole(3, 1, (0,), 3, 2)
    assert tilted["D"] == ((0, 1), (1, 0), (0, 0))
    assert all(e[1] == 0 for e in tilted["a"])
    for order in (2, 4):
        form = affine_pole(order, 0, (), 2, 2)
        assert all(len(e) == order for e in form["P"]) and all(e[0] == 0 for e in form["a"])


def test_head_of_several_records():
    jets = Jets(np.zeros((300, 3)), (100, 120, 80), 0.1, 5)
    assert jets.head(1000).lengths == (100, 120, 80)
    assert jets.head(150).lengths == (100, 50)
    assert jets.head(110).lengths == (100,)  # ten samples more are no stretch
    assert jets.head(60).lengths == (60,)
    assert [p.stop for p in jets.pieces()] == [100, 220, 300]


def test_a_curved_form_holds_reduced_closures():
    """PehlivanWei y: with a free of u1 (w shifted by u0²/2 + 1), a is quintic and P has u0⁴."""
    true = select(["PehlivanWei y"], "panel_more.csv")[0].regular
    reduced = true.with_hidden_shifted({(2, 0): 0.5, (0, 0): 1.0})
    form = curved_pole(5, 3, 3)
    assert (5, 0) in reduced.a and (4, 0, 0) in reduced.P
    assert set(reduced.a) <= set(form["a"]) and set(reduced.P) <= set(form["P"])
    assert set(reduced.D) <= set(form["D"])
