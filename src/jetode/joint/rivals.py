"""Other candidates that fit about as well, and which of them cast doubt on the best (docs/mathematics.md §8.4)."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import chdtri

from jetode.equations.equation import Equation
from jetode.joint.candidates import Found
from jetode.joint.forms.base import Candidate
from jetode.joint.parts import equation_of
from jetode.joint.search_settings import DECISION

SIGNIFICANT = 0.05  # chance at which one of all richer functions lowers the cost as far without need


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
    others = [c for c in found.candidates if c.fit is not None and c is not best]
    chance = SIGNIFICANT / max(1, sum(_is_richer(c, best) for c in others))  # each is one more look at the same noise
    return tuple(
        Rival(equation_of(c.fit.terms).canonical(), c.bic - best.bic, _superfluous(c, best, chance))
        for c in others
        if c.fit is not None
    )


def _is_richer(other: Candidate, best: Candidate) -> bool:
    """Whether a candidate has a function and more coefficients than the best."""
    return bool(other.form.elements) and other.free > best.free


def _superfluous(other: Candidate, best: Candidate, chance: float) -> bool:
    """Whether a candidate is richer than the best and has no significant use for it (χ²); beside a polynomial, whose
    powers a function contains, whether it is as far behind as any term more has to be."""
    if not _is_richer(other, best):
        return False
    if not best.form.elements and other.bic - best.bic >= DECISION.min_margin:
        return True
    return bool(best.cost - other.cost < chdtri(other.free - best.free, chance))
