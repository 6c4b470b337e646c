"""Rows of eight numbers against NumPy."""

import numba
import numpy as np
import pytest

from jetode.support.lanes import BLOCK, LANES, add_outer, add_product, fill, multiply, weighted_rows, weighted_sum


@numba.njit
def _operations(out, a, b, c):
    fill(out[0], c)
    fill(out[1], a)
    multiply(out[2], a, b)
    multiply(out[3], a, c)
    add_product(out[4], a, b)
    add_product(out[5], a, c)
    add_product(out[6], out[6], out[6])  # what is written may be what is read


@numba.njit
def _sums(out, coefficients, table, slots, first, last):
    weighted_rows(out[0], coefficients, table)
    weighted_sum(out[1], coefficients, table, slots, first, last)


@numba.njit
def _product(out, left, right, count, m, n):
    add_outer(out, left, right, count, m, n)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_block_of_a_product(count):
    left, right = np.random.default_rng(2).normal(size=(2, 7, 3 * LANES))
    out, m, n = np.ones((3 * LANES, 3 * LANES)), 2 * BLOCK, LANES
    expected = out.copy()
    block = slice(m, m + BLOCK), slice(n, n + LANES)
    expected[block] += (left[:count].T @ right[:count])[block]
    _product(out, left, right, count, m, n)
    assert out == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("c", [2.5, 2, np.inf, np.nan])
def test_arithmetic(c):
    a, b = np.random.default_rng(0).normal(size=(2, LANES))
    a[3] = np.nan
    out = np.full((7, LANES), 0.5)
    _operations(out, a, b, c)
    expected = [np.full(LANES, c), a, a * b, a * c, 0.5 + a * b, 0.5 + a * c, np.full(LANES, 0.75)]
    assert np.allclose(out, expected, rtol=1e-15, equal_nan=True)


@pytest.mark.parametrize(("first", "last"), [(0, 5), (2, 4), (3, 3)])
def test_sums(first, last):
    rng = np.random.default_rng(1)
    coefficients, table, slots = rng.normal(size=5), rng.normal(size=(9, LANES)), np.array([8, 0, 3, 3, 1])
    out = np.ones((2, LANES))
    _sums(out, coefficients, table, slots, first, last)
    assert out[0] == pytest.approx(coefficients @ table[:5], rel=1e-12)
    span = slice(first, last)
    assert out[1] == pytest.approx(coefficients[span] @ table[slots[span]], rel=1e-12)
