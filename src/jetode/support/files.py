"""Files that are either whole or not there: written beside their place, then moved into it."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from jetode.support.errors import InputError


@contextmanager
def whole_file(path: str | Path) -> Iterator[IO[str]]:
    """A text file to write to; on any exception, Ctrl-C included, an earlier ``path`` stays as it was."""
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise InputError(f"The file {str(target)!r} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"The file {str(target)!r} cannot be written: {error.strerror}.") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text)


@contextmanager
def all_or_none() -> Iterator[None]:
    """Files that belong together: a Ctrl-C while they are written takes effect after the last of them."""
    if threading.current_thread() is not threading.main_thread():  # signals reach the main thread only
        yield
        return
    pressed = False

    def wait(*_: object) -> None:
        nonlocal pressed
        pressed = True

    earlier = signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
    if pressed:
        signal.raise_signal(signal.SIGINT)


def make_directory(path: str | Path) -> Path:
    """The directory ``path``, made when it is not there."""
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The directory {str(directory)!r} cannot be made: {error.strerror}.") from None
    return directory


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
