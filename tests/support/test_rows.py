"""Rows as values against NumPy, to the last bit."""

import numba
import numpy as np
import pytest

from jetode.support import rows as module
from jetode.support.lanes import LANES
from jetode.support.rows import everywhere, larger, load, magnitude, root, smaller, some, store, where_less


@numba.njit(error_model="numpy")
def _operations(a, numbers, out):
    x, y, c = load(a, 0), load(a, 1), load(numbers, 1)
    store(out, 0, x * y + c)
    store(out, 1, c - x / y)
    store(out, 2, root(magnitude(x)))
    store(out, 3, smaller(x, y))
    store(out, 4, larger(x, c))
    store(out, 5, where_less(x, 0, y, everywhere(c)))
    store(numbers, 0, 2.0 * load(numbers, 1))
    return some(x), some(x * 0)


@pytest.fixture
def rows():
    a = np.random.default_rng(0).normal(size=(2, LANES))
    a[0, 2], a[1, 3], a[0, 4] = np.nan, np.nan, np.inf
    return a


def test_operations_are_those_of_numpy_to_the_last_bit(rows):
    """Also where a product and a sum could be one operation."""
    for c in np.random.default_rng(1).normal(size=50):
        out, numbers = np.empty((6, LANES)), np.array([0.0, c])
        _operations(rows, numbers, out)
        x, y = rows
        expected = [x * y + c, c - x / y, np.sqrt(np.abs(x)), np.where(x < y, x, y), np.where(x > c, x, c)]
        assert np.array_equal(out, [*expected, np.where(x < 0, y, c)], equal_nan=True)
        assert numbers[0] == 2.0 * c


def test_whether_any_lane_is_other_than_zero(rows):
    assert _operations(rows, np.ones(2), np.empty((6, LANES))) == (True, True)  # NaN is
    assert _operations(np.ones((2, LANES)), np.ones(2), np.empty((6, LANES))) == (True, False)
    assert _operations(np.zeros((2, LANES)), np.ones(2), np.empty((6, LANES))) == (False, False)


def test_what_compiled_code_does_is_what_python_does(rows):
    out, same = np.empty((2, LANES)), np.empty((2, LANES))
    store(out, 0, where_less(load(rows, 0), load(rows, 1), 1.0, load(rows, 1)))
    store(out, 1, larger(smaller(load(rows, 0), 0.5), everywhere(-0.5)))
    _compared(rows, same)
    assert np.array_equal(out, same, equal_nan=True)
    assert some(rows) and not some(np.zeros(LANES))


def test_no_row_lies_in_two_lines_of_the_cache():
    for shape in [(1,), (3, 5), (2, 4, 3)] * 5:
        zeros = module.rows_of_zeros(*shape)
        assert zeros.shape == (*shape, LANES) and zeros.flags.c_contiguous and not zeros.any()
        assert zeros.ctypes.data % (8 * LANES) == 0


@numba.njit
def _compared(a, out):
    store(out, 0, where_less(load(a, 0), load(a, 1), 1.0, load(a, 1)))
    store(out, 1, larger(smaller(load(a, 0), 0.5), everywhere(-0.5)))
