"""Blocks drawn towards a map: the minimum of (7.8), slopes that are derivatives, and less noise than before."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.baselines.blocks import Blocks
from jetode.baselines.drawn import drawn, pieces
from jetode.baselines.kernel_map import KernelMap
from jetode.records.series import Series
from jetode.signal.trials import Fold

RNG = np.random.default_rng(0)
TURN = 2.0 * np.cos(2.0 * np.pi / 30.0)  # x_{k+1} = TURN x_k − x_{k−1}: a sine of 30 blocks


def sine_map(window):
    return window @ np.array([-1.0, TURN]), np.tile([-1.0, TURN], (window.shape[0], 1))


def test_of_a_linear_map_it_is_the_least_squares_row():
    row, ratio = RNG.standard_normal(40), 0.3
    found = drawn([row, row[:7]], 2, sine_map, ratio)
    for one, given in zip(found, (row, row[:7]), strict=True):
        misfit = np.zeros((given.size - 2, given.size))
        for k in range(given.size - 2):
            misfit[k, k : k + 3] = [1.0, -TURN, 1.0]
        exact = np.linalg.solve(np.eye(given.size) + misfit.T @ misfit / ratio, given)
        np.testing.assert_allclose(one, exact, atol=1e-9)


def test_noise_falls_where_the_map_is_right():
    true = np.sin(2.0 * np.pi * np.arange(300) / 30.0)
    noisy = true + 0.1 * RNG.standard_normal(true.size)
    found = drawn([noisy], 2, sine_map, 1e-3)[0]
    assert np.std(found - true) < 0.3 * np.std(noisy - true)


def test_slopes_of_a_kernel_map_are_its_derivatives():
    fitted = KernelMap(Blocks.of([Series(true_sine(), 1.0)], 30.0), RNG.normal(size=(30, 5)), RNG.normal(size=30), 0.1)
    window, step = RNG.normal(size=(4, 5)), 1e-6
    value, slope = fitted.slopes(window)
    near = np.exp(-0.1 * np.sum((window[:, None] - fitted.centres) ** 2, axis=2))
    np.testing.assert_allclose(value, window[:, -1] + near @ fitted.weights)
    for i, unit in enumerate(step * np.eye(5)):
        rise = fitted.slopes(window + unit)[0] - fitted.slopes(window - unit)[0]
        np.testing.assert_allclose(slope[:, i], rise / (2.0 * step), atol=1e-7)


def test_a_ratio_survives_json_and_older_models_have_none():
    fitted = KernelMap(
        Blocks.of([Series(true_sine(), 1.0)], 30.0), RNG.normal(size=(9, 4)), RNG.normal(size=9), 0.1, 0.02
    )
    assert KernelMap.from_json(fitted.to_json()).ratio == pytest.approx(0.02)
    assert KernelMap.from_json({k: v for k, v in fitted.to_json().items() if k != "ratio"}).ratio is None


def test_pieces_are_long_enough_and_whole():
    row = np.arange(12.0)
    row[[3, 10]] = np.nan
    assert pieces(row, 3) == [slice(0, 3), slice(4, 10)]
    assert pieces(row, 4) == [slice(4, 10)]


def test_blocks_without_a_fold_show_none_of_its_samples():
    blocks = Blocks.of([Series(true_sine(), 1.0)], 90.0)
    left = blocks.without(Fold(0, 100, 150, ()))
    for i, part in enumerate(left.parts):
        _, last = left.ends(np.full(part.size, i), np.arange(part.size))
        shown = (last >= 100) & (last - blocks.factor + 1 < 150)
        assert np.array_equal(np.isnan(part), shown)


def true_sine():
    return np.sin(0.2 * np.arange(400.0))
