"""Kernel ridge regression on windows of the past, the strongest black box: x_{n+1} = x_n + Σ_c w_c k(window, c).

A Gaussian kernel on windows of blocks, spanned by some hundred of them (Nyström): with K_cc = L Lᵀ the features
φ = L⁻¹ k(c, ·) make it a ridge regression, whose Gram matrix serves every weight λ and, less what a fold holds out,
every fold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from jetode.baselines.blocks import Blocks
from jetode.baselines.nested import THRESHOLDS, choose, taken
from jetode.records.series import Series
from jetode.signal.trials import Fold, Trials
from jetode.support.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class KernelSettings:
    """What is tried, each number with its reason."""

    windows: tuple[float, ...] = (0.35, 0.8, 1.6)  # oscillations: jets to a slow coordinate
    widths: tuple[float, ...] = (0.35, 0.9, 2.4)  # std per block of the window: sharp elements to nearly linear
    ridges: tuple[float, ...] = (1e-8, 1e-6, 1e-4, 1e-2)  # per sample, in units of a feature's size: clean to noisy
    centres: int = 400  # while settings are chosen: the cost grows with their square
    final: int = 1000  # of the chosen ones, which are few: a laser's held-out score rose from 6.0 to 6.5
    jitter: float = 1e-9  # of the kernel's 1: keeps nearly equal centres apart
    fewest: int = 40  # windows that a regression needs at least


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
        blocks = Blocks((), int(data["factor"]), *numbers)
        return cls(blocks, np.array(data["centres"], float), np.array(data["weights"], float), float(data["gamma"]))


@dataclass(frozen=True, eq=False)
class KernelFit:
    """The map of the best setting, and forecasts by settings and weights that had not seen their fold."""

    map: KernelMap
    held_out: FloatArray


def kernel(a: FloatArray, b: FloatArray, gamma: float) -> FloatArray:
    """exp(−γ |a_i − b_j|²)."""
    squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1) - 2.0 * a @ b.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


_Sum = tuple[FloatArray, FloatArray, int]  # Gram matrix, moment with the targets, windows


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windows of one length, the change that follows each, and for every fold which of them show it."""

    x: FloatArray
    dx: FloatArray
    inside: tuple[BoolArray, ...]

    @classmethod
    def of(cls, blocks: Blocks, records: Sequence[Series], trials: Trials, length: int) -> _Windows:
        """All windows of ``length`` blocks."""
        x, following, owners, places = blocks.windows(length)
        inside = tuple(_inside(blocks, records, fold, owners, places, length) for fold in trials.folds)
        return cls(x, following[:, 0] - x[:, -1], inside)

    def fewest(self) -> int:
        """Windows that are left without the fold that most of them show."""
        return min(self.x.shape[0] - int(m.sum()) for m in self.inside)

    def sums(self, features: FloatArray) -> tuple[_Sum, tuple[_Sum, ...]]:
        """Of all windows and of those of each fold; folds share windows, which are multiplied once."""
        m = features.shape[1]
        totals: list[_Sum] = [(np.zeros((m, m)), np.zeros(m), 0)] * (len(self.inside) + 1)
        shown = (2 ** np.arange(len(self.inside))) @ np.stack(self.inside)
        for which in np.unique(shown).tolist():
            rows, targets = features[shown == which], self.dx[shown == which]
            part = rows.T @ rows, rows.T @ targets, targets.size
            for i in (0, *(1 + fold for fold in range(len(self.inside)) if which >> fold & 1)):
                gram, moment, n = totals[i]
                totals[i] = gram + part[0], moment + part[1], n + part[2]
        return totals[0], tuple(totals[1:])


@dataclass(frozen=True, eq=False)
class _Regression:
    """Features of all windows for one (window, width), with the Gram matrices of all and of each fold's windows."""

    centres: FloatArray
    factor: FloatArray  # L
    gamma: float
    gram: FloatArray
    moment: FloatArray
    n: int
    held: tuple[_Sum, ...]

    @classmethod
    def of(cls, windows: _Windows, width: float, count: int, settings: KernelSettings) -> _Regression:
        """With ``count`` centres."""
        x, rng = windows.x, np.random.default_rng(0)
        chosen = np.sort(rng.choice(x.shape[0], min(count, x.shape[0]), replace=False))
        centres, gamma = x[chosen], 1.0 / (2.0 * x.shape[1] * width**2)
        own = kernel(centres, centres, gamma)
        own[np.diag_indices_from(own)] += settings.jitter
        factor = cholesky(own, lower=True)
        features = solve_triangular(factor, kernel(centres, x, gamma), lower=True).T
        whole, held = windows.sums(features)
        return cls(centres, factor, gamma, *whole, held)

    def weights(self, ridge: float, fold: int | None = None) -> FloatArray:
        """Of the centres; without a fold's windows where one is given."""
        gram, moment, n = self.gram.copy(), self.moment, self.n
        if fold is not None:
            less, lost, count = self.held[fold]
            gram, moment, n = gram - less, moment - lost, n - count
        size = float(np.trace(gram)) / gram.shape[0]
        gram[np.diag_indices_from(gram)] += ridge * max(size, 1e-300) + 1e-12 * n
        solved = cho_solve((cholesky(gram, lower=True), True), moment)
        return np.asarray(solve_triangular(self.factor, solved, lower=True, trans="T"))


def fit_kernel(records: Sequence[Series], trials: Trials, settings: KernelSettings = DEFAULT) -> KernelFit | None:
    """Kernel ridge with settings chosen on the trials; None where the record is too short."""
    blocks = Blocks.of(records, trials.period)
    runs: dict[tuple[float, float, float], FloatArray] = {}
    shown: dict[float, _Windows] = {}
    for window in settings.windows:
        found = _Windows.of(blocks, records, trials, max(2, round(window * blocks.period)))
        if found.fewest() < settings.fewest:
            continue
        shown[window] = found
        for width in settings.widths:
            rough = _Regression.of(found, width, settings.centres, settings)
            tried = _tried(rough, blocks, records, trials, settings.ridges, max(THRESHOLDS))
            runs |= {(window, width, ridge): run for ridge, run in zip(settings.ridges, tried, strict=True)}
    chosen = choose(runs, records, trials)
    if chosen is None:
        return None
    final: dict[tuple[float, float], _Regression] = {}
    for window, width, ridge in sorted({chosen.setting, *chosen.of_trials}):
        if (window, width) not in final:
            final[window, width] = _Regression.of(shown[window], width, settings.final, settings)
        runs[window, width, ridge] = _tried(final[window, width], blocks, records, trials, (ridge,), np.inf)[0]
    window, width, ridge = chosen.setting
    best = final[window, width]
    fitted = KernelMap(blocks, best.centres, best.weights(ridge), best.gamma)
    return KernelFit(fitted, taken(runs, chosen.of_trials))


def _inside(
    blocks: Blocks, records: Sequence[Series], fold: Fold, owners: IntArray, places: IntArray, length: int
) -> BoolArray:
    """Windows that a fold's samples, or what follows a window, are part of."""
    n, count = records[fold.record].n, blocks.parts[fold.record].size
    first = n - blocks.factor * (count - places + length - 1)  # first sample of each window
    last = first + blocks.factor * (length + 1)
    return np.asarray((owners == fold.record) & (last > fold.start) & (first < fold.stop))


def _tried(
    found: _Regression,
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
