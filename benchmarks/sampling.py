"""What sampling and length do to a reconstruction: Lorenz x and Rössler x at 5 % noise, all defaults.

    python benchmarks/sampling.py --out benchmarks/results/sampling.csv

One row per system, samples per oscillation (2π tc) and number of samples, from the panel's first trajectory: right by
the panel's rule, trusted or not and why, CPU seconds.  Each line is printed as soon as it is known.
"""

from __future__ import annotations

import argparse
import csv
import sys
from math import pi
from time import process_time

import numpy as np

import jetode
from jetode.experiments.panel.channels import TRANSIENT, Channel, select
from jetode.experiments.panel.comparison import compare

CHANNELS = ("Lorenz x", "Rossler x")
PER_OSCILLATION = (6, 8, 12, 20, 50, 200, 500)
SAMPLES = (1500, 6000)
NOISE = 0.05


def record(channel: Channel, per_oscillation: float, samples: int, noise: float, seed: int = 0) -> jetode.Series:
    """A noisy record of the channel at another sampling."""
    dt = 2.0 * pi * channel.tc / per_oscillation
    start = channel.states(np.array(channel.initial), 2, TRANSIENT * channel.tc)[-1]
    values = channel.states(start, samples, dt)[:, channel.index]
    rng = np.random.default_rng(seed)
    return jetode.Series(values + noise * values.std() * rng.standard_normal(samples), dt, name=channel.observable)


def measure(channel: Channel, per_oscillation: float, samples: int, noise: float) -> dict[str, object]:
    """One reconstruction beside the truth."""
    began = process_time()
    model = jetode.reconstruct(record(channel, per_oscillation, samples, noise))
    seconds = process_time() - began
    assert channel.regular is not None
    same = compare(model, channel.regular, channel.tc)
    evidence = model.diagnostics.get("evidence") or {}
    return {
        "channel": channel.name,
        "per_oscillation": per_oscillation,
        "samples": samples,
        "oscillations": f"{samples / per_oscillation:.1f}",
        "right": same.right,
        "error": f"{same.error:.1e}",
        "trusted": model.verdict.trusted,
        "used": model.record.n,
        "noise": f"{model.summary()['noise']['fraction']:.3f}",
        "skill": f"{evidence.get('skill') or float('nan'):.2f}",
        "seconds": f"{seconds:.1f}",
        "reason": "" if model.verdict.trusted else model.verdict.reason,
        "advice": model.verdict.advice,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", nargs="+", default=list(CHANNELS))
    parser.add_argument("--per-oscillation", nargs="+", type=float, default=list(PER_OSCILLATION))
    parser.add_argument("--samples", nargs="+", type=int, default=list(SAMPLES))
    parser.add_argument("--noise", type=float, default=NOISE)
    parser.add_argument("--out")
    chosen = parser.parse_args()
    rows = []
    for channel in select(chosen.channels):
        for per in chosen.per_oscillation:
            for samples in chosen.samples:
                rows.append(measure(channel, per, samples, chosen.noise))
                print(" ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
    if chosen.out:
        with open(chosen.out, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
