"""N/D as the paper fits it, N/D bounded at the pole, and the regular form: ``python benchmarks/rational.py``.

Per system, noise level and seed: valid prediction times from the paper's 8 interior starts (smoothed start states) by
direct integration of N/D with a free numerator, of N/D with the numerator kept in the crossing family, and by the joint
fit in regular coordinates; and how many of the 8 forecasts end early.  Medians over seeds; model time, H = 10.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

import jetode
from jetode.experiments.core.scoring import vpts_within

DT, HORIZON = 0.01, 10.0
PRESET = {"method": "paper", "denominator_degree": 1, "numerator_degree": 4}


def scores(model: jetode.Model, truth: np.ndarray, starts: np.ndarray, coordinates: str) -> tuple[float, int]:
    """(median VPT, forecasts that stop early) over the starts."""
    steps = round(HORIZON / DT)
    options = {"past_only": False, "samples": 0, "coordinates": coordinates}
    runs = {int(start): model.forecast(HORIZON, int(start), **options).values for start in starts}
    times = vpts_within(runs.get, truth, starts, steps, DT)
    return float(np.median(times)), sum(values.size < steps + 1 for values in runs.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    print("median VPT and stops of 8: N/D free, N/D bounded, N/D bounded in regular coordinates, joint fit")
    table = []
    for system in ("lorenz", "rossler"):
        truth = jetode.systems[system].simulate(60.0).observe("x").values
        starts = jetode.interior_starts(truth.size, round(HORIZON / DT))
        for noise in (0.0, 0.02, 0.05, 0.15):
            rows = []
            for seed in range(1 if noise == 0.0 else arguments.seeds):
                values = jetode.add_noise(truth, noise, np.random.default_rng(seed)) if noise else truth
                record = jetode.Series(values, dt=DT)
                free = jetode.reconstruct(record, **PRESET)
                bounded = jetode.reconstruct(record, **PRESET, crossing=True)
                joint = jetode.reconstruct(record)
                rows.append(
                    [
                        *scores(free, truth, starts, "jet"),
                        *scores(bounded, truth, starts, "jet"),
                        *scores(bounded, truth, starts, "auto"),
                        *scores(joint, truth, starts, "auto"),
                    ]
                )
            medians = np.median(np.array(rows, dtype=float), axis=0)
            table.append({"system": system, "noise": noise, "medians": medians.tolist()})
            print(
                f"{system:8s} {noise:5.2f}  " + "  ".join(f"{v:6.2f} {s:4.1f}" for v, s in medians.reshape(-1, 2)),
                flush=True,
            )
    print(json.dumps(table))


if __name__ == "__main__":
    main()
