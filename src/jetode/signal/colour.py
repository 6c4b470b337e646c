"""Noise that remembers itself (docs/mathematics.md (4.18)–(4.20)): how neighbouring samples of it are correlated.

A smooth motion has left the spectrum above some frequency, and what is seen there is noise: flat where it is white,

    S(ω) = σ_e² / |1 − φ e^{iω}|²,        σ_e² = σ² (1 − φ²),

where it is an autoregression of first order.  φ and σ_e are its maximum of likelihood (Whittle 1953) over the lowest
band, up to the highest frequency, in which nothing but such noise is seen.  That needs no equation, so that what an
equation misses is not taken for noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.support.arrays import BoolArray, FloatArray

GRID = np.concatenate([[0.0], np.linspace(0.02, 0.98, 97)])  # of φ: a hundredth is less than any record tells it to


@dataclass(frozen=True)
class ColourSettings:
    """Numbers of the estimate, each with its reason."""

    fewest: int = 256  # samples without a gap: fewer do not tell φ
    segments: float = 8.0  # into which a short record is cut: their mean scatters by a third
    segment: tuple[int, int] = (128, 512)  # samples: sharper than the band's edge need be, longer than any memory told
    octaves: float = 1.15  # ratio of the band edges that are tried
    band: float = 1.3  # ratio of the edges of the parts of a band, in each of which the noise must look alike
    highest: int = 3  # the first band begins that many ratios below the highest frequency
    alike: float = 3.5  # standard deviations: what the largest of a dozen measures reaches once in a few hundred bands
    withdrawn: int = 2  # ratios by which a band begins above the lowest that would do: the motion is not there at once
    likely: float = 9.0  # fall of −2 log L within which φ is told: three standard errors
    clearly: float = 50.0  # fall of −2 log L below that of white noise; on white noise of 60 records it stays below 13
    least: float = 0.3  # φ that must be certain: less than this costs white-noise methods little


SETTINGS = ColourSettings()
OVERLAP = 1.0 + 2.0 / 36.0  # variance of a mean of half overlapping Hann periodograms over that of independent ones
LEAKAGE = 1.0 + 2.0 * (4.0 / 9.0 + 1.0 / 36.0)  # the same for neighbouring frequencies of one


@dataclass(frozen=True)
class Colour:
    """The correlation φ of neighbouring samples of the noise, and the ends of what the record says of it."""

    correlation: float = 0.0
    low: float = 0.0
    high: float = 0.0

    @property
    def innovation(self) -> float:
        """σ_e/σ: the share of the noise that the sample before does not foretell."""
        return float(np.sqrt(1.0 - self.correlation**2))

    @property
    def slow(self) -> float:
        """By how much the noise of a mean over many samples exceeds that of white noise."""
        return float(np.sqrt((1.0 + self.correlation) / (1.0 - self.correlation)))

    def correlations(self, weight: FloatArray, lengths: Sequence[int]) -> FloatArray:
        """The correlation of each sample's noise with that of the one before, of records laid end to end: 0 after one
        of weight 0, −1 where a record begins."""
        found = np.full(weight.size, self.correlation)
        found[1:][weight[:-1] == 0.0] = 0.0
        found[np.cumsum((0, *lengths))[:-1]] = -1.0
        return found

    def moved(self, correlation: float) -> Colour:
        """Another φ, as far as the record's spectrum allows it."""
        return Colour(float(np.clip(correlation, self.low, self.high)), self.low, self.high)


WHITE = Colour()


@dataclass(frozen=True)
class _Spectrum:
    """Power at frequencies ω (per sample), each with as many independent parts as ``averaged``."""

    omega: FloatArray
    power: FloatArray
    averaged: float

    @classmethod
    def of(cls, values: FloatArray, settings: ColourSettings) -> _Spectrum:
        """The mean of Hann periodograms, half overlapping; without the two lowest frequencies and the highest."""
        shortest, longest = settings.segment
        size = int(np.clip(2 ** round(np.log2(values.size / settings.segments)), shortest, longest))
        window = 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(size) + 0.5) / size)
        starts = np.arange(0, values.size - size + 1, size // 2)
        pieces = values[starts[:, None] + np.arange(size)]
        spectra = np.abs(np.fft.rfft(window * (pieces - pieces.mean(axis=1, keepdims=True)), axis=1)) ** 2
        power = spectra.mean(axis=0) / np.sum(window**2)
        omega = 2.0 * np.pi * np.arange(power.size) / size
        return cls(omega[2:-1], np.maximum(power[2:-1], 1e-300), starts.size / OVERLAP)

    def above(self, edge: float) -> _Spectrum:
        """Its frequencies from ``edge`` on."""
        return _Spectrum(self.omega[self.omega >= edge], self.power[self.omega >= edge], self.averaged)


@dataclass(frozen=True)
class _Band:
    """The noise of one band: for every φ of the grid σ_e and −2 log L; the best, and how far its power is from it."""

    scales: FloatArray
    deviance: FloatArray
    misfit: float

    @classmethod
    def of(cls, seen: _Spectrum, settings: ColourSettings) -> _Band:
        shape = 1.0 + GRID[:, None] ** 2 - 2.0 * GRID[:, None] * np.cos(seen.omega)
        squares = np.mean(seen.power * shape, axis=1)
        own = np.log(squares) * seen.omega.size - np.sum(np.log(shape), axis=1)
        deviance = 2.0 * seen.averaged / LEAKAGE * own
        best = int(np.argmin(deviance))
        ratio = seen.power * shape[best] / squares[best]
        return cls(np.sqrt(squares), deviance - deviance[best], _misfit(seen, ratio, settings))

    def colour(self, settings: ColourSettings) -> Colour:
        """The mean φ of the likelihood, and where that has fallen; white unless white noise is clearly unlikelier."""
        told = GRID[self.deviance <= settings.likely]
        if self.deviance[0] < settings.clearly or told[0] < settings.least:
            return WHITE
        weight = np.exp(-0.5 * self.deviance)
        return Colour(float(weight @ GRID / weight.sum()), float(told[0]), float(told[-1]))


def _misfit(seen: _Spectrum, ratio: FloatArray, settings: ColourSettings) -> float:
    """The largest excess of power over the noise's in any part of a band, and of its scatter over all, in standard
    deviations: ``ratio`` is a mean of k = ``averaged`` exponential variables, of which ratio − 1 − log(ratio) has the
    mean log k − ψ(k) and the variance ψ'(k) − 1/k."""
    k = seen.averaged
    mean, variance = 1.0 / (2.0 * k) + 1.0 / (12.0 * k**2), 1.0 / (2.0 * k**2) + 1.0 / (6.0 * k**3)
    over_all = (np.mean(ratio - 1.0 - np.log(ratio)) - mean) / np.sqrt(variance)
    found = [float(over_all) * np.sqrt(ratio.size / LEAKAGE)]
    part = np.floor(np.log(np.pi / seen.omega) / np.log(settings.band))
    lowest = np.arange(ratio.size) < max(4, ratio.size // 8)
    for inside in [lowest, *(part == p for p in np.unique(part))]:
        count = int(np.count_nonzero(inside))
        if count >= 3:
            found.append(float((ratio[inside].mean() - 1.0) * np.sqrt(k * count / LEAKAGE)))
    return max(found)


def _noise_band(values: FloatArray, settings: ColourSettings) -> _Band | None:
    """The band in which nothing but noise is seen; None where there is none."""
    seen = _Spectrum.of(values, settings)
    peak = seen.omega[np.argmax(seen.power)]
    bands: list[_Band] = []
    lowest = -1
    edge = np.pi / settings.octaves**settings.highest
    while edge > peak and lowest >= len(bands) - 3:
        part = seen.above(edge)
        if part.omega.size >= 12:
            bands.append(_Band.of(part, settings))
            if bands[-1].misfit < settings.alike:
                lowest = len(bands) - 1
        edge /= settings.octaves
    return bands[max(0, lowest - settings.withdrawn)] if lowest >= 0 else None


def noise_colour(parts: list[FloatArray], settings: ColourSettings = SETTINGS) -> Colour:
    """The colour of the noise on records (NaN where samples are missing), by the longest stretch without a gap."""
    longest = _longest_run(parts)
    band = _noise_band(longest, settings) if longest.size >= settings.fewest else None
    return WHITE if band is None else band.colour(settings)


def coloured_scale(parts: list[FloatArray], colour: Colour, settings: ColourSettings = SETTINGS) -> float:
    """The std σ of noise of a known colour; NaN where no band shows it."""
    longest = _longest_run(parts)
    band = _noise_band(longest, settings) if longest.size >= settings.fewest else None
    if band is None:
        return float("nan")
    return float(np.interp(colour.correlation, GRID, band.scales)) / colour.innovation


def smoothing_weight(values: FloatArray, colour: Colour, sigma: float, order: int) -> float:
    """λ, in units of samples, of the spline of degree 2·order − 1 that is expected to be nearest to what lies under
    noise of this colour: a spline passes H = 1/(1 + λ(2 sin ω/2)^{2m}) of a frequency, and errs by Σ (1 − H)² P + 2HS
    but for a constant (Mallows' C_p)."""
    n = values.size
    window = np.sqrt(2.0 / 3.0) * (1.0 - np.cos(2.0 * np.pi * (np.arange(n) + 0.5) / n))
    power = np.abs(np.fft.rfft(window * (values - values.mean()))) ** 2 / n
    omega = 2.0 * np.pi * np.arange(power.size) / n
    phi = colour.correlation
    noise = (sigma * colour.innovation) ** 2 / (1.0 + phi**2 - 2.0 * phi * np.cos(omega))
    steep = (2.0 * np.sin(omega / 2.0)) ** (2 * order)
    weights = np.exp(np.linspace(-8.0, 2.0 * order * np.log(n / 8.0), 200))
    passed = (1.0 / (1.0 + weight * steep) for weight in weights)
    errors = [float(np.sum((1.0 - h) ** 2 * power + 2.0 * h * noise)) for h in passed]
    return float(weights[int(np.argmin(errors))])


def _longest_run(parts: list[FloatArray]) -> FloatArray:
    runs = [run for part in parts for run in _runs(part, ~np.isnan(part))]
    return max(runs, key=len, default=np.empty(0))


def _runs(values: FloatArray, present: BoolArray) -> list[FloatArray]:
    """The stretches of samples that are there."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], present, [False]]).astype(np.int8)))
    return [values[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True)]
