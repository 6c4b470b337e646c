"""Plain signals get the grade that they deserve, through the whole of ``reconstruct``."""

import numpy as np
import pytest
from scipy.signal import lfilter

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.field import Field
from jetode.integration.dop853 import integrate

T = 0.05 * np.arange(2000)


def graded(values, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    return jetode.reconstruct(values + noise * np.std(values) * rng.standard_normal(values.size), dt=T[1])


def law(model):
    return {c.powers: c.value for c in model.coefficients() if c.part == "P"}


def test_a_sine_is_a_linear_equation_of_order_two():
    model = graded(np.sin(1.3 * T))
    assert model.verdict.grade == "exact" and model.order == 2
    assert law(model)[1, 0] == pytest.approx(-(1.3**2), rel=1e-2)


def test_a_sine_under_noise_stays_one_even_where_cubes_predict_it_better():
    """On a circle of known radius a nonlinear prediction (6.3) has less noise, which says nothing of the equation."""
    values = np.sin(0.1 * np.arange(2000)) + 0.1 * np.random.default_rng(0).standard_normal(2000)
    model = jetode.reconstruct(values, dt=0.1)
    assert model.verdict.grade == "exact" and model.order == 2
    assert law(model) == pytest.approx({(1, 0): -1.0}, rel=1e-2)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.15])
def test_an_oscillator_on_its_closed_curve_is_found_in_the_plane(noise):
    """v' = v − x − x² v: functions imitate that on the curve, and so do equations of three coordinates."""
    model = graded(systems["van_der_pol"].simulate(100.0, dt=T[1], transient=55.0).observe("x").values[:2000], noise, 3)
    assert model.verdict.grade == "exact" and model.order == 2 and not model.elements
    assert set(law(model)) == {(1, 0), (0, 1), (2, 1)}
    assert law(model) == pytest.approx({(1, 0): -1.0, (0, 1): 1.0, (2, 1): -1.0}, rel=0.02 + 0.6 * noise)


def test_friction_that_is_a_cube_of_the_velocity_is_found_on_the_closed_curve():
    """Rayleigh's v' = 1.5 (v − v³) − x: v' = −0.2 x − 0.3 v − 0.5 x³ + 0.7 x² v imitates it at 5 % noise, with one term
    more, and was once called exact."""
    field = Field.polynomial([{(0, 1): 1.0}, {(1, 0): -1.0, (0, 1): 1.5, (0, 3): -1.5}])
    run = integrate(field, [0.5, 0.1], 3000, T[1], rtol=1e-10, atol=1e-12)
    model = graded(run.states[1000:, 0].copy(), 0.05, 1)
    assert model.verdict.grade == "exact" and model.order == 2 and not model.elements
    assert law(model) == pytest.approx({(1, 0): -1.0, (0, 1): 1.5, (0, 3): -1.5}, rel=0.05)


def test_inertia_that_changes_with_the_velocity_is_found_in_a_decay():
    """x'' = −x − 0.03 x' − 0.3 x x'²: a term with the square of the velocity."""
    field = Field.polynomial([{(0, 1): 1.0}, {(1, 0): -1.0, (0, 1): -0.03, (1, 2): -0.3}])
    model = graded(integrate(field, [2.0, 0.0], 1500, T[1], rtol=1e-10, atol=1e-12).states[:, 0].copy(), 0.05, 1)
    assert model.verdict.grade == "exact" and model.order == 2 and not model.elements
    assert law(model) == pytest.approx({(1, 0): -1.0, (0, 1): -0.03, (1, 2): -0.3}, rel=0.05)


def test_a_power_that_is_nearly_a_cube_is_a_cube():
    """x'' = −x − 0.03 x' − 0.5 x³ − 0.1 x'³: a function for one of the cubes follows it too, as sign(x)|x|^2.96."""
    law_of = {(1, 0): -1.0, (0, 1): -0.03, (3, 0): -0.5, (0, 3): -0.1}
    run = integrate(Field.polynomial([{(0, 1): 1.0}, law_of]), [2.0, 0.0], 1500, T[1], rtol=1e-10, atol=1e-12)
    model = graded(run.states[:, 0].copy(), 0.05, 1)
    assert model.verdict.grade == "exact" and model.order == 2 and not model.elements
    assert law(model) == pytest.approx(law_of, rel=0.1)


def test_the_harmonics_of_one_oscillator_are_not_two_linear_ones():
    """A jerk flow with the cube of its velocity has, on its curve, the frequencies ω and 3ω and next to nothing else: a
    linear equation of order 4 with both leaves 2e-5 of it, one of the plane with four coefficients 5e-6.  Neither is
    its law: three harmonics stand out of that, six numbers."""
    rows = [{(0, 1, 0): 1.0}, {(0, 0, 1): 1.0}]
    rows.append({(0, 0, 1): -1.57, (1, 0, 0): -2.88, (0, 1, 0): -1.34, (0, 3, 0): -1.33})
    run = integrate(Field.polynomial(rows), [0.5, 0.0, 0.0], 6000, 0.06, rtol=1e-11, atol=1e-13)
    record, ahead = run.states[2000:5500, 0].copy(), run.states[5499:, 0]
    model = jetode.reconstruct(record, dt=0.06)
    assert model.order == 2 and model.verdict.grade == "approximate"
    np.testing.assert_allclose(model.forecast(500 * 0.06, samples=0).values, ahead, atol=0.01 * record.std())


def test_a_torus_is_a_linear_equation_of_order_four():
    """Two sines obey x'''' = −(ω₁² + ω₂²) x'' − ω₁² ω₂² x."""
    model = graded(np.sin(T) + 0.6 * np.sin(1.618 * T + 1.0))
    assert model.verdict.grade == "exact" and model.order == 4
    assert law(model)[0, 0, 1, 0] == pytest.approx(-(1 + 1.618**2), rel=1e-2)
    assert law(model)[1, 0, 0, 0] == pytest.approx(-(1.618**2), rel=1e-2)


def test_a_decaying_oscillation_is_a_linear_equation_of_order_two():
    """exp(−γt) cos ωt obeys x'' = −(ω² + γ²) x − 2γ x'."""
    model = graded(np.exp(-0.03 * T) * np.cos(1.3 * T))
    assert model.verdict.grade == "exact" and model.order == 2
    assert law(model) == pytest.approx({(1, 0): -(1.3**2 + 0.03**2), (0, 1): -0.06}, rel=0.05)


def shuffled(rng):
    values = systems["lorenz"].simulate(20.0, dt=0.01, transient=50.0).observe("x").values
    return rng.permutation(values)


WITHOUT_DYNAMICS = {
    "white": lambda rng: rng.standard_normal(2000),
    "AR(1)": lambda rng: lfilter([1.0], [1.0, -0.9], rng.standard_normal(2000)),
    "AR(2)": lambda rng: lfilter([1.0], [1.0, -1.95, 0.96], rng.standard_normal(2000)),
    "random walk": lambda rng: np.cumsum(rng.standard_normal(2000)),
    "shuffled Lorenz": shuffled,
}


@pytest.mark.parametrize("kind", WITHOUT_DYNAMICS)
def test_noise_without_dynamics_is_graded_none(kind):
    model = jetode.reconstruct(WITHOUT_DYNAMICS[kind](np.random.default_rng(5)), dt=0.01)
    assert model.verdict.grade == "none"
    assert "screen" in model.diagnostics  # found at once, not after every form was tried
