"""Records that repeat themselves: ``python benchmarks/oscillators.py --noise 0.01,0.05,0.15 --seeds 3``.

Oscillators on their closed curve, of which nothing else is seen: how often an equation is called exact, and whether it
is then right.  It is wrong where it is false on the true jets by more than 1 % plus a fifth of the noise: on a curve an
equation is told less sharply than on an attractor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

import jetode
from jetode.equations.polynomials import evaluate

FLOOR, PER_NOISE = 0.01, 0.2  # of the largest error of a right equation
FINER = 4  # true samples between those of a record
Rates = Callable[[float, np.ndarray], list[float]]


@dataclass(frozen=True)
class Oscillator:
    """Rates, a start, the step of its record, and how long it takes to reach its curve."""

    rates: Rates
    start: tuple[float, ...]
    dt: float
    settles: float = 100.0


OSCILLATORS = {
    "van der Pol 1": Oscillator(lambda _, s: [s[1], s[1] * (1 - s[0] ** 2) - s[0]], (1.0, 0.0), 0.1),
    "van der Pol 3": Oscillator(lambda _, s: [s[1], 3 * s[1] * (1 - s[0] ** 2) - s[0]], (1.0, 0.0), 0.1),
    "Rayleigh": Oscillator(lambda _, s: [s[1], s[1] * (1 - s[1] ** 2) - s[0]], (1.0, 0.0), 0.1),
    "FitzHugh-Nagumo v": Oscillator(
        lambda _, s: [s[0] - s[0] ** 3 / 3 - s[1] + 0.5, 0.2 * (s[0] + 0.7 - 0.8 * s[1])], (1.0, 0.0), 0.2
    ),
    "Selkov x": Oscillator(
        lambda _, s: [-s[0] + 0.1 * s[1] + s[0] ** 2 * s[1], 0.6 - 0.1 * s[1] - s[0] ** 2 * s[1]], (1.0, 1.0), 0.1
    ),
    "Brusselator x": Oscillator(
        lambda _, s: [1 + s[0] ** 2 * s[1] - 3.5 * s[0], 2.5 * s[0] - s[0] ** 2 * s[1]], (1.0, 1.0), 0.1
    ),
    "Duffing without damping": Oscillator(lambda _, s: [s[1], -s[0] - s[0] ** 3], (2.0, 0.0), 0.05, 0.0),
    "pendulum without damping": Oscillator(lambda _, s: [s[1], -np.sin(s[0])], (2.5, 0.0), 0.15, 0.0),
    "sine": Oscillator(lambda _, s: [s[1], -s[0]], (1.0, 0.0), 0.1, 0.0),
    "jerk on a curve": Oscillator(
        lambda _, s: [s[1], s[2], -1.57 * s[2] - 2.88 * s[0] - 1.34 * s[1] - 1.33 * s[1] ** 3], (0.5, 0.0, 0.0), 0.1
    ),
}


def observed(one: Oscillator, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """A record without noise, and the true jets (n, 6) on a finer grid."""
    t = one.settles + one.dt / FINER * np.arange(FINER * samples)
    x = solve_ivp(one.rates, (0.0, t[-1]), one.start, "DOP853", t, rtol=1e-11, atol=1e-12).y[0]
    spline = make_interp_spline(t, x, k=9)
    inner = t[40:-40]
    return x[::FINER], np.column_stack([spline(inner, nu=i) for i in range(6)])


def error(model: jetode.Model, jets: np.ndarray) -> float:
    """rms(D u_n − N)/rms(D u_n) on the true jets; NaN of an equation that has no such closure."""
    if model.dynamics.closure is None:
        return float("nan")
    closure = model.closure
    left = evaluate(closure.denominator, jets[:, : closure.order]) * jets[:, closure.order]
    return float(np.std(left - evaluate(closure.numerator, jets[:, : closure.order])) / np.std(left))


def main() -> None:
    """One line a record, one a system and noise at the end."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--noise", default="0.01,0.05,0.15")
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--samples", type=int, default=2000)
    asked.add_argument("--only", default="", help="names, by commas")
    given = asked.parse_args()
    table: dict[tuple[str, float], list[str]] = {}
    for name in [n for n in given.only.split(",") if n] or OSCILLATORS:
        values, jets = observed(OSCILLATORS[name], given.samples)
        for noise in map(float, given.noise.split(",")):
            for seed in range(given.seeds):
                rng, began = np.random.default_rng(seed), time.process_time()
                record = jetode.Series(
                    values + noise * values.std() * rng.standard_normal(values.size), OSCILLATORS[name].dt
                )
                model = jetode.reconstruct(record)
                off = error(model, jets) if model.verdict.trusted else float("nan")
                said = "elements" if model.elements and model.verdict.trusted else model.verdict.grade
                if model.verdict.trusted and not model.elements:
                    said = "right" if off <= FLOOR + PER_NOISE * noise else "WRONG"
                table.setdefault((name, noise), []).append(said)
                spent = time.process_time() - began
                shown = (
                    f"order {model.order}, {len(model.coefficients())} coefficients {[e.name for e in model.elements]}"
                )
                print(f"{name:26s}{noise:5.2f} {seed} {said:12s} off {off:.4f} {shown} {spent:.1f} s", flush=True)
    for (name, noise), said in table.items():
        counts = ", ".join(f"{said.count(word)} {word}" for word in dict.fromkeys(said))
        print(f"{name:26s}{noise:5.2f}  {counts}")


if __name__ == "__main__":
    main()
