"""Are residuals white?  Autocorrelation (gaps left out) and the test of Ljung and Box (docs/mathematics.md (6.2))."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from jetode.support.arrays import FloatArray

LAGS = 40


@dataclass(frozen=True, eq=False)
class Whiteness:
    """``correlation[k − 1]`` at lag k = 1, 2, …, the band ±``limit`` in which 95 % of white ones lie, and the
    probability ``p_value`` of correlations at least this large for white residuals."""

    correlation: FloatArray
    limit: float
    p_value: float


def whiteness(residuals: FloatArray, lags: int = LAGS) -> Whiteness:
    """Test residuals (NaN where there is none) for correlation up to ``lags`` samples apart."""
    present = ~np.isnan(residuals)
    n = int(present.sum())
    lags = max(1, min(lags, n // 4))
    centred = np.where(present, residuals - np.mean(residuals[present]), 0.0)
    variance = float(np.sum(centred**2))
    correlation = np.array([np.sum(centred[k:] * centred[:-k]) for k in range(1, lags + 1)]) / (variance or 1.0)
    statistic = n * (n + 2.0) * float(np.sum(correlation**2 / (n - np.arange(1, lags + 1))))
    return Whiteness(correlation, 1.96 / float(np.sqrt(n)), float(chdtrc(lags, statistic)))
