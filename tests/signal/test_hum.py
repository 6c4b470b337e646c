"""Mains hum: the line is subtracted whatever its phase and exact frequency, and nothing else is."""

import numpy as np
import pytest

import jetode
from jetode.signal.hum import DEFAULT, find_hum, without_hum

DT = 0.001


@pytest.fixture(scope="module")
def slow():
    """Rössler's x, taken for seconds: 8 Hz."""
    return jetode.systems["rossler"].simulate(200.0, dt=0.05).observe("x").values


def seconds(values, dt=DT):
    return jetode.Series(values, dt, time_unit="s")


def hum(n, frequency=50.0, phase=0.4, size=1.0):
    return size * np.sin(2 * np.pi * frequency * DT * np.arange(n) + phase)


@pytest.mark.parametrize("frequency", [50.0, 49.93, 60.08])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_line_is_gone(slow, frequency, noise):
    spread = slow.std()
    before = slow + noise * spread * np.random.default_rng(0).standard_normal(slow.size)
    given = before + hum(slow.size, frequency, size=0.2 * spread)
    (cleaned,), notes = without_hum([seconds(given)])
    left = np.std(cleaned.values - before) / spread
    assert left < 1e-2  # the motion itself has as much at this frequency
    assert f"at {round(frequency, -1):g} Hz was subtracted" in notes[0] and "0.2 std" in notes[0]
    assert find_hum(cleaned, cleaned.values).amplitude == 0.0


def test_gaps_stay_gaps(slow):
    given = slow + hum(slow.size, size=0.2 * slow.std())
    given[1000:1040] = given[2500:2503] = np.nan
    (cleaned,), notes = without_hum([seconds(given)])
    assert notes and np.array_equal(np.isnan(cleaned.values), np.isnan(given))
    assert np.nanstd(cleaned.values - slow) < 5e-3 * slow.std()


def test_what_is_no_line_of_the_mains_stays(slow):
    n, spread = slow.size, slow.std()
    untouched = {
        "none": seconds(slow),
        "without a unit": jetode.Series(slow + hum(n, size=0.2 * spread), DT),
        "the signal itself": seconds(hum(n) + 0.3 * hum(n, 100.0) + 0.01 * slow / spread),
        "a harmonic of the motion": seconds(np.tanh(3 * hum(n, 50 / 3)) + 0.01 * slow / spread),
        "of many frequencies": seconds(
            slow + 0.1 * spread * np.sin(2 * np.pi * (50 * DT + 4e-7 * np.arange(n)) * np.arange(n))
        ),
    }
    for name, record in untouched.items():
        (same,), notes = without_hum([record])
        assert same is record and notes == (), name
    assert find_hum(untouched["the signal itself"], untouched["the signal itself"].values).amplitude > DEFAULT.most


def test_a_fit_says_so(slow):
    given = slow + hum(slow.size, size=0.2 * slow.std())
    model = jetode.reconstruct(seconds(given), max_seconds=0.01)
    assert any("subtracted as a line" in note for note in model.record.notes)
    assert "tries to subtract" in jetode.diagnose(seconds(given)).advice[0]


@pytest.mark.parametrize("n", [597, 600, 603, 620, 640])
def test_a_record_of_thirty_periods_of_the_mains_has_room_for_nothing_below(n):
    noise = np.random.default_rng(1).standard_normal(n)
    found = find_hum(seconds(noise), noise + hum(n, size=0.4 * 3.0))
    assert found.mains in (0.0, 50.0)
