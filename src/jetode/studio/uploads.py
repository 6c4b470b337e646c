"""Records on their way in: streamed to disk, never larger than allowed, never named by who sends them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from shutil import copyfile

from jetode.studio.settings import LIMITS
from jetode.studio.store import Record, Store
from jetode.studio.texts import say
from jetode.support.errors import InputError


class TooLarge(InputError):
    """More bytes than a record may have."""


def too_large() -> TooLarge:
    """The sentence."""
    return TooLarge(say("error_too_large", megabytes=LIMITS.upload >> 20))


def ending_of(name: str, endings: Sequence[str]) -> str:
    """The longest of the known ``endings`` that a name has, as they are known; none where it has none."""
    return max((e for e in endings if name.lower().endswith(e)), key=len, default="")


async def receive(store: Store, name: str, endings: Sequence[str], chunks: AsyncIterator[bytes]) -> Record:
    """A new record from what a page sends; nothing is left of one that breaks off or is too large."""
    record = store.add_record(name, ending_of(name, endings))
    path = store.record_path(record)
    part = path.with_name(f"{path.name}.part")
    size = 0
    try:
        with open(part, "wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > LIMITS.upload:
                    raise too_large()
                file.write(chunk)
        if not size:
            raise InputError(say("error_empty"))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        store.delete_record(record.id)
        raise
    return store.received(record.id, size)


def take_in(store: Store, source: Path, name: str, ending: str) -> Record:
    """A copy of a shipped file as a record; the one that is there already where it was taken in before."""
    size = source.stat().st_size
    for known in store.records():
        if (known.name, known.size) == (name, size):
            return known
    record = store.add_record(name, ending)
    copyfile(source, store.record_path(record))
    return store.received(record.id, size)
