"""How far an equation may be off on the motion by its own standard errors (6.7)."""

import numpy as np
import pytest

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.polynomials import evaluate
from jetode.reconstruction.field_uncertainty import field_uncertainty
from jetode.signal.noise import add_noise


@pytest.fixture(scope="module")
def record():
    signal = systems["rossler"].simulate(duration=120.0, dt=0.06, transient=200.0).observe("x")
    return jetode.Series(add_noise(signal.values, 0.1, np.random.default_rng(4)), dt=signal.dt)


@pytest.fixture(scope="module")
def model(record):
    return jetode.reconstruct(record, contest=False)


def path(model):
    states = model.dynamics.path
    return states[~np.isnan(states[:, 0])]


def drawn_errors(model, count):
    """The same by drawing coefficients and stating every equation anew."""
    identified, states = model.dynamics.identified, path(model)
    jets, closure = model.regular.jets(states), model.closure
    left = evaluate(closure.denominator, jets)
    away = np.abs(left) > 0.1 * np.sqrt(np.mean(left**2))
    jets, last = jets[away], (evaluate(closure.numerator, jets) / left)[away]
    free = identified.terms.coefficients[identified.terms.free]
    draws = np.random.default_rng(1).multivariate_normal(free, identified.covariance, count, method="svd")
    for draw in draws:
        other = identified.with_coefficients(draw).regular.rational()
        scaled = evaluate(other.denominator, jets) * last
        missed = scaled - evaluate(other.numerator, jets)
        yield np.sqrt(np.mean(missed**2) / np.mean(scaled**2))


def test_it_is_the_quantile_of_equations_drawn_within_the_errors(model):
    assert model.verdict.trusted and model.evidence.uncertainty > 0.02
    drawn = np.fromiter(drawn_errors(model, 400), float)
    assert field_uncertainty(model.dynamics.identified, path(model)) == pytest.approx(np.quantile(drawn, 0.9), rel=0.15)
    half = field_uncertainty(model.dynamics.identified, path(model), 0.5)
    assert half == pytest.approx(np.median(drawn), rel=0.15)


def test_it_has_no_unit(record, model):
    other = jetode.reconstruct(jetode.Series(1e4 * record.values, dt=1e-5 * record.dt), contest=False)
    assert other.evidence.uncertainty == pytest.approx(model.evidence.uncertainty, rel=1e-3)


def test_functions_are_not_rational():
    times = 0.05 * np.arange(1200)
    swing = np.exp(-0.01 * times) * np.sin(times)
    known = jetode.reconstruct(jetode.Series(swing, dt=0.05), order=2, functions={"sin": {"frequency": 1.0}})
    assert np.isnan(field_uncertainty(known.dynamics.identified, path(known)))
