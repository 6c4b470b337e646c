"""Blocks drawn towards what a fitted map can follow (docs/mathematics.md (7.8)): noise reduction by the map itself.

Of blocks b with noise the row y is sought that minimises Σ (y − b)² + Σ (y_{k+1} − f(y_k, y_{k−1} …))²/ρ, with ρ the
variance of the map's own error over that of the noise.  Gauss–Newton: the map's slopes at all windows at once, then a
banded system for each row of blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solveh_banded

from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel

LARGEST = 0.5  # std that a block moves in one pass at most: farther off, slopes say nothing
PASSES = 3  # after which rows hardly move

# windows (s, m) → the blocks that follow (s,) and their slopes (s, m)
Slopes = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def drawn(rows: Sequence[FloatArray], length: int, slopes: Slopes, ratio: float) -> list[FloatArray]:
    """Rows of blocks, each longer than ``length``, drawn towards a map of windows of that many."""
    moved = [np.array(row) for row in rows]
    for _ in range(PASSES):
        windows = [sliding_window_view(row, length)[:-1] for row in moved]
        following, slope = slopes(np.concatenate(windows))
        edges = np.cumsum([w.shape[0] for w in windows])[:-1]
        parts = zip(rows, moved, np.split(following, edges), np.split(slope, edges), strict=True)
        moved = [_moved(row, now, length, f, j, ratio) for row, now, f, j in parts]
    return moved


def _moved(
    row: FloatArray, now: FloatArray, length: int, following: FloatArray, slope: FloatArray, ratio: float
) -> FloatArray:
    """One Gauss–Newton pass of a row."""
    count, weight = following.size, 1.0 / ratio
    misfit = now[length:] - following
    terms = np.concatenate([-slope, np.ones((count, 1))], axis=1)  # of the misfit by the blocks k … k + length
    band, right = np.zeros((length + 1, now.size)), row - now
    _add_misfits(terms, misfit, weight, band, right)
    band[0] += 1.0
    return np.asarray(now + np.clip(solveh_banded(band, right, lower=True, check_finite=False), -LARGEST, LARGEST))


@kernel(error_model="numpy", _nrt=False)
def _add_misfits(terms: FloatArray, misfit: FloatArray, weight: float, band: FloatArray, right: FloatArray) -> None:
    """Every misfit to the normal equations: their matrix by its lower bands, and their right side."""
    for k in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            w = weight * terms[k, i]
            right[k + i] -= w * misfit[k]
            for j in range(i, terms.shape[1]):
                band[j - i, k + i] += w * terms[k, j]


def pieces(row: FloatArray, shortest: int) -> list[slice]:
    """Stretches of a row without missing blocks, of ``shortest`` blocks at least."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], np.isfinite(row), [False]]).astype(np.int8)))
    found = [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return [part for part in found if part.stop - part.start >= shortest]
