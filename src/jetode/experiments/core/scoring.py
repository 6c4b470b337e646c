"""How forecasts are scored, once for every measurement (docs/mathematics.md (5.1), (5.5)).

*Within*: from samples inside a record whose truth goes on.  *Ahead*: from its last sample, on what nobody saw.  On
simulated systems the valid prediction time is the paper's (:func:`jetode.integration.valid_prediction_time`), against
the noiseless truth; on recordings, where the truth is noisy itself, the time until the rms error over a tenth of an
oscillation exceeds 0.4 std.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.integration.windowed_prediction_time import FAILED, window_samples, windowed_rms, windowed_vpt
from jetode.support.arrays import BoolArray, FloatArray, IntArray

BLOWN = 2.0  # ranges of a recording from its median: a forecast there has blown up
TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)  # oscillations at which errors are shown


def vpt_at(values: FloatArray, truth: FloatArray, start: int, steps: int, dt: float) -> float:
    """VPT of a forecast from sample ``start`` against the truth of the same trajectory, of which it is a part."""
    return valid_prediction_time(values, truth[start : start + steps + 1], dt)


def vpts_within(
    run: Callable[[int], FloatArray | None], truth: FloatArray, starts: Iterable[int], steps: int, dt: float
) -> list[float]:
    """VPT from each start; 0 where there is no forecast."""
    scores = []
    for start in map(int, starts):
        values = run(start)
        scores.append(0.0 if values is None else vpt_at(values, truth, start, steps, dt))
    return scores


def coverage(truth: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Share of the true samples inside a band; those that the band does not reach are outside."""
    m = min(truth.size, lower.size, upper.size)
    return float(np.sum((truth[:m] >= lower[:m]) & (truth[:m] <= upper[:m])) / truth.size)


# -- recordings ---------------------------------------------------------------------------------------------------


def truths(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
    """What followed each end, itself included: (len(ends), steps + 1)."""
    return np.stack([values[end : end + steps + 1] for end in ends])


def blown_up(runs: FloatArray, values: FloatArray) -> BoolArray:
    """Which forecasts end early or leave the recording's range by far."""
    reach = BLOWN * float(np.nanmax(values) - np.nanmin(values))
    return np.any(~np.isfinite(runs) | (np.abs(runs - np.nanmedian(values)) > reach), axis=1)


def score_runs(runs: FloatArray, truth: FloatArray, spread: float, period: float) -> dict[str, Any]:
    """VPT in oscillations (median, quartiles, every start) and the median error at some times, in std.

    ``runs`` and ``truth`` are (starts, steps + 1) from the start sample on; ``spread`` is the recording's std.
    """
    error = (runs - truth) / spread
    times = windowed_vpt(error, period)
    rms = windowed_rms(error, window_samples(period))
    shown: dict[str, float | None] = {}
    for at in TIMES:
        place = round(at * period) - window_samples(period) // 2
        if 0 <= place < rms.shape[1]:
            value = float(np.median(rms[:, place]))
            shown[f"{at:g}"] = value if value < 0.999 * FAILED else None
    low, middle, high = (float(q) for q in np.quantile(times, (0.25, 0.5, 0.75)))
    return {"vpt": middle, "quartiles": [low, high], "times": times.round(4).tolist(), "error": shown}
