"""Surrogate-data test for determinism: is the record more predictable than linear noise with its spectrum?

Surrogates are IAAFT (Schreiber, Schmitz 1996): the record's values in an order that has its power spectrum.
The statistic is the error of a nearest-neighbour prediction or the asymmetry under time reversal; the rank of
the record among its surrogates is the test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft
from scipy.spatial import KDTree

from jetode.signal.delay import delay_vectors
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

STATISTICS = ("prediction", "reversal")
SURROGATES = 39
NEIGHBOURS = 5
REFERENCES = 1000  # points that are predicted
ITERATIONS = 50
MAX_SAMPLES = 20_000  # of a longer record, the first ones are tested


@dataclass(frozen=True, eq=False)
class SurrogateTest:
    """The statistic of the record and of its surrogates; ``p_value`` by rank."""

    statistic: str
    value: float
    surrogates: FloatArray
    p_value: float

    @property
    def deterministic(self) -> bool:
        """Whether linear noise is rejected at 5 %."""
        return self.p_value <= 0.05


def surrogate_test(
    values: ArrayLike,
    delay: int,
    dimension: int = 3,
    rng: np.random.Generator | None = None,
    statistic: str = "prediction",
    n_surrogates: int = SURROGATES,
) -> SurrogateTest:
    """Rank of the record among ``n_surrogates`` (``rng``: default seed 0)."""
    if statistic not in STATISTICS:
        raise InputError(f"The 'statistic' parameter must be one of {', '.join(STATISTICS)}. Got {statistic!r}.")
    if n_surrogates < 19:
        raise InputError(f"The 'n_surrogates' parameter must be an int ≥ 19. Got {n_surrogates} instead.")
    x = np.array(values, dtype=np.float64)
    if x.ndim != 1 or not np.all(np.isfinite(x)) or np.ptp(x) == 0:
        raise InputError("The 'values' parameter must be finite numbers that are not all the same.")
    if delay < 1 or dimension < 1 or x.size < 4 * (dimension + 1) * delay + 4 * NEIGHBOURS:
        raise InputError(
            f"The record of {x.size} samples is too short for a surrogate test with delay {delay} "
            f"in {dimension} dimensions."
        )
    generator = np.random.default_rng(0) if rng is None else rng
    x = matched_ends(x[:MAX_SAMPLES])

    def measure(series: FloatArray) -> float:
        if statistic == "reversal":
            return -abs(reversal_asymmetry(series, delay))
        return prediction_error(series, delay, dimension)

    value = measure(x)
    others = np.array([measure(iaaft(x, generator)) for _ in range(n_surrogates)])
    p_value = (1 + int(np.sum(others <= value))) / (n_surrogates + 1)
    others.setflags(write=False)
    return SurrogateTest(statistic, value, others, p_value)


def iaaft(values: FloatArray, rng: np.random.Generator, iterations: int = ITERATIONS) -> FloatArray:
    """One surrogate: exactly the record's values, its spectrum as nearly as the iteration gets."""
    ordered = np.sort(values)
    amplitudes = np.abs(fft.rfft(values))
    surrogate = rng.permutation(values)
    previous = np.empty(0, dtype=np.int64)
    for _ in range(iterations):
        spectrum = fft.rfft(surrogate)
        sizes = np.abs(spectrum)
        phases = np.divide(spectrum, sizes, out=np.ones_like(spectrum), where=sizes > 0)
        order = np.argsort(fft.irfft(amplitudes * phases, values.size))
        surrogate[order] = ordered
        if np.array_equal(order, previous):
            break
        previous = order
    return surrogate


def matched_ends(values: FloatArray) -> FloatArray:
    """The record without up to 10 % at its ends, cut where value and slope agree best.

    The Fourier transform takes the record as periodic; a jump at its ends would put noise into surrogates.
    """
    margin = max(1, values.size // 20)
    head, tail = np.arange(margin), values.size - 1 - np.arange(margin)
    slopes = np.gradient(values)
    jump = np.abs(values[head][:, None] - values[tail]) / values.std()
    kink = np.abs(slopes[head][:, None] - slopes[tail]) / (slopes.std() or 1.0)
    i, j = np.unravel_index(np.argmin(jump + kink), jump.shape)
    inner = values[head[i] : tail[j] + 1]
    return inner if np.ptp(inner) > 0 else values  # all that varies may lie at the ends


def prediction_error(values: FloatArray, delay: int, dimension: int) -> float:
    """RMS error, in std, of predicting the second half one delay ahead from neighbours in the first half."""
    points = delay_vectors(values, delay, dimension + 1)  # the last coordinate is what is to be predicted
    half = points.shape[0] // 2
    library, future = points[:half, :-1], points[:half, -1]
    rest = points[half + dimension * delay :]
    rest = rest[np.unique(np.linspace(0, rest.shape[0] - 1, min(rest.shape[0], REFERENCES)).astype(np.int64))]
    _, index = KDTree(library).query(rest[:, :-1], NEIGHBOURS)
    return float(np.sqrt(np.mean((future[index].mean(axis=1) - rest[:, -1]) ** 2)) / values.std())


def reversal_asymmetry(values: FloatArray, delay: int) -> float:
    """Skewness of the increments over one delay; zero for a process that looks the same backwards."""
    increments = values[delay:] - values[:-delay]
    return float(np.mean(increments**3) / np.mean(increments**2) ** 1.5)
