"""The channels of ``controls.py`` from many starts: who forecasts farther where one lucky start does not decide?

    python benchmarks/control_starts.py [--trajectories 2] [--noise 0,0.05,0.15] [--only NAME ...] [--no-peers]

The panel's records, all fits as in ``controls.py``; forecasts start at the record's end and at fifteen later samples,
12.5 tc apart, each from the samples up to it, scored as the panel's (the first of 20 samples in a row that are off by
more than 0.2 std, in Lyapunov times).  A run is lost where the median over its starts is below that of a peer and short
of the horizon.  One chunk for each run and method in the folder ``OUT``; a second run goes on with those not yet there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from time import process_time
from typing import Any

import numpy as np
from cells import by_cell, options
from controls import CHANNELS, TIE

import jetode
from jetode.experiments.core.store import ChunkStore, Task
from jetode.experiments.core.sweep import finished, jobs
from jetode.experiments.panel.channels import Trial, select
from jetode.experiments.peers import registry as peers

STARTS, SPACING = 16, 250  # samples: 12.5 tc apart, two oscillations
OURS = "jetode"
Tables = Mapping[str, Sequence[str]]  # names of channels by the panel's table that they are in


def tasks(given: Any, tables: Tables) -> Iterator[Task]:
    """Ours and every peer that is there, for each record; trajectories first, so that an early end has all channels."""
    names = [] if given.no_peers else [name for name, peer in peers.available().items() if peer is not None]
    for trajectory in range(given.trajectories):
        for table, channels in tables.items():
            for channel in select([name for name in channels if name in given.only], table):
                for noise in given.noise:
                    one = {"table": table, "method": OURS}
                    yield channel.task("control_starts:ours", "starts", trajectory, noise, one)
                    for name in names:
                        other = channel.task(
                            "control_starts:theirs", "starts", trajectory, noise, one | {"method": name}
                        )
                        yield other.beside(name, peers.source(name))


def trials_of(task: Task) -> list[Trial]:
    """A record and the same with what was measured later."""
    channel = select([task.options["channel"]], task.options["table"])[0]
    return channel.records(task.first, task.options["noise"], task.seed, STARTS, SPACING)


def ours(task: Task) -> dict[str, Any]:
    """The times of the returned forecast."""
    trials = trials_of(task)
    channel, began = trials[0].channel, process_time()
    model = jetode.reconstruct(trials[0].series)
    seconds = process_time() - began
    horizon = channel.steps * channel.dt
    standing = [model, *(model.with_record(trial.series) for trial in trials[1:])]
    runs = [one.forecast(horizon, samples=0).values for one in standing]
    return result(trials, runs) | {"grade": model.verdict.grade, "seconds": round(seconds, 1)}


def theirs(task: Task) -> dict[str, Any]:
    """The times of a peer."""
    trials = trials_of(task)
    channel, began = trials[0].channel, process_time()
    rollout = peers.fit(task.options["method"], trials[0].series.values, channel.dt, task.seed)
    ends = np.array([trial.series.n - 1 for trial in trials])
    runs = rollout(trials[-1].series.values, ends, channel.steps)
    return result(trials, runs) | {"seconds": round(process_time() - began, 1)}


def result(trials: Sequence[Trial], runs: Sequence[Any]) -> dict[str, Any]:
    """Valid prediction times, one a start."""
    channel = trials[0].channel
    times = [trial.vpt(run) for trial, run in zip(trials, runs, strict=True)]
    return {"vpt": times, "horizon": channel.steps * channel.dt * channel.lyapunov}


def gathered(found: Sequence[tuple[Task, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """One row a record: ours, and the peers' times by name."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for task, one in found:
        given = task.options
        row = rows.setdefault((given["channel"], given["noise"], task.first), {"peers": {}})
        if given["method"] == OURS:
            row |= {"channel": given["channel"], "noise": given["noise"], "trajectory": task.first, **one}
        else:
            row["peers"][given["method"]] = one["vpt"]
    return list(rows.values())


def is_lost(row: Mapping[str, Any], of: Callable[[Sequence[float]], float] = np.median) -> bool:
    """Whether a peer's time is longer, the median over its starts or another one ``of`` them."""
    mine, best = of(row["vpt"]), max(map(of, row["peers"].values()), default=-np.inf)
    return bool(mine < best and mine < TIE * row["horizon"])


def line(row: Mapping[str, Any]) -> str:
    """One run: the time at the record's end and the median over all starts, beside the best peers by either."""
    last = max(row["peers"], key=lambda name: row["peers"][name][0], default=None)
    most = max(row["peers"], key=lambda name: np.median(row["peers"][name]), default=None)
    beside = [
        "" if name is None else f" ({name} {show(row['peers'][name]):.2f})"
        for name, show in ((last, lambda v: v[0]), (most, np.median))
    ]
    return (
        f"{row['channel']:21} {row['noise']:5g} t{row['trajectory']} {row['grade']:11} of {row['horizon']:.1f}: at the "
        f"end {row['vpt'][0]:.2f}{beside[0]}, median {np.median(row['vpt']):.2f}{beside[1]}, {row['seconds']:.0f} CPU s"
    )


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a cell, then the totals."""
    lines = []
    for channel, noise, cell in by_cell(rows, "channel"):
        names = sorted({name for row in cell for name in row["peers"]})
        medians = {n: float(np.median([v for row in cell for v in row["peers"][n]])) for n in names}
        shown = ", ".join(f"{n} {medians[n]:.2f}" for n in sorted(names, key=lambda n: -medians[n])[:3])
        lines.append(
            f"{channel:21} {noise:5g}  {len(cell)} runs, {sum(len(row['vpt']) for row in cell)} starts: median "
            f"{np.median([v for row in cell for v in row['vpt']]):.2f} of {cell[0]['horizon']:.1f}; {shown}; lost "
            f"{sum(map(is_lost, cell))}"
        )
    compared = [row for row in rows if row["peers"]]
    good, at_end = (sum(not is_lost(row, of) for row in compared) for of in (np.median, itemgetter(0)))
    lines.append(
        f"as good as every peer of {len(compared)}: {good} by medians over starts, {at_end} from the record's end"
    )
    return "\n".join(lines)


def measure(about: str | None, tables: Tables, noise: str, out: str) -> None:
    """Run what is missing of some channels and print."""
    every = tuple(name for names in tables.values() for name in names)
    parser = options(about, every, noise, out)
    parser.add_argument("--trajectories", type=int, default=2)
    parser.add_argument("--no-peers", action="store_true")
    given = parser.parse_args()
    with jobs(given.jobs) as execute:
        todo = list(tasks(given, tables))
        found = [(task, chunk.result) for task, chunk in finished(todo, ChunkStore(given.out), execute, print)]
    rows = gathered(found)
    print(*map(line, rows), report(rows), sep="\n")


if __name__ == "__main__":
    measure(__doc__, CHANNELS, "0,0.05,0.15", "starts-out")
