"""The sweep engine: tasks in, results out, through chunks on disk, on all cores or on a Dask cluster.

A chunk is computed by a worker process with one BLAS thread (so that its bits do not depend on how many there
are), written, read back and checked before it is counted.  Whatever kills the run loses the chunks in flight.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any

from jetode.experiments.core.store import DAMAGED, FOREIGN, Chunk, ChunkStore, Task
from jetode.support.blas import one_thread
from jetode.support.errors import InputError

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Say = Callable[[str], None]
Finished = Iterator[tuple[Task, Chunk]]
Executor = Callable[[Sequence[Task]], Finished]


def timed(task: Task) -> Chunk:
    """What a worker does."""
    module, _, name = task.work.partition(":")
    work = getattr(import_module(module), name)
    begin, busy = time.perf_counter(), time.thread_time()
    result = work(task)
    return Chunk(result, time.perf_counter() - begin, time.thread_time() - busy)


def end_with(parent: int) -> None:
    """Let this worker end soon after its parent, even one that was killed: loky's would wait for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def here() -> Iterator[Executor]:
    """This process, one task after the other."""

    def execute(tasks: Sequence[Task]) -> Finished:
        for task in tasks:
            with one_thread():
                chunk = timed(task)
            yield task, chunk

    yield execute


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
                "A worker process was killed (out of memory?); run the same command again with fewer workers, it goes "
                "on from what is finished."
            ) from None
        finally:
            for future in waiting:
                future.cancel()

    try:
        yield execute
    finally:
        pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def cluster(address: str, option: str = "--dask") -> Iterator[Executor]:
    """The workers of a running Dask scheduler; ``option`` is what asked for them."""
    try:
        import distributed as imported
    except ImportError:
        raise InputError(f"The '{option}' option needs Dask: install jetode[dask].") from None
    distributed: Any = imported  # has no types
    try:
        client = distributed.Client(address, timeout="20s")
    except (OSError, ValueError):
        raise InputError(
            f"The '{option}' option must be the address of a running scheduler. Got {address!r}."
        ) from None

    def execute(tasks: Sequence[Task]) -> Finished:
        waiting = {client.submit(timed, task, key=f"{task.key}-{task.fingerprint[:12]}"): task for task in tasks}
        for future, chunk in distributed.as_completed(waiting, with_results=True):
            yield waiting[future], chunk
            future.release()

    try:
        yield execute
    finally:
        client.close()


def jobs(count: int) -> AbstractContextManager[Executor]:
    """``count`` processes: this one, or workers."""
    return here() if count == 1 else local(count)


def finished(tasks: Sequence[Task], store: ChunkStore, execute: Executor, say: Say = lambda _: None) -> Finished:
    """Every task with its chunk as it comes: first those on disk that are sound, then the others, computed."""
    todo: list[Task] = []
    foreign = 0
    for task in tasks:
        found = store.load(task)
        if isinstance(found, Chunk):
            yield task, found
            continue
        if found == DAMAGED:
            say(f"The chunk {store.path(task).name} is damaged; it is computed again.")
        foreign += found == FOREIGN
        todo.append(task)
    if foreign:
        say(
            f"{foreign} chunks in {store.folder} are from another state of the code, its libraries or its options; "
            "they are computed again."
        )
    if not todo:
        return
    for task, chunk in execute(todo):
        store.save(task, chunk)
        checked = store.load(task)
        if not isinstance(checked, Chunk):
            raise InputError(
                f"The chunk {store.path(task)} cannot be read back; is the disk full or failing, or was the code "
                "changed meanwhile?"
            )
        yield task, checked


def sweep(
    tasks: Sequence[Task],
    store: ChunkStore,
    execute: Executor,
    say: Say = lambda _: None,
    counted: Callable[[int], None] = lambda _: None,
) -> dict[str, Chunk]:
    """All chunks by key; ``counted`` hears of finished rows."""
    done: dict[str, Chunk] = {}
    for task, chunk in finished(tasks, store, execute, say):
        done[task.key] = chunk
        counted(task.stop - task.first)
    return done
