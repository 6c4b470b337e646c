"""More samples: the same coefficients as a new fit at a fraction of its cost, and a change of the system is seen."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import jetode
from jetode.reconstruction.band_check import Outside
from jetode.reconstruction.watching import Watch

SAVED = Path(__file__).parent / "saved"


@pytest.fixture(scope="module")
def longer():
    """Truth of 66 units, and its samples with 15 % noise."""
    truth = jetode.systems["lorenz"].simulate(66.0).observe("x").values
    return truth, jetode.Series(jetode.add_noise(truth, 0.15, np.random.default_rng(3)), 0.01, name="x")


@pytest.fixture(scope="module")
def model(longer):
    return jetode.reconstruct(longer[1].slice(0, 6001))


@pytest.mark.slow
def test_ten_per_cent_more_samples(model, longer):
    whole = longer[1]
    begin = time.process_time()
    anew = jetode.reconstruct(whole)
    fit = time.process_time() - begin
    begin = time.process_time()
    updated = model.update(whole)
    assert time.process_time() - begin <= 0.2 * fit
    for a, b in zip(updated.coefficients(), anew.coefficients(), strict=True):
        assert (a.part, a.powers) == (b.part, b.powers)
        assert abs(a.value - b.value) <= 0.1 * b.standard_error
        assert a.standard_error == pytest.approx(b.standard_error, rel=0.05)
    assert updated.verdict.grade == "exact" and "still holds" in updated.verdict.reason
    assert updated.record.n == 6601 and updated.path.shape == (6601, 3)
    np.testing.assert_allclose(updated.end_state, anew.end_state, rtol=1e-2, atol=1e-2)


@pytest.mark.slow
def test_what_follows_is_joined_to_what_was_there(model, longer):
    whole = longer[1]
    one, other = model.update(whole), model.update(whole.slice(6001, 6601))
    assert one.record.n == other.record.n
    np.testing.assert_array_equal(one.end_state, other.end_state)


@pytest.mark.slow
def test_a_change_of_the_system_is_seen(model, longer):
    """The same signal, run a tenth slower from the end of the old record on."""
    truth, whole = longer
    slower = np.interp(0.9 * np.arange(600), np.arange(600), truth[6001:])
    new = jetode.add_noise(slower, 0.15, np.random.default_rng(0))
    changed = model.update(whole.with_values(np.append(whole.values[:6001], new)))
    assert changed.verdict.grade == "none" and "no longer holds" in changed.verdict.reason
    assert "econstruct" in changed.verdict.advice


@pytest.mark.slow
def test_a_model_with_measured_forecasts_keeps_its_coefficients(model, longer):
    """Whatever its dynamics: forecasts of the new samples say whether it still holds."""
    truth, whole = longer
    measured = replace(model, verdict=replace(model.verdict, grade="approximate"))
    held = measured.update(whole)
    assert held.coefficients() == model.coefficients() and held.record.n == 6601
    assert held.verdict.grade == "approximate" and "still hold" in held.verdict.reason
    slower = np.interp(0.7 * np.arange(600), np.arange(600), truth[6001:])
    new = jetode.add_noise(slower, 0.15, np.random.default_rng(0))
    left = measured.update(whole.with_values(np.append(whole.values[:6001], new)))
    assert left.verdict.grade == "none" and "no longer hold" in left.verdict.reason
    assert left.diagnostics["update"] == {"new_samples": 600, "holds": False}


def test_too_many_outside_is_more_than_chance():
    assert not Outside(600, 60).too_many and not Outside(4, 4).too_many
    assert Outside(600, 250).too_many and (Outside(300, 125) + Outside(300, 125)).too_many


def test_what_cannot_be_updated_says_so(longer):
    saved = jetode.load(SAVED / "joint_lorenz.json")
    with pytest.raises(jetode.InputError, match="more samples"):
        saved.update(longer[1].slice(0, 6001))
    with pytest.raises(jetode.InputError, match="joint fit"):
        jetode.load(SAVED / "paper_lorenz.json").update(longer[1])


@pytest.mark.slow
def test_a_watch_is_quiet_while_the_record_does_what_was_forecast(model, longer):
    whole = longer[1]
    watch = Watch.at(model, whole.slice(0, 6001), 1.0)
    alarms = []
    for end in range(6101, 6601, 100):
        watch, seen = watch.see(whole.slice(0, end))
        alarms.append(seen.alarm)
        assert seen.new == 100 and "x" in seen.text() and "outside" in seen.text()
    assert not any(alarms)
    odd = whole.with_values(np.append(whole.values[:6501], np.full(100, 3.0 * whole.std)))
    watch, seen = Watch.at(model, whole.slice(0, 6501), 1.0).see(odd)
    assert seen.alarm and seen.text().startswith("ALARM") and seen.outside == 100
    again, still = watch.see(odd)
    assert again is watch and still.new == 0 and not still.alarm
