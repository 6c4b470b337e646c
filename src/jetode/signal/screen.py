"""Can anything be found in this record?  The future on the recent past, by a linear and by a cubic regression.

Over the last oscillation, or the last third of one, the record is described by its Legendre coefficients z_0 … z_{q−1}
(an average over the window each, so that noise is averaged too); the signal a share h of an oscillation ahead is
regressed on (1, z) and on all monomials of z up to degree 3 (docs/mathematics.md (6.3); Barahona and Poon, Nature 381,
1996).  Blocks of the record are predicted from the others.  A linear process, whatever its spectrum, gains nothing from
the cubic terms; a deterministic one does, or is predicted by the linear terms alone (sine, torus, linear decay).

With few oscillations such a regression has no power.  There the smoothing spline tells: of a smooth signal under white
noise it needs few degrees of freedom; a process driven by noise at every step (AR, random walk) has no scale on which
it is smooth, and takes nearly half as many as there are samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander

from jetode.equations.polynomials import Library, total_degree_exponents
from jetode.records.series import Series
from jetode.signal.noise import is_clean
from jetode.signal.oscillations import count_oscillations
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class ScreenSettings:
    """Numbers of the screen, each with its reason."""

    coordinates: int = 5  # enough for a hyperchaotic channel, few enough (56 cubic terms) for 500 points
    degree: int = 3  # a channel with u → −u symmetry has no even terms
    leads: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)  # oscillations; chaos is lost at the last, slow noise at the first
    windows: tuple[float, ...] = (1.0, 0.3)  # oscillations; a channel with a slow part moves fast within its long ones
    ridge: float = 1e-3  # of a feature's variance: conditions the cubic terms and costs no bias at unit variance
    blocks: int = 20  # scores per record, whose scatter gives the standard error
    folds: int = 5  # blocks are predicted from the other four fifths
    points: int = 6000  # regressed at most: more change no decision
    per_oscillation: int = 20  # points taken per oscillation: nearer ones repeat each other
    shortest: float = 6.0  # samples per oscillation: the window must hold more samples than coordinates
    averaged: float = 0.05  # of an oscillation: length over which the future is averaged, against its noise
    clearly: float = 3.5  # standard errors: linear noise stays below 0 in all but a few records in a thousand
    predicted: float = 0.5  # of the std, one oscillation ahead: below it the linear terms alone predict
    fewest_oscillations: float = 40.0  # from here on the regression alone decides: 20 blocks of two oscillations
    rough: float = 0.3  # degrees of freedom per sample: AR and random walks take 0.42–0.66, smooth signals below 0.2
    dense: float = 12.0  # samples per oscillation from which on a smooth signal does not need that many
    surely: float = 0.1  # of the std: a rough record that is predicted to less than this is a quantised smooth one
    nothing: float = 3.0  # noise over signal: beyond, smoothing has left nothing
    worst: float = 2.0  # std: a larger miss counts as this one, so that one outlier does not decide


DEFAULT = ScreenSettings()


@dataclass(frozen=True)
class Screen:
    """Rms errors at each lead (in oscillations), in std of what is predicted, and the gain of the cubic terms in
    standard errors; ``period`` in samples; ``noise`` over the smoothed signal, ``roughness`` in degrees of freedom of
    the spline per sample."""

    period: float
    oscillations: float
    noise: float
    roughness: float
    leads: tuple[float, ...]
    linear: tuple[float, ...]
    cubic: tuple[float, ...]
    gains: tuple[float, ...]
    nonlinear: bool
    predicted: bool
    hopeless: bool

    def sentence(self) -> str:
        """What the screen saw, in words."""
        if self.hopeless and self.noise > 1.0:
            return "After smoothing nothing is left of it: it is noise, or sampled too coarsely."
        if self.hopeless:
            return (
                f"One oscillation ahead nothing predicts it better than to {min(self.linear[-1], 1.0):.2f} std, and "
                "noise with the same spectrum would look the same."
            )
        if self.nonlinear:
            return "Its recent past tells more about its future than linear noise would allow."
        if self.predicted:
            return f"A linear rule predicts it one oscillation ahead to {self.linear[-1]:.2f} std."
        return "It is smooth, but too short to tell whether its past determines its future."

    def to_json(self) -> dict[str, Any]:
        """Plain data with what it means."""
        return asdict(self) | {"sentence": self.sentence()}


def screen(records: Sequence[Series], settings: ScreenSettings = DEFAULT) -> Screen | None:
    """Screen one or several records of one system by their longest complete stretches; None where they are too short
    to tell."""
    stretches = [record.longest_stretch().values for record in records]
    middle, spread = float(np.mean(np.concatenate(stretches))), float(np.std(np.concatenate(stretches)))
    if not spread > 0:
        return None
    parts = [(values - middle) / spread for values in stretches]
    smoothed = _smoothed(parts)
    period = max(min(smoothed.period, max(map(len, parts)) / settings.blocks), settings.shortest)
    seen: list[tuple[tuple[float, float, float], ...]] = []
    for share in settings.windows:
        columns = _regressed(parts, max(settings.coordinates + 1, round(share * period)), period, settings)
        if columns is None:
            return None
        seen.append(columns)
        if max(gain for *_, gain in columns) > settings.clearly:
            break
    best = [(min(e), min(c), max(g)) for e, c, g in (zip(*at, strict=True) for at in zip(*seen, strict=True))]
    left, kept, gains = (tuple(float(one[i]) for one in best) for i in range(3))
    nonlinear, predicted = max(gains) > settings.clearly, left[-1] < settings.predicted
    hopeless = not nonlinear and not smoothed.clean and _is_noise(smoothed, left[-1], settings)
    return Screen(
        smoothed.period, smoothed.oscillations, smoothed.noise, smoothed.roughness, settings.leads, left, kept, gains,
        nonlinear, predicted, hopeless,
    )  # fmt: skip


def _regressed(
    parts: list[FloatArray], window: int, period: float, settings: ScreenSettings
) -> tuple[tuple[float, float, float], ...] | None:
    """Errors of the linear and the cubic rule and the gain of the latter at each lead; None where there are too few
    samples."""
    inputs, ends = _inputs(parts, window, period, settings)
    features = total_degree_exponents(settings.coordinates, settings.degree)
    if inputs.shape[0] < 4 * len(features):
        return None
    z = _whitened(inputs)
    dimension = z.shape[1]
    cubic = Library(tuple(total_degree_exponents(dimension, settings.degree)), dimension).evaluate(z)
    linear = np.column_stack([np.ones(z.shape[0]), z])
    block = (np.arange(z.shape[0]) * settings.blocks) // z.shape[0]
    guard = _guards(ends, block, window, period, settings)
    columns = []
    for lead in settings.leads:
        target = _target(parts, ends, max(1, round(lead * period)), period, settings)
        columns.append(_compare(linear, cubic, target / (np.std(target) or 1.0), block, guard, settings))
    return tuple(columns)


@dataclass(frozen=True)
class _Smoothed:
    """What the smoothing spline of the longest stretch says."""

    period: float
    oscillations: float
    noise: float
    roughness: float
    clean: bool


def _smoothed(parts: list[FloatArray]) -> _Smoothed:
    longest = max(parts, key=len)
    spline = smooth(longest, 1.0, 5, "gcv")
    signal = spline.jets(0)[:, 0]
    oscillations = count_oscillations(signal)
    noise = float(np.sqrt(spline.rss / max(longest.size - spline.dof, 1.0)))
    return _Smoothed(
        longest.size / max(oscillations, 1.0),
        oscillations,
        noise / max(float(np.std(signal)), 1e-12),
        spline.dof / longest.size,
        is_clean(longest),
    )


def _is_noise(smoothed: _Smoothed, error: float, settings: ScreenSettings) -> bool:
    """Whether a record that is no more than linear could be noise; ``error``: of the linear rule at the last lead."""
    rough = smoothed.roughness > settings.rough and smoothed.period > settings.dense and error > settings.surely
    unpredicted = smoothed.oscillations >= settings.fewest_oscillations and not error < settings.predicted
    return rough or unpredicted or smoothed.noise > settings.nothing


def _inputs(
    parts: list[FloatArray], window: int, period: float, settings: ScreenSettings
) -> tuple[FloatArray, list[IntArray]]:
    """Legendre coefficients of the window that ends at each chosen sample, and these samples, by stretch."""
    weights = legvander(np.linspace(1.0, -1.0, window), settings.coordinates - 1) / window  # newest sample first
    ahead = round(max(settings.leads) * period) + round(settings.averaged * period) + 1
    step = max(1, int(period / settings.per_oscillation))
    room = sum(max(0, part.size - ahead - window + 1) for part in parts)
    step = max(step, -(-room // settings.points))
    ends = [np.arange(window - 1, part.size - ahead, step, dtype=np.int64) for part in parts]
    rows = [
        np.stack([np.convolve(part, w, "valid")[at - window + 1] for w in weights.T], axis=1)
        for part, at in zip(parts, ends, strict=True)
        if at.size
    ]
    return np.concatenate(rows) if rows else np.empty((0, settings.coordinates)), ends


def _whitened(inputs: FloatArray) -> FloatArray:
    """The inputs as uncorrelated coordinates of unit variance; directions that hold nothing are left out."""
    u, size, _ = np.linalg.svd(inputs - inputs.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(u[:, size > 1e-6 * size[0]] * np.sqrt(inputs.shape[0]))


def _target(
    parts: list[FloatArray], ends: list[IntArray], steps: int, period: float, settings: ScreenSettings
) -> FloatArray:
    """The signal ``steps`` samples after each end, averaged over a short window around it."""
    width = max(1, round(settings.averaged * period))
    box = np.full(width, 1.0 / width)
    return np.concatenate(
        [np.convolve(part, box, "valid")[at + steps - width // 2] for part, at in zip(parts, ends, strict=True)]
    )


def _guards(
    ends: list[IntArray], block: IntArray, window: int, period: float, settings: ScreenSettings
) -> list[tuple[FloatArray, FloatArray]]:
    """(fitted, tested) masks of each fold; fitted samples keep clear of the tested blocks by window and lead."""
    clear = window + round(max(settings.leads) * period)
    offsets = np.cumsum([0, *(int(at[-1]) + 2 * clear if at.size else 0 for at in ends[:-1])])
    time = np.concatenate([at + offset for at, offset in zip(ends, offsets, strict=True)])
    out = []
    for fold in range(settings.folds):
        tested = block % settings.folds == fold
        near = np.searchsorted(time[tested], time)
        held = time[tested]
        distance = np.minimum(
            np.abs(time - held[np.minimum(near, held.size - 1)]), np.abs(time - held[np.maximum(near - 1, 0)])
        )
        out.append(((distance > clear // 2).astype(np.float64), tested.astype(np.float64)))
    return out


def _compare(
    linear: FloatArray,
    cubic: FloatArray,
    target: FloatArray,
    block: IntArray,
    folds: list[tuple[FloatArray, FloatArray]],
    settings: ScreenSettings,
) -> tuple[float, float, float]:
    """(linear error, cubic error, gain of the cubic terms in standard errors over the blocks' scores)."""
    means = []
    for features in (linear, cubic):
        left = np.zeros_like(target)
        for fitted, tested in folds:
            weighted = features * fitted[:, None]
            ridge = np.full(features.shape[1], settings.ridge * max(fitted.sum(), 1.0))
            ridge[0] = 1e-9
            solution = np.linalg.solve(weighted.T @ features + np.diag(ridge), weighted.T @ target)
            left += tested * (features @ solution - target)
        squares = np.minimum(left**2, settings.worst**2)
        means.append(np.bincount(block, squares, settings.blocks) / np.bincount(block, minlength=settings.blocks))
    ratio = np.log(np.maximum(means[0], 1e-300) / np.maximum(means[1], 1e-300))
    scatter = float(np.std(ratio, ddof=1)) / np.sqrt(settings.blocks)
    gain = float(np.mean(ratio)) / scatter if scatter > 0 else 0.0
    return float(np.sqrt(np.mean(means[0]))), float(np.sqrt(np.mean(means[1]))), gain
