"""Independent pieces of one computation side by side, with the same bits for any number of threads.

Kernels release the lock of the interpreter, so that two fits take the time of one.  What is cut into pieces is cut the
same way whatever there is to run them, and results are put together in the order of the pieces.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

VARIABLES = ("JETODE_THREADS", "NUMBA_NUM_THREADS")  # the second one is set by joblib for its workers
_here = threading.local()


def thread_count() -> int:
    """How many threads to use: ``JETODE_THREADS``, else as many as there are processors for this process."""
    for name in VARIABLES:
        given = os.environ.get(name, "")
        if given.isdecimal() and int(given) > 0:
            return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """``[function(item) for item in items]``; within such a call, one after the other."""
    items = list(items)
    count = min(thread_count(), len(items))
    if count < 2 or getattr(_here, "busy", False):
        return [function(item) for item in items]
    waiting = [_pool(thread_count()).submit(_run, function, item) for item in items[1:]]
    try:
        # this thread takes its share: the first, and then whatever nobody has begun
        out = [_run(function, items[0])]
        for item, future in zip(items[1:], waiting, strict=True):
            out.append(_run(function, item) if future.cancel() else future.result())
    finally:
        for future in waiting:
            future.cancel()
    return out


def _run(function: Callable[[Item], Result], item: Item) -> Result:
    before = getattr(_here, "busy", False)
    _here.busy = True
    try:
        return function(item)
    finally:
        _here.busy = before


@lru_cache(maxsize=4)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count - 1, thread_name_prefix="jetode")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork
