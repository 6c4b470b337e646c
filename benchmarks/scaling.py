"""Time and memory of the joint fit against record length: ``python benchmarks/scaling.py --json scaling.json``.

Lorenz x at 15 % noise and dt 0.01, 6,000 to 200,000 samples, each length in a process of its own so that its peak of
memory is its own.  The search looks at a fixed stretch, so its cost does not grow; what grows is linear.  Times are
CPU seconds of one thread after a warm-up fit; set OPENBLAS_NUM_THREADS=1.  Memory is the peak above that of the
process after the warm-up.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import jetode
from jetode.catalogue.systems import systems

LENGTHS = (6_000, 12_500, 25_000, 50_000, 100_000, 200_000)


def peak() -> float:
    """Peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def measure(samples: int) -> dict[str, Any]:
    """One fit of ``samples`` samples, in this process."""
    clean = systems["lorenz"].simulate(samples * 0.01).observe("x")
    record = clean.with_values(jetode.add_noise(clean.values, 0.15, np.random.default_rng(0)))
    jetode.reconstruct(record.slice(0, 3_000)).forecast(1.0)
    before = peak()
    begin = time.thread_time()
    model = jetode.reconstruct(record)
    seconds = time.thread_time() - begin
    begin = time.thread_time()
    model.forecast(2.0)
    return {
        "samples": record.n,
        "seconds": seconds,
        "forecast_seconds": time.thread_time() - begin,
        "microseconds_per_sample": 1e6 * seconds / record.n,
        "megabytes": peak() - before,
        "error_n": jetode.relative_l2(model.closure, systems["lorenz"].closure("x"))[0],
        "trusted": model.verdict.trusted,
    }


def main() -> None:
    """Each length in a process of its own, then the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one)))
        return
    rows = []
    print(f"{'samples':>8s} {'seconds':>8s} {'µs/sample':>10s} {'MB':>7s} {'N error %':>10s}")
    for samples in arguments.lengths:
        command = [sys.executable, __file__, "--one", str(samples)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        row = json.loads(done.stdout)
        rows.append(row)
        print(
            f"{row['samples']:8d} {row['seconds']:8.2f} {row['microseconds_per_sample']:10.1f} "
            f"{row['megabytes']:7.0f} {100 * row['error_n']:10.4f}",
            flush=True,
        )
    if len(rows) > 1:
        ratio = rows[-1]["microseconds_per_sample"] / rows[0]["microseconds_per_sample"]
        print(f"time per sample, longest over shortest: {ratio:.2f}")
    for one, other in pairwise(rows):  # the shortest lengths fit into what the warm-up took
        further = 1024.0 * (other["megabytes"] - one["megabytes"]) / (other["samples"] - one["samples"])
        print(f"memory per further sample, {one['samples']} to {other['samples']}: {further:.2f} kB")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
