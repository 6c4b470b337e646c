"""Smoothed jets of one or several records laid end to end: what every start of the joint fit is made from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class Jets:
    """Smoothed jets (N, n) of one or several records, dimensionless; ``lengths`` are the records' sample counts,
    ``spacing`` the sampling interval in tc, ``trim`` the samples at each end where the spline is poor."""

    u: FloatArray
    lengths: tuple[int, ...]
    spacing: float
    trim: int

    def pieces(self) -> list[slice]:
        """One slice per record."""
        ends = np.cumsum((0, *self.lengths))
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def head(self, samples: int) -> Jets:
        """The first records up to about ``samples`` samples in all."""
        lengths: list[int] = []
        for n in self.lengths:
            take = min(n, samples - sum(lengths))
            if take < min(n, 4 * self.trim + 2) and lengths:  # a piece that is there in full counts, however short
                break
            lengths.append(take)
            if take < n:
                break
        return Jets(self.u[: sum(lengths)], tuple(lengths), self.spacing, self.trim)
