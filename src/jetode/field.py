"""Autonomous vector fields as data: the system u0' = u1, …, u_{n-1}' = N(u)/D(u) of the paper's Sec. 2, the
regular closure of ``design.md`` §3 and every known system, evaluated by one compiled routine.

A field of dimension d has ``chain`` rows x_i' = x_{i+1}, then polynomial rows; the last row may be divided by
a denominator.  With ``sines`` the polynomials have 2d variables (x_0 …, sin x_0 …), as Thomas' system needs.
Kernels get ``Field.arrays`` (plain NumPy arrays), never a function, so that compiled code is cached on disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import NDArray

from jetode.errors import InputError
from jetode.polynomials import Exponents, FloatArray, Polynomial, monomial_program

if TYPE_CHECKING:
    from jetode.closure import Closure

Indices = NDArray[np.uint64]
# (dimension, chain, sines, divided), parent, variable, row offsets into the terms, monomials, coefficients
FieldArrays = tuple[NDArray[np.int64], Indices, Indices, Indices, Indices, FloatArray]


@dataclass(frozen=True, eq=False)
class Field:
    """Right-hand side of x' = f(x); ``rows`` are the polynomials of the components after the chain."""

    dimension: int
    rows: tuple[Polynomial, ...]
    denominator: Polynomial | None = None
    sines: bool = False

    def __post_init__(self) -> None:
        if not 1 <= len(self.rows) <= self.dimension:
            raise InputError(
                f"The 'rows' parameter must hold 1 to {self.dimension} items. Got {len(self.rows)} instead."
            )
        for polynomial in (*self.rows, self.denominator or {}):
            for exponents in polynomial:
                if len(exponents) != self.n_variables:
                    raise InputError(
                        f"Exponents in 'rows' must have {self.n_variables} entries. Got {exponents} instead."
                    )
        if self.denominator is not None and not self.denominator:
            raise InputError(
                "The 'denominator' parameter must have at least one term. Got an empty one instead."
            )
        if self.sines and self.denominator is not None:
            raise InputError(
                "The 'sines' parameter must be False for a field with a denominator. Got True instead."
            )

    @classmethod
    def polynomial(cls, rows: Sequence[Mapping[Exponents, float]], sines: bool = False) -> Field:
        """One polynomial per component."""
        return cls(len(rows), tuple(dict(row) for row in rows), sines=sines)

    @classmethod
    def from_closure(cls, closure: Closure) -> Field:
        """u_i' = u_{i+1} and u_{n-1}' = N/D."""
        return cls(closure.order, (dict(closure.numerator),), dict(closure.denominator))

    @property
    def chain(self) -> int:
        """How many leading components obey x_i' = x_{i+1}."""
        return self.dimension - len(self.rows)

    @property
    def n_variables(self) -> int:
        """Number of variables of the polynomials."""
        return self.dimension * (2 if self.sines else 1)

    @cached_property
    def arrays(self) -> FieldArrays:
        """What the kernels read; a constant denominator is folded into the last row."""
        rows, denominator = list(self.rows), self.denominator
        if denominator is not None and not any(any(e) for e in denominator):
            (constant,) = denominator.values()
            rows[-1] = {e: c / constant for e, c in rows[-1].items()}
            denominator = None
        polynomials = rows if denominator is None else [*rows, denominator]
        terms = [(e, c) for polynomial in polynomials for e, c in polynomial.items()]
        parent, variable, slots = monomial_program((e for e, _ in terms), self.n_variables)
        offsets = np.cumsum([0, *(len(p) for p in polynomials)])
        layout = np.array([self.dimension, self.chain, self.sines, denominator is not None], dtype=np.int64)
        coefficients = np.array([c for _, c in terms], dtype=np.float64)
        arrays = (
            layout,
            parent.astype(np.uint64),
            variable.astype(np.uint64),
            offsets.astype(np.uint64),
            slots.astype(np.uint64),
            coefficients,
        )
        for array in arrays:
            array.setflags(write=False)
        return arrays

    def __call__(self, x: FloatArray) -> FloatArray:
        """f(x) at one state (d,) or many (N, d)."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        return _rates(np.atleast_2d(x), self.arrays).reshape(x.shape)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """∂f/∂x at one state: (d, d); at many: (N, d, d)."""
        x = np.ascontiguousarray(x, dtype=np.float64)
        return _jacobians(np.atleast_2d(x), self.arrays).reshape((*x.shape, self.dimension))


@njit(cache=True)
def field_work(arrays: FieldArrays) -> FloatArray:
    """Scratch space for :func:`field_rhs`: variables, then the monomial table."""
    return np.empty(2 * arrays[0][0] + arrays[1].shape[0])


@njit(cache=True)
def field_gradient_work(arrays: FieldArrays) -> FloatArray:
    """Scratch space for :func:`field_jacobian`: gradients of the monomial table."""
    return np.empty((arrays[1].shape[0], 2 * arrays[0][0]))


@njit(cache=True)
def _fill(x: FloatArray, arrays: FieldArrays, work: FloatArray) -> None:
    layout, parent, variable = arrays[0], arrays[1], arrays[2]
    d = layout[0]
    for i in range(d):
        work[i] = x[i]
    if layout[2]:
        for i in range(d):
            work[d + i] = np.sin(x[i])
    table = work[2 * d :]
    table[0] = 1.0
    for k in range(1, parent.shape[0]):
        table[k] = table[parent[k]] * work[variable[k]]


# Only the order of summation is left to the compiler; NaN and infinity keep their meaning.
@njit(cache=True, fastmath={"reassoc", "contract"})
def _row(index: int, arrays: FieldArrays, table: FloatArray) -> float:
    offsets, slots, coefficients = arrays[3], arrays[4], arrays[5]
    total = 0.0
    for t in range(offsets[index], offsets[index + 1]):
        total += coefficients[t] * table[slots[t]]
    return total


@njit(cache=True, error_model="numpy")
def field_rhs(x: FloatArray, out: FloatArray, arrays: FieldArrays, work: FloatArray) -> float:
    """Write f(x) to ``out``; return the denominator D(x) (1 where there is none)."""
    layout = arrays[0]
    d, chain = layout[0], layout[1]
    _fill(x, arrays, work)
    table = work[2 * d :]
    for i in range(chain):
        out[i] = x[i + 1]
    for i in range(chain, d):
        out[i] = _row(i - chain, arrays, table)
    if not layout[3]:
        return 1.0
    denominator = _row(d - chain, arrays, table)
    out[d - 1] /= denominator
    return denominator


@njit(cache=True, error_model="numpy")
def field_jacobian(
    x: FloatArray,
    out: FloatArray,
    jacobian: FloatArray,
    arrays: FieldArrays,
    work: FloatArray,
    gradients: FloatArray,
) -> float:
    """Write f(x) to ``out`` and ∂f/∂x to ``jacobian``; return the denominator D(x)."""
    layout, parent, variable, offsets, slots, coefficients = arrays
    d, chain = layout[0], layout[1]
    n = 2 * d if layout[2] else d
    denominator = field_rhs(x, out, arrays, work)
    table = work[2 * d :]
    gradients[0, :n] = 0.0
    for k in range(1, parent.shape[0]):
        p, v = parent[k], variable[k]
        for j in range(n):
            gradients[k, j] = gradients[p, j] * work[v]
        gradients[k, v] += table[p]
    jacobian[:, :] = 0.0
    for i in range(chain):
        jacobian[i, i + 1] = 1.0
    for i in range(chain, d):
        for t in range(offsets[i - chain], offsets[i - chain + 1]):
            for j in range(d):
                jacobian[i, j] += coefficients[t] * gradients[slots[t], j]
            if layout[2]:
                for j in range(d):
                    jacobian[i, j] += coefficients[t] * gradients[slots[t], d + j] * np.cos(x[j])
    if layout[3]:  # (N/D)' = (N' - (N/D) D')/D
        for t in range(offsets[d - chain], offsets[d - chain + 1]):
            for j in range(d):
                jacobian[d - 1, j] -= out[d - 1] * coefficients[t] * gradients[slots[t], j]
        for j in range(d):
            jacobian[d - 1, j] /= denominator
    return denominator


@njit(cache=True)
def _rates(points: FloatArray, arrays: FieldArrays) -> FloatArray:
    out = np.empty_like(points)
    work = field_work(arrays)
    for i in range(points.shape[0]):
        field_rhs(points[i], out[i], arrays, work)
    return out


@njit(cache=True)
def _jacobians(points: FloatArray, arrays: FieldArrays) -> FloatArray:
    n, d = points.shape
    out = np.empty((n, d, d))
    rate = np.empty(d)
    work, gradients = field_work(arrays), field_gradient_work(arrays)
    for i in range(n):
        field_jacobian(points[i], rate, out[i], arrays, work, gradients)
    return out
