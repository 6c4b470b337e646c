"""Unequal times brought to equal steps, only when asked: cubic interpolation, gaps kept as gaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

GAP = 3.5  # × the typical step: a longer pause between samples stays a gap
FEWEST, MOST = 8, 50_000_000  # samples afterwards,
PER_SAMPLE, ALWAYS = 1000, 1_000_000  # and this many for each given (or in all): more are nothing but gaps


def resampled(
    times: FloatArray, values: FloatArray, step: float, place: Callable[[int], str] = "sample {}".format
) -> tuple[FloatArray, float]:
    """(values at equal steps, first time); NaN where the nearest samples are more than ``GAP`` typical steps apart."""
    from scipy.interpolate import make_interp_spline  # half a second to import, and hardly ever asked for

    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise InputError(f"The time at {place(int(bad[0]))} is not a finite number; every sample needs its time.")
    bad = np.flatnonzero(np.diff(times) <= 0)
    if bad.size:
        raise InputError(f"The time at {place(int(bad[0]) + 1)} is not later than the one before it; sort the record.")
    present = ~np.isnan(values)
    known, samples = times[present], values[present]
    most = min(MOST, max(ALWAYS, PER_SAMPLE * known.size))
    if known.size < FEWEST or not FEWEST <= (known[-1] - known[0]) / step <= most:
        raise InputError(f"The '--resample' option must leave {FEWEST} to {most} samples. Got {step:g} instead.")
    grid = known[0] + step * np.arange(int((known[-1] - known[0]) / step * (1 + 1e-12)) + 1)
    out: FloatArray = np.asarray(make_interp_spline(known, samples, k=3)(grid), dtype=np.float64)
    after = np.clip(np.searchsorted(known, grid), 1, known.size - 1)
    pause = known[after] - known[after - 1]
    on_sample = np.minimum(known[after] - grid, grid - known[after - 1]) < 1e-9 * step
    out[(pause > GAP * float(np.median(np.diff(times)))) & ~on_sample] = np.nan
    return out, float(known[0])
