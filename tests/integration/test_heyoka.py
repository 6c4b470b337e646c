"""The optional Taylor integrator agrees with DOP853, and crosses the pole of an exact closure."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.equations.elements import KINDS, Element
from jetode.equations.field import Field
from jetode.integration.dop853 import Stop, integrate
from jetode.integration.forecast import forecast, forecast_many
from jetode.support.errors import InputError
from truths import LORENZ_FIELD, LORENZ_JETS_FIELD, lorenz_jets

pytest.importorskip("heyoka", reason="the extra 'heyoka' is not installed")

SCALE = np.array([7.9, 45.0, 700.0])


@pytest.mark.parametrize("name", ["lorenz", "thomas", "van_der_pol", "hyper_rossler"])
def test_agrees_with_dop853(name: str) -> None:
    system = systems[name]
    start = np.array(system.initial)
    ahead = forecast(system.field, start, np.full(start.size, 100.0), 2.0, 0.01, rtol=1e-14, backend="heyoka")
    own = integrate(system.field, start, 201, 0.01, rtol=1e-13, atol=1e-13)
    assert ahead.completed
    assert np.allclose(ahead.states, own.states, rtol=1e-8, atol=1e-8)


def test_crosses_the_pole_without_loss() -> None:
    start = integrate(LORENZ_FIELD, [1.0, 0.0, 0.0], 2, 50.0, rtol=1e-12, atol=1e-12).states[-1]
    truth = integrate(LORENZ_FIELD, start, 1001, 0.01, rtol=1e-13, atol=1e-13).states[:, 0]
    ahead = forecast(LORENZ_JETS_FIELD, lorenz_jets(start), SCALE, 10.0, 0.01, rtol=1e-15, backend="heyoka")
    assert np.max(np.abs(ahead.values - truth)) < 1e-4 * truth.std()


def test_coefficients_change_without_a_rebuild() -> None:
    start = [4.0, 5.0, 6.0]
    other = Field(3, ({e: 0.5 * c for e, c in LORENZ_JETS_FIELD.rows[0].items()},), LORENZ_JETS_FIELD.denominator)
    first, changed, again = (
        forecast(f, start, SCALE, 0.5, 0.01, backend="heyoka").values
        for f in (LORENZ_JETS_FIELD, other, LORENZ_JETS_FIELD)
    )
    assert np.array_equal(first, again) and not np.allclose(first, changed)


def test_stops_are_values() -> None:
    runaway = Field(2, ({(2, 0): 1.0},))
    ahead = forecast(runaway, [1.0, 1.0], [1.0, 1.0], 100.0, 0.1, backend="heyoka")
    assert ahead.stop is Stop.DIVERGED and ahead.t.size < 1001
    # u1' = 1/(1 - u0): a logarithmic singularity at u0 = 1
    pole = Field(2, ({(0, 0): 1.0},), {(0, 0): 1.0, (1, 0): -1.0})
    hit = forecast(pole, [0.0, 1.0], [1.0, 1.0], 5.0, 0.01, backend="heyoka")
    assert hit.stop is Stop.POLE and hit.stop_time < 2.0


def test_many_is_one_by_one() -> None:
    starts = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    both = forecast_many(LORENZ_JETS_FIELD, starts, SCALE, 0.5, 0.01, backend="heyoka")
    one = forecast(LORENZ_JETS_FIELD, starts[1], SCALE, 0.5, 0.01, backend="heyoka")
    assert np.array_equal(both[1].values, one.values)


@pytest.mark.parametrize("name", KINDS)
def test_elements_agree_with_dop853_or_are_refused(name: str) -> None:
    """Functions without a Taylor series everywhere are refused in one sentence."""
    field = Field(2, ({(1, 0, 0): -1.0, (0, 0, 1): 0.3},), elements=(Element.start(name, 0),))
    start, scale = np.array([0.9, 0.1]), np.ones(2)
    if name in ("abs", "drag", "piecewise-linear", "power", "curve"):
        with pytest.raises(InputError, match="Taylor"):
            forecast(field, start, scale, 0.5, 0.01, backend="heyoka")
        return
    ahead = forecast(field, start, scale, 0.5, 0.01, rtol=1e-14, backend="heyoka")
    own = integrate(field, start, 51, 0.01, rtol=1e-13, atol=1e-13)
    assert np.allclose(ahead.states, own.states, rtol=1e-8, atol=1e-8)
