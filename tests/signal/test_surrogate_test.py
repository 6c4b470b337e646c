"""Surrogates keep values and spectrum; the test finds chaos, also under noise, and spares linear noise."""

import numpy as np
import pytest
from scipy.signal import lfilter

from jetode.catalogue.systems import systems
from jetode.signal.surrogate_test import iaaft, matched_ends, surrogate_test
from jetode.support.errors import InputError

LORENZ = systems["lorenz"].simulate(40.0).observe("x").values


def linear_noise(seed: int, n: int = 3000) -> np.ndarray:
    return lfilter([1.0], [1.0, -1.8, 0.85], np.random.default_rng(seed).normal(size=n + 500))[500:]


def test_surrogate_keeps_values_and_spectrum() -> None:
    x = matched_ends(LORENZ)
    surrogate = iaaft(x, np.random.default_rng(0))
    assert np.array_equal(np.sort(surrogate), np.sort(x))
    before, after = (np.abs(np.fft.rfft(v - x.mean())) for v in (x, surrogate))
    assert np.linalg.norm(after - before) < 0.03 * np.linalg.norm(before)
    assert abs(np.corrcoef(x, surrogate)[0, 1]) < 0.9


@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_chaos_is_found(noise: float) -> None:
    x = LORENZ + noise * LORENZ.std() * np.random.default_rng(1).normal(size=LORENZ.size)
    result = surrogate_test(x, 16, n_surrogates=19)
    assert result.deterministic and result.p_value == pytest.approx(0.05)
    assert result.value < result.surrogates.min()


def test_linear_noise_is_spared() -> None:
    rejected = [
        surrogate_test(linear_noise(seed), 5, statistic=statistic, n_surrogates=19).deterministic
        for seed in range(2)
        for statistic in ("prediction", "reversal")
    ]
    assert sum(rejected) <= 1


def test_reversal_sees_a_sawtooth() -> None:
    t = 0.03 * np.arange(3000)
    x = (t + 0.1 * np.cumsum(np.random.default_rng(2).normal(size=t.size)) * 0.1) % 1.0
    assert surrogate_test(x, 4, statistic="reversal", n_surrogates=19).deterministic


def test_same_seed_same_answer() -> None:
    first, second = (surrogate_test(LORENZ, 16, rng=np.random.default_rng(7), n_surrogates=19) for _ in range(2))
    assert np.array_equal(first.surrogates, second.surrogates)


def test_bad_arguments() -> None:
    for arguments in ({"statistic": "entropy"}, {"n_surrogates": 3}, {"values": np.ones(999)}):
        with pytest.raises(InputError, match=next(iter(arguments))):
            surrogate_test(**{"values": LORENZ, "delay": 16, **arguments})
    with pytest.raises(InputError, match="too short"):
        surrogate_test(LORENZ[:100], 16)
