"""What worker processes do, by name: plain data in, plain data out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jetode.studio.asked import Asked, Settings
from jetode.support.errors import InputError

Tell = Callable[[dict[str, Any]], None]


class Stop:
    """How a task hears that it should end: ``ask`` says whether it will do so with what it has (else it is ended)."""

    def __init__(self) -> None:
        self.ask: Callable[[], bool] = lambda: False


def _place(given: Mapping[str, Any]) -> tuple[Path, str, Asked]:
    return Path(given["path"]), str(given["name"]), Asked.of(given["asked"])


def warm(given: Mapping[str, Any], tell: Tell, stop: Stop) -> dict[str, Any]:
    """Import ahead what the next task needs."""
    from jetode.records.formats import endings

    if given.get("fit"):
        import jetode.reconstruction.reconstruct
        import jetode.studio.result  # noqa: F401
    else:
        import numpy as np

        from jetode.records.series import Series
        from jetode.studio.look import diagnosis

        index = np.arange(400.0)
        diagnosis(Series(np.sin(0.1 * index) + 0.1 * np.cos(index**2), 1.0), 0)  # its kernels, too
    return {"endings": endings()}


def look(given: Mapping[str, Any], tell: Tell, stop: Stop) -> dict[str, Any]:
    """A first look at a file; where it cannot be read, why, and what might help."""
    from jetode.studio.look import look as examine
    from jetode.studio.look import suggestion

    path, name, asked = _place(given)
    try:
        return examine(path, name, asked)
    except InputError as error:
        return {"problem": str(error), **suggestion(path, asked)}


def fit(given: Mapping[str, Any], tell: Tell, stop: Stop) -> dict[str, Any]:
    """The reconstruction of one system from its records; its result is written to ``out``."""
    from jetode.joint.progress import Budget
    from jetode.reconstruction.reconstruct import reconstruct
    from jetode.studio.live import Live
    from jetode.studio.look import record_of
    from jetode.studio.result import summary_of, write_result
    from jetode.support.compiled import told_of_compilation

    records = [record_of(*_place(one)) for one in given["records"]]
    settings = Settings.of(given["settings"])
    budget = Budget(settings.max_seconds)

    def cancel() -> bool:
        budget.cancel()
        return budget.has_model

    stop.ask = cancel
    with told_of_compilation(lambda text: tell({"stage": text})):
        live = Live(records, tell)
        model = reconstruct(records, method="joint", budget=budget, progress=live, **settings.to_json())
        tell({"stage": "writing the report"})
        page = write_result(Path(given["out"]), model, records, str(given["command"]), not budget.cancelled)
    return summary_of(page)


def forecast(given: Mapping[str, Any], tell: Tell, stop: Stop) -> dict[str, Any]:
    """A saved model run ahead from the end of another record."""
    from jetode.reconstruction.model import load
    from jetode.studio.look import curve, record_of
    from jetode.studio.result import horizon_of, run_of
    from jetode.support.json import plain

    series = record_of(*_place(given["record"]))
    model = load(given["model"]).with_record(series)
    ahead = model.forecast(horizon_of(model) if given.get("horizon") is None else float(given["horizon"]))
    info = model.record
    return plain(
        {
            "record": {"end": info.t0 + info.dt * (info.n - 1), "curve": curve(series), "time_unit": info.time_unit},
            "oscillation": model.oscillation,
            "notes": list(info.notes),
            "forecast": run_of(ahead),
            "csv": ahead.csv(),
        }
    )


TASKS: Mapping[str, Callable[[Mapping[str, Any], Tell, Stop], dict[str, Any]]] = {
    "warm": warm,
    "look": look,
    "fit": fit,
    "forecast": forecast,
}
