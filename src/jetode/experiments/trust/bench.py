"""The calibration as a benchmark: one chunk a seed, then a table, a page and every outcome as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from jetode.experiments.core.fingerprint import code_fingerprint, commit
from jetode.experiments.core.store import ChunkStore
from jetode.experiments.core.sweep import Executor, Say, finished
from jetode.experiments.trust import outcome
from jetode.experiments.trust.page import page
from jetode.experiments.trust.summary import Outcome
from jetode.experiments.trust.table import write_rows
from jetode.support.files import write_text

CODE = 12  # characters of the code's fingerprint that a row shows


def run(first: int, count: int, out: Path, execute: Executor, say: Say, contest: bool = True) -> Iterator[Outcome]:
    """The outcome of every seed, those on disk first, with the state of the code."""
    tasks = [outcome.task(seed, contest) for seed in range(first, first + count)]
    state = {"commit": commit(), "code": code_fingerprint(outcome.__name__)[:CODE]}
    for _, chunk in finished(tasks, ChunkStore(out / "chunks"), execute, say):
        yield chunk.result | state


def line(found: Outcome) -> str:
    """One outcome in one line."""
    if found["grade"] is None:
        return f"seed {found['seed']}: no flow was drawn"
    wrong = "WRONG" if found["grade"] == "exact" and found["wrong"] else ""
    return (
        f"seed {found['seed']:5} {found['kind']:7} {found['noise']:16} {found['level']:6.3f} {found['samples']:6} "
        f"samples {found['grade']:13} {wrong:6}{found['cpu_seconds']:6.1f} s"
    )


def write(outcomes: Sequence[Outcome], out: Path, command: str) -> None:
    """index.html and outcomes.csv."""
    write_text(out / "index.html", page(sorted(outcomes, key=lambda o: o["seed"]), command))
    write_rows(outcomes, out / "outcomes.csv")
