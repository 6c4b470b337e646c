import numpy as np
import pytest
from scipy.integrate import quad

from jetode.equations.polynomials import Library
from jetode.paper.weakform import ClosureSystem, Scales, Window, place_windows, strong_form, weak_form
from jetode.support.errors import InputError

OMEGA = np.array([1.0, 1.7])


def signal(t, derivative=0):
    """A sum of two sines and its derivatives, exactly."""
    t = np.asarray(t, dtype=float)[..., None]
    return np.sum(OMEGA**derivative * np.sin(OMEGA * t + derivative * np.pi / 2), axis=-1)


def jets(t, count):
    return np.stack([signal(t, d) for d in range(count)], axis=-1)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("quadrature", ["parts", "trapezoid"])
def test_weak_integrals_agree_with_adaptive_quadrature(order, quadrature):
    dt, window = 0.05, Window(20, 6, quadrature)
    denominator = Library.total_degree(order, 2, range(order - 1))
    numerator = Library.total_degree(order, 2)
    centres = np.array([40, 77])
    system = weak_form(jets(dt * np.arange(200), order), dt, denominator, numerator, centres, window)
    for row, centre in enumerate(centres):

        def psi(t, middle=centre * dt):
            return (1 - ((t - middle) / (20 * dt)) ** 2) ** 6

        ends = (centre - 20) * dt, (centre + 20) * dt
        for j, exponents in enumerate(numerator.exponents):
            value, _ = quad(lambda t, e=exponents: psi(t) * np.prod(jets(t, order) ** e), *ends, epsabs=1e-12)
            assert system.m_n[row, j] == pytest.approx(value, abs=1e-8)
        for j in range(len(denominator)):
            # before the integration by parts: ∫ φ_j u_n ψ dt
            value, _ = quad(
                lambda t, j=j: psi(t) * denominator.evaluate(jets(t, order)[None])[0, j] * signal(t, order),
                *ends,
                epsabs=1e-12,
            )
            assert system.m_d[row, j] == pytest.approx(value, abs=2e-6 if quadrature == "trapezoid" else 1e-8)


def exact_residual(window: Window) -> float:
    """|[M_D, −M_N] θ| for (u0 + 2) u3' = −(u0 + 2) ((ω1² + ω2²) u2 + ω1² ω2² u0), which the signal obeys."""
    total, product = np.sum(OMEGA**2), np.prod(OMEGA**2)
    denominator = Library.total_degree(4, 1, [0])
    numerator = Library.total_degree(4, 2)
    theta_d = denominator.coefficients({(0, 0, 0, 0): 2.0, (1, 0, 0, 0): 1.0})
    theta_n = numerator.coefficients(
        {(0, 0, 1, 0): -2 * total, (1, 0, 1, 0): -total, (1, 0, 0, 0): -2 * product, (2, 0, 0, 0): -product}
    )
    u = jets(0.1 * np.arange(400), 5)
    system = weak_form(u, 0.1, denominator, numerator, place_windows(0, 399, 30, window.reach), window)
    strong = strong_form(u, denominator, numerator)
    np.testing.assert_allclose(strong.matrix @ np.concatenate([theta_d, theta_n]), 0, atol=1e-12)
    return float(np.abs(system.matrix @ np.concatenate([theta_d, theta_n])).max())


def test_summation_by_parts_beats_the_trapezoid_rule():
    assert exact_residual(Window(20, 4, "parts")) < 1e-9
    assert exact_residual(Window(20, 4, "trapezoid")) > 1e-6
    assert exact_residual(Window(20, 10, "trapezoid")) < 1e-8


def test_scales_make_jets_dimensionless():
    u = jets(0.1 * np.arange(400), 3)
    scales = Scales.of(u)
    v = u / scales.powers(3)
    assert np.std(v[:, 0]) == pytest.approx(1) and np.std(v[:, 1]) == pytest.approx(1)
    changed = Scales.of(u * 7.0 / 3.0 ** np.arange(3))
    assert (changed.amplitude, changed.time) == pytest.approx((7 * scales.amplitude, 3 * scales.time))


def test_windows_lie_inside_and_repeat_with_the_seed():
    even = place_windows(10, 500, 50, 20)
    assert even[0] == 30 and even[-1] == 480 and np.ptp(np.diff(even)) <= 1
    a, b = (place_windows(0, 500, 50, 20, "random", np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert a.min() >= 20 and a.max() <= 480 and np.all(np.diff(a) > 0)
    assert place_windows(0, 50, 1000, 20).shape == (11,)


def test_rows_of_a_system():
    libraries = Library(((0,), (1,)), 1), Library(((0,),), 1)
    system = ClosureSystem(np.arange(6.0).reshape(3, 2), np.ones((3, 1)), *libraries)
    np.testing.assert_array_equal(system.rows(1, 3).matrix, [[2, 3, -1], [4, 5, -1]])


def test_bad_arguments_are_named():
    library = Library.total_degree(3, 1)
    with pytest.raises(InputError, match="u2"):
        weak_form(np.zeros((100, 3)), 0.1, library, library, np.array([50]), Window())
    for arguments in ((1, 4), (20, 0), (20, 4, "simpson")):
        with pytest.raises(InputError):
            Window(*arguments)
    with pytest.raises(InputError, match="samples"):
        place_windows(0, 30, 5, 20)
    with pytest.raises(InputError, match="placement"):
        place_windows(0, 300, 5, 20, "dense")
