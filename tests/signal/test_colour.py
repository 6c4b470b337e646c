"""The colour of the noise by the spectrum above the motion's frequencies (4.19), and smoothing under it (4.20)."""

import numpy as np
import pytest

from jetode.signal.colour import WHITE, Colour, coloured_scale, noise_colour, smoothing_weight
from jetode.signal.noise import add_noise, coloured_noise
from jetode.signal.spline import smooth


def motion(n, per_tc):
    """A torus with some harmonics: smooth, and never the same."""
    t = np.arange(n) / per_tc
    return np.sin(t) + 0.6 * np.sin(1.618 * t + 0.3 * np.sin(0.7 * t)) + 0.2 * np.cos(3.1 * t)


@pytest.mark.parametrize(("correlation", "per_tc", "level"), [(0.9, 12.0, 0.02), (0.7, 20.0, 0.2), (0.5, 30.0, 0.005)])
def test_colour_and_size_are_found(correlation, per_tc, level):
    """Within what it says of itself, whatever the unit; σ_e is told to some per cent even where φ is not."""
    signal = motion(4000, per_tc)
    for seed in range(3):
        y = add_noise(signal, level, np.random.default_rng(seed), "ar1", correlation=correlation)
        colour = noise_colour([y])
        assert colour.low <= correlation <= colour.high
        assert abs(colour.correlation - correlation) < 0.1
        scale = coloured_scale([y], colour) * colour.innovation
        assert scale == pytest.approx(level * signal.std() * np.sqrt(1 - correlation**2), rel=0.08)
        assert noise_colour([1e6 * y + 3.0]).correlation == pytest.approx(colour.correlation)


@pytest.mark.parametrize("kind", ["gaussian", "student", "multiplicative"])
def test_white_noise_is_white(kind):
    """Also on a motion sampled coarsely, with gaps, and with a heavy or a changing size."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = add_noise(motion(600 + 400 * seed, 5.0 + 2.0 * seed), 0.01 * 1.4**seed, rng, kind)
        y[100] = np.nan
        assert noise_colour([y]) == WHITE


def test_a_short_record_is_white():
    assert noise_colour([np.random.default_rng(0).standard_normal(200).cumsum()]) == WHITE


def test_another_correlation_stays_within_what_is_told():
    colour = Colour(0.9, 0.8, 0.95)
    assert colour.moved(0.99).correlation == 0.95 and colour.moved(0.0).correlation == 0.8
    assert colour.moved(0.85) == Colour(0.85, 0.8, 0.95)


def test_the_noise_of_a_mean():
    """√((1 + φ)/(1 − φ)) of white noise, by simulation."""
    noise = coloured_noise(400_000, 0.8, np.random.default_rng(1))
    assert noise.std() == pytest.approx(1.0, rel=0.02)
    assert noise.reshape(-1, 400).mean(axis=1).std() * 20.0 == pytest.approx(Colour(0.8).slow, rel=0.05)


def test_smoothing_comes_nearer_than_cross_validation():
    """GCV takes the noise for signal: its slope is mostly noise."""
    signal = motion(4000, 20.0)
    slope = np.gradient(signal)
    for seed in range(3):
        y = add_noise(signal, 0.03, np.random.default_rng(seed), "ar1")
        colour = noise_colour([y])
        weight = smoothing_weight(y, colour, coloured_scale([y], colour), 3)
        mine, usual = (
            s.jets(1)[50:-50] for s in (smooth(y, 1.0, 5, "weight", weight=weight), smooth(y, 1.0, 5, "gcv"))
        )
        wrong, before = (np.std(jets[:, 1] - slope[50:-50]) for jets in (mine, usual))
        assert wrong < 0.4 * before
        assert np.std(mine[:, 0] - signal[50:-50]) < np.std(usual[:, 0] - signal[50:-50])
