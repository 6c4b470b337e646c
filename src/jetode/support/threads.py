"""Independent pieces of one computation side by side, with the same bits for any number of threads.

Kernels release the lock of the interpreter, so that two fits take the time of one.  What is cut into pieces is cut the
same way whatever there is to run them, and results are put together in the order of the pieces.  Threads that wait help
whoever asks first, also within a piece; where all are busy, the one that asks does its work itself.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, lru_cache, partial
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

VARIABLES = ("JETODE_THREADS", "NUMBA_NUM_THREADS")  # the second one is set by joblib for its workers


def thread_count() -> int:
    """How many threads to use: ``JETODE_THREADS``, else as many as there are processors for this process."""
    for name in VARIABLES:
        given = os.environ.get(name, "")
        if given.isdecimal() and int(given) > 0:
            return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Crew:
    """Threads that wait for work, one less than there are to be: the one that asks works, too."""

    def __init__(self, count: int) -> None:
        self._waiting = threading.Semaphore(count)
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="jetode")

    def begin(self, work: Callable[[], Result]) -> Future[Result] | None:
        """The work in a thread that has waited for it, which keeps quiet of what the one that asks does (NumPy's
        ``errstate``); None where none waits."""
        if not self._waiting.acquire(blocking=False):
            return None
        return self._pool.submit(self._run, partial(copy_context().run, work))

    def _run(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        finally:
            self._waiting.release()


@lru_cache(maxsize=4)
def _crew(count: int) -> _Crew:
    return _Crew(count - 1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.cache_clear)  # threads do not survive a fork


class _Shared(Generic[Item, Result]):
    """Items that several threads take one after the other, and what became of each."""

    def __init__(self, function: Callable[[Item], Result], items: list[Item]) -> None:
        self._function, self._items = function, items
        self._next, self._lock = 0, threading.Lock()
        self._done: dict[int, Result] = {}
        self._failed: dict[int, BaseException] = {}

    @property
    def more(self) -> bool:
        """Whether there is an item that nobody has taken."""
        return self._next < len(self._items) and not self._failed

    def take(self) -> bool:
        """Do the next one; whether there was one."""
        with self._lock:
            if not self.more:
                return False
            i = self._next
            self._next += 1
        try:
            self._done[i] = self._function(self._items[i])
        except BaseException as error:  # raised again by the thread that has asked
            self._failed[i] = error
        return True

    def take_all(self) -> None:
        """Do whatever is left."""
        while self.take():
            pass

    def results(self) -> list[Result]:
        """In the order of the items; the first exception, if there was one."""
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[i] for i in range(len(self._items))]


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """``[function(item) for item in items]``, in as many threads as wait for work."""
    items, count = list(items), thread_count()
    if count < 2 or len(items) < 2:
        return [function(item) for item in items]
    shared, crew = _Shared(function, items), _crew(count)
    helping: list[Future[None]] = []
    while shared.more:
        while len(helping) < len(items) - 1 and (helper := crew.begin(shared.take_all)) is not None:
            helping.append(helper)
        shared.take()
    for helper in helping:
        helper.result()
    return shared.results()


class Beside(Generic[Result]):
    """Work that may begin at once in a thread that waits, and is otherwise done when its result is asked for: never
    where that is not asked for and no thread was idle."""

    def __init__(self, work: Callable[[], Result]) -> None:
        count = thread_count()
        future = _crew(count).begin(work) if count > 1 else None
        self.begun = future is not None  # a thread has taken it
        self._result = cache(work if future is None else future.result)

    def result(self) -> Result:
        """Its result, waited for or made now."""
        return self._result()
