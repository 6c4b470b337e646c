"""The scales of a record (docs/mathematics.md (2.1)): amplitude std(u0), characteristic time tc = std(u0)/std(u1)."""

from __future__ import annotations

import numpy as np

from jetode.signal.spline import SmoothingSpline
from jetode.support.arrays import FloatArray


class Unsuitable(Exception):
    """The record was read, but holds nothing that the fit could start from; the message says why."""


def filled(values: FloatArray) -> FloatArray:
    """Missing samples replaced by straight lines, for smoothing only."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    at = np.arange(values.size)
    return np.interp(at, at[~missing], values[~missing])


def derivative_scale(spline: SmoothingSpline) -> tuple[float, float]:
    """(std of u0, tc) of a smoothed record, its ends left out."""
    jets = spline.jets(1)
    trim = min(max(4, jets.shape[0] // 100), 200)
    inner = jets[trim:-trim]
    amplitude = float(np.std(inner[:, 0]))
    slope = float(np.std(inner[:, 1]))
    if not (amplitude > 0 and slope > 0):
        raise Unsuitable("After smoothing nothing is left of the record: it is noise, or sampled too coarsely.")
    return amplitude, amplitude / slope
