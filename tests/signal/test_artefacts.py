"""Clipping, dropouts, hum and drifting gain are found where they are, and nowhere else."""

import numpy as np
import pytest

import jetode
from jetode.signal.artefacts import clipped_samples, dropped_samples, find_artefacts, without_dropouts
from jetode.signal.noise import add_noise

SYSTEMS = ["lorenz", "rossler", "van_der_pol", "sprott_jerk"]


def record_of(name, noise=0.0, seed=0):
    record = jetode.systems[name].simulate(60.0 if name == "lorenz" else 200.0, dt=0.01 if name == "lorenz" else 0.05)
    record = record.observe("x")
    values = add_noise(record.values, noise, np.random.default_rng(seed)) if noise else record.values
    return jetode.Series(values, record.dt, time_unit="s")


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("noise", [0.0, 0.15])
def test_ordinary_records_have_none(name, noise):
    record = record_of(name, noise)
    assert find_artefacts(record).sentences() == ()
    for bits in (4, 8):  # a coarse converter repeats values, and is no limiter
        step = np.ptp(record.values) / 2**bits
        coarse = jetode.Series(step * np.round(record.values / step), record.dt)
        assert not find_artefacts(coarse).clipped and not find_artefacts(coarse).dropped


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_clipping(lorenz, noise):
    values = add_noise(lorenz.values, noise, np.random.default_rng(1)) if noise else lorenz.values
    for low, high in ((-8.0, 8.0), (-np.inf, 10.0)):
        clipped = np.clip(values, low, high)
        np.testing.assert_array_equal(clipped_samples(clipped), (clipped == low) | (clipped == high))
        found = find_artefacts(jetode.Series(clipped, 0.01))
        assert found.clipped == pytest.approx(np.mean((values <= low) | (values >= high)))
        assert "clipped" in found.sentences()[0]


def test_dropouts_are_gaps(lorenz):
    rng, values = np.random.default_rng(0), lorenz.values.copy()
    wanted = np.zeros(values.size, bool)
    for start in rng.integers(0, values.size - 10, 30):
        if abs(values[start]) > 4 and abs(values[start + 8]) > 4:
            wanted[start : start + 6] = True
    values[wanted] = 0.0
    found = dropped_samples(values)
    assert np.mean(found[wanted]) > 0.95 and not found[~wanted].any()
    (kept,), notes = without_dropouts([jetode.Series(values, 0.01)])
    assert np.isnan(kept.values[found]).all() and f"{found.sum()} samples that drop to zero" in notes[0]
    same, nothing = without_dropouts([lorenz])
    assert same[0] is lorenz and nothing == ()


@pytest.mark.parametrize("mains", [50.0, 60.0])
def test_hum_is_measured(mains):
    slow = record_of("rossler")
    t = 0.001 * np.arange(slow.n)
    values = slow.values + 0.1 * slow.std * np.sin(2 * np.pi * mains * t)
    found = find_artefacts(jetode.Series(values, 0.001, time_unit="s"))
    assert found.mains == mains and found.hum == pytest.approx(0.1, rel=0.1)
    assert not find_artefacts(jetode.Series(values, 0.001)).hum  # no unit of time: nothing is known of the mains


def test_a_drifting_gain_is_measured(lorenz):
    ramp = np.linspace(1.0, 2.0, lorenz.n)
    found = find_artefacts(jetode.Series(lorenz.values * ramp, 0.01))
    assert found.gain == pytest.approx(0.9, abs=0.35) and "a gain that drifts" in found.sentences()[0]


def test_a_diagnosis_and_a_verdict_name_them(lorenz):
    clipped = jetode.Series(np.clip(lorenz.values[:3000], -9.0, 9.0), 0.01)
    found = jetode.diagnose(clipped)
    assert "clipped" in found.advice[0] and found.to_json()["artefacts"]["clipped"] > 0.1
    model = jetode.reconstruct(clipped, denominator_degree=1, numerator_degree=2)
    assert not model.verdict.trusted and "clipped at the limits" in model.verdict.advice


def test_dropouts_under_noise(noisy_lorenz):
    """Steps of the noise are as large as those to zero, but no other value comes twice."""
    values, wanted = noisy_lorenz.values.copy(), np.zeros(noisy_lorenz.n, bool)
    for start in np.random.default_rng(3).integers(0, values.size - 10, 40):
        wanted[start : start + 4] = True
    values[wanted] = 0.0
    np.testing.assert_array_equal(dropped_samples(values), wanted)
    record = noisy_lorenz.with_values(values)
    model = jetode.reconstruct(record, max_seconds=0.01)
    assert f"{wanted.sum()} samples that drop to zero" in model.record.notes[0]


@pytest.mark.long
def test_a_record_with_dropouts_gives_the_equation_that_it_has_without(noisy_lorenz):
    values = noisy_lorenz.values.copy()
    for start in np.random.default_rng(3).integers(0, values.size - 10, 40):
        values[start : start + 4] = 0.0
    model = jetode.reconstruct(noisy_lorenz.with_values(values))
    assert model.verdict.trusted
    assert set(model.regular.P) == {(0, 0, 0), (0, 0, 1), (2, 0, 0), (1, 1, 0)}
