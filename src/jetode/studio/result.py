"""A finished fit as the page shows it, and the files that can be taken along."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jetode.integration.forecast import Forecast
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.reporting import report as pages
from jetode.reporting.exports import FORMATS, export
from jetode.reporting.figures import all_figures
from jetode.reporting.forecast_reach import next_steps, outlook, sentence
from jetode.studio.look import curve, numbers
from jetode.studio.settings import EXPORT, FORECAST, HORIZON, MODEL, PAGE, REPORT
from jetode.support.errors import InputError
from jetode.support.files import make_directory
from jetode.support.json import plain

BANDS = ("lower", "upper", "inner_lower", "inner_upper")


def horizon_of(model: Model) -> float:
    """How far the forecast is drawn."""
    return min(HORIZON.oscillations * model.oscillation, HORIZON.samples * model.record.dt)


def run_of(forecast: Forecast) -> dict[str, Any]:
    """A forecast as plain data: values and bands ``dt`` apart from its start on."""
    bands = {name: getattr(forecast, name) for name in BANDS}
    return {
        "dt": forecast.dt,
        "values": numbers(forecast.values),
        **{name: None if band is None else numbers(band) for name, band in bands.items()},
        "completed": forecast.completed,
        "stop": forecast.stop.value,
        "stop_time": forecast.stop_time,
    }


def page_of(model: Model, forecast: Forecast, records: Sequence[Series], complete: bool) -> dict[str, Any]:
    """Everything on the result page, the verdict first."""
    info, ahead = model.record, outlook(model, forecast)
    written = model.named
    figures = all_figures(model, forecast, model.records)
    tables = {name: getattr(pages, name)(model) for name in ("coefficients", "evidence", "equilibria", "settings")}
    return plain(
        {
            "verdict": {
                **model.verdict.to_json(),
                "sentence": sentence(model, ahead),
                "steps": list(next_steps(model)),
            },
            "complete": complete,
            "facts": pages.facts(model, ahead.text() if model.verdict.grade != "none" else "", model.records),
            "notes": list(info.notes),
            "equation": {
                "shown": model.shown_equation is not None,
                "mathml": [] if written is None else written.html(),
                "text": "" if written is None else written.text(),
                "latex": "" if written is None else written.latex(),
                "coordinates": "" if written is None else "; ".join(f"{n} is {said}" for n, said in written.meanings()),
                "order": model.order,
            },
            "coefficients": [
                {"part": c.part, "powers": list(c.powers), "value": c.value, "error": c.standard_error}
                for c in model.coefficients()
            ],
            "tables": {name: asdict(table) for name, table in tables.items()},
            "figures": {
                name: {**figure.plain(), "title": figure.title, "caption": figure.caption}
                for name, figure in figures.items()
                if name != "record"
            },
            "record": {
                "name": info.name,
                "unit": info.unit,
                "time_unit": info.time_unit,
                "end": info.t0 + info.dt * (info.n - 1),
                "dt": info.dt,
                "std": info.std,
                "curve": curve(records[-1]),
            },
            "oscillation": model.oscillation,
            "holds": ahead.time,
            "forecast": run_of(forecast),
        }
    )


def summary_of(page: dict[str, Any]) -> dict[str, Any]:
    """What the history shows of a result."""
    return {
        "grade": page["verdict"]["grade"],
        "sentence": page["verdict"]["sentence"],
        "complete": page["complete"],
        "text": page["equation"]["text"] if page["equation"]["shown"] else "",
    }


def write_result(out: Path, model: Model, records: Sequence[Series], command: str, complete: bool) -> dict[str, Any]:
    """Write page, model, forecast, report and every export into ``out``, whole or not at all; the page."""
    forecast = model.forecast(horizon_of(model))
    page = page_of(model, forecast, records, complete)
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    make_directory(part)
    model.save(part / MODEL)
    forecast.to_csv(part / FORECAST)
    (part / REPORT).write_bytes(gzip.compress(pages.report(model, forecast, command=command).encode(), 5))
    page["exports"] = []
    for name in FORMATS:
        try:
            text = export(model, name)
        except InputError:
            continue
        (part / f"{EXPORT}{name}").write_text(text, "utf-8")
        page["exports"].append(name)
    (part / PAGE).write_text(json.dumps(page, allow_nan=False), "utf-8")
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)
    return page
