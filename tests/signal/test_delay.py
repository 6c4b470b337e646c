"""Delay and dimension: the paper's figures for Lorenz and Rössler, and textbook cases."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.signal.delay import (
    average_mutual_information,
    delay_and_information,
    delay_vectors,
    embedding_delay,
    false_nearest_neighbours,
    first_minimum,
)
from jetode.support.errors import InputError


@pytest.mark.parametrize(("name", "delay"), [("lorenz", 16), ("rossler", 84)])
def test_papers_delay_and_dimension(name: str, delay: int) -> None:
    x = systems[name].simulate(200.0).observe("x").values
    assert embedding_delay(x) == delay
    found = false_nearest_neighbours(x, delay)
    assert found.dimension == 3
    assert found.fractions[1] > 0.01 > found.fractions[2]
    assert embedding_delay(1e6 * x - 3e7) == delay, "no dependence on the unit"


@pytest.mark.parametrize("step", [0.1, 0.004])  # the minimum within the first lags that are looked at, and beyond them
def test_the_delay_comes_with_the_information_that_shows_it(step: float) -> None:
    x = np.sin(step * np.arange(6000)) + 0.01 * np.random.default_rng(1).normal(size=6000)
    delay, known = delay_and_information(x)
    assert delay == embedding_delay(x) == first_minimum(known)
    assert np.array_equal(known, average_mutual_information(x, known.size - 1))


def test_mutual_information_is_that_of_the_histogram() -> None:
    x = np.sin(0.1 * np.arange(3000)) + 0.1 * np.random.default_rng(0).normal(size=3000)
    curve = average_mutual_information(x, 30, bins=16)
    edges = np.linspace(x.min(), x.max(), 17)
    for lag in (0, 7, 30):
        joint, _, _ = np.histogram2d(x[: x.size - lag], x[lag:], bins=[edges, edges])
        p = joint / joint.sum()
        independent = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
        seen = p > 0
        expected = np.sum(p[seen] * np.log(p[seen] / independent[seen]))
        assert curve[lag] == pytest.approx(expected, rel=0.01)


def test_gaussian_mutual_information() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=200_001)
    x = noise[1:] + noise[:-1]  # correlation 1/2 at lag 1, none beyond
    curve = average_mutual_information(x, 2, bins=30)
    assert curve[1] == pytest.approx(-0.5 * np.log(1 - 0.25), abs=0.01)
    assert curve[2] == pytest.approx(0.0, abs=0.01)


def test_first_minimum() -> None:
    assert first_minimum([5, 3, 2, 2, 4, 1, 7]) == 2
    assert first_minimum([5, 4, 3, 2]) is None


def test_noise_is_never_unfolded() -> None:
    noise = np.random.default_rng(2).normal(size=3000)
    assert false_nearest_neighbours(noise, 1).dimension is None


def test_periodic_record_needs_two() -> None:
    x = np.sin(0.05 * np.sqrt(2) * np.arange(5000))
    assert false_nearest_neighbours(x, 22, max_dimension=3).dimension == 2


def test_neighbours_respect_the_time_window() -> None:
    x = systems["lorenz"].simulate(40.0).observe("x").values
    near, far = (false_nearest_neighbours(x, 16, 2, theiler=w).fractions for w in (0, 300))
    assert far.shape == near.shape and not np.array_equal(near, far)


def test_embedding() -> None:
    rows = delay_vectors(np.arange(10.0), 3, 3)
    assert rows.shape == (4, 3) and rows[1].tolist() == [1.0, 4.0, 7.0]


def test_bad_arguments() -> None:
    x = np.sin(np.arange(100.0))
    for values in (np.ones(50), [1.0, np.nan, 2.0, 3.0], [1.0, 2.0]):
        with pytest.raises(InputError, match="values"):
            embedding_delay(values)
    with pytest.raises(InputError, match="max_lag"):
        average_mutual_information(x, 99)
    with pytest.raises(InputError, match="bins"):
        average_mutual_information(x, 10, bins=1)
    with pytest.raises(InputError, match="delay"):
        false_nearest_neighbours(x, 0)
    with pytest.raises(InputError, match="too short"):
        false_nearest_neighbours(x, 20)
