"""The memory rows (docs/mathematics.md (7.1), (7.2)): the last stretch of a signal as Legendre coefficients.

On samples the rows are integrated exactly for the cubic through the last four of them, which looks at no later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial

import numpy as np
from scipy.linalg import expm

from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel

NODES = np.array([-2.0, -1.0, 0.0, 1.0])  # of the cubic that fills the step from 0 to 1


def memory_matrices(q: int) -> tuple[FloatArray, FloatArray]:
    """A (q, q) and B (q,) of (7.1), (7.2), time in units of θ."""
    i, j = np.mgrid[0:q, 0:q]
    sign = np.where(i < j, -1.0, (-1.0) ** (i - j + 1))
    order = np.arange(q)
    return (2 * i + 1) * sign, (2 * order + 1) * (-1.0) ** order


@dataclass(frozen=True)
class MemoryFilter:
    """``q`` coefficients of the last ``span`` samples, span = θ/dt any positive number."""

    q: int
    span: float

    @cached_property
    def stepping(self) -> tuple[FloatArray, FloatArray]:
        """(E, K) with m(n) = E m(n−1) + K (x(n−3), x(n−2), x(n−1), x(n)), exact for cubics."""
        a, b = memory_matrices(self.q)
        count = NODES.size
        chain = np.zeros((self.q + count, self.q + count))
        chain[: self.q, : self.q] = a / self.span
        chain[: self.q, self.q] = b / self.span
        chain[self.q :, self.q :] = np.eye(count, k=1)  # the powers s^p/p! of the time since the last sample
        moved = expm(chain)[: self.q]
        powers = moved[:, self.q :] * np.array([float(factorial(p)) for p in range(count)])
        to_powers = np.linalg.inv(np.vander(NODES, increasing=True))
        return np.ascontiguousarray(moved[:, : self.q]), np.ascontiguousarray(powers @ to_powers)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Coefficients (n, q) at every sample of complete ``values``; before the first they are those of a constant."""
        padded = np.concatenate([np.full(NODES.size - 1, values[0]), values])
        out = np.zeros((values.size, self.q))
        out[0, 0] = values[0]
        _filter(padded, *self.stepping, out)
        return out


@kernel(error_model="numpy", _nrt=False)
def _filter(x: FloatArray, transition: FloatArray, inputs: FloatArray, out: FloatArray) -> None:
    """Rows of ``out`` from its first one on; ``x`` has three more samples before the first."""
    n, q = out.shape
    for k in range(1, n):
        for i in range(q):
            total = 0.0
            for j in range(q):
                total += transition[i, j] * out[k - 1, j]
            for j in range(4):
                total += inputs[i, j] * x[k + j]
            out[k, i] = total
