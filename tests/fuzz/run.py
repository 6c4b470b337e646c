"""Damaged input files, models and chunks, and odd options, through the command line in this process.

    python tests/fuzz/run.py --count 20000 --seed 1

The contract is that of ``contract.py``.  Every case is known by its seed and number: ``--seed 1 --first 17 --count 1
--keep DIR`` makes it again.
"""

from __future__ import annotations

import argparse
import faulthandler
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import chunks, input_files, models, options
from fuzz.contract import SECONDS, Case, peak, problem_of

BATCH = 1000  # in one process: starting one costs as much as 300 cases
KINDS = {"files": (input_files, 12), "models": (models, 5), "chunks": (chunks, 1), "options": (options, 2)}


class Cases:
    """All cases of a folder with the samples; a kind has its share of them."""

    def __init__(self, base: Path, only: str | None = None) -> None:
        self.base, self.samples = base, {}
        self.kinds = [name for name, (_, share) in KINDS.items() for _ in range(share) if only in (None, name)]
        for name in dict.fromkeys(self.kinds):
            (base / name).mkdir()
            self.samples[name] = KINDS[name][0].prepare(base / name)

    def make(self, seed: int, number: int) -> Case:
        """One case, in a fresh folder."""
        folder = self.base / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        random = Random(f"{seed}/{number}")
        name = random.choice(self.kinds)
        return KINDS[name][0].make(random, self.samples[name], folder)


def run(
    seed: int, first: int, count: int, keep: Path | None = None, mark: Path | None = None, only: str | None = None
) -> tuple[Counter[int], list[str]]:
    """(exit codes, problems) of cases ``first`` to ``first + count``; ``mark`` names the case under way."""
    codes: Counter[int] = Counter()
    problems = []
    with tempfile.TemporaryDirectory() as base:
        cases = Cases(Path(base), only)
        warm(cases)
        for number in range(first, first + count):
            if mark is not None:
                mark.write_text(f"{number} is being made")
            case = cases.make(seed, number)
            if mark is not None:
                mark.write_text(f"{number} {case.label}")
                faulthandler.dump_traceback_later(2 * SECONDS, exit=True)  # no signal ends a loop in compiled code
            code, problem = problem_of(case)
            faulthandler.cancel_dump_traceback_later()
            codes[code] += 1
            if problem:
                problems.append(f"case {number} of seed {seed}: {case.label}: {problem}")
            if keep is not None and (problem or count == 1):
                keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(case.path, keep / f"{number}-{case.path.name}")
    return codes, problems


def warm(cases: Cases) -> None:
    """Libraries are imported and kernels loaded before memory is counted."""
    for path in cases.samples.get("files", []):
        problem_of(Case(("diagnose", str(path), "--column", "1", "--dt", "1"), path))
    for path in cases.samples.get("models", []):
        problem_of(Case(("forecast", str(path), "--horizon", "0.5"), path))
    for path in cases.samples.get("options", [])[1:2]:
        problem_of(Case(("simulate", "lorenz", "--duration", "5"), path))
        problem_of(Case(("forecast", str(path), "--horizon", "0.5"), path))


def in_batches(given: argparse.Namespace) -> int:
    """Batches in processes of their own, so that a crash inside a library is one problem and not the end."""
    start, problems, number, last = time.time(), 0, given.first, given.first + given.count
    with tempfile.TemporaryDirectory() as base:
        mark = Path(base) / "mark"
        while number < last:
            size = min(BATCH, last - number)
            command = [
                sys.executable,
                __file__,
                "--seed",
                str(given.seed),
                "--first",
                str(number),
                "--count",
                str(size),
            ]
            command += ["--mark", str(mark), *(["--keep", str(given.keep)] if given.keep else [])]
            command += ["--only", given.only] if given.only else []
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS * size, check=False)
            sys.stdout.write(done.stdout)
            if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
                problems += 1
                print(f"the process ended with {done.returncode} at case {mark.read_text()}\n{done.stderr[-2000:]}")
                number = max(number, int(mark.read_text().split()[0])) + 1
                continue
            problems += done.returncode
            number += size
            print(f"{number - given.first} of {given.count} cases, {time.time() - start:.0f} s", flush=True)
    print(f"{given.count} cases, seed {given.seed}: {problems or 'no'} batches or processes with problems")
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS), help="cases of one kind")
    parser.add_argument("--keep", type=Path, help="folder for the files that break the contract")
    parser.add_argument("--mark", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.mark is None and given.count > 1:
        return in_batches(given)
    codes, problems = run(given.seed, given.first, given.count, given.keep, given.mark, given.only)
    print("\n".join([*problems, f"exit codes {dict(sorted(codes.items()))}, peak memory {peak() >> 20} MB"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
