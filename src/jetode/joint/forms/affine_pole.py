"""A pole on a hyperplane: D = u_lead + Σ c_i u_i − p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.equations.polynomials import Polynomial, total_degree_exponents
from jetode.joint.forms.base import Candidate, Family, Searched, Start, Step, hidden_library
from jetode.joint.forms.starts import start_through_pole
from jetode.joint.jets import Jets
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class PoleGrid:
    """Where poles are looked for."""

    along_u0: int = 11  # guesses along u0: the pole is a twentieth of the samples from one at most
    along_tilted: int = 7  # and along each tilted direction, of which there are many
    tilts: tuple[float, ...] = (30.0, 60.0, 90.0, 120.0, 150.0)  # degrees, of D's gradient from u0 to u1
    ends: tuple[float, float] = (0.02, 0.98)  # quantiles: a pole at the very edge is seen by too few samples


GRID = PoleGrid()


@dataclass(frozen=True)
class AffinePole(Searched):
    """D affine; ``a`` reduced modulo D, i.e. free of u_lead."""

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """By the collapse curve."""
        return start_through_pole(jets, self, guess)


def affine_pole(order: int, lead: int, others: Sequence[int], a_degree: int, degree: int) -> AffinePole:
    """D = u_lead + Σ c_i u_i − p over ``others``; ``a`` up to ``a_degree``, P up to ``degree``."""
    n = order - 1
    unit = [tuple(int(i == j) for i in range(n)) for j in range(n)]
    rest = [i for i in range(n) if i != lead]
    a = tuple(total_degree_exponents(n, a_degree, rest))
    big_d = (unit[lead], *(unit[i] for i in others), (0,) * n)
    return AffinePole(order, (("a", a), ("D", big_d), ("P", hidden_library(order, degree))))


def pole_quantiles(values: FloatArray, count: int) -> FloatArray:
    """Candidate poles: quantiles of the coordinate, so that the record comes near each of them."""
    return np.quantile(values, np.linspace(*GRID.ends, count))


def u0_poles(jets: Jets, order: int, a_degree: int, degree: int) -> list[Candidate]:
    """D = u0 − p for candidate poles p."""
    form = affine_pole(order, 0, (), a_degree, degree)
    return [_candidate(form, 0, p) for p in pole_quantiles(jets.u[:, 0], GRID.along_u0)]


def u1_poles(jets: Jets, order: int) -> list[Candidate]:
    """D = u1 − p with linear a: what is recorded follows the coordinate whose product with a hidden one acts."""
    form = affine_pole(order, 1, (), 1, 2)
    return [_candidate(form, 1, p) for p in pole_quantiles(jets.u[:, 1], GRID.along_tilted)]


def _candidate(form: AffinePole, lead: int, p: float) -> Candidate:
    """D = u_lead − p."""
    unit = tuple(int(i == lead) for i in range(form.order - 1))
    return Candidate(form, {unit: 1.0, (0,) * (form.order - 1): -float(p)})


def tilted_poles(jets: Jets) -> list[Candidate]:
    """Order 3, D = u1 + c u0 − p over directions and quantiles."""
    form = affine_pole(3, 1, (0,), 3, 2)
    out = []
    for angle in GRID.tilts:
        tilt = 1.0 / np.tan(np.radians(angle))
        for p in pole_quantiles(jets.u[:, 1] + tilt * jets.u[:, 0], GRID.along_tilted):
            out.append(Candidate(form, {(0, 1): 1.0, (1, 0): float(tilt), (0, 0): -float(p)}))
    return out


def steps(order: int) -> tuple[Step, ...]:
    """A pole in u0, from order 4 on also in u1, with quadratic P; tilted poles (order 3); a pole in u0 with cubic P."""
    quadratic = Step(1.0, "quadratic", lambda jets: u0_poles(jets, order, 2, 2))
    cubic = Step(4.0, "cubic", lambda jets: u0_poles(jets, order, 3, 3))
    if order == 3:
        return quadratic, Step(2.0, "tilted", tilted_poles), cubic
    in_u1 = (Step(1.0, "quadratic", lambda jets: u1_poles(jets, order)),) if order > 3 else ()
    return quadratic, *in_u1, cubic


FAMILY = Family(steps)
