"""Every method as forecasts of a case: fitted to the known parts, started from samples that it may see, never later.

``jetode`` is one call of :func:`jetode.reconstruct` and, for each start, its forecast from the end of the past given.
Peers and baselines take arrays: several known parts are joined end to end for a peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from time import process_time
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from jetode.experiments.peers import registry as peers
from jetode.experiments.recordings.cases import Case
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

OURS = "jetode"
RECONSTRUCT = "jetode.reconstruction.reconstruct"  # by name, so that a peer's fingerprint does not hold our code
BASELINES = "jetode.baselines.contest"
SIMPLE = ("persistence", "repetition", "autoregression", "analogue")
TWINS = {"persistence", "repetition", "AR"}  # peers that are baselines too
EXACT = "exact"
TAIL = 1.6449  # standard deviations of a Gaussian within which 90 % lie
PAST = 40.0  # oscillations before a start that a model's state may use


@dataclass(frozen=True, eq=False)
class Runs:
    """Forecasts of one method: for each record (starts, steps + 1) values, with bands where it has them.

    ``about`` is what it says of itself; seconds are of the processor.
    """

    values: tuple[FloatArray, ...]
    fit_seconds: float
    forecast_seconds: float
    lower: tuple[FloatArray, ...] | None = None
    upper: tuple[FloatArray, ...] | None = None
    about: dict[str, Any] = field(default_factory=dict)


def available() -> dict[str, tuple[str, ...]]:
    """Methods that can be measured, and the modules whose code they are."""
    out: dict[str, tuple[str, ...]] = {OURS: (RECONSTRUCT,)}
    for name, peer in peers.available().items():
        if peer is not None and name not in TWINS:
            out[name] = (peers.source(name),)
    return out | dict.fromkeys(SIMPLE, (BASELINES,))


def measure(case: Case, name: str, seed: int = 0) -> Runs:
    """The forecasts of one method."""
    if name == OURS:
        return _ours(case)
    return _rollouts(case, _baseline(case, name) if name in SIMPLE else _peer(case, name, seed))


Forecasts = Callable[[FloatArray, Any, int], FloatArray]  # (values up to any end, ends, steps) → (ends, steps + 1)


def _peer(case: Case, name: str, seed: int) -> Callable[[], Forecasts]:
    return lambda: peers.fit(name, np.concatenate([part.values for part in case.known]), case.dt, seed)


def _baseline(case: Case, name: str) -> Callable[[], Forecasts]:
    return lambda: import_module(BASELINES).fit_baseline(name, case.known).forecasts


def _rollouts(case: Case, fit: Callable[[], Forecasts]) -> Runs:
    began = process_time()
    rollout = fit()
    fitted = process_time()
    runs = []
    for record, ends in zip(case.records, case.starts, strict=True):
        rows = [rollout(record.values[: end + 1], np.array([end]), case.steps)[0] for end in ends]
        runs.append(np.stack(rows))
    return Runs(tuple(runs), fitted - began, process_time() - fitted)


# -- ours -----------------------------------------------------------------------------------------------------------


def _ours(case: Case) -> Runs:
    began = process_time()
    model = import_module(RECONSTRUCT).reconstruct(case.known)
    fitted = process_time()
    parts = [
        np.stack([ahead(model, past_of(record, int(end), case.period), case.steps) for end in ends], axis=1)
        for record, ends in zip(case.records, case.starts, strict=True)
    ]
    banded = any(np.isfinite(part[1, :, 1:]).any() for part in parts)
    if banded and model.bands is None:
        parts = [with_noise(part, float(model.noise_sigma)) for part in parts]
    values, lower, upper = (tuple(part[i] for part in parts) for i in range(3))
    about = {
        "grade": grade(model.verdict),
        "trusted": bool(model.verdict.trusted),
        "reason": model.verdict.reason,
        "advice": model.verdict.advice,
        "equation": _equation(model),
        "coefficients": len(model.coefficients()),
    }
    seconds = fitted - began, process_time() - fitted
    return Runs(values, *seconds, lower if banded else None, upper if banded else None, about)


def _equation(model: Any) -> str:
    """What it says, or nothing where it can only forecast."""
    try:
        return str(model.equation(digits=4))
    except InputError:
        return ""


def grade(verdict: Any) -> str:
    """exact, approximate, forecast or none; of a verdict that only knows trust, exact or none."""
    return str(getattr(verdict, "grade", EXACT if verdict.trusted else "none"))


def with_noise(part: FloatArray, sigma: float) -> FloatArray:
    """Values and band of the signal (3, …) with the band of a noisy sample: half-widths and noise add in squares.

    The bands of an equation that leaves only noise are those of the signal; a recording's next sample has its noise
    besides.  Bands from held-out errors are of samples already.
    """
    values, lower, upper = part
    below, above = (np.hypot(values - lower, TAIL * sigma), np.hypot(upper - values, TAIL * sigma))
    return np.stack([values, values - below, values + above])


def past_of(record: Series, end: int, period: float) -> Series:
    """The samples up to ``end`` that a model may see, ``PAST`` oscillations of ``period`` samples at most."""
    return record.slice(max(0, end + 1 - round(PAST * period)), end + 1)


def ahead(model: Any, past: Series, steps: int) -> FloatArray:
    """Values and 90 % band (3, steps + 1) from the last sample of ``past`` on its own time grid; NaN where there is
    none.  A model that decimates ends a little before that sample, where its filter ends, and runs over it."""
    out = np.full((3, steps + 1), np.nan)
    out[0, 0] = past.values[-1]
    try:
        there = model.with_record(past)
        late = past.times[-1] - (there.record.t0 + (there.record.n - 1) * there.record.dt)
        run = there.forecast(steps * past.dt + late)
    except InputError:  # no state can be estimated from this past
        return out
    wanted = late + past.dt * np.arange(steps + 1, dtype=np.float64)
    for row, given in zip(out, (run.values, run.lower, run.upper), strict=True):
        if given is not None:
            row[:] = _on_grid(run.t, np.asarray(given), wanted)
    return out


def _on_grid(t: FloatArray, values: FloatArray, wanted: FloatArray) -> FloatArray:
    """Values at the times wanted, NaN beyond the last of them."""
    m = min(t.size, wanted.size)
    out = np.full(wanted.size, np.nan)
    if np.allclose(t[:m], wanted[:m], rtol=1e-9, atol=1e-6 * (wanted[1] - wanted[0])):
        out[:m] = values[:m]
    elif t.size >= 4:  # a model that steps otherwise
        reached = wanted <= t[-1] * (1 + 1e-12)
        out[reached] = CubicSpline(t, values)(wanted[reached])
    return out
