"""What several tests look at: made once per process, read by all."""

import numpy as np
import pytest

import jetode


@pytest.fixture(scope="session")
def lorenz():
    """Lorenz x without noise, 6,001 samples."""
    return jetode.systems["lorenz"].simulate(60.0).observe("x")


@pytest.fixture(scope="session")
def noisy_lorenz(lorenz):
    """The same with 15 % noise."""
    return lorenz.with_values(jetode.add_noise(lorenz.values, 0.15, np.random.default_rng(0)))


@pytest.fixture(scope="session")
def lorenz_model(noisy_lorenz):
    """The joint fit of it."""
    return jetode.reconstruct(noisy_lorenz)
