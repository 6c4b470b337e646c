"""From records to the dimensionless problem of the joint fit (docs/mathematics.md §2, §4): units, gaps, noise, jets.

Amplitude is measured in units of the signal's std, time in units of tc = std(u0)/std(u1); nothing is shifted.
A gap longer than tc splits a record (a chaotic path cannot be carried across it), a shorter one is bridged by
the equation itself: its samples have weight 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from jetode.joint.jets import Jets
from jetode.joint.noise import PLAIN, Noise, heavy_tailed, robust_scale, student_weights
from jetode.joint.rails import Part, common_rails, without_long_runs
from jetode.joint.shooting.gaussnewton import Data
from jetode.joint.shooting.layout import RK4, RK8, make_layout
from jetode.records.series import Series
from jetode.signal.artefacts import UNLIMITED, Rails
from jetode.signal.colour import WHITE, Colour, coloured_scale, noise_colour, smoothing_weight
from jetode.signal.growth import EVEN, Growth, noise_growth
from jetode.signal.noise import is_clean, noise_floor
from jetode.signal.scales import Unsuitable, derivative_scale, filled
from jetode.signal.spline import SmoothingSpline, smooth
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

STEP = 0.06  # tc: Runge–Kutta step of the fit
KINK_STEP = 0.02  # tc: the same where an equation has kinks, which cost every method its order
FAST_STEP = 0.005  # tc: and where a rate is too fast for it: stable, h λ < 2.8, up to 550 per tc
NODE = 0.25  # tc: distance of nodes
CLEAN_STRIDE = 2.0  # steps: one of the 8th-order method used below CLEAN_SIGMA
CLEAN_STEP = CLEAN_STRIDE * STEP  # tc: its usual step
CLEAN_KINK_STEP = 0.005  # tc: of the 4th-order one where it has kinks: a step across one is wrong by h² in either
CLEAN_SIGMA = 5e-3  # of std: below it the integrator, not the noise, would limit a 4th-order fit
SHORTEST_PIECE = 8.0  # tc: shorter stretches between gaps are not used
LONGEST_RUN = 4.0  # tc: a longer clipped run is a gap; over a shorter one a bound on the signal keeps the path near it
UNEVEN = 5.0  # standard errors by which the log variance of a record's noise must differ from that of all together
COLOURED = 0.7  # of a given σ: a spline that leaves less has taken coloured noise for signal
OUTLIER = 5.0  # MAD-σ: samples beyond do not shape the spline
SPIKE = 0.2  # of std: a sample farther off its neighbours than this, and 8 MAD-σ, is no part of the signal
SPIKE_ROUNDS = 8
FEWEST_SAMPLES = 24  # in a stretch
SMALLEST_SIGMA = 1e-9  # of std: what rounding and the integrator leave of a clean record


Loss = Literal["gaussian", "student", "auto"]


@dataclass(frozen=True)
class Piece:
    """A stretch of one record without long gaps: samples ``start`` to ``stop`` (excluded) of ``record``."""

    record: int
    start: int
    stop: int


@dataclass(frozen=True)
class Prepared:
    """The dimensionless problem: samples ``y`` (0 where missing), how far each counts (``present``: 0 missing, 1 in
    full), jets, noise, units, pieces, the longest piece's spline, whether outliers have to be borne with (spikes were
    left out, or the loss is robust), which samples are on the ``rails`` (in the record's unit) and one-sided, and the
    ``step`` of the integrator; ``kinked``: whether what it integrates has kinks; ``noise``: what is known of it, whose
    std is ``sigma`` whatever it is."""

    y: FloatArray
    present: FloatArray
    jets: Jets
    sigma: float
    clean: bool
    amplitude: float
    time: float
    pieces: tuple[Piece, ...]
    spline: SmoothingSpline
    robust: bool
    side: FloatArray | None = None
    rails: Rails = UNLIMITED
    step: float = STEP
    kinked: bool = False
    noise: Noise = PLAIN

    @property
    def colour(self) -> Colour:
        """Of the noise."""
        return self.noise.colour

    @property
    def slow_sigma(self) -> float:
        """The noise of what averages many samples, as the std of white noise that would do the same."""
        return self.sigma * self.colour.slow

    @property
    def n_samples(self) -> int:
        """Samples that are there, without one-sided ones."""
        return int(np.count_nonzero(self.present if self.side is None else self.present[self.side == 0.0]))

    @property
    def duration(self) -> float:
        """Length in tc."""
        return self.y.size * self.jets.spacing

    def data(self, sigma: float, samples: int | None = None, step: float | None = None, node: float = NODE) -> Data:
        """The shooting problem at noise level ``sigma`` (in std), on the first ``samples`` samples; ``step``: of the
        integrator, unless the record's own is wanted."""
        jets = self.jets if samples is None else self.jets.head(samples)
        n = jets.u.shape[0]
        fine = sigma * self.colour.innovation < CLEAN_SIGMA
        between = not fine and jets.u.shape[1] > 2  # Hermite needs u1 among the states
        length = (CLEAN_KINK_STEP if self.kinked else CLEAN_STRIDE * self.step) if fine else step or self.step
        layout = make_layout(jets.lengths, jets.spacing, length, node, interpolate=between)
        weight = self.present[:n] / sigma**2
        side = None if self.side is None else self.side[:n]
        tableau = RK8 if fine and not self.kinked else RK4
        if self.colour == WHITE:
            return Data(self.y[:n], weight, layout, tableau, side=side)
        colour = self.colour.correlations(weight, jets.lengths)
        weight /= 1.0 - np.maximum(colour, 0.0) ** 2
        return Data(self.y[:n], weight, layout, tableau, colour=colour)

    def without_head(self, samples: int) -> Prepared:
        """The problem without its first ``samples`` samples (pieces that end there are left out)."""
        pieces: list[Piece] = []
        lengths: list[int] = []
        passed = 0
        for piece, length in zip(self.pieces, self.jets.lengths, strict=True):
            cut = min(max(samples - passed, 0), length)
            passed += length
            if length - cut >= FEWEST_SAMPLES:
                pieces.append(replace(piece, start=piece.start + cut))
                lengths.append(length - cut)
        keep = sum(lengths)
        jets = Jets(self.jets.u[-keep:], tuple(lengths), self.jets.spacing, self.jets.trim)
        side = None if self.side is None else self.side[-keep:]
        rest = replace(self, y=self.y[-keep:], present=self.present[-keep:], side=side)
        return replace(rest, jets=jets, pieces=tuple(pieces))


def residuals(splines: Sequence[SmoothingSpline], parts: Sequence[FloatArray]) -> list[FloatArray]:
    """Samples minus their splines (NaN where missing)."""
    return [p - s.jets(0)[:, 0] for s, p in zip(splines, parts, strict=True)]


def residual_scale(
    splines: Sequence[SmoothingSpline], parts: Sequence[FloatArray], weights: Sequence[FloatArray]
) -> float:
    """Noise std from the (weighted) residuals of the splines, √(rss/(n − dof)); twice as sharp as the MAD's, and free
    of curvature.  Where a spline nearly interpolates (coloured noise, coarse sampling) the differences' floor."""
    n = float(sum(np.count_nonzero(w) for w in weights))
    dof = float(sum(s.dof for s in splines))
    rss = float(sum(np.nansum(w * r**2) for w, r in zip(weights, residuals(splines, parts), strict=True)))
    return float(np.sqrt(rss / (n - dof))) if dof < 0.5 * n else noise_floor(np.concatenate(parts))


def without_spikes(values: FloatArray) -> FloatArray:
    """Single samples far off the cubic through their four neighbours, far beyond what noise or curvature puts
    there, count as missing; the largest first, so that a spike does not take its neighbours along."""
    values = values.copy()
    limit = SPIKE * float(np.nanstd(values))
    for _ in range(SPIKE_ROUNDS):
        line = filled(values)
        off = np.zeros_like(line)
        off[2:-2] = line[2:-2] - (4.0 * (line[1:-3] + line[3:-1]) - line[:-4] - line[4:]) / 6.0
        size = np.abs(off)
        highest = np.max([np.roll(size, k) for k in (-2, -1, 1, 2)], axis=0)
        far = (size > max(limit, OUTLIER * robust_scale([off]) * 1.6)) & (size >= highest)
        if not far.any():
            break
        values[far] = np.nan
    return values


def without_outliers(spline: SmoothingSpline, part: FloatArray, dt: float, degree: int) -> SmoothingSpline:
    """Smoothed again, twice, with samples beyond OUTLIER MAD-σ laid on the last spline."""
    for _ in range(2):
        curve = spline.jets(0)[:, 0]
        left = part - curve
        far = np.abs(left) > OUTLIER * robust_scale([left])
        spline = smooth(filled(np.where(far, curve, part)), dt, degree, "gcv")
    return spline


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


def _common_step(records: Sequence[Series]) -> float:
    dt = records[0].dt
    for i, record in enumerate(records):
        if not np.isclose(record.dt, dt, rtol=1e-6):
            raise InputError(
                f"The records must have one sampling interval. Got {dt:g} and, in record {i + 1}, {record.dt:g}."
            )
    return dt


def _usable(records: Sequence[Series], time: float, shortest: float) -> list[Piece]:
    """The stretches of all records; each has to have one."""
    pieces: list[Piece] = []
    for i, record in enumerate(records):
        usable = stretches(record.values, records[0].dt, time, shortest, i)
        if not usable:
            which = f"record {i + 1}" if len(records) > 1 else "the record"
            raise Unsuitable(
                f"No stretch of {which} is longer than {shortest:g} characteristic times ({shortest * time:.3g} time "
                f"units) and {FEWEST_SAMPLES} samples: it is noise, too short, or too full of gaps."
            )
        pieces += usable
    return pieces


def _parts(records: Sequence[Series], pieces: Sequence[Piece], limits: Rails, loss: Loss) -> tuple[list[Part], bool]:
    """The samples of the pieces, without spikes unless the noise is said to be Gaussian; whether there were any."""
    given = [Part.of(records[p.record].values[p.start : p.stop], limits) for p in pieces]
    if loss == "gaussian":
        return given, False
    kept = [part.without(without_spikes(part.seen)) for part in given]
    return kept, sum(part.n_seen for part in kept) < sum(part.n_seen for part in given)


def _smoothed(
    given: Sequence[Part], dt: float, degree: int, clean: bool, sigma: float | None, loss: Loss
) -> tuple[list[SmoothingSpline], list[FloatArray], bool]:
    """Splines of the parts, weights of their samples, and whether heavy tails made these other than 0 and 1."""
    parts, laid = [part.seen for part in given], [part.laid for part in given]
    splines = [smooth(filled(s), dt, degree, "interpolate" if clean else "gcv") for s in laid]
    weights = [(~np.isnan(s)).astype(float) for s in parts]
    if sigma is not None and residual_scale(splines, parts, weights) < COLOURED * sigma:
        splines = [smooth(filled(s), dt, degree, "residual", sigma=sigma) for s in laid]
    robust = not clean and (loss == "student" or (loss == "auto" and heavy_tailed(residuals(splines, parts))))
    if robust:
        splines = [without_outliers(s, p, dt, degree) for s, p in zip(splines, laid, strict=True)]
        weights = student_weights(residuals(splines, parts))
    return splines, weights, robust


def _by_record(
    splines: Sequence[SmoothingSpline], seen: Sequence[FloatArray], weights: list[FloatArray], pieces: Sequence[Piece]
) -> list[FloatArray]:
    """The weights with each record's by its own noise, where that clearly differs between records: a gain that was set
    anew, or noise that goes with the size.  In all they weigh as before."""
    owners = [piece.record for piece in pieces]
    if len(set(owners)) < 2:
        return weights

    def of(record: int | None) -> tuple[float, int]:
        chosen = [i for i, owner in enumerate(owners) if record is None or owner == record]
        mine = [weights[i] for i in chosen]
        scale = residual_scale([splines[i] for i in chosen], [seen[i] for i in chosen], mine)
        return scale, sum(map(np.count_nonzero, mine))

    common, own = of(None)[0], {record: of(record) for record in dict.fromkeys(owners)}
    ratios = {record: (scale / common) ** 2 for record, (scale, _) in own.items()}
    if not common > 0.0 or any(not 0.0 < ratio < np.inf for ratio in ratios.values()):
        return weights
    if not any(abs(np.log(ratios[r])) > UNEVEN * np.sqrt(2.0 / own[r][1]) for r in own):
        return weights
    return [w / ratios[owner] for w, owner in zip(weights, owners, strict=True)]


def _known_of(sigma: float | None, loss: Loss, special: bool) -> Noise | None:
    """That it is plain, of a record that is clean or clipped or of whose noise something is said; else nothing."""
    return PLAIN if sigma is not None or loss == "student" or special else None


_Measured = tuple[list[SmoothingSpline], list[FloatArray], bool, float, Noise]


def _measured(
    given: Sequence[Part],
    pieces: Sequence[Piece],
    dt: float,
    degree: int,
    clean: bool,
    sigma: float | None,
    loss: Loss,
    noise: Noise | None,
) -> _Measured:
    """Splines of the parts, weights of their samples, whether heavy tails made these other than 0 and 1, the noise's
    std, as it was given or by what it shows of itself, and what else is known of it (None: found)."""
    seen = [part.seen for part in given]
    colour = noise_colour(seen) if noise is None else noise.colour
    if colour != WHITE:
        return _smoothed_under(colour, sigma or coloured_scale(seen, colour), given, dt, degree)
    splines, weights, robust = _smoothed(given, dt, degree, clean, sigma, loss)
    growth = noise.growth if noise else EVEN if loss == "gaussian" else None
    if growth != EVEN:
        even = _smoothed(given, dt, degree, clean, sigma, "gaussian")[:2]
        grown, growth = _growing(*even, seen, growth)
        splines, weights, robust = (even[0], grown, False) if growth != EVEN else (splines, weights, robust)
    if clean:
        sigma = noise_floor(np.concatenate(seen))
    elif sigma is None:
        weights = _by_record(splines, seen, weights, pieces)
        sigma = residual_scale(splines, seen, weights)
    return splines, weights, robust, sigma, Noise(growth=growth)


def _smoothed_under(colour: Colour, sigma: float, given: Sequence[Part], dt: float, degree: int) -> _Measured:
    """The same under noise of a known colour, which cross-validation would take for signal."""
    laid = [filled(part.laid) for part in given]
    chosen = [smoothing_weight(s, colour, sigma, (degree + 1) // 2) * dt**degree for s in laid]
    splines = [smooth(s, dt, degree, "weight", weight=weight) for s, weight in zip(laid, chosen, strict=True)]
    return splines, [(~np.isnan(part.seen)).astype(float) for part in given], False, sigma, Noise(colour)


def _growing(
    splines: Sequence[SmoothingSpline], weights: list[FloatArray], seen: Sequence[FloatArray], growth: Growth | None
) -> tuple[list[FloatArray], Growth]:
    """Weights of noise that grows with the signal as is known, or as what the splines leave does unless that has heavy
    tails whatever the size; and how it grows."""
    signals, left = [s.jets(0)[:, 0] for s in splines], residuals(splines, seen)
    found = growth or noise_growth(np.concatenate(signals), np.concatenate(left))
    sizes = [found.weights(s) for s in signals]
    if growth is None and heavy_tailed([r * np.sqrt(w) for r, w in zip(left, sizes, strict=True)]):
        return weights, EVEN
    return [w * size for w, size in zip(weights, sizes, strict=True)], found


def _own_units(splines: Sequence[SmoothingSpline]) -> tuple[float, float]:
    """The std of the smoothed records, and their tc = std(u0)/std(u1)."""
    amplitude = float(np.std(np.concatenate([s.jets(0)[:, 0] for s in splines])))
    slopes = np.concatenate([s.jets(1)[4:-4, 1] for s in splines])
    return amplitude, amplitude / float(np.std(slopes))


def _jets(splines: Sequence[SmoothingSpline], order: int, dt: float, units: tuple[float, float]) -> Jets:
    """The jets of the smoothed parts in ``units`` of amplitude and time."""
    amplitude, time = units
    spacing, scales = dt / time, amplitude / time ** np.arange(order)
    u = np.concatenate([s.jets(order - 1) for s in splines]) / scales
    return Jets(u, tuple(s.n for s in splines), spacing, max(4, round(0.5 / spacing)))


def prepare(
    records: Sequence[Series],
    order: int,
    sigma: float | None = None,
    units: tuple[float, float] | None = None,
    shortest: float = SHORTEST_PIECE,
    loss: Loss = "gaussian",
    rails: Rails | None = None,
    noise: Noise | None = None,
) -> Prepared:
    """Smooth, measure and scale one or several records of one system, sampled alike.

    ``sigma`` is the noise's std in the record's unit (default: estimated); ``units`` are the amplitude and time
    to scale by (default: the records' own std and tc); stretches below ``shortest`` (in tc) are not used.
    ``loss``: "student" weighs samples by how far they lie from the smoothed record, for heavy tails and outliers;
    "auto" does so where more samples lie beyond four MAD-σ than Gaussian noise would put there.  ``rails``: limits in
    the record's unit at which samples are one-sided (default: where the records are clipped).  ``noise``: what is
    known of it (default: found, and nothing special where ``sigma`` or another loss is given, or samples are clipped).
    """
    dt = _common_step(records)
    limits = common_rails(records) if rails is None else rails
    degree = 2 * ((order + 1) // 2) + 1 if order > 3 else 5
    longest = max(range(len(records)), key=lambda i: records[i].n)
    time = units[1] if units else derivative_scale(smooth(filled(records[longest].values), dt, 5, "gcv"))[1]
    records = without_long_runs(records, limits, round(LONGEST_RUN * time / dt))
    pieces = _usable(records, time, shortest)
    parts, spiked = _parts(records, pieces, limits, loss)
    seen, side = [part.seen for part in parts], np.concatenate([part.side for part in parts])
    clipped = bool(side.any())
    clean = sigma is None and not clipped and all(map(is_clean, seen))
    known = noise or _known_of(sigma, loss, clean or clipped)
    splines, weights, robust, sigma, noise = _measured(parts, pieces, dt, degree, clean, sigma, loss, known)
    present = np.where(side != 0.0, 1.0, np.concatenate(weights))
    amplitude, time = units or _own_units(splines)
    return Prepared(
        np.where(present > 0, np.concatenate([part.told for part in parts]), 0.0) / amplitude,
        present,
        _jets(splines, order, dt, (amplitude, time)),
        max(sigma / amplitude, SMALLEST_SIGMA),
        clean,
        amplitude,
        time,
        tuple(pieces),
        max(splines, key=lambda s: s.n),
        robust or spiked,
        side if clipped else None,
        limits if clipped else UNLIMITED,
        noise=noise,
    )
