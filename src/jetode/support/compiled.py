"""Compiled kernels: how they are declared, cached on disk, and how a reader hears that they are being compiled.

numba recompiles a cached function when its own file has changed.  A kernel also contains what it calls and the
constants it reads, from other files; here the cache is stamped with the contents of the kernel's module and of
every jetode module that it imports, directly or not, and with nothing else: a fresh checkout of the same text keeps
its cache, an edit of a helper ends that of all its callers.

A :func:`kernel` is called from Python; a :func:`leaf` is called by kernels only and becomes part of them, as does a
line or two that are :func:`inlined`.  Most of the time of compilation goes into Python's side of numba, by the number
of statements, and into entries from Python and C that nobody uses: leaves have none.  Whole-array statements
(``a[:] = b``, ``a += b``, ``np.sum``) cost a second each, most of it for an error message on shapes, so kernels write
their loops out and leave set-up and summing up to NumPy.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, event

Function = TypeVar("Function", bound=Callable[..., Any])

njit: Any = numba.njit  # its published types leave out the options used here
ROOT = Path(__file__).resolve().parents[1]
IMPORT = re.compile(r"^from jetode([\w.]*) import ([^(\n]*)|^import jetode([\w.]*)", re.MULTILINE)
COMPILING = "Compiling, once for this machine: this run takes up to half a minute longer."
_log = logging.getLogger("jetode")


def kernel(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` for what Python calls: cached on disk under :func:`stamp`; other threads go on while it runs."""

    def decorate(function: Function) -> Function:
        dispatcher: Any = njit(no_cfunc_wrapper=True, nogil=True, **options)(function)
        dispatcher._cache = cache_of(function)
        return dispatcher

    return decorate


def cache_of(function: Callable[..., Any]) -> caching.FunctionCache:
    """The place on disk for what a function is compiled to."""
    return _StampedCache(function)


def leaf(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` for what only kernels call and what allocates nothing: without counting references to arrays,
    as in numba's own sorting (the counting took half of the time of an evaluation of a field)."""
    options = {"error_model": "numpy", "forceinline": True, **options}
    return njit(_nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def inlined(function: Function) -> Function:
    """``numba.njit`` for a few lines that become statements of the caller, with the caller's options, before anything
    is optimised: a short loop that is optimised on its own first comes out unrolled, and slower."""
    return njit(inline="always")(function)


class _StampedCache(caching.FunctionCache):
    """numba's cache of one function with jetode's stamp instead of the time of its file."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = caching.IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=stamp(Path(inspect.getfile(function))),
        )


def stamp(file: Path, root: Path = ROOT) -> str:
    """Fingerprint of a module's text and of that of all modules of the package that it imports."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(_reachable(file.resolve(), root)):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _reachable(file: Path, root: Path) -> set[Path]:
    """The module and what it imports at its top level from the package at ``root``, transitively."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imports(path, root, path.stat().st_mtime_ns)
    return found


@lru_cache(maxsize=256)
def _imports(file: Path, root: Path, modified: int) -> tuple[Path, ...]:
    out = []
    for package, names, plain in IMPORT.findall(file.read_text(encoding="utf-8")):
        module = root.joinpath(*(package or plain).split("."))
        members = [module / f"{word.split()[0]}.py" for word in names.split(",") if word.strip()]
        if not members and module.is_dir():  # names in brackets: any of them
            members = sorted(module.glob("*.py"))
        out += [path for path in (module.with_suffix(".py"), *members) if path.is_file()]
    return tuple(out)


class _Listener(event.Listener):
    """Counts kernels that were not in the cache; the first one is told to those who asked."""

    def __init__(self) -> None:
        self.count = 0
        self.hearers: list[Callable[[str], None]] = []

    def on_start(self, event: Any) -> None:
        if not isinstance(getattr(event.data["dispatcher"], "_cache", None), _StampedCache):
            return
        self.count += 1
        if self.count == 1:
            for tell in self.hearers or [_log.warning]:
                tell(COMPILING)

    def on_end(self, event: Any) -> None:
        pass


_listener = _Listener()
event.register("numba:compile", _listener)  # type: ignore[no-untyped-call]


@contextmanager
def told_of_compilation(tell: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, ``tell`` gets the one line that says so when the first kernel has to be compiled.

    Without it the line goes to the logger ``jetode``, which notebooks and scripts show.
    """
    _listener.hearers.append(tell)
    try:
        yield
    finally:
        _listener.hearers.remove(tell)


@contextmanager
def counting_compilations() -> Iterator[Callable[[], int]]:
    """Yields what says how many kernels have been compiled since; nobody is told."""
    before = _listener.count
    with told_of_compilation(lambda line: None):
        yield lambda: _listener.count - before
