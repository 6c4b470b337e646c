"""The whole study: items → tasks → sweep → sections → a folder with the report."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from jetode.experiments.core.fingerprint import code_fingerprint, libraries
from jetode.experiments.core.store import Chunk, ChunkStore, Task
from jetode.experiments.core.sweep import Executor, Say, sweep
from jetode.experiments.study import beyond, clean, context, direction, output, vpt
from jetode.experiments.study.cells import GAUSSIAN, OTHER_KINDS
from jetode.experiments.study.sections import WORK, Item, Plan, Results, Section
from jetode.support.errors import InputError
from jetode.support.files import make_directory

# in the order of the report
ITEMS: dict[str, Item] = {
    item.key: item for item in (*clean.ITEMS, *vpt.ITEMS, *direction.ITEMS, *context.ITEMS, *beyond.ITEMS)
}
QUICK = Plan(realizations=20, joint=1, other_noise=3, transfer=2, peers=1, selections=1)


class Progress(Protocol):
    """A progress bar."""

    def __enter__(self) -> Progress: ...
    def __exit__(self, *exception: Any) -> None: ...
    def update(self, n: int) -> Any: ...


Bar = Callable[[int], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Study:
    """What was measured, and how long it took."""

    plan: Plan
    sections: Sequence[Section]
    rows: Sequence[tuple[str, dict[str, Any]]]
    timings: dict[str, Any]


def chosen(only: Sequence[str]) -> list[Item]:
    """The items asked for (all by default)."""
    for key in only:
        if key not in ITEMS:
            raise InputError(f"The '--only' option must be one of {', '.join(ITEMS)}. Got {key!r} instead.")
    return [item for key, item in ITEMS.items() if not only or key in only]


def _distinct(tasks: Sequence[Task]) -> list[Task]:
    return list({task.key: task for task in tasks}.values())


def run(
    plan: Plan,
    store: ChunkStore,
    execute: Executor,
    only: Sequence[str] = (),
    say: Say = lambda _: None,
    bar: Bar = lambda _: nullcontext(),
) -> Study:
    """Compute what is not there yet and build the sections."""
    items = chosen(only)
    seconds: dict[str, float] = {}
    tasks: list[Task] = []
    chunks: dict[str, Chunk] = {}
    stages: tuple[Callable[[], list[Task]], ...] = (
        lambda: [task for item in items for task in item.tasks(plan)],
        lambda: [task for item in items for task in item.later(plan, Results(tasks, chunks))],
    )
    for name, stage in zip(("sweep", "after the sweep"), stages, strict=True):
        begin = time.perf_counter()
        batch = _distinct(stage())
        if batch:
            with bar(sum(task.stop - task.first for task in batch)) as progress:
                counted = progress.update if progress is not None else (lambda _: None)
                chunks |= sweep(batch, store, execute, say, counted)
        tasks += batch
        seconds[name] = time.perf_counter() - begin
    results = Results(tasks, chunks)
    sections = [item.build(plan, results) for item in items]
    spent = _spent(tasks, chunks)
    rows = [
        (f"{kind} {label}", row)
        for kind, label in dict.fromkeys(task.group for task in tasks if task.kind in output.ROW_KINDS)
        for row in results.rows(kind, label)
    ]
    total = sum(entry["cpu_seconds"] for entry in spent.values())
    timings = {"wall_seconds": seconds, "worker_cpu_seconds": total, "workers_by_group": spent}
    return Study(plan, sections, rows, timings)


def _spent(tasks: Sequence[Task], chunks: dict[str, Chunk]) -> dict[str, dict[str, float]]:
    """Rows, wall and CPU seconds of the workers, by kind of work."""
    spent: dict[str, dict[str, float]] = {}
    for task in tasks:
        entry = spent.setdefault(f"{task.kind} {task.label}", {"rows": 0, "seconds": 0.0, "cpu_seconds": 0.0})
        entry["rows"] += task.stop - task.first
        entry["seconds"] += chunks[task.key].seconds
        entry["cpu_seconds"] += chunks[task.key].cpu_seconds
    return spent


def versions() -> dict[str, str]:
    """Of everything that can move a digit."""
    own = {name: metadata.version(name) for name in ("jetode", "sympy", "matplotlib")}
    return {**own, "python": platform.python_version(), **libraries()}


def write(study: Study, out: Path, begin: float, extra_timings: dict[str, Any]) -> None:
    """index.html, results.json, timings.json, realizations.csv and the figures; ``begin``: perf_counter of the run."""
    make_directory(out)
    about = {
        "plan": asdict(study.plan),
        "seeds": {
            "root": study.plan.seed,
            "rule": "SeedSequence(root, spawn_key=(crc32('system fraction kind'), realization, stream))",
        },
        "cells": {cell.name: {**cell.to_json(), "lengths": list(cell.lengths)} for cell in GAUSSIAN},
        "other_noise": list(OTHER_KINDS),
        "versions": versions(),
        "code": code_fingerprint(WORK.partition(":")[0]),
    }
    output.write_all(out, about, study.sections, study.rows)
    total = {"total_seconds": time.perf_counter() - begin}
    output.write_json(out / "timings.json", {**study.timings, **extra_timings, **total})
