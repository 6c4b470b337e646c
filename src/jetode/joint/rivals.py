"""Other candidates that fit about as well, and which of them cast doubt on the best (docs/mathematics.md §8.4)."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import chdtri

from jetode.equations.equation import Equation
from jetode.joint.candidates import Found
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.search_settings import DECISION

SIGNIFICANT = 0.05  # chance at which coefficients that are not needed lower the cost as far


@dataclass(frozen=True)
class Rival:
    """A competing candidate: its closure (dimensionless, canonical), how much worse its BIC is, and whether it is
    ``superfluous``: it has a function and more coefficients, which lower the cost by no more than chance.

    A tanh beside a line holds every sine of 2 rad to within 1 % noise, and a power every cube: such a one is behind by
    the price of its coefficients and never by more, however long the record."""

    regular: Equation
    delta_bic: float
    superfluous: bool = False


def rivals_of(best: Candidate, found: Found) -> tuple[Rival, ...]:
    """The other candidates that could be fitted, and how far they are behind."""
    return tuple(
        Rival(equation_of(c.fit.terms).canonical(), c.bic - best.bic, bool(c.form.elements) and _superfluous(c, best))
        for c in found.candidates
        if c.fit is not None and c is not best
    )


def _superfluous(richer: Candidate, best: Candidate) -> bool:
    """Whether a candidate has more coefficients than the best and no significant use for them (χ²); beside a
    polynomial, whose powers a function contains, whether it is as far behind as any term more has to be."""
    assert richer.fit is not None and best.fit is not None
    more = int(richer.fit.terms.free.sum() - best.fit.terms.free.sum())
    if more > 0 and not best.form.elements and richer.bic - best.bic >= DECISION.min_margin:
        return True
    return bool(more > 0 and best.cost - richer.cost < chdtri(more, SIGNIFICANT))
