"""Very long records made shorter by a stated rule, for the joint fit, whose cost grows with their length.

1. More than ``LONG`` samples at more than ``DENSE`` per tc: decimated to about ``WANTED`` per tc by a linear-phase
   low-pass filter (Kaiser window, 100 dB, cut at the new Nyquist frequency).  Up to 0.3 of the new sampling rate, 18
   harmonics of a sine with that tc, its gain is 1 to 1e-5, so that derivatives are kept; noise stays white within a
   correlation of 0.06 at the first lag and falls by √factor.
2. Still more than ``MOST`` samples, or than ``LONG`` over more than ``LONGEST`` tc: the last ones are used, since cost
   grows with the samples and with the motion between them.

Everything is in tc = std(u0)/std(u1), the time in which the signal changes by its own size: what has to be resolved are
its fastest parts, however rarely it oscillates.

A missing sample leaves a gap as long as the filter; nothing is interpolated.  Each end loses ``HALF`` new samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import pi

import numpy as np

from jetode.records.series import Series
from jetode.signal.scales import derivative_scale, filled
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray

LONG = 20_000
DENSE = 120.0 / (2.0 * pi)  # samples per tc: 120 per period of a sine
WANTED = 60.0 / (2.0 * pi)  # and 60
MOST = 60_000
LONGEST = 1_000.0 * 2.0 * pi  # tc: a thousand periods of a sine
HALF = 16  # half length of the filter in new samples
ATTENUATION = 100.0  # dB


def decimate(record: Series, factor: int) -> Series:
    """Every ``factor``-th sample after the anti-alias filter; the last possible one is kept."""
    taps = low_pass(factor)
    first = (record.n - taps.size) % factor  # so that the last window ends with the record
    values = _filtered(record.values[first:], taps, factor)
    start = record.t0 + (first + HALF * factor) * record.dt
    return replace(record, values=values, dt=factor * record.dt, t0=start, locate=None)


def low_pass(factor: int) -> FloatArray:
    """The filter for one factor: 2·HALF·factor + 1 taps of sum 1."""
    from scipy.signal import firwin, kaiser_beta  # takes a second to import, and few records are so long

    window = ("kaiser", kaiser_beta(ATTENUATION))
    return np.asarray(firwin(2 * HALF * factor + 1, 1.0 / factor, window=window), dtype=np.float64)


def _filtered(values: FloatArray, taps: FloatArray, factor: int) -> FloatArray:
    """Filtered at every ``factor``-th full window; NaN where one holds a missing sample."""
    from scipy.signal import upfirdn

    missing = np.isnan(values)
    full = slice(2 * HALF, (values.size - 1) // factor + 1)  # windows that lie within the record
    out = upfirdn(taps, np.where(missing, 0.0, values), down=factor)[full]
    if missing.any():
        counts = np.concatenate(([0], np.cumsum(missing)))
        starts = factor * np.arange(out.size)
        out[counts[starts + taps.size] > counts[starts]] = np.nan
    return np.asarray(out, dtype=np.float64)


def samples_per_tc(record: Series) -> float:
    """tc in samples, from (at most) the last ``LONG`` samples."""
    stretch = record.slice(max(0, record.n - LONG), record.n)
    return derivative_scale(smooth(filled(stretch.values), 1.0, 5, "gcv"))[1]


def reduce_all(records: Sequence[Series]) -> tuple[tuple[Series, ...], list[str]]:
    """The records as they are used, all reduced alike, and what was done to them in sentences."""
    notes: list[str] = []
    longest = max(records, key=len)
    density = samples_per_tc(longest) if longest.n > LONG else 0.0
    factor = int(density / WANTED)
    out = list(records)
    if density > DENSE and min(r.n for r in records) // factor > 4 * HALF:
        out = [decimate(r, factor) for r in records]
        notes.append(
            f"decimated by {factor} after a low-pass filter: {longest.n} samples at {density:.0f} per characteristic "
            f"time became {max(r.n for r in out)}; the filter uses up {HALF * out[0].dt:.3g} at each end"
        )
        density /= factor
    most = int(np.clip(LONGEST * density, LONG, MOST))
    for i, record in enumerate(out):
        if record.n > most:
            notes.append(f"only the last {most} of {record.n} samples are used")
            out[i] = record.slice(record.n - most, record.n)
    return tuple(out), notes
