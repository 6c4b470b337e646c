"""σ̂ against its definition, the clean decision over a grid, and the generators' moments."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.stats import kurtosis

from jetode.signal.noise import NOISE_KINDS, add_noise, is_clean, noise_floor, noise_scale
from jetode.support.errors import InputError


def lorenz(_, s):
    return [10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]]


def rossler(_, s):
    return [-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)]


@cache
def simulate(rhs, duration, dt):
    times = np.arange(50.0, 50.0 + duration, dt)
    solution = solve_ivp(rhs, (0, times[-1]), [1, 0, 0], "DOP853", t_eval=times, rtol=1e-9, atol=1e-9)
    return solution.y[0]


# (system, duration, dt): from 350 to 8 samples per oscillation
SAMPLINGS = [
    (lorenz, 20.0, 0.002),
    (lorenz, 60.0, 0.01),
    (lorenz, 60.0, 0.03),
    (lorenz, 120.0, 0.06),
    (lorenz, 120.0, 0.094),
    (rossler, 200.0, 0.01),
    (rossler, 200.0, 0.1),
    (rossler, 500.0, 0.6),
    (rossler, 500.0, 0.75),
]


@pytest.fixture(scope="module", params=SAMPLINGS, ids=lambda p: f"{p[0].__name__}-{p[2]}")
def record(request):
    return simulate(*request.param)


def test_noise_scale_is_the_papers_equation():
    y = np.random.default_rng(0).standard_normal(501).cumsum()
    second = y[2:] - 2 * y[1:-1] + y[:-2]
    mad = np.median(np.abs(second - np.median(second)))
    assert noise_scale(y) == pytest.approx(1.4826 * mad / np.sqrt(6), rel=1e-14)


@pytest.mark.parametrize("fraction", [0.15, 0.3])
def test_noise_scale_of_noisy_lorenz(fraction):
    y = simulate(lorenz, 60.0, 0.01)
    noisy = add_noise(y, fraction, np.random.default_rng(1))
    assert noise_scale(noisy) == pytest.approx(fraction * y.std(), rel=0.03)
    assert noise_floor(noisy) == pytest.approx(fraction * y.std(), rel=0.06)


def test_smooth_records_are_clean(record):
    assert is_clean(record)


@pytest.mark.parametrize("fraction", [0.001, 0.003, 0.01, 0.05, 0.15, 0.3])
@pytest.mark.parametrize("kind", ["gaussian", "student", "laplace"])
def test_noise_that_sigma_can_see_is_not_clean(record, fraction, kind):
    noisy = add_noise(record, fraction, np.random.default_rng(2), kind)
    curvature = noise_scale(record)
    if fraction * record.std() > 0.4 * curvature:  # else it is lost below curvature
        assert not is_clean(noisy)


def test_a_tenth_of_a_percent_is_seen_at_the_papers_sampling():
    for rhs, duration in ((lorenz, 60.0), (rossler, 200.0)):
        y = simulate(rhs, duration, 0.01)
        for seed in range(5):
            assert not is_clean(add_noise(y, 0.001, np.random.default_rng(seed)))


def test_floor_ignores_curvature():
    y = simulate(lorenz, 60.0, 0.03)
    noisy = add_noise(y, 0.003, np.random.default_rng(3))
    assert noise_scale(noisy) > 4 * 0.003 * y.std()
    assert noise_floor(noisy) == pytest.approx(0.003 * y.std(), rel=0.1)


@pytest.mark.parametrize("bits", [5, 6, 7, 8, 10])
def test_quantised_records_are_not_clean(bits):
    y = simulate(lorenz, 60.0, 0.01)
    step = np.ptp(y) / 2**bits
    quantised = np.round(y / step) * step
    assert not is_clean(quantised)
    assert 0.1 * step < noise_scale(quantised) < step
    assert 0.25 * step < noise_floor(quantised) < step


def test_printed_digits_do_not_matter():
    y = np.array([float(f"{v:.7g}") for v in simulate(lorenz, 60.0, 0.01)])
    assert is_clean(y)


def test_short_white_noise_is_not_clean():
    for seed in range(50):
        assert not is_clean(np.random.default_rng(seed).standard_normal(64))


def test_straight_line_is_clean():
    assert is_clean(0.1 * np.arange(100.0))


@given(st.floats(1e-9, 1e9), st.sampled_from([0.0, 0.05, 0.3]))
def test_decision_and_scale_do_not_depend_on_units(unit, fraction):
    y = np.sin(np.arange(600) / 9.3) + 0.3 * np.cos(np.arange(600) / 4.1)
    y = add_noise(y, fraction, np.random.default_rng(0))
    assert is_clean(unit * y) == is_clean(y) == (fraction == 0)
    assert noise_scale(unit * y) == pytest.approx(unit * noise_scale(y), rel=1e-9)


def test_gaps_are_left_out():
    y = np.random.default_rng(4).standard_normal(5000)
    y[100:200] = np.nan
    y[::500] = np.nan
    assert noise_scale(y) == pytest.approx(1.0, rel=0.05)
    assert not is_clean(y)


def test_no_three_samples_in_a_row():
    y = np.arange(30.0)
    y[::2] = np.nan
    with pytest.raises(InputError, match="three samples in a row"):
        noise_scale(y)


@pytest.mark.parametrize("kind", NOISE_KINDS)
def test_generators_have_the_asked_size(kind):
    y = 3.0 + np.sin(np.arange(200_000) / 17.0)
    noisy = add_noise(y, 0.2, np.random.default_rng(5), kind)
    assert (noisy - y).std() == pytest.approx(0.2 * y.std(), rel=0.06)
    np.testing.assert_array_equal(noisy, add_noise(y, 0.2, np.random.default_rng(5), kind))
    np.testing.assert_array_equal(add_noise(y, 0.0, np.random.default_rng(5), kind), y)


def test_generators_have_their_shape():
    y = np.sin(np.arange(200_000) / 17.0)

    def noise(kind, **options):
        return add_noise(y, 0.3, np.random.default_rng(6), kind, **options) - y

    assert kurtosis(noise("gaussian")) == pytest.approx(0, abs=0.05)
    assert kurtosis(noise("laplace")) == pytest.approx(3, abs=0.3)
    assert kurtosis(noise("student", dof=10)) == pytest.approx(1, abs=0.3)
    coloured = noise("ar1", correlation=0.8)
    assert np.corrcoef(coloured[1:], coloured[:-1])[0, 1] == pytest.approx(0.8, abs=0.01)
    assert np.mean(noise("outliers", share=0.05) != 0) == pytest.approx(0.05, abs=0.005)
    assert np.unique(np.round(y + noise("quantisation"), 9)).size < 10
    assert abs(np.corrcoef(np.abs(noise("multiplicative")), np.abs(y))[0, 1]) > 0.4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fraction": -0.1}, "'fraction'"),
        ({"fraction": float("nan")}, "'fraction'"),
        ({"fraction": 0.1, "kind": "pink"}, "'kind'"),
        ({"fraction": 0.1, "kind": "student", "dof": 2}, "'dof'"),
        ({"fraction": 0.1, "kind": "ar1", "correlation": 1.0}, "'correlation'"),
        ({"fraction": 0.1, "kind": "outliers", "share": 0.0}, "'share'"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        add_noise(np.arange(10.0), rng=np.random.default_rng(0), **arguments)
