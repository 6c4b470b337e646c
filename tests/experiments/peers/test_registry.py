"""Peers: forecasts of signals whose continuation is known exactly, settings from the record alone."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.experiments.peers import narx, reservoirs
from jetode.experiments.peers import registry as peers
from jetode.support.errors import InputError

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
    build, search = narx.denoising(narx.autoregression), peers.SEARCHES["AR"]
    assert narx.Past.of(wave(T))[0].sigma < narx.CLEAN < past.sigma

    def score(setting):
        return narx.validate(past, build, setting, narx.SEARCH_SIZE)

    chosen = narx.choose(past, build, search)
    for name, options in search.grid(past).items():
        others = [score({**chosen, name: option}) for option in options]
        assert sum(other > score(chosen) for other in others) < narx.FINALISTS


def test_a_forecast_from_the_smoothed_record_sees_nothing_after_its_end():
    noisy = wave(T) + 0.2 * np.random.default_rng(0).normal(size=T.size)
    past, _, _ = narx.Past.of(noisy)
    setting = {"window": 2.0, "ridge": 1e-4, "stride": 0.25, "hold": 0.0, "lead": 0.3}
    rollout = narx.denoising(narx.autoregression)(past, setting)
    ends = np.array([700, 900])
    cut = rollout(past.values[:901], ends, 50)
    np.testing.assert_array_equal(cut, rollout(past.values, ends, 50))
    np.testing.assert_allclose(cut[:1], rollout(past.values[:701], ends[:1], 50), rtol=1e-9)
    truth = (wave(DT * np.arange(700, 751)) - np.mean(noisy)) / np.std(noisy)
    assert np.sqrt(np.mean((cut[0] - truth) ** 2)) < 0.2


def test_nvar_is_a_polynomial_of_the_window():
    """reservoirpy's features are the taps and their products: a quadratic map is learned to rounding."""
    pytest.importorskip("reservoirpy")
    x = np.empty(600)
    x[:2] = 0.1, 0.3
    for k in range(2, 600):
        x[k] = 1.0 - 1.4 * x[k - 1] ** 2 + 0.3 * x[k - 2]  # Hénon
    past = narx.Past(x, tc=1.0)
    setting = {"stride": 1.0, "spacing": 1.0, "taps": 2, "order": 2, "ridge": 1e-15, "hold": 0.0}
    run = reservoirs.nvar(past, setting)(x, np.array([300, 400]), 12)
    np.testing.assert_allclose(run, [x[300:313], x[400:413]], atol=1e-6)


def test_a_start_with_too_little_past_sees_nothing_after_it():
    pytest.importorskip("reservoirpy")
    past, _, _ = narx.Past.of(wave(T))
    common = {"stride": 0.25, "ridge": 1e-4, "hold": 1.0}
    for rollout in (
        reservoirs.nvar(past, {**common, "taps": 4, "spacing": 1.0, "order": 2}),
        reservoirs.echo_state(past, {**common, "leak": 0.6, "radius": 0.9, "input": 0.5}),
        narx.kernel_ridge(past, {**common, "window": 4.0, "width": 1.0}),
    ):
        values, end = past.values.copy(), np.array([10])
        before = rollout(values, end, 20)
        values[30:-1] = values[30:-1][::-1]
        np.testing.assert_array_equal(rollout(values, end, 20), before)


@pytest.mark.parametrize(("leak", "radius", "scale"), [(0.3, 0.9, 0.5), (0.6, 1.2, 1.0)])
def test_the_driven_network_is_that_of_reservoirpy(leak, radius, scale):
    nodes = pytest.importorskip("reservoirpy.nodes")
    node = nodes.Reservoir(reservoirs.UNITS, lr=leak, sr=radius, input_scaling=scale, bias=0.2, seed=3)
    values = wave(T[:500]) - 3.0
    states = reservoirs.drive(reservoirs.network(leak, radius, scale, 3), values)
    np.testing.assert_allclose(states, node.run(values[:, None]), rtol=0, atol=1e-10)


def test_an_echo_state_network_goes_on_as_reservoirpy_does():
    """Reservoir and Ridge stepped by reservoirpy itself, and the samples between two steps by a spline."""
    nodes = pytest.importorskip("reservoirpy.nodes")
    values = (wave(T) - 3.0) / np.std(wave(T))
    past, ends, steps = narx.Past(values, tc=8.0), np.array([900, 1200]), 20
    setting = {"leak": 0.6, "radius": 0.9, "input": 0.5, "stride": 0.25, "ridge": 1e-4, "hold": 1.0}
    runs = reservoirs.echo_state(past, setting)(values, ends, steps)
    node = nodes.Reservoir(reservoirs.UNITS, lr=0.6, sr=0.9, input_scaling=0.5, bias=0.2, seed=1)
    x, warm = values[::2, None], 80  # 20 tc
    change, states = np.diff(x[:, 0])[warm:, None], node.run(x[:-1])[warm:]
    readout = nodes.Ridge(ridge=1e-4 * states.shape[0]).fit(states, change / np.std(change))
    for end, run in zip(ends, runs, strict=True):
        node.reset()
        state = node.run(values[end - 2 * (2 * warm - 1) : end + 1 : 2, None])[-1]
        last = values[end]
        for k in range(2, steps + 1, 2):
            last = last + np.std(change) * readout.step(state)[0]
            assert abs(run[k] - last) < 1e-9
            state = node.step(np.array([last]))


@pytest.mark.parametrize("order", [2, 3])
def test_the_products_are_those_of_reservoirpy(order):
    nodes = pytest.importorskip("reservoirpy.nodes")
    taps, strides, values = 4, 3, wave(T[:300])
    node = nodes.NVAR(taps, order, strides)
    theirs = node.run(values[:, None])[taps * strides :]
    window = narx.window_at(values, np.arange(taps * strides, values.size), strides, taps)
    factors = reservoirs.monomials(taps, order)
    np.testing.assert_allclose(reservoirs.products(window, factors[-1:]), theirs, rtol=1e-10)
    assert [index.shape[1] for index in factors] == list(range(2, order + 1))


def test_the_tangent_of_the_network_is_exact_to_rounding():
    x = np.concatenate([np.linspace(-25.0, 25.0, 4001), [-np.inf, np.inf, 1e-9, -1e-300]])
    ours = [reservoirs.hyperbolic_tangent(v) for v in x]
    np.testing.assert_allclose(ours, np.tanh(x), rtol=1e-15)


def test_what_a_library_raises_is_a_failed_forecast(monkeypatch):
    def breaks(values, dt, seed):
        raise RuntimeError("inside a library")

    def breaks_late(values, dt, seed):
        def rollout(seen, ends, steps):
            if 500 in ends:
                raise np.linalg.LinAlgError("singular")
            return np.repeat(seen[ends][:, None], steps + 1, axis=1)

        return rollout

    monkeypatch.setattr(peers, "_PLAIN", {"breaks": breaks, "late": breaks_late})
    run = peers.forecast("breaks", wave(T), DT, 10)
    assert run[0] == wave(T)[-1] and np.isnan(run[1:]).all()
    runs = peers.fit("late", wave(T), DT)(wave(T), np.array([400, 500, 600]), 10)
    assert np.isfinite(runs[[0, 2]]).all() and np.isnan(runs[1, 1:]).all()


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="must be one of kernel-ridge"):
        peers.forecast("magic", wave(T), DT, 10)
    with pytest.raises(InputError, match="finite numbers"):
        peers.forecast("AR", np.full(500, np.nan), DT, 10)
    with pytest.raises(InputError, match="'steps'"):
        peers.forecast("AR", wave(T), DT, 0)
