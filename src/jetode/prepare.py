"""From records to the dimensionless problem of the joint fit (design.md §2, §4): units, gaps, noise, jets.

Amplitude is measured in units of the signal's std, time in units of tc = std(u0)/std(u1); nothing is shifted.
A gap longer than tc splits a record (a chaotic path cannot be carried across it), a shorter one is bridged by
the equation itself: its samples have weight 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.errors import InputError
from jetode.forms import Jets
from jetode.gaussnewton import Data
from jetode.noise import is_clean, noise_floor
from jetode.polynomials import FloatArray
from jetode.series import Series
from jetode.shooting import RK4, RK8, make_layout
from jetode.spline import SmoothingSpline, smooth

STEP = 0.06  # tc: Runge–Kutta step of the fit
NODE = 0.25  # tc: distance of nodes
CLEAN_STEP = 0.12  # tc: step of the 8th-order method used below CLEAN_SIGMA
CLEAN_SIGMA = 5e-3  # of std: below it the integrator, not the noise, would limit a 4th-order fit
SHORTEST_PIECE = 8.0  # tc: shorter stretches between gaps are not used
FEWEST_SAMPLES = 24  # in a stretch
SMALLEST_SIGMA = 1e-9  # of std: what rounding and the integrator leave of a clean record


class Unsuitable(Exception):
    """The record was read, but holds nothing that the fit could start from; the message says why."""


@dataclass(frozen=True)
class Piece:
    """A stretch of one record without long gaps: samples ``start`` to ``stop`` (excluded) of ``record``."""

    record: int
    start: int
    stop: int


@dataclass(frozen=True)
class Prepared:
    """The dimensionless problem: samples ``y`` (0 where missing), their presence, jets, noise, units, pieces."""

    y: FloatArray
    present: FloatArray
    jets: Jets
    sigma: float
    clean: bool
    amplitude: float
    time: float
    pieces: tuple[Piece, ...]
    spline: SmoothingSpline

    @property
    def n_samples(self) -> int:
        """Samples that are there."""
        return int(self.present.sum())

    @property
    def duration(self) -> float:
        """Length in tc."""
        return self.y.size * self.jets.spacing

    def data(self, sigma: float, samples: int | None = None, step: float = STEP, node: float = NODE) -> Data:
        """The shooting problem at noise level ``sigma`` (in std), on the first ``samples`` samples."""
        jets = self.jets if samples is None else self.jets.head(samples)
        n = jets.u.shape[0]
        fine = sigma < CLEAN_SIGMA
        between = not fine and jets.u.shape[1] > 2  # Hermite needs u1 among the states
        layout = make_layout(jets.lengths, jets.spacing, CLEAN_STEP if fine else step, node, interpolate=between)
        weight = self.present[:n] / sigma**2
        return Data(self.y[:n], weight, layout, RK8 if fine else RK4)


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


def residual_scale(splines: Sequence[SmoothingSpline], values: FloatArray) -> float:
    """Noise std from the residuals of the splines, √(rss/(n − dof)); twice as sharp as the MAD's, and free of
    curvature.  Where a spline nearly interpolates (coloured noise, coarse sampling) the differences' floor."""
    n, dof, rss = (float(sum(getattr(s, name) for s in splines)) for name in ("n", "dof", "rss"))
    return float(np.sqrt(rss / (n - dof))) if dof < 0.5 * n else noise_floor(values)


def split_at_gaps(values: FloatArray, longest: int, shortest: int, record: int) -> list[Piece]:
    """Pieces of one record, cut where more than ``longest`` samples in a row are missing."""
    present = np.flatnonzero(~np.isnan(values))
    if not present.size:
        return []
    cuts = np.flatnonzero(np.diff(present) > longest + 1)
    starts = present[np.concatenate(([0], cuts + 1))]
    stops = present[np.concatenate((cuts, [present.size - 1]))] + 1
    return [Piece(record, int(a), int(b)) for a, b in zip(starts, stops, strict=True) if b - a >= shortest]


def stretches(values: FloatArray, dt: float, time: float, shortest: float, record: int = 0) -> list[Piece]:
    """What of a record can be used: pieces of at least ``shortest`` (in tc) between gaps longer than tc that vary."""
    fewest = max(FEWEST_SAMPLES, round(shortest * time / dt))
    pieces = split_at_gaps(values, max(1, round(time / dt)), fewest, record)
    return [p for p in pieces if np.nanmax(values[p.start : p.stop]) > np.nanmin(values[p.start : p.stop])]


def prepare(
    records: Sequence[Series],
    order: int,
    sigma: float | None = None,
    units: tuple[float, float] | None = None,
    shortest: float = SHORTEST_PIECE,
) -> Prepared:
    """Smooth, measure and scale one or several records of one system, sampled alike.

    ``sigma`` is the noise's std in the record's unit (default: estimated); ``units`` are the amplitude and time
    to scale by (default: the records' own std and tc); stretches below ``shortest`` (in tc) are not used.
    """
    dt = records[0].dt
    for i, record in enumerate(records):
        if not np.isclose(record.dt, dt, rtol=1e-6):
            raise InputError(
                f"The records must have one sampling interval. Got {dt:g} and, in record {i + 1}, {record.dt:g}."
            )
    degree = 2 * ((order + 1) // 2) + 1 if order > 3 else 5
    longest = max(range(len(records)), key=lambda i: records[i].n)
    time = units[1] if units else derivative_scale(smooth(filled(records[longest].values), dt, 5, "gcv"))[1]
    pieces: list[Piece] = []
    for i, record in enumerate(records):
        usable = stretches(record.values, dt, time, shortest, i)
        if not usable:
            which = f"record {i + 1}" if len(records) > 1 else "the record"
            raise Unsuitable(
                f"No stretch of {which} is longer than {shortest:g} characteristic times ({shortest * time:.3g} time "
                f"units) and {FEWEST_SAMPLES} samples: it is noise, too short, or too full of gaps."
            )
        pieces += usable
    parts = [records[p.record].values[p.start : p.stop] for p in pieces]
    every = np.concatenate(parts)
    clean = all(is_clean(s) for s in parts) if sigma is None else False
    splines = [smooth(filled(s), dt, degree, "interpolate" if clean else "gcv") for s in parts]
    if units is None:
        amplitude = float(np.std(np.concatenate([s.jets(0)[:, 0] for s in splines])))
        slopes = np.concatenate([s.jets(1)[4:-4, 1] for s in splines])
        time = amplitude / float(np.std(slopes))
    else:
        amplitude, time = units
    spacing = dt / time
    trim = max(4, round(0.5 / spacing))
    scales = amplitude / time ** np.arange(order)
    jets = Jets(
        np.concatenate([s.jets(order - 1) for s in splines]) / scales,
        tuple(s.size for s in parts),
        spacing,
        trim,
    )
    if sigma is None:
        sigma = noise_floor(every) if clean else residual_scale(splines, every)
    present = (~np.isnan(every)).astype(float)
    return Prepared(
        np.where(present > 0, every, 0.0) / amplitude,
        present,
        jets,
        max(sigma / amplitude, SMALLEST_SIGMA),
        clean,
        amplitude,
        time,
        tuple(pieces),
        max(splines, key=lambda s: s.n),
    )
