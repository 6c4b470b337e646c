"""Known systems: bounded, tight, observable, with the paper's settings."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.catalogue.systems import systems
from jetode.integration.forecast import forecast
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.support.errors import InputError


def test_the_required_systems_are_there() -> None:
    required = {
        "lorenz",
        "rossler",
        "chua",
        "sprott_jerk",
        "thomas",
        "halvorsen",
        "van_der_pol",
        "hyper_rossler",
    }
    assert required <= set(systems)
    assert systems["van_der_pol"].dimension == 2 and systems["hyper_rossler"].dimension == 4


@pytest.mark.parametrize("name", list(systems))
def test_every_system_moves_and_stays_bounded(name: str) -> None:
    system = systems[name]
    states = system.simulate(100 * system.time, system.time / 20, transient=20 * system.time).states
    late = states[states.shape[0] // 2 :]
    assert np.all(np.isfinite(states)) and np.all(late.std(axis=0) > 1e-3)


@pytest.mark.parametrize(("name", "reference"), [("lorenz", [10, 28, 8 / 3]), ("thomas", [0.18])])
def test_trajectory_agrees_with_scipy(name: str, reference: list[float]) -> None:
    def rate(_: float, state: np.ndarray) -> np.ndarray:
        x, y, z = state
        if name == "thomas":
            return np.sin([y, z, x]) - reference[0] * state
        sigma, rho, beta = reference
        return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])

    own = systems[name].simulate(5.0, 0.01, transient=0.0).states
    other = solve_ivp(rate, (0, 5), [1.0, 0.0, 0.0], "DOP853", 0.01 * np.arange(501), rtol=1e-12, atol=1e-12)
    assert np.max(np.abs(own - other.y.T)) < 1e-7


def test_papers_record() -> None:
    trajectory = systems["lorenz"].simulate(60.0, dt=0.01, transient=50.0, initial=(1, 0, 0))
    x = trajectory.observe("x")
    assert x.n == 6001 and x.dt == 0.01 and x.name == "x"
    assert np.array_equal(x.values, trajectory.states[:, 0])
    mixed = trajectory.observe("x**2 + y/2").values
    assert np.allclose(mixed, trajectory.states[:, 0] ** 2 + trajectory.states[:, 1] / 2, rtol=1e-14)


def test_exact_closure_forecasts_the_record() -> None:
    from jetode.equations.field import Field

    system = systems["rossler"]
    closure = system.closure("x")
    assert closure is not None
    trajectory = system.simulate(40.0, dt=0.01)
    x, y, z = trajectory.states[0]
    rate = -y - z
    start = [x, rate, -(x + 0.2 * y) - (0.2 + z * (x - 5.7))]
    scale = np.array([5.0, 5.0, 8.0])
    ahead = forecast(Field.from_closure(closure), start, scale, 40.0, 0.01)
    assert valid_prediction_time(ahead.values, trajectory.states[:, 0], 0.01) == pytest.approx(40.0)


def test_lyapunov_exponents() -> None:
    assert systems["lorenz"].lyapunov == 0.906 and systems["rossler"].lyapunov == 0.071
    computed = systems["rossler"].lyapunov_spectrum()
    assert computed.largest == pytest.approx(0.071, abs=0.004)
    assert systems["van_der_pol"].lyapunov == pytest.approx(0.0, abs=1e-3)
    assert systems["sprott_jerk"].lyapunov == pytest.approx(0.055, abs=0.003)


def test_hyperchaos_has_two_positive_exponents() -> None:
    exponents = systems["hyper_rossler"].lyapunov_spectrum(4000.0).exponents
    assert np.allclose(exponents[:3], [0.112, 0.019, 0.0], atol=0.012)


def test_bad_arguments() -> None:
    with pytest.raises(InputError, match="must be one of lorenz"):
        systems["lorentz"]
    assert "lorentz" not in systems
    lorenz = systems["lorenz"]
    for arguments in (
        {"duration": 0.0},
        {"dt": -1.0},
        {"transient": -1.0},
        {"transient": 1e300},
        {"transient": 1e6},
        {"duration": 1e6},
        {"duration": 1e300},
        {"dt": 1e300},
        {"initial": (1, 0)},
    ):
        with pytest.raises(InputError, match=next(iter(arguments))):
            lorenz.simulate(**{"duration": 1.0, **arguments})
    with pytest.raises(InputError, match="steps of 1e-300"):
        lorenz.simulate(1.0, dt=1e-300)
    with pytest.raises(InputError, match="bounded"):
        systems["sprott_jerk"].simulate(10.0, initial=(0, 0, 50))
    with pytest.raises(InputError, match="expression"):
        lorenz.simulate(1.0).observe("q")
