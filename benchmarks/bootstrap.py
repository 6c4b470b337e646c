"""Standard errors tried out: ``python benchmarks/bootstrap.py --realizations 50``.

Records of Lorenz and Rössler (``joint.py``'s, 15 % noise), on several stretches of the attractor, are reconstructed;
noise of the fitted size is laid on the fitted path B times, the coefficients are fitted again with the terms fixed, and
their scatter is compared with the model's Gauss–Newton covariance: per coefficient (the ratio has a standard error of
1/√(2B)), the correlation matrices, and the squared Mahalanobis distances, whose mean is the number of coefficients
where the covariance is right also along its narrowest directions.  Several stretches, because one record with B = 30
misleads: a few refits far off move all its ratios.
"""

from __future__ import annotations

import argparse
import csv
from datetime import date
from itertools import product
from pathlib import Path

import numpy as np

import jetode
from jetode.catalogue.systems import systems
from jetode.reconstruction.bootstrap import parametric_bootstrap
from joint import CELLS, DT, SHIFT


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", choices=list(CELLS), default=["lorenz-15", "rossler-15"])
    parser.add_argument("--realizations", type=int, default=50)
    parser.add_argument("--stretches", type=int, default=6, help="records per cell, each with its own noise seed")
    results = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=results / f"bootstrap_{date.today():%Y-%m-%d}.csv")
    arguments = parser.parse_args()
    count = arguments.realizations
    rows = []
    for name, stretch in product(arguments.cells, range(arguments.stretches)):
        cell = CELLS[name]
        clean = systems[cell.system].simulate(cell.duration, DT, 50.0 + SHIFT * stretch, (1.0, 0.0, 0.0)).observe("x")
        record = clean.with_values(jetode.add_noise(clean.values, cell.noise, np.random.default_rng(stretch)))
        found = parametric_bootstrap(jetode.reconstruct(record), count)
        print(
            f"\n{name}, stretch {stretch}: {count} refits; scatter/standard error, each ± {1 / np.sqrt(2 * count):.2f}"
        )
        for c, ratio, mean in zip(found.coefficients, found.ratios, found.refits.mean(axis=0), strict=True):
            bias = (mean - c.value) / c.standard_error
            value = f"{c.value:10.5g} ± {c.standard_error:<9.3g}"
            print(f"  {c.part} {c.powers!s:9s} {value} ratio {ratio:.2f}  bias {bias:+.2f} se")
            row = {
                "cell": name,
                "stretch": stretch,
                "realizations": count,
                "part": c.part,
                "powers": " ".join(map(str, c.powers)),
            }
            rows.append(row | {"value": c.value, "standard_error": c.standard_error, "ratio": ratio, "bias": bias})
            rows[-1]["distance"] = found.distances.mean() / len(found.coefficients)
        scatter, own = found.correlations
        upper = np.triu_indices(len(found.coefficients), 1)
        largest, alike = np.abs(scatter - own)[upper].max(), np.corrcoef(scatter[upper], own[upper])[0, 1]
        print(f"  correlations: largest difference {largest:.2f}, agreement {alike:.3f}")
        degrees = len(found.coefficients)
        spread = found.distances.mean() / degrees
        print(f"  mean squared distance/{degrees}: {spread:.3f} ± {np.sqrt(2 / degrees / count):.2f}", flush=True)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
