"""How often a function is called exact under a wrong name: decays whose law is a sine, a tanh, an arctangent or none.

    python benchmarks/wrong_names.py [--seeds 48] [--only drawn ...] [--noise 0.01,0.05] [--out wrong-names-out]

``drawn``: one of the three by turns, bare or beside a line of −0.35 to 0.6 times its own slope, its frequency and first
swing drawn by the seed.  The others are fixed and chosen to mislead: a tanh beside the very line with which a bare
arctangent holds it, a sine beside a line, a sine of 1.2 rad for which a cube does, and a cube that softens as a sine
does.  1,200 samples over 80 units of time.  Joint fit and its checks, without the contest, which calls nothing exact.
Each record is judged by three rules on the same fit: that of jetode; every other name within ΔBIC 10 is a rival; one
with more coefficients is a rival within ΔBIC 2 only.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cells import by_cell, options, seeded
from scipy.integrate import solve_ivp

from jetode.experiments.core.store import ChunkStore, Task
from jetode.experiments.core.sweep import finished, jobs
from jetode.joint.fit import JointFit, fit_joint
from jetode.joint.request import Request
from jetode.joint.rivals import Rival
from jetode.reconstruction.gathering import gather
from jetode.reconstruction.verdict import judge
from jetode.records.series import Series
from jetode.signal.screen import screen
from jetode.support.files import whole_file

SAMPLES, DURATION, FRICTION = 1200, 80.0, 0.06
LIMIT, LOOSE = 10.0, 2.0  # ΔBIC of another form, and of one term more
FUNCTIONS: dict[str, Callable[[float], float]] = {"sin": np.sin, "tanh": np.tanh, "arctan": np.arctan}


@dataclass(frozen=True)
class Law:
    """x'' = −f(x) − 0.06 x' from about ``size``, with the name of the function in f (none: a polynomial)."""

    force: Callable[[float], float]
    size: float
    name: str | None


def beside(name: str, frequency: float, gain: float, line: float, size: float) -> Law:
    """gain · f(frequency · x) + line · x."""
    return Law(lambda x: gain * float(FUNCTIONS[name](frequency * x)) + line * x, size, name)


def drawn(seed: int) -> Law:
    """A function by its turn, bare every other time."""
    rng = np.random.default_rng([seed, 77])
    name = list(FUNCTIONS)[seed % 3]
    line = 0.0 if (seed // 3) % 2 else rng.uniform(-0.35, 0.6)
    frequency, size = rng.uniform(0.8, 1.8), rng.uniform(1.2, 2.4)
    return beside(name, frequency, 1.0 / frequency, line, size)


LAWS: Mapping[str, Callable[[int], Law]] = {
    "drawn": drawn,
    "tanh line": lambda _: beside("tanh", 1.2, 1.0, 0.3, 2.0),
    "sine line": lambda _: beside("sin", 1.2, 1.0, 0.3, 2.0),
    "small sine": lambda _: beside("sin", 1.0, 1.0, 0.0, 1.2),
    "softening": lambda _: Law(lambda x: x - x**3 / 8.0, 1.7, None),
}


def record_of(law: Law, noise: float, seed: int) -> Series:
    """Its decay with white noise."""
    rng = np.random.default_rng(seed)
    start = [law.size * rng.uniform(0.8, 1.2) * rng.choice([-1.0, 1.0]), 0.0]
    times = np.linspace(0.0, DURATION, SAMPLES)

    def rates(_: float, s: Sequence[float]) -> list[float]:
        return [s[1], -law.force(s[0]) - FRICTION * s[1]]

    values = solve_ivp(rates, (0.0, DURATION), start, t_eval=times, rtol=1e-11, atol=1e-11).y[0]
    return Series(values + noise * values.std() * rng.standard_normal(SAMPLES), times[1], name="x")


def work(task: Task) -> dict[str, Any]:
    """What a worker does: one joint fit, judged by the three rules."""
    law, noise, began = LAWS[task.label](task.first), task.options["noise"], time.process_time()
    record = record_of(law, noise, task.first)
    joint = fit_joint(Request((record,), maybe_linear=not screen((record,)).nonlinear))
    row = {"law": task.label, "noise": noise, "seed": task.first, "true": law.name or "polynomial", "found": ""}
    exact = dict.fromkeys(("exact", "exact_10", "exact_2"), False)
    rivals: tuple[Rival, ...] = ()
    if isinstance(joint, JointFit):
        evidence, rivals = gather(joint, (record,), lambda: False), joint.rivals
        count = int(joint.fit.terms.free.sum())
        loose = [r.delta_bic if not richer(r, count) else r.delta_bic + LIMIT - LOOSE for r in rivals]
        strict = [r.delta_bic for r in rivals]
        exact["exact"] = judge(evidence).trusted
        for rule, distances in (("exact_10", strict), ("exact_2", loose)):
            exact[rule] = judge(replace(evidence, rival=min(distances, default=np.inf))).trusted
        row["found"] = " + ".join(kind for kind, _ in joint.fit.terms.elements) or "polynomial"
        row["order"] = joint.fit.terms.dimension
    shown = " | ".join(f"{r.delta_bic:.1f} {[e.element.kind for e in r.regular.elements]}" for r in rivals)
    return row | exact | {"cpu_seconds": round(time.process_time() - began, 1), "rivals": shown}


def richer(rival: Rival, count: int) -> bool:
    """Whether another name has more coefficients than the ``count`` of the best."""
    return bool(rival.regular.elements) and sum(c != 0.0 for *_, c in rival.regular.coefficients()) > count


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a law and noise level: exact, and wrong among these, by every rule."""
    lines = []
    for name, noise, cell in by_cell(rows, "law"):
        right = sum(r["found"] == r["true"] for r in cell)
        shown = []
        for rule in ("exact", "exact_10", "exact_2"):
            sure = [r for r in cell if r[rule]]
            shown.append(f"{rule} {len(sure):3} (wrong {sum(r['found'] != r['true'] for r in sure)})")
        lines.append(f"{name:12} {noise:5g}  {len(cell):3} records: named {right:3}, {', '.join(shown)}")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, write, print."""
    parser = options(__doc__, list(LAWS), "0.01,0.05", "wrong-names-out")
    parser.add_argument("--seeds", type=int, default=48)
    given = parser.parse_args()
    rows = []
    with jobs(given.jobs) as execute:
        for _, chunk in finished(seeded(given, "wrong_names:work", "names"), ChunkStore(given.out), execute, print):
            rows.append(chunk.result)
    with whole_file(given.out.with_suffix(".csv")) as file:
        writer = csv.DictWriter(file, list(rows[0]), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(summary(rows))


if __name__ == "__main__":
    main()
