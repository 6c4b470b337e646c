"""No pole: D = 1, a = 0, the plain jerk equation w = u_{n−1}, w' = P."""

from __future__ import annotations

from dataclasses import dataclass

from jetode.equations.polynomials import Polynomial
from jetode.joint.forms.base import Candidate, Family, Searched, Start, Step, hidden_library
from jetode.joint.forms.starts import start_at
from jetode.joint.jets import Jets


@dataclass(frozen=True)
class PoleFree(Searched):
    """D constant."""

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """w = u_{n−1}/D."""
        return start_at(jets, self, {}, guess, jets.u[:, self.order - 1] / guess[self.lead])


def pole_free(order: int, degree: int, hidden_degree: int = 1) -> PoleFree:
    """Every monomial of P up to ``degree``, at most of ``hidden_degree`` in w."""
    constant = (0,) * (order - 1)
    return PoleFree(order, (("a", ()), ("D", (constant,)), ("P", hidden_library(order, degree, hidden_degree))))


def candidate(order: int, degree: int) -> Candidate:
    """D = 1."""
    return Candidate(pole_free(order, degree), {(0,) * (order - 1): 1.0})


def whole_plane() -> Candidate:
    """Every cubic term of the plane, also those with powers of the velocity: friction often is one."""
    return Candidate(pole_free(2, 3, 3), {(0,): 1.0})


def steps(order: int) -> tuple[Step, ...]:
    """Quadratic P first; cubic P beside the tilted poles of order 3, with those of cubic P in other orders; in a plane
    all cubic terms last, which can imitate most closed curves."""
    last = (Step(6.0, "whole plane", lambda jets: [whole_plane()], scanned=False),) if order == 2 else ()
    return (
        Step(1.0, "quadratic", lambda jets: [candidate(order, 2)], scanned=False),
        Step(2.0 if order == 3 else 4.0, "cubic", lambda jets: [candidate(order, 3)], scanned=False),
        *last,
    )


FAMILY = Family(steps)
