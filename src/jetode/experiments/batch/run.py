"""A batch: files in, through chunks on disk, a table (CSV, Parquet), the models and one page out."""

from __future__ import annotations

import csv
import glob
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jetode.experiments.batch.page import page
from jetode.experiments.batch.work import COLUMNS
from jetode.experiments.core.store import Chunk, ChunkStore, Task
from jetode.experiments.core.sweep import Executor, Say, cluster, finished, jobs
from jetode.records.table import Reading
from jetode.support.errors import InputError
from jetode.support.files import make_directory, whole_file, write_text

WORK = "jetode.experiments.batch.work:fit"
CHUNKS, MODELS = "chunks", "models"
WRITTEN = ("results.csv", "index.html")


@dataclass(frozen=True)
class Plan:
    """``paths`` of records, each of a system of its own; how to read and to fit them."""

    paths: tuple[Path, ...]
    reading: Reading = field(default_factory=Reading)
    fit: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def tasks(self) -> list[Task]:
        """One per file; a file that has changed is another task."""
        return [self._task(path) for path in self.paths]

    def _task(self, path: Path) -> Task:
        options = {
            "name": str(path),
            "path": str(path.resolve()),
            "content": _digest(path),
            "reading": asdict(self.reading),
            "fit": self.fit,
        }
        return Task(WORK, "batch", label(path), 0, 1, self.seed, options)


def label(path: Path) -> str:
    """A name for a file's chunk and model that is safe and its own."""
    where = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', path.stem)[:60]}-{where}"


def _digest(path: Path) -> str:
    """Of the content; empty where it cannot be read, which the worker will say."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def expand(patterns: Iterable[str]) -> tuple[Path, ...]:
    """Files that patterns such as DIR/*.csv name, each once, in order."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matches = sorted(Path(name) for name in glob.glob(pattern, recursive=True) if Path(name).is_file())
        if not matches:
            raise InputError(f"No file matches {pattern!r}.")
        found |= dict.fromkeys(matches)
    return tuple(found)


def executor(workers: int, scheduler: str | None) -> AbstractContextManager[Executor]:
    """Processes of this machine, or the workers of a Dask scheduler."""
    return jobs(workers) if scheduler is None else cluster(scheduler, "--scheduler")


def run(
    plan: Plan, out: Path, execute: Executor, say: Say, counted: Callable[[bool], None] = lambda _: None
) -> list[dict[str, Any]]:
    """All rows in the order of the files; ``counted`` hears of every finished file, and whether it had been before.

    Models appear as they are found; the table and the page at the end.
    """
    store, models = ChunkStore(out / CHUNKS), make_directory(out / MODELS)
    tasks = plan.tasks()
    known = {task.key for task in tasks if isinstance(store.load(task), Chunk)}
    found: dict[str, Chunk] = {}
    for task, chunk in finished(tasks, store, execute, say):
        found[task.key] = chunk
        place = models / f"{task.label}.json"
        if chunk.result["model"] is not None and (task.key not in known or not place.exists()):
            write_text(place, _model_text(chunk.result["model"]))
        counted(task.key in known)
    return [found[task.key].result | {"label": task.label} for task in tasks]


def _model_text(model: dict[str, Any]) -> str:
    return json.dumps(model, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def write(results: Sequence[dict[str, Any]], out: Path, command: str) -> list[Path]:
    """results.csv, results.parquet where pyarrow is there, and index.html."""
    rows = [result["row"] for result in results]
    write_text(out / WRITTEN[0], table(rows))
    places = [out / WRITTEN[0]]
    parquet = out / "results.parquet"
    if _write_parquet(rows, parquet):
        places.append(parquet)
    write_text(out / WRITTEN[1], page(results, command))
    return [*places, out / WRITTEN[1]]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """CSV, one line per file, numbers with all digits: the same from every run on the same files."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if row[name] is None else row[name] for name in COLUMNS])
    return text.getvalue()


def _write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> bool:
    try:
        import pyarrow as imported
        import pyarrow.parquet as parquet
    except ImportError:
        return False
    arrow: Any = imported
    columns = arrow.table({name: [row[name] for row in rows] for name in COLUMNS})
    with whole_file(path) as text:
        binary: Any = text  # a text file writes through one of bytes
        parquet.write_table(columns, binary.buffer)
    return True


def summary(results: Sequence[dict[str, Any]]) -> str:
    """How many files came to what."""
    grades = [result["row"]["grade"] or result["row"]["status"] for result in results]
    counts = ", ".join(
        f"{grades.count(g)} {g}" for g in ("exact", "approximate", "forecast", "none", "failed") if g in grades
    )
    return f"{len(results)} files: {counts}."
