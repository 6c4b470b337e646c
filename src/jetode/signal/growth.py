"""Noise that grows with the signal (docs/mathematics.md (4.21)): how its variance depends on the size of the motion.

Instruments with an error of so many per cent of the reading are most exact where the signal is small.  With a share g
of the variance that goes with the square of the signal s,

    v(s) = σ² ((1 − g) + g s² / ⟨s²⟩),

g is the maximum of the likelihood of Gaussian residuals; all samples weigh alike where that gains little over g = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.support.arrays import FloatArray

GRID = np.linspace(0.0, 1.0, 51)  # of g: a fiftieth is less than any record tells it to
FLOOR = 0.02  # of the mean variance: nearer to 0 than a seventh of its rms the signal itself is not known under noise
CLEARLY = 50.0  # fall of −2 log L: white noise of one size and Student's t reach 28 (22 records), noise that grows 300


@dataclass(frozen=True)
class Growth:
    """The share g of the noise's variance that goes with the square of the signal, and that square's mean, in the
    record's unit."""

    share: float = 0.0
    square: float = 1.0

    def weights(self, signal: FloatArray) -> FloatArray:
        """σ²/v of samples under which this signal lies."""
        return np.asarray(1.0 / np.maximum(1.0 - self.share + self.share * signal**2 / self.square, FLOOR))


EVEN = Growth()


def noise_growth(signal: FloatArray, residuals: FloatArray) -> Growth:
    """How what a smooth ``signal`` or a path leaves (NaN where a sample is missing) grows with it."""
    there = ~np.isnan(residuals)
    s2, r2 = signal[there] ** 2, residuals[there] ** 2
    square = float(np.mean(s2))
    if not (square > 0.0 and np.any(r2 > 0.0)):
        return EVEN
    deviances = []
    for share in GRID:
        variance = np.maximum(1.0 - share + share * s2 / square, FLOOR)
        deviances.append(r2.size * np.log(np.mean(r2 / variance)) + float(np.sum(np.log(variance))))
    best = int(np.argmin(deviances))
    return Growth(float(GRID[best]), square) if deviances[0] - deviances[best] > CLEARLY else EVEN
