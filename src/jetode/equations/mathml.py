"""Equations as presentation MathML, which browsers typeset without any script or network."""

from __future__ import annotations

from collections.abc import Sequence

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation


def equations(model: Equation | Closure, digits: int = 4) -> list[str]:
    """One ``<math>`` element per equation of motion."""
    return [line(left, right) for left, right in model.latex_rows(digits)]


def line(left: str, right: str) -> str:
    """One ``<math>`` element of an equation."""
    from latex2mathml.converter import convert  # imported late: only reports and notebooks need it

    return convert(f"{left} = {right}", display="block")


def wrapping(left: str, pieces: Sequence[str]) -> str:
    """An equation as one HTML element: left-hand side and terms are ``<math>`` elements of their own, between which a
    narrow page breaks the line."""
    from latex2mathml.converter import convert

    first, *rest = pieces or ("0",)
    parts = [f"{left} =", first, *("{}" + piece for piece in rest)]  # {}: a sign that follows something
    return f'<div class="formula">{" ".join(convert(part) for part in parts)}</div>'
