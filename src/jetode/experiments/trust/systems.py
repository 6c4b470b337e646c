"""Systems drawn by a seed: bounded polynomial flows in three coordinates that never come to rest (docs/trust.md).

*Jerk* flows u0' = u1, u1' = u2, u2' = P, P a few linear terms and one or two products; *triads* x' = L x + c + Q(x, x)
with Q energy-preserving (x·Q = 0) and L damping, which stay bounded by construction, with cubic damping in some.  A
draw is taken where a run neither leaves nor settles; its largest Lyapunov exponent says whether it is chaotic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from jetode.catalogue.exact_closure import derive_closure
from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents, Polynomial, add, derivative, evaluate, multiply
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.integration.dop853 import Integration, Stop, integrate
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.support.arrays import FloatArray

Rows = tuple[Polynomial, ...]
LINEAR: tuple[Exponents, ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
ONE: Exponents = (0, 0, 0)
DIGITS = 6  # of coefficients, which are sums of numbers with two
ROUNDING = 1e-9  # of coefficients of order 1


@dataclass(frozen=True)
class DrawSettings:
    """Which draws are taken; times in the flow's own unit, in which its coefficients are of order 1."""

    tries: int = 20_000  # draws before a seed is given up: some hundreds do on average
    look: float = 60.0  # first look: most draws have left or come to rest by then
    settled: float = 300.0  # transient before anything is measured
    watched: float = 300.0  # run whose second half must still move
    step: float = 0.05  # of these runs
    bound: float = 60.0  # a coordinate beyond has left
    moves: float = 0.05  # std of the second half of a run, in units of which coefficients are of order 1
    steady: float = 0.5  # std of the last third over that of the first: less is coming to rest
    crossings: int = 8  # of the mean: fewer are no oscillation
    glance: float = 150.0  # tc of a first look at the exponent: nine in ten draws that move are regular, told by then
    followed: float = 1500.0  # tc of the exponent itself
    chaotic: float = 0.01  # largest exponent × tc of a chaotic flow, twice its typical standard error
    regular_share: float = 0.1  # of draws that oscillate regularly and are taken all the same: they are easy to imitate
    triads: float = 0.5  # share of triads among the draws
    cubic: float = 0.4  # share of flows with a cubic term


SETTINGS = DrawSettings()


@dataclass(frozen=True)
class Flow:
    """x' = ``rows``(x), a state on its attractor, its largest exponent, and what it was drawn as."""

    rows: Rows
    state: tuple[float, ...]
    lyapunov: float
    chaotic: bool
    kind: str

    def run(self, start: FloatArray, count: int, dt: float) -> Integration:
        """A tight run."""
        control = {"rtol": 1e-11, "atol": 1e-11, "max_steps": 1000 * count + 10**6}
        return integrate(Field.polynomial(list(self.rows)), start, count, dt, **control)

    def jets(self, coordinate: int, order: int) -> tuple[Polynomial, ...]:
        """x_i and its first ``order`` derivatives along the flow, as polynomials of the state."""
        powers = tuple(int(k == coordinate) for k in range(3))
        found: list[Polynomial] = [{powers: 1.0}]
        for _ in range(order):
            found.append(add(*(multiply(derivative(found[-1], k), row) for k, row in enumerate(self.rows))))
        return tuple(found)

    def regular(self, coordinate: int) -> RegularClosure | None:
        """The exact regular closure (3.1) of x_i, or None where it has none of order 3."""
        rows = [{e: Fraction(str(round(c, DIGITS))) for e, c in row.items()} for row in self.rows]
        exact = derive_closure(rows, {LINEAR[coordinate]: Fraction(1)}).closure
        found = None if exact is None else regularise(exact)
        if found is None or found.regular is None or found.misfit > ROUNDING:
            return None
        parts = (found.regular.a, found.regular.D, found.regular.P)
        a, big_d, big_p = ({e: c for e, c in part.items() if abs(c) > ROUNDING} for part in parts)
        return RegularClosure(a, big_d, big_p, len(rows))

    def jet_values(self, coordinate: int, order: int, states: FloatArray) -> FloatArray:
        """(N, order + 1) values of them."""
        return np.column_stack([evaluate(p, states) for p in self.jets(coordinate, order)])


def draw(seed: int, settings: DrawSettings = SETTINGS) -> Flow | None:
    """The flow of a seed; None where none of its draws is taken."""
    rng = np.random.default_rng([seed, 1])
    periodic_too = bool(rng.uniform() < settings.regular_share)
    make, kind = (_triad, "triad") if rng.uniform() < settings.triads else (_jerk, "jerk")
    for _ in range(settings.tries):
        flow = _taken(make(rng, settings), rng, kind, periodic_too, settings)
        if flow is not None:
            return flow
    return None


def _size(rng: np.random.Generator) -> float:
    """A coefficient of order 1, two digits."""
    return float(np.round(rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 3.0), 2))


def _jerk(rng: np.random.Generator, settings: DrawSettings) -> Rows:
    """u2' = −α u2 ± linear terms + one or two products: the kind in which simple chaos was first searched for."""
    degree = 3 if rng.uniform() < settings.cubic else 2
    products = [e for e in _monomials(degree) if sum(e) >= 2 and e[2] <= 1]
    law: Polynomial = {(0, 0, 1): -float(np.round(rng.uniform(0.1, 2.5), 2))}
    for term in ((1, 0, 0), (0, 1, 0)):
        law[term] = _size(rng)
    if degree == 2 and rng.uniform() < 0.5:
        law[ONE] = _size(rng)
    for k in rng.choice(len(products), int(rng.integers(1, 3)), replace=False):
        law[products[k]] = _size(rng)
    return {(0, 1, 0): 1.0}, {(0, 0, 1): 1.0}, law


def _triad(rng: np.random.Generator, settings: DrawSettings) -> Rows:
    """Damped, driven, coupled by energy-preserving products, as Lorenz's system is."""
    rows: list[Polynomial] = [{LINEAR[i]: -float(np.round(rng.uniform(0.1, 2.0), 2))} for i in range(3)]
    forced = int(rng.integers(3))
    rows[forced][ONE] = 5.0 * _size(rng)
    i, j = (int(k) for k in rng.choice(3, 2, replace=False))
    turn = 2.0 * _size(rng)  # an antisymmetric coupling keeps energy
    rows[i][LINEAR[j]], rows[j][LINEAR[i]] = turn, -turn
    for a, b in _products(rng):
        c = _size(rng)  # c x_a² x_b in x·Q, taken from b's row and given to a's
        rows[a] = add(rows[a], {_pair(a, b): c})
        rows[b] = add(rows[b], {_pair(a, a): -c})
    if rng.uniform() < settings.cubic:
        k = int(rng.integers(3))
        rows[k] = add(rows[k], {_pair(k, k, k): -float(np.round(rng.uniform(0.02, 0.2), 2))})
    else:
        c, d = _size(rng), _size(rng)
        rows = [add(row, {_others(k): v}) for k, (row, v) in enumerate(zip(rows, (c, d, -c - d), strict=True))]
    return tuple(rows)


def _products(rng: np.random.Generator) -> list[tuple[int, int]]:
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    return [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(1, 3)), replace=False)]


def _pair(*factors: int) -> Exponents:
    return tuple(factors.count(k) for k in range(3))


def _others(k: int) -> Exponents:
    return tuple(int(i != k) for i in range(3))


def _monomials(degree: int) -> list[Exponents]:
    every = range(degree + 1)
    return [(a, b, c) for a in every for b in every for c in every if a + b + c <= degree]


def _taken(rows: Rows, rng: np.random.Generator, kind: str, periodic_too: bool, settings: DrawSettings) -> Flow | None:
    """The flow where it stays, moves and is chaotic (or ``periodic_too``), else None."""
    field = Field.polynomial(list(rows))
    control = {"rtol": 1e-7, "atol": 1e-7, "bound": settings.bound, "max_steps": 40_000}
    first = integrate(field, rng.uniform(-1.0, 1.0, 3), round(settings.look / settings.step), settings.step, **control)
    if first.stop is not Stop.COMPLETED or np.ptp(first.states[-200:], axis=0).max() < settings.moves:
        return None
    more = integrate(field, first.states[-1], 2, settings.settled, **control)
    if more.stop is not Stop.COMPLETED:
        return None
    run = integrate(field, more.states[-1], round(settings.watched / settings.step), settings.step, **control)
    if run.stop is not Stop.COMPLETED or not all(_moves(x, settings) for x in run.states.T):
        return None
    tc = min(time_scale(x, settings.step) for x in run.states.T)
    if not periodic_too and not _exponent(field, run.states[-1], tc, settings.glance)[0] * tc > settings.chaotic:
        return None
    value, error = _exponent(field, run.states[-1], tc, settings.followed)
    chaotic = value * tc > settings.chaotic and value > 4.0 * error
    if not isfinite(value) or not (chaotic or periodic_too):
        return None
    return Flow(rows, tuple(float(v) for v in run.states[-1]), value, chaotic, kind)


def _exponent(field: Field, state: FloatArray, tc: float, length: float) -> tuple[float, float]:
    """The largest Lyapunov exponent over ``length`` tc, with its standard error."""
    found = lyapunov_spectrum(field, state, length * tc, tc / 20.0, count=1)
    return float(found.exponents[0]), float(found.standard_errors[0])


def _moves(x: FloatArray, settings: DrawSettings) -> bool:
    """Whether a coordinate goes on oscillating."""
    third = x.size // 3
    spread = float(np.std(x))
    crossings = np.count_nonzero(np.diff(np.sign(x - x.mean())))
    steady = np.std(x[-third:]) > settings.steady * np.std(x[:third])
    return bool(spread > settings.moves and steady and crossings >= settings.crossings)


def time_scale(x: FloatArray, dt: float) -> float:
    """tc = std(u0)/std(u1)."""
    return float(np.std(x) / np.std(np.gradient(x, dt)))
