"""A chain (order 3): u0' = f0 + c v, v' = w, w' = P(u0, v, w), with v seen through a factor that can vanish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Polynomial, evaluate
from jetode.equations.regular import RegularClosure
from jetode.equations.rows import Coupled
from jetode.joint.forms.base import Candidate, Family, Form, Searched, Start, Step, hidden_library
from jetode.joint.forms.starts import next_coordinate, regressed
from jetode.joint.jets import Jets
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class ChainSettings:
    """Where the c of a chain may vanish."""

    edge_quantile: float = 0.02  # of the smoothed record: its edge, beyond the few samples that noise has carried off
    beyond: tuple[float, ...] = (0.0, 0.03, 0.1, 0.3)  # std beyond the edge: the guesses, closer where an orbit rests
    farthest: float = 1.0  # std beyond the range of the record: with c's zero farther off, the form is u0' = u1
    square: float = 0.01  # of dimensionless coefficients: how nearly D is the square, N on it the cubic, of a chain


SETTINGS = ChainSettings()


@dataclass(frozen=True)
class Chain(Searched):
    """c affine, f0 a constant, D = 1."""

    shows_late = True
    constrainable = False

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """f0 = 0 and c as guessed: v from c v = u1, w from v'."""
        head = Coupled({}, guess)
        nothing = np.zeros(jets.u.shape[0])
        found = next_coordinate(jets, nothing, evaluate(guess, jets.u[:, :1]), jets.u[:, 1])
        return chain_start(jets, self, head, *found)

    def plausible(self, equation: Equation, jets: Jets) -> bool:
        """Whether c vanishes near the record's range: where it does not, the form is no more than u0' = u1."""
        c = equation.parts()["c"]
        p = -c.get((0,), 0.0) / c[1,]
        u0 = jets.u[:, 0]
        return bool(u0.min() - SETTINGS.farthest < p < u0.max() + SETTINGS.farthest)


def chain(degree: int, hidden: int) -> Chain:
    """P of ``degree``, at most of degree ``hidden`` in v and w together."""
    big_p = tuple(e for e in hidden_library(3, degree) if e[1] + e[2] <= hidden)
    return Chain(3, (("f0", ((0,),)), ("c", ((1,), (0,))), ("a", ()), ("D", ((0, 0),)), ("P", big_p)))


def chain_start(jets: Jets, form: Form, head: Coupled, v: FloatArray, rate: FloatArray) -> Start:
    """The start of a chain with D = 1 from v and v' at every sample: v and w at std 1, P from increments."""
    spread, top = float(np.std(v)), float(np.std(rate))
    states = np.column_stack([jets.u[:, 0], v / spread, rate / top])
    big_p = regressed(jets, states, form)
    factor = {e: x * spread for e, x in head.factor.items()}
    return Start(form.terms(RegularClosure({}, {(0, 0): top / spread}, big_p, 3, head.offset, factor)), states)


def chains(jets: Jets) -> list[Candidate]:
    """u0' = f0 + (u0 − p) v: a recurrent orbit cannot cross u0 = p, where u0' = f0, in one direction only, so that p
    lies beyond the range of the record."""
    form = chain(2, 1)
    low, high = np.quantile(jets.u[:, 0], (SETTINGS.edge_quantile, 1.0 - SETTINGS.edge_quantile))
    return [Candidate(form, {(1,): 1.0, (0,): -float(p)}) for d in SETTINGS.beyond for p in (low - d, high + d)]


def from_rational(closure: Closure, jets: Jets) -> tuple[Form, Start] | None:
    """A closure with D = (u0 − p)² as the chain u0' = f0 + (u0 − p) v, v' = w.

    On u0 = p such a closure, with P at most linear in v and w, has N = −2 u1² (u1 − f0) for D of leading coefficient 1.
    """
    powers = {e[0] for e in closure.denominator}
    if closure.order != 3 or max(powers) != 2 or any(any(e[1:]) for e in closure.denominator):
        return None
    lead, twice, square = (closure.denominator.get((k, 0, 0), 0.0) for k in (2, 1, 0))
    p = -0.5 * twice / lead
    if abs(square / lead - p**2) > SETTINGS.square:
        return None
    on_pole = np.zeros(4)
    for (i, k, m), value in closure.numerator.items():
        if m == 0 and k < 4:
            on_pole[k] += value * p**i / lead
    if abs(on_pole[3] + 2.0) > SETTINGS.square:
        return None
    head = Coupled({(0,): 0.5 * float(on_pole[2])}, {(1,): 1.0, (0,): -p})
    points = RegularClosure({}, {(0, 0): 1.0}, {}, 3, head.offset, head.factor).states(jets.u)
    if not np.isfinite(points).all():
        return None
    form = chain(2, 2)
    return form, chain_start(jets, form, head, points[:, 1], points[:, 2])


def steps(order: int) -> tuple[Step, ...]:
    """After the tilted poles, before cubic P with a pole."""
    return (Step(3.0, "chain", chains),) if order == 3 else ()


FAMILY = Family(steps, from_rational)
