"""What a file of this folder must say of its format, and the guards that all of them share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jetode.records.table import Reading, Table
from jetode.support.errors import InputError

# A packed file may unpack to this many bytes, or to this many times its size, whichever is more: records of numbers
# pack 2 to 20 times, archives made to fill a memory 1,000 times.
UNPACKED_BYTES = 64 << 20
UNPACKED_TIMES = 100
SEEN_BYTES = 200
STEP_NAMES = ("dt", "delta_t", "sampling_interval", "sample_interval", "tsample")
RATE_NAMES = (
    "fs",
    "sfreq",
    "srate",
    "samplerate",
    "sample_rate",
    "sampling_rate",
    "sampling_frequency",
    "samplingrate",
)


@dataclass(frozen=True)
class Format:
    """One input format: its endings, the library that reads it with the extra that installs it, and the reader."""

    name: str
    endings: tuple[str, ...]
    open: Callable[[Path, Reading], Table]
    library: str = ""
    extra: str = ""
    magic: tuple[bytes, ...] = ()  # first bytes, for files with another ending
    has_rows: bool = False  # 'skip_rows' means something


FORMATS: list[Format] = []


def register(format_: Format) -> Format:
    """Make a format known; a later one takes the endings of an earlier one."""
    FORMATS.insert(0, format_)
    return format_


def library(name: str, what: str, extra: str) -> Any:
    """The optional library that reads ``what``, or the sentence that names its extra."""
    if find_spec(name.partition(".")[0]) is None:
        raise InputError(f"Reading {what} needs the '{extra}' extra: pip install 'jetode[{extra}]'.")
    return import_module(name)


@contextmanager
def understood(path: Path, what: str) -> Iterator[None]:
    """Around calls into a library's parser, which may raise anything on a damaged file: one sentence, no warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (InputError, MemoryError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception:
        raise InputError(f"{path.name} is not {what} that can be read, or it is damaged{_seen(path)}.") from None


def _seen(path: Path) -> str:
    """What a file that should not be text begins with, where it is text."""
    with open(path, "rb") as file:
        head = file.read(SEEN_BYTES)
    line = head.decode("latin-1").partition("\n")[0].strip()
    if not line or not line.isprintable() or b"\0" in head:
        return ""
    return f" (it begins with {line[:30]!r}; a text file needs an ending such as .csv)"


def refuse_bomb(path: Path, unpacked: int) -> None:
    """Refuse a file that declares to unpack to far more than its size, before anything is unpacked."""
    packed = path.stat().st_size
    if unpacked > max(UNPACKED_BYTES, UNPACKED_TIMES * packed):
        raise InputError(
            f"{path.name} has {packed / 1e6:.3g} MB but declares {unpacked / 1e6:.3g} MB of content; it is not "
            "unpacked: save the record alone, or as CSV."
        )


def stated_step(scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Step and its unit from scalars such as ``dt`` and ``fs`` beside the record, as fields of a Column."""
    known = {name.lower(): value for name, value in scalars.items()}
    for names, invert, unit in ((STEP_NAMES, False, ""), (RATE_NAMES, True, "s")):
        for name in names:
            try:
                value = float(known[name])
            except (KeyError, TypeError, ValueError):
                continue
            if 0 < value < float("inf"):
                return {"step": 1.0 / value if invert else value, "time_unit": unit}
    return {}
