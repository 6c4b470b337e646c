"""Counting oscillations: exact for waves, blind to noise and to where the middle lies; drift of the mean."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.signal.noise import add_noise
from jetode.signal.oscillations import count_oscillations, fades, mean_drift
from jetode.signal.spline import smooth

TIME = np.arange(0.0, 40.0, 0.01)


@pytest.mark.parametrize("offset", [0.0, 0.1, 0.3])
def test_a_wave_has_as_many_as_its_periods(offset):
    wave = np.sin(2 * np.pi * (TIME - offset))
    assert count_oscillations(wave) == pytest.approx(40, abs=1)
    assert count_oscillations(-1e6 * wave + 3e7) == pytest.approx(40, abs=1)
    assert count_oscillations(np.repeat(wave, 3)) == count_oscillations(wave)


def test_nothing_that_turns_has_none():
    assert count_oscillations(TIME) == 0.0
    assert count_oscillations(np.ones(9)) == 0.0
    assert count_oscillations(TIME + 0.1 * np.sin(TIME)) == 0.0


def test_turns_away_from_the_middle_count_and_noise_does_not():
    fast = np.sin(2 * np.pi * TIME) + 3.0 * np.sign(np.sin(0.5 * TIME))  # two lobes
    assert count_oscillations(fast) == pytest.approx(40, abs=2)
    lingering = np.where(np.abs(np.sin(2 * np.pi * TIME)) < 0.5, 0.0, np.sin(2 * np.pi * TIME))
    noisy = lingering + 0.05 * np.random.default_rng(0).standard_normal(TIME.size)
    assert count_oscillations(noisy) == pytest.approx(40, abs=1)


@pytest.mark.parametrize("noise", [0.15, 0.5])
@pytest.mark.parametrize("name", ["lorenz", "rossler"])
def test_the_count_of_a_noisy_record_is_that_of_the_clean_one(name, noise):
    clean = systems[name].simulate(300.0).observe("x").values
    noisy = smooth(add_noise(clean, noise, np.random.default_rng(1)), 1.0, 5, "gcv").jets(0)[:, 0]
    assert count_oscillations(noisy) == pytest.approx(count_oscillations(clean), rel=0.02)


def test_drift_is_measured_against_how_far_the_mean_wanders():
    wave = np.sin(2 * np.pi * TIME)
    drift, error = mean_drift(wave + 0.05 * TIME)
    assert drift == pytest.approx(1.0, abs=0.02) and drift > 3 * error
    rng = np.random.default_rng(2)
    z = [np.divide(*mean_drift(rng.standard_normal(1000))) for _ in range(200)]
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1.0, abs=0.2)


def test_a_decay_fades_and_an_oscillation_does_not():
    t = np.linspace(0.0, 60.0, 1200)
    assert fades(np.exp(-0.03 * t) * np.cos(t))
    assert not fades(np.cos(t))
    assert not fades(np.exp(0.03 * t) * np.cos(t))
