"""Persistence, repetition of the last oscillation, and autoregression: what any other forecast has to beat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.records.series import Series
from jetode.signal.scales import filled
from jetode.signal.trials import Rollout
from jetode.support.arrays import FloatArray, IntArray

REACH = (0.4, 2.5)  # oscillations: lengths among which the repeated one is sought
SHORTEST_LAG = 2  # samples
WINDOWS = (0.5, 1.0, 2.0)  # oscillations that an autoregression sees; the best is chosen on held-out stretches
RIDGE = 1e-4  # of the windows' variance: neighbouring blocks are nearly the same


def persistence(records: Sequence[Series], period: float) -> Rollout:
    """The last value for ever."""

    def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        last = [filled(values[: end + 1])[-1] for end in ends]
        return np.repeat(np.array(last)[:, None], steps + 1, axis=1)

    return rollout


def repetition(records: Sequence[Series], period: float) -> Rollout:
    """The last oscillation again and again; its length is the lag at which the end of the past repeats best."""

    def one(past: FloatArray, steps: int) -> FloatArray:
        longest = min(round(REACH[1] * period), past.size // 2 - 1)
        lags = np.arange(max(SHORTEST_LAG, round(REACH[0] * period)), longest + 1)
        length = min(max(SHORTEST_LAG, round(period)), past.size - longest - 1)
        if not lags.size or length < SHORTEST_LAG:
            return np.full(steps + 1, past[-1])
        misfit = [np.mean((past[-length:] - past[-length - lag : -lag]) ** 2) for lag in lags]
        cycle = past[-int(lags[int(np.argmin(misfit))]) :]
        return np.concatenate([past[-1:], np.resize(cycle, steps)])

    def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        seen = round((REACH[1] + 1.0) * period) + SHORTEST_LAG
        return np.stack([one(filled(values[max(0, end + 1 - seen) : end + 1]), steps) for end in ends])

    return rollout


def autoregression(records: Sequence[Series], period: float, window: float = WINDOWS[1]) -> Rollout | None:
    """A linear map of the blocks of the last ``window`` oscillations; None where there are too few."""
    blocks = Blocks.of(records, period)
    length = max(2, round(window * blocks.period))
    x, following, _, _ = blocks.windows(length)
    if x.shape[0] < 2 * length:
        return None
    features = np.column_stack([np.ones(x.shape[0]), x])
    gram = features.T @ features
    gram[np.diag_indices_from(gram)] += RIDGE * x.shape[0] * np.append(0.0, np.full(length, float(np.mean(x**2))))
    weights = np.linalg.solve(gram, features.T @ following[:, 0])
    return blocks.closed_loop(lambda window: weights[0] + window @ weights[1:], length)
