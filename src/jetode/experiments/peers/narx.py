"""Black-box forecasts from a window of past samples: x(t + s) = h x(t) + f(x(t), x(t − s), …), iterated.

h is 1 or, where the latest sample is too noisy to hold on to, 0; f is kernel ridge regression, a local linear map or a
linear one (AR).  A noisy record may be smoothed first; its forecasts then begin a little before the last sample, where
the spline sees both sides.  Lengths are in tc = std(u0)/std(u1), amplitudes in std, so one grid of settings serves
every record.  Settings are chosen on a stretch at the end of the record that the candidates were not fitted to
(:func:`choose`), never against the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.interpolate import CubicSpline
from scipy.spatial import KDTree

from jetode.signal.scales import derivative_scale
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray

FAR = 4.0  # ranges of the record: a forecast this far away has failed
QUARTERS = 4  # parts of the record; the last is held out, for the finalists the third as well
ROOM = 0.7  # of the held-out stretch that one validation forecast may fill
LONGEST = 60.0  # tc of a validation forecast
STARTS = 6  # validation forecasts
FLOOR = 1e-3  # of std: smaller errors, and those below the noise, count as this
LOST = 0.5  # of std: larger errors count as this
SEARCH_SIZE = 1000  # training windows while settings are chosen
FINALIST_SIZE = 2000
FINALISTS = 3
FINAL_SIZE = 4000
SEEN = 100.0  # tc before a start that are smoothed for it
CLEAN = 2e-3  # of std: a record whose smoothing takes away less is not smoothed

Setting = Mapping[str, float]
# (values up to any end, ends, steps) → forecasts (len(ends), steps + 1), NaN after failure
Rollout = Callable[[FloatArray, IntArray, int], FloatArray]
Step = Callable[[FloatArray], FloatArray]  # windows (s, m) → f (s,)


@dataclass(frozen=True, eq=False)
class Past:
    """A record in units of its std, with tc in samples; ``size`` caps the number of training windows.

    ``weight`` is the λ of its smoothing spline by cross-validation.
    """

    values: FloatArray
    tc: float
    weight: float = 0.0
    size: int = FINAL_SIZE
    seed: int = 0

    @classmethod
    def of(cls, values: FloatArray, seed: int = 0) -> tuple[Past, float, float]:
        """The scaled record, its mean and its std."""
        middle, spread = float(np.mean(values)), float(np.std(values))
        scaled = (values - middle) / spread
        spline = smooth(scaled, 1.0, 5, "gcv")
        return cls(scaled, derivative_scale(spline)[1], spline.weight, seed=seed), middle, spread

    @property
    def sigma(self) -> float:
        """What smoothing takes away, of std."""
        return float(np.std(self.values - self.denoised(self.values)))

    def denoised(self, values: FloatArray) -> FloatArray:
        """Samples of the smoothing spline."""
        return smooth(values, 1.0, 5, "weight", weight=self.weight).jets(0)[:, 0]

    def head(self, n: int) -> Past:
        """The first ``n`` samples."""
        return replace(self, values=self.values[:n])

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
        if 2 * first > last:
            raise ValueError("a window longer than half of the record")
        ends = np.arange(first, last + 1)
        if ends.size > self.size:
            ends = np.sort(np.random.default_rng(self.seed).choice(ends, self.size, replace=False))
        return window_at(self.values, ends, stride, taps), self.values[ends + stride] - setting["hold"] * self.values[
            ends
        ]


def window_at(values: FloatArray, ends: IntArray, stride: int, taps: int) -> FloatArray:
    """Windows whose latest sample is at ``ends``; before the record, its first sample."""
    return values[np.maximum(ends[:, None] - stride * np.arange(taps), 0)]


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
        return np.stack([filled(row, stride, taps, steps) for row in path])

    return rollout


def filled(path: FloatArray, stride: int, taps: int, steps: int) -> FloatArray:
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


def autoregression(past: Past, setting: Setting) -> Rollout:
    """Linear map of the window."""
    x, dx = replace(past, size=20_000).windows(setting)
    weights = _ridge(np.column_stack([np.ones(x.shape[0]), x]), dx, setting["ridge"])
    return closed_loop(
        lambda w: weights[0] + w @ weights[1:], past.stride(setting), past.taps(setting), setting["hold"]
    )


# -- smoothing first ---------------------------------------------------------------------------------------

Builder = Callable[[Past, Setting], Rollout]
RAW = -1.0  # a "lead" that leaves the record as it is


def denoising(build: Builder) -> Builder:
    """The same on the smoothed record, from "lead" tc before each end on; RAW: on the record as it is."""

    def built(past: Past, setting: Setting) -> Rollout:
        if setting["lead"] == RAW:
            return build(past, setting)
        rollout = build(replace(past, values=past.denoised(past.values)), setting)
        lead, seen = round(setting["lead"] * past.tc), round(SEEN * past.tc)

        def smoothed(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
            parts = [past.denoised(values[max(0, end - seen) : end + 1]) for end in ends]
            last = np.cumsum([part.size for part in parts]) - 1
            return rollout(np.concatenate(parts), last - lead, steps + lead)[:, lead:]

        return smoothed

    return built


# -- settings from the record itself -----------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """Options of each setting, on clean and on noisy records, and how many combinations are drawn."""

    common: Mapping[str, Sequence[float]]
    clean: Mapping[str, Sequence[float]]
    noisy: Mapping[str, Sequence[float]]
    draws: int

    def grid(self, past: Past) -> dict[str, Sequence[float]]:
        """The options for one record."""
        return {**self.common, **(self.noisy if past.sigma > CLEAN else self.clean)}


def choose(past: Past, build: Builder, search: Search) -> Setting:
    """Settings of the best forecasts on the last quarter: drawn at random, then varied one by one; the best few meet
    again on more training windows."""
    grid = search.grid(past)
    rng = np.random.default_rng(past.seed)
    scores: dict[tuple[float, ...], float] = {}

    def score(values: tuple[float, ...]) -> float:
        if values not in scores:
            scores[values] = validate(past, build, dict(zip(grid, values, strict=True)), SEARCH_SIZE)
        return scores[values]

    drawn = [tuple(float(rng.choice(options)) for options in grid.values()) for _ in range(search.draws)]
    best = max(drawn, key=score)
    for i, options in enumerate(grid.values()):
        others = [(*best[:i], float(option), *best[i + 1 :]) for option in options]
        best = max([best, *others], key=score)
    finalists = sorted(scores, key=lambda values: scores[values], reverse=True)[:FINALISTS]

    def again(values: tuple[float, ...]) -> float:
        setting = dict(zip(grid, values, strict=True))
        return sum(validate(past, build, setting, FINALIST_SIZE, part) for part in (QUARTERS - 1, QUARTERS - 2))

    chosen = max(finalists, key=again)
    return dict(zip(grid, chosen, strict=True))


def validate(past: Past, build: Builder, setting: Setting, size: int, part: int = QUARTERS - 1) -> float:
    """Minus the mean log of the largest error so far, of forecasts into a held-out quarter by a fit to those before it,
    against the smoothed samples: a forecast that has lost the signal gains nothing by settling near its mean."""
    quarter = past.values.size // QUARTERS
    cut, past = part * quarter, past.head((part + 1) * quarter)
    horizon = min(round(ROOM * quarter), round(LONGEST * past.tc))
    ends = np.linspace(cut, past.values.size - 1 - horizon, STARTS).astype(np.int64)
    truths = sliding_window_view(past.denoised(past.values), horizon + 1)[ends]
    try:
        runs = build(replace(past.head(cut), size=min(past.size, size)), setting)(past.values, ends, horizon)
    except Exception:  # whatever a library raises: a candidate that cannot be fitted is out
        return -np.inf
    error = np.maximum.accumulate(np.abs(np.nan_to_num(runs - truths, nan=LOST)), axis=1)
    return -float(np.mean(np.log(np.clip(error, min(max(FLOOR, past.sigma), LOST), LOST))))
