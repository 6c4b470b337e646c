"""Equations as presentation MathML, which browsers typeset without any script or network."""

from __future__ import annotations

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation


def equations(model: Equation | Closure, digits: int = 4) -> list[str]:
    """One ``<math>`` element per equation of motion."""
    from latex2mathml.converter import convert  # imported late: only reports and notebooks need it

    return [convert(f"{left} = {right}", display="block") for left, right in model.latex_rows(digits)]
