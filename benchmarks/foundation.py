"""Speed of the foundations and two claims of the paper, measured: ``python benchmarks/foundation.py``.

1. One clean Lorenz realization (spline, weak form, SVD, 8 forecasts of 2,001 samples) beside the same steps
   with SciPy (``make_interp_spline``, NumPy, ``solve_ivp(DOP853)`` with a right-hand side of one Python expression in
   Horner's form) in the same run.
2. The smoothing spline against ``UnivariateSpline(k=5, s=N σ̂²)``, and its time per sample up to 600,000.
3. The gap of the null space and the rotation of the null vector, and strong against weak form, under noise.

Times are CPU seconds of all threads, best of several runs after compilation, so that other work on
the machine counts less; set OPENBLAS_NUM_THREADS=1.
``--json FILE`` writes all numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import UnivariateSpline, make_interp_spline

from jetode.catalogue.systems import systems
from jetode.equations.closure import cosine, relative_l2
from jetode.equations.field import Field
from jetode.equations.polynomials import Library
from jetode.experiments.core.scoring import vpt_at
from jetode.integration.forecast import forecast_many
from jetode.integration.valid_prediction_time import interior_starts
from jetode.paper.identify import Embedding, PaperSettings, embed, identify
from jetode.records.series import Series
from jetode.signal.noise import add_noise, noise_scale
from jetode.signal.spline import smooth

HORIZON = 20.0


def best_time(run: Callable[[], Any], repeats: int) -> float:
    """Least CPU seconds of several runs, after one to compile."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


# -- 1. one clean realization ------------------------------------------------------------------------------


def realization(record: Series) -> list[float]:
    """Spline, weak form, SVD, numerator and 8 forecasts; the VPT of each."""
    spline = smooth(record.values, 1.0, 5, "interpolate")
    embedding = Embedding(spline.jets(3), record.dt, 3, spline, True, 0.0, 5)
    closure = identify(embedding, PaperSettings()).closure
    steps = round(HORIZON / record.dt)
    starts = interior_starts(record.n, steps)
    field = Field.from_closure(closure)
    runs = forecast_many(field, embedding.jets[starts, :3], embedding.spread, HORIZON, record.dt)
    return [vpt_at(f.values, record.values, i, steps, record.dt) for f, i in zip(runs, starts, strict=True)]


def horner(terms: dict[tuple[int, ...], float], names: tuple[str, ...]) -> str:
    """A polynomial as a Python expression, nested in all its variables."""
    if not names:
        return repr(float(terms[()]))
    rest: dict[int, dict[tuple[int, ...], float]] = {}
    for (power, *others), coefficient in terms.items():
        rest.setdefault(power, {})[tuple(others)] = coefficient
    out = ""
    for power in range(max(rest), -1, -1):
        inner = horner(rest[power], names[1:]) if power in rest else ""
        out = " + ".join(filter(None, [f"({out}) * {names[0]}" if out else "", inner]))
    return out


def scipy_realization(record: Series) -> list[float]:
    """The same steps as a script would do them with NumPy and SciPy."""
    t = record.dt * np.arange(record.n)
    spline = make_interp_spline(t, record.values, k=5)
    jets = np.stack([spline(t, d) for d in range(3)], axis=1)
    amplitude = jets[:, 0].std()
    unit = amplitude / jets[:, 1].std()
    scaled = jets / (amplitude / unit ** np.arange(3))
    library = Library.total_degree(3, 4)
    exponents = np.array(library.exponents)
    powers = np.prod(scaled[:, None, :] ** exponents, axis=2)
    xi = np.linspace(-1, 1, 41)
    psi = (1 - xi**2) ** 4
    slope = -8 * xi * (1 - xi**2) ** 3 / (20 * record.dt / unit)
    rows = []
    for centre in np.round(np.linspace(20, record.n - 21, 200)).astype(int):
        window = slice(centre - 20, centre + 21)
        u0, u1, u2 = scaled[window].T
        rows.append(np.concatenate([[-u2 @ slope, -u2 @ (u0 * slope + u1 * psi)], -(psi @ powers[window])]))
    matrix = np.array(rows)
    sizes = np.linalg.norm(matrix, axis=0)
    below = (np.linalg.svd(matrix / sizes)[2][-1] / sizes)[:2]
    above = np.linalg.lstsq(-matrix[:, 2:] / sizes[2:], matrix[:, :2] @ below, rcond=None)[0] / sizes[2:]

    units = amplitude / unit ** np.arange(3)
    physical = units[2] / unit * above / np.prod(units**exponents, axis=1)
    numerator = horner(dict(zip(map(tuple, exponents), physical, strict=True)), ("x", "y", "z"))
    denominator = f"{float(below[0])!r} + {float(below[1] / units[0])!r} * x"
    # the leanest right-hand side that Python has: one expression in plain floats, compiled once
    rate = eval(f"lambda x, y, z: (y, z, ({numerator}) / ({denominator}))")
    steps = round(HORIZON / record.dt)
    scores = []
    for i in interior_starts(record.n, steps):
        times = record.dt * np.arange(steps + 1)
        run = solve_ivp(
            lambda _, u: rate(*u.tolist()),
            (0.0, times[-1]),
            jets[i],
            method="DOP853",
            t_eval=times,
            rtol=1e-8,
            atol=1e-10 * jets.std(axis=0),
            max_step=5 * record.dt,
        )
        scores.append(vpt_at(run.y[0], record.values, i, steps, record.dt))
    return scores


def measure_realization() -> dict[str, Any]:
    record = systems["lorenz"].simulate(60.0).observe("x")
    ours = best_time(lambda: realization(record), 30)
    begin = time.process_time()
    scipy_scores = scipy_realization(record)
    theirs = time.process_time() - begin
    scores = realization(record)
    print(f"clean realization: {1e3 * ours:.2f} ms, with SciPy {1e3 * theirs:.0f} ms, ratio {theirs / ours:.0f}")
    print(f"  VPT of 8: best {max(scores):.2f}, median {np.median(scores):.2f}; SciPy's best {max(scipy_scores):.2f}")
    return {"seconds": ours, "scipy_seconds": theirs, "ratio": theirs / ours, "vpt": scores}


# -- 2. the spline -----------------------------------------------------------------------------------------


def noisy_lorenz(n: int, fraction: float = 0.15) -> tuple[np.ndarray, float]:
    clean = systems["lorenz"].simulate((n - 1) * 0.01).observe("x").values
    return add_noise(clean, fraction, np.random.default_rng(0)), 0.01


def measure_spline(sizes: tuple[int, ...]) -> dict[str, Any]:
    y, dt = noisy_lorenz(60_001)
    sigma = noise_scale(y)
    t = dt * np.arange(y.shape[0])
    weight = smooth(y, dt).weight
    scipy = best_time(lambda: UnivariateSpline(t, y, k=5, s=y.shape[0] * sigma**2), 3)
    given = best_time(lambda: smooth(y, dt, 5, "weight", weight=weight), 10)
    target = best_time(lambda: smooth(y, dt, 5, "residual", sigma=sigma), 10)
    print(
        f"spline, N = 60,001: given λ {1e3 * given:.2f} ms ({scipy / given:.0f} times UnivariateSpline), "
        f"residual target {1e3 * target:.1f} ms ({scipy / target:.1f} times)"
    )
    per_sample = {}
    for n in sizes:
        y, dt = noisy_lorenz(n)
        repeats = max(3, 200_000 // n)
        seconds = best_time(lambda y=y, dt=dt: smooth(y, dt, 5, "weight", weight=weight), repeats)
        with_jets = best_time(lambda y=y, dt=dt: smooth(y, dt, 5, "weight", weight=weight).jets(3), repeats)
        per_sample[n] = (seconds / n, with_jets / n)
        print(f"  N = {n:>7,}: {1e9 * seconds / n:.0f} ns per sample, {1e9 * with_jets / n:.0f} with jets")
    return {
        "scipy_seconds": scipy,
        "given_seconds": given,
        "given_ratio": scipy / given,
        "residual_seconds": target,
        "residual_ratio": scipy / target,
        "seconds_per_sample": {str(n): s for n, s in per_sample.items()},
    }


# -- 3. claims of the paper --------------------------------------------------------------------------------


def measure_noise(seeds: int) -> list[dict[str, Any]]:
    """Gap, rotation (angle of the denominator) and error of both forms as noise grows: medians over seeds."""
    system = systems["lorenz"]
    exact = system.closure("x")
    assert exact is not None
    clean = system.simulate(60.0).observe("x")
    table = []
    print("noise      form    σ_min      gap        sin(angle of D)  N error")
    for fraction in (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.15):
        for form in ("weak", "strong"):
            rows = []
            for seed in range(seeds if fraction else 1):
                values = add_noise(clean.values, fraction, np.random.default_rng(seed)) if fraction else clean.values
                found = identify(embed(clean.with_values(values), 3), PaperSettings(form=form))
                angle = np.sqrt(max(0.0, 1 - cosine(found.closure, exact)[1] ** 2))
                rows.append((found.singular_values[-1], found.gap, angle, relative_l2(found.closure, exact)[0]))
            smallest, gap, angle, error = np.median(rows, axis=0)
            print(f"{fraction:<10g} {form:<7} {smallest:.2e}   {gap:.2e}   {angle:.2e}         {error:.2e}")
            table.append(
                {
                    "noise": fraction,
                    "form": form,
                    "smallest": smallest,
                    "gap": gap,
                    "angle": angle,
                    "error_n": error,
                }
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, no record of 600,000 samples")
    options = parser.parse_args()
    sizes = (6_001, 60_001) if options.quick else (6_001, 60_001, 600_001)
    results = {
        "command": " ".join(["python", *sys.argv]),
        "machine": {
            "python": platform.python_version(),
            "processor": platform.processor(),
            "cores": os.cpu_count(),
        },
        "realization": measure_realization(),
        "spline": measure_spline(sizes),
        "noise": measure_noise(3 if options.quick else 11),
    }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
