"""Term selection: the quadratic model against brute force, and the right terms of a small noisy problem."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from jetode.joint import term_selection
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.flow import sample_states
from jetode.joint.shooting.gaussnewton import Data
from jetode.joint.shooting.layout import RK8, Terms, make_layout
from jetode.joint.term_selection import Quadratic, eliminate, quadratic_model

ROWS = np.array([0, 1, 1, 1, 1, 1], np.int64)
EXPONENTS = ((0, 1), (1, 0), (0, 1), (2, 1), (2, 0), (1, 1))
TRUE = np.array([1.0, -1.0, 1.0, -1.0, 0.0, 0.0])
PRICE = 9.0


def terms_at(coefficients):
    free = np.array([False] + 5 * [True])
    return Terms(2, 0, ROWS, EXPONENTS, np.array(coefficients), free, np.zeros(6), np.full(6, 1e-6))


def random_quadratic(seed, n=6):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n + 2))
    return Quadratic(rng.standard_normal(n) * rng.choice([0.05, 2.0], n), root @ root.T)


@pytest.mark.parametrize("seed", range(5))
def test_restricted_cost_is_the_constrained_minimum(seed):
    model = random_quadratic(seed)
    for keep in map(np.array, product([False, True], repeat=6)):
        f, full = model.information, model.theta
        best = np.zeros(6)
        if keep.any():
            best[keep] = np.linalg.solve(f[np.ix_(keep, keep)], (f @ full)[keep])
        expected = (best - full) @ f @ (best - full)
        assert model.restricted_cost(keep) == pytest.approx(expected, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_changes_are_those_of_the_restricted_cost(seed):
    """One inverse tells what every single removal and addition costs."""
    model = random_quadratic(seed)
    for keep in map(np.array, product([False, True], repeat=6)):
        flips = [np.where(np.arange(6) == j, ~keep, keep) for j in range(6)]
        expected = [model.restricted_cost(flip) - model.restricted_cost(keep) for flip in flips]
        assert model.changes(keep) == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_exchanges_are_those_of_the_restricted_cost(seed):
    model = random_quadratic(seed)
    protected = np.arange(6) == 1
    for keep in map(np.array, product([False, True], repeat=6)):
        found = model.exchanges(keep, protected)
        assert len(found) == (keep & ~protected).sum() * (~keep).sum()
        assert [rise for rise, _ in found] == sorted(rise for rise, _ in found)
        for rise, other in found:
            assert other.sum() == keep.sum() and (other & keep).sum() == keep.sum() - 1 and other[1] >= keep[1]
            assert rise == pytest.approx(model.restricted_cost(other) - model.restricted_cost(keep), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_best_support_against_all_supports(seed):
    model = random_quadratic(seed)
    protected = np.zeros(6, bool)
    protected[0] = True
    start = np.ones(6, bool)
    found = model.best_support(start, protected, 1.0)
    assert found[0] and start.all()

    def score(keep):
        return model.restricted_cost(keep) + keep.sum()

    flips = [np.where(np.arange(6) == j, ~found, found) for j in range(1, 6)]
    assert all(score(found) <= score(k) + 1e-9 for k in flips)  # no single change is better
    every = [np.array((True, *k)) for k in product([False, True], repeat=5)]
    assert score(found) <= sorted(score(k) for k in every)[3] + 1e-9  # greedy, yet among the best few of 32


@pytest.mark.parametrize("protect", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_supports_is_that_of_an_enumeration(seed, protect):
    model = random_quadratic(seed)
    protected = np.arange(6) == (2 if protect else -1)
    every = [np.array(k) for k in product([False, True], repeat=6) if any(k) and np.all(np.array(k) | ~protected)]
    found = model.best_of_all(protected, 1.0)
    assert any(np.array_equal(found, k) for k in every)
    lowest = min(model.restricted_cost(k) + k.sum() for k in every)
    assert model.restricted_cost(found) + found.sum() == pytest.approx(lowest, rel=1e-9)


def test_best_support_ends_where_terms_are_nearly_dependent():
    """Rounding then breaks the promise of single changes: the descent must not go in circles."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        root = rng.standard_normal((12, 12)) * np.geomspace(1.0, 1e-9, 12)
        root[:, 1] = root[:, 0] + 1e-9 * root[:, 2]
        model = Quadratic(rng.standard_normal(12) * 1e3, root.T @ root * 1e6)
        found = model.best_support(np.ones(12, bool), np.zeros(12, bool), 10.0)
        start, end = (model.restricted_cost(k) + 10.0 * k.sum() for k in (np.ones(12, bool), found))
        assert end <= start


def test_ranked_removals_are_wald_tests():
    model = random_quadratic(7)
    ranked = model.ranked_removals(np.ones(6, bool), np.zeros(6, bool))
    wald = model.theta**2 / np.diag(np.linalg.inv(model.information))
    assert [j for _, j in ranked] == list(np.argsort(wald))
    assert [rise for rise, _ in ranked] == pytest.approx(np.sort(wald), rel=1e-8)


@pytest.fixture(scope="module")
def problem():
    n, spacing, sigma = 700, 0.05, 0.1
    layout = make_layout((n,), spacing, 0.06, 0.25, interpolate=False)
    single = layout._replace(first=np.array([0, n]), spans=np.array([n, 0]))
    path = np.empty((n + 1, 2))
    sample_states(np.array([[2.0, 0.0], [0.0, 0.0]]), TRUE, terms_at(TRUE).program(), single, RK8, path)
    y = path[:n, 0] + sigma * np.random.default_rng(0).standard_normal(n)
    return Data(y, np.full(n, sigma**-2), layout, RK8), path[:n]


def test_quadratic_model_predicts_refits(problem):
    data, path = problem
    schedule = Schedule((0.01, 1e-3), 20)
    full = anneal(data, terms_at(TRUE), path[data.layout.first], schedule, rescale=False)
    model = quadratic_model(data, full.terms, full)
    assert model.theta == pytest.approx(full.terms.coefficients[1:], abs=1e-3)
    keep = np.array([True, True, True, True, False, False])
    refit = anneal(data, full.terms.select(keep), full.states, schedule, rescale=False)
    predicted = model.restricted_cost(keep[1:])
    assert refit.cost - full.cost == pytest.approx(predicted, rel=0.1, abs=0.05)
    # and from the smaller model back to the larger: the score test
    back = quadratic_model(data, full.terms, refit)
    fall = back.restricted_cost(keep[1:])
    assert fall == pytest.approx(predicted, rel=0.1, abs=0.05)


def test_finds_the_true_terms(problem):
    data, path = problem
    noisy = path[data.layout.first] + 0.05
    start = anneal(
        data, terms_at([1.0, -0.8, 0.5, -0.5, 0.3, 0.3]), noisy, Schedule((1.0, 0.1, 0.01), 10), rescale=False
    )
    protected = np.zeros(6, bool)
    chosen = eliminate(data, start.terms, start, protected, PRICE)
    assert set(chosen.fit.terms.exponents) == {(0, 1), (1, 0), (2, 1)}
    assert len(chosen.fit.terms.exponents) == 4  # (0, 1) in both rows
    assert chosen.bic == pytest.approx(chosen.fit.cost + 3 * PRICE)
    kept = eliminate(data, start.terms, start, np.array([False, True, True, True, True, False]), PRICE)
    assert (2, 0) in kept.fit.terms.exponents


def test_refits_that_are_given_up_do_not_change_what_is_found(problem, monkeypatch):
    data, path = problem
    start = anneal(data, terms_at(TRUE), path[data.layout.first], Schedule((0.1, 0.01), 10), rescale=False)
    short = eliminate(data, start.terms, start, np.zeros(6, bool), PRICE)
    monkeypatch.setattr(term_selection, "SETTINGS", replace(term_selection.SETTINGS, hopeless=1e9))  # nothing is
    whole = eliminate(data, start.terms, start, np.zeros(6, bool), PRICE)
    assert short.fit.terms.exponents == whole.fit.terms.exponents
    assert short.bic == pytest.approx(whole.bic, abs=1e-3)


def test_interrupted_selection_returns_what_it_has(problem):
    data, path = problem
    start = anneal(data, terms_at(TRUE), path[data.layout.first], Schedule((0.1,), 3), rescale=False)
    chosen = eliminate(data, start.terms, start, np.zeros(6, bool), PRICE, interrupt=lambda: True)
    assert np.isfinite(chosen.bic) and chosen.fit.terms.exponents == EXPONENTS


def test_a_fit_above_the_ceiling_keeps_its_terms(problem):
    data, path = problem
    start = anneal(data, terms_at(TRUE), path[data.layout.first], Schedule((0.1, 0.01), 10), rescale=False)
    free = np.zeros(6, bool)
    kept = eliminate(data, start.terms, start, free, PRICE, ceiling=0.5 * start.cost)
    assert kept.fit.terms.exponents == EXPONENTS
    assert kept.bic == pytest.approx(kept.fit.cost + PRICE * 5)
    assert len(eliminate(data, start.terms, start, free, PRICE, ceiling=2 * start.cost).fit.terms.exponents) == 4
