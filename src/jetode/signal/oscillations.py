"""How many oscillations a smoothed signal holds (docs/mathematics.md §6), swings of at least ``SWING`` std; its drift.

Rises through a fixed level count noise where the signal lingers there and miss turns around a point off it (the lobes
of Lorenz's attractor); reversals of half a std do neither.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from jetode.support.arrays import FloatArray

FADING = 0.8  # spread of the second half over that of the first; those of an attractor are nearer to each other
SWING = 0.5  # std
BLOCKS = 10  # per half, whose means tell how far the mean wanders by itself


def count_oscillations(values: FloatArray) -> float:
    """Falls by at least ``SWING`` std after a rise as large: one for each full oscillation."""
    least = SWING * float(np.std(values))
    slopes = np.sign(np.diff(values))
    slopes = slopes[slopes != 0]
    if not slopes.size:
        return 0.0
    moved = values[np.concatenate(([True], np.diff(values) != 0))]
    turns = np.flatnonzero(slopes[1:] != slopes[:-1]) + 1
    count, rising, extreme = 0, slopes[0] > 0, moved[0]
    for value in (*moved[turns].tolist(), float(moved[-1])):
        gained = value - extreme if rising else extreme - value
        if gained >= 0:
            extreme = value
        elif -gained >= least:
            count += rising
            rising, extreme = not rising, value
    return float(count)


def fades(values: FloatArray) -> bool:
    """Whether the second half of a signal moves less than the first: it comes to rest."""
    first, second = np.array_split(values, 2)
    return bool(np.std(second) < FADING * np.std(first))


def mean_drift(values: FloatArray) -> tuple[float, float]:
    """Distance of the halves' means and its standard error from the scatter of their blocks' means."""
    first, second = np.array_split(values, 2)
    blocks = ([block.mean() for block in np.array_split(half, BLOCKS)] for half in (first, second))
    error = sqrt(sum(float(np.var(means, ddof=1)) / BLOCKS for means in blocks))
    return abs(float(second.mean() - first.mean())), error


def oscillation(values: FloatArray) -> float:
    """Samples of one oscillation of a smoothed signal; all of them where it holds none."""
    return values.size / max(count_oscillations(values), 1.0)
