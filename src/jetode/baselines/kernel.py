"""Kernel ridge regression on windows of the past, the strongest black box: x_{n+1} = x_n + Σ_c w_c k(window, c).

Settings are chosen on held-out trials with few centres: windows first, then the kernel's width for the best of them.
The finalists meet again with many centres, the best of a noisy record also with windows and starts drawn towards what
it can follow (docs/mathematics.md (7.8)); the forecast is the median of those that carry about as far as the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.baselines.kernel_map import KernelForecast, KernelMap
from jetode.baselines.kernel_regression import Bells, Spanned, Whole, Windows
from jetode.baselines.nested import THRESHOLDS, blend, ranked, scores
from jetode.records.series import Series
from jetode.signal.noise import noise_floor
from jetode.signal.trials import Trials
from jetode.support.arrays import FloatArray, IntArray

Setting = tuple[float, float, float]  # window, width, ridge
Final = tuple[float, float, float, bool]  # whether windows are drawn, too


@dataclass(frozen=True)
class KernelSettings:
    """What is tried, each number with its reason."""

    windows: tuple[float, ...] = (0.12, 0.25, 0.5, 0.9, 1.6)  # oscillations: jets to a slow coordinate
    widths: tuple[float, ...] = (0.2, 0.35, 0.6, 1.2, 2.4)  # std per block: sharp elements to nearly linear
    first: int = 1  # the width that windows are tried with
    kept: int = 2  # windows that all widths are tried with
    clean: float = 2e-3  # std of a block's noise up to which each window of a sample is a centre: more are averaged
    exact: tuple[float, ...] = (1e-9, 1e-7, 1e-5)  # ridges of a clean record, of the change's variance
    ridges: tuple[float, ...] = (1e-5, 1e-3, 1e-1)  # of a noisy one
    centres: int = 400  # of a noisy one while settings are chosen: the cost grows with their square
    rows: int = 3000  # windows meanwhile
    few: int = 1000  # windows of a clean one meanwhile: sharp maps need them to be told from smooth ones
    finer: float = 100.0  # times smaller ridges that more centres may have: few of them leave a misfit like noise
    finalists: int = 3  # (window, width) that meet again
    behind: float = 0.7  # of a rival's score: more centres and windows drawn have gained a third at most
    spanning: int = 900  # centres of noisy finalists
    whole: int = 2500  # windows of clean finalists
    most: int = 6000  # windows in all: more cost more than they show
    fewest: int = 40  # windows that a regression needs at least
    drawn: int = 1  # noisy finalists that are tried with windows drawn towards the map, too: it costs as much as all
    learning: float = 0.2  # ρ of the windows that a second map learns from: closer ones repeat the first's errors
    starting: float = 0.02  # ρ of the starts: a good map errs by far less than a block's noise
    members: int = 3  # of the median: more are weaker ones
    near: float = 0.85  # of the best score: a finalist below is no member


DEFAULT = KernelSettings()


@dataclass(frozen=True, eq=False)
class KernelFit:
    """The maps of the best settings, made where they are asked for, and forecasts by settings and weights that had not
    seen their fold."""

    make: Callable[[], KernelForecast]
    held_out: FloatArray

    @cached_property
    def map(self) -> KernelForecast:
        """Of all windows."""
        return self.make()

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Rollouts of the maps from any ends."""
        return self.map.forecasts(values, ends, steps)


def fit_kernel(
    records: Sequence[Series], trials: Trials, settings: KernelSettings = DEFAULT, rival: float = 0.0
) -> KernelFit | None:
    """Kernel ridge with settings chosen on the trials; None where the record is too short.

    Where the settings are far behind ``rival``, the score (:func:`.scores`) of another forecast, one finalist will do.
    """
    return _Search(Blocks.of(records, trials.period), records, trials, settings, rival).found()


@dataclass(frozen=True, eq=False)
class _Search:
    """What every step of the search is given."""

    blocks: Blocks
    records: Sequence[Series]
    trials: Trials
    settings: KernelSettings
    rival: float

    @cached_property
    def clean(self) -> bool:
        """Whether blocks have next to no noise."""
        longest = max((record.longest_stretch() for record in self.records), key=len)
        noise = noise_floor(longest.values) / (self.blocks.spread * self.blocks.factor**0.5)
        return noise <= self.settings.clean

    @property
    def ridges(self) -> tuple[float, ...]:
        """Those that suit the noise."""
        return self.settings.exact if self.clean else self.settings.ridges

    def found(self) -> KernelFit | None:
        """Windows, then widths, then the finalists."""
        settings = self.settings
        shown = {window: self.windows(window) for window in settings.windows}
        shown = {window: found for window, found in shown.items() if found.fewest() >= settings.fewest}
        runs: dict[Setting, FloatArray] = {}
        for window, found in shown.items():
            runs |= self.tried(found, window, settings.widths[settings.first])
        if not runs:
            return None
        best = list(dict.fromkeys(window for window, _, _ in ranked(runs, self.records, self.trials)))
        for window in best[: settings.kept]:
            for width in settings.widths[: settings.first] + settings.widths[settings.first + 1 :]:
                runs |= self.tried(shown[window], window, width)
        return self.final(runs, shown)

    def windows(self, window: float) -> Windows:
        """All windows of so many oscillations."""
        length = max(2, round(window * self.blocks.period))
        return Windows.of(self.blocks, self.trials.folds, length).some(self.settings.most)

    def tried(self, windows: Windows, window: float, width: float) -> dict[Setting, FloatArray]:
        """Held-out forecasts of every ridge."""
        settings, ridges = self.settings, self.ridges
        found: Spanned | Whole = (
            Whole.of(windows, width, settings.few)
            if self.clean
            else Spanned.of(windows.some(settings.rows), width, settings.centres)
        )
        runs = held_out(found, self.blocks, self.records, self.trials, ridges, max(THRESHOLDS))
        return {(window, width, ridge): run for ridge, run in zip(ridges, runs, strict=True)}

    def final(self, runs: Mapping[Setting, FloatArray], shown: Mapping[float, Windows]) -> KernelFit:
        """The median of the best of the finalists."""
        settings = self.settings
        finalists: dict[tuple[float, float], float] = {}
        order = ranked(runs, self.records, self.trials)
        for window, width, ridge in order:
            finalists.setdefault((window, width), ridge)
        truth = self.trials.truths(self.records)
        behind = scores(runs[order[0]], truth, self.trials).mean() < settings.behind * self.rival
        count, refined = (1, 0) if behind else (settings.finalists, settings.drawn)
        made: dict[Final, Callable[[], KernelMap]] = {}
        again: dict[Final, FloatArray] = {}
        noisy: dict[Final, Spanned] = {}
        for (window, width), ridge in list(finalists.items())[:count]:
            one, ridges = self.larger(shown[window], width, ridge)
            tried = held_out(one, self.blocks, self.records, self.trials, ridges, np.inf)
            for r, run in zip(ridges, tried, strict=True):
                again[window, width, r, False] = run
                made[window, width, r, False] = partial(self.map, one, r)
                if isinstance(one, Spanned):
                    noisy[window, width, r, False] = one
        best = [setting for setting in ranked(again, self.records, self.trials) if setting in noisy]
        for setting in best[:refined]:
            given = noisy[setting], setting[:3]
            again[*setting[:3], True] = self.refined_runs(*given)
            made[*setting[:3], True] = partial(self.refined, *given)
        blended = blend(again, self.records, self.trials, settings.members, settings.near)
        members = [made[setting] for setting in blended.members]
        return KernelFit(lambda: KernelForecast(tuple(make() for make in members)), blended.held_out)

    def map(self, found: Spanned | Whole, ridge: float) -> KernelMap:
        """Of all windows."""
        return KernelMap(self.blocks, found.centres, found.weights(ridge), found.gamma)

    def refined_runs(self, first: Spanned, setting: Setting) -> FloatArray:
        """Held-out forecasts of refined maps."""
        rows = []
        for i, fold in enumerate(self.trials.folds):
            if fold.ends:
                values, ends = self.records[fold.record].values, np.array(fold.ends, dtype=np.int64)
                rows.append(self.refined(first, setting, i).forecasts(values, ends, self.trials.steps))
        return np.concatenate(rows)

    def refined(self, first: Spanned, setting: Setting, fold: int | None = None) -> KernelMap:
        """A map of windows drawn towards a first one, both without a fold, that draws its starts, too."""
        settings, (_, width, ridge) = self.settings, setting
        begun = KernelMap(self.blocks, first.centres, first.weights(ridge, fold), first.gamma)
        blocks = self.blocks if fold is None else self.blocks.without(self.trials.folds[fold])
        windows = Windows.of(begun.drawn_blocks(blocks, settings.learning), (), begun.length).some(settings.most)
        found = Spanned.of(windows, width, settings.spanning)
        return KernelMap(self.blocks, found.centres, found.weights(ridge), found.gamma, settings.starting)

    def larger(self, windows: Windows, width: float, ridge: float) -> tuple[Spanned | Whole, list[float]]:
        """A regression with many centres, and the ridges about one that fewer have."""
        settings = self.settings
        about = [r for r in self.ridges if ridge / settings.finer <= r * (1 + 1e-9) and r <= ridge]
        if self.clean:
            return Whole.of(windows, width, settings.whole), about
        return Spanned.of(windows, width, settings.spanning), about


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
    half, bells = max(1, round(0.5 * blocks.period)), Bells(found.centres, found.gamma)
    alive = np.arange(window.shape[0])
    for k in range(future.shape[1]):
        new = window[:, -1] + np.einsum("ij,ij->i", bells(window), rows)
        kept = ~blocks.lost(new)
        future[alive[kept], k] = new[kept]
        if np.isfinite(farthest) and k % half == half - 1:
            off = np.mean((future[alive, k + 1 - half : k + 1] - truth[alive, k + 1 - half : k + 1]) ** 2, axis=1)
            kept &= ~(off > farthest**2)
        if not kept.all():
            alive, window, rows, new = alive[kept], window[kept], rows[kept], new[kept]
        if not alive.size:
            break
        window = np.column_stack([window[:, 1:], new])
    runs = blocks.sampled(np.tile(np.stack(pasts), (len(ridges), 1)), future, trials.steps)
    return list(runs.reshape(len(ridges), trials.count, -1))
