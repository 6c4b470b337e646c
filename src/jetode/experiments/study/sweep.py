"""The sweep engine: tasks in, results out, through chunks on disk, on all cores or on a Dask cluster.

A chunk is computed by a worker process with one BLAS thread (so that its bits do not depend on how many there
are), written, read back and checked before it is counted.  Whatever kills the run loses the chunks in flight.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jetode.experiments.study.chunks import Chunk, ChunkStore, Task
from jetode.experiments.study.tasks import run_task
from jetode.support.errors import InputError

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Say = Callable[[str], None]
Finished = Iterator[tuple[Task, Chunk]]
Executor = Callable[[Sequence[Task]], Finished]


def timed(task: Task) -> Chunk:
    """What a worker does."""
    begin, busy = time.perf_counter(), time.thread_time()
    result = run_task(task)
    return Chunk(result, time.perf_counter() - begin, time.thread_time() - busy)


def end_with(parent: int) -> None:
    """Let this worker end soon after its parent, even one that was killed: loky's would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def local(workers: int) -> Iterator[Executor]:
    """Worker processes of joblib's loky on this machine."""
    from joblib.externals.loky import ProcessPoolExecutor, as_completed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool = ProcessPoolExecutor(workers, env=ONE_THREAD, initializer=end_with, initargs=(os.getpid(),))

    def execute(tasks: Sequence[Task]) -> Finished:
        waiting = {pool.submit(timed, task): task for task in tasks}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except TerminatedWorkerError:
            raise InputError(
                "A worker process was killed (out of memory?); run the same command with --resume and fewer --workers."
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    try:
        yield execute
    finally:
        pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of a running Dask scheduler."""
    try:
        import distributed as imported
    except ImportError:
        raise InputError("The '--dask' option needs Dask: install jetode[dask].") from None
    distributed: Any = imported  # has no types
    try:
        client = distributed.Client(address, timeout="20s")
    except (OSError, ValueError):
        raise InputError(f"The '--dask' option must be the address of a running scheduler. Got {address!r}.") from None

    def execute(tasks: Sequence[Task]) -> Finished:
        waiting = {client.submit(timed, task, key=f"{task.key}-{task.fingerprint[:12]}"): task for task in tasks}
        for future, chunk in distributed.as_completed(waiting, with_results=True):
            yield waiting[future], chunk
            future.release()

    try:
        yield execute
    finally:
        client.close()


def sweep(
    tasks: Sequence[Task],
    store: ChunkStore,
    execute: Executor,
    say: Say = lambda _: None,
    counted: Callable[[int], None] = lambda _: None,
) -> dict[str, Chunk]:
    """All chunks by key: those on disk that are sound, the others computed; ``counted`` hears of finished rows."""
    done: dict[str, Chunk] = {}
    todo: list[Task] = []
    foreign = 0
    for task in tasks:
        found = store.load(task)
        if isinstance(found, Chunk):
            done[task.key] = found
            counted(task.stop - task.first)
            continue
        if found == "damaged":
            say(f"The chunk {store.path(task).name} is damaged; it is computed again.")
        foreign += found == "foreign"
        todo.append(task)
    if foreign:
        say(f"{foreign} chunks belong to other settings or another version; they are computed again.")
    if todo:
        for task, chunk in execute(todo):
            store.save(task, chunk)
            checked = store.load(task)
            if not isinstance(checked, Chunk):
                raise InputError(f"The chunk {store.path(task)} cannot be read back; is the disk full or failing?")
            done[task.key] = checked
            counted(task.stop - task.first)
    return done
