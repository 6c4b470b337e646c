"""Memories tried on a record (docs/mathematics.md §7.2–7.4): every degree and ridge of a memory from one Gram matrix,
each scored by rollouts into the folds that its coefficients have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np

from jetode.equations.polynomials import Exponents, Library
from jetode.memory.closure import MemoryClosure
from jetode.memory.ground import Ground
from jetode.memory.legendre import MemoryFilter
from jetode.memory.regression import Stretch
from jetode.memory.scoring import held_out_scores
from jetode.memory.settings import MemorySettings
from jetode.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Memory:
    """One (q, θ): the records' states, those at the starts of every fold, and a closure that has no P yet."""

    ground: Ground
    template: MemoryClosure
    stretches: list[Stretch]
    starts: tuple[FloatArray, ...]
    degree: int  # of P at most

    @property
    def folds(self) -> list[int]:
        """Those that have starts."""
        return [fold for fold, states in enumerate(self.starts) if states.size]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A set of monomials of P in a memory, its coefficients without each fold that has starts, and the score of every
    forecast into its fold, in oscillations.

    ``recipe`` is the length of the rollouts (0: one step) and the ridge of every pass that led there.
    """

    memory: Memory
    exponents: tuple[Exponents, ...]
    recipe: tuple[tuple[float, float], ...]
    coefficients: dict[int, FloatArray]
    scores: FloatArray

    @property
    def score(self) -> float:
        """Of all forecasts."""
        return float(self.scores.mean())

    @property
    def n_terms(self) -> int:
        """Coefficients of P."""
        return len(self.exponents)

    @cached_property
    def forecasts(self) -> FloatArray:
        """(count, steps + 1) values into the folds, in the order of the trials."""
        memory = self.memory
        steps, dt = memory.ground.trials.steps, memory.ground.dt
        return np.concatenate([self.without(f).ahead(memory.starts[f], steps, dt) for f in memory.folds])

    def without(self, fold: int) -> MemoryClosure:
        """The closure that has not seen a fold."""
        return replace(self.memory.template, exponents=self.exponents, coefficients=self.coefficients[fold])


def highest_degree(q: int, rows: float, most: int, settings: MemorySettings) -> int:
    """The highest degree of P with ``most`` terms that the rows determine, 0 where not even a linear one is."""
    allowed = min(most, rows / settings.rows_per_term)
    return max((d for d in range(1, settings.degree + 1) if comb(q + 1 + d, d) <= allowed), default=0)


def build(ground: Ground, q: int, theta: float, settings: MemorySettings, wanted: int = 0) -> Memory | None:
    """The memory of ``theta`` oscillations in ``q`` coefficients; None where the records do not determine it, or no P
    of the ``wanted`` degree in it, which may then have a few terms more than others."""
    if theta < settings.points_per_order * q * ground.step:
        return None
    usable = [ground.usable(part, theta) for part in ground.parts]
    most = settings.most_beside if wanted else settings.most_terms
    degree = highest_degree(q, sum(int(u.sum()) for u in usable), most, settings)
    if degree < max(wanted, 1):
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
    return Memory(ground, template, stretches, starts, wanted or degree)


def candidates(
    memory: Memory,
    exponents: tuple[Exponents, ...],
    recipes: Sequence[tuple[tuple[float, float], ...]],
    coefficients: Sequence[dict[int, FloatArray]],
    truth: FloatArray,
    settings: MemorySettings,
) -> list[Candidate]:
    """Those that recipes have led to, with coefficients without each fold, and the scores of their forecasts; not those
    that have none."""
    sound = [
        pair for pair in zip(recipes, coefficients, strict=True) if all(np.isfinite(c).all() for c in pair[1].values())
    ]
    if not sound:
        return []
    owners = np.repeat(memory.folds, [len(memory.starts[fold]) for fold in memory.folds]).tolist()
    own = np.stack([c[fold] for _, c in sound for fold in owners])
    states = np.concatenate([memory.starts[fold] for fold in memory.folds])
    closure = replace(memory.template, exponents=exponents, coefficients=own)
    forecasts = np.tile(states, (len(sound), 1)), np.tile(truth, (len(sound), 1))
    scores = held_out_scores(closure, *forecasts, memory.ground, settings).reshape(len(sound), -1)
    return [Candidate(memory, exponents, *pair, s) for pair, s in zip(sound, scores, strict=True)]


def library_of(memory: Memory) -> Library:
    """All monomials that a memory may use."""
    return Library.total_degree(memory.template.q + 1, memory.degree)
