"""One type for every equation of motion: coordinates x_0 … x_{n−1} with a row each (docs/mathematics.md (3.14)).

Jets (u_i' = u_{i+1}, u_{n−1}' = P), regular closures (the last row but one is u_{n−2}' = a + D w), chains (u0' = f0 +
c v) and memory closures (x' = P(x, m), linear rows for m) differ in their rows alone; see :mod:`jetode.equations.rows`.
Where all rows but the last are coupled, a *cascade*, the state and the jets u0 … u_{n−1} determine each other, and the
record obeys one rational closure (not with elements, which are no polynomials).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from jetode.equations import element_terms, equation_data, state_jets
from jetode.equations import rows as algebra
from jetode.equations.closure import Closure
from jetode.equations.element_terms import Placed
from jetode.equations.field import Field
from jetode.equations.polynomials import (
    Exponents,
    Polynomial,
    derivative,
    evaluate,
    rescale,
    scale,
    to_sympy,
    widen,
)
from jetode.equations.record_closure import closure_of_rows
from jetode.equations.rows import Coupled, Row, Rows, part_names
from jetode.equations.writers import Infix, latex_name, latex_writer, text_writer
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Readout:
    """The recorded signal: offset + gain · x_index."""

    index: int = 0
    gain: float = 1.0
    offset: float = 0.0

    def __call__(self, states: FloatArray) -> FloatArray:
        """The signal at states (…, n)."""
        return self.offset + self.gain * states[..., self.index]


@dataclass(frozen=True, eq=False)
class Equation:
    """Rows, a name for each coordinate (None: u0, u1 … and v, w for hidden ones), the number of leading coordinates
    that are derivatives of the signal (None: as many as the leading shifts say, the last coordinate being hidden),
    how the recorded signal is read off the state, and functions of one coordinate that stand beside the polynomials
    (docs/mathematics.md (8.1))."""

    rows: Rows
    labels: tuple[str, ...] | None = None
    jet_count: int | None = None
    readout: Readout = field(default_factory=Readout)
    elements: Placed = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        n = len(self.rows)
        if not n or isinstance(self.rows[-1], Coupled):
            raise InputError("The 'rows' parameter must end in a plain row. Got none instead.")
        for i, row in enumerate(self.rows):
            offset, factor, rate = part_names(i, n)
            if isinstance(row, Coupled):
                _require_length(offset, row.offset, i + 1)
                _require_length(factor, row.factor, i + 1)
                if not row.factor and not self._element_factor(i):
                    raise InputError(f"The '{factor}' parameter must have at least one term. Got an empty one instead.")
            else:
                _require_length(rate, row, n)
        element_terms.check(self.rows, self.elements)
        if self.labels is not None and len(set(self.labels)) != n:
            raise InputError(f"The 'labels' parameter must hold {n} different names. Got {self.labels} instead.")
        if self.jet_count is not None and not 1 <= self.jet_count <= 1 + self.leading_shifts:
            raise InputError(
                f"The 'jet_count' parameter must be 1 to {1 + self.leading_shifts} with these rows. "
                f"Got {self.jet_count} instead."
            )
        if not 0 <= self.readout.index < n:
            raise InputError(f"The 'readout' parameter must name one of {n} coordinates. Got {self.readout} instead.")

    def with_rows(self, rows: Rows, elements: Placed | None = None) -> Self:
        """The same coordinates with other rows, and other elements where given."""
        return replace(self, rows=rows, elements=self.elements if elements is None else elements)

    # -- coordinates ---------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.rows)

    @property
    def leading_shifts(self) -> int:
        """How many rows at the beginning say no more than that the next coordinate is the rate of this one."""
        count, occupied = 0, element_terms.in_rows(self.elements)
        for i, row in enumerate(self.rows):
            if not (isinstance(row, Coupled) and row.is_shift) or i in occupied:
                break
            count += 1
        return count

    @property
    def n_jets(self) -> int:
        """How many leading coordinates are u0, u1, …; the others are hidden."""
        if self.jet_count is not None:
            return self.jet_count
        return 1 + min(self.leading_shifts, max(self.dimension - 2, 0))

    @property
    def is_cascade(self) -> bool:
        """Whether every row but the last is coupled and the signal is x_0: state and jets determine each other."""
        return all(isinstance(row, Coupled) for row in self.rows[:-1]) and self.readout == Readout()

    def cascade(self) -> tuple[Coupled, ...]:
        """The coupled rows of a cascade."""
        if not self.is_cascade:
            names = ", ".join(self.names())
            raise InputError(f"The equation of {names} is no cascade: derivatives of the signal do not give its state.")
        return tuple(row for row in self.rows[:-1] if isinstance(row, Coupled))

    def names(self) -> tuple[str, ...]:
        """Names of the state's coordinates."""
        if self.labels is not None:
            return self.labels
        hidden = self.dimension - self.n_jets
        between = ("v",) if hidden == 2 else tuple(f"v{i + 1}" for i in range(hidden - 1))
        return (*(f"u{i}" for i in range(self.n_jets)), *between, "w")[: self.dimension]

    def parts(self) -> dict[str, Polynomial]:
        """The polynomials that define the equation, by name (:func:`part_names`), in the order of the rows; leading
        shifts between jets have none.  What elements add is in :meth:`element_parts`."""
        out: dict[str, Polynomial] = {}
        for i in range(self.n_jets - 1, self.dimension):
            row = self.rows[i]
            offset, factor, rate = part_names(i, self.dimension)
            out |= {offset: row.offset, factor: row.factor} if isinstance(row, Coupled) else {rate: row}
        return out

    def element_parts(self) -> dict[str, Polynomial]:
        """What multiplies the elements and what their parameters are (:func:`jetode.equations.element_terms.parts`)."""
        return element_terms.parts(self.rows, self.elements)

    def leads(self) -> dict[str, Exponents]:
        """Leading monomial of every factor among the parts: its coefficient is a matter of gauge."""
        return {
            part_names(i, self.dimension)[1]: row.lead
            for i, row in enumerate(self.rows)
            if isinstance(row, Coupled) and row.factor and i >= self.n_jets - 1
        }

    def coefficients(self) -> list[tuple[str, Exponents, float]]:
        """(part, exponents, value) of all coefficients but the leading ones of factors, parameters of elements last."""
        leads, parts = self.leads(), self.parts() | self.element_parts()
        return [(part, e, c) for part, p in parts.items() for e, c in p.items() if leads.get(part) != e]

    def rates(self) -> list[Polynomial]:
        """The rates of all coordinates, each a polynomial over all of them and the elements."""
        n, width = self.dimension, self.dimension + len(self.elements)
        own = [widen(algebra.rate(self.rows, i), width) for i in range(n)]
        return [p | element_terms.rate(self.elements, i) for i, p in enumerate(own)] if self.elements else own

    @property
    def field(self) -> Field:
        """The vector field on the state."""
        elements = tuple(one.element for one in self.elements)
        return Field(self.dimension, tuple(self.rates()[self.n_jets - 1 :]), elements=elements)

    def jets(self, states: FloatArray) -> FloatArray:
        """Jet coordinates (…, n) of states (…, n): u_{k+1} = Σ_i ∂u_k/∂x_i x_i'."""
        return state_jets.jets(self, states)

    def states(self, jets: FloatArray) -> FloatArray:
        """States of jets, the inverse of :meth:`jets`; not finite where a factor vanishes."""
        return state_jets.states(self, jets)

    def hidden(self, jets: FloatArray) -> FloatArray:
        """The last coordinate at jets, e.g. w = (u_{n−1} − a)/D of a regular closure; not finite on the pole itself."""
        return self.states(jets)[..., -1]

    @property
    def lead(self) -> Exponents:
        """The leading monomial of the last factor, D."""
        return self.cascade()[-1].lead

    def pole_factor(self) -> Polynomial | None:
        """D where it vanishes somewhere, None where it is a constant."""
        last = self.cascade()[-1]
        return dict(last.factor) if last.vanishes else None

    # -- gauge ---------------------------------------------------------------------------------------

    def changed(self, j: int, alpha: float, g: Mapping[Exponents, float]) -> Self:
        """The same equation in x̃_j = α x_j + g(x_0 … x_{j−1}), where row j − 1 is coupled."""
        if not 0 < j < self.dimension or not isinstance(self.rows[j - 1], Coupled):
            raise InputError(f"The 'j' parameter must be a coordinate that a coupled row introduces. Got {j} instead.")
        return self.with_rows(algebra.changed(self.rows, j, alpha, g), self._moved(j, alpha, g))

    def _moved(self, j: int, alpha: float, g: Mapping[Exponents, float]) -> Placed:
        """The elements after a change of x_j."""
        if g and any(j in one.element.coordinates for one in self.elements):
            raise InputError(f"Coordinate {j} cannot be shifted: an element is a function of it.")
        placed = element_terms.scaled(self.elements, j, alpha)
        return element_terms.shifted(placed, j, g) if g else placed

    def with_hidden_scaled(self, alpha: float) -> Self:
        """The same equation with its last coordinate multiplied by α."""
        return self.changed(self.dimension - 1, alpha, {})

    def with_hidden_shifted(self, g: Mapping[Exponents, float]) -> Self:
        """The same equation with g(x_0 … x_{n−2}) added to its last coordinate."""
        return self.changed(self.dimension - 1, 1.0, g)

    def gauge(self, j: int | None = None) -> tuple[float, Polynomial]:
        """(α, g) with which α x_j + g is canonical, the coordinates before it being as they are (default: the last).
        A coordinate that an element is a function of is not shifted, nor one that drives or of a food chain, and what
        elements add to the offset stays there; a factor that is an element alone has the gain 1."""
        j = self.dimension - 1 if j is None else j
        row = self.rows[j - 1]
        assert isinstance(row, Coupled)
        if not row.factor:
            return next(iter(self._element_factor(j - 1).values())), {}
        alpha, g = algebra.divide(row.offset, row.factor)
        if self.is_drive(j) or self.is_food_chain or any(j in one.element.coordinates for one in self.elements):
            return alpha, {}
        return alpha, g

    def is_drive(self, j: int) -> bool:
        """Whether x_j and those after it, two at least, go their own way and only add to the rate of x_{j−1}, the last
        of two at least: an oscillator that drives, which no change of x_j may mix with what it drives."""
        row = self.rows[j - 1]
        if j < 2 or self.dimension - j < 2 or self.elements or not isinstance(row, Coupled) or row.vanishes:
            return False
        return bool(row.offset) and not any(
            any(e[:j]) for i in range(j, self.dimension) for e in algebra.rate(self.rows, i)
        )

    @property
    def is_food_chain(self) -> bool:
        """Whether each row multiplies the next coordinate with its own, and all hidden ones multiply their rates: where
        one is 0 it stays so, which no shift may hide."""
        rows, n = self.rows, self.dimension
        coupled = all(isinstance(row, Coupled) and all(e[-1] for e in row.factor) for row in rows[:-1])
        return coupled and not self.elements and all(e[i] for i in range(1, n) for e in algebra.rate(rows, i))

    def _element_factor(self, i: int) -> Polynomial:
        """What multiplies an element times x_{i+1} in row i."""
        out: Polynomial = {}
        for one in self.elements:
            out |= {e: c for e, c in one.in_row(i).items() if e[i + 1]}
        return out

    def _gauges(self) -> Iterator[tuple[int, float, Polynomial]]:
        """(j, α, g) of every change to canonical coordinates, those before x_j being canonical already."""
        moved = self
        for j in self._introduced():
            yield j, *moved.gauge(j)
            if j < self.dimension - 1:
                moved = moved._reduced(j, algebra.CANCELLED)

    def _reduced(self, j: int, tolerance: float) -> Self:
        """x_j in its canonical gauge."""
        alpha, g = self.gauge(j)
        row = self.rows[j - 1]
        assert isinstance(row, Coupled)
        whole = row.factor and (g or not algebra.divide(row.offset, row.factor)[1])
        rows = algebra.reduced(self.rows, j, tolerance) if whole else algebra.scaled(self.rows, j, alpha)
        return self.with_rows(rows, self._moved(j, alpha, g))

    def _introduced(self) -> Iterator[int]:
        """Coordinates with a gauge: those that coupled rows introduce which are more than shifts between jets."""
        shifts = self.leading_shifts
        for i, row in enumerate(self.rows):
            if isinstance(row, Coupled) and not (row.is_shift and i < self.dimension - 2 and i < shifts):
                yield i + 1

    def canonical(self, tolerance: float = algebra.CANCELLED) -> Self:
        """Row by row: every factor of leading coefficient 1, no term of an offset divisible by its leading monomial.

        Terms that cancel to less than ``tolerance`` of what they are made of are dropped; elements are written in one
        way.
        """
        moved = self
        for j in self._introduced():
            moved = moved._reduced(j, tolerance)
        return moved.with_rows(moved.rows, element_terms.canonical(moved.elements))

    def canonical_states(self, states: FloatArray) -> FloatArray:
        """States (…, n) in the coordinates of the canonical form."""
        out = np.array(states, dtype=np.float64)
        for j, alpha, g in self._gauges():
            out[..., j] = alpha * out[..., j] + evaluate(g, out[..., :j])
        return out

    def canonical_jacobian(self, state: FloatArray) -> FloatArray:
        """∂(canonical state)/∂(state) at one state."""
        out, at = np.eye(self.dimension), np.array(state, dtype=np.float64)
        for j, alpha, g in self._gauges():
            step = np.eye(self.dimension)
            step[j, :j] = [float(evaluate(derivative(g, i), at[:j])) for i in range(j)]
            step[j, j] = alpha
            out = step @ out
            at[j] = alpha * at[j] + float(evaluate(g, at[:j]))
        return out

    def in_units(self, amplitude: float, time: float) -> Self:
        """From dimensionless coordinates ũ_i = u_i time^i/amplitude, τ = t/time to physical ones (hidden ones kept)."""
        seen = self.n_jets
        factors = [time**i / amplitude if i < seen else 1.0 for i in range(self.dimension)]
        rates = [amplitude / time ** (i + 1) if i < seen else 1.0 / time for i in range(self.dimension)]

        def of(i: int, row: Row) -> Row:
            if i < seen - 1:
                return row
            if isinstance(row, Coupled):
                return Coupled(*(scale(rescale(p, factors[: i + 1]), rates[i]) for p in (row.offset, row.factor)))
            return scale(rescale(row, factors), rates[i])

        gain = amplitude * factors[self.readout.index] if self.readout.index < seen else amplitude
        readout = replace(self.readout, gain=self.readout.gain * gain, offset=self.readout.offset * amplitude)
        placed = element_terms.in_units(self.elements, factors, rates)
        moved = self.with_rows(tuple(of(i, row) for i, row in enumerate(self.rows)), placed)
        return moved if self.readout == Readout() else replace(moved, readout=readout)

    # -- the rational closure ------------------------------------------------------------------------

    def rational(self) -> Closure:
        """D u_{n−1}' = N of a cascade; with the one factor D0 of a regular closure D is D0^(m−1), m = max(2, degree of
        P in w), and constant factors give a plain polynomial."""
        self.cascade()
        if self.elements:
            raise InputError("An equation with elements has no rational closure.")
        numerator, denominator = closure_of_rows(self.rows)
        return Closure(numerator, denominator, self.dimension)

    # -- writing down --------------------------------------------------------------------------------

    def pieces(self, writer: Infix, names: tuple[str, ...]) -> list[list[str]]:
        """The terms of the right-hand sides, coupled rows as offset + factor · next coordinate, elements last."""
        return equation_data.pieces(self, writer, names)

    def written(self, writer: Infix, names: tuple[str, ...]) -> list[str]:
        """The right-hand sides."""
        return [" ".join(pieces) or writer.zero for pieces in self.pieces(writer, names)]

    def text(self, digits: int = 6) -> str:
        """The equations, one per line."""
        names = self.names()
        return "\n".join(f"{n}' = {r}" for n, r in zip(names, self.written(text_writer(digits), names), strict=True))

    def latex_rows(self, digits: int = 6) -> list[tuple[str, str]]:
        """(left, right) of every equation as LaTeX."""
        names = tuple(latex_name(n) for n in self.names())
        return [(rf"\dot {n}", r) for n, r in zip(names, self.written(latex_writer(digits), names), strict=True)]

    def latex(self, digits: int = 6) -> str:
        """The equations as one LaTeX ``aligned`` block."""
        lines = [f"{left} &= {right}" for left, right in self.latex_rows(digits)]
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$${self.latex(4)}$$"

    def sympy(self) -> dict[str, Any]:
        """The parts as SymPy expressions in the coordinates, e.g. ``{"a": …, "D": …, "P": …}``."""
        names = self.names()
        return {part: to_sympy(p, names[: len(next(iter(p), ()))]) for part, p in self.parts().items()}

    def sympy_rates(self) -> dict[str, Any]:
        """The rate of every coordinate as a SymPy expression."""
        return equation_data.sympy_rates(self)

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return equation_data.to_plain(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Equation:
        """Inverse of :meth:`to_json`."""
        rows, elements = equation_data.rows_from_plain(data), equation_data.elements_from_plain(data)
        read = data["readout"]
        readout = Readout(int(read["index"]), float(read["gain"]), float(read["offset"]))
        return Equation(rows, tuple(data["names"]), int(data["jets"]), readout, elements=elements)


def _require_length(name: str, polynomial: Polynomial, length: int) -> None:
    for e in polynomial:
        if len(e) != length:
            raise InputError(f"Exponents of '{name}' must have {length} entries. Got {e} instead.")
