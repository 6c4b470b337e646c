"""Weak-constraint multiple shooting (docs/mathematics.md (4.1), (4.3)): what the joint fit solves for, as data.

Unknowns are one state ``X_k`` per node and the free coefficients ``θ`` of a polynomial vector field, which is
linear in them, together with the free parameters of its elements (docs/mathematics.md (8.1)).  Minimised is

    J = Σ_i ω_i (x_0(t_i) − y_i)²  +  Σ_k |X_{k+1} − Φ(X_k; θ)|² / q²  +  Σ_j ρ_j (θ_j − m_j)²,

with ``Φ`` the flow from node to node (fixed Runge–Kutta steps), ``ω = 1/σ²`` and ``q`` the annealed size of
the jumps.  The normal equations are solved as a linear-quadratic problem by a backward Riccati recursion with
the coefficients as an arrow; it stays well conditioned as ``q → 0`` and costs O(record length).

Symbols: ``d`` state dimension, ``T`` monomials, ``J`` terms of the field, ``F`` free coefficients, ``K`` nodes,
``N`` samples.  Everything here is dimensionless; scaling belongs to the callers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np

from jetode.equations.element_kernel import element_ready
from jetode.equations.elements import KINDS, Shape
from jetode.equations.polynomials import Exponents, monomial_program
from jetode.integration.tableau import N_STAGES, STAGES, WEIGHTS
from jetode.support.arrays import BoolArray, FloatArray, IntArray
from jetode.support.errors import InputError


class Tableau(NamedTuple):
    """An explicit Runge–Kutta method: strictly lower triangular ``a`` and weights ``b``."""

    a: FloatArray
    b: FloatArray


RK4 = Tableau(
    np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
)
RK8 = Tableau(np.array(STAGES[:N_STAGES, :N_STAGES]), np.array(WEIGHTS))


@dataclass(frozen=True)
class Terms:
    """A polynomial vector field as a list of terms sorted by row: ``x'_row += coefficient · monomial``; the first
    ``shifts`` components are ``x'_i = x_{i+1}``.  ``free[j]`` says whether coefficient ``j`` is estimated, and
    ``precision[j] (θ_j − mean[j])²`` is added to the cost (a weak ridge; a hold on the pole while q is large).

    With M ``elements``, (kind, coordinate) each, exponents have M more entries, for f_0(x_v) …; after the terms of all
    rows come the elements' parameters, as coefficients of rows d, d + 1, …: exponents (i, 0 …) in row d + m is
    parameter i of element m, and all of them are there, in order."""

    dimension: int
    shifts: int
    rows: IntArray
    exponents: tuple[Exponents, ...]
    coefficients: FloatArray
    free: BoolArray
    mean: FloatArray
    precision: FloatArray
    elements: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        if np.any(self.rows[1:] < self.rows[:-1]):
            raise InputError(f"The 'terms' parameter must be sorted by row. Got the rows {self.rows.tolist()} instead.")

    @property
    def n_terms(self) -> int:
        """Terms without the parameters of elements."""
        return int(np.searchsorted(self.rows, self.dimension))

    @property
    def is_parameter(self) -> BoolArray:
        """Marks the parameters of elements."""
        return self.rows >= self.dimension

    def element_parameters(self, m: int) -> FloatArray:
        """The parameters of one element."""
        return self.coefficients[self.rows == self.dimension + m]

    def check(self) -> None:
        """Refuse, with a ValueError, terms that do not belong together: what a file may hold."""
        d, m = self.dimension, len(self.elements)
        of = {v for shape in self.elements for v in shape.coordinates}
        if {len(e) for e in self.exponents} - {d + m} or of - set(range(d)):
            raise ValueError("terms and elements must be over the same coordinates")
        counts = [len(KINDS[shape.kind].parameters) for shape in self.elements]
        wanted = [(d + k, i) for k, count in enumerate(counts) for i in range(count)]
        found = [(int(row), e[0]) for row, e in zip(self.rows, self.exponents, strict=True) if row >= d]
        if found != wanted or any(max(e[d:], default=0) > 1 or sum(e[d:]) > 1 for e in self.exponents):
            raise ValueError("every element must have all its parameters, in order, and stand once in a term")

    def program(self) -> Program:
        """The flat arrays the kernels take."""
        count = self.n_terms
        parent, variable, offsets, slots, partials = _structure(
            self.dimension, len(self.elements), tuple(self.rows[:count].tolist()), self.exponents[:count]
        )
        free_offsets = np.searchsorted(self.rows[self.free], np.arange(self.dimension + 1))
        return Program(
            (0,) * self.dimension,
            self.shifts,
            parent,
            variable,
            offsets,
            slots,
            slots[self.free[:count]],
            free_offsets,
            partials,
            self._element_program(),
        )

    def _element_program(self) -> Elements:
        """Kinds, coordinates and places of the elements, and which of their parameters are free."""
        if self.elements:
            element_ready()
        codes = [
            (KINDS[one.kind].code, one.variable, int(np.searchsorted(self.rows, self.dimension + m)),
             -1 if one.partner is None else one.partner)
            for m, one in enumerate(self.elements)
        ]  # fmt: skip
        free = np.flatnonzero(self.free & self.is_parameter)
        columns = [(self.rows[j] - self.dimension, self.exponents[j][0]) for j in free]
        return Elements(np.array(codes, np.int64).reshape(-1, 4), np.array(columns, np.int64).reshape(-1, 2))

    def with_coefficients(self, coefficients: FloatArray) -> Terms:
        """The same terms with other coefficients."""
        return replace(self, coefficients=coefficients)

    def select(self, keep: BoolArray) -> Terms:
        """Only the terms marked in ``keep``."""
        exponents = tuple(e for e, k in zip(self.exponents, keep, strict=True) if k)
        return replace(
            self,
            rows=self.rows[keep],
            exponents=exponents,
            coefficients=self.coefficients[keep],
            free=self.free[keep],
            mean=self.mean[keep],
            precision=self.precision[keep],
        )


class Partials(NamedTuple):
    """∂x'_row/∂x_e as a list of terms: those of (row, e) from ``offsets[row, e]`` on, each a coefficient of the
    field (``terms``) times the ``powers`` that come down times a monomial (``slots``)."""

    offsets: IntArray
    terms: IntArray
    powers: FloatArray
    slots: IntArray


class Elements(NamedTuple):
    """Kind, coordinate, first coefficient and partner (−1: none) of every element (``codes``); element and number of
    every free parameter (``columns``)."""

    codes: IntArray
    columns: IntArray


class Program(NamedTuple):
    """Flat form of :class:`Terms` for compiled code: monomials as parent times variable, the terms of a row from
    ``offsets[row]`` on with their monomials in ``slots``, the same for the free ones, and the partial derivatives."""

    axes: tuple[int, ...]
    chain: int
    parent: IntArray
    variable: IntArray
    offsets: IntArray
    slots: IntArray
    free_slots: IntArray
    free_offsets: IntArray
    partials: Partials
    elements: Elements


@lru_cache(maxsize=512)
def _structure(
    dimension: int, n_elements: int, rows: tuple[int, ...], exponents: tuple[Exponents, ...]
) -> tuple[IntArray, IntArray, IntArray, IntArray, Partials]:
    """What of a :class:`Program` does not depend on which coefficients are free."""
    width = dimension + n_elements
    partials: list[list[tuple[int, int, Exponents]]] = [[] for _ in range(dimension * width)]
    for j, (row, e) in enumerate(zip(rows, exponents, strict=True)):
        for v in range(width):
            if e[v] > 0:
                partials[row * width + v].append((j, e[v], (*e[:v], e[v] - 1, *e[v + 1 :])))
    flat = [partial for block in partials for partial in block]
    ends = np.cumsum([0, *(len(block) for block in partials)])
    offsets = ends[np.arange(dimension)[:, None] * width + np.arange(width + 1)]
    parent, variable, slots = monomial_program([*exponents, *(e for _, _, e in flat)], width)
    return (
        parent,
        variable,
        np.searchsorted(rows, np.arange(dimension + 1)),
        slots[: len(exponents)],
        Partials(
            np.ascontiguousarray(offsets),
            np.array([j for j, _, _ in flat], np.int64),
            np.array([power for _, power, _ in flat], np.float64),
            slots[len(exponents) :],
        ),
    )


class Layout(NamedTuple):
    """Where nodes and samples lie: node ``k`` sits on sample ``first[k]`` and its segment spans ``spans[k]``
    samples (0: the last node of a record).  One Runge–Kutta step covers ``stride`` samples of length
    ``spacing`` (in units of tc), where samples inside a step are read off the cubic Hermite interpolant; with
    coarse sampling ``stride`` is 1 and every sample takes ``substeps`` steps."""

    first: IntArray
    spans: IntArray
    stride: int
    substeps: int
    spacing: float


def make_layout(lengths: Sequence[int], spacing: float, step: float, node: float, interpolate: bool = True) -> Layout:
    """Nodes about every ``node`` (in tc) and integration steps of at most about ``step`` (in tc), in each of
    several records laid end to end; without ``interpolate`` every sample ends a step."""
    stride = max(1, round(step / spacing)) if interpolate else 1
    substeps = max(1, ceil(spacing / step - 1e-9)) if stride == 1 else 1
    node_samples = stride * max(1, round(node / (spacing * stride)))
    first: list[int] = []
    spans: list[int] = []
    offset = 0
    for n in lengths:
        nodes = list(range(0, n - 1, node_samples))
        if len(nodes) > 1 and n - 1 - nodes[-1] < stride:
            nodes.pop()
        first += [offset + i for i in nodes] + [offset + n - 1]
        spans += [b - a for a, b in zip(nodes, [*nodes[1:], n - 1], strict=True)] + [0]
        offset += n
    return Layout(np.array(first, np.int64), np.array(spans, np.int64), stride, substeps, spacing)
