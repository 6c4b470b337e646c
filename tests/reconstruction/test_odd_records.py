"""Records that are odd but ordinary end in a verdict, whatever it says: no exception, no warning, numbers to see."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jetode
from jetode.reconstruction.held_out import _starts
from jetode.reconstruction.settings import EXAMINATION
from jetode.reporting.report import report


def examined(values, **options):
    model = jetode.reconstruct(jetode.Series(values, 0.01), **options)
    assert model.verdict.reason and (model.verdict.trusted or model.verdict.advice)
    ahead = model.forecast(1.0)
    assert np.isfinite(ahead.values).all()
    assert f'data-grade="{model.verdict.grade}"' in report(model, ahead)
    return model


def test_a_third_of_the_samples_missing_in_many_gaps(lorenz):
    """Pieces between the gaps are shorter than the search would take; the held-out check used to run past them."""
    rng = np.random.default_rng(2)
    values = jetode.add_noise(lorenz.values, 0.05, np.random.default_rng(0))
    while np.isnan(values).mean() < 0.3:
        start = rng.integers(0, values.size - 60)
        values[start : start + rng.integers(1, 60)] = np.nan
    model = examined(values)
    assert model.evidence.held_out < 1.25  # of pieces of every length
    assert model.evidence.skill > 0.0  # forecasts into stretches that have gaps


def test_starts_are_spread_over_what_is_known():
    known = np.ones(1000, dtype=bool)
    assert _starts(known, 750, 30, 100) == np.linspace(750, 899, EXAMINATION.starts).astype(int).tolist()
    known[::40] = False  # gaps, and no longer past without one
    assert _starts(known, 750, 50, 100) == []
    near = _starts(known, 750, 30, 100)
    assert len(near) == EXAMINATION.starts and all(known[max(0, s - 30) : s + 1].all() for s in near)
    known[800:] = False
    assert _starts(known, 750, 30, 100) == []


@pytest.mark.long
def test_a_limit_cycle_is_told_in_its_plane():
    """Many equations of three coordinates hold on a closed curve; the true one has two: v' = v − x − x² v."""
    record = jetode.systems["van_der_pol"].simulate(200.0, dt=0.05, transient=55.0).observe("x")
    noisy = jetode.add_noise(record.values, 0.05, np.random.default_rng(33))
    model = jetode.reconstruct(jetode.Series(noisy, 0.05))
    assert model.verdict.trusted and model.order == 2
    assert jetode.relative_l2(model.closure, jetode.systems["van_der_pol"].closure("x"))[0] < 0.05


def test_one_orbit_without_friction_does_not_tell_its_force(monkeypatch):
    """Along it v² is a function of x (the energy), so that x v² can stand for x and x³: x'' = −x − x³ came out as
    −1.69 x³ − 0.35 x v², and was called exact."""
    times = 0.06 * np.arange(3000)
    swing = solve_ivp(lambda t, s: [s[1], -s[0] - s[0] ** 3], (0, 180), [1.2, 0.0], t_eval=times, rtol=1e-9, atol=1e-9)
    noisy = jetode.add_noise(swing.y[0], 0.05, np.random.default_rng(0))
    monkeypatch.setattr("jetode.reconstruction.joint_method.graded", lambda found, *_: found)  # no contest
    model = jetode.reconstruct(jetode.Series(noisy, 0.06))
    assert not model.verdict.trusted and "repeats itself" in model.verdict.reason


@pytest.mark.slow
def test_single_wild_samples_leave_the_equation_exact(lorenz):
    """They are left out of the fit, and so they must be of the stretch that it is judged by."""
    rng = np.random.default_rng(12)
    values = jetode.add_noise(lorenz.values, 0.05, rng)
    values += (rng.random(values.size) < 0.01) * 5.0 * values.std() * rng.standard_normal(values.size)
    model = examined(values)
    assert model.verdict.trusted and model.identified.robust


@pytest.mark.long
def test_a_mean_far_from_0(lorenz):
    """Refused before any fit; the contest that follows takes its record as it is."""
    values = jetode.add_noise(lorenz.values, 0.05, np.random.default_rng(0))[:2400:4]
    model = examined(values + 1e6 * values.std())
    assert model.verdict.grade != "exact" and "1e+06 std from 0" in model.verdict.reason
    assert "Subtract a constant" in model.verdict.advice


def test_a_mean_far_from_0_without_noise(lorenz):
    budget = jetode.Budget()  # simple forecasts are enough here
    model = examined(
        lorenz.values + 1e6 * lorenz.std,
        budget=budget,
        progress=lambda stage: budget.cancel() if "memory" in stage else None,
    )
    assert model.verdict.grade != "exact" and "1e+06 std from 0" in model.verdict.reason


@pytest.mark.long
@pytest.mark.parametrize("limit", [(-8.0, 8.0), (-np.inf, 6.0)], ids=["both", "top"])
def test_a_clipped_record(lorenz, limit):
    """Exact where it is right, since clipped samples are one-sided; and nothing that is wrong."""
    model = examined(np.clip(lorenz.values[:2000], *limit), max_seconds=10.0)
    if model.verdict.grade == "exact":
        assert jetode.relative_l2(model.closure, jetode.systems["lorenz"].closure("x"))[0] < 0.02
