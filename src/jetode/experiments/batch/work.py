"""What a worker does with one file: read it, fit it, and hand back a row of the table, the model and a small picture.

A file that cannot be read or fitted is a row too; nothing here raises.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jetode.experiments.core.store import Task
from jetode.integration.forecast import Forecast
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.reading import read_with
from jetode.records.table import Reading
from jetode.reporting.forecast_reach import default_horizon, outlook
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.json import plain

COLUMNS = (
    *("file", "status", "grade", "reason", "channel", "unit", "time_unit", "samples", "dt", "noise_fraction", "order"),
    *("coefficients", "equation", "oscillation", "forecast_holds", "holds_median", "holds_lower", "holds_upper"),
    *("baseline", "baseline_holds"),
)
POINTS = 160  # of each curve in a picture
SHOWN = 2.0  # lengths of the forecast that are shown of the record before it


def fit(task: Task) -> dict[str, Any]:
    """The row, and where there is a model its file and curves."""
    options = task.options
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row["file"] = options["name"]
    try:
        record = read_with(Path(options["path"]), Reading(**options["reading"]))
        row |= {"channel": record.name, "unit": record.unit, "time_unit": record.time_unit, "samples": record.n}
        row |= {"dt": record.dt}
        model = reconstruct(record, seed=task.seed, **options["fit"])
        ahead = model.forecast(default_horizon(model))
        row |= _found(model, ahead)
        return plain({"row": row, "model": model.to_json(), "curves": _curves(model, ahead)})
    except InputError as error:
        reason = str(error)
    except Exception as error:  # whatever one file does must not end the others
        reason = f"{type(error).__name__}: {error}"
    return {"row": row | {"status": "failed", "reason": " ".join(reason.split())}, "model": None, "curves": None}


def _found(model: Model, ahead: Forecast) -> dict[str, Any]:
    """The numbers of a fit."""
    verdict = model.verdict
    shown = None if model.shown_equation is None or model.named is None else model.named.text()
    row: dict[str, Any] = {
        "status": "fitted",
        "grade": verdict.grade,
        "reason": verdict.reason,
        "noise_fraction": model.summary()["noise"]["fraction"],
        "order": model.order,
        "coefficients": None if shown is None else len(model.coefficients()),
        "equation": None if shown is None else shown.replace("\n", "; "),
        "oscillation": model.oscillation,
        "forecast_holds": None if verdict.grade == "none" else outlook(model, ahead).time,
    }
    if verdict.holds is not None:
        row |= {f"holds_{name}": value for name, value in vars(verdict.holds).items()}
    if verdict.baseline is not None:
        row |= {"baseline": verdict.baseline.name, "baseline_holds": verdict.baseline.time}
    return row


def _curves(model: Model, ahead: Forecast) -> dict[str, Any]:
    """End of the record and forecast, thinned, as lists; time counts from the end of the record."""
    record = model.records[-1]
    count = min(record.n, max(2, round(SHOWN * ahead.t[-1] / record.dt)))
    past = record.dt * np.arange(1 - count, 1)
    curves = {"past": _thin(past), "record": _thin(record.values[-count:])}
    curves |= {"ahead": _thin(ahead.t), "forecast": _thin(ahead.values)}
    for name in ("lower", "upper"):
        band = getattr(ahead, name)
        if band is not None:
            curves[name] = _thin(band)
    return curves


def _thin(values: FloatArray) -> list[float | None]:
    step = max(1, values.size // POINTS)
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in values[::step].tolist()]
