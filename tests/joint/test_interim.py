"""What a fit tells while it goes on: an equation in the record's units that goes on where the search ended."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.equations.field import Field
from jetode.integration.forecast import forecast
from jetode.joint.fit import fit_joint
from jetode.joint.interim import Improved
from jetode.joint.request import Request
from jetode.records.series import Series

AMPLITUDE, UNIT = 40.0, 0.05  # the record's units: neither std nor tc is near 1


@pytest.fixture(scope="module")
def duffing():
    """x'' = −x − 0.3 x³ in those units, 90 oscillation-long, and its continuation."""
    field = Field(2, ({(0, 1): 1.0}, {(1, 0): -1.0, (3, 0): -0.3}))
    run = forecast(field, np.array([1.5, 0.0]), np.ones(2), 120.0, 0.1)
    return AMPLITUDE * run.values


@pytest.mark.long
def test_the_best_so_far_goes_on_where_the_search_ended(duffing):
    n, dt = 900, 0.1 * UNIT
    noisy = duffing[:n] + 0.02 * AMPLITUDE * np.random.default_rng(0).standard_normal(n)
    said: list[str] = []
    fit_joint(Request([Series(noisy, dt)], order=2), progress=said.append)
    better = [stage for stage in said if isinstance(stage, Improved)]
    assert better and all(stage for stage in better)
    best = better[-1].best
    assert best.record == 0 and 0 < best.sample < n
    assert best.state[0] == pytest.approx(duffing[best.sample], abs=0.1 * AMPLITUDE)
    ahead = best.forecast(6.0 * UNIT, dt).values
    assert np.abs(ahead - duffing[best.sample : best.sample + ahead.size]).max() < 0.25 * AMPLITUDE
    assert "w' =" in best.equation.text(4) or "u1' =" in best.equation.text(4)
