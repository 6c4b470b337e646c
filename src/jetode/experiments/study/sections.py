"""What a study is made of: a plan (how much of everything), results by group, and sections of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jetode.experiments.core.store import Chunk, Task
from jetode.experiments.study.cells import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 50  # realizations per chunk by the paper's method, about a second of work
READINGS = 200  # realizations on which other readings of the paper are compared
NOT_MEASURED = "not measured"
WORK = "jetode.experiments.study.tasks:run_task"


@dataclass(frozen=True)
class Plan:
    """How many realizations of everything."""

    realizations: int = 5000
    joint: int = 0
    joint_beyond: int = 0  # realizations by the joint fit under other noise and in transfer
    other_noise: int = 0
    transfer: int = 0
    peers: int = 8
    selections: int = 3
    seed: int = 0

    def split(
        self, kind: str, cell: Cell, count: int, size: int = ROWS, options: Mapping[str, Any] | None = None
    ) -> list[Task]:
        """Realizations 0 … count − 1 of a cell in chunks."""
        given = {"cell": cell.to_json(), **(options or {})}
        label = "-".join([cell.name, *([str(given["name"])] if "name" in given else [])])
        return [
            Task(WORK, kind, label, first, min(first + size, count), self.seed, given)
            for first in range(0, count, size)
        ]

    def single(self, kind: str, cell: Cell, index: int, options: Mapping[str, Any] | None = None) -> Task:
        """One realization of a cell."""
        return Task(WORK, kind, cell.name, index, index + 1, self.seed, {"cell": cell.to_json(), **(options or {})})

    def system(self, kind: str, name: str) -> Task:
        """What is done once per system."""
        return Task(WORK, kind, name, 0, 1, self.seed, {})


class Results:
    """Finished chunks, joined by group."""

    def __init__(self, tasks: Sequence[Task], chunks: Mapping[str, Chunk]) -> None:
        self._groups: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
        for task in tasks:
            self._groups.setdefault(task.group, []).append((task.first, chunks[task.key].result))

    def rows(self, kind: str, label: str) -> list[dict[str, Any]]:
        """All rows of a group in order; none where it was not asked for."""
        parts = sorted(self._groups.get((kind, label), []), key=lambda part: part[0])
        return [row for _, part in parts for row in part["rows"]]

    def one(self, kind: str, label: str) -> dict[str, Any]:
        """The only result of a group."""
        ((_, result),) = self._groups[kind, label]
        return result

    def has(self, kind: str, label: str) -> bool:
        """Whether a group was asked for."""
        return (kind, label) in self._groups


@dataclass(frozen=True)
class Table:
    """Text in rows and columns."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn."""

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Section:
    """A table or figure of the paper beside ours; ``sentence`` says whether it agrees, by how much, and why."""

    key: str
    title: str
    source: str
    sentence: str
    agrees: bool | None
    data: Mapping[str, Any]
    tables: Sequence[Table] = ()
    drawings: Sequence[Drawing] = ()


@dataclass(frozen=True)
class Item:
    """How a section is made: its tasks, those that need the results of these, and the section."""

    key: str
    tasks: Callable[[Plan], list[Task]]
    build: Callable[[Plan, Results], Section]
    later: Callable[[Plan, Results], list[Task]] = field(default=lambda plan, results: [])


def number(value: float | None, digits: int = 3) -> str:
    """A number for a table."""
    return NOT_MEASURED if value is None else f"{value:.{digits}g}"
