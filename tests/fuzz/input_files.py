"""Cases: damaged files of every input format through the reading path of the command line."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzz.contract import Case
from fuzz.mutations import TOKENS, damaged
from fuzz.samples import write_samples

OPTIONS = (
    *([],) * 6,
    ["--dt", "0.25"],
    ["--column", "x"],
    ["--column", "1", "--dt", "1"],
    ["--column", "2"],
    ["--time", "1"],
    ["--time", "t", "--column", "2"],
    ["--skip-rows", "1"],
    ["--skip-rows", "5", "--dt", "1e-3"],
    ["--resample", "0.2"],
)

prepare = write_samples


def make(random: Random, samples: list[Path], folder: Path) -> Case:
    """A damaged file and some options."""
    sample = random.choice(samples)
    path = folder / sample.name
    path.write_bytes(damaged(random, sample.name, sample.read_bytes()))
    options = list(random.choice(OPTIONS)) if random.random() < 0.95 else ["--column", random.choice(TOKENS) or "0"]
    return Case(("diagnose", str(path), *options), path)
