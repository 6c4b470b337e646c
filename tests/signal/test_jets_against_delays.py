"""Jets against delays: exact interpolation, an independent kernel ridge, a coordinate hidden from the jets."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.signal.jets_against_delays import (
    AHEAD,
    WINDOWS,
    Sufficiency,
    kernel_ridge,
    prediction_errors,
    split,
    sufficiency,
)
from jetode.signal.noise import add_noise


def test_kernel_ridge_against_scikit_learn():
    library = pytest.importorskip("sklearn.kernel_ridge")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 3))
    y = np.column_stack([np.sin(x[:50, 0]), x[:50, 1] * x[:50, 2]])
    kernel = np.exp(-0.7 * np.sum((x[:, None] - x[None, :50]) ** 2, axis=2))
    theirs = library.KernelRidge(alpha=1e-3, kernel="rbf", gamma=0.7).fit(x[:50], y).predict(x[50:])
    np.testing.assert_allclose(kernel_ridge(kernel, y, 1e-3), theirs, atol=1e-9)


def test_what_the_inputs_determine_is_predicted_and_nothing_else():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (900, 2))
    y = np.column_stack([np.cos(2 * x[:, 0]) * x[:, 1], rng.standard_normal(900)])
    known, unknown = prediction_errors(x, y, 600)
    assert known < 0.01 and unknown == pytest.approx(1.0, abs=0.1)
    in_other_units = prediction_errors(1e6 * x + 3.0, 1e-9 * y, 600)
    np.testing.assert_allclose(in_other_units, [known, unknown], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("n", "period"), [(6001, 110.0), (99_000, 184.0), (1500, 30.0)])
def test_fitted_and_tested_samples_do_not_overlap(n, period):
    fitted, tested = split(n, period)
    assert fitted.min() >= max(WINDOWS) * period and tested.max() + max(AHEAD) * period < n
    assert np.abs(fitted[:, None] - tested[None]).min() >= round(max(AHEAD) * period)
    assert fitted.size <= 800 and tested.size <= 600


def switching(seed: int) -> np.ndarray:
    """Oscillations of two sizes; which one follows depends on the sizes of the last two, not on the present jet."""
    rng = np.random.default_rng(seed)
    sizes = [0, 1]
    while len(sizes) < 260:
        sizes.append((sizes[-1] ^ sizes[-2]) if rng.uniform() > 0.05 else int(rng.integers(2)))
    phase = 2 * np.pi * np.arange(50) / 50
    return np.concatenate([(1.0 + 0.8 * s) * np.sin(phase) ** 3 for s in sizes])


def test_memory_of_the_last_oscillations_is_hidden_from_the_jets():
    found = sufficiency(add_noise(switching(0), 0.01, np.random.default_rng(0)))
    assert found is not None and found.hidden and "hidden from the jets" in found.sentence()
    i = found.decisive
    assert found.best_delays[i] < 0.6 * found.best_jets[i]
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", ["lorenz", "rossler"])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_no_coordinate_of_lorenz_and_roessler_is_hidden(name, noise):
    clean = systems[name].simulate(60.0 if name == "lorenz" else 300.0).observe("x").values
    found = sufficiency(add_noise(clean, noise, np.random.default_rng(2)) if noise else clean)
    assert found is not None and not found.delays_win
    assert found.noise == pytest.approx(noise, rel=0.1)


def test_nothing_is_claimed_under_heavy_noise():
    errors = ((1.0,), {2: (0.8,), 3: (0.8,), 4: (0.8,)}, {1.4: (0.3,)})
    assert Sufficiency(*errors, noise=0.05).hidden
    noisy = Sufficiency(*errors, noise=0.15)
    assert noisy.delays_win and not noisy.hidden and "noise of 15 %" in noisy.sentence()


def test_too_short_to_tell():
    assert sufficiency(np.sin(np.arange(400) / 20)) is None
    assert sufficiency(np.arange(400.0)) is None


def test_the_sentence_names_what_is_known():
    blind = Sufficiency((0.25, 1.0), {2: (0.1, 0.9), 3: (0.1, 0.9), 4: (0.1, 0.95)}, {0.3: (0.1, 0.2)})
    assert blind.hidden and blind.decisive == 1
    more = Sufficiency((0.25, 1.0), {2: (0.1, 0.9), 3: (0.1, 0.5), 4: (0.1, 0.4)}, {0.3: (0.1, 0.1)})
    assert not more.hidden, "more derivatives help"
    lost = Sufficiency((0.25, 1.0), {2: (0.1, 1.0), 3: (0.1, 1.1), 4: (0.1, 1.1)}, {0.3: (0.1, 0.9)})
    assert not lost.hidden and "does not determine" in lost.sentence()
