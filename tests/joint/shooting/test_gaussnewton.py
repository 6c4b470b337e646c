"""Gauss–Newton on the shooting cost: it finds a known path and its coefficients, and fails as a value."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.joint.shooting.annealing import Rounds, Schedule, anneal, arrived, rescale_hidden
from jetode.joint.shooting.flow import sample_states
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation, minimise
from jetode.joint.shooting.layout import RK8, Terms, make_layout

ROWS = np.array([0, 1, 1, 1], np.int64)
EXPONENTS = ((0, 1), (1, 0), (0, 1), (2, 1))  # van der Pol as u0' = D w, w' = P
TRUE = np.array([1.0, -1.0, 1.0, -1.0])
SIGMA = 0.1


def terms_at(coefficients, free=(False, True, True, True)):
    return Terms(2, 0, ROWS, EXPONENTS, np.array(coefficients), np.array(free), np.zeros(4), np.full(4, 1e-6))


@pytest.fixture(scope="module")
def problem():
    n, spacing = 800, 0.05
    layout = make_layout((n,), spacing, 0.06, 0.25, interpolate=False)
    single = layout._replace(first=np.array([0, n - 1]), spans=np.array([n - 1, 0]))
    path = np.empty((n, 2))
    sample_states(np.array([[2.0, 0.0], [0.0, 0.0]]), TRUE, terms_at(TRUE).program(), single, RK8, path)
    path[-1] = path[-2]
    noise = SIGMA * np.random.default_rng(0).standard_normal(n)
    data = Data((path[:, 0] + noise)[: n - 1], np.full(n - 1, SIGMA**-2), make_layout((n - 1,), spacing, 0.06, 0.25,
                interpolate=False), RK8)  # fmt: skip
    return data, path[: n - 1]


def test_finds_path_and_coefficients(problem):
    data, path = problem
    rng = np.random.default_rng(1)
    start = path[data.layout.first] + 0.2 * rng.standard_normal((data.layout.first.size, 2))
    fit = anneal(
        data, terms_at([1.0, -0.5, 0.5, -0.5]), start, Schedule((1.0, 0.1, 0.01, 1e-3, 1e-4), 20), rescale=False
    )
    assert fit.converged
    assert fit.cost / data.n_samples == pytest.approx(1.0, abs=4 * np.sqrt(2 / data.n_samples))
    linear = Linearisation(data, fit.terms)
    linear.at(fit.states, fit.terms.coefficients)
    covariance = linear.eliminate(fit.q, 0.0).coefficient_covariance()
    errors = (fit.terms.coefficients - TRUE)[1:]
    assert errors @ np.linalg.solve(covariance, errors) < 16.0  # χ² with 3 degrees of freedom
    assert fit.terms.coefficients[0] == 1.0  # fixed


def test_a_fit_that_is_on_its_way_arrives(problem):
    """Rounds of two iterations a level, each from where the last has ended, come to the minimum of a patient fit; one
    that is there already is not made worse."""
    data, path = problem
    schedule = Schedule((2e-3, 1e-3), 2)
    begun = minimise(data, terms_at([1.0, -0.3, 0.3, -0.3]), path[data.layout.first], 1e-3, 1)
    there = anneal(data, begun.terms, begun.states, Schedule((1e-2, 1e-3), 40))
    fit = arrived(data, begun, Rounds(schedule, 30, 0.01))
    assert begun.cost > there.cost + 1.0 and fit.cost == pytest.approx(there.cost, abs=0.1)
    assert arrived(data, there, Rounds(schedule, 1, 0.01)).cost <= there.cost
    assert arrived(data, begun, Rounds(schedule, 1, 0.01), lambda: True).cost <= begun.cost


def test_cost_never_rises_and_the_jumps_close_as_q_squared(problem):
    """A penalty method: what is left of a constraint is its multiplier times q², so that misfits rise to a limit."""
    data, path = problem
    fit = Fit(terms_at(TRUE), path[data.layout.first], 1.0, np.inf, np.inf, 0, False)
    sizes, misfits = [], []
    for q in (1e-2, 1e-5, 1e-8):
        first = minimise(data, fit.terms, fit.states, q, 0)
        fit = minimise(data, fit.terms, fit.states, q, 8)
        assert fit.cost <= first.cost
        sizes.append(np.sqrt(fit.jumps) * q)
        misfits.append(fit.misfit)
    assert sizes[1] < 1e-4 * sizes[0] and sizes[2] == pytest.approx(1e-6 * sizes[1], rel=0.05)
    assert misfits == sorted(misfits) and misfits[2] == pytest.approx(misfits[1], rel=1e-5)


def test_inputs_are_left_alone(problem):
    data, path = problem
    start = path[data.layout.first] + 0.1
    terms = terms_at(TRUE)
    before, coefficients = start.copy(), terms.coefficients.copy()
    minimise(data, terms, start, 0.1, 3)
    assert np.array_equal(start, before) and np.array_equal(terms.coefficients, coefficients)


def test_a_hopeless_start_is_a_value(problem):
    data, _ = problem
    start = np.full((data.layout.first.size, 2), 1e150)
    fit = minimise(data, terms_at(TRUE), start, 0.1)
    assert fit.cost == np.inf and not fit.converged and fit.iterations == 0
    nan = minimise(data, terms_at(TRUE), np.full_like(start, np.nan), 0.1)
    assert not np.isfinite(nan.cost) and not nan.converged


def test_interrupt_ends_at_once(problem):
    data, path = problem
    fit = minimise(data, terms_at(TRUE), path[data.layout.first] + 0.1, 0.1, interrupt=lambda: True)
    assert fit.iterations == 0 and not fit.converged and np.isfinite(fit.cost)


def test_rescaling_the_hidden_coordinate_changes_nothing_seen(problem):
    data, path = problem
    states = path[data.layout.first] * np.array([1.0, 4.0])
    terms = replace(terms_at(TRUE * np.array([0.25, 4.0, 1.0, 1.0])), mean=np.array([0.0, 1.0, 2.0, 3.0]))
    fit = minimise(data, terms, states, 0.1, 0)
    scaled = rescale_hidden(fit)
    assert np.std(scaled.states[:, -1]) == pytest.approx(1.0)
    again = minimise(data, scaled.terms, scaled.states, 0.1, 0)
    assert again.misfit == pytest.approx(fit.misfit, rel=1e-9)
    old, new = fit.terms, scaled.terms
    penalty = [t.precision * (t.coefficients - t.mean) ** 2 for t in (old, new)]
    assert penalty[0] == pytest.approx(penalty[1])
