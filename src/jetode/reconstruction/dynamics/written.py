"""Closures as equations that can be read: :class:`jetode.reconstruction.dynamics.base.Equation` for both forms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jetode.equations import mathml
from jetode.equations.closure import Closure
from jetode.equations.equation import Equation


@dataclass(frozen=True)
class RationalEquation:
    """u_i' = u_{i+1}, u_{n−1}' = N/D."""

    closure: Closure

    @property
    def names(self) -> tuple[str, ...]:
        """u0 … u_{n−1}."""
        return self.closure.names

    def text(self, digits: int = 6) -> str:
        """The last row; the others are derivatives."""
        return self.closure.text(digits)

    def latex(self, digits: int = 6) -> str:
        """The last row; the others are derivatives."""
        return self.closure.latex(digits)

    def mathml(self) -> list[str]:
        """One element per row."""
        return mathml.equations(self.closure)

    def rates(self) -> dict[str, Any]:
        """u_i' as SymPy expressions."""
        import sympy

        slopes = {a: sympy.Symbol(b) for a, b in pairwise(self.names)}
        return slopes | {self.names[-1]: self.closure.sympy()}


@dataclass(frozen=True)
class RegularEquation:
    """Rows such as u_i' = u_{i+1}, u_{n−2}' = a + D w, w' = P."""

    regular: Equation

    @property
    def names(self) -> tuple[str, ...]:
        """u0 … u_{n−2}, w."""
        return tuple(self.regular.names())

    def text(self, digits: int = 6) -> str:
        """One line per coordinate."""
        return self.regular.text(digits)

    def latex(self, digits: int = 6) -> str:
        """All rows, aligned."""
        return self.regular.latex(digits)

    def mathml(self) -> list[str]:
        """One element per row."""
        return mathml.equations(self.regular)

    def rates(self) -> dict[str, Any]:
        """u_i', w' as SymPy expressions."""
        return self.regular.sympy_rates()
