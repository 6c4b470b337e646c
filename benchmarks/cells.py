"""What benchmarks over kinds of record and levels of noise share: their options, and results gathered in cells."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jetode.experiments.core.store import Task

Row = Mapping[str, Any]


def options(about: str | None, names: Sequence[str], noise: str, out: str) -> argparse.ArgumentParser:
    """--only, --noise, --jobs and --out, with the defaults of one benchmark."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(names), default=list(names), metavar="NAME")
    parser.add_argument("--noise", type=levels, default=levels(noise), help="levels in std, by commas")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path(out), help="folder of chunks")
    return parser


def levels(text: str) -> tuple[float, ...]:
    """Numbers by commas."""
    return tuple(float(level) for level in text.split(","))


def seeded(given: argparse.Namespace, work: str, kind: str) -> list[Task]:
    """A task for every seed, level of noise and name that is asked for, in this order."""
    return [
        Task(work, f"{kind}-n{noise:g}", name, seed, seed + 1, 0, {"noise": noise}, ("jetode",))
        for seed in range(given.seeds)
        for noise in given.noise
        for name in given.only
    ]


def by_cell(rows: Iterable[Row], kind: str) -> list[tuple[str, float, list[Row]]]:
    """Rows of one kind and one level of noise together, in order of both."""
    cells: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row[kind], row["noise"]].append(row)
    return [(*cell, cells[cell]) for cell in sorted(cells)]
