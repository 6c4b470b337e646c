import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import make_interp_spline, make_smoothing_spline

from jetode.signal import spline
from jetode.signal.bspline import jets_uniform
from jetode.signal.normal_equations import basis_table, span_matrices
from jetode.signal.spline import smooth
from jetode.support.errors import InputError


def noisy_sine(n: int, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    return np.sin(0.05 * np.arange(n)) + noise * np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("degree", [3, 5, 7, 9, 11])
@pytest.mark.parametrize("extra", [1, 4, 40, 400])
def test_interpolation_is_scipys_not_a_knot_spline(degree, extra):
    n = degree + extra
    x, y = np.arange(n) * 0.1, noisy_sine(n)
    fitted, reference = smooth(y, 0.1, degree, "interpolate"), make_interp_spline(x, y, k=degree)
    jets = fitted.jets(degree - 1)
    for d in range(degree):
        expected = reference(x, d)
        np.testing.assert_allclose(jets[:, d], expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    inside = np.linspace(0, x[-1], 97)
    np.testing.assert_allclose(fitted.evaluate(inside, 1), reference(inside, 1), rtol=1e-9, atol=1e-9)
    assert (fitted.weight, fitted.rss, fitted.dof) == (0.0, 0.0, n)


@pytest.mark.parametrize("degree", [3, 5, 7, 9, 11])
def test_derivatives_converge_at_the_order_of_the_degree(degree):
    errors = []
    for n in (25, 49):
        t = np.linspace(0.0, 4.0, n)
        u2 = smooth(np.sin(3 * t), t[1], degree, "interpolate").jets(2)[:, 2]
        errors.append(np.abs(u2 + 9 * np.sin(3 * t))[n // 3 : -n // 3].max())
    assert np.log2(errors[0] / errors[1]) > degree - 1.6


@pytest.mark.parametrize("weight", [1e-5, 1e-2, 1.0, 100.0])
def test_cubic_is_scipys_smoothing_spline(weight):
    x, y = np.arange(500) * 0.1, noisy_sine(500)
    fitted, reference = smooth(y, 0.1, 3, "weight", weight=weight), make_smoothing_spline(x, y, lam=weight)
    for d in range(3):
        np.testing.assert_allclose(fitted.jets(2)[:, d], reference(x, d), rtol=0, atol=1e-9)
    inside = np.linspace(0, x[-1], 97)
    np.testing.assert_allclose(fitted.evaluate(inside, 2), reference(inside, 2), rtol=0, atol=1e-9)


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
@pytest.mark.parametrize("length", [0.5, 3.0, 20.0])
def test_fit_and_degrees_of_freedom_agree_with_dense_least_squares(degree, length):
    n, m = 300, (degree + 1) // 2
    y = noisy_sine(n)
    fitted = smooth(y, 1.0, degree, "weight", weight=length ** (2 * m))
    size = n - 1 + degree
    basis = np.stack([jets_uniform(e, n, 1, basis_table(degree, 1, 0))[:, 0] for e in np.eye(size)], axis=1)
    _, penalty = span_matrices(n, degree, 1)
    size_of_mode, modes = np.linalg.eigh(penalty[0])
    root = np.sqrt(size_of_mode[-m:])[:, None] * modes[:, -m:].T
    roughness = np.zeros((m * (n - 1), size))
    for k in range(n - 1):
        roughness[m * k : m * k + m, k : k + degree + 1] = root
    q, r = np.linalg.qr(np.vstack([basis, length**m * roughness]))
    dense = basis @ np.linalg.solve(r, q[:n].T @ y)
    np.testing.assert_allclose(fitted.jets(0)[:, 0], dense, rtol=0, atol=2e-5)
    assert fitted.dof == pytest.approx(np.sum(q[:n] ** 2), abs=1e-3)
    assert fitted.rss == pytest.approx(np.sum((y - dense) ** 2), rel=1e-5)


@pytest.mark.parametrize("degree", [3, 5, 7])
@pytest.mark.parametrize("n", [200, 5000])
def test_residual_target_is_met(degree, n):
    fitted = smooth(noisy_sine(n), 0.01, degree, sigma=0.09)
    assert fitted.rss == pytest.approx(n * 0.09**2, rel=1e-6)
    assert fitted.rss == pytest.approx(np.sum((noisy_sine(n) - fitted.jets(0)[:, 0]) ** 2), rel=1e-9)


def test_zero_noise_means_interpolation_and_huge_noise_a_polynomial():
    y = noisy_sine(400)
    np.testing.assert_allclose(smooth(y, 1.0, sigma=0.0).jets(0)[:, 0], y, atol=1e-13)
    flat = smooth(y, 1.0, sigma=100.0)
    parabola = np.polynomial.Polynomial.fit(np.arange(400), y, 2)(np.arange(400))
    np.testing.assert_allclose(flat.jets(0)[:, 0], parabola, atol=1e-3)
    assert flat.dof == pytest.approx(3, abs=1e-3)


@pytest.mark.parametrize("rule", ["gcv", "reml"])
def test_automatic_rules_come_close_to_the_best_weight(rule):
    y, truth = noisy_sine(2000), noisy_sine(2000, noise=0)
    fitted = smooth(y, 1.0, 5, rule)

    def risk(weight):
        return np.mean((smooth(y, 1.0, 5, "weight", weight=weight).jets(0)[:, 0] - truth) ** 2)

    best = min(risk(w) for w in 10.0 ** np.arange(0, 12, 0.5))
    assert risk(fitted.weight) < 1.6 * best


def test_gcv_and_reml_are_stationary():
    y = noisy_sine(800)
    problem = spline._Problem(y, 5)
    x = np.log(smooth(y, 1.0, 5, "gcv").weight)
    assert problem.gcv(x) <= min(problem.gcv(x - 0.1), problem.gcv(x + 0.1))
    assert abs(problem.reml_slope(np.log(smooth(y, 1.0, 5, "reml").weight))) < 1e-3


@settings(max_examples=15, deadline=None)
@given(
    degree=st.sampled_from([3, 5, 7]),
    rule=st.sampled_from(["residual", "gcv", "reml", "interpolate"]),
    time=st.floats(-6, 6),
    amplitude=st.floats(-6, 6),
)
def test_units_do_not_matter(degree, rule, time, amplitude):
    y = noisy_sine(300)
    a, b = smooth(y, 1.0, degree, rule), smooth(10**amplitude * y, 10**time, degree, rule)
    scaled = b.jets(2) * 10.0 ** (time * np.arange(3) - amplitude)
    place = 1e-4 if rule == "gcv" else 1e-5  # rounding moves a minimum farther than a zero
    np.testing.assert_allclose(scaled, a.jets(2), rtol=0, atol=place)
    assert b.weight == pytest.approx(a.weight * 10.0 ** (time * degree), rel=1e-2)


def test_a_record_that_was_smoothed_in_other_units_of_time_has_the_same_coefficients():
    values = np.sin(0.1 * np.arange(300)) + 0.1 * np.random.default_rng(5).standard_normal(300)
    first, again = smooth(values, 0.25, 5, "gcv"), smooth(values.copy(), 1.0, 5, "gcv")
    assert np.array_equal(first.coefficients, again.coefficients) and first.dof == again.dof
    assert first.weight == pytest.approx(again.weight * 0.25**5, rel=1e-14)
    values[7] += 1.0  # the samples count, not their array
    assert not np.array_equal(smooth(values, 1.0, 5, "gcv").coefficients, again.coefficients)


def test_bad_arguments_are_named():
    y = noisy_sine(50)
    for arguments in ({"degree": 4}, {"rule": "best"}, {"rule": "weight"}, {"degree": 51}):
        with pytest.raises(InputError, match=r"degree|rule|weight"):
            smooth(y, 1.0, **arguments)
    with pytest.raises(InputError, match="order"):
        smooth(y, 1.0).jets(5)
