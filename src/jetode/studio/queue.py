"""The queue of fits: one after another in a worker process, told to every open page, kept on disk.

A crash of a fit is its message; a stop keeps the best model so far; jobs that were running when the server was killed
start again.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from jetode import __version__
from jetode.studio.events import Events
from jetode.studio.processes import Crashed, Worker, crash_message
from jetode.studio.settings import LIMITS
from jetode.studio.store import DONE, FAILED, QUEUED, RUNNING, STOPPED, WAITING, Job, Store
from jetode.studio.texts import say
from jetode.support.errors import InputError


class Queue:
    """Jobs, the process that does them, and what the running one has come to."""

    def __init__(self, store: Store, events: Events) -> None:
        self._store, self._events = store, events
        self._worker = Worker(kind=True)
        self._wake = asyncio.Event()
        self._running: int | None = None
        self._stopping: set[int] = set()
        self.best: dict[int, dict[str, Any]] = {}
        self.has_model: set[int] = set()

    # -- what a page asks ------------------------------------------------------------------------------------

    def add(self, name: str, request: Mapping[str, Any]) -> Job:
        """A new job at the end of the queue."""
        if len(self._store.jobs((QUEUED,))) >= LIMITS.queued:
            raise InputError(say("error_queue_full", count=LIMITS.queued))
        job = self._store.add_job(name, request, __version__)
        self.tell(job)
        self._wake.set()
        return job

    def stop(self, id_: int) -> Job:
        """A job that waits is taken out; one that runs ends with the best model so far, at once where there is none or
        where it was asked before."""
        job = self._store.job(id_)
        if job.state == QUEUED:
            job = self._store.finish(id_, STOPPED, say("job_taken_out"))
            self.tell(job)
        elif id_ == self._running:
            again = id_ in self._stopping
            self._stopping.add(id_)
            if again:
                self._end_now = asyncio.ensure_future(self._worker.end())
            else:
                self._worker.ask_to_stop()
                self.tell(job)
        return job

    def view(self, job: Job) -> dict[str, Any]:
        """A job as pages see it."""
        place = None
        if job.state == QUEUED:
            place = [other.id for other in self._store.jobs((QUEUED,))].index(job.id) + 1
        return {
            **job.to_json(),
            "place": place,
            "stopping": job.id in self._stopping,
            "has_model": job.id in self.has_model,
            "stages": self._store.stages(job.id) if job.state in WAITING else [],
        }

    def tell(self, job: Job) -> None:
        """Every open page hears of a job."""
        self._events.send("job", self.view(job))

    # -- the work --------------------------------------------------------------------------------------------

    def warm(self) -> None:
        """Start the process ahead: someone is about to fit."""
        if self._running is None and self._worker.pid is None:
            self._warming = asyncio.ensure_future(self._warm())

    async def _warm(self) -> None:
        with suppress(Crashed):
            await self._worker.run("warm", {"fit": True})

    async def work(self) -> None:
        """Do jobs until cancelled."""
        self._store.take_back(LIMITS.attempts, say("job_given_up", count=LIMITS.attempts))
        try:
            while True:
                waiting = self._store.jobs((QUEUED,))
                if waiting:
                    await self._do(waiting[0])
                    for other in waiting[1:]:
                        self._moved_up(other.id)
                else:
                    await self._wake.wait()
                    self._wake.clear()
        finally:
            await self._worker.end()

    def _moved_up(self, id_: int) -> None:
        with suppress(KeyError):
            job = self._store.job(id_)
            if job.state == QUEUED:
                self.tell(job)

    async def _do(self, job: Job) -> None:
        self._running = job.id
        self.tell(self._store.begin(job.id))
        state, message, summary = DONE, "", {}
        try:
            summary = await self._worker.run("fit", self._given(job), lambda event: self._hear(job.id, event))
        except InputError as error:
            state, message = FAILED, str(error)
        except KeyError:
            state, message = FAILED, say("job_record_gone")
        except Crashed as error:
            stopped = job.id in self._stopping
            state = STOPPED if stopped else FAILED
            message = say("job_stopped_early") if stopped else crash_message(error)
        finally:
            self._running = None
        with suppress(KeyError):  # it may have been deleted meanwhile
            self._ended(job.id, state, message, summary)

    def _ended(self, id_: int, state: str, message: str, summary: Mapping[str, Any]) -> None:
        self.best.pop(id_, None)
        self.has_model.discard(id_)
        self._stopping.discard(id_)
        self._store.job(id_)
        self.tell(self._store.finish(id_, state, message, summary))

    def _given(self, job: Job) -> dict[str, Any]:
        records = []
        for one in job.request["records"]:
            record = self._store.record(int(one["id"]))
            place = str(self._store.record_path(record))
            records.append({"path": place, "name": record.name, "asked": one["reading"]})
        return {
            "records": records,
            "settings": job.request["settings"],
            "out": str(self._store.result_path(job.id)),
            "command": command_of([one["name"] for one in records], job.request),
        }

    def _hear(self, id_: int, event: dict[str, Any]) -> None:
        try:
            self._store.job(id_)
        except KeyError:
            return
        stage = self._store.add_stage(id_, str(event["stage"]))
        if event.get("has_model"):
            self.has_model.add(id_)
        if "best" in event:
            self.best[id_] = event["best"]
        self._events.send("stage", {"job": id_, **stage, "has_model": id_ in self.has_model, "best": event.get("best")})

    def forget(self, id_: int) -> None:
        """Delete a job; the running one is ended first."""
        job = self._store.job(id_)
        if job.state == RUNNING:
            self._end_now = asyncio.ensure_future(self._worker.end())
        self._store.delete_job(id_)
        self._events.send("job_deleted", {"id": id_})


def command_of(names: list[str], request: Mapping[str, Any]) -> str:
    """The command that repeats a fit, for the report; stretches are left to the studio."""
    reading = request["records"][0]["reading"]
    words = ["jetode", "reconstruct", *names]
    for name in ("column", "time", "dt", "resample", "skip_rows"):
        if reading.get(name) is not None:
            words += [f"--{name.replace('_', '-')}", f"{reading[name]}"]
    for name in ("order", "sigma", "max_seconds", "seed"):
        if request["settings"].get(name) is not None:
            words += [f"--{name.replace('_', '-')}", f"{request['settings'][name]}"]
    return shlex.join(words)
