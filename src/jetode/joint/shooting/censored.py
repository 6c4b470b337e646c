"""Clipped samples as one-sided observations (docs/mathematics.md (4.17); Tobin 1958).

A sample on the upper rail y says only that signal and noise were at or beyond it, with probability Φ(z),
z = (x_0 − y)/σ; on the lower rail z = (y − x_0)/σ.  It costs −2 log Φ(z): nothing where the path lies well beyond the
rail, about z² where it stays well inside.  Gauss–Newton sees it as a sample whose value and weight give this cost's
slope and curvature at the path, with the hazard λ = φ(z)/Φ(z): ω λ (λ + z) and x_0 ± σ/(λ + z).
"""

from __future__ import annotations

import numpy as np

from jetode.support.arrays import FloatArray

WITHIN = 4.0  # σ: how far inside a rail its neighbours are counted: near enough to be as dense as at it
EXCESS = 1.806  # ∫ −2 Φ(z) log Φ(z) dz
FAR = -50.0  # σ inside the rail from which on λ + z is its asymptote −1/z, to 1e-3 of itself and without rounding


def expected_cost(y: FloatArray, weight: FloatArray, side: FloatArray) -> int:
    """What the samples cost along the true path: 1 each, and those on a rail together ∫ −2 Φ log Φ dz times as many as
    there are within one σ of it, which the ordinary samples inside tell."""
    plain = (side == 0.0) & (weight > 0.0)
    near = 0
    for sign in (-1.0, 1.0):
        on_rail = np.flatnonzero(side == sign)
        if on_rail.size:
            inside = sign * (y[on_rail[0]] - y[plain]) * np.sqrt(weight[plain])
            near += int(np.count_nonzero((inside > 0.0) & (inside < WITHIN)))
    return int(np.count_nonzero(plain)) + round(EXCESS / WITHIN * near)


def one_sided_cost(z: FloatArray) -> float:
    """−2 Σ log Φ(z)."""
    if not z.size:
        return 0.0
    from scipy.special import log_ndtr

    return float(-2.0 * np.sum(log_ndtr(z)))


def surrogate(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(λ (λ + z), λ + z): the curvature of −log Φ, and the curvature over the slope."""
    from scipy.special import log_ndtr

    near = np.clip(z, FAR, -FAR)  # where the path is so far beyond the rail, both the slope and the curvature are 0
    hazard = np.exp(-0.5 * near**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(near))
    total = np.where(z < FAR, -1.0 / np.minimum(z, FAR), hazard + near)
    return np.where(z < FAR, 1.0, hazard * total), total
