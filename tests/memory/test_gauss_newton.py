"""Data made by a memory closure give it back, by one step and by rollouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode.equations.polynomials import Library
from jetode.integration.dop853 import integrate_many
from jetode.memory.closure import MemoryClosure
from jetode.memory.gauss_newton import linearised
from jetode.memory.regression import Stretch, one_step

STEP = 1 / 40
TRUTH = {(1, 0, 0): 2.0, (3, 0, 0): -1.0, (0, 1, 0): -4.0, (0, 0, 1): -2.0, (1, 1, 0): 0.5}
LIBRARY = Library.total_degree(3, 3)
MADE = MemoryClosure(
    q=2,
    theta=0.6,
    step=STEP,
    period=1.0,
    mean=0.0,
    spread=1.0,
    exponents=LIBRARY.exponents,
    coefficients=LIBRARY.coefficients(TRUTH),
    bound=20.0,
    past=4.0,
)


def stretches(noise: float = 0.0) -> list[Stretch]:
    """Transients from different states, of which x may be noisy."""
    rng = np.random.default_rng(3)
    runs = integrate_many(MADE.equation.field, rng.standard_normal((12, 3)), 60, STEP, rtol=1e-11, atol=1e-12)
    out = []
    for run in runs:
        states = run.states.copy()
        states[:, 0] += noise * rng.standard_normal(60)
        out.append(Stretch(states, np.ones(60, dtype=bool), np.zeros((1, 60), dtype=bool)))
    return out


EVERY = np.arange(len(LIBRARY))


def test_one_step_recovers_the_closure():
    gram = one_step(stretches(), LIBRARY, STEP, 1)
    np.testing.assert_allclose(gram.solve(EVERY, 0.0), MADE.coefficients, atol=5e-3)


def test_rollouts_recover_the_closure_from_afar():
    found = replace(MADE, coefficients=1.2 * MADE.coefficients)
    for _ in range(4):
        found = replace(found, coefficients=linearised(stretches(), found, STEP, 8, 4).solve(EVERY, 0.0))
    np.testing.assert_allclose(found.coefficients, MADE.coefficients, atol=1e-4)


def test_rollouts_are_less_biased_by_noise_than_one_step():
    noisy = stretches(0.02)
    found = replace(MADE, coefficients=one_step(noisy, LIBRARY, STEP, 1).solve(EVERY, 1e-9))
    biased = np.abs(found.coefficients - MADE.coefficients).mean()
    for _ in range(4):
        found = replace(found, coefficients=linearised(noisy, found, STEP, 12, 2).solve(EVERY, 1e-9))
    assert np.abs(found.coefficients - MADE.coefficients).mean() < 0.7 * biased
