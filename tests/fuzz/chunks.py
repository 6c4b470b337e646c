"""Cases: damaged chunks of a study, which a resumed run must tell from sound ones."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz.contract import Case
from fuzz.mutations import in_bytes, in_values


def prepare(folder: Path) -> list[Path]:
    """One finished chunk."""
    from jetode.experiments.core.store import Chunk, ChunkStore

    store = ChunkStore(folder)
    store.save(_task(), Chunk({"rows": [{"vpt": 1.5, "best": None}] * 3}, 0.5, 0.25))
    return [store.path(_task())]


def _task():  # type: ignore[no-untyped-def]
    from jetode.experiments.core.store import Task

    return Task("jetode.experiments.core.scoring:vpt_at", "paper", "lorenz-0.15", 0, 3, 7, {"degree": 3})


def make(random: Random, samples: list[Path], folder: Path) -> Case:
    """A damaged chunk, and what a resumed run does with it."""
    path = folder / samples[0].name
    data = samples[0].read_bytes()
    header, _, body = data.partition(b"\n")
    if random.random() < 0.5:
        data = in_values(random, header).replace(b"\n", b"") + b"\n" + body
    else:
        data = in_bytes(random, data)
    path.write_bytes(data)

    def resume() -> None:
        from jetode.experiments.core.store import Chunk, ChunkStore

        store = ChunkStore(folder)
        found = store.load(_task())
        assert isinstance(found, Chunk) or found in ("damaged", "foreign"), found
        if isinstance(found, Chunk):
            assert found.result == {"rows": [{"vpt": 1.5, "best": None}] * 3}
        store.kept("paper")

    return Case(("chunk",), path, call=resume)
