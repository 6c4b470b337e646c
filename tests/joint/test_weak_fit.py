"""Model error (docs/mathematics.md §4.9) against dense Gaussian algebra, a Kalman filter and simulated noise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import minimize_scalar

from jetode.joint.path import Identified, past_state
from jetode.joint.problem import prepare
from jetode.joint.shooting.gaussnewton import Data, Linearisation, minimise
from jetode.joint.shooting.layout import RK8, Terms, make_layout
from jetode.joint.shooting.likelihood import firsts, jump_scales, learned_rows, log_determinants, marginal, profiled
from jetode.joint.weak_fit import corrected, jump_of, node_length, search_ratio, weak_data
from jetode.records.series import Series

DAMPING = 0.2
FLOW = np.array([[0.0, 1.0], [-1.0, -DAMPING]])


def oscillator(damping=DAMPING, free=True):
    """u0' = w, w' = −u0 − c w."""
    return Terms(
        2, 0, np.array([0, 1, 1]), ((0, 1), (1, 0), (0, 1)), np.array([1.0, -1.0, -damping]),
        np.array([False, free, free]), np.zeros(3), np.zeros(3),
    )  # fmt: skip


def driven(n, spacing, jump, sigma, rng, fine=10):
    """Samples of the oscillator whose force is white noise of ``jump`` per √time, measured with noise ``sigma``."""
    h = spacing / fine
    step, size = expm(FLOW * h), jump * np.sqrt(h)
    state, out = rng.standard_normal(2), np.empty(n)
    kicks = size * rng.standard_normal(n * fine)
    for i in range(n):
        out[i] = state[0]
        for k in kicks[i * fine : (i + 1) * fine]:
            state = step @ state
            state[1] += k
    return out + sigma * rng.standard_normal(n)


@pytest.fixture(scope="module")
def small():
    n, spacing, sigma = 37, 0.2, 0.3
    layout = make_layout((n,), spacing, 0.1, 0.6, interpolate=False)
    y = driven(n, spacing, 0.5, sigma, np.random.default_rng(0))
    return Data(y, np.full(n, sigma**-2), layout, RK8, np.array([0.1, 1.0])), spacing, sigma


def dense(data, spacing, sigma, q):
    """−2 log ∫ p(y | x0, jumps) dx0, without (N − d) log 2π: y = G x0 + noise with covariance V."""
    n, nodes = data.y.size, data.layout.first[1:]
    flow, power = expm(FLOW * spacing), [np.array([1.0, 0.0])]
    while len(power) < n:
        power.append(power[-1] @ flow)
    g = np.array(power)
    v = sigma**2 * np.eye(n)
    for node in nodes:
        for c in range(2):
            reach = np.array([power[i - node][c] if i >= node else 0.0 for i in range(n)])
            v += (q * data.scale[c]) ** 2 * np.outer(reach, reach)
    inside = g.T @ np.linalg.solve(v, g)
    mean = np.linalg.solve(inside, g.T @ np.linalg.solve(v, data.y))
    left = data.y - g @ mean
    return left @ np.linalg.solve(v, left) + np.linalg.slogdet(v)[1] + np.linalg.slogdet(inside)[1]


@pytest.mark.parametrize("q", [1e-3, 0.1, 1.0])
def test_the_marginal_likelihood_is_that_of_the_dense_gaussian(small, q):
    data, spacing, sigma = small
    terms = oscillator(free=False)
    fit = minimise(data, terms, np.zeros((data.layout.first.size, 2)), q, 20, 1e-12)
    linear = Linearisation(data, terms)
    linear.at(fit.states, terms.coefficients)
    determinants = log_determinants(linear.eliminate(q, 0.0))
    ours = fit.cost + data.y.size * np.log(sigma**2) + determinants
    assert ours == pytest.approx(dense(data, spacing, sigma, q), rel=1e-6)
    found = profiled(data, fit, determinants)
    assert firsts(data) == 1
    best = minimize_scalar(lambda f: dense(data, spacing, sigma * np.exp(f), q * np.exp(f)), tol=1e-10)
    assert found.factor == pytest.approx(np.exp(best.x), rel=1e-4)
    assert found.value == pytest.approx(best.fun, rel=1e-6)
    assert marginal(data, fit) == found


def test_jumps_enter_through_the_learned_rows():
    jerk = Terms(
        3, 1, np.array([1, 2, 2]), ((0, 0, 1), (1, 0, 0), (0, 1, 0)), np.ones(3), np.array([False, True, True]),
        np.zeros(3), np.zeros(3),
    )  # fmt: skip
    assert learned_rows(jerk) == [2]
    np.testing.assert_allclose(jump_scales(jerk, 0.5), [0.25 / 2 / np.sqrt(5), 0.5 / np.sqrt(3), 1.0])
    pole = replace(jerk, exponents=((1, 0, 1), (1, 0, 0), (0, 1, 0)))
    assert learned_rows(pole) == [1, 2]


def test_the_size_of_jumps_and_noise_is_recovered_and_the_coefficients_are_not_biased():
    """A record of a driven oscillator: no decaying path follows it, so that a strong constraint finds no damping."""
    jump, sigma = 0.3, 0.1
    record = Series(driven(6000, 0.1, jump, sigma, np.random.default_rng(1)), 0.1)
    prepared = prepare([record], 2, units=(1.0, 1.0))
    terms = oscillator(0.1)
    data = weak_data(prepared, prepared.sigma, terms)
    weak = search_ratio(data, terms, prepared.jets.u[data.layout.first], prepared.sigma, lambda: False)
    assert weak.sigma == pytest.approx(sigma, rel=0.05)
    unit = weak.fit.terms.coefficients[0]  # of w, at unit spread
    assert jump_of(weak) * unit == pytest.approx(jump, rel=0.15)
    better = corrected(weak, lambda: False)
    assert better.likelihood <= weak.likelihood
    linear = Linearisation(better.data, better.fit.terms)
    linear.at(better.fit.states, better.fit.terms.coefficients)
    errors = np.sqrt(np.diag(linear.eliminate(better.q, 0.0).coefficient_covariance()))
    assert np.all(np.abs(better.fit.terms.coefficients[1:] - [-1.0 / unit, -DAMPING]) < 3.5 * errors)
    strong = weak.fit
    for q in np.geomspace(weak.q, 1e-4, 8):
        strong = minimise(data, strong.terms, strong.states, q, 10)
    assert abs(strong.terms.coefficients[2]) < 0.5 * DAMPING


def kalman(model, y, spacing, nodes):
    """Textbook filter with the model's jumps added at the nodes, from a start of which nothing is known."""
    damping = -model.terms.coefficients[2]
    flow = expm(np.array([[0.0, 1.0], [-1.0, -damping]]) * spacing)
    length = spacing * nodes[1]
    noise = np.diag((model.jump * np.sqrt(length) * jump_scales(model.terms, length)) ** 2)
    state, covariance = np.zeros(2), 1e8 * np.eye(2)
    for i, value in enumerate(y):
        if i:
            state, covariance = flow @ state, flow @ covariance @ flow.T
        if i in nodes[1:]:
            covariance = covariance + noise
        gain = covariance[:, 0] / (covariance[0, 0] + model.sigma**2)
        state = state + gain * (value - state[0])
        covariance = covariance - np.outer(gain, covariance[0])
    return state, covariance


def test_a_past_only_state_is_that_of_the_kalman_filter():
    sigma, jump, spacing = 0.1, 0.3, 0.1
    record = Series(driven(400, spacing, jump, sigma, np.random.default_rng(2)), spacing)
    model = Identified(oscillator(), 1.0, 1.0, sigma, np.zeros((2, 2)), jump=jump)
    found = past_state(model, record, 300)
    prepared = prepare([record.slice(0, 301)], 2, sigma, (1.0, 1.0))
    data = weak_data(prepared, sigma, model.terms)
    assert node_length(data) == pytest.approx(data.layout.first[1] * spacing)
    state, covariance = kalman(model, record.values[:301], spacing, data.layout.first)
    np.testing.assert_allclose(found.last.state, state, atol=1e-4)
    np.testing.assert_allclose(found.last.covariance, covariance, rtol=1e-3, atol=1e-7)


def test_files_without_jumps_are_of_exact_equations():
    model = Identified(oscillator(), 1.0, 1.0, 0.1, np.eye(2), jump=0.3)
    plain = model.to_json()
    assert Identified.from_json(plain).jump == 0.3
    del plain["jump"]
    assert Identified.from_json(plain).jump == 0.0
