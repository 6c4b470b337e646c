"""Options of the shooting kernels, and sums that several of them make (untyped like them)."""

from __future__ import annotations

from typing import Any

from jetode.support.compiled import leaf
from jetode.support.lanes import BLOCK, LANES, add_outer

# Only the order of summation is left to the compiler; NaN and infinity keep their meaning.
KERNEL: Any = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}, "_nrt": False}
LEAF: Any = {"fastmath": {"reassoc", "contract"}}
CHUNK = 64  # rows whose products are summed at once


def padded(columns):
    """As many columns as :func:`_add_symmetric` takes, the ones beyond ``columns`` zero."""
    return -(-columns // LANES) * LANES


@leaf(**LEAF, forceinline=False)
def _add_symmetric(left, right, count, out):
    """The upper triangle of out += leftᵀ right, which is symmetric, of the first ``count`` rows, by blocks."""
    for m in range(0, out.shape[0], BLOCK):
        for n in range(m // LANES * LANES, out.shape[0], LANES):
            add_outer(out, left, right, count, m, n)


@leaf(**LEAF)
def _mirror(out):
    """The lower triangle from the upper one."""
    for m in range(out.shape[0]):
        for n in range(m):
            out[m, n] = out[n, m]


@leaf(**LEAF)
def _hermite(fraction, h):
    """Cubic Hermite weights of (x_left, x'_left, x_right, x'_right)."""
    f2 = fraction * fraction
    f3 = f2 * fraction
    return 2 * f3 - 3 * f2 + 1, h * (f3 - 2 * f2 + fraction), 3 * f2 - 2 * f3, h * (f3 - f2)
