"""Do jets determine the future (docs/mathematics.md (6.1))? The signal some oscillations ahead, predicted in one shot
by kernel ridge from jets (u0 … u_{n−1}) of order n = 2, 3, 4 and from delays over part of an oscillation.

(K + ρ1) α = y, K = exp(−|x − x'|²/2ℓ²), inputs of unit variance, on points spread evenly over the fitted blocks of the
record; ℓ and ρ by the error on the last of them.  Errors are those on the blocks between, in std of the signal; blocks
alternate, so that drift is not taken for a missing coordinate.  Jets and delays come from one smoothing spline.  Where
delays win clearly and more derivatives add nothing, a slow or thin coordinate is hidden from the jets.  A thin one may
still be found by the joint fit, whose states use the whole record: the test explains a refusal, it does not cause one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

from jetode.signal.noise import is_clean
from jetode.signal.oscillations import count_oscillations
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray

AHEAD = (0.25, 1.0, 2.0)  # oscillations
ORDERS = (2, 3, 4)
WINDOWS = (0.3, 0.7, 1.4)  # oscillations
TAPS = 12  # delays in a window
TRAINING, CHOOSING, TESTING = 800, 400, 600  # points
CHOSEN_SHARE = 0.7  # of the points that choose ℓ and ρ, fitted; the rest judges
TESTED_SHARE = 0.4  # of each block
BLOCK, MOST_BLOCKS = 15.0, 12  # oscillations in a block
WIDTHS = (0.15, 0.3, 0.6, 1.2, 2.4)  # ℓ/√dimension
RIDGES = (1e-7, 1e-5, 1e-3, 1e-1)
DEGREE = 7  # of the spline: its third derivative is smooth
FEWEST_OSCILLATIONS = 10.0
FEWEST_POINTS = 100
KNOWN = 0.6  # std: where delays do worse than this, nothing is known about the future
CLEARLY, GAIN = 0.75, 0.2  # delays win clearly below this share of the jets' error and by this much of a std,
MOST_NOISE = 0.1  # of the signal: above, noise blurs jets while delays average it, which looks like a hidden coordinate
NOTHING = 0.9  # and more derivatives add nothing above this share of the error with two


@dataclass(frozen=True)
class Sufficiency:
    """Errors at each time of ``ahead`` (oscillations), in std: ``jets`` by order 2, 3, 4, ``delays`` by window;
    ``noise``: its std over the signal's."""

    ahead: tuple[float, ...]
    jets: dict[int, tuple[float, ...]]
    delays: dict[float, tuple[float, ...]]
    noise: float = 0.0

    @property
    def best_jets(self) -> FloatArray:
        """Least error over the orders, at each time."""
        return np.min(list(self.jets.values()), axis=0)

    @property
    def best_delays(self) -> FloatArray:
        """Least error over the windows, at each time."""
        return np.min(list(self.delays.values()), axis=0)

    @property
    def decisive(self) -> int:
        """Which time decides: of those from one oscillation on, where delays gain most over jets."""
        gain = np.where(np.array(self.ahead) >= 1.0, self.best_jets - self.best_delays, -np.inf)
        return int(np.argmax(gain))

    @property
    def hidden(self) -> bool:
        """Whether a coordinate is hidden from the jets beyond what noise does to them."""
        return self.delays_win and self.noise <= MOST_NOISE

    @property
    def delays_win(self) -> bool:
        """Whether delays win clearly and more derivatives add nothing."""
        i = self.decisive
        best, low, high = self.best_jets[i], self.jets[ORDERS[0]][i], self.jets[ORDERS[-1]][i]
        delays = self.best_delays[i]
        wins = delays < KNOWN and delays < CLEARLY * best and delays < best - GAIN
        return bool(wins and high > NOTHING * low)

    def sentence(self) -> str:
        """One sentence with the numbers that decide."""
        i = self.decisive
        jets, delays = self.best_jets[i], self.best_delays[i]
        much = f"{self.ahead[i]:g} oscillation{'s' * (self.ahead[i] != 1)} ahead"
        said = f"{much}, the past errs by {delays:.2f} std and value and slopes at one moment (jets) by {jets:.2f}"
        if self.hidden:
            return f"{said}, however many derivatives: a slow or thin coordinate is hidden from the jets."
        if self.delays_win:
            return f"{said}: noise of {100 * self.noise:.0f} % may do it: nothing is said about hidden coordinates."
        if min(jets, delays) > KNOWN:
            return f"{said}: the record does not determine its future that far."
        return f"{said}: no coordinate is seen to be hidden from the jets."

    def to_json(self) -> dict[str, Any]:
        """Plain data with the derived judgement."""
        plain = asdict(self) | {"jets": {str(k): v for k, v in self.jets.items()}}
        plain["delays"] = {f"{w:g}": v for w, v in self.delays.items()}
        return plain | {"hidden": self.hidden, "sentence": self.sentence()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sufficiency:
        """Inverse of :meth:`to_json`."""
        jets = {int(order): tuple(errors) for order, errors in data["jets"].items()}
        delays = {float(window): tuple(errors) for window, errors in data["delays"].items()}
        return cls(tuple(data["ahead"]), jets, delays, float(data["noise"]))


def sufficiency(values: FloatArray) -> Sufficiency | None:
    """Test a record without gaps; None where it is too short to tell."""
    spline = smooth(values, 1.0, DEGREE, "interpolate" if is_clean(values) else "gcv")
    jets = spline.jets(max(ORDERS) - 1)
    oscillations = count_oscillations(jets[:, 0])
    if oscillations < FEWEST_OSCILLATIONS:
        return None
    period = values.size / oscillations
    steps = np.array([max(1, round(h * period)) for h in AHEAD])
    trained, tested = split(values.size, period)
    if min(trained.size, tested.size) < FEWEST_POINTS:
        return None
    at = np.concatenate([trained, tested])
    future = jets[at[:, None] + steps, 0]
    if not np.all(future.std(axis=0) > 0):
        return None

    def errors(inputs: FloatArray) -> tuple[float, ...]:
        return tuple(prediction_errors(inputs, future, trained.size).tolist())

    return Sufficiency(
        AHEAD,
        {order: errors(jets[at, :order]) for order in ORDERS},
        {window: errors(jets[at[:, None] - _lags(window * period), 0]) for window in WINDOWS},
        float(np.sqrt(spline.rss / max(values.size - spline.dof, 1.0)) / np.std(jets[:, 0])) if spline.weight else 0.0,
    )


def _lags(length: float) -> IntArray:
    return np.unique(np.round(np.linspace(0.0, length, TAPS)).astype(np.int64))


def split(n: int, period: float) -> tuple[IntArray, IntArray]:
    """(fitted, tested) samples: alternate parts of blocks of about ``BLOCK`` oscillations, the longest horizon apart,
    with room for the windows before the first and the horizons after the last; thinned evenly."""
    ahead = round(max(AHEAD) * period)
    edge = max(4, round(period / 12))
    first, last = edge + round(max(WINDOWS) * period), n - edge - ahead - 1
    blocks = int(np.clip((last - first) / (BLOCK * period), 1, MOST_BLOCKS))
    bounds = np.linspace(first, last, blocks + 1)
    fitted, tested = [], []
    for start, stop in pairwise(bounds.tolist()):
        free = max(stop - start - 2 * ahead, 0.0)
        middle = start + (1.0 - TESTED_SHARE) * free
        fitted.append(np.arange(round(start), round(middle)))
        tested.append(np.arange(round(middle) + ahead, round(stop) - ahead))
    return _thinned(np.concatenate(fitted), TRAINING), _thinned(np.concatenate(tested), TESTING)


def _thinned(samples: IntArray, most: int) -> IntArray:
    """At most so many of them, evenly."""
    count = min(samples.size, most)
    return samples[np.linspace(0, samples.size - 1, count).astype(np.int64)] if count else samples


def prediction_errors(inputs: FloatArray, targets: FloatArray, fitted: int) -> FloatArray:
    """Rms error of each target's column, in its std, on the rows after the first ``fitted``, by kernel ridge."""
    spread = inputs[:fitted].std(axis=0)
    x = (inputs - inputs[:fitted].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    y = (targets - targets[:fitted].mean(axis=0)) / targets.std(axis=0)
    some = _thinned(np.arange(fitted), CHOOSING)
    chosen = choose(x[some], y[some])
    errors = np.empty(y.shape[1])
    for setting in set(chosen):
        columns = [j for j, other in enumerate(chosen) if other == setting]
        width, ridge = setting
        guess = kernel_ridge(_kernel(x, x[:fitted], width), y[:fitted, columns], ridge)
        errors[columns] = np.sqrt(np.mean((guess - y[fitted:, columns]) ** 2, axis=0))
    return errors


def _kernel(x: FloatArray, centres: FloatArray, width: float) -> FloatArray:
    return np.exp(cdist(x, centres, "sqeuclidean") / (-2.0 * width**2 * x.shape[1]))


def kernel_ridge(kernel: FloatArray, targets: FloatArray, ridge: float) -> FloatArray:
    """Predictions for the rows of ``kernel`` after the fitted ones, whose targets are given."""
    m = targets.shape[0]
    weights = cho_solve(cho_factor(kernel[:m] + ridge * np.eye(m), lower=True, overwrite_a=True), targets)
    return np.asarray(kernel[m:] @ weights)


def choose(x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
    """(ℓ/√dimension, ρ) of the least error on the last rows, for each target; misses beyond two std count as two."""
    m = round(CHOSEN_SHARE * x.shape[0])
    settings, scores = [], []
    for width in WIDTHS:
        kernel = _kernel(x, x[:m], width)
        for ridge in RIDGES:
            left = kernel_ridge(kernel, y[:m], ridge) - y[m:]
            settings.append((width, ridge))
            scores.append(np.mean(np.minimum(left**2, 4.0), axis=0))
    return [settings[i] for i in np.argmin(scores, axis=0)]
