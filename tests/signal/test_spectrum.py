"""Welch's method against SciPy's, and Parseval's identity."""

import numpy as np
import pytest
from scipy import signal

from jetode.signal.spectrum import welch


@pytest.mark.parametrize("segment", [64, 65, 500])
@pytest.mark.parametrize("n", [500, 777])
def test_it_is_scipys(n, segment):
    values = np.random.default_rng(n).standard_normal(n).cumsum()
    expected = signal.welch(values, 1 / 0.1, nperseg=segment)
    for mine, theirs in zip(welch(values, 0.1, segment), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


def test_the_density_integrates_to_the_variance():
    frequency, power = welch(np.random.default_rng(0).standard_normal(100_000), 0.5, 256)
    assert np.sum(power) * frequency[1] == pytest.approx(1.0, rel=0.02)
