"""Valid prediction time on recordings (docs/mathematics.md (5.5)): their truth is noisy, so errors are averaged.

The time until the rms error over a tenth of an oscillation exceeds 0.4 std, in oscillations.
"""

from __future__ import annotations

import numpy as np

from jetode.support.arrays import FloatArray

THRESHOLD = 0.4  # of std: twice the paper's, since the samples compared with are noisy too
WINDOW = 0.1  # of an oscillation: long enough to average noise, short beside what is measured
FAILED = 1e3  # std: the error of a forecast that is not there; finite, since windows are differences of sums


def window_samples(period: float) -> int:
    """Samples over which errors are averaged; ``period`` in samples."""
    return max(1, round(WINDOW * period))


def windowed_rms(error: FloatArray, width: int) -> FloatArray:
    """Root mean square of rows of errors over ``width`` samples from each on: (s, n − width + 1)."""
    squares = np.where(np.isfinite(error), np.minimum(np.abs(error), FAILED), FAILED) ** 2
    sums = np.concatenate([np.zeros((error.shape[0], 1)), np.cumsum(squares, axis=1)], axis=1)
    return np.asarray(np.sqrt(np.maximum(sums[:, width:] - sums[:, :-width], 0.0) / width))


def windowed_vpt(error: FloatArray, period: float, threshold: float = THRESHOLD) -> FloatArray:
    """VPT in oscillations of rows of errors in std: where the windowed rms first exceeds the threshold, or the end."""
    beyond = windowed_rms(error, min(window_samples(period), error.shape[1])) > threshold
    first = np.where(beyond.any(axis=1), beyond.argmax(axis=1), error.shape[1] - 1)
    return np.asarray(first / period)
