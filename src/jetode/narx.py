"""Black-box forecasts from a window of past samples: x(t + s) = h x(t) + f(x(t), x(t − s), …), iterated.

h is 1 or, where the latest sample is too noisy to hold on to, 0; f is kernel ridge regression, a local linear map, a
polynomial of the window (NVAR) or a linear one (AR).  Lengths are in tc = std(u0)/std(u1), amplitudes in std, so one
grid of settings serves every record.  Settings are chosen on a stretch at the end of the record that the candidates
were not fitted to (:func:`choose`), never against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement as products
from math import comb

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.interpolate import CubicSpline
from scipy.spatial import KDTree

from jetode.polynomials import FloatArray, IntArray
from jetode.prepare import derivative_scale
from jetode.score import valid_prediction_time
from jetode.spline import smooth

FAR = 4.0  # ranges of the record: a forecast this far away has failed
VALIDATION = 0.25  # of the record
STARTS = 6  # validation forecasts
TOLERANCE = 0.4  # of std, against noisy samples
SEARCH_SIZE = 1000  # training windows while settings are chosen
FINAL_SIZE = 4000
MOST_FEATURES = 300  # of a polynomial of the window
ROUNDS = 2  # of the coordinate search

Setting = Mapping[str, float]
# (values up to any end, ends, steps) → forecasts (len(ends), steps + 1), NaN after failure
Rollout = Callable[[FloatArray, IntArray, int], FloatArray]
Step = Callable[[FloatArray], FloatArray]  # windows (s, m) → f (s,)


@dataclass(frozen=True, eq=False)
class Past:
    """A record in units of its std, with tc in samples; ``size`` caps the number of training windows."""

    values: FloatArray
    tc: float
    size: int = FINAL_SIZE
    seed: int = 0

    @classmethod
    def of(cls, values: FloatArray, seed: int = 0) -> tuple[Past, float, float]:
        """The scaled record, its mean and its std."""
        middle, spread = float(np.mean(values)), float(np.std(values))
        tc = derivative_scale(smooth(values, 1.0, 5, "gcv"))[1]
        return cls((values - middle) / spread, tc, seed=seed), middle, spread

    def head(self, n: int, size: int) -> Past:
        """The first ``n`` samples."""
        return replace(self, values=self.values[:n], size=size)

    def stride(self, setting: Setting) -> int:
        """Samples between the taps of a window."""
        return max(1, round(setting["stride"] * self.tc))

    def taps(self, setting: Setting) -> int:
        """Samples in a window."""
        return max(2, round(setting["window"] * self.tc / self.stride(setting)) + 1)

    def windows(self, setting: Setting) -> tuple[FloatArray, FloatArray]:
        """Training windows (n, m), latest tap first, and f after them."""
        stride, taps = self.stride(setting), self.taps(setting)
        first, last = (taps - 1) * stride, self.values.size - 1 - stride
        ends = np.arange(first, last + 1)
        if ends.size > self.size:
            ends = np.sort(np.random.default_rng(self.seed).choice(ends, self.size, replace=False))
        return window_at(self.values, ends, stride, taps), self.values[ends + stride] - setting["hold"] * self.values[
            ends
        ]


def window_at(values: FloatArray, ends: IntArray, stride: int, taps: int) -> FloatArray:
    """Windows whose latest sample is at ``ends``."""
    return values[ends[:, None] - stride * np.arange(taps)]


def closed_loop(step: Step, stride: int, taps: int, hold: float = 1.0) -> Rollout:
    """Feed a one-step map its own output; between the strides a cubic spline fills the samples."""

    def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        count = -(-steps // stride)
        low, high = values.min(), values.max()
        reach = FAR * (high - low)
        window = window_at(values, ends, stride, taps)
        path = np.full((ends.size, taps + count), np.nan)
        path[:, :taps] = window[:, ::-1]
        alive = np.ones(ends.size, dtype=bool)
        for k in range(count):
            new = hold * window[alive, 0] + step(window[alive])
            sound = np.isfinite(new) & (new > low - reach) & (new < high + reach)
            alive[np.flatnonzero(alive)[~sound]] = False
            if not alive.any():
                break
            window[alive] = np.column_stack([new[sound], window[alive, :-1]])
            path[alive, taps + k] = new[sound]
        return np.stack([_filled(row, stride, taps, steps) for row in path])

    return rollout


def _filled(path: FloatArray, stride: int, taps: int, steps: int) -> FloatArray:
    """Every sample from the last known one on."""
    out = np.full(steps + 1, np.nan)
    known = int(np.count_nonzero(np.isfinite(path)))
    if known == taps:
        out[0] = path[taps - 1]
        return out
    at = stride * (np.arange(known) - (taps - 1))
    wanted = np.arange(min(steps, int(at[-1])) + 1)
    out[: wanted.size] = path[taps - 1 : known] if stride == 1 else CubicSpline(at, path[:known])(wanted)
    return out


# -- the maps ------------------------------------------------------------------------------------------


def kernel_ridge(past: Past, setting: Setting) -> Rollout:
    """Gaussian kernel over the window (scikit-learn)."""
    from sklearn.kernel_ridge import KernelRidge

    x, dx = past.windows(setting)
    size = float(np.std(dx))
    gamma = 1.0 / (2.0 * x.shape[1] * setting["width"] ** 2)
    fitted = KernelRidge(alpha=setting["ridge"], kernel="rbf", gamma=gamma).fit(x, dx / size)
    weights, squares = size * fitted.dual_coef_, np.sum(x * x, axis=1)

    def step(window: FloatArray) -> FloatArray:
        distance = np.sum(window * window, axis=1)[:, None] + squares - 2.0 * window @ x.T
        return np.exp(-gamma * distance) @ weights

    return closed_loop(step, past.stride(setting), past.taps(setting), setting["hold"])


def local_linear(past: Past, setting: Setting) -> Rollout:
    """Linear map fitted to the nearest windows, found in their leading principal components."""
    x, dx = replace(past, size=20_000).windows(setting)
    middle = x.mean(axis=0)
    components = int(min(setting["components"], x.shape[1]))
    axes = np.linalg.svd(x - middle, full_matrices=False)[2][:components].T
    scores = (x - middle) @ axes
    tree = KDTree(scores)
    count = int(min(setting["neighbours"], x.shape[0]))

    def step(window: FloatArray) -> FloatArray:
        here = (window - middle) @ axes
        distance, index = tree.query(here, k=count)
        out = np.empty(window.shape[0])
        for i in range(window.shape[0]):
            weight = np.sqrt(np.maximum(1.0 - (distance[i] / (distance[i, -1] * 1.001 + 1e-300)) ** 2, 1e-6))
            rows = np.column_stack([np.ones(count), scores[index[i]] - here[i]]) * weight[:, None]
            floor = 1e-10 * np.sum(rows * rows) * np.eye(rows.shape[1])
            out[i] = np.linalg.solve(rows.T @ rows + floor, rows.T @ (weight * dx[index[i]]))[0]
        return out

    return closed_loop(step, past.stride(setting), past.taps(setting), setting["hold"])


def _ridge(features: FloatArray, target: FloatArray, ridge: float) -> FloatArray:
    """Least squares with a penalty relative to each column's size."""
    size = np.sqrt(np.sum(features**2, axis=0)) + 1e-300
    left, values, right = np.linalg.svd(features / size, full_matrices=False)
    return right.T @ (values / (values**2 + ridge) * (left.T @ target)) / size


def nvar(past: Past, setting: Setting) -> Rollout:
    """Polynomial of the window: linear, quadratic (and cubic) products of its samples, ridge readout."""
    x, dx = replace(past, size=20_000).windows(setting)
    order = int(setting["order"])
    while order > 2 and comb(x.shape[1] + order, order) > MOST_FEATURES:
        order -= 1
    factors = [np.array(list(products(range(x.shape[1]), k))) for k in range(2, order + 1)]

    def features(window: FloatArray) -> FloatArray:
        powers = [np.prod(window[:, f], axis=2) for f in factors]
        return np.column_stack([np.ones(window.shape[0]), window, *powers])

    weights = _ridge(features(x), dx, setting["ridge"])
    return closed_loop(
        lambda window: features(window) @ weights, past.stride(setting), past.taps(setting), setting["hold"]
    )


def autoregression(past: Past, setting: Setting) -> Rollout:
    """Linear map of the window."""
    x, dx = replace(past, size=20_000).windows(setting)
    weights = _ridge(np.column_stack([np.ones(x.shape[0]), x]), dx, setting["ridge"])
    return closed_loop(
        lambda w: weights[0] + w @ weights[1:], past.stride(setting), past.taps(setting), setting["hold"]
    )


# -- settings from the record itself ---------------------------------------------------------------------

Builder = Callable[[Past, Setting], Rollout]


def choose(past: Past, build: Builder, grid: Mapping[str, Sequence[float]]) -> Setting:
    """Settings of the longest valid forecasts on the last quarter; one coordinate after the other, from the middle."""
    setting = {name: options[len(options) // 2] for name, options in grid.items()}
    known: dict[tuple[float, ...], tuple[float, float]] = {}

    def score(trial: Setting) -> tuple[float, float]:
        key = tuple(trial.values())
        if key not in known:
            known[key] = validate(past, build, trial)
        return known[key]

    for _ in range(ROUNDS):
        before = dict(setting)
        for name, options in grid.items():
            setting = max(_along(setting, name, options), key=score)
        if setting == before:
            break
    return setting


def _along(setting: Setting, name: str, options: Sequence[float]) -> Iterator[dict[str, float]]:
    for option in (setting[name], *options):
        yield {**setting, name: option}


def validate(past: Past, build: Builder, setting: Setting) -> tuple[float, float]:
    """(mean valid prediction time in samples, minus the mean error) of forecasts into the held-out stretch."""
    cut = round((1.0 - VALIDATION) * past.values.size)
    room = past.values.size - cut
    horizon = min(room // 2, round(60.0 * past.tc))
    if past.taps(setting) * past.stride(setting) > cut // 3:
        return -1.0, -np.inf
    rollout = build(past.head(cut, min(past.size, SEARCH_SIZE)), setting)
    ends = np.linspace(cut, past.values.size - 1 - horizon, STARTS).astype(np.int64)
    runs = rollout(past.values, ends, horizon)
    truths = sliding_window_view(past.values, horizon + 1)[ends]
    times = [valid_prediction_time(p, t, 1.0, threshold=TOLERANCE, run=5) for p, t in zip(runs, truths, strict=True)]
    error = np.minimum(np.abs(np.nan_to_num(runs - truths, nan=2.0)), 2.0)
    return float(np.mean(times)), -float(np.mean(error))
