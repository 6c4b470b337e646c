"""A thousand records through ``jetode batch``: seconds, and the same table undisturbed, killed three times, with two
workers and on a local Dask cluster.

    python benchmarks/batch.py --records 1000 --samples 400

Each record is a sine with its harmonic and 0.1 % noise; the fit is the paper's method with given degrees, a fraction of
a second a file, so that what is measured is the batch.
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
from pathlib import Path

import numpy as np

DEGREES = ("--order", "2", "--denominator-degree", "1", "--numerator-degree", "2")


def write_records(folder: Path, count: int, samples: int) -> None:
    """The files."""
    t = 0.05 * np.arange(samples)
    for i in range(count):
        rng = np.random.default_rng(i)
        a, b = 1.0 + rng.random(), 0.3 * rng.random()
        values = np.sin(a * t) + b * np.sin(2 * a * t) + 1e-3 * rng.standard_normal(samples)
        np.savetxt(folder / f"r{i:05}.csv", np.column_stack([t, values]), delimiter=",", header="t,x", comments="")


def command(folder: Path, out: Path, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jetode",
        "batch",
        str(folder / "*.csv"),
        "--out",
        str(out),
        "--quiet",
        *DEGREES,
        *more,
    ]


def timed(words: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(words, check=True)
    return time.perf_counter() - begin


def killed(words: list[str], out: Path, count: int) -> float:
    """Killed at about a quarter, a half and three quarters of the files."""
    begin = time.perf_counter()
    for share in (0.25, 0.5, 0.75):
        process = subprocess.Popen(words)
        while process.poll() is None and len(list(out.glob("chunks/*.chunk"))) < share * count:
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(words, check=True)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=400)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        folder = root / "records"
        folder.mkdir()
        write_records(folder, asked.records, asked.samples)
        seconds = {"one worker": timed(command(folder, root / "one", "--jobs", "1"))}
        seconds["two workers"] = timed(command(folder, root / "two", "--jobs", "2"))
        seconds["two workers, killed three times"] = killed(
            command(folder, root / "killed", "--jobs", "2"), root / "killed", asked.records
        )
        from distributed import LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            seconds["Dask, two workers"] = timed(
                command(folder, root / "dask", "--scheduler", cluster.scheduler_address)
            )
        tables = [root / name / "results.csv" for name in ("one", "two", "killed", "dask")]
        same = all(filecmp.cmp(tables[0], other, shallow=False) for other in tables[1:])
        sizes = {path.name: path.stat().st_size for path in (root / "one").glob("*.*")}
        print(json.dumps({"records": asked.records, "seconds": seconds, "same table": same, "bytes": sizes}, indent=1))


if __name__ == "__main__":
    main()
