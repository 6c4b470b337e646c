"""The paper's own method as a peer; apart from the others, because it alone reaches the whole of jetode."""

from __future__ import annotations

import numpy as np

from jetode.experiments.peers.narx import Rollout
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.support.arrays import FloatArray, IntArray


def paper(values: FloatArray, dt: float, seed: int) -> Rollout:
    """The paper's own method, its degrees and window selected by VPT against the record."""
    model = reconstruct(Series(values, dt), method="paper", seed=seed)

    def rollout(seen: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        out = np.full((ends.size, steps + 1), np.nan)
        for row, end in zip(out, ends, strict=True):
            if end == values.size - 1 and np.array_equal(seen[: end + 1], values):
                run = model.forecast(steps * dt).values
            else:
                lead = max(5, round(model.characteristic_time / dt))  # a spline's derivatives are poor at its end
                past = Series(seen[max(0, end - 60 * lead) : end + 1], dt)
                run = model.with_record(past).forecast((steps + lead) * dt, start=past.n - 1 - lead).values[lead:]
            row[: run.size] = run
        return out

    return rollout
