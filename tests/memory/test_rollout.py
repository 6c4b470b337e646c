"""Compiled rollouts against DOP853 on the equation, and sensitivities against differences."""

from __future__ import annotations

import numpy as np
import pytest

from jetode.equations.polynomials import Library
from jetode.integration.dop853 import integrate
from jetode.memory.closure import MemoryClosure
from jetode.memory.rollout import rollouts, stretches
from jetode.memory.sensitivity import sensitivities


def closure(q: int = 3, degree: int = 3, seed: int = 0, **changes) -> MemoryClosure:
    library = Library.total_degree(q + 1, degree)
    rng = np.random.default_rng(seed)
    coefficients = 0.3 * rng.standard_normal(len(library))
    coefficients[library.index[(1,) + (0,) * q]] = -3.0
    coefficients[library.index[(0, 1) + (0,) * (q - 1)]] = -8.0
    times = {"theta": 0.5, "step": 0.04, "period": 1.0}
    given = {**times, "mean": 2.0, "spread": 3.0, "bound": 50.0, "past": 4.0, **changes}
    return MemoryClosure(q=q, exponents=library.exponents, coefficients=coefficients, **given)


def test_rollout_is_the_equation():
    """From the same state the compiled steps and DOP853 agree to the order of the steps, in the record's units."""
    made = closure()
    state = np.array([0.4, 0.1, -0.2, 0.05])
    run = integrate(made.equation.field, state, 51, 0.04, rtol=1e-11, atol=1e-12)
    ahead = made.ahead(state[None], 50, 0.04)[0]
    np.testing.assert_allclose(ahead, made.equation.readout(run.states), atol=3e-5)
    assert made.equation.names() == ("x", "m0", "m1", "m2")


def test_averaged_clock_reads_between_its_points():
    """A record sampled four times as densely: the values in between are those of the same run."""
    made = closure()
    state = np.array([[0.4, 0.1, -0.2, 0.05]])
    clock = made.clock(0.01)
    assert (clock.averaging, made.averaging(0.01)) == (4, 4)
    run = integrate(made.equation.field, state[0], 101, 0.01 / 2, rtol=1e-11, atol=1e-12)
    start = round(2 * clock.late)  # half samples from the last point to the last sample
    exact = made.equation.readout(run.states)[start::2]
    np.testing.assert_allclose(made.ahead(state, exact.size - 1, 0.01)[0], exact, atol=1e-3)


@pytest.mark.parametrize("divisions", [2, 3])
def test_sensitivities_are_derivatives(divisions):
    made = closure(q=2, degree=2)
    parent, variable, p = made.program
    states = np.random.default_rng(1).standard_normal((3, 3)) * 0.3
    watched = np.array([2, 5, 8])
    values, slopes = sensitivities(states, watched, 1 / 30, divisions, 50.0, made.memory_rows, made.program)
    even = 2 * -(-divisions // 2)

    def at(coefficients):
        return rollouts(states, 8, 1 / 30, even, 50.0, made.memory_rows, (parent, variable, coefficients))[0][
            :, watched
        ]

    np.testing.assert_array_equal(values, at(p))
    h = 1e-5
    differences = np.stack([(at(p + h * e) - at(p - h * e)) / (2 * h) for e in np.eye(p.size)], axis=-1)
    np.testing.assert_allclose(slopes, differences, atol=3e-5 * np.abs(differences).max())


def test_failure_is_nan_from_there_on():
    made = closure(q=1, degree=2)
    wild = MemoryClosure(
        **{**made.__dict__, "exponents": ((2, 0),), "coefficients": np.array([5.0])}  # x' = 5 x²: a pole ahead
    )
    run = wild.ahead(np.array([[1.0, 0.0], [-1.0, 0.0]]), 40, 0.04)
    lost = np.isnan(run[0])
    assert lost[-1] and not lost[0] and np.all(np.diff(lost.astype(int)) >= 0)
    assert np.isfinite(run[1]).all()


def test_runs_with_coefficients_of_their_own_and_in_stretches_are_the_same():
    """Bit by bit: runs do not know of each other, nor of where they were interrupted; a stretch may have no points."""
    one, other = closure(), closure(seed=1)
    states = np.random.default_rng(2).standard_normal((11, 4)) * 0.3
    owner = np.arange(11) % 2
    parent, variable, _ = one.program
    own = np.stack([one.program[2], other.program[2]])[owner]
    given = 1 / 30, 2, 50.0, one.memory_rows
    first, _, reached = stretches(states, 7, *given, (parent, variable, own))
    then = stretches(reached, 14, *given, (parent, variable, own))[0]
    nothing, _, stayed = stretches(reached, 0, *given, (parent, variable, own))
    np.testing.assert_array_equal(stayed, reached)
    together = np.hstack([first, nothing, then])
    for i, made in enumerate((one, other)):
        alone = rollouts(states[owner == i], 20, *given, made.program)[0]
        np.testing.assert_array_equal(together[owner == i], alone)
