"""How often the screen gives a record up: noise without dynamics, and every channel of the panel under noise.

python benchmarks/screen.py [--seeds 30]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.signal import lfilter

from jetode.catalogue.systems import systems
from jetode.experiments.panel.channels import channels
from jetode.records.series import Series
from jetode.signal.screen import screen

SETTLING = 500  # samples before a stationary process is recorded
RECURSIONS = {
    "white": [1.0],
    "AR(1)": [1.0, -0.9],
    "AR(2), short memory": [1.0, -1.9 * np.cos(2 * np.pi / 30), 0.95**2],
    "AR(2), long memory": [1.0, -1.98 * np.cos(2 * np.pi / 40), 0.99**2],
}


def noise(kind: str, n: int, seed: int, lorenz: np.ndarray) -> np.ndarray:
    """One record without dynamics of its own."""
    rng = np.random.default_rng(seed)
    if kind == "random walk":
        return np.cumsum(rng.standard_normal(n))
    if kind == "shuffled Lorenz":
        return rng.permutation(lorenz)[:n]
    return lfilter([1.0], RECURSIONS[kind], rng.standard_normal(n + SETTLING))[SETTLING:]


def given_up(values: np.ndarray, dt: float) -> bool:
    """Whether the screen finds nothing."""
    found = screen([Series(values, dt)])
    return found is not None and found.hopeless


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=30)
    seeds = parser.parse_args().seeds
    lorenz = systems["lorenz"].simulate(60.0, dt=0.01, transient=50.0).observe("x").values
    for kind in (*RECURSIONS, "random walk", "shuffled Lorenz"):
        for n in (600, 2000, 6000):
            began = time.process_time()
            count = sum(given_up(noise(kind, n, seed, lorenz), 0.01) for seed in range(seeds))
            seconds = (time.process_time() - began) / seeds
            print(f"{kind:20} {n:5} samples: given up {count} of {seeds}, {seconds:.3f} s each")
    lost = total = 0
    for channel in channels():
        clean = channel.record(1, 0.0).series
        for level in (0.0, 0.05, 0.15, 0.3, 0.5):
            for n in (700, 2000, clean.n):
                part = clean.values[:n]
                noisy = part + level * np.std(part) * np.random.default_rng(n).standard_normal(n)
                lost, total = lost + given_up(noisy, clean.dt), total + 1
    print(f"channels of the panel: given up {lost} of {total}")


if __name__ == "__main__":
    main()
