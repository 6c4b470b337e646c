"""What is known of the noise beside its level: its colour (docs/mathematics.md (4.18)), how it grows with the signal
(4.21), and the weights of heavy tails (4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.signal.colour import WHITE, Colour
from jetode.signal.growth import EVEN, Growth
from jetode.signal.noise import MAD_TO_SIGMA
from jetode.support.arrays import FloatArray

HEAVY_SHARE = 0.002  # of the samples beyond four MAD-σ that make a record heavy-tailed
STUDENT_DOF = 4.0
T_SCALE = 0.9106  # scale of Student's t with that many degrees of freedom over its MAD-σ: 0.6745/0.7407


@dataclass(frozen=True)
class Noise:
    """Its colour, or how it grows with the signal: what is looked for, one beside the other, is white or even."""

    colour: Colour = WHITE
    growth: Growth = EVEN


PLAIN = Noise()


def robust_scale(values: Sequence[FloatArray]) -> float:
    """1.4826 × median |r|."""
    return MAD_TO_SIGMA * float(np.nanmedian(np.abs(np.concatenate(values))))


def heavy_tailed(values: Sequence[FloatArray]) -> bool:
    """More residuals beyond four MAD-σ than Gaussian noise (6e-5 of them) would leave."""
    every = np.concatenate(values)
    beyond = int(np.count_nonzero(np.abs(every) > 4.0 * robust_scale(values)))
    return beyond > max(5, HEAVY_SHARE * every.size)


def student_weights(values: Sequence[FloatArray]) -> list[FloatArray]:
    """Weights (ν + 1)/(ν + (r/s)²) of the Student-t likelihood, at most 1, 0 where missing."""
    scale = robust_scale(values) * T_SCALE
    weights = [np.minimum(1.0, (STUDENT_DOF + 1.0) / (STUDENT_DOF + (r / scale) ** 2)) for r in values]
    return [np.where(np.isnan(w), 0.0, w) for w in weights]


def tail_factor(values: FloatArray) -> float:
    """By how much weights that follow their residuals widen the covariance of a weighted fit: with ψ(r) = w r,
    mean ψ² mean w/(mean ψ'² mean w r²)."""
    r = values[~np.isnan(values)]
    w, z2 = student_weights([r])[0], (r / (robust_scale([r]) * T_SCALE)) ** 2
    slope = np.where(w < 1.0, w * (STUDENT_DOF - z2) / (STUDENT_DOF + z2), 1.0)
    return float(np.mean((w * r) ** 2) * np.mean(w) / (np.mean(slope) ** 2 * np.mean(w * r**2)))
