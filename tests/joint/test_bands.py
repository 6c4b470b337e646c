"""The forecast's band: draws have the posterior's moments, the band holds the truth as often as it says."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.joint.bands import BOUND, draw, forecast_band
from jetode.joint.path import EndState, identified_from, past_state
from jetode.joint.problem import prepare
from jetode.signal.noise import add_noise
from truths import LORENZ

FREE = np.array([True, False, True, True, True, False])


@pytest.fixture(scope="module")
def record():
    return systems["lorenz"].simulate(45.0).observe("x")


def oracle(record, sigma):
    prepared = prepare([record], 3, sigma)
    return identified_from(LORENZ, prepared, prepared.sigma)


def with_free_coefficients(model, covariance):
    return replace(model, terms=replace(model.terms, free=FREE), covariance=covariance)


def test_draws_have_the_joint_moments(record):
    rng = np.random.default_rng(0)
    root = 0.1 * rng.standard_normal((7, 7))
    joint = root @ root.T
    model = with_free_coefficients(oracle(record, 1.0), joint[:4, :4])
    end = EndState(np.array([0.3, -0.2, 1.0]), joint[4:, 4:], joint[4:, :4])
    coefficients, states = draw(model, end, 40_000, rng)
    drawn = np.hstack([coefficients, states])
    assert drawn.mean(axis=0) == pytest.approx(np.append(model.terms.coefficients[FREE], end.state), abs=5e-3)
    assert np.cov(drawn.T) == pytest.approx(joint, abs=0.03 * np.abs(joint).max())


def test_same_seed_same_band(record):
    model = oracle(record, 1.0)
    end = past_state(model, record, 3000).last
    bands = [forecast_band(model, end, 50, record.dt, 20, np.random.default_rng(3)) for _ in range(2)]
    assert np.array_equal(bands[0].lower, bands[1].lower) and np.array_equal(bands[0].upper, bands[1].upper)
    band = bands[0]
    assert np.all(band.lower <= band.inner_lower) and np.all(band.inner_lower <= band.inner_upper)
    assert np.all(band.inner_upper <= band.upper)


@pytest.mark.long
def test_band_is_calibrated():
    """With the exact equations, over one Lyapunov time, many stretches, starts and noises."""
    inside, inner = [], []
    for stretch in range(8):
        record = systems["lorenz"].simulate(45.0, transient=50.0 + 45.0 * stretch).observe("x")
        sigma = 0.15 * record.std
        model = oracle(record.with_values(add_noise(record.values, 0.15, np.random.default_rng(99))), sigma)
        for seed in range(8 * stretch, 8 * stretch + 8):
            measured = record.with_values(add_noise(record.values, 0.15, np.random.default_rng(seed)))
            start = 1500 + 340 * (seed % 8)
            end = past_state(model, measured, start).last
            band = forecast_band(model, end, 110, record.dt, 100, np.random.default_rng(seed))
            truth = record.values[start : start + 111]
            inside.append(np.mean((truth >= band.lower) & (truth <= band.upper)))
            inner.append(np.mean((truth >= band.inner_lower) & (truth <= band.inner_upper)))
    assert 0.75 < np.mean(inside) <= 1.0
    assert 0.3 < np.mean(inner) < 0.7


def test_band_of_a_clean_record_holds_the_truth(record):
    model = oracle(record, None)
    end = past_state(model, record, 3000).last
    band = forecast_band(model, end, 100, record.dt, 20, np.random.default_rng(0))
    truth = record.values[3000:3101]
    width = band.upper - band.lower
    assert np.all(width < 1e-3 * record.std)
    assert np.abs(0.5 * (band.upper + band.lower) - truth).max() < 1e-5 * record.std


def test_members_that_leave_are_held_far_away(record):
    covariance = np.diag([4.0, 4.0, 4.0, 4.0])
    model = with_free_coefficients(oracle(record, 1.0), covariance)
    end = EndState(np.array([1.0, 0.0, 0.5]), 0.01 * np.eye(3), np.zeros((3, 4)))
    band = forecast_band(model, end, 400, record.dt, 40, np.random.default_rng(0))
    assert np.all(np.isfinite(band.upper)) and np.all(np.isfinite(band.lower))
    assert max(band.upper.max(), -band.lower.min()) <= (BOUND + 3.0) * model.amplitude
