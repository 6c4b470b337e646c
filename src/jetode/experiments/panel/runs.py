"""One run of the panel: a record of a channel reconstructed with all defaults, scored ahead, beside the oracle."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from jetode.experiments.core.oracle import Oracle
from jetode.experiments.core.store import Result, Task
from jetode.experiments.panel import functions
from jetode.experiments.panel.channels import Channel, Trial, trial_of
from jetode.experiments.panel.comparison import compare
from jetode.reconstruction.reconstruct import reconstruct
from jetode.support.arrays import FloatArray

KIND = "panel"


def task(channel: Channel, trajectory: int, noise: float, table: str) -> Task:
    """The work of one run."""
    return channel.task(f"{__name__}:run", KIND, trajectory, noise, {"table": table})


def run(task: Task) -> Result:
    """Do it."""
    return measure(trial_of(task))


def measure(trial: Trial) -> dict[str, Any]:
    """Reconstruct one record with all defaults and score it, as plain data; times in Lyapunov times."""
    channel = trial.channel
    began = process_time()
    model = reconstruct(trial.series)
    seconds = process_time() - began
    ahead = model.forecast(channel.steps * channel.dt, samples=0).values
    evidence = model.diagnostics.get("evidence", {})
    out: dict[str, Any] = {
        "channel": channel.name,
        "class": channel.kind,
        "noise": trial.noise,
        "trajectory": trial.trajectory,
        "seconds": round(seconds, 2),
        "trusted": model.verdict.trusted,
        "reason": model.verdict.reason,
        "equation": model.equation() if model.named is not None else "",
        "order": model.order,
        "chi2": evidence.get("chi2"),
        "evidence": evidence,
        "vpt": trial.vpt(ahead),
        "horizon": (trial.ahead.size - 1) * channel.dt * channel.lyapunov,
        "sparkline": {"truth": thinned(trial.ahead), "forecast": thinned(ahead)},
    }
    if channel.name in functions.TRUE:
        return out | {"function": functions.has_function(model, channel.name)}
    if channel.regular is None:
        return out
    same = compare(model, channel.regular, channel.tc)
    return out | {
        "form": same.form,
        "terms": same.terms,
        "right": same.right,
        "missing": list(same.missing),
        "extra": list(same.extra),
        "error": same.error if np.isfinite(same.error) else None,
        "oracle": trial.vpt(Oracle(channel.regular.canonical(), trial.series).ahead(channel.steps)),
    }


def thinned(values: FloatArray, points: int = 160) -> list[float | None]:
    """At most ``points`` values, rounded, for a small picture."""
    shown = values[:: max(1, -(-values.size // points))]
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in shown]
