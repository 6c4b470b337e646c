"""Oscillators that a sine drives: ``python benchmarks/driven.py --noise 0.01,0.05,0.15 --seeds 3``.

Every seed begins elsewhere and has other noise; 5,000 samples.  A model is right where it is exact with exactly the
terms of the truth, each within 10 % or 5 standard errors, and wrong where it is exact and is not.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

import jetode
from jetode.equations.polynomials import evaluate

SAMPLES, SETTLES = 5000, 100.0
COEFFICIENT, ERRORS = 0.1, 5.0
Law = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Driven:
    """x'' = F(x, x') + size cos(ω t), and the step of its record."""

    law: Law
    size: float
    omega: float
    dt: float


DRIVEN = {
    "Duffing, two wells": Driven({(1, 0): 1.0, (0, 1): -0.3, (3, 0): -1.0}, 0.5, 1.2, 0.08),
    "Ueda": Driven({(0, 1): -0.05, (3, 0): -1.0}, 7.5, 1.0, 0.05),
    "cubic friction": Driven({(1, 0): 1.0, (0, 1): -0.1, (0, 3): -0.3, (3, 0): -1.0}, 0.5, 1.0, 0.08),
    "asymmetric well": Driven({(1, 0): -1.0, (0, 1): -0.1, (2, 0): 1.0, (3, 0): -1.0}, 2.0, 0.8, 0.08),
}


def record(one: Driven, noise: float, seed: int) -> jetode.Series:
    """A record of one seed."""
    rng = np.random.default_rng(seed)
    times = SETTLES + one.dt * np.arange(SAMPLES)

    def rates(t: float, s: np.ndarray) -> list[float]:
        return [s[1], float(evaluate(one.law, s)) + one.size * np.cos(one.omega * t)]

    x = solve_ivp(rates, (0.0, times[-1]), rng.uniform(-1.0, 1.0, 2), t_eval=times, rtol=1e-9, atol=1e-10).y[0]
    return jetode.Series(x + noise * x.std() * rng.standard_normal(SAMPLES), one.dt, name="x")


def is_right(model: jetode.Model, one: Driven) -> bool:
    """Whether a model has the terms of the truth, with their coefficients."""
    truth = {("f1", e): c for e, c in one.law.items()} | {("P", (0, 0, 1, 0)): -(one.omega**2)}
    found = {(c.part, c.powers): c for c in model.coefficients()}
    return found.keys() == truth.keys() and all(
        abs(found[k].value - v) <= max(COEFFICIENT * abs(v), ERRORS * found[k].standard_error) for k, v in truth.items()
    )


def main() -> None:
    """One line a record, one a system and noise at the end."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--noise", default="0.01,0.05,0.15")
    asked.add_argument("--seeds", type=int, default=3)
    given = asked.parse_args()
    table: dict[tuple[str, float], Counter[str]] = {}
    for name, one in DRIVEN.items():
        for noise in map(float, given.noise.split(",")):
            for seed in range(given.seeds):
                began = time.process_time()
                model = jetode.reconstruct(record(one, noise, seed))
                said = model.verdict.grade
                if model.verdict.trusted:
                    said = "right" if is_right(model, one) else "WRONG"
                table.setdefault((name, noise), Counter())[said] += 1
                spent, shown = time.process_time() - began, model.equation().replace("\n", "; ")[:110]
                print(f"{name:20s}{noise:5.2f} {seed} {said:12s} {spent:.1f} s  {shown}", flush=True)
    for (name, noise), counts in table.items():
        print(f"{name:20s}{noise:5.2f}  {', '.join(f'{n} {word}' for word, n in counts.items())}")


if __name__ == "__main__":
    main()
