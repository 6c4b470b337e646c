"""Kernel ridge regression on windows of the past, the strongest black box: x_{n+1} = x_n + Σ_c w_c k(window, c).

Settings are chosen on held-out trials with few centres: windows first, then the kernel's width for the best of them.
The finalists meet again with many, and the forecast is the median of those that carry about as far as the best of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.baselines.kernel_regression import Spanned, Whole, Windows, kernel
from jetode.baselines.nested import THRESHOLDS, blend, ranked
from jetode.records.series import Series
from jetode.signal.trials import Trials, median
from jetode.support.arrays import FloatArray, IntArray

Setting = tuple[float, float, float]  # window, width, ridge


@dataclass(frozen=True)
class KernelSettings:
    """What is tried, each number with its reason."""

    windows: tuple[float, ...] = (0.12, 0.25, 0.5, 0.9, 1.6)  # oscillations: jets to a slow coordinate
    widths: tuple[float, ...] = (0.25, 0.45, 1.0, 2.4)  # std per block of the window: sharp elements to nearly linear
    first: int = 1  # the width that windows are tried with
    kept: int = 2  # windows that all widths are tried with
    ridges: tuple[float, ...] = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1)  # of the change's variance: clean to noisy
    clean: tuple[float, ...] = (1e-9, 1e-7)  # ridges of windows as good as exact: each of them is a centre
    centres: int = 400  # while settings are chosen: the cost grows with their square
    rows: int = 3000  # windows meanwhile
    finer: float = 100.0  # times smaller ridges that more centres may have: few of them leave a misfit like noise
    finalists: int = 3  # (window, width) that meet again
    spanning: int = 1200  # centres of noisy finalists
    whole: int = 2500  # windows of clean finalists
    most: int = 12_000  # windows in all: a longer record shows little more
    fewest: int = 40  # windows that a regression needs at least
    members: int = 3  # of the median: more are weaker ones
    near: float = 0.85  # of the best score: a finalist below is no member


DEFAULT = KernelSettings()


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A fitted map: the next block from a window of ``centres.shape[1]`` blocks."""

    blocks: Blocks
    centres: FloatArray
    weights: FloatArray
    gamma: float

    def step(self, window: FloatArray) -> FloatArray:
        """The block after each window."""
        return np.asarray(window[:, -1] + kernel(window, self.centres, self.gamma) @ self.weights)

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Rollouts from any ends."""
        return self.blocks.closed_loop(self.step, self.centres.shape[1])(values, ends, steps)

    def to_json(self) -> dict[str, Any]:
        """Plain data without the records."""
        blocks = self.blocks
        scale = {name: getattr(blocks, name) for name in ("factor", "period", "middle", "spread", "low", "high")}
        return {"centres": self.centres.tolist(), "weights": self.weights.tolist(), "gamma": self.gamma, **scale}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelMap:
        """Inverse of :meth:`to_json`."""
        numbers = (float(data[name]) for name in ("period", "middle", "spread", "low", "high"))
        blocks = Blocks((), (), int(data["factor"]), *numbers)
        return cls(blocks, np.array(data["centres"], float), np.array(data["weights"], float), float(data["gamma"]))


@dataclass(frozen=True, eq=False)
class KernelForecast:
    """The median of some maps, best first."""

    members: tuple[KernelMap, ...]

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Rollouts from any ends."""
        return median([member.forecasts(values, ends, steps) for member in self.members])

    def to_json(self) -> dict[str, Any]:
        """Plain data without the records."""
        return {"members": [member.to_json() for member in self.members]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelForecast:
        """Inverse of :meth:`to_json`; models saved before there were members have one."""
        return cls(tuple(KernelMap.from_json(member) for member in data.get("members", (data,))))


@dataclass(frozen=True, eq=False)
class KernelFit:
    """The maps of the best settings, and forecasts by settings and weights that had not seen their fold."""

    map: KernelForecast
    held_out: FloatArray


def fit_kernel(records: Sequence[Series], trials: Trials, settings: KernelSettings = DEFAULT) -> KernelFit | None:
    """Kernel ridge with settings chosen on the trials; None where the record is too short."""
    return _Search(Blocks.of(records, trials.period), records, trials, settings).found()


@dataclass(frozen=True, eq=False)
class _Search:
    """What every step of the search is given."""

    blocks: Blocks
    records: Sequence[Series]
    trials: Trials
    settings: KernelSettings

    def found(self) -> KernelFit | None:
        """Windows, then widths, then the finalists."""
        settings = self.settings
        shown = {window: self.windows(window) for window in settings.windows}
        shown = {window: found for window, found in shown.items() if found.fewest() >= settings.fewest}
        rough = {window: found.some(settings.rows) for window, found in shown.items()}
        runs: dict[Setting, FloatArray] = {}
        for window, found in rough.items():
            runs |= self.tried(found, window, settings.widths[settings.first])
        if not runs:
            return None
        best = list(dict.fromkeys(window for window, _, _ in ranked(runs, self.records, self.trials)))
        for window in best[: settings.kept]:
            for width in settings.widths[: settings.first] + settings.widths[settings.first + 1 :]:
                runs |= self.tried(rough[window], window, width)
        return self.final(runs, shown)

    def windows(self, window: float) -> Windows:
        """All windows of so many oscillations."""
        length = max(2, round(window * self.blocks.period))
        return Windows.of(self.blocks, self.records, self.trials, length).some(self.settings.most)

    def tried(self, windows: Windows, window: float, width: float) -> dict[Setting, FloatArray]:
        """Held-out forecasts of every ridge."""
        found, ridges = Spanned.of(windows, width, self.settings.centres), self.settings.ridges
        runs = held_out(found, self.blocks, self.records, self.trials, ridges, max(THRESHOLDS))
        return {(window, width, ridge): run for ridge, run in zip(ridges, runs, strict=True)}

    def final(self, runs: Mapping[Setting, FloatArray], shown: Mapping[float, Windows]) -> KernelFit:
        """The median of the best of the finalists."""
        settings = self.settings
        finalists: dict[tuple[float, float], float] = {}
        for window, width, ridge in ranked(runs, self.records, self.trials):
            finalists.setdefault((window, width), ridge)
        found: dict[Setting, Spanned | Whole] = {}
        again: dict[Setting, FloatArray] = {}
        for (window, width), ridge in list(finalists.items())[: settings.finalists]:
            for one, ridges in self.larger(shown[window], width, ridge):
                tried = held_out(one, self.blocks, self.records, self.trials, ridges, np.inf)
                again |= {(window, width, r): run for r, run in zip(ridges, tried, strict=True)}
                found |= {(window, width, r): one for r in ridges}
        blended = blend(again, self.records, self.trials, settings.members, settings.near)
        maps = []
        for setting in blended.members:
            one = found[setting]
            maps.append(KernelMap(self.blocks, one.centres, one.weights(setting[2]), one.gamma))
        return KernelFit(KernelForecast(tuple(maps)), blended.held_out)

    def larger(self, windows: Windows, width: float, ridge: float) -> Iterator[tuple[Spanned | Whole, list[float]]]:
        """Regressions with many centres about a ridge, each with its ridges."""
        settings = self.settings
        about = [r for r in settings.ridges if ridge / settings.finer <= r * (1 + 1e-9) and r <= ridge]
        exact, noisy = (sorted(set(about) & set(settings.clean)), sorted(set(about) - set(settings.clean)))
        if exact:
            yield Whole.of(windows, width, settings.whole), exact
        if noisy:
            yield Spanned.of(windows, width, settings.spanning), noisy


def held_out(
    found: Spanned | Whole,
    blocks: Blocks,
    records: Sequence[Series],
    trials: Trials,
    ridges: Sequence[float],
    farthest: float,
) -> list[FloatArray]:
    """Held-out forecasts of every ridge, all in one rollout: (ridges) × (count, steps + 1); each ends after half an
    oscillation that is off by more than ``farthest`` std in rms, which no score counts any more."""
    length = found.centres.shape[1]
    weights = np.stack([np.stack([found.weights(ridge, k) for k in range(len(trials.folds))]) for ridge in ridges])
    starts = [(records[f.record].values, end) for f in trials.folds for end in f.ends]
    pasts = [blocks.past(values, end, length) for values, end in starts]
    fold = np.repeat(np.arange(len(trials.folds)), [len(f.ends) for f in trials.folds])
    rows = np.concatenate([weights[i][fold] for i in range(len(ridges))])
    window = np.tile(np.stack(pasts), (len(ridges), 1))
    future = np.full((window.shape[0], blocks.count(trials.steps)), np.nan)
    truth = np.tile(np.stack([blocks.following(*start, future.shape[1]) for start in starts]), (len(ridges), 1))
    half = max(1, round(0.5 * blocks.period))
    alive = np.arange(window.shape[0])
    for k in range(future.shape[1]):
        new = window[alive, -1] + np.sum(kernel(window[alive], found.centres, found.gamma) * rows[alive], axis=1)
        kept = ~blocks.lost(new)
        alive = alive[kept]
        if not alive.size:
            break
        window[alive] = np.column_stack([window[alive, 1:], new[kept]])
        future[alive, k] = new[kept]
        if np.isfinite(farthest) and k % half == half - 1:
            off = np.mean((future[alive, k + 1 - half : k + 1] - truth[alive, k + 1 - half : k + 1]) ** 2, axis=1)
            alive = alive[~(off > farthest**2)]
    count = trials.count
    return [
        np.stack([blocks.sampled(pasts[j], future[i * count + j], trials.steps) for j in range(count)])
        for i in range(len(ridges))
    ]
