"""Two hidden coordinates that are filters of the record: the algebra, the filters, their start, and the whole way."""

from dataclasses import replace

import numpy as np
import pytest

import jetode
from jetode.experiments.panel.channels import select
from jetode.joint.candidates import Found
from jetode.joint.filtered_search import search_filtered
from jetode.joint.forms.filtered import (
    RATE,
    SECOND,
    SLOPE,
    Regression,
    WeakForm,
    filtered,
    filtered_flows,
)
from jetode.joint.jets import Jets
from jetode.joint.parts import equation_of
from jetode.joint.problem import KINK_STEP, prepare
from jetode.joint.progress import Budget
from jetode.joint.stepping import stepped

CONSTANT = {RATE: -2.0, SECOND: -0.3}
VARYING = {RATE: -0.5, SLOPE: 3.0, SECOND: 0.1}


def lorenz(samples, noise=0.0, seed=0):
    """Lorenz z, 20 samples a tc."""
    trial = select(["Lorenz z"])[0].record(seed, noise)
    return trial.series.slice(0, samples)


def jets_of(samples=4000, spacing=0.05):
    """A signal of two incommensurate lines with its slope."""
    t = spacing * np.arange(samples)
    u0 = np.sin(t) + 0.5 * np.cos(1.7 * t)
    u1 = np.cos(t) - 0.85 * np.sin(1.7 * t)
    return Jets(np.column_stack([u0, u1, -np.sin(t) - 1.445 * np.cos(1.7 * t), u1]), (samples,), spacing, 10)


@pytest.mark.parametrize("rate", [-0.7, 0.7])
def test_a_filter_solves_its_equation_and_grows_backward_in_time(rate):
    """w' = r w + sin t: the one bounded solution is −(r sin t + cos t)/(1 + r²), whichever way it has to be run."""
    spacing = 0.02
    t = spacing * np.arange(5000)
    jets = Jets(t[:, None], (t.size,), spacing, 4)
    found = filtered(jets, np.full((t.size, 1), rate), np.sin(t)[:, None])[:, 0]
    inner = slice(1000, -1000)
    np.testing.assert_allclose(found[inner], (-(rate * np.sin(t) + np.cos(t)) / (1 + rate**2))[inner], atol=2e-4)


@pytest.mark.parametrize("guess", [CONSTANT, VARYING])
def test_without_w_the_flow_is_the_same(guess):
    """The rate of u2 of the closure is the derivative of A + (u0 − p) v + w along the rows with both (3.18, 3.19)."""
    jets = jets_of()
    one = Regression.of(jets, WeakForm(jets), [guess])[0]
    closure, u2, scaled = one.eliminated(jets)
    kappa, spread, (u0, u1) = -guess[SECOND], np.std(one.v), jets.u[:, :2].T
    rate = guess[RATE] + guess.get(SLOPE, 0.0) * u0
    source = one.gain if SLOPE in guess else one.gain * u0
    v_rate = rate * one.v + source
    pushed = one.v * one.second[0] / one.gain if SLOPE in guess else one.second[0] * u0 + one.second[1] * u0**2
    w_rate = -kappa * one.w + pushed
    slope = one.a[(1, 0, 0)] + 2.0 * one.a.get((2, 0, 0), 0.0) * u0
    expected = slope * u1 + one.a[(0, 1, 0)] * u2 + u1 * one.v + (u0 + one.factor[(0, 0, 0)]) * v_rate + w_rate
    found = np.asarray(closure.field(np.column_stack([u0, u1, u2, scaled])))
    np.testing.assert_allclose(found[:, 2], expected, rtol=1e-9, atol=1e-9 * np.std(expected))
    np.testing.assert_allclose(found[:, 3] * spread, v_rate, rtol=1e-9, atol=1e-9 * np.std(v_rate))


def test_the_regression_leaves_least_where_the_rates_are_right():
    """Of a clean record it leaves what its filters still know of their start: e^−4 of the slow one, in y²."""
    prepared = prepare([lorenz(6001)], 4)
    weak, tc = WeakForm(prepared.jets), prepared.time
    rates = [(20.0, 2.0), (10.0, 2.0), (10.0, 6.0)]
    guesses = [{RATE: -fast * tc, SECOND: -slow * tc} for fast, slow in rates]
    right, *wrong = (one.left for one in Regression.of(prepared.jets, weak, guesses))
    assert right < 0.01 and min(wrong) > 3.0 * right


def test_filters_that_run_away_are_left_out_without_a_warning():
    jets = jets_of()
    growing = {RATE: -1e3, SLOPE: 2e3, SECOND: -0.1}
    assert [one.guess for one in Regression.of(jets, WeakForm(jets), [growing, VARYING])] == [VARYING]
    assert Regression.of(jets, WeakForm(jets), [growing]) == []


def test_a_record_too_short_for_test_functions_has_no_candidates():
    assert filtered_flows(jets_of(samples=300)) == []


def test_guesses_do_not_depend_on_units():
    """Everything is in std and tc: a record in other units gives the same candidates."""
    record = lorenz(3000, 0.05)
    other = jetode.Series(1e6 * record.values, 1e-3 * record.dt)
    ours, theirs = (filtered_flows(prepare([r], 4).jets) for r in (record, other))
    for one, two in zip(ours, theirs, strict=True):
        assert one.guess == pytest.approx(two.guess, rel=1e-6)


def found_in(record):
    """What the search finds where nothing else was found, in the record's units and the canonical gauge, and how many
    coefficients it has."""
    prepared = prepare([record], 3)
    nothing = Found((), prepared.data(prepared.sigma), 1.0)
    found = search_filtered((prepared, nothing), lambda: prepare([record], 4), Budget().effort(), lambda _: None)
    assert found is not None and found[1].satisfies()
    best = found[1].candidates[0].fit
    assert best is not None
    equation = equation_of(best.terms).in_units(found[0].amplitude, found[0].time)
    return equation.canonical().parts(), int(best.terms.free.sum())


@pytest.mark.slow  # two searches at order 4
@pytest.mark.parametrize("trajectory", [0, 1])
def test_lorenz_z_under_noise_comes_out_with_its_rates(trajectory):
    """x² is a filter of z with rate 2σ = 20, y² one with rate 2: D = u1 + (2 − 2σ)(u0 − ρ)."""
    parts, free = found_in(select(["Lorenz z"])[0].record(trajectory, 0.05).series)
    assert free == 9
    assert parts["P"][RATE] == pytest.approx(-20.0, rel=0.15)
    assert parts["D"][(1, 0, 0)] == pytest.approx(-18.0, rel=0.2)
    assert parts["D"][(0, 0, 0)] / parts["D"][(1, 0, 0)] == pytest.approx(-28.0, rel=0.1)


@pytest.mark.slow  # the same
def test_hyper_rossler_x_under_noise_comes_out_with_its_spikes():
    """x3' = 3 + x1 x3 is the filter whose rate varies; x4 is one of it, which grows."""
    parts, free = found_in(select(["HyperRossler x1"])[0].record(0, 0.05).series)
    assert free == 9
    assert parts["P"] == pytest.approx({(0, 0, 0, 0): -3.0, SLOPE: 1.0}, rel=0.05)
    assert parts["a"] == pytest.approx({(0, 0, 0): 0.9, (1, 0, 0): -2.95, (0, 1, 0): -1.0125, (0, 0, 1): 0.3}, rel=0.05)
    assert parts["D"] == pytest.approx({(2, 0, 0): 1.0, (0, 1, 0): 1.0, (1, 0, 0): -0.3, (0, 0, 0): -0.4875}, rel=0.15)


def test_a_hidden_coordinate_that_spikes_has_short_steps():
    """HyperRossler's third coordinate grows with 22 times u0 per tc; Lorenz z's filter does not need that."""
    record = lorenz(3000, 0.05)
    prepared = prepare([record], 4)
    flows = filtered_flows(prepared.jets)
    calm, spiking = (next(c for c in flows if (SLOPE in c.guess) is varies) for varies in (False, True))
    fast = replace(spiking, guess={**spiking.guess, SLOPE: 22.0, RATE: -22.0 * float(prepared.jets.u[:, 0].max())})
    assert stepped(prepared, calm.start(prepared.jets).terms).step == prepared.step
    assert stepped(prepared, fast.start(prepared.jets).terms).step == KINK_STEP
