"""Many records through ``jetode batch``: seconds, and whether three SIGKILLs change anything, with one worker, with two
and on a local Dask cluster.

    python benchmarks/batch.py                               # 1,000 files, the paper's method: the batch is measured
    python benchmarks/batch.py --records 100 --method joint  # the default fit, about a second a file

Each record is a damped oscillation, 400 samples with 1 % noise, of a frequency and a damping of its own.  The tables
and model files of all runs are compared byte by byte with those of one worker that nobody disturbed.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

DT, NOISE = 0.1, 0.01
OPTIONS = {
    "paper": ("--order", "2", "--denominator-degree", "1", "--numerator-degree", "2"),
    "joint": ("--order", "2"),
}
WORKERS = {"one worker": ("--jobs", "1"), "two workers": ("--jobs", "2"), "Dask, two workers": ("--scheduler",)}
KILLED_AT = (0.25, 0.5, 0.75)  # shares of the files


def write_records(folder: Path, count: int, samples: int) -> None:
    """The files."""
    t = DT * np.arange(samples)
    for i in range(count):
        rng = np.random.default_rng(i)
        frequency, damping = 1.0 + rng.random(), 0.01 + 0.02 * rng.random()
        values = np.exp(-damping * t) * np.sin(frequency * t) + NOISE * rng.standard_normal(samples)
        np.savetxt(folder / f"r{i:05}.csv", np.column_stack([t, values]), delimiter=",", header="t,x", comments="")


def run(words: list[str], out: Path, count: int, shares: tuple[float, ...]) -> tuple[float, int]:
    """Seconds of a run that is killed at these shares of its files and started again, and how often it was caught."""
    begin, caught = time.perf_counter(), 0
    for share in shares:
        process = subprocess.Popen(words)
        while process.poll() is None and len(list(out.glob("chunks/*.chunk"))) < share * count:
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
        caught += process.wait() == -signal.SIGKILL
    subprocess.run(words, check=True)
    return time.perf_counter() - begin, caught


def same(first: Path, second: Path) -> bool:
    """Tables and models byte by byte, and no model that only one of them has."""
    models = [sorted(path.name for path in (out / "models").iterdir()) for out in (first, second)]
    return (
        filecmp.cmp(first / "results.csv", second / "results.csv", shallow=False)
        and models[0] == models[1]
        and filecmp.cmpfiles(first / "models", second / "models", models[0], shallow=False)[1:] == ([], [])
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--method", choices=list(OPTIONS), default="paper")
    asked = parser.parse_args()
    from distributed import LocalCluster

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "records")
        folder.mkdir()
        write_records(folder, asked.records, asked.samples)
        start = [sys.executable, "-m", "jetode", "batch", f"{folder}/*.csv", "--quiet", *OPTIONS[asked.method]]
        reference = Path(place, "one worker")
        found: dict[str, object] = {"records": asked.records, "samples": asked.samples, "method": asked.method}
        for name, where in WORKERS.items():
            on_dask = where == ("--scheduler",)
            for shares in ((), KILLED_AT):
                label = f"{name}, killed three times" if shares else name
                out = Path(place, label)
                with (
                    LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
                    if on_dask
                    else nullcontext() as dask
                ):
                    words = [*start, "--out", str(out), *where, *([dask.scheduler_address] if on_dask else [])]
                    seconds, caught = run(words, out, asked.records, shares)
                found[label] = {"seconds": round(seconds, 1), "kills": caught, "same": same(reference, out)}
                print(label, found[label], file=sys.stderr, flush=True)
        found["bytes"] = {path.name: path.stat().st_size for path in sorted(reference.glob("*.*"))}
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
