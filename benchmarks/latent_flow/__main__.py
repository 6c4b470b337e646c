"""Latent flows beside kernel ridge: ``PYTHONPATH=benchmarks python -m latent_flow halvorsen x 0.05 --seeds 5``.

A prototype: x_i' = P_i(x) with three coordinates and all monomials up to the second degree in every row, of which only
x_0 is recorded.  Where the search finds it, its held-out forecasts are those of the true flow; often it does not.
Times are the valid prediction times of the trials of the contest (docs/mathematics.md §7.4), in oscillations.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from jetode.baselines.contest import fit_simple
from jetode.catalogue.systems import systems
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.records.series import Series
from jetode.signal.trials import plan
from latent_flow.fit import fit_latent


def main() -> None:
    """One line a seed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("system")
    asked.add_argument("channel")
    asked.add_argument("noise", type=float)
    asked.add_argument("--seeds", type=int, default=3)
    asked.add_argument("--duration", type=float, default=60.0)
    asked.add_argument("--dt", type=float, default=0.01)
    given = asked.parse_args()
    for seed in range(given.seeds):
        rng = np.random.default_rng(seed)
        run = systems[given.system].simulate(given.duration, dt=given.dt, transient=50.0 + 10.0 * rng.random())
        clean = run.observe(given.channel).values
        records = (Series(clean + given.noise * clean.std() * rng.standard_normal(clean.size), given.dt),)
        trials = plan(records)
        if trials is None:
            raise SystemExit("The record is too short for trials.")
        truth, began = trials.truths(records), time.process_time()
        found = fit_latent(records, trials, seed)
        spent = time.process_time() - began
        other = fit_simple("kernel ridge", records, trials, 0.0)
        times = [
            "none" if one is None else shown(windowed_vpt((one.held_out - truth) / trials.spread, trials.period))
            for one in (found, other)
        ]
        print(f"seed {seed}: latent flow {times[0]}  kernel ridge {times[1]}  {spent:.1f} CPU s", flush=True)


def shown(times: np.ndarray) -> str:
    """Median and quartiles."""
    low, middle, high = np.quantile(times, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


if __name__ == "__main__":
    main()
