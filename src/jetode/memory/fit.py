"""The memory closure of a record (docs/mathematics.md §7.4): settings chosen on held-out forecasts, the median of
several good ones as the forecast, and a nested choice that tells how far they carry where they were not chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetode.memory.candidates import Candidate
from jetode.memory.closure import MemoryClosure
from jetode.memory.ground import Ground
from jetode.memory.search import complete, search
from jetode.memory.settings import DEFAULT, MemorySettings
from jetode.records.series import Series
from jetode.signal.trials import Trials, median
from jetode.support.arrays import BoolArray, FloatArray, IntArray
from jetode.support.errors import InputError


def never() -> bool:
    """Nobody interrupts."""
    return False


@dataclass(frozen=True, eq=False)
class MemoryFit:
    """Good settings, best first, and their nested held-out forecasts (count, steps + 1), in the order of the trials."""

    members: tuple[MemoryClosure, ...]
    held_out: FloatArray
    dt: float

    @property
    def best(self) -> MemoryClosure:
        """The member that forecast farthest."""
        return self.members[0]

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """The members' pointwise median from each end on (:data:`jetode.signal.trials.Rollout`)."""
        return median([member.forecasts(values, ends, steps, self.dt) for member in self.members])

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return {"dt": self.dt, "members": [m.to_json() for m in self.members], "held_out": self.held_out.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MemoryFit:
        """Inverse of :meth:`to_json`."""
        rows = [[np.nan if v is None else v for v in row] for row in data["held_out"]]
        members = tuple(MemoryClosure.from_json(member) for member in data["members"])
        if not all(member.feasible(float(data["dt"])) for member in members):
            raise InputError("The times of a memory closure do not fit its sampling interval.")
        return cls(members, np.array(rows, dtype=np.float64), float(data["dt"]))


@dataclass(frozen=True, eq=False)
class MemoryChoice:
    """Good settings, best first, and their nested held-out forecasts as in :class:`MemoryFit`: all that a contest asks
    for; closures of the whole records take as long as a pass of the search and are made where it is won."""

    chosen: tuple[Candidate, ...]
    held_out: FloatArray
    dt: float
    settings: MemorySettings

    def complete(self) -> MemoryFit:
        """With nothing left out."""
        return MemoryFit(tuple(complete(c, self.settings) for c in self.chosen), self.held_out, self.dt)


def fit_memory(
    records: Sequence[Series],
    trials: Trials,
    settings: MemorySettings = DEFAULT,
    interrupt: Callable[[], bool] = never,
) -> MemoryFit | None:
    """The memory closure of records of one system; None where they determine none or every one blows up."""
    found = choose_memory(records, trials, settings, interrupt)
    return None if found is None else found.complete()


def choose_memory(
    records: Sequence[Series],
    trials: Trials,
    settings: MemorySettings = DEFAULT,
    interrupt: Callable[[], bool] = never,
) -> MemoryChoice | None:
    """The settings of :func:`fit_memory`."""
    ground = Ground.of(records, trials, settings)
    truth = trials.truths(records)
    found = search(ground, truth, settings, interrupt)
    if not found:
        return None
    chosen = best(found, np.ones(trials.count, dtype=np.bool_), settings)
    nested = np.empty_like(truth)
    first = 0
    for fold in trials.folds:
        rows = slice(first, first + len(fold.ends))
        others = np.ones(trials.count, dtype=np.bool_)
        others[rows] = False
        picked = best(found, others if others.any() else ~others, settings)
        nested[rows] = median([c.forecasts[rows] for c in picked])
        first = rows.stop
    return MemoryChoice(tuple(chosen), nested, records[0].dt, settings)


def best(found: Sequence[Candidate], where: BoolArray, settings: MemorySettings) -> list[Candidate]:
    """The candidates with the best mean scores over some starts, one per memory and degree."""
    merits = [float(c.scores[where].mean()) / c.n_terms**settings.thrift for c in found]
    ranked = sorted(zip(merits, found, strict=True), key=lambda pair: -pair[0])
    least = settings.near * ranked[0][0]
    out: dict[tuple[int, int], Candidate] = {}
    for merit, candidate in ranked:
        if merit >= least and len(out) < settings.members:
            out.setdefault((id(candidate.memory), candidate.n_terms), candidate)
    chosen = list(out.values())
    return chosen[: len(chosen) - 1 + len(chosen) % 2]  # the median of two is a mean, of what may have parted
