"""The recordings of a folder as a benchmark: tasks through chunks on disk, then results as JSON, CSV and a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jetode.experiments.core.fingerprint import code_fingerprint, fingerprint
from jetode.experiments.core.store import ChunkStore
from jetode.experiments.core.sweep import Say, finished
from jetode.experiments.core.sweep import jobs as executor
from jetode.experiments.recordings import methods, scores
from jetode.experiments.recordings.cases import Case, Source, build, known_samples, sources
from jetode.experiments.recordings.page import page
from jetode.support.errors import InputError
from jetode.support.files import make_directory, write_text
from jetode.support.json import plain

COLUMNS = (
    *("recording", "method", "vpt", "quartile_1", "quartile_3", "longest", "blown_up", "coverage_90", "cpu_seconds"),
    *("fit_seconds", "grade"),
)


@dataclass(frozen=True)
class Plan:
    """What is measured; no names: all."""

    folder: Path
    only: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    starts: int = 96  # a median of 24 moves by 0.3 oscillations from one draw of starts to the next
    dt: float | None = None

    def chosen(self) -> dict[str, tuple[str, ...]]:
        """The methods asked for, with their modules."""
        every = methods.available()
        for name in self.methods:
            if name not in every:
                raise InputError(f"The '--methods' option must name some of {', '.join(every)}. Got {name!r} instead.")
        return {name: uses for name, uses in every.items() if not self.methods or name in self.methods}

    def sources(self) -> list[Source]:
        """The recordings asked for."""
        every = sources(self.folder)
        names = [source.name for source in every]
        for name in self.only:
            if name not in names:
                raise InputError(f"The '--only' option must name some of {', '.join(names)}. Got {name!r} instead.")
        return [source for source in every if not self.only or source.name in self.only]


def measure(plan: Plan, out: Path, jobs: int, say: Say) -> Iterator[dict[str, Any]]:
    """Each recording with all its methods, as soon as they are there; or the reason why it has none."""
    chosen, store = plan.chosen(), ChunkStore(out / "chunks")
    with executor(jobs) as execute:
        for source in plan.sources():
            try:
                case = build(source, plan.starts, plan.dt)
            except InputError as error:
                yield {"name": source.name, "files": [p.name for p in source.paths], "reason": str(error)}
                continue
            tasks = [scores.task(source, name, uses, plan.starts, plan.dt) for name, uses in chosen.items()]
            found = {task.options["method"]: chunk.result for task, chunk in finished(tasks, store, execute, say)}
            yield described(source, case) | {"methods": {name: found[name] for name in chosen}}


def described(source: Source, case: Case) -> dict[str, Any]:
    """What a case is, and the truth around the starts that are drawn."""
    return {
        "name": case.name,
        "files": [path.name for path in source.paths],
        "digest": source.digest,
        "samples": [record.n for record in case.records],
        "known": [known_samples(record) for record in case.records],
        "dt": case.dt,
        "samples_per_oscillation": case.period,
        "starts": [ends.tolist() for ends in case.starts],
        "longest": case.steps / case.period,
        "spread": case.spread,
        "notes": list(case.notes),
        "drawn": scores.truth_drawn(case),
    }


def write(results: Sequence[dict[str, Any]], out: Path, command: str) -> None:
    """results.json, results.csv and index.html."""
    make_directory(out)
    chosen = methods.available()
    code = fingerprint(
        [code_fingerprint(m) for m in (scores.__name__, *sorted({u for uses in chosen.values() for u in uses}))]
    )
    about = {"command": command, "code": code, "protocol": PROTOCOL}
    write_text(
        out / "results.json",
        json.dumps(plain({"about": about, "recordings": list(results)}), ensure_ascii=False) + "\n",
    )
    write_text(out / "results.csv", table(results))
    write_text(out / "index.html", page(results, about))


PROTOCOL = (
    "The first three quarters of each record are known; forecasts start in the rest, each from the samples up to it. "
    "Valid prediction time: oscillations until the rms error over a tenth of an oscillation exceeds 0.4 std of the "
    "known part, median over starts, at most 10 oscillations or half of the unseen part. Several records of one "
    "system are joined end to end for methods that take one. Bands are of the next samples, noise included: an exact "
    "model's, which are of the signal, are widened by the noise that it found."
)


def table(results: Sequence[dict[str, Any]]) -> str:
    """One line per recording and method."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        for name, found in result.get("methods", {}).items():
            numbers = [found["vpt"], *found["quartiles"], result["longest"], found["blown"], found["coverage"]]
            shown = ["" if v is None else f"{v:.4g}" for v in (*numbers, found["seconds"], found["fit_seconds"])]
            writer.writerow([result["name"], name, *shown, found["about"].get("grade", "")])
    return text.getvalue()


def text(result: dict[str, Any]) -> str:
    """One recording for a terminal."""
    if "reason" in result:
        return f"{result['name']}: not measured. {result['reason']}\n"
    count = sum(len(ends) for ends in result["starts"])
    lines = [
        f"{result['name']}: {sum(result['samples'])} samples in {len(result['samples'])} records, "
        f"{result['samples_per_oscillation']:.1f} per oscillation; {count} starts, at most {result['longest']:.2f}"
        + "".join(f"; {note}" for note in result["notes"]),
        f"  {'':16}VPT (osc.)  quartiles      blow-ups  CPU s",
    ]
    for name, found in sorted(result["methods"].items(), key=lambda item: -item[1]["vpt"]):
        low, high = found["quartiles"]
        about = found["about"]
        more = f"  {about['grade']}" if about else ""
        more += (
            "" if found["coverage"] is None else f", 90 % bands hold {found['coverage']:.0%} of the first oscillation"
        )
        times = f"{found['vpt']:9.2f}  {low:5.2f} … {high:5.2f}"
        lines.append(f"  {name:16}{times} {found['blown']:9.2f} {found['seconds']:7.1f}{more}")
    return "\n".join(lines) + "\n"
