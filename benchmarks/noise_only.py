"""Noise without dynamics, through the whole of ``reconstruct``: how often the grade is "none", and how soon.

    python benchmarks/noise_only.py [--seeds 100] [--samples 600,2000,6000] [--only KIND ...] [--out noise-out]

White noise, AR(1), AR(2) with short and long memory, a random walk, shuffled samples of Lorenz: the records of
``screen.py``, whose number of samples goes round with the seed.  Every record is a chunk in the folder ``OUT``; a
second run goes on with those not yet there.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from screen import RECURSIONS, noise

import jetode
from jetode.catalogue.systems import systems
from jetode.experiments.core.store import ChunkStore, Task
from jetode.experiments.core.sweep import finished, jobs

KINDS = (*RECURSIONS, "random walk", "shuffled Lorenz")


def work(task: Task) -> dict[str, Any]:
    """What a worker does: one reconstruction with all defaults."""
    n = task.options["samples"]
    lorenz = systems["lorenz"].simulate(60.0, dt=0.01, transient=50.0).observe("x").values
    values, began = noise(task.label, n, task.first, lorenz), time.process_time()
    model = jetode.reconstruct(values, dt=0.01)
    return {
        "kind": task.label,
        "samples": n,
        "seed": task.first,
        "grade": model.verdict.grade,
        "screened": "screen" in model.diagnostics,
        "cpu_seconds": round(time.process_time() - began, 2),
        "reason": model.verdict.reason,
    }


def main() -> None:
    """Run what is missing and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1000, help="first seed; screen.py uses those from 0 on")
    parser.add_argument("--samples", default="600,2000,6000", help="lengths, by commas; seed i has the i-th of them")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("noise-out"), help="folder of chunks")
    given = parser.parse_args()
    lengths = [int(n) for n in given.samples.split(",")]
    tasks = [
        Task(
            "noise_only:work", "noise", kind, seed, seed + 1, 0, {"samples": lengths[seed % len(lengths)]}, ("jetode",)
        )
        for seed in range(given.first, given.first + given.seeds)
        for kind in given.only
    ]
    rows = []
    with jobs(given.jobs) as execute:
        for _, chunk in finished(tasks, ChunkStore(given.out), execute, print):
            rows.append(chunk.result)
            if chunk.result["grade"] != "none":
                print(*chunk.result.values(), flush=True)
    for kind in given.only:
        cell = [row for row in rows if row["kind"] == kind]
        seconds = [row["cpu_seconds"] for row in cell]
        print(
            f"{kind:20} {dict(Counter(row['grade'] for row in cell))} of {len(cell)}, by the screen "
            f"{sum(row['screened'] for row in cell)}; CPU s median {np.median(seconds):.2f}, most {max(seconds):.2f}"
        )


if __name__ == "__main__":
    main()
