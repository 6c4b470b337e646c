"""Memories tried on a record (docs/mathematics.md §7.2–7.4): every degree and ridge of a memory from one Gram matrix,
each scored by rollouts into the folds that its coefficients have not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from jetode.equations.polynomials import Library
from jetode.integration.windowed_prediction_time import window_samples, windowed_rms
from jetode.memory.closure import MemoryClosure
from jetode.memory.ground import Ground
from jetode.memory.legendre import MemoryFilter
from jetode.memory.regression import Gram, Rows, gram
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Memory:
    """One (q, θ): Gram matrix and the states at the starts of every fold."""

    ground: Ground
    template: MemoryClosure
    gram: Gram
    starts: tuple[FloatArray, ...]

    def closure(self, terms: int, ridge: float, fold: int | None = None) -> MemoryClosure:
        """The closure with the first ``terms`` monomials, fitted to all rows but those of a fold."""
        coefficients = self.gram.solve(terms, ridge, fold)[:terms]
        return replace(self.template, exponents=self.gram.library.exponents[:terms], coefficients=coefficients)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting with its held-out forecasts (count, steps + 1) and the score of each of them, in oscillations."""

    memory: Memory
    terms: int
    ridge: float
    forecasts: FloatArray
    scores: FloatArray

    @property
    def failures(self) -> float:
        """Share of the forecasts that blew up."""
        return float(np.isnan(self.forecasts[:, -1]).mean())

    def closure(self, fold: int | None = None) -> MemoryClosure:
        """Fitted to everything, or to everything but a fold."""
        return replace(self.memory.closure(self.terms, self.ridge, fold), score=float(self.scores.mean()))


def highest_degree(q: int, rows: float, settings: MemorySettings) -> int:
    """The highest degree of P whose terms the rows determine, 0 where not even a linear one is."""
    allowed = min(settings.most_terms, rows / settings.rows_per_term)
    return max((d for d in range(1, settings.degree + 1) if comb(q + 1 + d, d) <= allowed), default=0)


def build(ground: Ground, q: int, theta: float, settings: MemorySettings) -> Memory | None:
    """The memory of ``theta`` oscillations in ``q`` coefficients; None where the records do not determine it."""
    if theta < settings.points_per_order * q * ground.step:
        return None
    span = theta / ground.step
    usable = [ground.usable(part, theta) for part in ground.parts]
    degree = highest_degree(q, sum(int(u.sum()) for u in usable), settings)
    if not degree:
        return None
    keep = MemoryFilter(q, span)
    states = [np.column_stack([part.points, keep(part.points)]) for part in ground.parts]
    library = Library.total_degree(q + 1, degree)
    rows = [Rows(s, u, ground.held(i, theta)) for i, (s, u) in enumerate(zip(states, usable, strict=True))]
    largest = max(float(np.abs(part.points).max()) for part in ground.parts)
    unit = ground.dt * ground.trials.period
    template = MemoryClosure(
        theta=theta * unit,
        step=ground.clock.step * ground.dt,
        period=unit,
        mean=ground.mean,
        spread=ground.spread,
        bound=settings.bound * largest,
        q=q,
        exponents=((0,) * (q + 1),),
        coefficients=np.zeros(1),
        past=settings.past,
    )
    starts = tuple(
        np.array([template.state(ground.records[f.record].values, end, ground.dt) for end in f.ends]).reshape(-1, q + 1)
        for f in ground.trials.folds
    )
    return Memory(ground, template, gram(rows, library, ground.step, settings.width), starts)


def candidates(memory: Memory, truth: FloatArray, settings: MemorySettings) -> list[Candidate]:
    """Every degree and ridge of a memory."""
    out = []
    for degree in range(1, max(map(sum, memory.gram.library.exponents)) + 1):
        for ridge in settings.ridges:
            forecasts = held_out(memory, memory.gram.terms(degree), ridge)
            scores = score(forecasts, truth, memory, settings)
            out.append(Candidate(memory, memory.gram.terms(degree), ridge, forecasts, scores))
    return out


def held_out(memory: Memory, terms: int, ridge: float) -> FloatArray:
    """Forecasts from the starts of every fold, by coefficients that have not seen it."""
    ground = memory.ground
    runs = [np.empty((0, ground.trials.steps + 1))]
    for fold, states in enumerate(memory.starts):
        if states.size:
            runs.append(memory.closure(terms, ridge, fold).ahead(states, ground.trials.steps, ground.dt))
    return np.concatenate(runs)


def score(forecasts: FloatArray, truth: FloatArray, memory: Memory, settings: MemorySettings) -> FloatArray:
    """Valid prediction times, averaged over the thresholds, of each forecast."""
    trials = memory.ground.trials
    width = min(window_samples(trials.period), truth.shape[1])
    worst = np.maximum.accumulate(windowed_rms((forecasts - truth) / trials.spread, width), axis=1)
    return np.mean([(worst <= t).sum(axis=1) for t in settings.thresholds], axis=0) / trials.period
