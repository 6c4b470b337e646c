"""DOP853: exact order, agreement with SciPy, failures that are values."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.integrate._ivp import dop853_coefficients as published

from jetode.catalogue.systems import systems
from jetode.equations.field import Field
from jetode.integration import tableau
from jetode.integration.dop853 import Stop, integrate, integrate_many
from jetode.support.errors import InputError
from jetode.support.lanes import LANES
from truths import LORENZ_FIELD, LORENZ_JETS_FIELD, lorenz_jets

OSCILLATOR = Field(2, ({(1, 0): -1.0},))


def test_tableau_is_the_published_one() -> None:
    assert np.array_equal(tableau.STAGES, published.A)
    assert np.array_equal(tableau.ERROR_5, published.E5[:12])
    assert np.array_equal(tableau.ERROR_3, published.E3[:12])
    assert np.array_equal(tableau.DENSE, published.D)
    for row, second in enumerate(tableau.SECOND):
        assert not np.any(tableau.STAGES[row, 1:second]), "entries that the stages skip are 0"
    for row in (tableau.WEIGHTS, tableau.ERROR_5, tableau.ERROR_3, *tableau.DENSE):
        assert not np.any(row[1 : tableau.FIRST_USED])
    assert tableau.WEIGHTS.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("power", range(2, 9))
def test_order_conditions_of_quadrature(power: int) -> None:
    nodes = tableau.STAGES.sum(axis=1)[:12]
    assert tableau.WEIGHTS @ nodes ** (power - 1) == pytest.approx(1 / power, abs=1e-14)


def test_convergence_is_of_order_eight() -> None:
    steps = np.array([0.8, 0.4])
    errors = []
    for step in steps:  # a loose tolerance leaves max_step in control
        run = integrate(OSCILLATOR, [1.0, 0.0], 2, 8.0, rtol=1e3, atol=1e3, max_step=step)
        errors.append(abs(run.states[-1, 0] - np.cos(8.0)))
    slope = np.log2(errors[0] / errors[1])
    assert 7.5 < slope < 9.0


def test_dense_output_is_of_order_seven() -> None:
    errors = []
    for step in (0.8, 0.4):
        run = integrate(OSCILLATOR, [1.0, 0.0], 101, 0.08, rtol=1e3, atol=1e3, max_step=step)
        errors.append(np.max(np.abs(run.states[:, 0] - np.cos(0.08 * np.arange(101)))))
    assert np.log2(errors[0] / errors[1]) > 6.5


def test_agrees_with_scipy_step_by_step() -> None:
    times = 0.01 * np.arange(301)
    run = integrate(LORENZ_FIELD, [1.0, 2.0, 20.0], 301, 0.01, rtol=1e-9, atol=1e-11)
    reference = solve_ivp(
        lambda _, x: LORENZ_FIELD(x), (0, 3), [1.0, 2.0, 20.0], "DOP853", times, rtol=1e-12, atol=1e-13
    )
    assert run.stop is Stop.COMPLETED and run.stop_time == pytest.approx(3.0)
    assert np.max(np.abs(run.states - reference.y.T)) < 1e-6
    own = solve_ivp(lambda _, x: LORENZ_FIELD(x), (0, 3), [1.0, 2.0, 20.0], "DOP853", rtol=1e-9, atol=1e-11)
    assert abs(run.n_steps - (len(own.t) - 1)) <= 4


def test_exact_closure_crosses_its_pole() -> None:
    start = integrate(LORENZ_FIELD, [1.0, 0.0, 0.0], 2, 50.0, rtol=1e-12, atol=1e-12).states[-1]
    truth = integrate(LORENZ_FIELD, start, 501, 0.01, rtol=1e-12, atol=1e-12).states[:, 0]
    run = integrate(LORENZ_JETS_FIELD, lorenz_jets(start), 501, 0.01, max_step=0.05)
    assert run.stop is Stop.COMPLETED
    assert np.any(np.diff(np.sign(truth)) != 0), "the stretch contains a crossing of D = 0"
    reference = solve_ivp(
        lambda _, u: LORENZ_JETS_FIELD(u),
        (0, 5),
        lorenz_jets(start),
        "DOP853",
        0.01 * np.arange(501),
        rtol=1e-8,
        atol=1e-10,
        max_step=0.05,
    )
    error, peer = (np.max(np.abs(u - truth)) for u in (run.states[:, 0], reference.y[0]))
    assert error < max(2 * peer, 0.1 * truth.std())


def test_same_result_in_any_time_unit() -> None:
    fast = Field.polynomial([{e: 1e6 * c for e, c in row.items()} for row in LORENZ_FIELD.rows])
    slow = integrate(LORENZ_FIELD, [1.0, 2.0, 20.0], 201, 0.01)
    quick = integrate(fast, [1.0, 2.0, 20.0], 201, 1e-8)
    assert quick.n_steps == slow.n_steps
    assert np.allclose(quick.states, slow.states, rtol=1e-9, atol=1e-9)


def test_pole_is_named_and_timed() -> None:
    # u0' = u1, u1' = 1/(1 - u0): u1²/2 = c - log(1 - u0), a logarithmic singularity at u0 = 1
    field = Field(2, ({(0, 0): 1.0},), {(0, 0): 1.0, (1, 0): -1.0})
    run = integrate(field, [0.0, 1.0], 1001, 0.01)
    assert run.stop is Stop.POLE
    assert run.states.shape[0] == int(run.stop_time / 0.01) + 1
    assert run.n_evaluations < 20_000
    energy = run.states[:, 1] ** 2 / 2 + np.log(1 - run.states[:, 0])
    assert np.allclose(energy, 0.5, atol=1e-6)


def test_start_on_the_pole() -> None:
    field = Field(2, ({(0, 0): 1.0},), {(1, 0): 1.0})
    run = integrate(field, [0.0, 1.0], 11, 0.1)
    assert run.stop is Stop.POLE and run.stop_time == 0.0 and run.states.shape == (0, 2)


def test_blow_up_is_divergence() -> None:
    field = Field(1, ({(2,): 1.0},))  # x = 1/(1 - t)
    run = integrate(field, [1.0], 201, 0.01, bound=1e3)
    assert run.stop is Stop.DIVERGED
    assert run.stop_time == pytest.approx(1.0, abs=0.01)
    assert np.all(np.abs(run.states) <= 1e3)
    unbounded = integrate(field, [1.0], 201, 0.01)
    assert unbounded.stop in (Stop.STEP_TOO_SMALL, Stop.DIVERGED)


def test_step_limit() -> None:
    run = integrate(OSCILLATOR, [1.0, 0.0], 1001, 0.1, max_steps=7)
    assert run.stop is Stop.STEP_LIMIT and run.n_steps <= 7


def test_many_is_one_by_one() -> None:
    starts = np.random.default_rng(0).normal(size=(5, 3))
    runs = integrate_many(LORENZ_FIELD, starts, 101, 0.01)
    for start, run in zip(starts, runs, strict=True):
        assert np.array_equal(run.states, integrate(LORENZ_FIELD, start, 101, 0.01).states)


def test_company_does_not_matter() -> None:
    """Starts that end early, each in its own way, on lanes beside others, more starts than lanes, in any order."""
    field = Field(2, ({(1, 0): -1.0, (0, 1): -0.3},), {(0, 0): 1.0, (1, 0): -1.0})
    starts = np.random.default_rng(1).normal(size=(3 * LANES - 2, 2))
    starts[4], starts[9], starts[10] = (1.0, 0.5), (np.nan, 0.0), (1e4, 0.0)
    control: dict[str, Any] = {"bound": [20.0, 9.0], "max_steps": 24}
    order = np.random.default_rng(2).permutation(len(starts))
    runs = integrate_many(field, starts, 301, 0.02, **control)
    assert {run.stop for run in runs} == {Stop.COMPLETED, Stop.POLE, Stop.DIVERGED, Stop.STEP_LIMIT}
    for i, other in zip(order, integrate_many(field, starts[order], 301, 0.02, **control), strict=True):
        for run in (other, integrate(field, starts[i], 301, 0.02, **control)):
            assert np.array_equal(run.states, runs[i].states)
            assert (run.stop, run.stop_time) == (runs[i].stop, runs[i].stop_time)
            assert (run.n_steps, run.n_evaluations) == (runs[i].n_steps, runs[i].n_evaluations)


def test_every_lane_is_scipys_run() -> None:
    """Lanes whose steps differ in length follow SciPy's, each with its own number of steps."""
    starts = np.array([[1e-3, 0.0], [1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [8.0, 0.0]])
    duffing = Field(2, ({(1, 0): -1.0, (3, 0): -1.0},))
    counts = set()
    for start, run in zip(starts, integrate_many(duffing, starts, 101, 0.05, rtol=1e-9, atol=1e-11), strict=True):
        times = 0.05 * np.arange(101)
        control = {"t_eval": times, "method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
        reference = solve_ivp(lambda _, x: duffing(x), (0, 5.0), start, **control)
        assert np.max(np.abs(run.states - reference.y.T)) < 1e-6 * max(1.0, start[0] ** 2)
        counts.add(run.n_steps)
    assert len(counts) == len(starts)


def test_inputs_are_untouched_and_checked() -> None:
    start = np.array([1.0, 0.0])
    run = integrate(OSCILLATOR, start, 11, 0.1)
    assert np.array_equal(start, [1.0, 0.0]) and not run.states.flags.writeable
    for name, bad in {"n_samples": 0, "dt": -1.0, "rtol": 0.0, "atol": [1.0], "max_step": 0.0}.items():
        arguments = {"n_samples": 11, "dt": 0.1, name: bad}
        with pytest.raises(InputError, match=name):
            integrate(OSCILLATOR, start, **arguments)
    with pytest.raises(InputError, match="x0"):
        integrate(OSCILLATOR, [1.0], 11, 0.1)


def test_compiled_and_interpreted_runs_agree_to_the_last_bit() -> None:
    """Nothing is fused or reordered: a chaotic record does not depend on the CPU or on what the compiler does."""
    program = (
        "from jetode.catalogue.systems import systems; print(*systems['lorenz'].simulate(0.1).states[-1].tolist())"
    )
    other = dict(os.environ, NUMBA_DISABLE_JIT="1")
    said = subprocess.run([sys.executable, "-c", program], env=other, capture_output=True, text=True, check=True).stdout
    assert [float(word) for word in said.split()] == systems["lorenz"].simulate(0.1).states[-1].tolist()
