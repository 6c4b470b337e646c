"""Worker processes as the server sees them: started when needed, one task at a time, replaced when they die."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jetode.studio.texts import say
from jetode.support.errors import InputError

LONGEST_LINE = 256 << 20  # bytes of one answer: a result page has two million at most
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Crashed(Exception):
    """The process ended before it had answered; ``code`` is how."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"the worker ended with {code}")
        self.code = code


class Worker:
    """A process of :mod:`jetode.studio.worker`.  ``kind``: it yields to others on a busy machine."""

    def __init__(self, kind: bool = False) -> None:
        self._kind = kind
        self._process: Process | None = None
        self._free = asyncio.Lock()
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        alive = self._process is not None and self._process.returncode is None
        return self._process.pid if alive and self._process is not None else None

    async def run(
        self,
        task: str,
        given: dict[str, Any],
        heard: Callable[[dict[str, Any]], None] = lambda event: None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """The result of a task; InputError with its sentence, Crashed where the process died, or TimeoutError after
        ``seconds`` (the process is then ended)."""
        async with self._free:
            try:
                async with asyncio.timeout(seconds):
                    return await self._answer(task, given, heard)
            except BaseException as error:
                if not isinstance(error, InputError):
                    await self.end()
                raise

    async def _answer(
        self, task: str, given: dict[str, Any], heard: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        process = await self._started()
        id_ = next(self._numbers)
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps({"id": id_, "task": task, "given": given}).encode() + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise Crashed(await process.wait()) from None
        async for line in process.stdout:
            message = json.loads(line)
            if message.get("id") != id_:
                continue
            if "event" in message:
                heard(message["event"])
            elif "error" in message:
                raise InputError(message["error"])
            else:
                result: dict[str, Any] = message["result"]
                return result
        raise Crashed(await process.wait())

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            command = [sys.executable, "-P", "-m", "jetode.studio.worker", *(["--kind"] if self._kind else [])]
            environment = dict.fromkeys(THREADS, "1") | dict(os.environ)
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE, env=environment, start_new_session=True
            )
        return self._process

    def ask_to_stop(self) -> None:
        """The running task ends with what it has, or the process at once where that is nothing."""
        if self.pid is not None and self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.write(b'{"stop": true}\n')

    async def end(self) -> None:
        """End the process at once."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def crash_message(error: Crashed) -> str:
    """A crash in words."""
    if error.code is not None and error.code < 0:
        return say("error_killed", signal=-error.code)
    return say("error_crashed", code=error.code)
