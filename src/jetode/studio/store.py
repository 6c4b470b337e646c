"""History on disk: records, jobs with their settings, stages and results, in SQLite beside the files themselves.

A file's place is made from the number of its row and from endings that this program knows: nothing that a request says
becomes part of a path.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

from jetode.support.errors import InputError
from jetode.support.files import make_directory

SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, ending TEXT NOT NULL, size INTEGER NOT NULL,
    reading TEXT NOT NULL DEFAULT '{}', created REAL NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, state TEXT NOT NULL, request TEXT NOT NULL,
    message TEXT NOT NULL DEFAULT '', summary TEXT NOT NULL DEFAULT '{}', version TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL, started REAL, finished REAL);
CREATE TABLE IF NOT EXISTS stages (
    job INTEGER NOT NULL REFERENCES jobs(id) ON DELETE CASCADE, at REAL NOT NULL, text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS stages_of ON stages(job);
"""
SCHEMA_VERSION = 1
LARGEST_ID = 2**63 - 1  # of SQLite
QUEUED, RUNNING, DONE, STOPPED, FAILED = "queued", "running", "done", "stopped", "failed"
WAITING = (QUEUED, RUNNING)


@dataclass(frozen=True)
class Record:
    """An uploaded file: ``name`` as its owner calls it, ``ending`` one that jetode reads, ``reading`` as last looked
    at."""

    id: int
    name: str
    ending: str
    size: int
    reading: Mapping[str, Any]
    created: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self) | {}


@dataclass(frozen=True)
class Job:
    """A fit: ``request`` what was asked (records and settings), ``summary`` what a list shows of its result."""

    id: int
    name: str
    state: str
    request: Mapping[str, Any]
    message: str
    summary: Mapping[str, Any]
    version: str
    attempts: int
    created: float
    started: float | None
    finished: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return vars(self) | {}


class Store:
    """The data directory: ``studio.sqlite``, ``records/``, ``results/`` and the ``token``."""

    def __init__(self, root: Path) -> None:
        self.root = make_directory(root).resolve()
        with suppress(OSError):
            self.root.chmod(0o700)
        self._records, self._results = (make_directory(self.root / name) for name in ("records", "results"))
        try:
            # one event loop uses it, whose thread need not be the one that opens it
            self._base = sqlite3.connect(self.root / "studio.sqlite", isolation_level=None, check_same_thread=False)
            self._base.row_factory = sqlite3.Row
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA foreign_keys=ON")
            self._base.executescript(SCHEMA)
            found = int(self._base.execute("PRAGMA user_version").fetchone()[0])
        except sqlite3.Error as error:
            raise InputError(f"The history in {str(self.root)!r} cannot be opened: {error}.") from None
        if found > SCHEMA_VERSION:
            raise InputError(f"The history in {str(self.root)!r} was written by a newer jetode.")
        self._base.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def close(self) -> None:
        """Write all down."""
        self._base.close()

    @property
    def token(self) -> str:
        """The word that opens the page, the same after a restart so that open pages find back."""
        place = self.root / "token"
        with suppress(OSError):
            kept = place.read_text("ascii").strip()
            if len(kept) >= 32:
                return kept
        made = secrets.token_urlsafe(32)
        place.unlink(missing_ok=True)
        place.touch(mode=0o600)
        place.write_text(made + "\n", "ascii")
        return made

    def _row(self, table: str, id_: int) -> sqlite3.Row:
        found = None
        if 0 < id_ <= LARGEST_ID:
            found = self._base.execute(f"SELECT * FROM {table} WHERE id = ?", (id_,)).fetchone()
        if found is None:
            raise KeyError(id_)
        row: sqlite3.Row = found
        return row

    # -- records ---------------------------------------------------------------------------------------------

    def add_record(self, name: str, ending: str) -> Record:
        """A record whose file is still to be written (its size is then set by :meth:`received`)."""
        asked = (name, ending, time())
        row = self._base.execute("INSERT INTO records (name, ending, size, created) VALUES (?, ?, 0, ?)", asked)
        return self.record(int(row.lastrowid or 0))

    def received(self, id_: int, size: int) -> Record:
        """The file of a record is there."""
        self._base.execute("UPDATE records SET size = ? WHERE id = ?", (size, id_))
        return self.record(id_)

    def set_reading(self, id_: int, reading: Mapping[str, Any]) -> None:
        """How the record was last looked at."""
        self._base.execute("UPDATE records SET reading = ? WHERE id = ?", (json.dumps(dict(reading)), id_))

    def record(self, id_: int) -> Record:
        """By its number; KeyError where there is none."""
        row = self._row("records", id_)
        return Record(**{**dict(row), "reading": json.loads(row["reading"])})

    def records(self) -> list[Record]:
        """The newest first."""
        rows = self._base.execute("SELECT id FROM records WHERE size > 0 ORDER BY id DESC").fetchall()
        return [self.record(row["id"]) for row in rows]

    def record_path(self, record: Record) -> Path:
        """Where its file is."""
        return self._records / f"{record.id:08d}{record.ending}"

    def rename_record(self, id_: int, name: str) -> None:
        """Only its name; the file stays."""
        self._base.execute("UPDATE records SET name = ? WHERE id = ?", (name, id_))

    def delete_record(self, id_: int) -> None:
        """The row and the file; results of it stay."""
        record = self.record(id_)
        self._base.execute("DELETE FROM records WHERE id = ?", (id_,))
        self.record_path(record).unlink(missing_ok=True)

    # -- jobs ------------------------------------------------------------------------------------------------

    def add_job(self, name: str, request: Mapping[str, Any], version: str) -> Job:
        """A job at the end of the queue."""
        row = self._base.execute(
            "INSERT INTO jobs (name, state, request, version, created) VALUES (?, ?, ?, ?, ?)",
            (name, QUEUED, json.dumps(dict(request)), version, time()),
        )
        return self.job(int(row.lastrowid or 0))

    def job(self, id_: int) -> Job:
        """By its number; KeyError where there is none."""
        row = self._row("jobs", id_)
        return Job(**{**dict(row), **{name: json.loads(row[name]) for name in ("request", "summary")}})

    def jobs(self, states: Sequence[str] = ()) -> list[Job]:
        """The oldest first; only those in ``states`` where they are given."""
        marks = ",".join("?" * len(states))
        where = f" WHERE state IN ({marks})" if states else ""
        return [
            self.job(row["id"]) for row in self._base.execute(f"SELECT id FROM jobs{where} ORDER BY id", tuple(states))
        ]

    def begin(self, id_: int) -> Job:
        """The job is being worked on."""
        self._base.execute("DELETE FROM stages WHERE job = ?", (id_,))
        self._base.execute(
            "UPDATE jobs SET state = ?, started = ?, finished = NULL, message = '', attempts = attempts + 1 "
            "WHERE id = ?",
            (RUNNING, time(), id_),
        )
        return self.job(id_)

    def finish(self, id_: int, state: str, message: str = "", summary: Mapping[str, Any] | None = None) -> Job:
        """How it ended."""
        self._base.execute(
            "UPDATE jobs SET state = ?, message = ?, summary = ?, finished = ? WHERE id = ?",
            (state, message, json.dumps(dict(summary or {})), time(), id_),
        )
        return self.job(id_)

    def take_back(self, most: int, message: str) -> None:
        """Jobs that were running when the server ended wait again; those that were started ``most`` times do not."""
        for job in self.jobs((RUNNING,)):
            if job.attempts >= most:
                self.finish(job.id, FAILED, message)
            else:
                self._base.execute("UPDATE jobs SET state = ?, started = NULL WHERE id = ?", (QUEUED, job.id))

    def rename_job(self, id_: int, name: str) -> Job:
        """Only its name."""
        self._base.execute("UPDATE jobs SET name = ? WHERE id = ?", (name, id_))
        return self.job(id_)

    def delete_job(self, id_: int) -> None:
        """The job and its result."""
        self._base.execute("DELETE FROM jobs WHERE id = ?", (id_,))
        shutil.rmtree(self.result_path(id_), ignore_errors=True)

    def result_path(self, id_: int) -> Path:
        """The directory of a job's result."""
        return self._results / f"{id_:08d}"

    # -- stages ----------------------------------------------------------------------------------------------

    def add_stage(self, id_: int, text: str) -> dict[str, Any]:
        """What a job has come to."""
        at = time()
        self._base.execute("INSERT INTO stages (job, at, text) VALUES (?, ?, ?)", (id_, at, text))
        return {"at": at, "text": text}

    def stages(self, id_: int) -> list[dict[str, Any]]:
        """All that a job has come to, in order."""
        rows = self._base.execute("SELECT at, text FROM stages WHERE job = ? ORDER BY rowid", (id_,))
        return [dict(row) for row in rows]
