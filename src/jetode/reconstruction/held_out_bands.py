"""Bands from held-out errors at each lead time (docs/mathematics.md (7.7)): honest under model error.

They are bands of the next samples, noise included, and hold whatever the model is, as long as the errors to come are
like those that were held out.  Of a record that fades or grows they are not: there errors go with a power b of the size
of the last oscillation, e ∝ A^b, which the held-out ones tell (1 where all shrinks alike, −1 under dry friction, 0
where an equation leaves only noise), those of the first oscillation or all, whichever makes the wider bands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jetode.integration.forecast import Forecast
from jetode.support.arrays import FloatArray

LEVELS = (0.9, 0.5)  # outer and inner
RUNNING = 0.5  # of the trials: where fewer still run, those that do are no example
SMOOTHED = 0.05  # of an oscillation over which the edges are averaged: single order statistics are ragged
STEEPEST = 2.0  # power of the size with which errors may go: what follows is extrapolated
WITHIN = 0.5  # oscillations about a lead whose errors say how much wider its band has to be: a few tell nothing
WIDEST = 4.0  # times the band of earlier errors: farther off, the trials say nothing about what comes
KEPT = 200  # lead times that are kept; edges between them are interpolated


@dataclass(frozen=True, eq=False)
class HeldOutBands:
    """Edges of the error (truth − forecast) at each of ``times`` after a start: (times, 4), outer lower and upper,
    inner lower and upper; beyond the last time they stay as they are there.

    In units of ``size``: 1, or A^``power`` with A the size of the last ``period`` samples before the start, where these
    are given.
    """

    times: FloatArray
    edges: FloatArray
    size: float = 1.0
    period: int = 0
    power: float = 1.0

    @classmethod
    def of(cls, errors: FloatArray, dt: float, period: float, independent: float = np.inf) -> HeldOutBands | None:
        """From held-out errors (starts, leads) in the record's units, the start itself first; NaN is a forecast that
        has ended: the band is that of forecasts that still run, and infinite where most have ended.  Where only so many
        starts are ``independent``, the band leaves out no more of them than it may of so few.

        None with too few of them to leave any out of a band.
        """
        if errors.shape[0] < 1.0 / (1.0 - LEVELS[1]):
            return None
        ordered = np.sort(errors, axis=0)  # NaN last
        n = np.isfinite(errors).sum(axis=0)
        ended = n < RUNNING * errors.shape[0]
        columns = []
        few = np.clip(independent, 1.0, np.maximum(n, 1))  # each of them stands for n / few
        for level in LEVELS:
            below = np.maximum(np.floor(0.5 * (1.0 - level) * (few + 1.0)) - 1.0, 0.0)
            cut = np.floor(below * n / few)
            ranks = cut + 1, n - cut
            for rank, beyond in zip(ranks, (-np.inf, np.inf), strict=True):
                edge = np.take_along_axis(ordered, np.maximum(rank - 1, 0).astype(np.int64)[None], axis=0)[0]
                columns.append(np.where(ended, beyond, edge))
        edges = _smoothed(np.stack(columns, axis=1), max(1, round(SMOOTHED * period)))
        every = max(1, -(-edges.shape[0] // KEPT))
        return cls(dt * every * np.arange(edges[::every].shape[0], dtype=np.float64), edges[::every])

    @classmethod
    def relative(
        cls, errors: FloatArray, sizes: FloatArray, now: float, dt: float, period: float
    ) -> HeldOutBands | None:
        """The same of a record that fades or grows: ``sizes`` before each start, and ``now`` at its end; starts in the
        order of time, so that the later half tells how much too narrow bands from an earlier one are."""
        first = errors[:, : max(2, round(period)) + 1]  # whose errors may go otherwise than all, which are mostly late
        fades = now < float(np.exp(np.mean(np.log(sizes))))
        power = (min if fades else max)(_power(first, sizes), _power(errors, sizes))  # nothing is taken to be easier
        scaled = errors / sizes[:, None] ** power
        found, half = cls.of(scaled, dt, period), errors.shape[0] // 2
        earlier = cls.of(scaled[:half], dt, period)
        if found is None or earlier is None:
            return None
        factors = _factors(scaled[half:], earlier, dt, period)
        wider = found.edges * np.interp(found.times, dt * np.arange(factors.size), factors)[:, None]
        return replace(found, edges=wider, size=now**power, period=max(2, round(period)), power=power)

    @property
    def longest(self) -> float:
        """How long the forecasts were whose errors these are."""
        return float(self.times[-1])

    def after(self, values: FloatArray) -> HeldOutBands:
        """The bands of a forecast from the end of ``values``."""
        recent = recent_size(values, self.period) if self.period else 0.0
        return replace(self, size=recent**self.power) if recent > 0 else self

    def around(self, forecast: Forecast) -> Forecast:
        """The forecast with its bands."""
        with np.errstate(invalid="ignore"):  # between a finite and an infinite edge
            low, high, inner_low, inner_high = (
                forecast.values + self.size * np.interp(forecast.t, self.times, edge) for edge in self.edges.T
            )
        return replace(forecast, lower=low, upper=high, inner_lower=inner_low, inner_upper=inner_high)

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite edges become null."""
        return {
            "times": self.times.tolist(),
            "edges": [[v if np.isfinite(v) else None for v in row] for row in self.edges.tolist()],
            "size": self.size,
            "period": self.period,
            "power": self.power,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HeldOutBands:
        """Inverse of :meth:`to_json`."""
        infinite = np.array([-np.inf, np.inf, -np.inf, np.inf])
        edges = np.array([[np.nan if v is None else float(v) for v in row] for row in data["edges"]]).reshape(-1, 4)
        whole = np.where(np.isnan(edges), infinite, edges)
        scale = float(data.get("size", 1.0)), int(data.get("period", 0)), float(data.get("power", 1.0))
        return cls(np.array(data["times"], dtype=np.float64), whole, *scale)


def _power(errors: FloatArray, sizes: FloatArray) -> float:
    """b of rms error ∝ size^b, by least squares over the starts; 0 where they do not tell."""
    rms = np.sqrt(np.mean(errors**2, axis=1))
    told = np.isfinite(rms) & (rms > 0)
    apart = np.log(sizes[told]) - np.mean(np.log(sizes[told])) if told.any() else np.zeros(0)
    if not np.sum(apart**2) > 0:
        return 0.0
    return float(np.clip(np.sum(apart * np.log(rms[told])) / np.sum(apart**2), -STEEPEST, STEEPEST))


def _factors(later: FloatArray, earlier: HeldOutBands, dt: float, period: float) -> FloatArray:
    """At each lead, what the bands of earlier errors have to be widened by to hold the share of later ones that they
    should, within half an oscillation of the lead; at least 1: what comes is not taken to be easier."""
    leads = dt * np.arange(later.shape[1])
    low, high = (np.interp(leads, earlier.times, edge) for edge in earlier.edges.T[:2])
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(later > 0, later / high, later / low)
    needed = np.where(np.isfinite(needed) & (needed >= 0), needed, np.inf)
    reach, count = max(1, round(WITHIN * period)), later.shape[1]
    parts = [
        np.quantile(needed[:, max(0, k - reach) : k + reach + 1], LEVELS[0], method="higher")
        for k in range(0, count, reach)
    ]
    wanted = np.clip(np.where(np.isfinite(parts), parts, WIDEST), 1.0, WIDEST)
    return np.interp(np.arange(count), np.arange(0, count, reach), wanted)


def recent_size(values: FloatArray, period: int) -> float:
    """Std of the last ``period`` samples that were measured."""
    seen = values[np.isfinite(values)][-period:]
    return float(np.std(seen))


def _smoothed(edges: FloatArray, width: int) -> FloatArray:
    """Running means over ``width`` leads, infinite where any is."""
    if width == 1:
        return edges
    padded = np.pad(edges, ((width // 2, (width - 1) // 2), (0, 0)), mode="edge")
    finite = np.where(np.isfinite(padded), padded, 0.0)
    sums = np.cumsum(np.concatenate([np.zeros((1, edges.shape[1])), finite]), axis=0)
    out = (sums[width:] - sums[:-width]) / width
    return np.where(np.isfinite(edges), out, edges)
