"""Blocks of rows against NumPy."""

import numba
import numpy as np
import pytest

from jetode.support.lane_blocks import add_forcing, add_sample, monomials, propagate, respond
from jetode.support.lanes import LANES

NORMAL = np.random.default_rng(3).normal


@numba.njit
def _propagate(axes, out, matrix, given):
    propagate(axes, out, matrix, given)


@numba.njit
def _add_forcing(axes, out, responses, tables, row, columns):
    add_forcing(axes, out, responses, tables, row, columns)


@numba.njit
def _add_sample(axes, weights, ends, reached, residual, sums, listed, count):
    add_sample(axes, weights[1:], (ends, reached), residual, sums, listed, count)


@numba.njit
def _respond(axes, h, a, b, jacobians, responses, products, propagator):
    respond(axes, h, (a, b), jacobians, responses, products, propagator)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_products_with_a_matrix_per_lane(d):
    matrix, given, out = NORMAL(size=(d, d, LANES)), NORMAL(size=(d, 7, LANES)), np.empty((d, 7, LANES))
    _propagate((0,) * d, out, matrix, given)
    np.testing.assert_allclose(out, np.einsum("cel,eml->cml", matrix, given), rtol=1e-12, atol=1e-13)


def test_forcing_of_some_columns():
    responses, tables, out = NORMAL(size=(4, 3, 3, LANES)), NORMAL(size=(4, 9, LANES)), NORMAL(size=(3, 8, LANES))
    slots, expected = np.array([8, 2, 2, 0, 5]), out.copy()
    expected[:, 4:7] += np.einsum("icl,iml->cml", responses[:, :, 2], tables[:, slots[1:4]])
    _add_forcing((0,) * 3, out, responses, tables, 2, (slots, 1, 4))
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)


def test_a_sample_of_every_lane():
    d, columns = 3, 8
    weights, ends, reached = NORMAL(size=(5, LANES)), NORMAL(size=(3, columns, LANES)), NORMAL(size=(d, columns, LANES))
    residual, sums, listed = NORMAL(size=LANES), NORMAL(size=(d, columns + 1, LANES)), np.zeros((20, 2 * LANES))
    v = sum(w * row for w, row in zip(weights[1:], (ends[0], ends[1], reached[0], ends[2]), strict=True))
    row = np.vstack([v, residual])
    expected = sums + v[:d, None] * row
    _add_sample((0,) * d, weights, ends, reached, residual, sums, listed, 5)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(listed[5 : 5 + LANES, : columns + 1 - d], row[d:].T, rtol=1e-12, atol=1e-13)
    assert not listed[:5].any() and not listed[5 + LANES :].any() and not listed[:, columns + 1 - d :].any()


@pytest.mark.parametrize("d", [2, 3, 4])
def test_responses_make_the_step_of_a_linear_equation(d):
    """x' = J_i x at stage i: the propagator is what Runge–Kutta's own stages make of every unit vector."""
    a = np.tril(NORMAL(size=(4, 4)), -1)
    a[2, 0] = 0.0
    b, h, jacobians = NORMAL(size=4), NORMAL(size=LANES), NORMAL(size=(4, d, d, LANES))
    responses, products, propagator = np.empty((4, d, d, LANES)), np.empty((4, d, d, LANES)), np.empty((d, d, LANES))
    _respond((0,) * d, h, a, b, jacobians, responses, products, propagator)
    for lane in range(LANES):
        stages = []
        for i in range(4):
            trial = np.eye(d) + h[lane] * sum((a[i, j] * k for j, k in enumerate(stages)), np.zeros((d, d)))
            stages.append(jacobians[i, :, :, lane] @ trial)
        step = np.eye(d) + h[lane] * np.einsum("i,ice->ce", b, np.array(stages))
        np.testing.assert_allclose(propagator[..., lane], step, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(products, np.einsum("icml,imel->icel", responses, jacobians), rtol=1e-11, atol=1e-11)


@numba.njit
def _monomials(table, state, parent, variable):
    monomials(table, state, parent, variable)


def test_monomials_follow_their_parents():
    state, table = NORMAL(size=(2, LANES)), np.empty((6, LANES))
    _monomials(table, state, np.array([0, 0, 0, 1, 1, 3]), np.array([0, 0, 1, 0, 1, 1]))
    x, y = state
    np.testing.assert_array_equal(table, np.stack([np.ones(LANES), x, y, x * x, x * y, x * x * y]))
