"""Times beside those of another commit in one run: ``python benchmarks/speed.py OTHER`` (a checkout of it).

Starts of the command line, compilation of a first ``jetode demo``, a second one, fits of noisy records, and one paper
realization, of this checkout and the other in turn, so that what else the machine does falls on both.  Wall seconds and
CPU seconds of all threads, the least (compilation: the only) of ``--repeats``; ratios are this over other.

    git worktree add ../before 8eba574 && python benchmarks/speed.py ../before

``--paper`` takes the paper realization alone, with the kernels of the default cache: the shortest of them needs the
most turns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

Times = dict[str, tuple[float, float]]  # wall and CPU seconds
HERE = Path(__file__).resolve().parents[1]
STARTS = (("--version",), ("--help",), ("diagnose", "--help"))
# (system, channel, duration, dt): records of the paper's length at 15 % noise
RECORDS = (("lorenz", "x", 60.0, 0.01), ("rossler", "x", 300.0, 0.05), ("rossler", "y", 300.0, 0.05))
WORK = """
import json, sys, time
sys.path.insert(0, sys.argv[1] + "/benchmarks")
import numpy as np
import jetode
from foundation import realization

def best(run, repeats):
    run()
    out = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        out.append((time.perf_counter() - wall, time.process_time() - cpu))
    return [min(column) for column in zip(*out)]

found = {}
for system, channel, duration, dt in json.loads(sys.argv[2]):
    clean = jetode.systems[system].simulate(duration, dt=dt).observe(channel)
    noisy = clean.with_values(jetode.add_noise(clean.values, 0.15, np.random.default_rng(0)))
    found[f"fit of {system} {channel}"] = best(lambda: jetode.reconstruct(noisy), int(sys.argv[3]))
paper = jetode.systems["lorenz"].simulate(60.0, dt=0.01, transient=50.0, initial=(1, 0, 0)).observe("x")
found["paper realization"] = best(lambda: realization(paper), 20 * int(sys.argv[3]))
print(json.dumps(found))
"""


def timed(command: list[str], root: Path, cache: str | None = None) -> tuple[float, float, str]:
    """Wall and CPU seconds of a process of that checkout, and what it printed."""
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "OPENBLAS_NUM_THREADS": "1"}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, cpu, done.stdout


def worked(root: Path, records: tuple[tuple[str, str, float, float], ...], repeats: int, cache: str | None) -> Times:
    """Fits of those records and the paper realization, of one checkout."""
    work = [sys.executable, "-c", WORK, str(root), json.dumps(records), str(repeats)]
    return {name: (wall, cpu) for name, (wall, cpu) in json.loads(timed(work, root, cache)[2]).items()}


def measure(root: Path, repeats: int) -> Times:
    """Everything, of one checkout, once; compilation where there is a cache of its own."""
    found: Times = {}
    command = [sys.executable, "-m", "jetode"]
    for words in STARTS:
        found[f"jetode {' '.join(words)}"] = timed([*command, *words], root)[:2]
    with tempfile.TemporaryDirectory() as folder:
        demo = [*command, "demo", "--quiet", "--out", f"{folder}/demo"]
        first = timed(demo, root, f"{folder}/cache")
        second = timed(demo, root, f"{folder}/cache")
        found["compilation of a first demo"] = (first[0] - second[0], first[1] - second[1])
        found["second demo"] = second[:2]
        return found | worked(root, RECORDS, repeats, f"{folder}/cache")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="a checkout of the commit to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2, help="how often the two checkouts take turns")
    parser.add_argument("--paper", action="store_true", help="the paper realization alone")
    arguments = parser.parse_args()
    roots = {"this": HERE} | ({"other": arguments.other.resolve()} if arguments.other else {})
    rounds: dict[str, list[Times]] = {name: [] for name in roots}
    for _ in range(arguments.rounds):
        for name, root in roots.items():
            once = worked(root, (), arguments.repeats, None) if arguments.paper else measure(root, arguments.repeats)
            rounds[name].append(once)
    best = {
        name: {key: tuple(min(r[key][i] for r in runs) for i in (0, 1)) for key in runs[0]}
        for name, runs in rounds.items()
    }
    fits = [key for key in best["this"] if key.startswith("fit of ")]
    for found in best.values() if fits else ():
        found["median fit"] = tuple(median(found[key][i] for key in fits) for i in (0, 1))
    print(f"{'':30s}{'wall s':>9s}{'other':>9s}{'ratio':>7s}{'CPU s':>9s}{'other':>9s}{'ratio':>7s}")
    for key, ours in best["this"].items():
        theirs = best.get("other", best["this"])[key]
        pairs = (f"{a:9.4f}{b:9.4f}{a / b:7.2f}" for a, b in zip(ours, theirs, strict=True))
        print(f"{key:30s}{''.join(pairs)}", flush=True)


if __name__ == "__main__":
    main()
