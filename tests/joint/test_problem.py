"""From records to the dimensionless problem: gaps, splitting, units, noise level."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.joint.problem import prepare, split_at_gaps, stretches
from jetode.joint.shooting.layout import RK4, RK8
from jetode.records.series import Series
from jetode.signal.noise import add_noise
from jetode.signal.scales import Unsuitable, filled
from jetode.support.errors import InputError


@pytest.fixture(scope="module")
def lorenz():
    return systems["lorenz"].simulate(40.0).observe("x")


def noisy(record, fraction=0.15, seed=0):
    return record.with_values(add_noise(record.values, fraction, np.random.default_rng(seed)))


def with_gap(record, start, stop):
    values = record.values.copy()
    values[start:stop] = np.nan
    return record.with_values(values)


@pytest.mark.parametrize("fraction", [0.05, 0.15, 0.3, 0.5])
def test_noise_level(lorenz, fraction):
    prepared = prepare([noisy(lorenz, fraction)], 3)
    assert not prepared.clean
    assert prepared.sigma * prepared.amplitude == pytest.approx(fraction * lorenz.std, rel=0.05)


def test_clean_record(lorenz):
    prepared = prepare([lorenz], 3)
    assert prepared.clean and prepared.sigma < 1e-4
    assert prepared.data(prepared.sigma).tableau is RK8 and prepared.data(0.1).tableau is RK4
    assert prepared.jets.u[:, 0] * prepared.amplitude == pytest.approx(lorenz.values, abs=1e-9)


def test_given_sigma_is_used(lorenz):
    prepared = prepare([noisy(lorenz)], 3, sigma=2.0)
    assert prepared.sigma * prepared.amplitude == pytest.approx(2.0) and not prepared.clean


@pytest.mark.parametrize(("amplitude", "time"), [(1e6, 1e-6), (1e-6, 1e6)])
@pytest.mark.parametrize("fraction", [0.0, 0.15])
def test_units_do_not_matter(lorenz, amplitude, time, fraction):
    here = noisy(lorenz, fraction)
    one = prepare([here], 3)
    other = prepare([Series(here.values * amplitude, here.dt * time)], 3)
    assert other.amplitude == pytest.approx(one.amplitude * amplitude)
    assert other.time == pytest.approx(one.time * time)
    # of a clean record sigma is rounding, which changes with the unit
    assert other.sigma == pytest.approx(one.sigma, rel=1e-6 if fraction else 0.2)
    assert other.jets.u == pytest.approx(one.jets.u, rel=1e-6, abs=1e-6)
    assert np.array_equal(other.data(0.1).layout.first, one.data(0.1).layout.first)


def test_scales(lorenz):
    prepared = prepare([noisy(lorenz)], 3)
    u = prepared.jets.u[50:-50]
    assert np.std(u[:, :2], axis=0) == pytest.approx([1.0, 1.0], rel=0.02)
    assert np.mean(u[:, 0]) == pytest.approx(np.mean(lorenz.values) / prepared.amplitude, abs=0.02)  # not shifted


def test_short_gap_is_bridged_and_long_one_splits(lorenz):
    tc = round(prepare([lorenz], 3).time / lorenz.dt)
    bridged = prepare([with_gap(noisy(lorenz), 1000, 1000 + tc - 3)], 3)
    assert len(bridged.pieces) == 1
    weight = bridged.data(0.1).weight
    assert np.all(weight[1000 : 1000 + tc - 3] == 0.0) and np.count_nonzero(weight) == lorenz.n - tc + 3
    split = prepare([with_gap(noisy(lorenz), 1000, 1200)], 3)
    assert [(p.start, p.stop) for p in split.pieces] == [(0, 1000), (1200, lorenz.n)]
    assert split.jets.lengths == (1000, lorenz.n - 1200)
    assert split.n_samples == lorenz.n - 200
    assert split.sigma == pytest.approx(prepare([noisy(lorenz)], 3).sigma, rel=0.05)


def test_several_records(lorenz):
    records = [noisy(lorenz, seed=1), with_gap(noisy(lorenz, seed=2), 500, 900)]
    prepared = prepare(records, 3)
    assert [p.record for p in prepared.pieces] == [0, 1, 1]
    layout = prepared.data(0.1).layout
    assert np.count_nonzero(layout.spans == 0) == 3
    head = prepared.data(0.1, 1500)
    assert head.y.size == 1500


def test_records_that_cannot_be_used(lorenz):
    with pytest.raises(InputError, match="one sampling interval"):
        prepare([lorenz, Series(lorenz.values, 0.02)], 3)
    rng = np.random.default_rng(0)
    with pytest.raises(Unsuitable):
        prepare([Series(np.where(np.arange(600) % 50 < 30, rng.standard_normal(600).cumsum(), np.nan), 1.0)], 3)
    short = lorenz.slice(0, 60)
    with pytest.raises(Unsuitable, match="record 2"):
        prepare([noisy(lorenz), short], 3)


def test_gaps_at_both_ends_and_stretches_that_do_not_vary(lorenz):
    values = lorenz.values.copy()
    values[:100] = np.nan
    values[-7:] = np.nan
    prepared = prepare([lorenz.with_values(values)], 3)
    assert [(p.start, p.stop) for p in prepared.pieces] == [(100, lorenz.n - 7)]
    assert split_at_gaps(np.full(50, np.nan), 5, 10, 0) == []
    flat = np.concatenate([np.full(200, 3.0), np.full(60, np.nan), lorenz.values[:1000]])
    assert [(p.start, p.stop) for p in stretches(flat, 0.01, 0.2, 1.0)] == [(260, 1260)]


def test_filling_is_for_smoothing_only():
    assert filled(np.array([np.nan, 1.0, np.nan, 3.0, np.nan])) == pytest.approx([1.0, 1.0, 2.0, 3.0, 3.0])


def test_second_order_steps_end_at_samples(lorenz):
    """Its states (u0, w) do not hold u1, which the interpolant of the coarser steps needs."""
    assert prepare([noisy(lorenz)], 2).data(0.15).layout.stride == 1
    assert prepare([noisy(lorenz.slice(0, 4001))], 3).data(0.15, step=0.2).layout.stride > 1


def test_records_of_unlike_noise_weigh_by_their_own():
    """Weights are as σ²/σ_i², so that χ² per sample is 1 in each record; where noise is alike nothing changes."""
    rng, times = np.random.default_rng(3), 0.05 * np.arange(1500)

    def records(*levels):
        return [Series(np.sin(times + i) + s * rng.standard_normal(times.size), 0.05) for i, s in enumerate(levels)]

    alike = prepare(records(0.05, 0.05, 0.05), 2, None)
    assert np.array_equal(alike.present, np.ones(4500))
    levels = np.array([0.03, 0.05, 0.08])
    uneven = prepare(records(*levels), 2, None)
    found = uneven.sigma * uneven.amplitude / np.sqrt(uneven.present[[0, 1500, 3000]])
    assert found == pytest.approx(levels, rel=0.06)
