"""Clipped samples as one-sided observations."""

import numpy as np
import pytest
from scipy.special import log_ndtr

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.regular import RegularClosure
from jetode.joint.parts import equation_terms
from jetode.joint.path import Identified, fit_state
from jetode.joint.problem import prepare
from jetode.joint.rails import arched, sides
from jetode.joint.shooting.censored import FAR, expected_cost, surrogate
from jetode.joint.shooting.flow import evaluate_path
from jetode.joint.shooting.gaussnewton import Data, Linearisation, minimise
from jetode.joint.shooting.layout import RK4, make_layout
from jetode.signal.artefacts import UNLIMITED

LORENZ_X = RegularClosure(
    {(0, 1): -11.0},
    {(1, 0): 1.0, (0, 0): 0.0},
    {(0, 0, 0): 720.0, (0, 0, 1): -8.0 / 3.0, (1, 1, 0): -1.0, (2, 0, 0): -10.0},
    3,
)
OSCILLATOR = equation_terms(RegularClosure({}, {(0,): 1.0}, {(1, 0): -1.0, (0, 1): -0.05}, 2))


def clipped_lorenz(level: float, seconds: float = 30.0) -> tuple[np.ndarray, jetode.Series]:
    """The clean signal, and with 5 % noise clipped at ``level`` std."""
    clean = systems["lorenz"].simulate(seconds, dt=0.01, transient=50.0).observe("x").values
    noisy = jetode.add_noise(clean, 0.05, np.random.default_rng(7))
    return clean, jetode.Series(np.clip(noisy, -level * clean.std(), level * clean.std()), 0.01)


def test_slope_and_curvature_are_those_of_the_likelihood():
    z = np.array([-30.0, -8.0, -2.0, 0.0, 0.7, 3.0])
    h = 1e-4
    curvature, total = surrogate(z)
    slope = (log_ndtr(z + h) - log_ndtr(z - h)) / (2 * h)
    bend = -(log_ndtr(z + h) - 2 * log_ndtr(z) + log_ndtr(z - h)) / h**2
    np.testing.assert_allclose(curvature / total, slope, rtol=1e-6)
    np.testing.assert_allclose(curvature, bend, rtol=1e-3, atol=1e-6)


def test_far_inside_the_rail_a_sample_is_an_ordinary_one():
    curvature, total = surrogate(np.array([FAR, 2 * FAR, 1e6 * FAR]))
    np.testing.assert_allclose(curvature, 1.0, rtol=1e-3)
    np.testing.assert_allclose(1.0 / total, -np.array([1.0, 2.0, 1e6]) * FAR, rtol=1e-3)


def test_what_clipped_samples_are_expected_to_cost():
    """Of a ramp through the rail with noise: on average over many, to a twentieth of what the clipped ones add."""
    rng = np.random.default_rng(3)
    clean = np.tile(np.linspace(-30.0, 30.0, 601), 200)  # in σ
    y = np.minimum(clean + rng.standard_normal(clean.size), 0.0)
    side = (y >= 0.0).astype(float)
    plain = side == 0
    actual = np.sum((y - clean)[plain] ** 2) - 2 * np.sum(log_ndtr(clean[~plain]))
    extra = actual - np.count_nonzero(plain)
    predicted = expected_cost(y, np.ones_like(y), side) - np.count_nonzero(plain)
    assert extra > 3000 and predicted == pytest.approx(extra, rel=0.1)


def test_linearised_cost_has_the_gradient_of_the_cost():
    rng = np.random.default_rng(0)
    layout = make_layout([81], 0.1, 0.1, 0.5)
    states = np.stack([np.sin(0.1 * layout.first), np.cos(0.1 * layout.first)], axis=1)
    y = np.clip(np.sin(0.1 * np.arange(81.0)), -0.7, 0.7)
    data = Data(y, np.full(81, 100.0), layout, RK4, side=sides(y, (-0.7, 0.7)))
    assert 0 < data.n_samples < 81
    terms = OSCILLATOR.with_coefficients(OSCILLATOR.coefficients.copy())
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    step = 1e-6 * rng.standard_normal(states.shape)
    costs = []
    for sign in (1.0, -1.0):
        predicted, jumps = np.empty(81), np.empty_like(states)
        costs.append(evaluate_path(states + sign * step, terms.coefficients, data, linear.program, predicted, jumps))
    assert np.isclose(np.sum(linear.gradient * step), (costs[0] - costs[1]) / 4.0, rtol=1e-4)
    assert np.isclose(linear.misfit, 0.5 * (costs[0] + costs[1]), rtol=1e-6)


def test_rails_beyond_all_samples_change_no_bit():
    record = clipped_lorenz(9.0, 10.0)[1]
    far, plain = (prepare([record], 3, rails=rails) for rails in ((-1e6, 1e6), UNLIMITED))
    assert far.side is None and far.rails == UNLIMITED
    terms = equation_terms(LORENZ_X.in_units(1 / far.amplitude, 1 / far.time))
    fits = []
    for prepared in (far, plain):
        data = prepared.data(0.05)
        start = np.zeros((data.layout.first.size, 3))
        fits.append(minimise(data, terms, start, 1.0, max_iterations=2))
    np.testing.assert_array_equal(fits[0].states, fits[1].states)
    assert fits[0].cost == fits[1].cost


def test_the_path_goes_on_beyond_the_rail():
    """Of the true equation, through a record clipped at 1.2 std: as near to the signal as the noise, where samples that
    are taken as they stand hold it on the rail."""
    clean, record = clipped_lorenz(1.2)
    beyond = np.abs(clean) > 1.3 * clean.std()
    assert beyond.mean() > 0.15
    path = fit_state(LORENZ_X, record)
    error = np.std((path.states[:, 0] - clean)[beyond]) / clean.std()
    assert error < 0.03
    limit = 1.2 * clean.std()
    assert np.array_equal(np.isnan(path.residuals), sides(record.values, (-limit, limit)) != 0)
    flat = np.std((record.values - clean)[beyond]) / clean.std()
    assert flat > 5 * error


def test_arches_are_nearer_than_the_rail():
    t = 0.05 * np.arange(330)  # begins and ends inside the rails
    clean = np.sin(t)
    clipped = np.clip(clean, -0.8, 0.8)
    side = sides(clipped, (-0.8, 0.8))
    bent = arched(clipped, side)
    assert np.array_equal(bent[side == 0], clipped[side == 0])
    assert np.max(np.abs(bent - clean)) < 0.5 * np.max(np.abs(clipped - clean))


def test_rails_are_kept_in_a_file():
    model = Identified(OSCILLATOR, 2.0, 1.0, 0.1, np.zeros((0, 0)), rails=(-np.inf, 3.5))
    assert Identified.from_json(model.to_json()).rails == (-np.inf, 3.5)
    assert "rails" not in Identified(OSCILLATOR, 2.0, 1.0, 0.1, np.zeros((0, 0))).to_json()


@pytest.mark.slow
def test_clipped_lorenz_is_found():
    """Nearly a third of the samples on the rails; without rails no equation fits."""
    record = clipped_lorenz(1.2, 60.0)[1]
    model = jetode.reconstruct(record)
    assert model.verdict.grade == "exact"
    assert jetode.relative_l2(model.closure, systems["lorenz"].closure("x"))[0] < 0.02
