"""Damaged files of every input format through the command line's reading path, in this process.

    python tests/fuzz/fuzz_files.py --count 20000 --seed 1

The contract: exit 0, 2, 3 or 4; one sentence on stderr when not 0; no traceback, no warning, no other file, no hang.
Every case is known by its seed and number: ``--seed 1 --first 17 --count 1 --keep DIR`` makes it again.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest import mock

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))

from mutations import TOKENS, damaged
from samples import write_samples

CODES = (0, 2, 3, 4)
SECONDS = 60
BATCH = 500
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


def make(seed: int, number: int, samples: list[Path], folder: Path) -> tuple[Path, list[str]]:
    """(damaged file, options) of one case."""
    random = Random(f"{seed}/{number}")
    sample = random.choice(samples)
    path = folder / sample.name
    path.write_bytes(damaged(random, sample.name, sample.read_bytes()))
    return path, list(random.choice(OPTIONS)) if random.random() < 0.95 else ["--column", random.choice(TOKENS) or "0"]


def problem_of(path: Path, options: list[str], diagnosed: bool = False) -> tuple[int, str]:
    """(exit code, what breaks the contract, else an empty string)."""
    from jetode.cli.main import cli

    before = set(path.parent.iterdir())
    replaced = mock.patch("jetode.signal.diagnose.diagnose", no_diagnosis) if not diagnosed else mock.patch.dict({})
    try:
        with replaced, warnings.catch_warnings(record=True) as caught, low_level_output() as low, limited(SECONDS):
            warnings.simplefilter("always")
            result = CliRunner().invoke(cli, ["diagnose", str(path), *options])
    except Hang:
        return -1, f"took more than {SECONDS} s"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return -1, f"{type(result.exception).__name__}: {result.exception}"
    said = result.stderr
    if result.exit_code not in CODES:
        return result.exit_code, f"exit code {result.exit_code}"
    if result.exit_code and not (
        said.startswith("Error: ") and said.count("\n") == 1 and said.endswith((".\n", ")\n"))
    ):
        return result.exit_code, f"not one sentence: {said!r}"
    if caught or low.text or "Traceback" in said or "Warning" in said:
        return result.exit_code, f"warnings: {[str(w.message) for w in caught]} {low.text!r}"
    if set(path.parent.iterdir()) != before:
        return result.exit_code, "left other files behind"
    return result.exit_code, ""


def run(
    seed: int, first: int, count: int, keep: Path | None = None, mark: Path | None = None
) -> tuple[Counter[int], list[str]]:
    """(exit codes, problems) of cases ``first`` to ``first + count``; ``mark`` names the case under way."""
    codes: Counter[int] = Counter()
    problems = []
    with tempfile.TemporaryDirectory() as base:
        (Path(base) / "samples").mkdir()
        samples = write_samples(Path(base) / "samples")
        for number in range(first, first + count):
            folder = Path(base) / "case"
            folder.mkdir()
            path, options = make(seed, number, samples, folder)
            if mark is not None:
                mark.write_text(f"{number} {path.name} {options}")
            code, problem = problem_of(path, options)
            codes[code] += 1
            if problem:
                problems.append(f"case {number} of seed {seed}: {path.name} {' '.join(options)}: {problem}")
            if keep is not None and (problem or count == 1):
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{number}-{path.name}").write_bytes(path.read_bytes())
            for left in folder.iterdir():
                left.unlink()
            folder.rmdir()
    return codes, problems


def in_batches(seed: int, first: int, count: int, keep: Path | None) -> int:
    """Batches in processes of their own, so that a crash inside a library is one problem and not the end."""
    start, problems, number, last = time.time(), 0, first, first + count
    with tempfile.TemporaryDirectory() as base:
        mark = Path(base) / "mark"
        while number < last:
            size = min(BATCH, last - number)
            command = [sys.executable, __file__, "--seed", str(seed), "--first", str(number), "--count", str(size)]
            command += ["--mark", str(mark), *(["--keep", str(keep)] if keep else [])]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS * size, check=False)
            sys.stdout.write(done.stdout)
            if done.returncode < 0 or (done.returncode > 1):
                problems += 1
                print(f"the process ended with {done.returncode} at case {mark.read_text()}\n{done.stderr[-2000:]}")
                number = int(mark.read_text().split()[0]) + 1
                continue
            problems += done.returncode
            number += size
            print(f"{number - first} of {count} cases, {time.time() - start:.0f} s", flush=True)
    print(f"{count} cases, seed {seed}: {problems or 'no'} batches or processes with problems")
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files that break the contract")
    parser.add_argument("--mark", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mark is None and given.count > 1:
        return in_batches(given.seed, given.first, given.count, given.keep)
    codes, problems = run(given.seed, given.first, given.count, given.keep, given.mark)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\n".join([*problems, f"exit codes {dict(sorted(codes.items()))}, peak memory {peak:.0f} MB"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
