"""What a record that repeats itself tells: two numbers a harmonic, and none of its length."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

from jetode.catalogue.systems import systems
from jetode.signal.repetition import numbers_told, numbers_told_beyond, repeated_by_chance, repeats_itself

T = 0.1 * np.arange(3000)


def waves(amplitudes, frequency=0.7):
    """A sum of harmonics, each with a phase of its own."""
    return sum(a * np.cos((k + 1) * frequency * T + 1.3 * k * k) for k, a in enumerate(amplitudes))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("amplitudes", [(1.0,), (1.0, 0.0, 0.2), (1.0, 0.3, 0.1, 0.03), (0.3, 1.0, 0.5)])
def test_two_numbers_for_every_harmonic_in_any_unit(amplitudes, unit):
    path = unit * waves(amplitudes)
    assert numbers_told(path, 1e-3 * unit) == 2 * np.count_nonzero(amplitudes)
    assert repeats_itself(path, 1e-3 * unit)


def test_noise_hides_harmonics_and_length_shows_them():
    """The standard error of an amplitude is σ √(2/n): the harmonic of 0.02 is seen at σ = 0.18 only in all of it."""
    path = waves((1.0, 0.02))
    assert numbers_told(path, 0.01) == 4
    assert numbers_told(path, 0.18) == 4
    assert numbers_told(path[:1000], 0.18) == 2


def test_a_lone_harmonic_tells_a_line_only_where_a_second_could_not_hide():
    """At the limit of what is seen, 3 σ √(2/n), it would add 12 σ √(2/n) to the acceleration: 0.1 at σ = 0.32."""
    for sigma, told in ((0.1, 2), (0.31, 2), (0.33, 1), (0.6, 1)):
        assert numbers_told(waves((1.0,)), sigma) == told


def test_two_frequencies_chaos_and_a_decay_do_not_repeat_themselves():
    torus = np.cos(0.7 * T) + 0.5 * np.cos(0.7 * np.sqrt(2.0) * T)
    lorenz = systems["lorenz"].simulate(60.0, dt=0.02, transient=50.0).observe("x").values
    for path in (torus, lorenz / lorenz.std(), np.exp(-0.01 * T) * np.cos(T), T):
        assert numbers_told(path, 0.05) == np.inf
        assert not repeats_itself(path, 0.05)


def test_a_period_of_several_swings_is_found():
    """Every third swing is higher: the lag of the highest autocorrelation is three swings."""
    path = waves((0.3, 0.0, 1.0), 0.25)
    assert numbers_told(path, 1e-3) == 4


def test_fewer_than_four_periods_show_nothing():
    assert numbers_told(np.cos(2.0 * np.pi * np.arange(300) / 100.0), 0.05) == np.inf


@pytest.mark.parametrize("count", [750, 1500, 3000])
def test_a_misfit_hides_harmonics_however_long_the_record(count):
    """What an equation leaves of a record without noise does not average out."""
    path = waves((1.0, 0.02, 0.003))[:count]
    assert numbers_told_beyond(path, 1e-4) == 6
    assert numbers_told_beyond(path, 2e-3) == 4
    assert numbers_told_beyond(path, 8e-3) == 2
    torus = np.cos(0.7 * T) + 0.5 * np.cos(0.7 * np.sqrt(2.0) * T)
    assert numbers_told_beyond(torus[:count], 1e-2) == np.inf


@pytest.mark.parametrize("memory", [0.0, 0.6, -0.4])
def test_what_noise_repeats_with_a_record_is_uniform_in_its_chance(memory):
    """Whatever its colour, since the neighbouring frequencies are what it is compared with; in any unit."""
    rng, path = np.random.default_rng(5), waves((1.0, 0.3))
    noise = [lfilter([1.0], [1.0, -memory], rng.standard_normal(T.size)) for _ in range(60)]
    chances = [repeated_by_chance(path, one) for one in noise]
    assert kstest(chances, "uniform").pvalue > 1e-3
    assert repeated_by_chance(1e6 * path, 1e-6 * noise[0]) == pytest.approx(chances[0])


def test_a_harmonic_that_an_equation_misses_is_seen_far_below_the_noise():
    """Of amplitude 0.3 σ in 3,000 samples its power is 67 times that of noise; not at a frequency of its own."""
    rng, path = np.random.default_rng(6), waves((1.0, 0.3))
    noise = rng.standard_normal(T.size)
    assert repeated_by_chance(path, noise + 0.3 * waves((0.0, 0.0, 0.0, 1.0))) < 1e-4
    assert repeated_by_chance(path, noise + 0.3 * np.cos(0.7 * np.sqrt(6.2) * T)) > 1e-3
    assert repeated_by_chance(np.cumsum(noise), noise) == 1.0


@pytest.mark.parametrize("start", [0.0, 0.4, 2.0])
def test_the_phases_of_a_motion_that_is_the_same_backward_tell_nothing(start):
    """Without friction x(t0 + t) = x(t0 − t): as many numbers as harmonics, and the frequency."""
    even = sum(a * np.cos(k * (0.7 * T - start)) for k, a in enumerate((1.0, -0.3, 0.1), start=1))
    assert numbers_told(even, 1e-3) == 4
    bent = even + 0.05 * np.sin(2.0 * (0.7 * T - start))
    assert numbers_told(bent, 1e-3) == 6
    assert numbers_told(bent, 0.8) == 4  # under this noise its standard error is 0.02: the bend is not seen
