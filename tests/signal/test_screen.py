"""The screen: what noise cannot do, also where a slow part hides it."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.signal import lfilter

from jetode.records.series import Series
from jetode.signal.screen import DEFAULT, screen


def slow_channels(count=4, n=4000, dt=0.025, noise=0.05):
    """Stretches of w of Cai's hyperchaos, w' = −3.3 x: its oscillations are long beside those of x, which moves it."""

    def rates(_, s):
        x, y, z, w = s
        return [27.5 * (y - x), 3 * x + 19.3 * y - x * z + w, -2.9 * z + y**2, -3.3 * x]

    t = 50.0 + dt * np.arange(count * n)
    w = solve_ivp(rates, (0, t[-1]), [1.0, 1.0, 20.0, 1.0], "DOP853", t, rtol=1e-9, atol=1e-11).y[3]
    noisy = w + noise * np.std(w) * np.random.default_rng(0).standard_normal(w.size)
    return [Series(stretch, dt) for stretch in noisy.reshape(count, n)]


def test_a_channel_that_is_slower_than_its_system_is_not_given_up():
    found = [screen([stretch]) for stretch in slow_channels()]
    assert all(one.nonlinear and not one.hopeless for one in found)
    assert np.mean([max(one.gains) for one in found]) > 2 * DEFAULT.clearly


@pytest.mark.parametrize("decay", [0.95, 0.99])
def test_linear_noise_with_an_oscillation_is_given_up(decay):
    """The gain of the cubic terms has no mean above 0, over either window."""
    gains = []
    for seed in range(10):
        recursion = [1.0, -2 * decay * np.cos(2 * np.pi / 35), decay**2]
        values = lfilter([1.0], recursion, np.random.default_rng(seed).standard_normal(4500))[500:]
        found = screen([Series(values, 1.0)])
        assert found.hopeless
        gains.append(found.gains)
    assert np.mean(gains) < 0.5
