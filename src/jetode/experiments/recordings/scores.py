"""One method on one case as plain data: the work of a task, its scores, and the forecasts that are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from jetode.experiments.core.scoring import blown_up, coverage, score_runs, truths
from jetode.experiments.core.store import Result, Task
from jetode.experiments.recordings import methods
from jetode.experiments.recordings.cases import Case, Source, build
from jetode.support.arrays import FloatArray

KIND = "recording"
WORK = f"{__name__}:run"
DRAWN = 3  # starts whose forecasts are shown
POINTS = 300  # of a drawn curve
BEFORE = 1.0  # oscillations before a start that are drawn


def task(source: Source, name: str, uses: tuple[str, ...], starts: int, dt: float | None) -> Task:
    """The work of one method on one case."""
    options = {
        "name": source.name,
        "method": name,
        "paths": [str(path.resolve()) for path in source.paths],
        "digest": source.digest,
        "starts": starts,
        "dt": dt,
    }
    return Task(WORK, KIND, source.name.replace(" ", "_"), 0, 1, 0, options).beside(name, *uses)


def case_of(task: Task) -> Case:
    """The case of a task."""
    options = task.options
    return build(Source(options["name"], tuple(map(Path, options["paths"]))), options["starts"], options["dt"])


def run(task: Task) -> Result:
    """Do it."""
    case = case_of(task)
    return measured(case, methods.measure(case, task.options["method"], task.seed))


def measured(case: Case, runs: methods.Runs) -> Result:
    """Scores over all starts of all records."""
    truth = [truths(r.values, ends, case.steps) for r, ends in zip(case.records, case.starts, strict=True)]
    values = np.concatenate(runs.values)
    known = np.concatenate([part.values for part in case.known])
    out = score_runs(values, np.concatenate(truth), case.spread, case.period)
    out |= {
        "blown": float(np.mean(blown_up(values, known))),
        "coverage": _coverage(case, runs, truth),
        "seconds": round(runs.fit_seconds + runs.forecast_seconds, 2),
        "fit_seconds": round(runs.fit_seconds, 2),
        "about": runs.about,
        "drawn": _drawn(case, runs),
    }
    return out


def _coverage(case: Case, runs: methods.Runs, truth: list[FloatArray]) -> float | None:
    """Share of the samples of the first oscillation, the start itself apart, inside the 90 % band."""
    if runs.lower is None or runs.upper is None:
        return None
    first = slice(1, min(round(case.period), case.steps) + 1)
    lower, upper = np.concatenate(runs.lower)[:, first], np.concatenate(runs.upper)[:, first]
    return coverage(np.concatenate(truth)[:, first].ravel(), lower.ravel(), upper.ravel())


def drawn_starts(case: Case) -> list[tuple[int, int]]:
    """(record, row of its starts) of the forecasts that are shown: first, middle and last of all."""
    every = [(i, j) for i, ends in enumerate(case.starts) for j in range(ends.size)]
    return [every[k] for k in np.unique(np.linspace(0, len(every) - 1, DRAWN).round().astype(int))]


def _drawn(case: Case, runs: methods.Runs) -> list[dict[str, Any]]:
    stride = _stride(case)
    out = []
    for i, j in drawn_starts(case):
        shown = {"values": _rounded(runs.values[i][j, ::stride], case.spread)}
        if runs.lower is not None and runs.upper is not None:
            shown["lower"] = _rounded(runs.lower[i][j, ::stride], case.spread)
            shown["upper"] = _rounded(runs.upper[i][j, ::stride], case.spread)
        out.append(shown)
    return out


def _stride(case: Case) -> int:
    return max(1, -(-(case.steps + 1) // POINTS))


def truth_drawn(case: Case) -> list[dict[str, Any]]:
    """What really happened around the starts that are shown; times in oscillations from the start."""
    stride = _stride(case)
    out = []
    for i, j in drawn_starts(case):
        end = int(case.starts[i][j])
        before = min(end, stride * round(BEFORE * case.period / stride))
        stretch = case.records[i].values[end - before : end + case.steps + 1 : stride]
        times = (stride * np.arange(stretch.size) - before) / case.period
        out.append(
            {
                "record": i + 1,
                "sample": end,
                "times": times.round(4).tolist(),
                "truth": _rounded(stretch, case.spread),
                "ahead": (stride * np.arange(-(-(case.steps + 1) // stride)) / case.period).round(4).tolist(),
            }
        )
    return out


def _rounded(values: FloatArray, spread: float) -> list[float | None]:
    """To a thousandth of the std, which no picture shows."""
    digits = max(0, 3 - int(np.floor(np.log10(spread))))
    return [round(float(v), digits) if np.isfinite(v) else None for v in values]
