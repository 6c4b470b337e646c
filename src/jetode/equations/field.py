"""Autonomous vector fields as data: the system u0' = u1, …, u_{n-1}' = N(u)/D(u) of the paper's Sec. 2, the
regular closure of docs/mathematics.md (3.1) and every known system, evaluated by one compiled routine.

A field of dimension d has ``chain`` rows x_i' = x_{i+1}, then polynomial rows; the last row may be divided by
a denominator.  With M ``elements`` the polynomials have d + M variables (x_0 …, f_0(x_v) …), docs/mathematics.md (8.1).
Kernels get ``Field.arrays`` (plain NumPy arrays), never a function, so that compiled code is cached on disk.

A row is evaluated as Σ_m c_m(x_0, x_1) m with c_m of total degree ≤ 4 written out as a nested Horner scheme.  Where
the *outer* monomials m are powers of x_2, as in every library up to degree 4 of three jets, the sum over them is
Horner's rule too (``nested``); otherwise they, in x_1 … and x_0⁵, come from a table, one multiplication each.

:data:`~jetode.support.lanes.LANES` states are evaluated side by side, the last index of their arrays being the lane.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jetode.equations.element_kernel import ROOM, element, element_ready
from jetode.equations.elements import Element
from jetode.equations.polynomials import Exponents, Polynomial, graded_order, monomial_program
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf
from jetode.support.errors import InputError
from jetode.support.lanes import LANES
from jetode.support.rows import Row, everywhere, load, rows_of_zeros, store

if TYPE_CHECKING:
    from jetode.equations.closure import Closure

Indices = NDArray[np.uint32]  # unsigned: no test for negative indices in the inner loop
DEGREE = 4  # of a Horner scheme in (x_0, x_1), which has 15 coefficients
# (dimension, chain, elements, divided, nested), then kind, coordinate, first parameter and partner (-1: none) of every
# element; parent and variable of the outer monomials; first scheme of each row; outer monomial of each scheme (these
# indices point into the work array) and its degree; coefficients, highest first; the elements' parameters
FieldArrays = tuple[IntArray, Indices, Indices, Indices, Indices, Indices, FloatArray, FloatArray]
Workspace = tuple[FloatArray, FloatArray]
HEAD, ENTRIES = 5, 4  # entries of the layout before those of the elements, and of each of these


# powers of (x_0, x_1) in the order in which a scheme uses their coefficients
SCHEME = [(i, j) for j in range(DEGREE, -1, -1) for i in range(DEGREE - j, -1, -1)]


@dataclass(frozen=True, eq=False)
class Field:
    """Right-hand side of x' = f(x); ``rows`` are the polynomials of the components after the chain."""

    dimension: int
    rows: tuple[Polynomial, ...]
    denominator: Polynomial | None = None
    elements: tuple[Element, ...] = ()

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
            raise InputError("The 'denominator' parameter must have at least one term. Got an empty one instead.")
        if self.elements and self.denominator is not None:
            raise InputError("The 'elements' parameter must be empty for a field with a denominator. Got some instead.")
        for one in self.elements:
            if not all(0 <= v < self.dimension for v in one.coordinates):
                raise InputError(f"An element must be of one of {self.dimension} coordinates. Got {one} instead.")

    def __reduce__(self) -> tuple[type[Field], tuple[object, ...]]:
        """Another process makes its own arrays."""
        return Field, (self.dimension, self.rows, self.denominator, self.elements)

    @classmethod
    def polynomial(cls, rows: Sequence[Mapping[Exponents, float]], elements: Sequence[Element] = ()) -> Field:
        """One polynomial per component."""
        return cls(len(rows), tuple(dict(row) for row in rows), elements=tuple(elements))

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
        return self.dimension + len(self.elements)

    @cached_property
    def arrays(self) -> FieldArrays:
        """What the kernels read; a constant denominator is folded into the last row."""
        rows, denominator = self._folded()
        schemes, nested = self._nested([_schemes(p) for p in ([*rows, denominator] if denominator else rows)])
        outer = [monomial for row in schemes for monomial in row]
        coefficients = [c for row in schemes for c in row.values()]
        parent, variable, slots = monomial_program(outer, self.n_variables)
        table = self.n_variables + 1
        variable = np.where(variable == self.n_variables - 1, table - 1, variable + 1)
        layout = [self.dimension, self.chain, len(self.elements), denominator is not None, nested]
        parameters: list[float] = []
        if self.elements:
            element_ready()
        for one in self.elements:
            layout += [one.info.code, one.variable, len(parameters), -1 if one.partner is None else one.partner]
            parameters += one.parameters
        arrays = (
            np.array(layout, dtype=np.int64),
            (table + parent).astype(np.uint32),
            variable.astype(np.uint32),
            np.cumsum([0, *(len(row) for row in schemes)]).astype(np.uint32),
            (table + slots).astype(np.uint32),
            np.array([_degree(c) for c in coefficients], dtype=np.uint32),
            np.array(coefficients, dtype=np.float64).reshape(-1, len(SCHEME)),
            np.array(parameters, dtype=np.float64),
        )
        for array in arrays[:-1]:  # parameters stay as they are in a fit: one type of array, one compiled element
            array.setflags(write=False)
        return arrays

    def _nested(self, schemes: list[dict[Exponents, FloatArray]]) -> tuple[list[dict[Exponents, FloatArray]], bool]:
        """The schemes with all powers of the third coordinate, where there is no other outer monomial."""
        if self.dimension > 3 or self.elements or any(m[0] or m[-1] for row in schemes for m in row):
            return schemes, False
        return [_all_powers(row) for row in schemes], True

    def _folded(self) -> tuple[list[Polynomial], Polynomial | None]:
        """Rows and denominator, a constant one divided into the last row."""
        if self.denominator is None or any(any(e) for e in self.denominator):
            return list(self.rows), self.denominator
        (constant,) = self.denominator.values()
        return [*self.rows[:-1], {e: c / constant for e, c in self.rows[-1].items()}], None

    def __call__(self, x: FloatArray) -> FloatArray:
        """f(x) at one state (d,) or many (N, d)."""
        return self.rates(np.array(x, dtype=np.float64, order="C", ndmin=2))[0].reshape(np.shape(x))

    def rates(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """f and the denominator D (1 where there is none) at the points (N, d)."""
        out, denominators = np.empty_like(points), np.empty(points.shape[0])
        sides = rows_of_zeros(2, self.dimension)
        _rates(points, out, denominators, self.arrays, self.lanes(), sides, rows_of_zeros(1))
        return out, denominators

    def jacobian(self, x: FloatArray) -> FloatArray:
        """∂f/∂x at one state: (d, d); at many: (N, d, d)."""
        points = np.array(x, dtype=np.float64, order="C", ndmin=2)
        out = np.empty((points.shape[0], self.dimension + 1, self.dimension))
        work, gradients = self.workspace()
        for point, jacobian in zip(points, out, strict=True):
            field_jacobian(point, np.empty(self.dimension), jacobian, self.arrays, work, gradients)
        return out[:, : self.dimension].reshape((*np.shape(x), self.dimension))

    def lanes(self) -> Workspace:
        """Scratch space of :func:`field_rhs`: x, elements, x_0⁵ and the outer monomials; one element's derivatives."""
        return rows_of_zeros(self.n_variables + 1 + self.arrays[1].size), np.zeros(ROOM)

    def workspace(self) -> tuple[FloatArray, FloatArray]:
        """Scratch space of :func:`field_jacobian`: the same of one state in one array, and the gradients of all but
        the last."""
        size = self.n_variables + 1 + self.arrays[1].size
        return np.zeros(size + ROOM), np.zeros((size, self.dimension))


def _schemes(polynomial: Polynomial) -> dict[Exponents, FloatArray]:
    """Horner coefficients in (x_0, x_1) for each outer monomial (exponents of x_1 … and, last, of x_0⁵)."""
    out: dict[Exponents, FloatArray] = {}
    for (first, *others), coefficient in polynomial.items():
        quotient, i = divmod(first, DEGREE + 1)
        j = min(others[0], DEGREE - i) if others else 0
        others[:1] = [others[0] - j] if others else []
        scheme = out.setdefault((*others, quotient), np.zeros(len(SCHEME)))
        scheme[SCHEME.index((i, j))] = coefficient
    return dict(sorted(out.items(), key=lambda item: graded_order(item[0])))


def _all_powers(row: dict[Exponents, FloatArray]) -> dict[Exponents, FloatArray]:
    """Schemes of all powers of x_2 (monomials (0, power, 0)), highest first: what Horner's rule needs."""
    if not any(len(m) == 3 for m in row):
        return row
    highest = max(m[1] for m in row)
    return {(0, k, 0): row.get((0, k, 0), np.zeros(len(SCHEME))) for k in range(highest, -1, -1)}


def _degree(scheme: FloatArray) -> int:
    return max((i + j for (i, j), c in zip(SCHEME, scheme, strict=True) if c != 0.0), default=0)


# No option of these kernels lets the compiler reorder or fuse operations: that would take 7 % off a forecast, and give
# another chaotic record on another CPU.


@leaf()
def _fill(x: FloatArray, layout: IntArray, parent: Indices, variable: Indices, work: FloatArray) -> None:
    """The table of x, x_0⁵ and the outer monomials, whose elements are there, of one state or of one on each lane."""
    for i in range(layout[0]):
        store(work, i, load(x, i))
    table = layout[0] + layout[2] + 1
    first = load(x, 0)
    square = first * first
    store(work, table - 1, square * square * first)
    work[table] = 1.0
    for k in range(1, parent.shape[0]):
        store(work, table + k, load(work, parent[k]) * load(work, variable[k]))


@leaf()
def _scheme(c: FloatArray, degree: int, x: Row, y: Row) -> Row:
    """Σ c_ij x^i y^j up to the total degree that the scheme has."""
    if degree == 0:
        return everywhere(c[14])
    if degree == 1:
        return c[9] * y + (c[13] * x + c[14])
    if degree == 2:
        return (c[5] * y + (c[8] * x + c[9])) * y + ((c[12] * x + c[13]) * x + c[14])
    if degree == 3:
        c1 = (c[7] * x + c[8]) * x + c[9]
        c0 = ((c[11] * x + c[12]) * x + c[13]) * x + c[14]
        return ((c[2] * y + (c[4] * x + c[5])) * y + c1) * y + c0
    c2 = (c[3] * x + c[4]) * x + c[5]
    c1 = ((c[6] * x + c[7]) * x + c[8]) * x + c[9]
    c0 = (((c[10] * x + c[11]) * x + c[12]) * x + c[13]) * x + c[14]
    return (((c[0] * y + (c[1] * x + c[2])) * y + c2) * y + c1) * y + c0


@leaf()
def field_rhs(x: FloatArray, out: FloatArray, at: int, arrays: FieldArrays, scratch: Workspace) -> Row:
    """Write f(x) of every lane to d rows of ``out`` from ``at`` on; return the denominators D(x), 1 without one."""
    layout, parent, variable, firsts, slots, degrees, c, parameters = arrays
    work, room = scratch
    d, chain, divided, nested = layout[0], layout[1], layout[3], layout[4]
    if not nested:
        for m in range(layout[2]):
            own = HEAD + ENTRIES * m
            partner = layout[own + 3]
            for lane in range(LANES):
                v = x[layout[own + 1], lane]
                if partner >= 0:
                    v *= x[partner, lane]
                element(layout[own], v, parameters, layout[own + 2], room, 0)
                work[d + m, lane] = room[0]
        _fill(x, layout, parent, variable, work)
    x0 = load(x, 0)
    x1 = load(x, 1) if d > 1 else load(work, 1)  # of one variable, the second is an element of it or nothing
    x2 = load(x, 2) if d > 2 else everywhere(0.0)
    denominator = everywhere(1.0)
    for row in range(d - chain + divided - 1, -1, -1):  # the denominator, if there is one, is the row after the last
        total = everywhere(0.0)
        for k in range(firsts[row], firsts[row + 1]):
            term = _scheme(c[k], degrees[k], x0, x1)
            total = total * x2 + term if nested else total + term * load(work, slots[k])
        if chain + row == d:
            denominator = total
        elif divided and chain + row == d - 1:
            store(out, at + d - 1, total / denominator)
        else:
            store(out, at + chain + row, total)
    for i in range(chain):
        store(out, at + i, load(x, i + 1))
    return denominator


@kernel(error_model="numpy", _nrt=False)
def field_jacobian(
    x: FloatArray,
    out: FloatArray,
    jacobian: FloatArray,
    arrays: FieldArrays,
    work: FloatArray,
    gradients: FloatArray,
) -> float:
    """Write f(x) to ``out`` and ∂f/∂x to the first d rows of ``jacobian`` (d + 1, d); return the denominator D(x).

    The last row of ``jacobian`` takes ∂D/∂x; ``gradients`` is scratch space, see :meth:`Field.workspace`.
    """
    layout, parent, variable, firsts, slots, _, c, parameters = arrays
    d, chain, n_elements, nested = layout[0], layout[1], layout[2], layout[4]
    table = d + n_elements + 1
    for j in range(d):
        gradients[j, j] = 1.0
    for m in range(n_elements):
        at = HEAD + ENTRIES * m
        v, partner, out_at = layout[at + 1], layout[at + 3], table + parent.shape[0]
        other = x[partner] if partner >= 0 else 1.0
        element(layout[at], x[v] * other, parameters, layout[at + 2], work, out_at)
        work[d + m], gradients[d + m, v] = work[out_at], work[out_at + 1] * other
        if partner >= 0:
            gradients[d + m, partner] = work[out_at + 1] * x[v] * (2.0 if partner == v else 1.0)
    _fill(x, layout, parent, variable, work)
    gradients[table - 1, 0] = 5.0 * x[0] ** 4
    for k in range(1, parent.shape[0]):
        p, v = parent[k], variable[k]
        for j in range(d):
            gradients[table + k, j] = gradients[p, j] * work[v] + work[p] * gradients[v, j]
    x0, x1 = work[0], work[1]
    x2 = x[2] if d > 2 else 0.0
    denominator = 1.0
    for row in range(chain, d + layout[3]):  # the denominator is the row after the last
        for j in range(d):
            jacobian[row, j] = 0.0
        total = 0.0
        for k in range(firsts[row - chain], firsts[row - chain + 1]):
            value = slope_x = slope_y = 0.0
            term = 0
            for power in range(DEGREE, -1, -1):
                inner = inner_slope = 0.0
                for _ in range(DEGREE - power + 1):
                    inner_slope = inner_slope * x0 + inner
                    inner = inner * x0 + c[k, term]
                    term += 1
                slope_y = slope_y * x1 + value
                slope_x = slope_x * x1 + inner_slope
                value = value * x1 + inner
            slot = slots[k]
            total = total * x2 + value if nested else total + value * work[slot]
            jacobian[row, 0] += slope_x * work[slot]
            if d > 1:
                jacobian[row, 1] += slope_y * work[slot]
            elif n_elements:
                jacobian[row, 0] += slope_y * work[slot] * gradients[1, 0]
            for j in range(d):
                jacobian[row, j] += value * gradients[slot, j]
        if row < d:
            out[row] = total
        else:
            denominator = total
    for i in range(chain):
        out[i] = x[i + 1]
        for j in range(d):
            jacobian[i, j] = 1.0 if j == i + 1 else 0.0
    if layout[3]:  # (N/D)' = (N' - (N/D) D')/D
        out[d - 1] /= denominator
        for j in range(d):
            jacobian[d - 1, j] = (jacobian[d - 1, j] - out[d - 1] * jacobian[d, j]) / denominator
    return denominator


@kernel(error_model="numpy", _nrt=False)
def _rates(
    points: FloatArray,
    out: FloatArray,
    denominators: FloatArray,
    arrays: FieldArrays,
    work: Workspace,
    sides: FloatArray,
    row: FloatArray,
) -> None:
    n, d = points.shape
    for first in range(0, n, LANES):
        for lane in range(LANES):
            for i in range(d):
                sides[0, i, lane] = points[min(first + lane, n - 1), i]
        store(row, 0, field_rhs(sides[0], sides[1], 0, arrays, work))
        for lane in range(min(LANES, n - first)):
            denominators[first + lane] = row[0, lane]
            for i in range(d):
                out[first + lane, i] = sides[1, i, lane]
