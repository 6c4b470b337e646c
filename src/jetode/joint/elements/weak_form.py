"""Linear equations with one function, in weak form of the order of the equation (docs/mathematics.md (8.6)).

Against test functions ψ that vanish with their derivatives, every derivative of the record goes over to ψ:

    ∫ u_j ψ dt = (−1)^j ∫ y ψ^(j) dt,        ∫ (d/dt)^k f(v) ψ dt = (−1)^k ∫ f(v) ψ^(k) dt,

so that the linear part of the equation takes the samples as they are, and only the function's argument is smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial as Series1D

from jetode.joint.problem import Prepared
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class TestFunctions:
    """ψ(ξ) = (1 − ξ²)^p on windows of the record."""

    half_width: float = 3.0  # tc: about an oscillation in all, so that the highest derivative of the noise averages out
    exponent: int = 7  # leaves derivatives up to the fourth smooth at the ends
    overlap: float = 4.0  # windows that share a sample, halved: more repeat what the others say


TEST = TestFunctions()


@dataclass(frozen=True, eq=False)
class WeakForm:
    """Weak integrals over a record: linear columns 1, u_0 … u_{n−1}, and the target u_n."""

    order: int
    spacing: float
    half: int
    stride: int
    pieces: tuple[slice, ...]
    jets: FloatArray
    linear: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, prepared: Prepared, order: int, how: TestFunctions = TEST) -> WeakForm:
        """The weak form of one order of a prepared record; its jets give the arguments of functions."""
        jets, spacing = prepared.jets, prepared.jets.spacing
        half = max(order + 2, round(how.half_width / spacing))
        stride = max(1, round(half / how.overlap))
        pieces = tuple(p for p in jets.pieces() if p.stop - p.start > 2 * half + 1)
        y = np.where(prepared.present > 0.5, prepared.y, jets.u[:, 0])
        empty = cls(order, spacing, half, stride, pieces, jets.u, np.empty((0, 0)), np.empty(0))
        columns = [empty.integral(np.ones_like(y)), *(empty.integral(y, j) for j in range(order))]
        return cls(order, spacing, half, stride, pieces, jets.u, np.column_stack(columns), empty.integral(y, order))

    @property
    def rows(self) -> int:
        """Test functions."""
        return int(self.target.size)

    def integral(self, values: FloatArray, derivative: int = 0) -> FloatArray:
        """∫ (d/dt)^derivative values ψ dt of every test function."""
        kernel = test_function(self.half, self.spacing, TEST.exponent, derivative) * (-1.0) ** derivative * self.spacing
        width = 2 * self.half + 1
        views = [np.lib.stride_tricks.sliding_window_view(values[p], width)[:: self.stride] for p in self.pieces]
        return np.concatenate([view @ kernel for view in views]) if views else np.empty(0)


def test_function(half: int, spacing: float, exponent: int, derivative: int) -> FloatArray:
    """A derivative of ψ at the samples of a window, ∫ ψ dt = 1."""
    psi = Series1D([1.0, 0.0, -1.0]) ** exponent
    xi = np.arange(-half, half + 1) / half
    length = half * spacing
    area = float(psi.integ()(1.0) - psi.integ()(-1.0)) * length
    return np.asarray(psi.deriv(derivative)(xi) if derivative else psi(xi)) / length**derivative / area


@dataclass(frozen=True, eq=False)
class Projection:
    """Least squares on some columns that are always there: what others add to them."""

    basis: FloatArray
    target: FloatArray

    @classmethod
    def of(cls, columns: FloatArray, target: FloatArray) -> Projection:
        """On these columns."""
        basis = np.linalg.qr(columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300))[0]
        return cls(basis, target - basis @ (basis.T @ target))

    def without(self, columns: FloatArray) -> FloatArray:
        """What of further columns the given ones do not carry."""
        return np.asarray(columns - self.basis @ (self.basis.T @ columns))

    def residual(self, columns: FloatArray) -> FloatArray:
        """The target that is left with further columns."""
        new = self.without(columns)
        scale = np.linalg.norm(new, axis=0)
        kept = scale > 1e-9 * np.linalg.norm(columns, axis=0)
        if not kept.any():
            return self.target
        q = np.linalg.qr(new[:, kept] / scale[kept])[0]
        return np.asarray(self.target - q @ (q.T @ self.target))
