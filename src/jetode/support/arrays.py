"""The array types that every layer speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def read_only(array: FloatArray) -> FloatArray:
    """The same numbers as what a kernel reads only: one type of array, one compilation."""
    view = array.view()
    view.setflags(write=False)
    return view


def diagonal(matrix: FloatArray) -> FloatArray:
    """The diagonal of a square matrix as a view that can be written to."""
    view: FloatArray = np.einsum("ii->i", matrix)
    return view
