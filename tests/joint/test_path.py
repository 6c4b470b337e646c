"""Path of a known closure: the oracle's errors agree with its covariance, and past-only states see the past only."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.equations.regular import RegularClosure
from jetode.joint.path import Identified, carry, fit_state, identified_from, past_state
from jetode.joint.problem import prepare
from jetode.records.series import Series
from jetode.signal.noise import add_noise
from jetode.support.errors import InputError
from truths import LORENZ, ROSSLER

SIGMA = 0.15


@pytest.fixture(scope="module")
def trajectory():
    return systems["lorenz"].simulate(30.0)


@pytest.fixture(scope="module")
def record(trajectory):
    return trajectory.observe("x")


def noisy(record, seed=0, fraction=SIGMA):
    return record.with_values(add_noise(record.values, fraction, np.random.default_rng(seed)))


def regular_states(trajectory):
    x, y, z = trajectory.states.T
    return np.column_stack([x, 10 * (y - x), 270 - 10 * z])


def oracle(record, regular=LORENZ, sigma=None):
    prepared = prepare([record], 3, sigma)
    return identified_from(regular, prepared, prepared.sigma)


def test_clean_path_is_exact(trajectory, record):
    fit = fit_state(LORENZ, record)
    truth = regular_states(trajectory)
    assert np.abs(fit.states - truth).max(axis=0) / truth.std(axis=0) == pytest.approx(0.0, abs=1e-6)
    assert fit.end == pytest.approx(fit.states[-1], rel=1e-9)


def test_errors_agree_with_the_covariance(trajectory, record):
    truth = regular_states(trajectory)
    distances, chi2 = [], []
    for seed in range(10):
        fit = fit_state(LORENZ, noisy(record, seed), SIGMA * record.std)
        distances.append((fit.end - truth[-1]) ** 2 / np.diag(fit.end_covariance))
        chi2.append(fit.chi2)
        assert fit.converged
    assert np.all(np.mean(distances, axis=0)[1:] < 2.5) and np.all(np.mean(distances, axis=0) > 0.2)  # 1 ± 0.4
    assert np.median(distances, axis=0)[0] < 2.0  # near an extremum u0 is known to second order only
    assert np.mean(chi2) == pytest.approx(1.0, abs=0.02)


def test_residuals_are_the_noise_and_smoothing_helps(trajectory, record):
    measured = noisy(record)
    fit = fit_state(LORENZ, measured)
    assert np.std(fit.residuals) == pytest.approx(1.0, abs=0.05)
    error = fit.states[:, 0] - record.values
    assert np.std(error) < 0.1 * SIGMA * record.std
    assert np.corrcoef(fit.residuals, measured.values - record.values)[0, 1] < -0.99


def test_past_only_states_use_no_later_sample(record):
    measured = noisy(record)
    model = oracle(measured)
    changed = measured.values.copy()
    changed[2001:] = np.random.default_rng(9).standard_normal(record.n - 2001) * 50.0
    before, after = past_state(model, measured, 2000), past_state(model, measured.with_values(changed), 2000)
    assert np.array_equal(before.end, after.end) and np.array_equal(before.end_covariance, after.end_covariance)
    changed[2000] += 1.0
    assert not np.array_equal(before.end, past_state(model, measured.with_values(changed), 2000).end)


def test_units(trajectory, record):
    amplitude, time = 1e6, 1e-6
    measured = noisy(record)
    here = fit_state(LORENZ, measured)
    there = fit_state(
        LORENZ.in_units(amplitude, time).canonical(), Series(measured.values * amplitude, record.dt * time)
    )
    factors = np.array([amplitude, amplitude / time, 1.0 / time**2])  # w = (u2 + 11 u1)/u0
    assert there.end / factors == pytest.approx(here.end, rel=1e-5)
    assert there.chi2 == pytest.approx(here.chi2, rel=1e-6)
    scale = np.outer(factors, factors)
    assert there.end_covariance / scale == pytest.approx(here.end_covariance, rel=1e-4)


def test_gap_is_crossed_and_long_gap_is_left_out(trajectory, record):
    values = noisy(record).values.copy()
    values[1000:1010] = np.nan
    values[2000:2200] = np.nan
    fit = fit_state(LORENZ, record.with_values(values))
    assert np.isnan(fit.states[2000:2200]).all() and not np.isnan(fit.states[:2000]).any()
    assert np.isnan(fit.residuals[1000:1010]).all()
    error = (fit.states - regular_states(trajectory))[1000:1010]
    assert np.abs(error[:, 0]).max() < 0.2 * record.std


@pytest.mark.parametrize("missing", [5, 60])
def test_missing_last_samples_are_crossed_by_the_equation(trajectory, record, missing):
    truth = regular_states(trajectory)
    model = oracle(noisy(record), sigma=SIGMA * record.std)
    distances = []
    for seed in range(5):
        values = noisy(record, seed).values.copy()
        values[2501 - missing : 2501] = np.nan
        fit = past_state(model, record.with_values(values), 2500)
        distances.append((fit.end - truth[2500]) ** 2 / np.diag(fit.end_covariance))
    assert np.all(np.mean(distances, axis=0) < 4.0)


def test_carrying_a_state_is_the_flow(record):
    model = oracle(record)
    start = past_state(model, record, 1500)
    later = carry(model, start.last, 40, record.dt / model.time)
    assert model.physical(later.state)[0] == pytest.approx(record.values[1540], rel=1e-5)
    step = 1e-6
    for j in range(3):
        moved = start.last.state.copy()
        moved[j] += step
        end = carry(model, type(start.last)(moved, start.last.covariance, start.last.mixed), 40, record.dt / model.time)
        unit = np.zeros((3, 3))
        unit[j, j] = 1.0
        spread = carry(model, type(start.last)(start.last.state, unit, start.last.mixed), 40, record.dt / model.time)
        slope = (end.state - later.state) / step
        assert np.diag(spread.covariance) == pytest.approx(slope**2, rel=1e-3, abs=1e-9)


def test_early_and_missing_samples_are_refused(record):
    measured = noisy(record)
    model = oracle(measured)
    with pytest.raises(InputError, match="sample 10"):
        past_state(model, measured, 10)
    with pytest.raises(InputError):
        fit_state(LORENZ, measured.slice(0, 60))
    with pytest.raises(InputError, match="RegularClosure"):
        fit_state(systems["lorenz"].closure("x"), measured)


def test_json_round_trip(record):
    model = oracle(noisy(record))
    back = Identified.from_json(model.to_json())
    assert back.regular.text() == model.regular.text() and back.sigma == model.sigma
    state = np.array([0.3, -0.2, 0.9])
    assert np.array_equal(back.physical(state), model.physical(state))


def test_physical_coordinates_and_their_jacobian(record):
    moved = ROSSLER.with_hidden_shifted({(1, 0): 0.5, (0, 1): -0.3})
    model = oracle(systems["rossler"].simulate(60.0).observe("x"), moved)
    states = np.random.default_rng(4).standard_normal((9, 3))
    physical = model.physical(states)
    assert model.regular.text(4) == ROSSLER.text(4)
    assert physical[:, 0] == pytest.approx(states[:, 0] * model.amplitude)
    jacobian = model.physical_jacobian(states[7])
    for j in range(3):
        step = np.zeros(3)
        step[j] = 1e-6
        slope = (model.physical(states[7] + step) - model.physical(states[7] - step)) / 2e-6
        assert jacobian[:, j] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_wrong_equation_does_not_fit(record):
    wrong = RegularClosure(dict(LORENZ.a), dict(LORENZ.D), dict(LORENZ.P) | {(0, 0, 1): -4.0}, 3)
    assert fit_state(wrong, noisy(record)).chi2 > 1.3
