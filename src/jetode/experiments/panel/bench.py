"""The panel as a benchmark: every channel × noise level × trajectory, ours and the peers', through chunks on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jetode.experiments.core.store import ChunkStore, Result, Task, others_text
from jetode.experiments.core.sweep import Say, finished
from jetode.experiments.core.sweep import jobs as executor
from jetode.experiments.panel import beside, runs
from jetode.experiments.panel.channels import select
from jetode.support.files import write_text

COMMANDS = "commands.txt"


@dataclass(frozen=True)
class Plan:
    """What is measured: channels by name or class, noise levels, trajectories; peers on the first ``compared``."""

    channels: str
    noise: tuple[float, ...]
    trajectories: int
    compared: int
    table: str

    def ours(self) -> list[Task]:
        """One task per record."""
        return self._tasks(self.trajectories, lambda *run: [runs.task(*run)])

    def peers(self) -> list[Task]:
        """One task per record and peer."""
        return self._tasks(self.compared, beside.tasks)

    def _tasks(self, trajectories: int, make: Any) -> list[Task]:
        return [
            task
            for trajectory in range(trajectories)
            for level in self.noise
            for channel in select(self.channels.split(","), self.table)
            for task in make(channel, trajectory, level, self.table)
        ]


@dataclass(frozen=True)
class Places:
    """Where chunks lie: ours in ``out``, those of the peers in ``peers``; a place that is None is not wanted."""

    out: Path | None
    peers: Path | None

    def note(self, command: str) -> None:
        """Add a command to the list of those that the places' results come from."""
        for place in self._places():
            notes = place / COMMANDS
            known = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
            if command not in known:
                write_text(notes, "\n".join([*known, command]) + "\n")

    def commands(self) -> list[str]:
        """The commands that left the results here."""
        notes = [place / COMMANDS for place in self._places()]
        return list(dict.fromkeys(line for n in notes if n.exists() for line in n.read_text("utf-8").splitlines()))

    def results(self, table: str, say: Say) -> list[Result]:
        """Every result of a table's channels that this state of the code has left, with its peers where measured."""
        names = {c.name for c in select(["all"], table)}
        ours, others = ChunkStore(self.out).kept(runs.KIND) if self.out is not None else ([], 0)
        theirs, more = ChunkStore(self.peers).kept(beside.KIND) if self.peers is not None else ([], 0)
        if others + more:
            say(others_text(others + more, self.out or Path()))
        scores: dict[tuple[Any, ...], dict[str, float]] = {}
        for task, chunk in theirs:
            scores.setdefault(_record(task), {})[task.options["peer"]] = chunk.result["vpt"]
        return [
            chunk.result | {"peers": scores.get(_record(task), {})}
            for task, chunk in ours
            if task.options["channel"] in names and task.options["table"] == table
        ]

    def _places(self) -> list[Path]:
        return list(dict.fromkeys(place for place in (self.out, self.peers) if place is not None))


def _record(task: Task) -> tuple[Any, ...]:
    return task.options["channel"], task.options["noise"], task.options["table"], task.first


def run(plan: Plan, places: Places, jobs: int, say: Say) -> Iterator[str]:
    """Measure what is not there yet, ours first; one line for every run."""
    with executor(jobs) as execute:
        if places.out is not None:
            for _, chunk in finished(plan.ours(), ChunkStore(places.out), execute, say):
                yield line(chunk.result)
        if places.peers is not None:
            for task, chunk in finished(plan.peers(), ChunkStore(places.peers), execute, say):
                given = task.options
                where = f"{given['channel']:<20} {given['noise']:<4g} t{task.first}"
                yield f"peer  {given['peer']:<14} {where} vpt {chunk.result['vpt']:.2f}"


def line(result: Result) -> str:
    """One run in one line."""
    if "right" in result:
        word = "RIGHT" if result["right"] else "terms" if result["terms"] else "form " if result["form"] else "wrong"
        differ = " ".join([*(f"-[{t}]" for t in result["missing"]), *(f"+[{t}]" for t in result["extra"])])
        limit = f"/{result['oracle']:.2f}"
        error = "" if result["error"] is None else f" N {result['error']:.1e}"
    else:
        word, differ, limit, error = "-    ", "", "", ""
    trust = "trusted" if result["trusted"] else "refused"
    chi2 = result["chi2"]
    return (
        f"{word} {trust} {result['channel']:<20} {result['class']:<3} {result['noise']:<4g} t{result['trajectory']} "
        f"{result['seconds']:6.1f}s vpt {result['vpt']:.2f}{limit} of {result['horizon']:.1f}{error} "
        f"chi2 {'?' if chi2 is None else format(chi2, '.3f')} {differ}"
        + ("" if result["trusted"] else f" | {result['reason'][:70]}")
    )
