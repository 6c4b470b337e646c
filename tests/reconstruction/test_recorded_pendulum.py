"""A pendulum as an encoder recorded it: its sine, and what five oscillations tell of the sixty that follow."""

from pathlib import Path

import numpy as np
import pytest

import jetode
from jetode.integration.windowed_prediction_time import windowed_vpt

RECORD = Path(__file__).parents[3] / "shared" / "data" / "pendulum_angle.csv"
KNOWN = 230  # samples: its first five oscillations, of 1.6 rad
pytestmark = pytest.mark.skipif(not RECORD.exists(), reason="the recording is not part of the repository")


@pytest.fixture(scope="module")
def angle() -> jetode.Series:
    return jetode.read(RECORD)


def head(angle: jetode.Series) -> jetode.Series:
    return jetode.Series(angle.values[:KNOWN], angle.dt, name="angle", unit="rad", time_unit="s")


def test_a_sine_that_is_known_leaves_little_of_five_oscillations(angle):
    model = jetode.reconstruct(head(angle), functions={"sin": {"frequency": 1.0, "phase": 0.0}})
    (sine,) = model.elements
    assert sine.name == "sin" and sine.parameters["frequency"][0] == 1.0
    assert sine.gain == pytest.approx(-64.3, rel=0.01)  # of its authors
    (path,) = model.dynamics.paths  # a trajectory of the equation, without jumps
    left = path.states[:, 0] - angle.values[:KNOWN]
    assert np.sqrt(np.mean(left**2)) < 0.005 * np.std(angle.values[:KNOWN])


@pytest.mark.long
def test_five_oscillations_forecast_the_rest(angle):
    model = jetode.reconstruct(head(angle))
    assert model.verdict.grade in ("exact", "approximate")
    assert [e.name for e in model.elements] == ["sin"]
    rest = angle.values[KNOWN - 1 :]
    ahead = model.forecast((rest.size - 1) * angle.dt, samples=0).values
    period = 45  # samples
    held = windowed_vpt(((ahead - rest) / np.std(rest))[None], period)[0]
    assert held == pytest.approx((rest.size - 1) / period, rel=0.02)  # oscillations: to the end of the record
