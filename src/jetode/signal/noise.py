"""Noise scale of a record (docs/mathematics.md (1.3), the paper's Eq. noise_scale), and noise for experiments.

σ̂_k = 1.4826 MAD(Δᵏ y) / sqrt(binom(2k, k)) estimates the standard deviation of white noise from differences
of order k; the paper's σ̂ is σ̂_2.  White noise gives the same σ̂_k at every k, while a smooth signal falls with
k, so min_k σ̂_k (the floor) is what is left when curvature is gone.  σ̂_2 far above the floor measures
curvature only: the record is clean for the method, and its spline should interpolate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

MAD_TO_SIGMA = 1.4826
HIGHEST_ORDER = 12
# Below this ratio of floor to σ̂_2, less than 1/16 of the variance that σ̂_2 reports can be noise.
CURVATURE_RATIO = 0.25
# Differences this small (in units of the largest value) are rounding of float64 arithmetic.
ROUNDING = 1e-12


def noise_scale(values: FloatArray) -> float:
    """The paper's σ̂ = 1.4826 MAD(Δ² y)/√6 (Eq. noise_scale); differences over gaps are left out."""
    return _scales(values, 2)[0]


def noise_floor(values: FloatArray) -> float:
    """The noise scale freed of curvature: min over k = 2 … 12 of σ̂_k (σ̂ itself for white noise).

    It is never below step/√12 for values on a grid of that step, whose rounding errors medians cannot see.
    """
    return max(min(_scales(values, HIGHEST_ORDER)), _grid_step(values) / math.sqrt(12.0))


def is_clean(values: FloatArray) -> bool:
    """Whether σ̂ measures nothing but the curvature of the signal, so that a spline should interpolate."""
    scale = noise_scale(values)
    return scale <= _rounding(values) or noise_floor(values) < CURVATURE_RATIO * scale


def _rounding(values: FloatArray) -> float:
    return ROUNDING * float(np.nanmax(np.abs(values)))


def _grid_step(values: FloatArray) -> float:
    """The step of the grid on which all values lie (an analogue-digital converter, few digits), or 0."""
    array = np.asarray(values, dtype=np.float64)
    levels = np.unique(array[~np.isnan(array)])
    gaps = np.diff(levels)
    gaps = gaps[gaps > _rounding(values)]
    if gaps.size < 2:
        return 0.0
    steps = gaps / gaps.min()
    return float(gaps.min()) if np.abs(steps - np.round(steps)).max() < 0.02 else 0.0


def _scales(values: FloatArray, highest: int) -> list[float]:
    """σ̂_2 … σ̂_highest, as far as the record leaves enough differences to take a median of."""
    rounding = _rounding(values)
    difference = np.diff(np.asarray(values, dtype=np.float64))
    scales: list[float] = []
    for order in range(2, highest + 1):
        difference = np.diff(difference)
        present = difference[~np.isnan(difference)]
        if scales and present.size < 8 * order:
            break
        if present.size == 0:
            raise InputError("The record must hold three samples in a row somewhere to estimate its noise.")
        deviation = np.abs(present - np.median(present))
        spread = MAD_TO_SIGMA * float(np.median(deviation))
        if spread <= rounding:  # over half are equal: coarse quantisation, where the rms still speaks
            spread = float(np.sqrt(np.mean(deviation**2)))
        scales.append(spread / math.sqrt(math.comb(2 * order, order)))
    return scales


def _gaussian(signal: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.standard_normal(signal.size)


def _student(signal: FloatArray, rng: np.random.Generator, dof: float = 3.0) -> FloatArray:
    if not dof > 2:
        raise InputError(f"The 'dof' parameter must be > 2 for a finite variance. Got {dof} instead.")
    return rng.standard_t(dof, signal.size) / math.sqrt(dof / (dof - 2.0))


def _laplace(signal: FloatArray, rng: np.random.Generator) -> FloatArray:
    return rng.laplace(0.0, math.sqrt(0.5), signal.size)


def _multiplicative(signal: FloatArray, rng: np.random.Generator) -> FloatArray:
    return signal / np.sqrt(np.nanmean(signal**2)) * rng.standard_normal(signal.size)


def _ar1(signal: FloatArray, rng: np.random.Generator, correlation: float = 0.9) -> FloatArray:
    if not -1 < correlation < 1:
        raise InputError(f"The 'correlation' parameter must lie in (-1, 1). Got {correlation} instead.")
    return coloured_noise(signal.size, correlation, rng)


def coloured_noise(n: int, correlation: float, rng: np.random.Generator) -> FloatArray:
    """``n`` samples of unit variance, each with this ``correlation`` to the one before (white where it is 0)."""
    drive = rng.standard_normal(n)
    if correlation == 0.0:
        return drive
    from scipy.signal import lfilter

    drive[1:] *= math.sqrt(1.0 - correlation**2)  # the first sample has the stationary variance already
    return np.asarray(lfilter([1.0], [1.0, -correlation], drive), dtype=np.float64)


def _quantisation(signal: FloatArray, rng: np.random.Generator, fraction: float) -> FloatArray:
    """Rounding to a grid of random offset; the step makes the uniform rounding error of the asked size."""
    if fraction == 0:
        return np.zeros(signal.size)
    step = math.sqrt(12.0) * fraction * float(np.nanstd(signal))
    offset = rng.uniform(0.0, step)
    error = np.round((signal - offset) / step) * step + offset - signal
    return error / (fraction * float(np.nanstd(signal)))


def _outliers(signal: FloatArray, rng: np.random.Generator, share: float = 0.02) -> FloatArray:
    if not 0 < share <= 1:
        raise InputError(f"The 'share' parameter must lie in (0, 1]. Got {share} instead.")
    hit = rng.random(signal.size) < share
    return np.where(hit, rng.standard_normal(signal.size) / math.sqrt(share), 0.0)


# Each gives noise of unit variance (in expectation), to be scaled by fraction · std(signal).
_GENERATORS: Mapping[str, Callable[..., FloatArray]] = MappingProxyType(
    {
        "gaussian": _gaussian,
        "student": _student,
        "laplace": _laplace,
        "multiplicative": _multiplicative,
        "ar1": _ar1,
        "quantisation": _quantisation,
        "outliers": _outliers,
    }
)
NOISE_KINDS = tuple(_GENERATORS)


def add_noise(
    values: FloatArray, fraction: float, rng: np.random.Generator, kind: str = "gaussian", **options: Any
) -> FloatArray:
    """``values`` plus noise of standard deviation ``fraction`` · std(values); ``kind`` is one of NOISE_KINDS.

    Options: ``dof`` (student, 3), ``correlation`` (ar1, 0.9), ``share`` of samples hit (outliers, 0.02).
    """
    if kind not in _GENERATORS:
        raise InputError(f"The 'kind' parameter must be one of {', '.join(NOISE_KINDS)}. Got {kind!r} instead.")
    if not (math.isfinite(fraction) and fraction >= 0):
        raise InputError(f"The 'fraction' parameter must be a number ≥ 0. Got {fraction} instead.")
    signal = np.asarray(values, dtype=np.float64)
    if kind == "quantisation":
        options = {**options, "fraction": fraction}
    unit = _GENERATORS[kind](signal, rng, **options)
    return signal + fraction * float(np.nanstd(signal)) * unit
