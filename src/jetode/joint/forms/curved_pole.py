"""A pole on a curve (order 3): D = u1 − c(u0) with a polynomial c."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jetode.equations.polynomials import Polynomial
from jetode.joint.forms.affine_pole import tilted_poles
from jetode.joint.forms.base import Candidate, Family, Searched, Start, Step, hidden_library
from jetode.joint.forms.starts import start_through_pole
from jetode.joint.jets import Jets

HOLD = 3.0  # precision with which a curved D is held, half a std: it has to find its shape first


@dataclass(frozen=True)
class CurvedPole(Searched):
    """``a`` reduced modulo D, i.e. a function of u0."""

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """By the collapse curve of a straight D."""
        return start_through_pole(jets, self, guess)


def curved_pole(a_degree: int, curve_degree: int, degree: int) -> CurvedPole:
    """c of ``curve_degree``.  Where ``a`` had a term u0² u1, the reduction gives it c's degree + 2 and P a power of u0
    more."""
    a = tuple((k, 0) for k in range(a_degree + 1))
    big_d = ((0, 1), *((k, 0) for k in range(curve_degree, -1, -1)))
    return CurvedPole(3, (("a", a), ("D", big_d), ("P", (*hidden_library(3, degree), (degree + 1, 0, 0)))))


def curved_poles(jets: Jets) -> list[Candidate]:
    """Cubic c, starting from every other of the straight lines and free to bend."""
    form = curved_pole(5, 3, 3)
    return [replace(c, form=form, hold=HOLD, fixed=False) for c in tilted_poles(jets)[::2]]


def steps(order: int) -> tuple[Step, ...]:
    """The freest form comes last."""
    return (Step(5.0, "curved", curved_poles),) if order == 3 else ()


FAMILY = Family(steps)
