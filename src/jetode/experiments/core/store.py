"""Finished work on disk: one file per chunk, whole or not there, with a checksum and the state of the code it is from.

Line 1 is a header (the task, SHA-256 of line 2, fingerprint, seconds), line 2 the result as JSON.  Python's JSON gives
every float64 back bit by bit.  A chunk is used only where its fingerprint (code, libraries, data, options) is that of
the task now: a resumed run never mixes two states of the code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from jetode.experiments.core.fingerprint import code_fingerprint, fingerprint
from jetode.support.files import make_directory, whole_file

Result = dict[str, Any]
DAMAGED, FOREIGN = "damaged", "foreign"


@dataclass(frozen=True)
class Task:
    """A piece of work that any worker can do: rows ``first`` … ``stop`` − 1 of ``kind`` for ``label``.

    ``work`` is the function that does it, "module:function"; it takes the task and returns plain data.  ``uses`` names
    further modules, found by name at run time, whose code counts too.
    """

    work: str
    kind: str
    label: str
    first: int
    stop: int
    seed: int
    options: Mapping[str, Any]
    uses: tuple[str, ...] = ()

    def beside(self, name: str, *uses: str) -> Task:
        """The same work for another method, whose code is in the modules ``uses``."""
        return replace(self, label=f"{self.label}-{name}", uses=(*self.uses, *uses))

    @property
    def key(self) -> str:
        """Name of the chunk."""
        return f"{self.kind}_{self.label}_{self.first:05d}-{self.stop:05d}"

    @property
    def group(self) -> tuple[str, str]:
        """What its rows are joined under."""
        return self.kind, self.label

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes the result."""
        modules = (self.work.partition(":")[0], *self.uses)
        return fingerprint([code_fingerprint(module) for module in modules], self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"options": dict(self.options)}


@dataclass(frozen=True)
class Chunk:
    """A result and how long it took, by the clock and by the processor."""

    result: Result
    seconds: float
    cpu_seconds: float


class ChunkStore:
    """The folder of chunks."""

    def __init__(self, folder: Path) -> None:
        self.folder = make_directory(folder)
        for leftover in self.folder.glob(".*.part"):  # of a process that was killed while it wrote
            leftover.unlink()

    @property
    def empty(self) -> bool:
        """Whether no chunk is there."""
        return next(self.folder.glob("*.chunk"), None) is None

    def clear(self) -> None:
        """Delete all chunks."""
        for path in self.folder.glob("*.chunk"):
            path.unlink()

    def path(self, task: Task) -> Path:
        """Where the chunk of a task lies."""
        return self.folder / f"{task.key}.chunk"

    def save(self, task: Task, chunk: Chunk) -> None:
        """Write a chunk, whole or not at all."""
        body = json.dumps(chunk.result)
        header = {
            "task": task.to_json(),
            "sha256": hashlib.sha256(body.encode()).hexdigest(),
            "fingerprint": task.fingerprint,
            "seconds": chunk.seconds,
            "cpu_seconds": chunk.cpu_seconds,
        }
        with whole_file(self.path(task)) as file:
            file.write(f"{json.dumps(header)}\n{body}\n")

    def load(self, task: Task) -> Chunk | str | None:
        """The chunk; None where there is none; one word, "damaged" or "foreign", where it cannot be used."""
        found = _read(self.path(task))
        if found is None or isinstance(found, str):
            return found
        return found[1] if found[2] == task.fingerprint else FOREIGN

    def kept(self, kind: str) -> tuple[list[tuple[Task, Chunk]], int]:
        """All sound chunks of a kind that this state of the code has left, in order, and how many others lie there."""
        found, others = [], 0
        for path in sorted(self.folder.glob(f"{kind}_*.chunk")):
            read = _read(path)
            if isinstance(read, tuple) and _is_of_now(read[0], read[2]):
                found.append(read[:2])
            else:
                others += 1
        return found, others


def _is_of_now(task: Task, stated: str) -> bool:
    """Whether a fingerprint is that of the task as of now; a header may name code that is not there any more."""
    try:
        return stated == task.fingerprint
    except (ImportError, ValueError, TypeError, AttributeError):
        return False


def _read(path: Path) -> tuple[Task, Chunk, str] | str | None:
    """A chunk with its task and the fingerprint that it states; its body is checked against its checksum."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    header, _, body = text.partition(b"\n")
    try:
        head = json.loads(header)
        given = head["task"]
        task, stated = Task(**given | {"uses": tuple(given["uses"])}), head["fingerprint"]
        if head["sha256"] != hashlib.sha256(body.rstrip(b"\n")).hexdigest():
            return DAMAGED
        chunk = Chunk(json.loads(body), float(head["seconds"]), float(head["cpu_seconds"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return DAMAGED
    return task, chunk, stated


def others_text(count: int, folder: Path) -> str:
    """What is said of chunks that are not used."""
    return f"{count} results in {folder} are damaged or from another state of the code; they are left out."
