"""How far from 0 may a record lie?  ``python benchmarks/offset.py``: Lorenz x at 15 % noise and clean, with constants
of 0 to 50 std added.  The equation then has the terms of the shifted coordinate; a shift loses no information,
it only makes powers of the signal nearly dependent; the advice of a refused model says so.  Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import time

import numpy as np

from jetode import reconstruct
from jetode.catalogue.systems import systems
from jetode.records.series import Series


def main() -> None:
    """One line per record."""
    clean = systems["lorenz"].simulate(60.0, 0.01, 50.0, (1.0, 0.0, 0.0)).observe("x").values
    size = float(np.std(clean))
    for noise in (0.15, 0.0):
        for offset in (0.0, 5.0, 10.0, 20.0, 50.0):
            values = clean + size * (offset + noise * np.random.default_rng(5).standard_normal(clean.size))
            began = time.process_time()
            model = reconstruct(Series(values, 0.01, name="x"))
            seconds = time.process_time() - began
            said = "trusted" if model.verdict.trusted else f"{model.verdict.reason} {model.verdict.advice}"
            print(f"noise {noise:g}, {offset:g} std from 0: {seconds:.0f} s, {said}\n{model.equation()}", flush=True)


if __name__ == "__main__":
    main()
