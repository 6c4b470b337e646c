"""The parts of the paper that need no sweep: false neighbours, observability, the tolerance ceiling, rollouts."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from jetode.catalogue.exact_closure import lie_derivatives
from jetode.catalogue.observability import Observability, observability
from jetode.catalogue.systems import systems
from jetode.equations.field import Field
from jetode.equations.polynomials import evaluate
from jetode.experiments.study.cells import DT, Cell, exact, paper_closure, paper_forecasts, realize
from jetode.experiments.study.joint_cells import exact_regular, joint_model, model_forecast
from jetode.experiments.study.printed import OBSERVABLES
from jetode.integration.forecast import forecast_many
from jetode.integration.valid_prediction_time import THRESHOLD, interior_starts, valid_prediction_time
from jetode.signal.delay import average_mutual_information, embedding_delay, false_nearest_neighbours
from jetode.support.arrays import FloatArray

DELAY_DURATION = 200.0  # on which 100 equal bins give the paper's delays exactly
LAGS = 150
DIMENSIONS = 6
POLE_REGION = {"lorenz": (0.0, 0.5), "rossler": (5.9, 0.5)}  # centre and half-width in x
MAP_STRIDE = 5
RTOLS = tuple(10.0**-k for k in range(4, 14))
TOLERANCE_HORIZON = {"lorenz": 40.0, "rossler": 300.0}
TOLERANCE_STARTS = 24
PAPER_HORIZON = {"lorenz": 20.0, "rossler": 100.0}
STRIDE = {"lorenz": 1, "rossler": 4}  # samples between points of a drawn attractor
ROLLOUT = {"lorenz": 100.0, "rossler": 400.0}


def delays(system: str) -> dict[str, Any]:
    """Delay by mutual information and fractions of false neighbours, on 200 units of the paper's trajectory."""
    values = systems[system].simulate(DELAY_DURATION, DT).observe("x").values
    delay = embedding_delay(values)
    assert delay is not None
    found = false_nearest_neighbours(values, delay, DIMENSIONS)
    return {
        "delay": delay,
        "fractions": found.fractions.tolist(),
        "dimension": found.dimension,
        "mutual_information": average_mutual_information(values, LAGS).tolist(),
    }


def _region(found: Observability, system: str) -> dict[str, float]:
    centre, width = POLE_REGION[system]
    near = found.within(lambda x, *_: np.abs(x - centre) < width)
    return {
        "centre": centre,
        "half_width": width,
        "share": near.delta.size / found.delta.size,
        "median": near.median,
        "ratio": found.median / near.median,
        "weak_share_inside": float(np.mean(near.delta < 1e-3)),
        "weakest_x": float(found.states[np.argmin(found.delta), 0]),
    }


def screening(system: str) -> dict[str, Any]:
    """All observables of the paper's table, ranked, with regional figures and maps for the coordinates."""
    rows: list[dict[str, Any]] = []
    maps: dict[str, Any] = {}
    regions: dict[str, float] = {}
    for printed in OBSERVABLES[system]:
        found = observability(systems[system], printed.expression)
        determinant = np.abs(found.determinant)
        rows.append(
            {
                "observable": printed.expression,
                "median": found.median,
                "p1": found.p1,
                "p95": found.p95,
                "weak": found.weak_fraction,
                "uniform": bool(found.uniform),
                "determinant": str(found.expression),
                "determinant_range": [float(determinant.min()), float(determinant.max())],
            }
        )
        if printed.expression in ("x", "y", "z"):
            stride = slice(None, None, MAP_STRIDE)
            with np.errstate(divide="ignore"):
                maps[printed.expression] = np.log10(found.delta[stride]).tolist()
            maps["states"] = found.states[stride].tolist()
        if printed.expression == "x":
            regions = _region(found, system)
    rows.sort(key=lambda row: -row["median"])
    return {"rows": rows, "region": regions, "maps": maps}


def _exact_jets(system: str, states: FloatArray) -> FloatArray:
    model = systems[system]
    jets, _ = lie_derivatives(model.rows, model.observable("x"), 2)
    return np.stack([evaluate({e: float(c) for e, c in jet.items()}, states) for jet in jets], axis=1)


def tolerance(system: str) -> dict[str, Any]:
    """Exact coefficients and exact states: what the integrator's tolerance alone leaves, N/D and regular form.

    Predicted: Eq. (vpt_ceiling) with ε0 = N_step rtol, N_step the samples of the paper's horizon.
    """
    model, horizon = systems[system], TOLERANCE_HORIZON[system]
    run = model.simulate(2.5 * horizon, DT)
    x = run.observe("x").values
    steps = round(horizon / DT)
    starts = interior_starts(x.size, steps, TOLERANCE_STARTS)
    jets = _exact_jets(system, run.states)
    closure, regular = exact(system), exact_regular(system)
    hidden = np.column_stack([jets[:, :2], regular.hidden(jets)])
    spread = float(np.std(x))
    step_count = PAPER_HORIZON[system] / DT
    rows = []
    for rtol in RTOLS:
        row = {"rtol": rtol, "predicted": log(THRESHOLD * spread / (step_count * rtol)) / model.lyapunov}
        for name, field, states in (
            ("rational", Field.from_closure(closure), jets),
            ("regular", regular.field, hidden),
        ):
            forecasts = forecast_many(field, states[starts], np.std(states, axis=0), horizon, DT, rtol=rtol)
            vpt = [
                valid_prediction_time(f.values, x[i : i + steps + 1], DT)
                for f, i in zip(forecasts, starts, strict=True)
            ]
            row[name] = float(np.median(vpt))
            row[f"{name}_completed"] = float(np.mean([f.completed for f in forecasts]))
        rows.append(row)
    return {"rows": rows, "horizon": horizon, "spread": spread, "exponent": model.lyapunov}


def rollout(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """A long run of the closure of one clean record, from the first start that lasts (else the longest)."""
    realization = realize(cell, seed, index)
    embedding, closure = paper_closure(cell, realization)
    length = ROLLOUT[cell.system]
    field = Field.from_closure(closure)
    starts = embedding.jets[realization.starts, :3]
    runs = forecast_many(field, starts, embedding.spread, length, DT)
    chosen = next((r for r in runs if r.completed), max(runs, key=lambda r: r.t[-1]))
    stride = slice(None, None, STRIDE[cell.system])
    margin = embedding.margin
    return {
        "index": index,
        "duration": float(chosen.t[-1]),
        "asked": length,
        "stop": chosen.stop.value,
        "completed_of_8": sum(r.completed for r in runs),
        "truth": embedding.jets[margin:-margin, :3][stride].tolist(),
        "rollout": chosen.states[stride].tolist(),
    }


def overlay(cell: Cell, seed: int, index: int, joint: bool) -> dict[str, Any]:
    """The best forecast of one record by the paper's method, and (unless it is at the cap) the joint fit's
    past-only one from that start."""
    realization = realize(cell, seed, index)
    embedding, closure = paper_closure(cell, realization)
    runs = paper_forecasts(embedding, closure, realization)
    vpt = [realization.score(r, int(i)) for r, i in zip(runs, realization.starts, strict=True)]
    best = int(np.argmax(vpt))
    start = int(realization.starts[best])
    out: dict[str, Any] = {
        "index": index,
        "start": start,
        "truth": realization.truth[start : start + realization.steps + 1].tolist(),
        "samples": realization.record.values[start : start + realization.steps + 1].tolist(),
        "paper": runs[best].values.tolist(),
        "paper_vpt": vpt[best],
        "stop": runs[best].stop.value,
    }
    if joint and vpt[best] < cell.horizon - 1e-9:
        run = model_forecast(joint_model(realization)[0], realization, start)
        if run is not None:
            out |= {"joint": run.values.tolist(), "joint_vpt": realization.score(run, start)}
    return out


def coefficients(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """The closure of one record, all coefficients."""
    _, closure = paper_closure(cell, realize(cell, seed, index))
    return {"index": index, "closure": closure.to_json()}
