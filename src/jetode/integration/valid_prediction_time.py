"""Valid prediction time (docs/mathematics.md (5.1), the paper's Eq. vpt), interior starts, Lyapunov times Λ = λ1 T."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from jetode.support.arrays import IntArray
from jetode.support.errors import InputError

THRESHOLD = 0.2
RUN = 20
STARTS = 8


def valid_prediction_time(
    predicted: ArrayLike, truth: ArrayLike, dt: float, threshold: float = THRESHOLD, run: int = RUN
) -> float:
    """Time of the first sample of the first ``run`` consecutive ones with |error| > threshold · std(truth).

    The scoring window [0, H] and the std are those of ``truth``; without such a run the answer is H.  Samples
    that a forecast does not have, because it stopped early, or that are NaN, are errors beyond any threshold,
    and a forecast that stops within the window is taken to stay wrong after it: it never scores H.
    Samples of ``predicted`` beyond the window are ignored.
    """
    measured = np.asarray(truth, dtype=np.float64)
    given = np.asarray(predicted, dtype=np.float64)
    if measured.ndim != 1 or given.ndim != 1 or measured.size < 2:
        raise InputError("The 'predicted' and 'truth' parameters must be one-dimensional, 'truth' with ≥ 2 samples.")
    if not dt > 0:
        raise InputError(f"The 'dt' parameter must be > 0. Got {dt} instead.")
    if not threshold > 0:
        raise InputError(f"The 'threshold' parameter must be > 0. Got {threshold} instead.")
    if run < 1:
        raise InputError(f"The 'run' parameter must be an int ≥ 1. Got {run} instead.")
    spread = float(np.std(measured))
    if not (np.isfinite(spread) and spread > 0):
        raise InputError("The 'truth' parameter must be finite and not constant.")
    common = min(given.size, measured.size)
    beyond = ~(np.abs(given[:common] - measured[:common]) <= threshold * spread)
    missing = measured.size - common
    run = min(run, measured.size + 1)  # a longer one is as impossible
    failed = beyond.tobytes() + b"\x01" * (missing + run if missing else 0)  # one byte per sample: found by text search
    onset = failed.find(b"\x01" * run)
    return dt * (measured.size - 1 if onset < 0 else min(onset, measured.size - 1))


def interior_starts(n: int, horizon_samples: int, count: int = STARTS) -> IntArray:
    """``count`` start samples that cut [0, n − 1 − horizon_samples] into ``count`` + 1 equal parts.

    Every start has a full horizon of measured samples after it, and none lies at an end of the record, where
    a spline's derivatives are poor.
    """
    last = n - 1 - horizon_samples
    if count < 1:
        raise InputError(f"The 'count' parameter must be an int ≥ 1. Got {count} instead.")
    if last < count + 1:
        raise InputError(
            f"The horizon of {horizon_samples} samples leaves no room for {count} starts in a record of {n}; "
            "shorten the horizon or use a longer record."
        )
    return np.rint(np.linspace(0, last, count + 2)[1:-1]).astype(np.int64)


def lyapunov_times(time: float, exponent: float) -> float:
    """Λ = λ1 T."""
    return exponent * time
