"""One latent flow: x_i' = P_i(x) in d coordinates, the first of which is recorded.

Inside, the signal is in std from the mean and time is in tc; hidden coordinates have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jetode.equations.equation import Equation, Readout
from jetode.integration.dop853 import integrate
from jetode.joint.shooting.gaussnewton import path_states
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray, IntArray
from latent_flow.descent import follow, problem
from latent_flow.gauge import degree_of, library, rows_of
from latent_flow.settings import SETTINGS

HIDDEN = ("y", "z", "w", "v", "u")


@dataclass(frozen=True, eq=False)
class LatentFlow:
    """Dimensionless ``terms``; the signal is ``mean`` + ``amplitude`` · x_0, time in units of ``time``; ``sigma``: the
    noise in units of the amplitude; ``atlas``: states along the record, ``spacing`` tc apart and NaN between pieces, in
    which first states are looked up."""

    terms: Terms
    mean: float
    amplitude: float
    time: float
    sigma: float
    atlas: FloatArray
    spacing: float

    @property
    def dimension(self) -> int:
        """Coordinates."""
        return self.terms.dimension

    @cached_property
    def scaled(self) -> Equation:
        """The dimensionless equation."""
        exponents = library(self.dimension, degree_of(self.terms)).exponents
        rows = tuple({e: float(c) for e, c in zip(exponents, row, strict=True) if c} for row in rows_of(self.terms))
        return Equation(rows, ("x", *HIDDEN[: self.dimension - 1]), 1, Readout(0, 1.0, 0.0))

    # -- following a record --------------------------------------------------------------------------

    def ahead(self, state: FloatArray, steps: int, spacing: float) -> FloatArray:
        """States from a dimensionless one on, as far as they go."""
        if not np.isfinite(state).all():
            return np.empty((0, self.dimension))
        run = integrate(
            self.scaled.field,
            state,
            steps + 1,
            spacing,
            rtol=SETTINGS.rtol,
            atol=np.full(state.size, SETTINGS.rtol),
            max_step=max(0.5, 5.0 * spacing),
            bound=np.full(state.size, SETTINGS.bound) + np.abs(state),
        )
        return np.asarray(run.states)

    def first_states(self, y: FloatArray, present: FloatArray, spacing: float) -> FloatArray:
        """States that may begin dimensionless samples: those of the atlas after which the signal went on most alike."""
        size = max(4, round(SETTINGS.snippet / self.spacing))
        if len(self.atlas) < 2 * size:
            return np.zeros((1, self.dimension))
        at = np.arange(size) * self.spacing / spacing
        seen = np.interp(at, np.flatnonzero(present > 0), y[present > 0])
        known = sliding_window_view(self.atlas[:, 0], size)
        off = np.sum((known - seen) ** 2, axis=1)
        out: list[int] = []
        for i in np.argsort(off, kind="stable").tolist():
            if len(out) == SETTINGS.analogues or not np.isfinite(off[i]):
                break
            if all(abs(i - j) > size // 2 for j in out):
                out.append(i)
        return self.atlas[out] if out else np.zeros((1, self.dimension))

    def trace(self, y: FloatArray, present: FloatArray, spacing: float, known: FloatArray) -> FloatArray:
        """States at all samples of a piece from those ``known`` at its beginning (one at least), part by part: a run
        ahead of the last part, then the path through both with the coefficients held."""
        count = max(2, round(SETTINGS.segment / spacing))
        path = known
        while len(path) < y.size:
            first, last = max(0, len(path) - 2 * count), min(y.size, len(path) + count)
            run = self.ahead(path[-1], last - len(path), spacing)[1:]
            run = np.concatenate([run, np.broadcast_to(path[-1], (last - len(path) - len(run), self.dimension))])
            begun = np.concatenate([path[first:], run])
            data = problem(
                y[first:last], present[first:last], (last - first,), spacing, max(self.sigma, SETTINGS.sigma)
            )
            fit = follow(data, self.terms, begun[data.layout.first], SETTINGS.follow)
            new = path_states(fit, data) if np.isfinite(fit.cost) else begun
            path = np.concatenate([path[:first], np.where(np.isfinite(new), new, begun)])
        return path

    def begun(self, y: FloatArray, present: FloatArray, spacing: float) -> list[FloatArray]:
        """First states of a piece, those that lead along its beginning most closely first."""
        head = slice(0, max(4, round(SETTINGS.segment / spacing)))
        seen = present[head] > 0
        misses = []
        for state in self.first_states(y, present, spacing):
            path = self.trace(y[head], present[head], spacing, state[None])
            misses.append((float(np.sum((path[seen, 0] - y[head][seen]) ** 2)), path[:1]))
        return [path for _, path in sorted(misses, key=lambda pair: pair[0])]

    def state(self, values: FloatArray, end: int, dt: float) -> FloatArray:
        """The dimensionless state at ``end`` from the samples up to it."""
        spacing = dt / self.time
        past = (values[max(0, end - round(SETTINGS.past / spacing)) : end + 1] - self.mean) / self.amplitude
        sound = np.flatnonzero(np.isfinite(past))
        if sound.size < 4:
            return np.full(self.dimension, np.nan)
        past = past[sound[0] :]
        present = np.isfinite(past).astype(float)
        y = np.where(present > 0, past, 0.0)
        data = problem(y, present, (y.size,), spacing, max(self.sigma, SETTINGS.sigma))
        best, least = np.full(self.dimension, np.nan), np.inf
        for first in self.begun(y, present, spacing)[: SETTINGS.followed]:
            path = self.trace(y, present, spacing, first)
            fit = follow(data, self.terms, path[data.layout.first], SETTINGS.settle)
            if fit.cost < least:
                best, least = fit.states[-1], fit.cost
        return np.asarray(best)

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int, dt: float) -> FloatArray:
        """From the samples up to each end, which is the first of (ends, steps + 1) values; NaN after a failure."""
        out = np.full((len(ends), steps + 1), np.nan)
        for row, end in zip(out, ends.tolist(), strict=True):
            run = self.ahead(self.state(values, end, dt), steps, dt / self.time)[:, 0]
            row[: run.size] = self.mean + self.amplitude * run
        return out
