"""The elements of a model as its user sees them (docs/mathematics.md §8): named, in the record's units, with errors,
and the range of the record in which each was seen; beyond it the curve is extrapolated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import Element
from jetode.equations.writers import text
from jetode.integration.forecast import Forecast
from jetode.support.arrays import FloatArray

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model

BEYOND = 0.05  # of the visited range: how far a forecast may leave it before that is worth a word


@dataclass(frozen=True, eq=False)
class FoundElement:
    """A function of one coordinate in a model's equation.

    ``name``: sin, abs, tanh, …, or curve where it has no name; ``variable``: the coordinate, or the product, it is of;
    ``rate``: that in whose rate it stands (the first of several) and ``times`` what it is multiplied with there;
    ``parameters``: value and standard error by name, the factor before the function as ``gain``; ``visited``: the range
    of the variable in the record.
    """

    name: str
    variable: str
    rate: str
    times: str
    parameters: Mapping[str, tuple[float, float]]
    visited: tuple[float, float]
    element: Element

    @property
    def gain(self) -> float:
        """The factor before the function."""
        return self.parameters["gain"][0]

    def curve(self, v: FloatArray | float) -> FloatArray:
        """What it adds to the rate at places v of its variable: gain · f(v), per unit of ``times``."""
        return np.asarray(self.gain * self.element(v))

    def sentence(self) -> str:
        """Where it is known."""
        low, high = self.visited
        where = f"{self.variable} from {low:.3g} to {high:.3g}"
        return f"The record shows the {self.name} for {where}; beyond, it is extrapolated."


def found_elements(model: Model) -> tuple[FoundElement, ...]:
    """The elements of a model's equation, none where it is polynomial."""
    equation, visited = model.regular, getattr(model.dynamics, "visited", ())
    if equation is None or not equation.elements or model.named is None:
        return ()
    errors = {(c.part, c.powers): c.standard_error for c in model.coefficients()}
    out = []
    for m, (placed, seen) in enumerate(zip(equation.elements, visited, strict=True)):
        row, powers, gain = _first(placed)
        part = next(p for p, e, _ in equation.coefficients() if p.endswith(f".{m}"))
        own = {
            name: (value, errors.get((f"e{m}", (i,)), float("nan")))
            for i, (name, value) in enumerate(placed.element.named.items())
        }
        gain_error = next((error for (p, _), error in errors.items() if p == part), float("nan"))
        out.append(
            FoundElement(
                placed.element.kind,
                placed.element.argument_name(model.named.names),
                model.named.names[row],
                text({powers: 1.0}, model.named.names),
                {"gain": (gain, gain_error), **own},
                seen,
                placed.element,
            )
        )
    return tuple(out)


def _first(placed: PlacedElement) -> tuple[int, tuple[int, ...], float]:
    """Row, monomial and coefficient of the first term of an element."""
    row = min(placed.multipliers)
    powers, gain = next(iter(placed.multipliers[row].items()))
    return row, powers, gain


def visited_ranges(elements: Sequence[PlacedElement], states: FloatArray) -> tuple[tuple[float, float], ...]:
    """The range of every element's coordinate over states (n, d) of the record."""
    columns = [one.element.argument(states) for one in elements]
    return tuple((float(np.nanmin(column)), float(np.nanmax(column))) for column in columns)


def left_range(
    elements: Sequence[PlacedElement], visited: Sequence[tuple[float, float]], run: Forecast
) -> tuple[str, ...]:
    """For every element whose coordinate leaves its range in a forecast: that it does, and when."""
    out = []
    for one, (low, high) in zip(elements, visited, strict=True):
        values, reach = one.element.argument(run.states), BEYOND * (high - low)
        outside = np.flatnonzero((values < low - reach) | (values > high + reach))
        if outside.size:
            out.append(
                f"From {run.t[outside[0]]:.3g} after its start on, the forecast is outside the range {low:.3g} to "
                f"{high:.3g} in which the record shows the {one.element.kind}: there the curve is extrapolated."
            )
    return tuple(out)
