"""Closures as equations that can be read: :class:`jetode.reconstruction.dynamics.base.Equation` for both forms."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jetode.equations import mathml
from jetode.equations.closure import Closure
from jetode.equations.regular import RegularClosure


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
        return _chained(self.names, {self.names[-1]: self.closure.sympy()})


@dataclass(frozen=True)
class RegularEquation:
    """u_i' = u_{i+1}, u_{n−2}' = a + D w, w' = P; in a chain u0' = f0 + c v comes first."""

    regular: RegularClosure

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
        import sympy

        names, parts = self.names, self.regular.sympy()
        last = {names[-2]: parts["a"] + parts["D"] * sympy.Symbol("w"), "w": parts["P"]}
        if self.regular.is_chain:
            last = {"u0": parts["f0"] + parts["c"] * sympy.Symbol("v")} | last
        return _chained(names, last)


def _chained(names: tuple[str, ...], last: dict[str, Any]) -> dict[str, Any]:
    """The rows u_i' = u_{i+1} before the ones given."""
    import sympy

    chain = names[: len(names) - len(last) + 1]
    return {a: sympy.Symbol(b) for a, b in pairwise(chain)} | last
