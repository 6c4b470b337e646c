"""Who forecasts a record farthest where it was not seen (docs/mathematics.md §7.6): equations, memory, black boxes and
the simple methods that any of them has to beat, all from the same held-out past-only starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jetode.baselines.contest import BLACK_BOXES, SIMPLE, fit_simple
from jetode.baselines.nested import scores
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.reconstruction.dynamics.base import Dynamics
from jetode.reconstruction.dynamics.black_box import BlackBoxDynamics
from jetode.reconstruction.dynamics.memory import MemoryDynamics
from jetode.reconstruction.evidence import ContestEvidence, Entry
from jetode.reconstruction.held_out_bands import HeldOutBands, recent_size
from jetode.reconstruction.settings import CONTEST
from jetode.records.series import Series
from jetode.signal.trials import Trials, median
from jetode.support.arrays import FloatArray, IntArray

Kind = Literal["simple", "equation", "memory", "black box", "mean"]
MEMORY, KERNEL = "memory closure", "kernel ridge"
PLAIN: tuple[Kind, ...] = ("equation", "memory", "black box", "mean")  # from what says most on
EXPLICIT: tuple[Kind, ...] = PLAIN[:2]


@dataclass(frozen=True, eq=False)
class Contestant:
    """A way to forecast: its held-out forecasts in the order of the trials, and what makes its dynamics; ``terms`` are
    the coefficients of an equation that can be read."""

    name: str
    kind: Kind
    held_out: FloatArray
    dynamics: Callable[[], Dynamics]
    terms: int | None = None


@dataclass(frozen=True, eq=False)
class Scored:
    """A contestant with the time for which each trial holds and its score over all thresholds, in oscillations."""

    contestant: Contestant
    times: FloatArray
    scores: FloatArray

    @property
    def mean(self) -> float:
        """Over all trials."""
        return float(np.mean(self.scores))


@dataclass(frozen=True, eq=False)
class Contest:
    """All contestants on the trials of the records."""

    field: tuple[Scored, ...]
    trials: Trials
    records: tuple[Series, ...]

    @classmethod
    def of(cls, contestants: Iterable[Contestant], trials: Trials, records: Sequence[Series]) -> Contest:
        """Score every contestant."""
        truth, period = trials.truths(records), trials.period
        field = []
        for one in contestants:
            error = (one.held_out - truth) / trials.spread
            scores = np.mean([windowed_vpt(error, period, t) for t in CONTEST.thresholds], axis=0)
            field.append(Scored(one, windowed_vpt(error, period), scores))
        return cls(tuple(field), trials, tuple(records))

    def joined_by(self, others: Iterable[Contestant]) -> Contest:
        """The same with further contestants."""
        more = Contest.of(others, self.trials, self.records)
        return Contest((*self.field, *more.field), self.trials, self.records)

    @property
    def longest(self) -> float:
        """Oscillations of a trial."""
        return self.trials.steps / self.trials.period

    @property
    def open(self) -> bool:
        """Whether a black box could still be chosen: not where something explicit is as good as trials can show."""
        explicit = [s.mean for s in self.field if s.contestant.kind in EXPLICIT]
        return max(explicit, default=0.0) < CONTEST.all_there * self.longest

    @property
    def baseline(self) -> Scored:
        """The best of the simple methods."""
        return max((s for s in self.field if s.contestant.kind == "simple"), key=lambda s: s.mean)

    @property
    def least(self) -> float:
        """Oscillations for which an equation has to hold to be worth a look: part of the farthest's mean time."""
        times = [float(np.mean(s.times)) for s in self.field if s.contestant.kind != "simple"]
        return CONTEST.hopeless * max(times, default=0.0)

    @property
    def rival(self) -> float:
        """The score, as settings are chosen by, of the farthest so far."""
        return float(np.mean(scores(self.best.contestant.held_out, self.trials.truths(self.records), self.trials)))

    @property
    def best(self) -> Scored:
        """The farthest of all."""
        return max(self.field, key=lambda s: s.mean)

    def advantage(self, one: Scored) -> tuple[float, float]:
        """(score over the baseline's, mean difference from it in standard errors)."""
        return one.mean / max(self.baseline.mean, CONTEST.least), _paired(one, self.baseline)

    def ahead(self, one: Scored, other: Scored) -> bool:
        """Whether it carries farther than another by more than the trials' own scatter: a short record has few that
        tell."""
        farther = other.mean < CONTEST.as_good * one.mean
        nearer = self.longest - other.mean > CONTEST.short * (self.longest - one.mean)  # trials end before forecasts do
        at_end = one.mean >= CONTEST.end * self.longest
        return (farther or (at_end and nearer)) and _paired(one, other) >= CONTEST.doubt

    def beats(self, one: Scored) -> bool:
        """Whether it forecasts farther than the simple methods beyond doubt, and far enough to be of use."""
        ratio, z = self.advantage(one)
        farther = ratio >= CONTEST.ratio and z >= CONTEST.clearly and float(np.median(one.times)) >= CONTEST.useful
        return farther or self.equals_to_the_end(one)

    def equals_to_the_end(self, one: Scored) -> bool:
        """Whether it is an equation that holds as long as trials can show where a simple method does so too: nothing
        could be farther, and an equation says more (two modes of a beam; an autoregression forecasts them as well)."""
        time, simple = (float(np.median(s.times)) for s in (one, self.baseline))
        level = CONTEST.level_to_the_end(one.contestant.kind, time, simple, self.longest)
        return level and one.mean >= CONTEST.explicit * self.baseline.mean

    @property
    def forecaster(self) -> Scored:
        """The plainest of those that are as good as the best: a black box only where nothing explicit comes near it,
        its mean with a memory closure only where it does not come near that, the baseline where nothing beats it."""
        sound = [s for s in self.field if s.contestant.kind != "simple" and self.beats(s)]
        if not sound:
            return self.baseline
        sound = self._plainer_half(sound)
        best = max(s.mean for s in sound)
        able = [s for s in sound if s.mean >= CONTEST.as_good * best]
        return min(able, key=lambda s: (PLAIN.index(s.contestant.kind), -s.mean))

    def _plainer_half(self, sound: list[Scored]) -> list[Scored]:
        """What is explicit, or all else where that leaves it behind or there is nothing else."""
        explicit = [s for s in sound if s.contestant.kind in EXPLICIT]
        others = [s for s in sound if s.contestant.kind not in EXPLICIT]
        if not explicit or not others:
            return sound
        farthest, nearest = (max(part, key=lambda s: s.mean) for part in (others, explicit))
        return others if self.ahead(farthest, nearest) else explicit

    @property
    def readable(self) -> Scored | None:
        """The best equation that can be read, beats the simple methods and comes near the best forecast."""
        found = [
            s
            for s in self.field
            if s.contestant.terms is not None
            and s.contestant.terms <= CONTEST.readable
            and self.beats(s)
            and np.median(s.times) >= CONTEST.near * np.median(self.best.times)
        ]
        return max(found, key=lambda s: s.mean, default=None)

    def bands(self, one: Scored) -> HeldOutBands | None:
        """From its held-out errors."""
        errors = self.trials.truths(self.records) - one.contestant.held_out
        dt, period = self.records[-1].dt, self.trials.period
        starts = [(self.records[f.record].values, end) for f in self.trials.folds for end in f.ends]
        sizes = np.array([recent_size(values[: end + 1], max(2, round(period))) for values, end in starts])
        ends = np.array([end for _, end in starts])
        trend = _trend(sizes, ends, np.array([f.record for f in self.trials.folds for _ in f.ends]))
        if abs(trend) < CONTEST.trend or not sizes.min() > 0:
            return HeldOutBands.of(errors, dt, period, self._independent)
        now = recent_size(self.records[-1].values, max(2, round(period)))
        later = np.argsort(ends, kind="stable")  # several decays: each begins large
        return HeldOutBands.relative(errors[later], sizes[later], now, dt, period)

    @property
    def _independent(self) -> float:
        """Oscillations over which starts are spread: those within one err alike."""
        spans: dict[int, list[int]] = {}
        for fold in self.trials.folds:
            spans.setdefault(fold.record, []).extend(fold.ends)
        return sum(1.0 + (max(ends) - min(ends)) / self.trials.period for ends in spans.values() if ends)

    def evidence(self, one: Scored, exact: dict[str, object] | None) -> ContestEvidence:
        """What a verdict on ``one`` looks at; ``exact``: why no exact equation was found."""
        ratio, z = self.advantage(one)
        unit = self.trials.period * self.records[-1].dt
        return ContestEvidence(
            chosen=one.contestant.name,
            baseline=self.baseline.contestant.name,
            entries=tuple(_entry(s, unit) for s in sorted(self.field, key=lambda s: -s.mean)),
            ratio=ratio,
            advantage=z,
            oscillation=unit,
            trials=self.trials.count,
            longest=self.longest,
            exact=exact,
        )


def _paired(one: Scored, other: Scored) -> float:
    """Mean difference of their scores, start by start, in standard errors."""
    gain = one.scores - other.scores
    error = float(np.std(gain, ddof=1)) / np.sqrt(gain.size) if gain.size > 1 else 0.0
    return float(np.mean(gain)) / error if error > 0 else 0.0


def _trend(sizes: FloatArray, ends: IntArray, record: IntArray) -> float:
    """Rank correlation of the motion's size with time, within each record; the mean of them: several decays of one
    system need not begin alike."""
    parts = [(sizes[record == i], ends[record == i]) for i in np.unique(record)]
    told = [float(np.corrcoef(np.argsort(np.argsort(s)), e)[0, 1]) for s, e in parts if s.size > 2]
    return float(np.mean(told)) if told else 0.0


def _entry(one: Scored, unit: float) -> Entry:
    low, middle, high = (float(q) * unit for q in np.quantile(one.times, (0.25, 0.5, 0.75)))
    return Entry(one.contestant.name, one.contestant.kind, middle, low, high, one.mean, one.contestant.terms)


def simple_contestants(
    records: Sequence[Series], trials: Trials, names: Sequence[str], rival: float = 0.0
) -> list[Contestant]:
    """Simple methods and black boxes by their names, those that the records are long enough for; ``rival`` as in
    :func:`.fit_simple`."""
    out = []
    for name in names:
        fitted = fit_simple(name, records, trials, rival)
        if fitted is not None:
            kind: Kind = "simple" if name in SIMPLE else "black box"
            out.append(
                Contestant(
                    name,
                    kind,
                    fitted.held_out,
                    lambda fitted=fitted: BlackBoxDynamics.of(fitted, records, trials.period),  # type: ignore[misc]
                )
            )
    return out


def together(contest: Contest, records: Sequence[Series]) -> list[Contestant]:
    """The mean of a memory closure and kernel ridge where neither leaves the other behind: of two that err in different
    places it is the safer one, though less plain than either."""
    field = {s.contestant.name: s for s in contest.field}
    if MEMORY not in field or KERNEL not in field:
        return []
    memory, kernel = field[MEMORY], field[KERNEL]
    if min(memory.mean, kernel.mean) < CONTEST.company * max(memory.mean, kernel.mean):
        return []

    def dynamics() -> Dynamics:
        one, other = memory.contestant.dynamics(), kernel.contestant.dynamics()
        assert isinstance(one, MemoryDynamics) and isinstance(other, BlackBoxDynamics)
        return MemoryDynamics.of(one.fit, records, other.map)

    held_out = median([memory.contestant.held_out, kernel.contestant.held_out])
    return [Contestant(f"{MEMORY} with {KERNEL}", "mean", held_out, dynamics)]


__all__ = ["BLACK_BOXES", "SIMPLE", "Contest", "Contestant", "Scored", "simple_contestants", "together"]
