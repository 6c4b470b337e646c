"""The regular closure (docs/mathematics.md (3.1)–(3.5)): the rational closure D u' = N without its pole, by its parts.

For order n (jet coordinates u0 … u_{n−1}) the last coordinate is replaced by the hidden coordinate w:

    u_i' = u_{i+1}  (i < n−2),     u_{n−2}' = a(u0 … u_{n−2}) + D(u0 … u_{n−2}) w,     w' = P(u0 … u_{n−2}, w)

so that u_{n−1} = a + D w.  Nothing here is singular; differentiating u_{n−1} = a + D w gives N/D back exactly.
A *chain* (order 3, docs/mathematics.md (3.9)) has a second hidden coordinate v in place of u1, seen through a factor
that can vanish:

    u0' = f0(u0) + c(u0) v,     v' = a(u0, v) + D(u0, v) w,     w' = P(u0, v, w)

c = 1, f0 = 0 is u0' = u1.  A *driven* plane (order 4, docs/mathematics.md (3.16)) has an oscillator f, g that adds to
its highest rate,

    u0' = u1,     u1' = f1(u0, u1) + c1 f,     f' = a + D g,     g' = P

with a = 0, D = 1 and P = −ω² f in the simplest case.  All that can be done with either is done by :class:`Equation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from jetode.equations.element_terms import Placed
from jetode.equations.equation import Equation, Readout
from jetode.equations.equation_data import elements_from_plain, elements_to_plain
from jetode.equations.polynomials import Polynomial, from_json, to_json
from jetode.equations.rows import Coupled, Row, Rows, leading_monomial
from jetode.support.errors import InputError

__all__ = ["RegularClosure", "equation_of_rows", "leading_monomial", "read_equation"]

SHIFT: Polynomial = {(0,): 1.0}  # the c of u0' = u1
SECOND_SHIFT: Polynomial = {(0, 0): 1.0}  # the c1 of u1' = u2
DRIVEN_ORDER = 4


@dataclass(frozen=True, eq=False)
class RegularClosure(Equation):
    """a, D over (u0 … u_{n−2}) and P over (u0 … u_{n−2}, w), as dictionaries from exponents to coefficients; in a chain
    v stands in place of u1, and ``f0`` and ``c`` are over u0 alone; in a driven plane ``f1`` and ``c1`` are over u0 and
    u1."""

    rows: Rows = field(init=False, repr=False)
    labels: tuple[str, ...] | None = field(init=False, repr=False, default=None)
    jet_count: int | None = field(init=False, repr=False, default=None)
    readout: Readout = field(init=False, repr=False, default=Readout())
    a: Polynomial
    D: Polynomial
    P: Polynomial
    order: int
    f0: Polynomial = field(default_factory=dict)
    c: Polynomial = field(default_factory=lambda: dict(SHIFT))
    f1: Polynomial = field(default_factory=dict)
    c1: Polynomial = field(default_factory=lambda: dict(SECOND_SHIFT))

    def __post_init__(self) -> None:
        if self.order < 2:
            raise InputError(f"The 'order' parameter must be an int ≥ 2. Got {self.order} instead.")
        if self.is_chain and self.order != 3:
            raise InputError(f"The 'order' parameter must be 3 for a chain (f0, c). Got {self.order} instead.")
        rows: list[Row] = [Coupled.shift(i) for i in range(self.order - 2)]
        if self.is_chain:
            rows = [Coupled(self.f0, self.c)]
        if self.is_driven:
            if self.order != DRIVEN_ORDER:
                raise InputError(f"The 'order' must be {DRIVEN_ORDER} for a driven plane (f1, c1). Got {self.order}.")
            rows[1] = Coupled(self.f1, self.c1)
        object.__setattr__(self, "rows", (*rows, Coupled(self.a, self.D), self.P))
        super().__post_init__()

    @property
    def is_chain(self) -> bool:
        """Whether the second coordinate is v with u0' = f0 + c v, and not u1."""
        return bool(self.f0) or self.c != SHIFT

    @property
    def is_driven(self) -> bool:
        """Whether the third coordinate is f with u1' = f1 + c1 f, and not u2."""
        return bool(self.f1) or self.c1 != SECOND_SHIFT

    @classmethod
    def of(cls, equation: Equation) -> Self:
        """An equation with the rows of a regular closure, a chain of order 3 or a driven plane; else an input error."""
        return cls._of_rows(equation.rows, equation.elements)

    @classmethod
    def _of_rows(cls, rows: Rows, elements: Placed = ()) -> Self:
        if not has_regular_rows(rows):
            raise InputError(
                "The rows must be those of a regular closure, a chain of order 3 or a driven plane. Got others instead."
            )
        *first, last, big_p = rows
        assert isinstance(last, Coupled) and not isinstance(big_p, Coupled)
        head = first[0] if len(first) == 1 else None
        if isinstance(head, Coupled) and not head.is_shift:
            return cls(last.offset, last.factor, big_p, len(rows), head.offset, head.factor, elements=elements)
        second = first[1] if len(first) == DRIVEN_ORDER - 2 else None
        driven = (
            {"f1": second.offset, "c1": second.factor} if isinstance(second, Coupled) and not second.is_shift else {}
        )
        return cls(last.offset, last.factor, big_p, len(rows), elements=elements, **driven)

    def with_rows(self, rows: Rows, elements: Placed | None = None) -> Self:
        """The closure with other rows, which have to be those of a regular closure too."""
        return type(self)._of_rows(rows, self.elements if elements is None else elements)

    def to_json(self) -> dict[str, Any]:
        """The parts as plain data; inverse of :meth:`from_json`."""
        parts = {part: to_json(p) for part, p in self.parts().items()}
        return {"order": self.order, **parts, **elements_to_plain(self.elements)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_json`."""
        a, big_d, big_p = (from_json(data[part]) for part in ("a", "D", "P"))
        given = {part: from_json(data[part]) for part in ("f0", "c", "f1", "c1") if part in data}
        return cls(a, big_d, big_p, int(data["order"]), **given, elements=elements_from_plain(data))


def has_regular_rows(rows: Rows) -> bool:
    """Whether rows are shifts, one coupled row and one plain row, or those of a chain of order 3 or a driven plane."""
    if len(rows) < 2 or not all(isinstance(row, Coupled) for row in rows[:-1]):
        return False
    driven = len(rows) == DRIVEN_ORDER and isinstance(rows[1], Coupled) and not rows[1].vanishes
    before = rows[:1] if driven else rows[:-2]
    return len(rows) == 3 or all(isinstance(row, Coupled) and row.is_shift for row in before)


def equation_of_rows(rows: Rows, elements: Placed = ()) -> Equation:
    """The equation of these rows: a regular closure where they are those of one."""
    return RegularClosure._of_rows(rows, elements) if has_regular_rows(rows) else Equation(rows, elements=elements)


def read_equation(data: Mapping[str, Any]) -> Equation:
    """An equation of either kind from plain data."""
    return Equation.from_json(data) if "rows" in data else RegularClosure.from_json(data)
