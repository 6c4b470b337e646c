"""The studio's pages and its job API (docs/studio.md) as one ASGI application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from jetode import __version__
from jetode.studio import files
from jetode.studio.asked import LOSSES, Asked, Settings, line, tidy
from jetode.studio.compare import compare
from jetode.studio.events import Events
from jetode.studio.guard import App, Guard
from jetode.studio.processes import Crashed, Worker, crash_message
from jetode.studio.queue import Queue
from jetode.studio.settings import LIMITS, MODEL
from jetode.studio.store import WAITING, Job, Record, Store
from jetode.studio.texts import say
from jetode.studio.uploads import TooLarge, receive, too_large
from jetode.support.errors import InputError

Handler = Callable[[Request], Awaitable[Response]]


class Refused(Exception):
    """An answer that is not 200: a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Studio:
    """History, queue, the process for quick questions, and the pages that listen."""

    def __init__(self, store: Store) -> None:
        self.store, self.events, self.desk = store, Events(), Worker()
        self.queue = Queue(store, self.events)
        self._endings: asyncio.Future[list[str]] | None = None

    # -- small helpers -----------------------------------------------------------------------------------------

    async def endings(self) -> list[str]:
        """Endings of the files that jetode reads; asked once, of the process that imports the readers."""
        if self._endings is None or (self._endings.done() and self._endings.exception() is not None):
            self._endings = asyncio.ensure_future(self._ask_endings())
        return await asyncio.shield(self._endings)

    async def _ask_endings(self) -> list[str]:
        found = await self.desk.run("warm", {})
        return [str(ending) for ending in found["endings"]]

    def record(self, request: Request) -> Record:
        try:
            return self.store.record(int(request.path_params["id"]))
        except KeyError:
            raise Refused(404, say("error_no_record")) from None

    def job(self, request: Request, name: str = "id") -> Job:
        try:
            return self.store.job(int(request.path_params[name]))
        except KeyError:
            raise Refused(404, say("error_no_job")) from None

    async def ask(self, task: str, given: dict[str, Any]) -> dict[str, Any]:
        """The answer of the process for quick questions."""
        try:
            return await self.desk.run(task, given, seconds=LIMITS.look_seconds)
        except Crashed as error:
            raise Refused(500, crash_message(error)) from None
        except TimeoutError:
            raise Refused(503, say("error_slow", seconds=f"{LIMITS.look_seconds:.0f}")) from None

    def place(self, record: Record, asked: Asked) -> dict[str, Any]:
        return {"path": str(self.store.record_path(record)), "name": record.name, "asked": asked.to_json()}

    # -- records -----------------------------------------------------------------------------------------------

    async def state(self, request: Request) -> Response:
        """GET /api/state: what every page needs to know."""
        return JSONResponse(
            {
                "version": __version__,
                "events": self.events.count,
                "limit": LIMITS.upload,
                "losses": LOSSES,
                "records": [record.to_json() for record in self.store.records()],
                "jobs": [self.queue.view(job) for job in self.store.jobs()],
            }
        )

    async def upload(self, request: Request) -> Response:
        """POST /api/records?name=: the bytes of a file."""
        name = tidy(request.query_params.get("name", "")) or say("record_unnamed")
        with suppress(ValueError):
            if int(request.headers.get("content-length", 0)) > LIMITS.upload:
                raise too_large()
        record = await receive(self.store, name, await self.endings(), request.stream())
        self.events.send("record", record.to_json())
        return JSONResponse(record.to_json(), 201)

    async def look(self, request: Request) -> Response:
        """POST /api/records/{id}/look: columns, curve and diagnosis as the record is to be read."""
        record, asked = self.record(request), Asked.of(await body(request))
        found = await self.ask("look", self.place(record, asked))
        if "problem" not in found:
            self.store.set_reading(record.id, asked.to_json())
        self.queue.warm()
        return JSONResponse(found)

    async def rename_record(self, request: Request) -> Response:
        """PATCH /api/records/{id}."""
        record, name = self.record(request), line(await body(request), "name")
        self.store.rename_record(record.id, name or record.name)
        changed = self.store.record(record.id).to_json()
        self.events.send("record", changed)
        return JSONResponse(changed)

    async def delete_record(self, request: Request) -> Response:
        """DELETE /api/records/{id}: not while a fit waits for it."""
        record = self.record(request)
        if any(record.id == one["id"] for job in self.store.jobs(WAITING) for one in job.request["records"]):
            raise Refused(409, say("error_record_needed"))
        self.store.delete_record(record.id)
        self.events.send("record_deleted", {"id": record.id})
        return JSONResponse({})

    # -- jobs --------------------------------------------------------------------------------------------------

    async def add_job(self, request: Request) -> Response:
        """POST /api/jobs: records (each an id and a reading), settings and a name."""
        given = await body(request)
        records = given.get("records")
        if not isinstance(records, list) or not 0 < len(records) <= LIMITS.records:
            raise InputError(say("error_records", count=LIMITS.records))
        wanted, names = [], []
        for one in records:
            if not isinstance(one, dict) or not isinstance(one.get("id"), int):
                raise InputError(say("error_records", count=LIMITS.records))
            try:
                names.append(self.store.record(one["id"]).name)
            except KeyError:
                raise Refused(404, say("error_no_record")) from None
            wanted.append({"id": one["id"], "reading": Asked.of(one.get("reading", {})).to_json()})
        settings = Settings.of(given.get("settings", {})).to_json()
        name = line(given, "name") or tidy(", ".join(names))
        job = self.queue.add(name, {"records": wanted, "settings": settings})
        return JSONResponse(self.queue.view(job), 201)

    async def show_job(self, request: Request) -> Response:
        """GET /api/jobs/{id}: with the best so far while it runs."""
        job = self.job(request)
        return JSONResponse({**self.queue.view(job), "best": self.queue.best.get(job.id)})

    async def rename_job(self, request: Request) -> Response:
        """PATCH /api/jobs/{id}."""
        job, name = self.job(request), line(await body(request), "name")
        changed = self.store.rename_job(job.id, name or job.name)
        self.queue.tell(changed)
        return JSONResponse(self.queue.view(changed))

    async def delete_job(self, request: Request) -> Response:
        """DELETE /api/jobs/{id}: a running one is ended."""
        self.queue.forget(self.job(request).id)
        return JSONResponse({})

    async def stop_job(self, request: Request) -> Response:
        """POST /api/jobs/{id}/stop: ends with the best so far; asked again, at once."""
        return JSONResponse(self.queue.view(self.queue.stop(self.job(request).id)))

    async def rerun_job(self, request: Request) -> Response:
        """POST /api/jobs/{id}/rerun: the same request as a new job."""
        job = self.job(request)
        for one in job.request["records"]:
            try:
                self.store.record(one["id"])
            except KeyError:
                raise Refused(409, say("job_record_gone")) from None
        return JSONResponse(self.queue.view(self.queue.add(job.name, job.request)), 201)

    async def result(self, request: Request) -> Response:
        """GET /api/jobs/{id}/result: everything on its page."""
        return JSONResponse(self._page(self.job(request)))

    def _page(self, job: Job) -> dict[str, Any]:
        page = files.page(self.store.result_path(job.id))
        if page is None:
            raise Refused(404, say("error_no_result"))
        return page

    async def compare_jobs(self, request: Request) -> Response:
        """GET /api/jobs/{id}/compare/{other}."""
        job, other = self.job(request), self.job(request, "other")
        return JSONResponse(compare(self._page(job), self._page(other)))

    async def forecast(self, request: Request) -> Response:
        """POST /api/jobs/{id}/forecast: the model run ahead from the end of another record."""
        job, given = self.job(request), await body(request)
        self._page(job)
        try:
            record = self.store.record(int(given.get("record", 0)))
        except (KeyError, ValueError, TypeError):
            raise Refused(404, say("error_no_record")) from None
        asked = Asked.of(given.get("reading", {}))
        model = str(self.store.result_path(job.id) / MODEL)
        return JSONResponse(await self.ask("forecast", {"model": model, "record": self.place(record, asked)}))

    async def file(self, request: Request) -> Response:
        """GET /api/jobs/{id}/files/{kind}: report, model, forecast, or an export."""
        job = self.job(request)
        view = "view" in request.query_params
        answer = files.download(self.store.result_path(job.id), str(request.path_params["kind"]), job.name, view)
        if answer is None:
            raise Refused(404, say("error_no_result"))
        return answer

    async def listen(self, request: Request) -> Response:
        """GET /api/events: server-sent events."""
        if self.events.full:
            raise Refused(503, say("error_streams"))
        return StreamingResponse(self.events.stream(), media_type="text/event-stream")

    # -- as an application -------------------------------------------------------------------------------------

    def routes(self) -> list[Route]:
        """Every address."""
        record, job = "/api/records/{id:int}", "/api/jobs/{id:int}"
        table: list[tuple[str, str, Handler]] = [
            ("GET", "/", files.index),
            ("GET", "/static/{name}", files.static),
            ("GET", "/api/state", self.state),
            ("GET", "/api/events", self.listen),
            ("POST", "/api/records", self.upload),
            ("POST", f"{record}/look", self.look),
            ("PATCH", record, self.rename_record),
            ("DELETE", record, self.delete_record),
            ("POST", "/api/jobs", self.add_job),
            ("GET", job, self.show_job),
            ("PATCH", job, self.rename_job),
            ("DELETE", job, self.delete_job),
            ("POST", f"{job}/stop", self.stop_job),
            ("POST", f"{job}/rerun", self.rerun_job),
            ("GET", f"{job}/result", self.result),
            ("GET", f"{job}/compare/{{other:int}}", self.compare_jobs),
            ("POST", f"{job}/forecast", self.forecast),
            ("GET", f"{job}/files/{{kind}}", self.file),
        ]
        return [Route(path, answered(handler), methods=[method]) for method, path, handler in table]

    @asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """The queue works while the server runs."""
        work = asyncio.ensure_future(self.queue.work())
        self._endings = asyncio.ensure_future(self._ask_endings())
        try:
            yield
        finally:
            for task in (work, self._endings):
                task.cancel()
            await asyncio.gather(work, self._endings, return_exceptions=True)
            await self.desk.end()
            self.store.close()


async def body(request: Request) -> dict[str, Any]:
    """The JSON object of a request, no larger than one should be."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise Refused(415, say("error_json"))
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LIMITS.body:
            raise Refused(413, say("error_body"))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Refused(400, say("error_json")) from None
    if not isinstance(found, dict):
        raise Refused(400, say("error_json"))
    return found


def answered(handler: Handler) -> Handler:
    """A handler whose refusals are JSON with one sentence."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Refused as error:
            return JSONResponse({"error": str(error)}, error.status)
        except TooLarge as error:
            return JSONResponse({"error": str(error)}, 413, {"connection": "close"})
        except InputError as error:
            return JSONResponse({"error": str(error)}, 400)
        except Crashed as error:
            return JSONResponse({"error": crash_message(error)}, 500)
        except ClientDisconnect:
            return Response(status_code=400)

    return answer


def make_app(studio: Studio, token: str, hosts: frozenset[str], port: int) -> App:
    """The application behind its guard."""
    return Guard(Starlette(routes=studio.routes(), lifespan=studio.running), token, hosts, port)
