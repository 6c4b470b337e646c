"""The memory rows are a delay line: polynomials exactly, sines in the limit of many coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import legendre

from jetode.memory.legendre import MemoryFilter, memory_matrices


def test_constant_is_the_first_coefficient():
    a, b = memory_matrices(5)
    np.testing.assert_allclose(a @ np.eye(5)[0] + b, 0.0, atol=1e-14)


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_polynomials_obey_the_rows_exactly(degree):
    """The coefficients of x(t − sθ) in P_i(2s − 1) solve (7.1) for every polynomial of lower degree than q."""
    q, theta, span = 5, 1.0, 40.0
    rng = np.random.default_rng(degree)
    signal = np.polynomial.Polynomial(rng.standard_normal(degree + 1))

    def coefficients(t):
        age = np.polynomial.Polynomial([0.5, 0.5])  # s of y = 2s − 1
        past = signal(t - theta * age)
        out = np.zeros(q)
        found = legendre.poly2leg(np.atleast_1d(getattr(past, "coef", [past])))
        out[: found.size] = found
        return out

    times = np.arange(300) / span
    kept = MemoryFilter(q, span)(signal(times))
    a, b = memory_matrices(q)
    t, h = 0.7, 1e-4
    slope = (coefficients(t + h) - coefficients(t - h)) / (2 * h)
    np.testing.assert_allclose(theta * slope, a @ coefficients(t) + b * signal(t), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(kept[-1], coefficients(times[-1]), rtol=1e-6, atol=1e-6)


def test_delayed_sine_converges_in_q():
    """Σ m_i P_i(1) is the value one θ ago; for a sine of half an oscillation per θ the error falls with q."""
    span = 60.0
    times = np.arange(1200) / span
    signal = np.sin(np.pi * times)
    errors = []
    for q in (2, 4, 6, 8):
        delayed = MemoryFilter(q, span)(signal).sum(axis=1)
        errors.append(np.abs(delayed[600:] - signal[600 - int(span) : -int(span)]).max())
    assert errors[0] > 10 * errors[1] > 100 * errors[2] and errors[3] < 1e-5


def test_filter_is_causal_and_of_fourth_order():
    signal = np.random.default_rng(0).standard_normal(100)
    changed = signal.copy()
    changed[60:] += 1.0
    keep = MemoryFilter(4, 20.0)
    np.testing.assert_array_equal(keep(signal)[:60], keep(changed)[:60])
    errors = []
    for per in (20, 40):
        times = np.arange(20 * per) / per
        fine = np.arange(20 * per * 16) / (per * 16)
        exact = MemoryFilter(3, 16.0 * per)(np.sin(2.0 * fine))[::16]
        errors.append(np.abs(MemoryFilter(3, float(per))(np.sin(2.0 * times)) - exact)[10 * per :].max())
    assert errors[0] > 12 * errors[1]
