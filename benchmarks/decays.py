"""Decays as whole reconstructions: linear, cubic and sine-like ones, with cubic friction, with cubes of both, of a
beam whose inertia changes as it bends, several of one system, and two coupled masses.

    python benchmarks/decays.py [--seeds 20] [--only NAME ...] [--noise 0,0.01,0.05] [--out decays-out]

1,200 samples over 80 units of time (13 oscillations), every seed with other first states and other noise.  The model is
right where it has the order and exactly the terms of the truth, each within 10 % or 5 standard errors; of the sine-like
one, a sine of x with that frequency and nothing beside it but friction.  Seeds come first, so that a run that is ended
early has a few of everything; every record is a chunk in the folder ``OUT``, and a second run goes on with those not
yet there.
"""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cells import by_cell, options, seeded
from scipy.integrate import solve_ivp

import jetode
from jetode.experiments.core.store import ChunkStore, Task
from jetode.experiments.core.sweep import finished, jobs
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.support.files import whole_file

SAMPLES, DURATION = 1200, 80.0
COEFFICIENT, ERRORS = 0.1, 5.0  # a coefficient is right within 10 % or 5 standard errors, as in the panel
Law = Mapping[tuple[int, ...], float]


@dataclass(frozen=True)
class Decay:
    """A system, how many decays of it are recorded, the law of its highest derivative, and the frequency of a sine of
    x in that, its gain among the law's terms at exponents (1,)."""

    rate: Callable[[float, Sequence[float]], list[float]]
    order: int
    law: Law
    size: float = 1.0
    records: int = 1
    frequency: float | None = None


def linear(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −x − 0.06 x'."""
    return [s[1], -s[0] - 0.06 * s[1]]


def cubic(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −x − 0.06 x' − 0.5 x³."""
    return [s[1], -s[0] - 0.06 * s[1] - 0.5 * s[0] ** 3]


def sine(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −sin x − 0.06 x'."""
    return [s[1], -float(np.sin(s[0])) - 0.06 * s[1]]


def friction(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −x − 0.03 x' − 0.1 x'³."""
    return [s[1], -s[0] - 0.03 * s[1] - 0.1 * s[1] ** 3]


def beam(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −x − 0.03 x' − 0.3 x x'²."""
    return [s[1], -s[0] - 0.03 * s[1] - 0.3 * s[0] * s[1] ** 2]


def two_cubes(_: float, s: Sequence[float]) -> list[float]:
    """x'' = −x − 0.03 x' − 0.5 x³ − 0.1 x'³."""
    return [s[1], -s[0] - 0.03 * s[1] - 0.5 * s[0] ** 3 - 0.1 * s[1] ** 3]


def masses(_: float, s: Sequence[float]) -> list[float]:
    """Two masses, one spring between them."""
    pull = 0.6 * (s[2] - s[0])
    return [s[1], -s[0] - 0.02 * s[1] + pull, s[3], -1.5 * s[2] - 0.02 * s[3] - pull]


LINEAR: Law = {(1, 0): -1.0, (0, 1): -0.06}
CUBIC: Law = {**LINEAR, (3, 0): -0.5}
FRICTION: Law = {(1, 0): -1.0, (0, 1): -0.03, (0, 3): -0.1}
TWO_CUBES: Law = {**FRICTION, (3, 0): -0.5}
BEAM: Law = {(1, 0): -1.0, (0, 1): -0.03, (1, 2): -0.3}
SINE: Law = {(0, 1): -0.06, (1,): -1.0}
MASSES: Law = {(1, 0, 0, 0): -3.0, (0, 1, 0, 0): -0.074, (0, 0, 1, 0): -3.7004, (0, 0, 0, 1): -0.04}
DECAYS = {
    "linear": Decay(linear, 2, LINEAR),
    "cubic": Decay(cubic, 2, CUBIC, 2.0),
    "cubic friction": Decay(friction, 2, FRICTION, 2.0),
    "two cubes": Decay(two_cubes, 2, TWO_CUBES, 2.0),
    "beam": Decay(beam, 2, BEAM, 2.0),
    "sine": Decay(sine, 2, SINE, 2.0, frequency=1.0),
    "two masses": Decay(masses, 4, MASSES),
    "linear, 2 decays": Decay(linear, 2, LINEAR, records=2),
    "cubic, 3 decays": Decay(cubic, 2, CUBIC, 2.0, 3),
    "cubic, 4 decays": Decay(cubic, 2, CUBIC, 2.0, 4),
}


def records_of(name: str, noise: float, seed: int) -> list[Series]:
    """The records of one seed."""
    decay, rng = DECAYS[name], np.random.default_rng(seed)
    times = np.linspace(0.0, DURATION, SAMPLES)
    out = []
    for _ in range(decay.records):
        start = np.zeros(decay.order)
        start[::2] = decay.size * rng.uniform(0.8, 1.2, decay.order // 2) * rng.choice([-1.0, 1.0], decay.order // 2)
        values = solve_ivp(decay.rate, (0.0, DURATION), start, t_eval=times, rtol=1e-11, atol=1e-11).y[0]
        out.append(Series(values + noise * values.std() * rng.standard_normal(SAMPLES), times[1], name="x"))
    return out


def is_right(model: Model, decay: Decay) -> bool:
    """Whether a model has the order, the terms and the coefficients of the truth."""
    if [e.name for e in model.elements] != ["sin"] * (decay.frequency is not None) or model.order != decay.order:
        return False
    found = {(1,) if c.part == "P.0" else c.powers: c for c in model.coefficients() if c.part in ("P", "P.0")}
    parameters = [c for c in model.coefficients() if c.part == "e0" and c.powers == (0,)]
    if (
        len(found) + len(parameters) != len([c for c in model.coefficients() if c.value])
        or found.keys() != decay.law.keys()
    ):
        return False
    pairs = [*((found[e], value) for e, value in decay.law.items()), *((c, decay.frequency) for c in parameters)]
    return all(abs(c.value - v) <= max(COEFFICIENT * abs(v), ERRORS * c.standard_error) for c, v in pairs)


def work(task: Task) -> dict[str, Any]:
    """What a worker does: one reconstruction with all defaults."""
    decay, began = DECAYS[task.label], time.process_time()
    model = jetode.reconstruct(records_of(task.label, task.options["noise"], task.first))
    return {
        "decay": task.label,
        "noise": task.options["noise"],
        "seed": task.first,
        "grade": model.verdict.grade,
        "order": model.order,
        "right": is_right(model, decay),
        "cpu_seconds": round(time.process_time() - began, 1),
        "equation": model.equation() if model.verdict.grade in ("exact", "approximate") else "",
        "reason": model.verdict.reason,
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a kind and noise level."""
    lines = []
    for name, noise, cell in by_cell(rows, "decay"):
        grades, orders = Counter(r["grade"] for r in cell), Counter(r["order"] for r in cell)
        right = sum(r["right"] for r in cell)
        wrong = sum(not r["right"] and r["grade"] == "exact" for r in cell)
        seconds = np.median([r["cpu_seconds"] for r in cell])
        lines.append(
            f"{name:18} {noise:5g}  {len(cell):3} records: exact {grades['exact']:3}, right {right:3}, "
            f"wrong and exact {wrong}, orders {dict(orders)}, grades {dict(grades)}, median {seconds:.1f} CPU s"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, write, print."""
    parser = options(__doc__, list(DECAYS), "0,0.01,0.05", "decays-out")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args()
    rows = []
    with jobs(given.jobs) as execute:
        for _, chunk in finished(seeded(given, "decays:work", "decay"), ChunkStore(given.out), execute, print):
            row = chunk.result
            rows.append(row)
            mark = {True: "right", False: "WRONG AND EXACT" if row["grade"] == "exact" else "not right"}
            print(
                f"{row['decay']:18} {row['noise']:5g} seed {row['seed']:2} {row['grade']:12} order {row['order']} "
                f"{mark[row['right']]:16} {row['cpu_seconds']:6.1f} s {row['equation'].splitlines()[-1:]}",
                flush=True,
            )
    with whole_file(given.out.with_suffix(".csv")) as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(summary(rows))


if __name__ == "__main__":
    main()
