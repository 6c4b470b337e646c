"""A folder of recordings as cases: files grouped by system, made shorter by a stated rule, split into known and unseen.

``name_1.csv``, ``name_2.csv`` … are records of one system.  The first three quarters of each record are known;
forecasts start from samples in the rest, each from what is up to it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import numpy as np

from jetode.records.reading import read
from jetode.records.series import Series
from jetode.signal.oscillations import count_oscillations
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError

MOST = 10_000  # samples of a system in all: every method takes minutes at most
DENSE = 60.0  # samples per oscillation that are kept of a longer record; more show no more of its shape
KNOWN = 0.75  # of each record
FEWEST = 200  # samples of a record: less holds no model and no test of one
OSCILLATIONS = 4.0  # that the known part must hold at least
CAP = 10.0  # oscillations of a forecast at most
ROOM = 0.5  # of the unseen part that a forecast may fill, so that starts differ
SHORTEST = 0.5  # oscillations of a forecast at least
NUMBERED = re.compile(r"(.+?)[_-](\d+)")


@dataclass(frozen=True)
class Source:
    """Files of one system, as they lie there; ``digest`` changes with their contents."""

    name: str
    paths: tuple[Path, ...]

    @property
    def digest(self) -> str:
        """Of names and contents."""
        whole = hashlib.sha256()
        for path in self.paths:
            whole.update(path.name.encode() + b"\0" + path.read_bytes())
        return whole.hexdigest()


@dataclass(frozen=True, eq=False)
class Case:
    """Records of one system, complete and equally sampled; ``period`` is the samples per oscillation.

    ``starts`` are the start samples in each record, ``steps`` the samples of every forecast, ``notes`` what was done.
    """

    name: str
    records: tuple[Series, ...]
    period: float
    starts: tuple[IntArray, ...]
    steps: int
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> list[Series]:
        """What a model is made from."""
        return [record.slice(0, known_samples(record)) for record in self.records]

    @property
    def dt(self) -> float:
        """Sampling interval."""
        return self.records[0].dt

    @property
    def spread(self) -> float:
        """Std of the known parts, the unit of all errors."""
        return float(np.std(np.concatenate([part.values for part in self.known])))


def known_samples(record: Series) -> int:
    """How many samples of a record are known."""
    return int(KNOWN * record.n)


def sources(folder: Path) -> list[Source]:
    """The CSV files of a folder, grouped by name."""
    if not folder.is_dir():
        raise InputError(f"The 'DIR' argument must be a folder of recordings. Got {str(folder)!r} instead.")
    groups: dict[str, list[tuple[int, Path]]] = {}
    for path in sorted(folder.glob("*.csv")):
        found = NUMBERED.fullmatch(path.stem)
        name, number = (found[1], int(found[2])) if found else (path.stem, 0)
        groups.setdefault(name, []).append((number, path))
    if not groups:
        raise InputError(f"The folder {str(folder)!r} holds no CSV file.")
    out = []
    for name, members in groups.items():
        paths = tuple(path for _, path in sorted(members))
        out.append(Source(name if len(paths) > 1 else paths[0].stem, paths))
    return out


def load(path: Path, dt: float | None) -> tuple[Series, list[str]]:
    """A recording: its interval as given, as the file tells it, or 1 where nothing does."""
    notes = []
    try:
        record = read(path, dt=dt)
    except InputError:
        if dt:
            raise
        record = read(path, dt=1.0)
        notes.append(f"{path.name} does not tell its sampling interval; time is in samples")
    if record.has_gaps:
        longest = record.longest_stretch()
        notes.append(f"{path.name}: the longest stretch without a gap is used, {longest.n} of {record.n} samples")
        record = longest
    return record, notes


def oscillation(records: list[FloatArray]) -> float:
    """Samples per oscillation of smoothed records."""
    counts = sum(count_oscillations(smooth(values, 1.0, 5, "gcv").jets(0)[:, 0]) for values in records)
    return sum(values.size for values in records) / max(counts, 1.0)


def averaged(record: Series, factor: int) -> Series:
    """Means of ``factor`` samples; each stands at the middle of its samples."""
    count = record.n // factor
    values = record.values[: count * factor].reshape(count, factor).mean(axis=1)
    start = record.t0 + 0.5 * (factor - 1) * record.dt
    return replace(record, values=values, dt=factor * record.dt, t0=start, locate=None)


def reduced(records: list[Series]) -> tuple[list[Series], list[str]]:
    """At most ``MOST`` samples in all: dense records averaged to ``DENSE`` per oscillation, then cut."""
    total = sum(record.n for record in records)
    if total <= MOST:
        return records, []
    notes = []
    density = oscillation([record.values for record in records])
    factor = min(ceil(density / DENSE), ceil(total / MOST))
    if factor > 1:
        records = [averaged(record, factor) for record in records]
        notes.append(f"{total} samples at {density:.0f} per oscillation averaged over {factor}")
    share = MOST // len(records)
    if any(record.n > share for record in records):
        notes.append(f"the first {share} samples" + (" of each record" if len(records) > 1 else ""))
        records = [record.slice(0, share) for record in records]
    return records, notes


def _usable(source: Source, dt: float | None) -> tuple[list[Series], list[str]]:
    """The records of a source as they are used, alike, long enough and not constant; and what was done to them."""
    loaded = [load(path, dt) for path in source.paths]
    records, notes = [record for record, _ in loaded], [note for _, more in loaded for note in more]
    if max(r.dt for r in records) > (1 + 1e-6) * min(r.dt for r in records):
        raise InputError(f"The records of {source.name!r} must have one sampling interval; number only records alike.")
    records, more = reduced(records)
    shortest = min(record.n for record in records)
    if shortest < FEWEST:
        raise InputError(f"The recording {source.name!r} has {shortest} samples without a gap; {FEWEST} are needed.")
    if any(not record.std > 0 for record in records):
        raise InputError(f"The recording {source.name!r} is constant.")
    return records, [*notes, *more]


def build(source: Source, starts: int, dt: float | None = None) -> Case:
    """The case of a source; an :class:`InputError` says why there is none."""
    records, notes = _usable(source, dt)
    known = [record.values[: known_samples(record)] for record in records]
    period = oscillation(known)
    held = sum(part.size for part in known) / period
    unseen = min(record.n - known_samples(record) for record in records)
    steps = int(min(CAP * period, ROOM * unseen))
    if held < OSCILLATIONS or steps < SHORTEST * period:
        raise InputError(
            f"The recording {source.name!r} holds {held:.1f} oscillations in its known part and leaves room for "
            f"forecasts of {steps / period:.2f}; {OSCILLATIONS:g} and {SHORTEST:g} are needed."
        )
    return Case(source.name, tuple(records), period, _starts(records, steps, starts), steps, tuple(notes))


def _starts(records: list[Series], steps: int, count: int) -> tuple[IntArray, ...]:
    """At least ``count`` start samples in all, spread evenly over the unseen parts."""
    each = ceil(count / len(records))
    return tuple(np.unique(np.linspace(known_samples(r) - 1, r.n - 1 - steps, each).astype(np.int64)) for r in records)
