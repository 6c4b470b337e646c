"""The polynomial forms that an approximate equation may have (docs/mathematics.md §4.9), by order."""

from __future__ import annotations

from jetode.equations.polynomials import total_degree_exponents
from jetode.joint.forms.affine_pole import affine_pole, u0_poles
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.pole_free import PoleFree, candidate
from jetode.joint.jets import Jets

ODD_DEGREE = 5  # of u0 at order 2: a sine's first three terms


def planar(degree: int) -> Candidate:
    """x'' = P(x, x'): cubic in both, and higher powers of x alone."""
    powers = tuple(total_degree_exponents(2, 3)) + tuple((k, 0) for k in range(4, degree + 1))
    return Candidate(PoleFree(2, (("a", ()), ("D", ((0,),)), ("P", powers))), {(0,): 1.0})


def symmetric_pole() -> Candidate:
    """The Lorenz type with u → −u: D = u0, a odd, P even, cubic."""
    form = affine_pole(3, 0, (), 3, 3)
    odd = tuple(e for e in form["a"] if sum(e) % 2)
    even = tuple(e for e in form["P"] if sum(e[:2]) % 2 == 0)
    return Candidate(form.with_parts(a=odd, D=(form.lead,), P=even), {form.lead: 1.0})


def plain_candidates(order: int) -> list[tuple[str, Candidate]]:
    """Forms without a pole."""
    if order == 2:
        return [("order 2", planar(ODD_DEGREE))]
    if order == 3:
        cubic = ("order 3, cubic", candidate(3, 3))
        return [("order 3, quadratic", candidate(3, 2)), cubic, ("order 3, symmetric pole", symmetric_pole())]
    return [("order 4, linear", candidate(4, 1)), ("order 4, quadratic", candidate(4, 2))]


def pole_candidates(order: int, jets: Jets) -> list[tuple[str, Candidate]]:
    """Forms with a pole in u0, the Lorenz type."""
    return [("order 3, pole", c) for c in u0_poles(jets, 3, 2, 2)] if order == 3 else []
