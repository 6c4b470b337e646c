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
from jetode.memory.regression import Gram, Stretch
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Memory:
    """One (q, θ): the records' states, those at the starts of every fold, and a closure that has no P yet."""

    ground: Ground
    template: MemoryClosure
    stretches: list[Stretch]
    starts: tuple[FloatArray, ...]
    degree: int  # of P at most


@dataclass(frozen=True, eq=False)
class Candidate:
    """A closure, the forecasts (count, steps + 1) of its twins without each fold, and their scores in oscillations."""

    memory: Memory
    closure: MemoryClosure
    forecasts: FloatArray
    scores: FloatArray

    @property
    def score(self) -> float:
        """Of all forecasts."""
        return float(self.scores.mean())


def highest_degree(q: int, rows: float, settings: MemorySettings) -> int:
    """The highest degree of P whose terms the rows determine, 0 where not even a linear one is."""
    allowed = min(settings.most_terms, rows / settings.rows_per_term)
    return max((d for d in range(1, settings.degree + 1) if comb(q + 1 + d, d) <= allowed), default=0)


def build(ground: Ground, q: int, theta: float, settings: MemorySettings) -> Memory | None:
    """The memory of ``theta`` oscillations in ``q`` coefficients; None where the records do not determine it."""
    if theta < settings.points_per_order * q * ground.step:
        return None
    usable = [ground.usable(part, theta) for part in ground.parts]
    degree = highest_degree(q, sum(int(u.sum()) for u in usable), settings)
    if not degree:
        return None
    keep = MemoryFilter(q, theta / ground.step)
    stretches = [
        Stretch(np.column_stack([part.points, keep(part.points)]), usable[i], ground.held(i, theta))
        for i, part in enumerate(ground.parts)
    ]
    unit = ground.dt * ground.trials.period
    template = MemoryClosure(
        q=q,
        theta=theta * unit,
        step=ground.clock.step * ground.dt,
        period=unit,
        mean=ground.mean,
        spread=ground.spread,
        exponents=(),
        coefficients=np.empty(0),
        bound=settings.bound * max(float(np.abs(part.points).max()) for part in ground.parts),
        past=settings.past,
    )
    starts = tuple(
        np.array([template.state(ground.records[f.record].values, end, ground.dt) for end in f.ends]).reshape(-1, q + 1)
        for f in ground.trials.folds
    )
    return Memory(ground, template, stretches, starts, degree)


def solved(
    memory: Memory, gram: Gram, chosen: IntArray, ridge: float, truth: FloatArray, settings: MemorySettings
) -> Candidate | None:
    """The regression on the chosen monomials with a ridge, and without each fold; None where it cannot be solved."""
    exponents = tuple(gram.exponents[i] for i in chosen)

    def closure(fold: int | None) -> MemoryClosure:
        return replace(memory.template, exponents=exponents, coefficients=gram.solve(chosen, ridge, fold))

    whole = closure(None)
    if not np.isfinite(whole.coefficients).all():
        return None
    trials = memory.ground.trials
    runs = [np.empty((0, trials.steps + 1))]
    for fold, states in enumerate(memory.starts):
        if states.size:
            runs.append(closure(fold).ahead(states, trials.steps, memory.ground.dt))
    forecasts = np.concatenate(runs)
    scores = score(forecasts, truth, memory.ground, settings)
    return Candidate(memory, replace(whole, score=float(scores.mean())), forecasts, scores)


def score(forecasts: FloatArray, truth: FloatArray, ground: Ground, settings: MemorySettings) -> FloatArray:
    """Valid prediction times, averaged over the thresholds, of each forecast."""
    trials = ground.trials
    width = min(window_samples(trials.period), truth.shape[1])
    worst = np.maximum.accumulate(windowed_rms((forecasts - truth) / trials.spread, width), axis=1)
    return np.asarray(np.mean([(worst <= t).sum(axis=1) for t in settings.thresholds], axis=0) / trials.period)


def library_of(memory: Memory) -> Library:
    """All monomials that a memory may use."""
    return Library.total_degree(memory.template.q + 1, memory.degree)
