"""What would help most where a model is not exact: one sentence, by what the record shows."""

from __future__ import annotations

import numpy as np

from jetode.reconstruction.evidence import Evidence
from jetode.reconstruction.settings import LIMITS
from jetode.records.series import Series
from jetode.signal.decimate import samples_per_tc
from jetode.signal.oscillations import oscillation
from jetode.signal.scales import Unsuitable, filled
from jetode.signal.spline import smooth
from jetode.signal.suitability import SUITABILITY

ANOTHER = "Try another channel of the same system, or order 4 (jetode diagnose says what the record shows)."
FORECAST_ONLY = "Use it to forecast only; for an equation, try another channel of the same system or order 4."
COMPLETE = "Record longer, or fill its gaps."
PAPER = "Leave the degrees out and use method='joint', which allows for noise and poles, or another channel."
STOPPED = "The fit was stopped before it had finished; this is the best model so far."
LONGER = "Let it run longer."
TRANSIENT = "Record how it comes back after a push: what lies beside the curve tells equations apart."
NOTHING = "Record another channel of the same system, longer or at lower noise, or without an outside influence on it."
UNNAMED = "Look at its curve (the report, or model.elements): who knows the device may know the law it follows."
NOISY = 0.02  # of the signal: from here on less noise would help a record that cannot decide


def unfit(e: Evidence) -> str:
    """Where no equation of the family fits."""
    limits = SUITABILITY
    if e.resolution < limits.coarse:
        return _faster(e.resolution)
    if limits.drifts(e.drift, e.drift_z):
        return f"Use a stationary stretch: the mean drifts by {e.drift:.2g} std between the halves of the record."
    if e.sufficiency is not None and e.sufficiency.hidden:
        return "Record another channel: the past of this one tells more than its slopes, so part of it is hidden."
    if e.oscillations < limits.few_oscillations:
        return _longer(e.oscillations)
    if e.colour > LIMITS.colour:
        return "Give the size of the noise (sigma) if you know it, and record without a filter: the noise is coloured."
    if e.residual > limits.heavy_noise:
        size = f"{100 * e.residual:.0f} % of the signal here"
        return f"Record at lower noise ({size}) or sample faster: motion faster than the sampling looks like noise."
    return ANOTHER


def undecided(e: Evidence) -> str:
    """Where the record cannot decide."""
    cleaner = " or at lower noise" if e.residual > NOISY else ""
    return f"Record longer{cleaner} (there are {e.oscillations:.0f} oscillations): the choice then becomes clear."


def nearer_zero(offset: float) -> str:
    """Where the mean lies ``offset`` std from 0."""
    return (
        f"Subtract a constant from the record: its mean lies {offset:.3g} std from 0, so far that powers "
        "of the signal are hard to tell apart."
    )


def refused(record: Series) -> str:
    """Where nothing could be fitted at all."""
    offset = abs(float(np.nanmean(record.values))) / record.std
    if offset > SUITABILITY.far_offset:
        return nearer_zero(offset)
    try:
        density = samples_per_tc(record)
    except Unsuitable:
        return "Sample faster or record another channel: nothing but noise is seen here."
    if density < SUITABILITY.coarse:
        return _faster(density)
    count = record.n / oscillation(smooth(filled(record.values), 1.0, 5, "gcv").jets(0)[:, 0])
    if count < SUITABILITY.few_oscillations:
        return _longer(count)
    return ANOTHER


def _faster(resolution: float) -> str:
    return (
        f"Sample faster: there are {resolution:.2g} samples in the time in which the signal changes by its own size, "
        f"{SUITABILITY.coarse:g} or more are wanted."
    )


def _longer(oscillations: float) -> str:
    wanted = SUITABILITY.few_oscillations
    return f"Record longer: there are {oscillations:.0f} oscillations, {wanted:.0f} or more are wanted."
