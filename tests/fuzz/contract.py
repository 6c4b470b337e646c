"""What every command keeps to, whatever it is given, and a case that tries it.

Exit 0, 2, 3 or 4; one sentence on stderr where something is wrong; no traceback, no warning, no hang; memory within
three times the file; no file but those that were asked for, and these only where the command succeeded.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from click.testing import CliRunner

CODES = (0, 2, 3, 4)
SECONDS = 60
TIMES, SPARE = 3, 96 << 20  # of memory beyond that of the interpreter: the file's size, and what its library needs


@dataclass(frozen=True)
class Case:
    """A command with its arguments, or another call; the damaged file it is about and the file it may write."""

    words: tuple[str, ...]
    path: Path
    out: Path | None = None
    call: Callable[[], object] | None = None

    @property
    def label(self) -> str:
        return f"{self.path.name} {' '.join(self.words)}"


class Hang(BaseException):
    """A case took longer than it may."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hang

    earlier = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)


@contextmanager
def low_level_output() -> Iterator[SimpleNamespace]:
    """What C libraries write to file descriptors 1 and 2."""
    seen = SimpleNamespace(text="")
    libc = ctypes.CDLL(None)
    with tempfile.TemporaryFile() as file:
        saved = [os.dup(1), os.dup(2)]
        sys.stdout.flush()
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
        try:
            yield seen
        finally:
            libc.fflush(None)
            for descriptor, copy in zip((1, 2), saved, strict=True):
                os.dup2(copy, descriptor)
                os.close(copy)
            file.seek(0)
            seen.text = file.read().decode("utf-8", "replace")


def no_diagnosis(record: object, seed: int = 0) -> SimpleNamespace:
    """In place of the diagnosis: the record has been read, which is what is tried here."""
    return SimpleNamespace(text=lambda: f"{record.n} samples", to_json=dict)  # type: ignore[attr-defined]


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def problem_of(case: Case, diagnosed: bool = False) -> tuple[int, str]:
    """(exit code, what breaks the contract, else an empty string)."""
    from jetode.cli.main import cli

    before, memory, size = set(case.path.parent.iterdir()), peak(), case.path.stat().st_size
    replaced = mock.patch("jetode.signal.diagnose.diagnose", no_diagnosis) if not diagnosed else mock.patch.dict({})
    try:
        with replaced, warnings.catch_warnings(record=True) as caught, low_level_output() as low, limited(SECONDS):
            warnings.simplefilter("always")
            if case.call is not None:
                case.call()
                result = SimpleNamespace(exception=None, exit_code=0, stderr="")
            else:
                result = CliRunner().invoke(cli, list(case.words))
    except Hang:
        return -1, f"took more than {SECONDS} s"
    except Exception as error:
        return -1, f"{type(error).__name__}: {error}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return -1, f"{type(result.exception).__name__}: {result.exception}"
    if caught or low.text:
        return result.exit_code, f"warnings: {[str(w.message) for w in caught]} {low.text!r}"
    if peak() - memory > TIMES * size + SPARE:
        return result.exit_code, f"took {(peak() - memory) >> 20} MB for a file of {size} bytes"
    return result.exit_code, _said(result.exit_code, result.stderr) or _left(case, result.exit_code, before)


def _said(code: int, text: str) -> str:
    """What is wrong with the exit code or with what stands on stderr."""
    if code not in CODES:
        return f"exit code {code}"
    if "Traceback" in text or "Warning" in text:
        return f"warnings: {text!r}"
    sentence = text.startswith("Error: ") and text.count("\n") == 1 and text.endswith((".\n", ")\n", "?\n"))
    return f"not one sentence: {text!r}" if code and not sentence else ""


def _left(case: Case, code: int, before: set[Path]) -> str:
    """What is wrong with the files that are there now."""
    new = set(case.path.parent.iterdir()) - before
    wanted = {case.out} if case.out is not None and code in (0, 3, 4) else set()
    return f"left {sorted(p.name for p in new)} behind" if new != wanted else ""
