"""What became of one record: its grade, whether an exact equation is right, and whether bands and intervals hold.

An exact equation is wrong where it is false on the true jets of the continuation, which no fit has seen: with
u = (s, s', …) there and r = D(u) u_n − N(u), its error is rms(r) / rms(D u_n).  It may be as large as
``LIMITS.field_error`` of the noise, about five times what right equations leave under white noise; and larger where it
is the true equation by the panel's rule (5.4): exactly the true terms, each within 10 % or 5 standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from time import process_time
from typing import Any

import numpy as np

from jetode.equations.polynomials import evaluate
from jetode.experiments.core.scoring import coverage
from jetode.experiments.core.store import Result, Task
from jetode.experiments.panel.comparison import compare
from jetode.experiments.trust.records import Drawn, record
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.reconstruction.settings import LIMITS

KIND = "trust"
NOT_CONTESTED = "not contested"  # instead of a grade: no equation leaves only noise, and nothing else was tried


@dataclass(frozen=True)
class OutcomeSettings:
    """How outcomes are told."""

    oscillation: float = 2 * np.pi  # tc of one
    interval: float = 1.96  # standard errors of a 95 % interval


SETTINGS = OutcomeSettings()


def task(seed: int, contest: bool = True) -> Task:
    """The work of one record; without a limit of time, which would make outcomes those of the machine."""
    return Task(f"{__name__}:run", KIND, "records", seed, seed + 1, seed, {} if contest else {"contest": False})


def run(task: Task) -> Result:
    """Do it."""
    drawn = record(task.seed)
    return {"seed": task.seed, "grade": None} if drawn is None else measure(drawn, task.seed, **task.options)


def measure(drawn: Drawn, seed: int, contest: bool = True) -> dict[str, Any]:
    """Reconstruct with all defaults, or without the contest, and score, as plain data."""
    began = process_time()
    model = reconstruct(drawn.series, contest=contest)
    open_ended = not contest and model.verdict.grade == "none" and "screen" not in model.diagnostics
    out: dict[str, Any] = {
        "seed": seed,
        **drawn.about,
        "grade": NOT_CONTESTED if open_ended else model.verdict.grade,
        "reason": model.verdict.reason,
        "order": model.order,
        "cpu_seconds": round(process_time() - began, 2),
    }
    if drawn.ahead is None or drawn.measured is None or open_ended:
        return out | {"wrong": model.verdict.trusted}
    error = field_error(model, drawn) if model.verdict.trusted else None
    return out | {
        "error": error,
        "wrong": is_far(error, drawn.about["level"]) and not is_the_truth(model, drawn),
        "intervals": intervals(model, drawn),
        **ahead(model, drawn),
    }


def field_error(model: Model, drawn: Drawn) -> float | None:
    """rms(D u_n − N)/rms(D u_n) of the model's closure on the true jets of the continuation."""
    if drawn.flow is None or drawn.states is None or model.dynamics.closure is None:
        return None
    closure = model.closure
    jets = drawn.flow.jet_values(drawn.coordinate, closure.order, drawn.states)
    left = evaluate(closure.denominator, jets[:, : closure.order]) * jets[:, closure.order]
    size = float(np.sqrt(np.mean(left**2)))
    error = float(np.sqrt(np.mean((left - evaluate(closure.numerator, jets[:, : closure.order])) ** 2))) / size
    return error if isfinite(error) else float("inf")


def is_far(error: float | None, level: float) -> bool:
    """Whether an equation is farther off than right ones are under white noise of that level."""
    return error is not None and not error <= LIMITS.field_error(level)


def is_the_truth(model: Model, drawn: Drawn) -> bool:
    """Whether an equation has the terms and coefficients of the true one (5.4)."""
    truth = None if drawn.flow is None else drawn.flow.regular(drawn.coordinate)
    return truth is not None and compare(model, truth, drawn.tc).right


def intervals(model: Model, drawn: Drawn) -> list[int] | None:
    """[inside, all] 95 % intervals of an exact equation whose terms are the true ones."""
    if drawn.truth is None or not model.verdict.trusted or model.regular is None:
        return None
    if not compare(model, drawn.truth, drawn.tc).terms:
        return None
    true = drawn.truth.P
    found = [c for c in model.coefficients() if c.part == "P" and c.powers in true and c.standard_error > 0]
    inside = sum(abs(c.value - true[c.powers]) <= SETTINGS.interval * c.standard_error for c in found)
    return [inside, len(found)]


def ahead(model: Model, drawn: Drawn) -> dict[str, Any]:
    """How long the forecast holds, in oscillations, and how much of the first one its 90 % and 50 % bands hold.

    Bands of an equation that leaves only noise are about the motion, those from held-out errors about what is measured.
    """
    assert drawn.ahead is not None and drawn.measured is not None
    dt = drawn.series.dt
    period = SETTINGS.oscillation * drawn.tc / dt
    forecast = model.forecast((drawn.ahead.size - 1) * dt)
    truth = drawn.ahead if model.bands is None else drawn.measured
    shown = np.full(drawn.ahead.size, np.nan)
    shown[: forecast.values.size] = forecast.values[: shown.size]
    error = (shown - drawn.ahead) / float(np.std(drawn.ahead))
    first = slice(1, round(period) + 1)
    held = {
        name: None if low is None or high is None else coverage(truth[first], low[first], high[first])
        for name, low, high in (
            ("band_90", forecast.lower, forecast.upper),
            ("band_50", forecast.inner_lower, forecast.inner_upper),
        )
    }
    return {"vpt": round(float(windowed_vpt(error[None], period)[0]), 3), **held}
