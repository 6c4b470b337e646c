"""Lyapunov exponents: exact for linear fields, literature values for Lorenz, the trace identity."""

import numpy as np
import pytest

from jetode.equations.field import Field
from jetode.integration.dop853 import Stop
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.support.errors import InputError
from truths import LORENZ_FIELD


def test_linear_field_is_exact() -> None:
    field = Field.polynomial([{(1, 0): -0.5, (0, 1): 3.0}, {(0, 1): -2.0}])
    spectrum = lyapunov_spectrum(field, [1.0, 1.0], 40.0, 0.05, transient=40.0)
    assert np.allclose(spectrum.exponents, [-0.5, -2.0], atol=1e-6)


def test_lorenz() -> None:
    spectrum = lyapunov_spectrum(LORENZ_FIELD, [1.0, 0.0, 0.0], 1000.0, 0.02, transient=50.0)
    assert spectrum.stop is Stop.COMPLETED
    assert np.allclose(spectrum.exponents, [0.906, 0.0, -14.572], atol=0.03)
    assert spectrum.exponents.sum() == pytest.approx(-10 - 1 - 8 / 3, abs=1e-6), "the divergence of the field"
    assert spectrum.dimension == pytest.approx(2.062, abs=0.01)
    assert abs(spectrum.largest - 0.906) < 5 * spectrum.standard_errors[0]


def test_one_vector_gives_the_largest() -> None:
    all_three = lyapunov_spectrum(LORENZ_FIELD, [1.0, 0.0, 0.0], 50.0, 0.02, transient=10.0)
    one = lyapunov_spectrum(LORENZ_FIELD, [1.0, 0.0, 0.0], 50.0, 0.02, transient=10.0, count=1)
    assert one.exponents.shape == (1,)
    assert one.largest == pytest.approx(all_three.largest, rel=1e-6)


def test_divergence_is_a_value() -> None:
    spectrum = lyapunov_spectrum(Field(1, ({(2,): 1.0},)), [1.0], 10.0, 0.01)
    assert spectrum.stop is Stop.DIVERGED and np.isnan(spectrum.largest)


def test_bad_arguments() -> None:
    for arguments in ({"x0": [1.0]}, {"duration": 0.01}, {"count": 4}):
        with pytest.raises(InputError, match=next(iter(arguments))):
            lyapunov_spectrum(LORENZ_FIELD, **{"x0": [1.0, 0, 0], "duration": 10.0, "step": 0.01, **arguments})
