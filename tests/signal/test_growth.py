"""Noise that grows with the signal (4.21)."""

import numpy as np
import pytest

from jetode.signal.growth import EVEN, FLOOR, Growth, noise_growth
from jetode.signal.noise import add_noise


def motion(n):
    t = 0.1 * np.arange(n)
    return np.sin(t) + 0.6 * np.sin(1.618 * t) + 0.3


@pytest.mark.parametrize("share", [0.5, 0.8, 1.0])
def test_the_share_is_found_in_any_unit(share):
    signal = motion(4000)
    square = float(np.mean(signal**2))
    for seed in range(3):
        noise = np.random.default_rng(seed).standard_normal(signal.size)
        left = 0.05 * noise * np.sqrt(1.0 - share + share * signal**2 / square)
        found = noise_growth(signal, left)
        assert found.share == pytest.approx(share, abs=0.1) and found.square == pytest.approx(square)
        left[::7] = np.nan
        other = noise_growth(1e3 * signal, 1e3 * left)
        assert other.share == pytest.approx(share, abs=0.1) and other.square == pytest.approx(1e6 * square, rel=0.05)


@pytest.mark.parametrize("kind", ["gaussian", "student", "laplace", "ar1"])
def test_noise_of_one_size_is_even(kind):
    signal = motion(3000)
    for seed in range(8):
        noisy = add_noise(signal, 0.1, np.random.default_rng(seed), kind)
        assert noise_growth(signal, noisy - signal) == EVEN


def test_weights_are_inverse_variances():
    """With them residuals have one size, and their mean square is the noise's variance."""
    growth, signal = Growth(1.0, 4.0), np.array([0.0, 1.0, 2.0, -4.0])
    assert growth.weights(signal) == pytest.approx([1.0 / FLOOR, 4.0, 1.0, 0.25])
    assert EVEN.weights(signal) == pytest.approx(np.ones(4))
    assert noise_growth(np.zeros(10), np.ones(10)) == EVEN
