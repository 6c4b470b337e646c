"""Outcomes as rows of a CSV file, with the state of the code that each is from, and back: a calibration of many hours
is made in several sittings, whose files add up."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from jetode.experiments.trust.summary import Outcome
from jetode.support.errors import InputError
from jetode.support.files import whole_file

WORDS = ("kind", "noise", "grade", "reason", "commit", "code")
WHOLE = ("seed", "coordinate", "samples", "order")
FLAGS = ("chaotic", "wrong")
COLUMNS = (
    *("seed", "kind", "chaotic", "coordinate", "samples", "per_tc", "noise", "level", "grade", "order", "wrong"),
    *("error", "vpt", "band_50", "band_90", "intervals", "cpu_seconds", "reason", "commit", "code"),
)


def write_rows(outcomes: Iterable[Outcome], path: Path) -> None:
    """Every outcome a row, by seed."""
    with whole_file(path) as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(outcomes, key=lambda o: o["seed"]))


def read_rows(path: Path) -> list[Outcome]:
    """The outcomes of a file; an input error where it is not one of :func:`write_rows`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows: list[Outcome] = [
                {name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)
            ]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{path} cannot be read as outcomes of 'jetode benchmark trust': {error}") from None
    if rows and not {"seed", "grade", "noise", "level"} <= rows[0].keys():
        raise InputError(f"{path} must have the columns of 'jetode benchmark trust'. Got {', '.join(rows[0])} instead.")
    return rows


def _value(name: str, text: str) -> Any:
    if text == "":
        return None if name not in ("commit", "code") else ""
    if name in WORDS:
        return text
    if name in FLAGS:
        return text == "True"
    return int(text) if name in WHOLE else json.loads(text) if name == "intervals" else float(text)


def merged(parts: Sequence[Sequence[Outcome]]) -> list[Outcome]:
    """One outcome for each seed, of the last part that has it."""
    found = {o["seed"]: o for part in parts for o in part}
    return [found[seed] for seed in sorted(found)]
