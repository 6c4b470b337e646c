"""How many threads a BLAS may use: for matrices of some hundred rows more than one only wait for each other, and spend
the processor on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread, within a block or, as ``@one_thread()``, within every call of a function."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
