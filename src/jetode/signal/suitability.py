"""What makes a record suitable, in one place: `diagnose` warns and a refused model advises by these numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suitability:
    """Limits beyond which a property of a record stands against a reconstruction."""

    few_oscillations: float = 30.0  # fewer leave the form of most equations undecided
    coarse: float = 1.6  # samples per tc (ten per period of a sine): below, a spline cannot follow the slopes
    drift: float = 0.25  # std between the halves' means: more is another regime, not a wandering mean,
    drift_significance: float = 3.0  # if it is also this many standard errors
    heavy_noise: float = 0.3  # of the signal's std: above, what looks like noise may be motion faster than the sampling
    far_offset: float = 6.0  # std of the mean from 0: beyond, powers of the signal are hard to tell apart,
    farthest_offset: float = (
        1e3  # and beyond this, not at all: a cube then differs from a parabola by 1e-9 of its value
    )

    def drifts(self, size: float, z: float) -> bool:
        """Whether the mean drifts."""
        return size > self.drift and z > self.drift_significance


SUITABILITY = Suitability()
