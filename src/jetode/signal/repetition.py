"""Records that repeat themselves (docs/mathematics.md (6.5), (6.6)): how many numbers they tell, and which of these an
equation misses.

A motion on a closed curve is a sum of harmonics of one frequency.  Whatever moves like that shows the amplitude and the
phase of every harmonic above the noise and nothing else, however long the record: the first one's phase is where it
began, but its frequency is told instead.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import f as f_distribution

from jetode.support.arrays import FloatArray

HARMONICS = 60  # that are looked for; what has more tells enough
REPEATS = 4.0  # periods that a record holds at least for it to have shown that it repeats itself
LEAST = 0.7  # autocorrelation of a smooth path after its period: noise and a slow drift of its level leave this much
NEAR = 0.02  # of the highest autocorrelation: a shorter lag is as good
ALIKE = 0.5  # of the noise: what harmonics may leave of a path that cannot be told from a periodic one
ROUGHLY = 2.0  # of the noise: what they may leave of a smoothed record, whose edges are round
ALIKE_CLEAN = 1e-3  # of std: what is left of a record without noise that repeats itself
SEEN = 3.0  # standard errors of a harmonic's amplitude
HIDDEN = 0.1  # of a sine's acceleration: more in a harmonic that noise hides, and the record does not tell a line
SAMPLES = 2000  # of a path, which is smooth: more cost time
FEW = 8  # harmonics that tell the period
TURNS = 501  # moments of half a period from which a path is looked at backward
MISSED = 20  # harmonics that residuals are asked for
BETWEEN = (0.25, 0.5, 0.75)  # of the way from one to the next: what noise has there, four periods tell from either


def numbers_told(path: FloatArray, sigma: float) -> float:
    """Two for every harmonic of a smooth ``path`` through as many samples with noise ``sigma`` that stands out of it,
    or one and the frequency where it is the same backward; one for a lone harmonic under noise in which a second could
    hide; inf where the path does not repeat itself to within the noise."""
    return _told(path, ALIKE * sigma, sigma * sqrt(2.0 / path.size))


def numbers_told_beyond(path: FloatArray, misfit: float) -> float:
    """Two for every harmonic of a ``path`` without noise that stands out of an equation's ``misfit``, which is no noise
    and does not average out; inf where the path does not repeat itself."""
    return _told(path, ROUGHLY * ALIKE_CLEAN, misfit)


def _told(path: FloatArray, most_left: float, error: float) -> float:
    """Two for every harmonic above ``error``, or one and the frequency where the path is the same backward; inf where
    harmonics leave more than ``most_left``."""
    found, left = _periodic(path)
    if not left <= most_left:
        return inf
    amplitudes = np.hypot(*found)
    count = int(np.count_nonzero(amplitudes > SEEN * error))
    if count == 1 and 4.0 * SEEN * error > HIDDEN * amplitudes.max():  # of 2ω, the acceleration is four times
        return 1.0
    return 1.0 + count if _same_backward(found, SEEN * error) else 2.0 * count


def _same_backward(found: FloatArray, limit: float) -> bool:
    """Whether cosines alone, from some moment on, make up the harmonics to within ``limit``: then friction that is
    absent has set all the phases, and they tell nothing else."""
    orders = np.arange(1, found.shape[1] + 1)

    def sines(turn: float) -> float:
        return float(np.abs(found[0] * np.sin(orders * turn) - found[1] * np.cos(orders * turn)).max())

    turns = np.linspace(0.0, np.pi, TURNS)
    best = min(turns, key=sines)
    near = best - turns[1], best + turns[1]
    return bool(minimize_scalar(sines, bounds=near, method="bounded", options={"xatol": 1e-9}).fun <= limit)


def repeats_itself(smoothed: FloatArray, sigma: float) -> bool:
    """Whether a smoothed record with noise ``sigma`` is roughly periodic."""
    return _periodic(smoothed)[1] <= ROUGHLY * sigma


def repeated_by_chance(path: FloatArray, residuals: FloatArray) -> float:
    """The chance that noise of any colour has as much at the harmonics of a path's period, over what it has between
    them, as ``residuals`` at the same samples have (0 where nothing was measured); 1 where the path has no period."""
    centred = path - path.mean()
    found = _period(centred)
    if found is None:
        return 1.0
    period = found * _every(path.size)
    count = max(1, min(MISSED, int(period / 2.5) - 1))
    orders = np.add.outer(np.arange(1.0, count + 1.0), (0.0, *BETWEEN))
    turns = np.outer(np.arange(path.size) / period, orders.ravel())
    power = np.abs(np.exp(-2j * np.pi * turns).T @ residuals).reshape(orders.shape) ** 2
    ratio = power[:, 0].mean() / max(power[:, 1:].mean(), 1e-300)
    return float(f_distribution.sf(ratio, 2 * count, 2 * count * len(BETWEEN)))


def _periodic(path: FloatArray) -> tuple[FloatArray, float]:
    """Cosines and sines of the periodic signal nearest to a path, and what it leaves (rms; inf where there is none)."""
    centred = path - path.mean()
    period = _period(centred)
    if period is None:
        return np.empty((2, 0)), inf
    found, left = _harmonics(centred[:: _every(path.size)], period, HARMONICS)
    return found, sqrt(left)


def _every(size: int) -> int:
    """How many samples of a path stand for one."""
    return max(1, size // SAMPLES)


def _period(centred: FloatArray) -> float | None:
    """The period in such samples; None where the path has none."""
    every, lag = _every(centred.size), _repeats_after(centred)
    return None if lag is None else _sharpened(centred[::every], lag / every)


def _repeats_after(centred: FloatArray) -> int | None:
    """The shortest lag of nearly the highest autocorrelation, in samples; None where that is low."""
    n = centred.size
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    raw = np.fft.irfft(power)[: int(n / REPEATS)]
    correlation = raw / np.arange(n, n - raw.size, -1)
    negative = np.flatnonzero(correlation < 0.0)
    if not negative.size:
        return None
    first = int(negative[0])
    beyond = correlation[first:] / correlation[0]
    peaks = np.flatnonzero((beyond[1:-1] >= beyond[:-2]) & (beyond[1:-1] >= beyond[2:])) + 1
    if not peaks.size or beyond[peaks].max() < LEAST:
        return None
    return first + int(peaks[beyond[peaks] >= beyond[peaks].max() - NEAR][0])


def _harmonics(centred: FloatArray, period: float, most: int) -> tuple[FloatArray, float]:
    """Cosines and sines (2, count) of the harmonics of a period, and the mean square that they leave."""
    count = max(1, min(most, int(period / 2.5)))
    phase = 2.0 * np.pi / period * np.outer(np.arange(centred.size), np.arange(1, count + 1))
    rows = np.concatenate([np.cos(phase), np.sin(phase), np.ones((centred.size, 1))], axis=1)
    found = np.linalg.solve(rows.T @ rows, rows.T @ centred)
    return found[:-1].reshape(2, count), float(np.mean((centred - rows @ found) ** 2))


def _sharpened(centred: FloatArray, lag: float) -> float:
    """The period near a lag that leaves least: over many of them it is told to a small part of a sample."""

    def left(period: float) -> float:
        return _harmonics(centred, period, FEW)[1]

    width = lag**2 / centred.size  # of a period, for one cycle more or less in all
    start = min(np.linspace(lag - width, lag + width, 9), key=left)
    near = start - 0.25 * width, start + 0.25 * width
    return float(minimize_scalar(left, bounds=near, method="bounded", options={"xatol": 1e-3 * width}).x)
