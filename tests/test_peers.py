"""Peers: forecasts of signals whose continuation is known exactly, settings from the record alone."""

from __future__ import annotations

import numpy as np
import pytest

from jetode import narx, peers
from jetode.errors import InputError

DT = 0.05
STEPS = 100
T = DT * np.arange(1201)


def wave(t: np.ndarray) -> np.ndarray:
    return 3.0 + 2.0 * np.sin(2.0 * t) + 0.5 * np.cos(4.0 * t)


@pytest.mark.parametrize("name", peers.NAMES)
def test_a_periodic_signal_is_continued_in_shape(name):
    if peers.available()[name] is None:
        pytest.skip("install jetode[bench]")
    run = peers.forecast(name, wave(T), DT, STEPS)
    assert run.shape == (STEPS + 1,)
    truth = wave(T[-1] + DT * np.arange(STEPS + 1))
    if name == "persistence":
        assert np.all(run == wave(T)[-1])
    elif name in ("kernel-ridge", "local-linear", "NVAR", "AR"):
        assert np.abs(run - truth).max() < 0.1
    elif name == "repetition":  # the period is 62.8 samples
        assert np.abs(run - truth)[:60].max() < 0.2


def test_the_repeated_oscillation_starts_after_the_last_sample():
    t = np.arange(1001) / 50
    values = np.sin(2 * np.pi * t)
    run = peers.forecast("repetition", values, 0.02, 120)
    np.testing.assert_allclose(run, np.sin(2 * np.pi * (t[-1] + 0.02 * np.arange(121))), atol=1e-9)


@pytest.mark.parametrize("name", ["kernel-ridge", "AR", "NVAR"])
def test_units_do_not_matter(name):
    if peers.available()[name] is None:
        pytest.skip("install jetode[bench]")
    noisy = wave(T[:800]) + 0.05 * np.random.default_rng(1).normal(size=800)
    one = peers.forecast(name, noisy, DT, 40)
    other = peers.forecast(name, 1000.0 * noisy - 7.0, 60.0 * DT, 40)
    np.testing.assert_allclose(other, 1000.0 * one - 7.0, rtol=1e-4)


def test_a_map_that_runs_away_ends_as_nan():
    rollout = narx.closed_loop(lambda window: window[:, 0], stride=2, taps=3)
    run = rollout(np.sin(0.3 * np.arange(100.0)) + 2.0, np.array([99, 60]), 40)
    assert run.shape == (2, 41)
    assert np.isfinite(run[:, 0]).all() and np.isnan(run[:, -1]).all()


def test_the_strided_loop_fills_the_samples_between():
    frequency, stride = 0.1, 3
    x = np.sin(frequency * np.arange(400.0))
    both = 2.0 * np.cos(frequency * stride)
    rollout = narx.closed_loop(lambda w: (both - 1.0) * w[:, 0] - w[:, 1], stride, 5)
    run = rollout(x, np.array([250]), 100)[0]
    np.testing.assert_allclose(run, x[250:351], atol=1e-3)


def test_settings_come_from_the_held_out_stretch():
    noisy = wave(T) + 0.2 * np.random.default_rng(0).normal(size=T.size)
    past, _, _ = narx.Past.of(noisy)
    chosen = narx.choose(past, narx.autoregression, peers.GRIDS["AR"])
    best = max(
        (narx.validate(past, narx.autoregression, {"hold": h, "window": w, "ridge": r, "stride": 0.25}), w)
        for w in peers.GRIDS["AR"]["window"]
        for r in peers.GRIDS["AR"]["ridge"]
        for h in peers.HOLD
    )
    assert chosen["window"] == best[1]


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="must be one of kernel-ridge"):
        peers.forecast("magic", wave(T), DT, 10)
    with pytest.raises(InputError, match="finite numbers"):
        peers.forecast("AR", np.full(500, np.nan), DT, 10)
    with pytest.raises(InputError, match="'steps'"):
        peers.forecast("AR", wave(T), DT, 0)
