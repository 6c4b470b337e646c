"""What ``model.update`` costs with 10 % more samples, and where its coefficients end, beside a new fit.

    python benchmarks/update.py [--seeds 3]

Asked: at most 20 % of the CPU time of a new fit, and the same coefficients to a tenth of their standard errors.  A
first fit is thrown away, so that no compilation is counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jetode

RECORDS = (("lorenz", "x", 66.0, 0.01, 0.15), ("lorenz", "x", 66.0, 0.01, 0.05), ("rossler", "x", 220.0, 0.05, 0.10))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """(result, CPU seconds)."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print("record               noise  seed   new fit   update  share  farthest coefficient")
    worst_share = worst_distance = 0.0
    compiled = False
    for name, channel, duration, dt, noise in RECORDS:
        truth = jetode.systems[name].simulate(duration, dt=dt).observe(channel).values
        for seed in range(given.seeds):
            values = jetode.add_noise(truth, noise, np.random.default_rng(seed))
            whole = jetode.Series(values, dt, name=channel)
            before = jetode.reconstruct(whole.slice(0, round(values.size / 1.1)))
            if not compiled:
                before.update(whole)
                compiled = True
            anew, fit = timed(lambda whole=whole: jetode.reconstruct(whole))
            updated, spent = timed(lambda before=before, whole=whole: before.update(whole))
            old = {(c.part, c.powers): c.value for c in updated.coefficients()}
            distances = [
                abs(old.get((c.part, c.powers), np.inf) - c.value) / c.standard_error
                for c in anew.coefficients()
                if c.standard_error > 0
            ]
            farthest = max(distances, default=np.inf)
            worst_share, worst_distance = max(worst_share, spent / fit), max(worst_distance, farthest)
            print(
                f"{name + ' ' + channel:20s} {100 * noise:4.0f} % {seed:5d} {fit:7.2f} s {spent:6.2f} s "
                f"{spent / fit:5.0%}  {farthest:.1e} standard errors; {anew.verdict.grade}, {updated.verdict.grade}",
                flush=True,
            )
    print(
        f"at most {100 * worst_share:.0f} % of a new fit (asked: 20), {worst_distance:.1e} standard errors (asked: 0.1)"
    )


if __name__ == "__main__":
    main()
