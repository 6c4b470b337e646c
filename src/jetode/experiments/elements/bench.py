"""How often the right function is found: records of systems with elements, reconstructed and scored; one chunk each."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jetode.experiments.core.store import ChunkStore, Result, Task
from jetode.experiments.core.sweep import Executor, Say, finished
from jetode.experiments.elements.cases import CASES, ElementCase, TrueElement
from jetode.reconstruction.found_elements import FoundElement
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.support.errors import InputError

WITHIN = 3.0  # standard errors
SAME = 0.1  # of an argument's std: what the found one may be off; another derivative is off by more than 1
FIXED = 0.01  # absolute: what a parameter without a standard error may be off, one that the fit has set to 0
KIND = "elements"


@dataclass(frozen=True)
class Plan:
    """Which systems (all where none is named), noise levels and how many seeds."""

    cases: tuple[str, ...]
    noise: tuple[float, ...]
    seeds: int

    def __post_init__(self) -> None:
        for name in self.cases:
            if name not in CASES:
                known = ", ".join(CASES)
                raise InputError(f"The 'cases' option must name systems with an element ({known}). Got {name!r}.")

    def tasks(self) -> list[Task]:
        """Seed by seed, so that a run that is stopped has every system."""
        return [
            Task(f"{__name__}:run", KIND, f"{list(CASES).index(name)}-n{noise:g}", seed, seed + 1, 0,
                 {"case": name, "noise": noise})
            for seed in range(self.seeds)
            for noise in self.noise
            for name in self.cases or CASES
        ]  # fmt: skip


def measure(plan: Plan, out: Path, execute: Executor, say: Say) -> Iterator[Result]:
    """The result of every record, those on disk first."""
    for _, chunk in finished(plan.tasks(), ChunkStore(out / "chunks"), execute, say):
        yield chunk.result


def run(task: Task) -> Result:
    """One record."""
    return scored(CASES[task.options["case"]], task.options["noise"], task.first)


def scored(case: ElementCase, noise: float, seed: int, **options: Any) -> dict[str, Any]:
    """The names found, whether they are the right ones of the right arguments or at least of the right family,
    parameters in standard errors, grade and time."""
    record, _ = case.record(noise, seed)
    began = time.process_time()
    model = reconstruct(record, **options)
    names = sorted(e.name for e in model.elements)
    pairs = matched(model, case)
    related = len(pairs) == len(case.elements) == len(names)
    right = related and all(true.name == found.name for true, found in pairs)
    errors = parameter_errors(pairs) if related else {}
    return {
        "case": case.name,
        "noise": noise,
        "seed": seed,
        "grade": model.verdict.grade,
        "names": names,
        "variables": [e.variable for e in sorted(model.elements, key=lambda e: e.name)],
        "named": right,
        "related": related,
        "within": bool(related and all(e <= WITHIN for e in errors.values())),
        "errors": errors,
        "equation": "" if model.named is None else model.equation(),
        "reason": model.verdict.reason,
        "seconds": time.process_time() - began,
    }


Pairs = Sequence[tuple[TrueElement, FoundElement]]


def matched(model: Model, case: ElementCase) -> Pairs:
    """The true elements that were found: by name or family, and as a function of the same quantity where the record has
    been."""
    out: list[tuple[TrueElement, FoundElement]] = []
    for true in case.elements:
        for found in model.elements:
            if found.name in (true.name, *true.family) and argument_error(model, found, true) < SAME:
                out.append((true, found))
                break
    return out


def argument_error(model: Model, found: FoundElement, true: TrueElement) -> float:
    """The rms distance of what a found element is a function of from what it should be, in std of that."""
    if model.order < 3 and true.variable not in ("u0", "u1"):
        return float("inf")
    wanted = true.argument(model.jet_path)
    got = found.element.argument(model.path)
    seen = np.isfinite(wanted) & np.isfinite(got)
    return float(np.sqrt(np.mean((got[seen] - wanted[seen]) ** 2)) / np.std(wanted[seen]))


def parameter_errors(pairs: Pairs) -> dict[str, float]:
    """The distance of every parameter from the truth in standard errors; of one that was fixed, 0 or infinite."""
    out: dict[str, float] = {}
    for true, found in pairs:
        for name, value in true.parameters.items():
            got, error = found.parameters[name]
            out[f"{true.name}.{name}"] = _distance(got, error, value)
    return out


def _distance(got: float, error: float, true: float) -> float:
    if error > 0.0:
        return float(abs(got - true) / error)
    return 0.0 if abs(got - true) <= FIXED else float(np.inf)


def line(found: Mapping[str, Any]) -> str:
    """One result in one line."""
    of = zip(found["names"], found["variables"], strict=True)
    names = " + ".join(f"{name} of {variable}" for name, variable in of) or "no function"
    how = "right" if found["named"] else "family" if found["related"] else "-"
    return (
        f"{found['case']:18}{found['noise']:6g} seed {found['seed']:3}  {how:7}"
        f"{found['grade']:12} {names} {found['seconds']:.0f} s"
    )


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line per system and noise level."""
    cells: dict[tuple[str, float], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["case"], row["noise"]].append(row)
    lines = [
        "| system | element | noise | runs | named | or its family | within 3 se | exact | wrong name exact | CPU s |",
        "|" + "---|" * 10,
    ]
    for (case, noise), runs in sorted(cells.items(), key=lambda c: (list(CASES).index(c[0][0]), c[0][1])):
        exact = [r for r in runs if r["grade"] == "exact"]
        names = " + ".join(e.name for e in CASES[case].elements)
        lines.append(
            f"| {case} | {names} | {100 * noise:g} % | {len(runs)} | {sum(r['named'] for r in runs)} | "
            f"{sum(r['related'] for r in runs)} | {sum(r['within'] for r in runs)} | "
            f"{len(exact)} | {sum(not r['named'] for r in exact)} | {np.median([r['seconds'] for r in runs]):.0f} |"
        )
    return "\n".join(lines)
