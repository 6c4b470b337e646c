"""A real recording (docs/mathematics.md §6): identify on its first half, forecast ahead from many starts in the second.

Every start state and every peer's window comes from samples up to the start.  Errors are in std of the recording,
times in oscillations; the truth is the recording itself, noise included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from jetode.experiments.core.scoring import TIMES, blown_up, score_runs, truths
from jetode.experiments.peers.narx import Rollout
from jetode.experiments.peers.registry import fit as fit_peer
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.signal.decimate import decimate
from jetode.signal.jets_against_delays import Sufficiency, sufficiency
from jetode.signal.oscillations import count_oscillations, mean_drift
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

PAST = 40.0  # oscillations before a start that a model's state may use
OURS = "jetode"
TRIVIAL = ("persistence", "repetition")
DRIFTS = 3.0  # standard errors of the mean's drift between the halves


def oscillation(values: FloatArray) -> float:
    """Samples per oscillation of the smoothed recording."""
    return values.size / max(count_oscillations(smooth(values, 1.0, 5, "gcv").jets(0)[:, 0]), 1.0)


def model_rollout(model: Model, record: Series, period: float) -> Rollout:
    """Past-only forecasts of a model on the recording's own time grid."""
    factor = round(model.record.dt / record.dt)

    def one(end: int, steps: int) -> FloatArray:
        past = record.slice(max(0, end - round(PAST * period)), end + 1)
        used = past if factor == 1 else decimate(past, factor)
        late = past.times[-1] - used.times[-1]  # the anti-alias filter ends before the last sample
        horizon = steps * record.dt + late + 2 * used.dt
        run = model.with_record(used).forecast(horizon, start=used.n - 1, samples=0)
        wanted = late + record.dt * np.arange(steps + 1)
        out = np.full(steps + 1, np.nan)
        if run.t.size >= 4:
            reached = wanted <= run.t[-1]
            out[reached] = CubicSpline(run.t, run.values)(wanted[reached])
        return out

    return lambda seen, ends, steps: np.stack([one(int(end), steps) for end in ends])


def measure_recording(
    record: Series, peers: Sequence[str], starts: int = 50, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Errors, valid prediction times and blow-ups of the model and of each peer, as plain data."""
    period = oscillation(record.values)
    steps = round(max(TIMES) * period)
    half = record.n // 2
    if half <= 2 * steps or starts < 1:
        raise InputError(
            f"The recording must hold more than {4 * steps} samples for {starts} starts in its second half."
        )
    first = record.slice(0, half)
    ends = np.linspace(half, record.n - 1 - steps, starts).astype(np.int64)
    began = process_time()
    model = reconstruct(first)
    seconds = {OURS: process_time() - began}
    rollouts = {OURS: model_rollout(model, record, period)}
    results = {}
    for name in (OURS, *peers):
        if progress:
            progress(name)
        began = process_time()
        rollout = rollouts[name] if name in rollouts else fit_peer(name, first.values, record.dt)
        runs = rollout(record.values, ends, steps)
        results[name] = score_runs(runs, truths(record.values, ends, steps), record.std, period) | {
            "blown": float(np.mean(blown_up(runs, record.values))),
            "seconds": round(seconds.get(name, 0.0) + process_time() - began, 1),
        }
    drift, error = mean_drift(record.values)
    jets = sufficiency(record.values)
    return {
        "samples": record.n,
        "samples_per_oscillation": period,
        "starts": starts,
        "trusted": model.verdict.trusted,
        "reason": model.verdict.reason,
        "equation": model.equation(),
        "evidence": model.diagnostics.get("evidence", {}),
        "drift": drift / record.std,
        "drift_z": drift / error,
        "sufficiency": None if jets is None else jets.to_json(),
        "results": results,
        "conclusion": conclusion(results, model.verdict.trusted, drift / record.std, drift / error, jets),
    }


def conclusion(
    results: Mapping[str, Mapping[str, Any]], trusted: bool, drift: float, drift_z: float, jets: Sufficiency | None
) -> str:
    """For how long the recording is predictable and by what, whether it drifts, whether jets suffice: in words."""
    times = {name: float(scores["vpt"]) for name, scores in results.items()}
    best = max(times, key=lambda name: times[name])
    word = "trusted" if trusted else "not trusted"
    said = [f"Predictable for about {times[best]:.2g} oscillations, best by {best}"]
    if len(times) == 1:
        said = [f"The equation ({word}) reaches {times[OURS]:.2g} oscillations; no peer was measured"]
    elif best != OURS:
        said.append(f"; the equation ({word}) reaches {times[OURS]:.2g}")
    else:
        said.append(f" (the equation, {word})")
    plain = {name: times[name] for name in TRIVIAL if name in times}
    if plain:
        simple = max(plain, key=lambda name: plain[name])
        said.append(f", {simple} {plain[simple]:.2g}")
    moves = "drifts" if drift_z > DRIFTS else "wanders, but does not clearly drift,"
    said.append(f". Its mean {moves} by {drift:.2f} std between the halves ({drift_z:.1f} standard errors).")
    if jets is not None:
        said.append(f" {jets.sentence()}")
    return "".join(said)
