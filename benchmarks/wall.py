"""Wall and CPU seconds of default fits: ``python benchmarks/wall.py`` on an otherwise idle machine.

The panel's channels of classes R0 to R2 whose equation is found at every noise level, one trajectory each, with as many
threads as there are processors.  One line a noise level, then the median over all.
"""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np

import jetode
from jetode.experiments.panel.channels import select

UNSOLVED = ("IsothermalChemical z", "SprottO z")
NOISE = (0.0, 0.05, 0.15)


def main() -> None:
    """Fit them one after the other."""
    channels = [c for c in select(["R0-R2"]) if c.name not in UNSOLVED]
    jetode.reconstruct(channels[0].record(0, 0.05).series)  # kernels are there after this
    walls = []
    for noise in NOISE:
        taken = []
        for channel in channels:
            series = channel.record(0, noise).series
            began = perf_counter(), process_time()
            jetode.reconstruct(series)
            taken.append((perf_counter() - began[0], process_time() - began[1]))
        wall, cpu = np.median(taken, axis=0)
        print(f"noise {noise:4.2f}: median wall {wall:.2f} s, CPU {cpu:.2f} s, {len(channels)} records", flush=True)
        walls += [w for w, _ in taken]
    print(f"all {len(walls)} records: median wall {np.median(walls):.2f} s")


if __name__ == "__main__":
    main()
