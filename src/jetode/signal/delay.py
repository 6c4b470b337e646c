"""Delay-coordinate diagnostics (paper, Sec. 3.1): average mutual information and false nearest neighbours.

They only check that a given number of coordinates unfolds the record.  The delay is the first local minimum
of I(τ) = Σ p_ij log(p_ij / p_i p_j) over 100 equal bins (Fraser, Swinney 1986).  A neighbour in m delay
coordinates is false (Kennel, Brown, Abarbanel 1992) when coordinate m + 1 adds more than ``RTOL`` times its
distance, or makes that longer than ``ATOL`` standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError

BINS = 100
RTOL = 15.0
ATOL = 2.0
LIMIT = 0.01  # "less than 1 % false neighbours"
REFERENCES = 5000  # points whose neighbours are judged; their fraction is known to 0.14 % at 1 %


def average_mutual_information(values: ArrayLike, max_lag: int, bins: int = BINS) -> FloatArray:
    """I(τ) in nats for τ = 0 … ``max_lag`` samples."""
    x = _complete(values)
    if not 0 <= max_lag <= x.size - 2:
        raise InputError(f"The 'max_lag' parameter must be in 0 … {x.size - 2}. Got {max_lag} instead.")
    if bins < 2:
        raise InputError(f"The 'bins' parameter must be an int ≥ 2. Got {bins} instead.")
    return _mutual_information(_binned(x, bins), bins, max_lag)


def first_minimum(curve: ArrayLike) -> int | None:
    """First index lower than the one before it and not higher than the one after it, or None."""
    c = np.asarray(curve, dtype=np.float64)
    found = np.flatnonzero((c[1:-1] < c[:-2]) & (c[1:-1] <= c[2:]))
    return int(found[0]) + 1 if found.size else None


def embedding_delay(values: ArrayLike, bins: int = BINS, max_lag: int | None = None) -> int | None:
    """First local minimum of the mutual information up to ``max_lag`` (default: a tenth of the record)."""
    return delay_and_information(values, bins, max_lag)[0]


def delay_and_information(
    values: ArrayLike, bins: int = BINS, max_lag: int | None = None
) -> tuple[int | None, FloatArray]:
    """:func:`embedding_delay`, and I(τ) from τ = 0 on as far as it was looked for."""
    x = _complete(values)
    last = max(2, x.size // 10) if max_lag is None else max_lag
    reach = min(64, last)
    while True:
        information = average_mutual_information(x, reach, bins)
        delay = first_minimum(information)
        if delay is not None or reach >= last:
            return delay, information
        reach = min(4 * reach, last)


@dataclass(frozen=True, eq=False)
class FalseNeighbours:
    """``fractions[m − 1]`` of false neighbours in m = 1, 2, … delay coordinates."""

    fractions: FloatArray
    delay: int
    theiler: int

    @property
    def dimension(self) -> int | None:
        """Smallest m with less than 1 % false neighbours; None if there is none."""
        low = np.flatnonzero(self.fractions < LIMIT)
        return int(low[0]) + 1 if low.size else None


def false_nearest_neighbours(
    values: ArrayLike,
    delay: int,
    max_dimension: int = 6,
    rtol: float = RTOL,
    atol: float = ATOL,
    theiler: int | None = None,
    references: int = REFERENCES,
) -> FalseNeighbours:
    """Fractions for m = 1 … ``max_dimension``; neighbours within ``theiler`` samples (one delay) are out.

    At most ``references`` points, spread evenly, are judged; their neighbours are sought among all points.
    """
    x = _complete(values)
    window = delay if theiler is None else theiler
    for name, value, least in (
        ("delay", delay, 1),
        ("max_dimension", max_dimension, 1),
        ("theiler", window, 0),
    ):
        if value < least:
            raise InputError(f"The '{name}' parameter must be an int ≥ {least}. Got {value} instead.")
    if x.size - max_dimension * delay < 2 * window + 3:
        raise InputError(f"The record of {x.size} samples is too short for {max_dimension} delays of {delay} samples.")
    spread = float(x.std())
    fractions = np.array(
        [_false_fraction(x, delay, m, rtol, atol * spread, window, references) for m in range(1, max_dimension + 1)]
    )
    fractions.setflags(write=False)
    return FalseNeighbours(fractions, delay, window)


def delay_vectors(values: FloatArray, delay: int, dimension: int, n_points: int | None = None) -> FloatArray:
    """Delay vectors (x_i, x_{i+τ}, …) as rows."""
    n = values.size - (dimension - 1) * delay if n_points is None else n_points
    return np.stack([values[k * delay : k * delay + n] for k in range(dimension)], axis=1)


def _false_fraction(
    x: FloatArray, delay: int, m: int, rtol: float, longest: float, window: int, references: int
) -> float:
    n = x.size - m * delay  # points that have a coordinate m + 1
    points = delay_vectors(x, delay, m, n)
    chosen = np.unique(np.linspace(0, n - 1, min(n, references)).astype(np.int64))
    neighbour, distance = _nearest(points, chosen, window)
    added = np.abs(x[chosen + m * delay] - x[neighbour + m * delay])
    false = (added > rtol * distance) | (np.hypot(distance, added) > longest)
    return float(np.mean(false))


def _nearest(points: FloatArray, chosen: IntArray, window: int) -> tuple[IntArray, FloatArray]:
    """Nearest neighbour of each chosen point outside its time window."""
    tree = KDTree(points)
    neighbour = np.full(chosen.size, -1, dtype=np.int64)
    distance = np.zeros(chosen.size)
    open_points = np.arange(chosen.size)
    k = 4
    while open_points.size:
        k = min(k, points.shape[0])
        found, index = tree.query(points[chosen[open_points]], k)
        outside = np.abs(index - chosen[open_points, None]) > window
        first = np.argmax(outside, axis=1)
        done = outside[np.arange(open_points.size), first]
        neighbour[open_points[done]] = index[done, first[done]]
        distance[open_points[done]] = found[done, first[done]]
        open_points = open_points[~done]
        k *= 4
    return neighbour, distance


def _complete(values: ArrayLike) -> FloatArray:
    x = np.array(values, dtype=np.float64)
    if x.ndim != 1 or x.size < 3 or not np.all(np.isfinite(x)) or np.ptp(x) == 0:
        raise InputError("The 'values' parameter must be ≥ 3 finite numbers that are not all the same.")
    return x


def _binned(x: FloatArray, bins: int) -> IntArray:
    scaled = (x - x.min()) / np.ptp(x) * bins
    return np.minimum(scaled.astype(np.int64), bins - 1)


def _mutual_information(symbols: IntArray, bins: int, max_lag: int) -> FloatArray:
    """With counts c of pairs and f, s of what each begins and ends with, n I = Σ c log c − Σ f log f − Σ s log s +
    n log n: what a count adds is looked up."""
    out = np.empty(max_lag + 1)
    counts = np.arange(symbols.size + 1, dtype=np.float64)
    adds = counts * np.log(np.maximum(counts, 1.0))
    scaled = bins * symbols
    for lag in range(max_lag + 1):
        n = symbols.size - lag
        joint = np.bincount(scaled[:n] + symbols[lag:], minlength=bins * bins).reshape(bins, bins)
        ends = adds[joint.sum(axis=1)].sum() + adds[joint.sum(axis=0)].sum()
        out[lag] = (adds[joint].sum() - ends + adds[n]) / n
    return out
