"""Equations in the words of the record: its symbol for the signal, letters for slopes and hidden coordinates, units.

The signal keeps the record's name where that can be a symbol, else it is x; its slopes are v, a, j, hidden ones w:
x' = v, v' = …  A coordinate that a coupled row x_i' = b + f x_{i+1} (docs/mathematics.md (3.14)) introduces has the
unit of x_i per time over that of the leading term of f; units are powers of the signal's and of the time's.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation, Readout
from jetode.equations.polynomials import Exponents
from jetode.equations.rows import Coupled
from jetode.equations.writers import SUPERSCRIPTS

Dimension = tuple[int, int]  # powers of the signal's unit and of the unit of time
LONGEST = 12  # characters of a symbol
DEFAULT = "x"
SLOPES = ("v", "a", "j")  # velocity, acceleration, jerk
HIDDEN = ("w", "h", "z")
# words that some language of the exports keeps for itself, or that the exports use
RESERVED = frozenset(re.findall(r"\w+", """
    abs all atan auto begin block bool break case catch char class connect const constant continue copysign cos
    cosh curve default der do double dt du dx elseif end enum equation exp export extern fabs false float flow function
    global goto if import inline inner int let local log long loop macro max min mod model module mutable new
    nothing np otherwise outer p package parameter pi pow quote rate readout record register restrict return short
    sign signed sin sizeof sqrt start state static step struct switch t tanh then time true try type typedef union
    unsigned using var void volatile when where while within
    """)) | {word.lower() for word in keyword.kwlist}  # fmt: skip


def symbol(name: str) -> str:
    """A name that every notation can use: the record's own where it is short and plain, else x."""
    text = re.sub(r"[\s\-]+", "_", name.strip())
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", text) and len(text) <= LONGEST
    return text if plain and text.lower() not in RESERVED else DEFAULT


def coordinate_names(equation: Equation, signal: str) -> tuple[str, ...]:
    """Symbols of the state: the signal's, those of its slopes, those of hidden coordinates; none twice in any case."""
    if equation.labels is not None and not equation.is_cascade:
        index = equation.readout.index
        names = ["z" if name.lower() == signal.lower() else name for name in equation.labels]
        if equation.readout == Readout(index):  # the signal is this coordinate
            names[index] = signal
        return _distinct(names)
    seen = equation.n_jets
    if equation.leading_shifts == equation.dimension - 1:
        seen = equation.dimension  # the last coordinate is a slope like the others
    hidden = equation.dimension - seen
    between = ("v",) if hidden == 2 else tuple(f"v{i + 1}" for i in range(hidden - 1))
    return _distinct([*slope_names(signal, seen), *between, *HIDDEN[: min(hidden, 1)]])


def slope_names(signal: str, count: int) -> tuple[str, ...]:
    """The signal and its slopes: x, v, a, j; with numbers where there are more, or where a letter is the signal's."""
    letters = SLOPES if count <= 1 + len(SLOPES) and signal.lower() not in SLOPES else ()
    return (signal, *(letters[i - 1] if letters else f"{signal}{i}" for i in range(1, count)))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names that differ even where capitals do not count; the first keeps its own."""
    out: list[str] = []
    for name in names:
        free = (n for n in (name, *HIDDEN, *(f"{name}{i}" for i in range(1, 100))))
        out.append(next(n for n in free if n.lower() not in {other.lower() for other in out}))
    return tuple(out)


@dataclass(frozen=True)
class Notation:
    """What the coordinates are called and in which units they are; ``unit`` and ``time_unit`` are the record's, empty
    where it states none."""

    names: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    unit: str = ""
    time_unit: str = ""

    @classmethod
    def of(cls, equation: Equation | Closure, name: str = "", unit: str = "", time_unit: str = "") -> Notation:
        """For an equation of the record of this name and these units."""
        signal = symbol(name)
        if isinstance(equation, Closure):
            names = slope_names(signal, equation.order)
            return cls(names, tuple((1, -i) for i in range(equation.order)), unit, time_unit)
        return cls(coordinate_names(equation, signal), tuple(_dimensions(equation)), unit, time_unit)

    def unit_of(self, dimension: Dimension) -> str:
        """``mV s⁻¹``; empty where there is none or the record does not tell it."""
        parts = []
        for unit, power in zip((self.unit, self.time_unit), dimension, strict=True):
            if power and not unit:
                return ""
            if power:
                compound = re.search(r"[\s/·*]", unit) and power != 1
                raised = "" if power == 1 else str(power).translate(SUPERSCRIPTS)
                parts.append((f"({unit})" if compound else unit) + raised)
        return " ".join(parts)

    def coordinate_unit(self, *coordinates: int) -> str:
        """Of a coordinate, or of a product of some."""
        return self.unit_of(self.product_dimension(coordinates))

    def product_dimension(self, coordinates: Sequence[int]) -> Dimension:
        """Powers of both units of a product of coordinates."""
        amounts, times = zip(*(self.dimensions[i] for i in coordinates), strict=True)
        return sum(amounts), sum(times)

    def coefficient_unit(self, i: int, powers: Exponents, factor: bool = False) -> str:
        """Of a term in the rate of coordinate i; ``factor``: of one that multiplies the next coordinate there."""
        amount, time = self.dimensions[i]
        spent = [*zip(powers, self.dimensions, strict=False), *([(1, self.dimensions[i + 1])] if factor else [])]
        for k, (by_amount, by_time) in spent:
            amount, time = amount - k * by_amount, time - k * by_time
        return self.unit_of((amount, time - 1))


def _dimensions(equation: Equation) -> Iterator[Dimension]:
    """Powers of both units for every coordinate; pure numbers where no row tells."""
    plain = equation.readout == Readout(equation.readout.index)
    known: list[Dimension] = []
    for i in range(equation.dimension):
        before = equation.rows[i - 1] if i else None
        if i == equation.readout.index and plain:
            found = (1, 0)
        elif isinstance(before, Coupled) and before.factor:
            amount, time = known[i - 1]
            spent = list(zip(before.lead, known, strict=True))
            found = (amount - sum(k * d[0] for k, d in spent), time - 1 - sum(k * d[1] for k, d in spent))
        else:
            found = (0, 0)
        known.append(found)
        yield found


def slope_labels(name: str, unit: str, time_unit: str, count: int) -> list[str]:
    """Titles of axes for the signal and its slopes: ``x [mV]``, ``v [mV s⁻¹]``, …"""
    jets = Notation(slope_names(symbol(name), count), tuple((1, -i) for i in range(count)), unit, time_unit)
    units = [jets.coordinate_unit(i) for i in range(count)]
    return [f"{name} [{unit}]" if unit else name for name, unit in zip(jets.names, units, strict=True)]
