"""Options of the shooting kernels, and sums that several of them make (untyped like them)."""

from __future__ import annotations

from typing import Any

from jetode.support.compiled import leaf

# Only the order of summation is left to the compiler; NaN and infinity keep their meaning.
KERNEL: Any = {"error_model": "numpy", "fastmath": {"reassoc", "contract"}, "_nrt": False}
LEAF: Any = {"fastmath": {"reassoc", "contract"}}
CHUNK = 64  # rows whose products are summed at once


@leaf(**LEAF, forceinline=False)
def _add_symmetric(left, right, count, out):
    """The upper triangle of out += leftᵀ right, which is symmetric, of the first ``count`` rows.

    Eight rows at a time, the last ones filled up with zeros: what is read is used eight times.
    """
    n_columns = left.shape[1]
    for c in range(count, (count + 7) // 8 * 8):
        for m in range(n_columns):
            left[c, m] = 0.0
            right[c, m] = 0.0
    for c in range(0, count, 8):
        r0, r1, r2, r3 = right[c], right[c + 1], right[c + 2], right[c + 3]
        r4, r5, r6, r7 = right[c + 4], right[c + 5], right[c + 6], right[c + 7]
        for m in range(n_columns):
            f0, f1, f2, f3 = left[c, m], left[c + 1, m], left[c + 2, m], left[c + 3, m]
            f4, f5, f6, f7 = left[c + 4, m], left[c + 5, m], left[c + 6, m], left[c + 7, m]
            row = out[m]
            for n in range(m, n_columns):
                row[n] += (f0 * r0[n] + f1 * r1[n] + f2 * r2[n] + f3 * r3[n]) + (
                    f4 * r4[n] + f5 * r5[n] + f6 * r6[n] + f7 * r7[n]
                )


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
