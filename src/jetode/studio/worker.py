"""A worker process: one JSON object per line in, one or more out; ``python -m jetode.studio.worker``.

In: {"id", "task", "given"} begins a task, {"stop"} asks the running one to end.  Out: {"id", "event"} while it goes on,
then {"id", "result"} or {"id", "error"}.  The process ends when its input does: never does it outlive the server.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from jetode.studio.tasks import TASKS, Stop
from jetode.studio.texts import say
from jetode.support.errors import InputError

STOPPED = 75  # exit code of a task that had nothing to end with
KINDNESS = 5  # a fit lets the page's own work go first


def main() -> None:
    """Work until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library prints must not look like an answer
    waiting: queue.Queue[dict[str, Any]] = queue.Queue()
    running: list[Stop] = []
    threading.Thread(target=listen, args=(sys.stdin.buffer, waiting, running), daemon=True).start()
    if "--kind" in sys.argv and hasattr(os, "nice"):
        os.nice(KINDNESS)
    send(out, {"ready": True})
    while True:
        work(waiting.get(), running, out)


def listen(source: IO[bytes], waiting: queue.Queue[dict[str, Any]], running: list[Stop]) -> None:
    """Hear requests while the main thread computes."""
    for line in source:
        message = json.loads(line)
        if "task" in message:
            waiting.put(message)
        elif running and not running[-1].ask():
            os._exit(STOPPED)
    os._exit(0)


def work(message: dict[str, Any], running: list[Stop], out: IO[str]) -> None:
    """Do one task; whatever goes wrong is an answer."""
    id_, stop = message["id"], Stop()
    running.append(stop)
    tell: Callable[[dict[str, Any]], None] = lambda event: send(out, {"id": id_, "event": event})  # noqa: E731
    try:
        answer: dict[str, Any] = {"result": TASKS[message["task"]](message["given"], tell, stop)}
    except InputError as error:
        answer = {"error": str(error)}
    except MemoryError:
        answer = {"error": say("error_memory")}
    except Exception as error:  # the page shows it; the trace goes to the server's log
        sys.excepthook(*sys.exc_info())
        answer = {"error": say("error_unexpected", kind=type(error).__name__, text=str(error)[:200])}
    finally:
        running.clear()
    send(out, {"id": id_, **answer})


def send(out: IO[str], message: dict[str, Any]) -> None:
    """One line."""
    out.write(json.dumps(message, allow_nan=False) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
