"""Finished work on disk: one file per chunk, whole or not there, with a checksum and the settings it belongs to.

Line 1 is a header (SHA-256 of line 2, fingerprint of the task, seconds), line 2 the result as JSON.  Python's JSON
gives every float64 back bit by bit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jetode
from jetode.support.files import make_directory, whole_file

Result = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A piece of work that any worker can do: rows ``first`` … ``stop`` − 1 of ``kind`` for ``label``."""

    kind: str
    label: str
    first: int
    stop: int
    seed: int
    options: Mapping[str, Any]

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
        data = [jetode.__version__, self.kind, self.label, self.first, self.stop, self.seed, dict(self.options)]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


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
        digest = hashlib.sha256(body.encode()).hexdigest()
        times = {"seconds": chunk.seconds, "cpu_seconds": chunk.cpu_seconds}
        header = json.dumps({"sha256": digest, "fingerprint": task.fingerprint, **times})
        with whole_file(self.path(task)) as file:
            file.write(f"{header}\n{body}\n")

    def load(self, task: Task) -> Chunk | str | None:
        """The chunk; None where there is none; one word, "damaged" or "foreign", where it cannot be used."""
        try:
            text = self.path(task).read_bytes()
        except FileNotFoundError:
            return None
        header, _, body = text.partition(b"\n")
        try:
            head = json.loads(header)
            sound = head["sha256"] == hashlib.sha256(body.rstrip(b"\n")).hexdigest()
            times, fingerprint = (float(head["seconds"]), float(head["cpu_seconds"])), head["fingerprint"]
        except (ValueError, KeyError, TypeError):
            return "damaged"
        if not sound:
            return "damaged"
        return Chunk(json.loads(body), *times) if fingerprint == task.fingerprint else "foreign"
