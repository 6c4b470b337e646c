"""Coloured noise in the shooting cost (4.18): the quadratic form of its covariance, with the right derivatives."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from jetode.joint.shooting.flow import evaluate_path, sample_states
from jetode.joint.shooting.gaussnewton import Data, Linearisation
from jetode.joint.shooting.layout import RK4, Terms, make_layout
from jetode.joint.term_stability import stretch

PHI, SIGMA = 0.8, 0.3
TERMS = Terms(
    3, 2, np.full(4, 2, np.int64), ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0)), np.array([-1.0, -1.2, -0.6, 0.4]),
    np.ones(4, bool), np.zeros(4), np.zeros(4),
)  # fmt: skip
LAYOUTS = {"interpolated": (0.02, 0.06), "substeps": (0.1, 0.06), "a step a sample": (0.05, 0.06)}
LENGTHS = (83, 60)


def problem(spacing, step):
    """Two records with a missing sample, and a path of the equation through both."""
    n, rng = sum(LENGTHS), np.random.default_rng(3)
    layout = make_layout(LENGTHS, spacing, step, 0.25)
    states = np.empty((layout.first.size, 3))
    path = np.empty((n, 3))
    for k in range(layout.first.size):  # from node to node, so that there are no jumps
        if k == 0 or layout.spans[k - 1] == 0:
            states[k] = rng.standard_normal(3) * 0.5
        if layout.spans[k] > 0:
            jumps, empty = np.zeros((layout.first.size, 3)), np.zeros(n)
            states[k + 1] = 0.0
            evaluate_path(
                states, TERMS.coefficients, Data(empty, empty, layout, RK4), TERMS.program(), path[:, 0], jumps
            )
            states[k + 1] = -jumps[k]
    sample_states(states, TERMS.coefficients, TERMS.program(), layout, RK4, path)
    present = np.ones(n)
    present[40] = 0.0
    colour = np.full(n, PHI)
    colour[41], colour[[0, LENGTHS[0]]] = 0.0, -1.0
    weight = present / SIGMA**2 / (1.0 - np.maximum(colour, 0.0) ** 2)
    y = np.where(present > 0, path[:, 0] + SIGMA * rng.standard_normal(n), 0.0)
    return Data(y, weight, layout, RK4, colour=colour), states


def cost(data, states, coefficients):
    predicted, jumps = np.empty_like(data.y), np.empty_like(states)
    return evaluate_path(states, coefficients, data, TERMS.program(), predicted, jumps), predicted, jumps


@pytest.mark.parametrize("how", LAYOUTS)
def test_the_cost_is_the_quadratic_form_of_the_covariance(how):
    """C_ij = σ² φ^|i − j| within a stretch without a gap, whatever the steps."""
    data, states = problem(*LAYOUTS[how])
    found, predicted, jumps = cost(data, states, TERMS.coefficients)
    assert np.abs(jumps).max() < 1e-12
    edges = (0, 40, 41, LENGTHS[0], sum(LENGTHS))
    expected = 0.0
    for begin, end in pairwise(edges):
        if end - begin > 1:
            left = (predicted - data.y)[begin:end]
            apart = np.abs(np.subtract.outer(np.arange(left.size), np.arange(left.size)))
            expected += left @ np.linalg.solve(SIGMA**2 * PHI**apart, left)
    assert found == pytest.approx(expected, rel=1e-9)
    left = data.whitened(predicted - data.y)
    assert found == pytest.approx(float(np.sum(data.weight * left**2)), rel=1e-9)


@pytest.mark.parametrize("how", LAYOUTS)
def test_slopes_are_those_of_the_cost(how):
    """By every state and every coefficient, jumps or not."""
    data, states = problem(*LAYOUTS[how])
    rng = np.random.default_rng(4)
    states = states + 0.01 * rng.standard_normal(states.shape)
    linear = Linearisation(data, TERMS)
    linear.at(states, TERMS.coefficients)
    assert linear.misfit == pytest.approx(cost(data, states, TERMS.coefficients)[0], rel=1e-10)
    for _ in range(4):
        dx, dt, h = rng.standard_normal(states.shape), rng.standard_normal(4), 1e-6
        ahead, behind = (cost(data, states + s * h * dx, TERMS.coefficients + s * h * dt)[0] for s in (1.0, -1.0))
        slope = 2.0 * (np.sum(linear.gradient * dx) + linear.arrow_gradient @ dt)
        assert slope == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-5)


def test_no_correlation_is_white_noise():
    data, states = problem(*LAYOUTS["interpolated"])
    white = replace(data, weight=np.where(data.weight > 0, SIGMA**-2, 0.0), colour=None)
    none = replace(white, colour=np.where(data.colour < 0, -1.0, 0.0))
    one, other = (Linearisation(each, TERMS) for each in (white, none))
    for linear in (one, other):
        linear.at(states, TERMS.coefficients)
        linear.totals = linear.eliminate(1e-6, 0.0)
    assert one.misfit == pytest.approx(other.misfit, rel=1e-9)
    np.testing.assert_allclose(one.totals.schur, other.totals.schur, rtol=1e-4)
    np.testing.assert_allclose(
        one.totals.reduced, other.totals.reduced, rtol=1e-4, atol=1e-4 * np.abs(one.totals.reduced).max()
    )


def test_stretches_add_up():
    """Every sample belongs to one of the stretches that a record is cut into."""
    data, states = problem(*LAYOUTS["a step a sample"])
    middle = 7
    parts = [(0, middle), (middle, data.layout.first.size - 1)]
    costs = [cost(stretch(data, a, b), states[a : b + 1], TERMS.coefficients)[0] for a, b in parts]
    assert sum(costs) == pytest.approx(cost(data, states, TERMS.coefficients)[0], rel=1e-9)
