"""Bands from held-out errors at each lead time (docs/mathematics.md (7.7)): honest under model error.

They are bands of the next samples, noise included, and hold whatever the model is, as long as the errors to come are
like those that were held out.  Of a record that fades or grows they are not, but in units of what it has just shown
they are: there the edges are relative to the size of the last oscillation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any

import numpy as np

from jetode.integration.forecast import Forecast
from jetode.support.arrays import FloatArray

LEVELS = (0.9, 0.5)  # outer and inner
SMOOTHED = 0.05  # of an oscillation over which the edges are averaged: single order statistics are ragged
KEPT = 200  # lead times that are kept; edges between them are interpolated


@dataclass(frozen=True, eq=False)
class HeldOutBands:
    """Edges of the error (truth − forecast) at each of ``times`` after a start: (times, 4), outer lower and upper,
    inner lower and upper; beyond the last time they stay as they are there.

    In units of ``size``: 1, or the size of the last ``period`` samples before the start where these are given.
    """

    times: FloatArray
    edges: FloatArray
    size: float = 1.0
    period: int = 0

    @classmethod
    def of(cls, errors: FloatArray, dt: float, period: float) -> HeldOutBands | None:
        """From held-out errors (starts, leads) in the record's units, the start itself first; NaN is a failed forecast.

        None with too few of them to leave any out of a band.
        """
        n = errors.shape[0]
        if n < 1.0 / (1.0 - LEVELS[1]):
            return None
        low = np.sort(np.where(np.isfinite(errors), errors, -np.inf), axis=0)
        high = np.sort(np.where(np.isfinite(errors), errors, np.inf), axis=0)
        columns = []
        for level in LEVELS:
            tail = 0.5 * (1.0 - level) * (n + 1)
            columns += [low[max(1, floor(tail)) - 1], high[min(n, ceil(n + 1 - tail)) - 1]]
        edges = _smoothed(np.stack(columns, axis=1), max(1, round(SMOOTHED * period)))
        every = max(1, -(-edges.shape[0] // KEPT))
        return cls(dt * every * np.arange(edges[::every].shape[0], dtype=np.float64), edges[::every])

    @classmethod
    def relative(
        cls, errors: FloatArray, sizes: FloatArray, now: float, dt: float, period: float
    ) -> HeldOutBands | None:
        """The same of a record that fades or grows: ``sizes`` before each start, and ``now`` at its end."""
        found = cls.of(errors / sizes[:, None], dt, period)
        return None if found is None else replace(found, size=now, period=max(2, round(period)))

    def after(self, values: FloatArray) -> HeldOutBands:
        """The bands of a forecast from the end of ``values``."""
        return replace(self, size=recent_size(values, self.period)) if self.period else self

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
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HeldOutBands:
        """Inverse of :meth:`to_json`."""
        infinite = np.array([-np.inf, np.inf, -np.inf, np.inf])
        edges = np.array([[np.nan if v is None else float(v) for v in row] for row in data["edges"]]).reshape(-1, 4)
        whole = np.where(np.isnan(edges), infinite, edges)
        return cls(np.array(data["times"], dtype=np.float64), whole, float(data["size"]), int(data["period"]))


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
