"""The step of a memory closure: dense records are averaged, sparse ones interpolated (docs/mathematics.md §7.2).

Means of ``averaging`` samples stand at the middle of their samples; between samples of a sparse record ``division`` − 1
points lie on an interpolating spline.  Missing samples are bridged by straight lines; what depends on a long bridge is
marked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline

from jetode.signal.scales import filled
from jetode.support.arrays import BoolArray, FloatArray
from jetode.support.compiled import kernel

FEWEST_FOR_QUINTIC = 8


@dataclass(frozen=True)
class Clock:
    """A step is ``averaging`` samples, or one of ``division`` parts of a sample (one of both is 1)."""

    averaging: int = 1
    division: int = 1

    @classmethod
    def of(cls, density: float, wanted: float) -> Clock:
        """About ``wanted`` steps per oscillation of ``density`` samples."""
        if density >= wanted:
            return cls(averaging=max(1, round(density / wanted)))
        return cls(division=max(1, round(wanted / density)))

    @property
    def step(self) -> float:
        """In samples."""
        return self.averaging / self.division

    @property
    def late(self) -> float:
        """Samples from the last point of :meth:`points` to the last sample."""
        return 0.5 * (self.averaging - 1)

    def points(self, values: FloatArray) -> FloatArray:
        """Complete values at the steps; the last belongs to the last sample, what is left over lies at the start."""
        if self.averaging > 1:
            count = values.size // self.averaging
            return values[values.size - count * self.averaging :].reshape(count, self.averaging).mean(axis=1)
        if self.division > 1:
            at = np.arange((values.size - 1) * self.division + 1) / self.division
            samples = np.arange(values.size)
            if values.size < FEWEST_FOR_QUINTIC:
                return np.asarray(CubicSpline(samples, values)(at))
            return np.asarray(make_interp_spline(samples, values, 5)(at))
        return values

    def times(self, count: int, samples: int) -> FloatArray:
        """Where ``count`` points of so many samples stand, in samples."""
        return (samples - 1 - self.late) - self.step * np.arange(count, dtype=np.float64)[::-1]

    def ahead(self, values: FloatArray, slopes: FloatArray, unit: float, steps: int, first: int = 0) -> FloatArray:
        """Rollouts at :attr:`pace` from the last point on, their slopes per ``unit`` of it → what stands ``first`` …
        ``steps`` samples after the last one."""
        if self.averaging == 1:
            return values[:, first : steps + 1]
        out = np.empty((values.shape[0], steps + 1 - first))
        _between(values, slopes, unit, self.late, self.averaging, first, out)
        return out

    def reach(self, steps: int) -> int:
        """Points of a rollout at :attr:`pace` that :meth:`ahead` needs after the first."""
        return steps if self.averaging == 1 else int((self.late + steps) / self.averaging) + 1

    @property
    def pace(self) -> int:
        """Steps from one point of a rollout to the next: the samples of a sparse record are enough."""
        return self.division


@kernel(error_model="numpy", _nrt=False)
def _between(
    values: FloatArray, slopes: FloatArray, unit: float, late: float, averaging: int, first: int, out: FloatArray
) -> None:
    """Hermite's cubics through the points of rollouts, at samples ``first`` … after the last."""
    for k in range(out.shape[1]):
        at = (late + (first + k)) / averaging
        left = int(np.floor(at))
        s = at - left
        for r in range(out.shape[0]):
            y0, y1 = values[r, left], values[r, left + 1]
            a = unit * slopes[r, left] - (y1 - y0)
            b = (y1 - y0) - unit * slopes[r, left + 1]
            out[r, k] = y0 + s * (y1 - y0) + s * (1 - s) * ((1 - s) * a + s * b)


def bridged(values: FloatArray, longest: float) -> tuple[FloatArray, BoolArray]:
    """Values with straight lines over what is missing, and where a bridge longer than ``longest`` samples is."""
    missing = np.isnan(values)
    if not missing.any():
        return values, missing
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]]).astype(np.int8)))
    far = np.zeros(values.size, dtype=np.bool_)
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        far[start:stop] = stop - start > longest or start == 0 or stop == values.size
    return filled(values), far
