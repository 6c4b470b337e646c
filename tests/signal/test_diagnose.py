"""The paper's figures for Lorenz and Rössler, and the notes that stand against a reconstruction."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jetode.records.series import Series
from jetode.signal.diagnose import QUICK, diagnose
from jetode.signal.noise import add_noise
from jetode.support.errors import InputError


def test_clean_lorenz(lorenz):
    found = diagnose(lorenz)
    assert found.clean and found.deterministic and found.dimension == 3
    assert found.delay == pytest.approx(16, abs=2)
    assert found.samples_per_tc == pytest.approx(18.1, rel=0.05)
    assert not found.advice  # the mean of 52 oscillations wanders, which is no drift
    json.dumps(found.to_json(), allow_nan=False)


def test_noisy_lorenz_in_other_units(lorenz):
    values = add_noise(lorenz.values, 0.15, np.random.default_rng(0))
    here = diagnose(Series(values, dt=0.01))
    there = diagnose(Series(1e6 * values, dt=1e-5, time_unit="s"))
    assert not here.clean and here.deterministic
    assert here.noise_fraction == pytest.approx(0.15, rel=0.1)
    assert there.noise_fraction == pytest.approx(here.noise_fraction, rel=1e-6)
    assert there.samples_per_oscillation == pytest.approx(here.samples_per_oscillation, rel=1e-6)
    assert (there.delay, there.dimension) == (here.delay, here.dimension)
    assert "0.15" not in there.text() and "% of the signal" in there.text()


def test_white_noise_is_told_from_dynamics():
    found = diagnose(Series(np.random.default_rng(1).standard_normal(3000), dt=1.0))
    assert not found.deterministic and not found.clean
    assert any("Linear noise" in sentence for sentence in found.advice)


def test_drift_few_oscillations_and_coarse_sampling():
    t = np.arange(400)
    found = diagnose(Series(np.sin(2 * np.pi * t / 40.3) + 0.02 * t, dt=1.0))
    assert found.drift_mean > 0.25 and found.drift_z > 3
    notes = " ".join(found.advice)
    assert "drifts" in notes and "oscillations" in notes
    coarse = diagnose(Series(np.sin(2 * np.pi * t / 7.3), dt=1.0))
    assert coarse.samples_per_oscillation == pytest.approx(7.3, rel=0.05)
    assert any("samples per oscillation" in sentence for sentence in coarse.advice)


def test_gaps_are_judged_by_the_longest_stretch(lorenz):
    values = lorenz.values.copy()
    values[1000:1200] = np.nan
    found = diagnose(Series(values, dt=0.01))
    assert found.missing == 200 and found.n == 6001 and found.dimension == 3
    assert "200 missing" in found.text()


@pytest.mark.parametrize(
    "shape",
    [
        lambda t: t,
        lambda t: (t > 500.0) * 1.0,
        lambda t: (t == 500) * 1.0,
        lambda t: np.sign(np.sin(t / 7.1)),
        lambda t: np.exp(t / 50),
    ],
    ids=["line", "step", "spike", "square", "exponential"],
)
def test_odd_records_are_diagnosed_without_a_warning(shape):
    found = diagnose(Series(shape(np.arange(1000.0)), dt=0.1))
    assert found.advice and found.text()


def test_too_short():
    with pytest.raises(InputError, match="needs at least 200"):
        diagnose(Series(np.sin(np.arange(50)), dt=1.0))


def test_a_quick_diagnosis_says_the_same(lorenz):
    record = Series(add_noise(lorenz.values, 0.15, np.random.default_rng(2)), lorenz.dt)
    full, quick = diagnose(record), diagnose(record, effort=QUICK)
    assert quick.deterministic == full.deterministic and quick.sufficiency is None
    assert quick.noise_floor == full.noise_floor and quick.oscillations == full.oscillations
    assert abs(quick.delay - full.delay) <= 2 and abs(quick.dimension - full.dimension) <= 1
