"""Linear equations with one function, in weak form of the order of the equation (docs/mathematics.md (8.7)).

Against test functions ψ that vanish with their derivatives, every derivative of the record goes over to ψ:

    ∫ u_j ψ dt = (−1)^j ∫ y ψ^(j) dt,        ∫ (d/dt)^k f(v) ψ dt = (−1)^k ∫ f(v) ψ^(k) dt,

so that the linear part of the equation takes the samples as they are, and only the function's argument is smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Polynomial as Series1D
from scipy.sparse import csr_array

from jetode.joint.problem import Prepared
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class TestFunctions:
    """ψ(ξ) = (1 − ξ²)^p on windows of the record."""

    half_width: float = 3.0  # tc: about an oscillation in all, so that the highest derivative of the noise averages out
    exponent: int = 7  # leaves derivatives up to the fourth smooth at the ends
    overlap: float = 4.0  # windows that share a sample, halved: more repeat what the others say


TEST = TestFunctions()
PLACES = 257  # at which functions are evaluated: a kink lies within 0.02 std of the nearest


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
    def of(cls, prepared: Prepared, order: int, how: TestFunctions = TEST) -> WeakForm | None:
        """The weak form of one order of a prepared record; None where it is shorter than a window."""
        jets, spacing = prepared.jets, prepared.jets.spacing
        half = max(order + 2, round(how.half_width / spacing))
        stride = max(1, round(half / how.overlap))
        pieces = tuple(p for p in jets.pieces() if p.stop - p.start > 2 * half + 1)
        y = np.where(prepared.present > (0.5 if prepared.robust else 0.0), prepared.y, jets.u[:, 0])
        if not pieces:
            return None
        empty = cls(order, spacing, half, stride, pieces, jets.u, np.empty((0, 0)), np.empty(0))
        columns = [empty.operator() @ np.ones_like(y), *(empty.operator(j) @ y for j in range(order))]
        return replace(empty, linear=np.column_stack(columns), target=np.asarray(empty.operator(order) @ y))

    @property
    def rows(self) -> int:
        """Test functions."""
        return int(self.target.size)

    def noise(self, sigma: float) -> float:
        """The sum of squares of the target that white noise of std ``sigma`` makes."""
        return self.rows * sigma**2 * float(np.sum(self._weights(self.order) ** 2))

    def _weights(self, derivative: int) -> FloatArray:
        return test_function(self.half, self.spacing, TEST.exponent, derivative) * (-1.0) ** derivative * self.spacing

    def operator(self, derivative: int = 0) -> csr_array:
        """∫ (d/dt)^derivative · ψ dt of every test function, on the samples."""
        weights = self._weights(derivative)
        width = 2 * self.half + 1
        first = np.concatenate([np.arange(p.start, p.stop - width + 1, self.stride) for p in self.pieces])
        columns = (first[:, None] + np.arange(width)).ravel()
        starts = np.arange(0, columns.size + 1, width)
        return csr_array((np.tile(weights, first.size), columns, starts), (first.size, self.jets.shape[0]))


def test_function(half: int, spacing: float, exponent: int, derivative: int) -> FloatArray:
    """A derivative of ψ at the samples of a window, ∫ ψ dt = 1."""
    psi = Series1D([1.0, 0.0, -1.0]) ** exponent
    xi = np.arange(-half, half + 1) / half
    length = half * spacing
    area = float(psi.integ()(1.0) - psi.integ()(-1.0)) * length
    return np.asarray(psi.deriv(derivative)(xi) if derivative else psi(xi)) / length**derivative / area


@dataclass(frozen=True, eq=False)
class Argument:
    """Weak integrals of any function of one coordinate: its samples are shared out over ``places``, once, so that
    ∫ (d/dt)^k f(v) ψ dt = operators[k] · f(places)."""

    variable: int
    samples: FloatArray
    places: FloatArray
    operators: tuple[FloatArray, ...]

    @classmethod
    def of(cls, weak: WeakForm, variable: int, derivatives: int, v: FloatArray | None = None) -> Argument:
        """For a coordinate and as many derivatives; ``v``: its samples where it is no derivative of the record."""
        v = weak.jets[:, variable] if v is None else v
        places = np.linspace(float(v.min()), float(v.max()), PLACES)
        spread = shared(v, places)
        operators = tuple(np.asarray((weak.operator(k) @ spread).todense()) for k in range(derivatives))
        return cls(variable, v, places, operators)


def shared(v: FloatArray, places: FloatArray) -> csr_array:
    """The matrix that takes values at equally spaced places to those at samples v between them."""
    at = (v - places[0]) / (places[1] - places[0])
    left = np.minimum(at.astype(np.int64), places.size - 2)
    share = at - left
    rows, columns = np.tile(np.arange(v.size), 2), np.concatenate([left, left + 1])
    return csr_array((np.concatenate([1.0 - share, share]), (rows, columns)), (v.size, places.size))


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
