"""How often is the right function named?  ``python benchmarks/elements.py --seeds 5 --noise 0.01,0.05,0.15 --out FILE``

Every system of :mod:`jetode.experiments.elements.cases` × noise level × seed through the whole of ``reconstruct``; one
line of JSON each, and the table at the end.  Runs that are in FILE are not repeated.  Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from jetode.experiments.elements.bench import describe, scored
from jetode.experiments.elements.cases import CASES


def table(rows: list[dict[str, Any]]) -> str:
    """One line per system and noise level."""
    cells: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["case"], row["noise"]].append(row)
    lines = [
        "| system | element | noise | runs | named | within 3 se | exact | wrong name exact | CPU s |",
        "|" + "---|" * 9,
    ]
    for (case, noise), runs in sorted(cells.items(), key=lambda c: (list(CASES).index(c[0][0]), c[0][1])):
        exact = [r for r in runs if r["grade"] == "exact"]
        wrong = sum(not r["named"] for r in exact)
        seconds = sorted(r["seconds"] for r in runs)[len(runs) // 2]
        lines.append(
            f"| {case} | {describe(CASES[case].elements)} | {noise:.0%} | {len(runs)} | "
            f"{sum(r['named'] for r in runs)} | {sum(r['within'] for r in runs)} | "
            f"{len(exact)} | {wrong} | {seconds:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """All runs that are not there yet, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--noise", default="0.01,0.05,0.15")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("elements.jsonl"))
    parser.add_argument("--max-seconds", type=float)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    done = {(r["case"], r["noise"], r["seed"]) for r in rows}
    options = {} if given.max_seconds is None else {"max_seconds": given.max_seconds}
    for seed in range(given.seeds):
        for noise in map(float, given.noise.split(",")):
            for name in given.cases.split(","):
                if (name, noise, seed) in done:
                    continue
                row = scored(CASES[name], noise, seed, **options)
                rows.append(row)
                print(f"{name} {noise:g} {seed}: {row['grade']} {row['names']} {row['seconds']:.0f} s", flush=True)
                with given.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
