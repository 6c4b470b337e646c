"""Whether samples do what was forecast: how many lie outside of a 90 % band, and how many chance allows.

A share of 10 % is expected; the errors of a forecast are smooth, so that neighbouring samples say the same, and the
binomial spread is taken as if only every tenth counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from jetode.integration.forecast import Forecast
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class BandSettings:
    """When a record has left its bands."""

    noise: float = 1.645  # σ: 90 % of the noise of a sample
    usual: float = 0.10  # of the samples outside of a 90 % band
    chance: float = 4.0  # standard deviations beyond, of a binomial count: a false alarm in tens of thousands
    correlated: float = 10.0  # samples of a smooth error that say as much as one
    fewest: int = 5  # samples that are judged


SETTINGS = BandSettings()


@dataclass(frozen=True)
class Outside:
    """``outside`` of ``judged`` samples are beyond their band."""

    judged: int = 0
    outside: int = 0

    def __add__(self, other: Outside) -> Outside:
        return Outside(self.judged + other.judged, self.outside + other.outside)

    @property
    def too_many(self) -> bool:
        """More than chance allows."""
        usual, n = SETTINGS.usual, self.judged
        room = SETTINGS.chance * sqrt(usual * (1 - usual) * n * SETTINGS.correlated)
        return n >= SETTINGS.fewest and self.outside > min(usual * n + room, n - 1)


def outside_band(forecast: Forecast, new: FloatArray, sigma: float) -> Outside:
    """The samples after a forecast's start against its 90 % band, widened by noise of size ``sigma``; none are outside
    where it has no band."""
    new = new[: forecast.values.size - 1]
    judged = int(np.count_nonzero(~np.isnan(new)))
    if forecast.lower is None or forecast.upper is None:
        return Outside(judged)
    upper, lower = forecast.upper[1 : new.size + 1], forecast.lower[1 : new.size + 1]
    wide = np.hypot(0.5 * (upper - lower), SETTINGS.noise * sigma)
    return Outside(judged, int(np.count_nonzero(np.abs(new - 0.5 * (upper + lower)) > wide)))
