"""A plane that a sine drives: its equation's algebra, how its frequency is found, and the whole way."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.regular import RegularClosure, read_equation
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.joint.forms.driven import drive_frequency
from jetode.joint.problem import prepare
from jetode.joint.unscanned import search_driven
from jetode.reconstruction.naming import named

DUFFING = {(1, 0): 1.0, (0, 1): -0.3, (3, 0): -1.0}
OMEGA = 1.2


def equation(scale=1.0, slope=1.0):
    """u1' = F + scale f, f' = slope g: the same motion in other units of f and g."""
    big_p = {(0, 0, 1, 0): -(OMEGA**2) / slope}
    return RegularClosure({}, {(0, 0, 0): slope}, big_p, 4, f1=dict(DUFFING), c1={(0, 0): scale})


def record(noise=0.0, samples=5000, dt=0.08, seed=1):
    times = 100.0 + dt * np.arange(samples)

    def rates(t, s):
        return [s[1], s[0] - s[0] ** 3 - 0.3 * s[1] + 0.5 * np.cos(OMEGA * t)]

    x = solve_ivp(rates, (0.0, times[-1]), [0.5, 0.1], t_eval=times, rtol=1e-10, atol=1e-12).y[0]
    return jetode.Series(x + noise * x.std() * np.random.default_rng(seed).standard_normal(samples), dt)


def test_the_canonical_gauge_leaves_the_drive_alone():
    """Were f shifted by F, as a hidden coordinate may be, it would be u2, and the law of a sine a dense polynomial."""
    moved = equation(scale=3.0, slope=0.2).canonical()
    assert moved.parts()["f1"] == DUFFING and moved.parts()["c1"] == {(0, 0): 1.0}
    assert moved.parts()["D"] == {(0, 0, 0): 1.0}
    assert moved.parts()["P"] == pytest.approx({(0, 0, 1, 0): -(OMEGA**2)})
    assert moved.canonical().parts() == moved.parts()


def test_canonical_states_run_as_the_states_that_they_are_made_of():
    one, at = equation(scale=3.0, slope=0.2), np.array([0.3, -0.4, 0.5, 0.7])
    rates = np.asarray(one.field(at[None]))[0]
    moved = one.canonical_jacobian(at) @ rates
    np.testing.assert_allclose(np.asarray(one.canonical().field(one.canonical_states(at)[None]))[0], moved, rtol=1e-12)


def test_its_closure_is_what_differentiating_twice_gives():
    """u2 = F + f, u4 = F'' − ω² (u2 − F): seven terms of the driven Duffing oscillator, by hand."""
    closure, square = equation().rational(), OMEGA**2
    assert closure.numerator == pytest.approx(
        {
            (1, 0, 0, 0): square,
            (0, 1, 0, 0): -0.3 * square,
            (0, 0, 1, 0): 1.0 - square,
            (0, 0, 0, 1): -0.3,
            (3, 0, 0, 0): -square,
            (2, 0, 1, 0): -3.0,
            (1, 2, 0, 0): -6.0,
        }
    )


def test_jets_and_states_are_inverse():
    one, states = equation(scale=2.0), np.random.default_rng(0).standard_normal((20, 4))
    np.testing.assert_allclose(one.states(one.jets(states)), states, atol=1e-10)


def test_plain_data_and_back():
    again = read_equation(equation().to_json())
    assert isinstance(again, RegularClosure) and again.is_driven and again.parts() == equation().parts()


def test_only_the_fourth_order_is_a_driven_plane():
    with pytest.raises(jetode.InputError, match="order"):
        RegularClosure({}, {(0, 0): 1.0}, {(0, 0, 1): -1.0}, 3, f1=dict(DUFFING))


def test_exponents_come_largest_first():
    """The drive has two exponents 0; the plane's sum is its damping."""
    spectrum = lyapunov_spectrum(equation().field, np.array([0.5, 0.1, 0.5, 0.0]), 3000.0, 0.1, transient=100.0)
    assert np.all(np.diff(spectrum.exponents) <= 0.0) and spectrum.exponents[0] > 0.05
    assert spectrum.exponents.sum() == pytest.approx(-0.3, abs=1e-3)
    assert spectrum.dimension > 3.0


@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_the_frequency_is_found_to_a_fraction_of_a_line_of_the_spectrum(noise):
    prepared = prepare([record(noise)], 4, loss="auto")
    found = drive_frequency(prepared.jets)
    assert found is not None
    assert found / prepared.time == pytest.approx(OMEGA, abs=0.1 * 2.0 * np.pi / (5000 * 0.08))


@pytest.mark.parametrize("name", ["lorenz", "rossler"])
def test_what_is_not_driven_is_not_taken_for_it(name):
    """Rössler's x goes round so regularly that its spectrum has a line; a plane with a drive does not follow it."""
    step = {"lorenz": 0.01, "rossler": 0.1}[name]
    values = systems[name].simulate(4000 * step, dt=step, transient=20.0).observe("x").values
    noisy = values + 0.02 * values.std() * np.random.default_rng(0).standard_normal(values.size)
    prepared = prepare([jetode.Series(noisy, step)], 4, loss="auto")
    assert search_driven(prepared, lambda: False, lambda _: None) is None


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_a_driven_oscillator_is_found_with_its_drive(noise):
    model = jetode.reconstruct(record(noise))
    assert model.verdict.grade == "exact" and model.order == 4
    found = {(c.part, c.powers): c for c in model.coefficients()}
    truth = {("f1", e): v for e, v in DUFFING.items()} | {("P", (0, 0, 1, 0)): -(OMEGA**2)}
    assert found.keys() == truth.keys()
    assert all(abs(found[k].value - v) < 5.0 * found[k].standard_error for k, v in truth.items())
    assert f"a sine of period {2.0 * np.pi / OMEGA:.3f}"[:-1] in dict(named(model).meanings())["w"]
