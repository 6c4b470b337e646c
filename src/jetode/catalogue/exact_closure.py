"""Exact closures of known polynomial systems: the N*, D* against which the paper's coefficients are scored.

For x' = F(x) and an observable s = π(x) the jet coordinates are the Lie derivatives u_k = L_F^k π.  A closure
of order n = dim x, u_n = N/D in u_0 … u_{n−1}, is a linear relation between the monomials of N and u_n times
those of D that holds for every x.  It is found by exact linear algebra modulo primes at random states, the
degree rising from 1: the first degree with a solution has exactly one, in lowest terms.  Its rational
coefficients are checked at fresh states modulo a fresh prime.  Unlike a Gröbner basis, the cost is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jetode.catalogue.finite_field import CHECK_PRIME, PRIMES, combine, echelon, null_vector, rational
from jetode.equations.closure import Closure
from jetode.equations.expressions import ExactPolynomial
from jetode.equations.polynomials import Exponents, total_degree_exponents
from jetode.support.arrays import IntArray

MAX_COLUMNS = 700  # of the largest linear system that is tried: degree 10 in three variables, 7 in four
MAX_BRANCHES = 4  # highest degree in u_n that is looked for where there is no closure
SPARE_ROWS = 12


@dataclass(frozen=True)
class AnalyticClosure:
    """The exact closure, or None and the reason why there is none."""

    closure: Closure | None
    reason: str


def lie_derivatives(
    rows: Sequence[ExactPolynomial], observable: ExactPolynomial, count: int
) -> tuple[list[Any], list[Any]]:
    """π, L_F π, …, L_F^count π in a SymPy polynomial ring over the rationals, and the ring's variables."""
    from sympy import QQ, ring  # imported late: it costs half a second that most calls never need

    domain, *variables = ring([f"x{i}" for i in range(len(rows))], QQ)

    def element(polynomial: ExactPolynomial) -> Any:
        return domain.from_dict({e: QQ(c.numerator, c.denominator) for e, c in polynomial.items()})

    field = [element(row) for row in rows]
    out = [element(observable)]
    for _ in range(count):
        terms = [out[-1].diff(x) * f for x, f in zip(variables, field, strict=True)]
        out.append(sum(terms, domain.zero))
    return out, variables


def derive_closure(rows: Sequence[ExactPolynomial], observable: ExactPolynomial) -> AnalyticClosure:
    """The closure of order n = len(rows) of ``observable`` along x' = ``rows``."""
    n = len(rows)
    jets, variables = lie_derivatives(rows, observable, n)
    if _rank(jets[:-1], variables) < n:
        return AnalyticClosure(None, "the observable does not see the whole state: its jet coordinates depend")
    degree = 1
    while 2 * len(monomials := total_degree_exponents(n, degree)) <= MAX_COLUMNS:
        vector = _exact_null_vector(jets, monomials)
        if vector is not None:
            return AnalyticClosure(_closure(vector, monomials, n), f"found at degree {degree}")
        degree += 1
    reason = f"none found up to degree {degree - 1}"
    branches = _branches(jets, n)
    if branches is not None:
        reason += f": u{n} obeys an equation of degree {branches}, so the jet leaves it {branches} values"
    return AnalyticClosure(None, reason)


def _exact_null_vector(jets: Sequence[Any], monomials: Sequence[Exponents]) -> list[Fraction] | None:
    """The rational relation Σ a_m m(u) + u_n Σ b_m m(u) = 0 as (a, b), or None."""
    residues: list[int] = []
    modulus, place = 1, -1
    for prime in PRIMES:
        found = null_vector(_relation_matrix(jets, monomials, 1, prime), prime)
        if found is None:
            return None
        free, vector = found
        if modulus == 1:
            residues, modulus, place = [int(v) for v in vector], prime, free
        elif free == place:
            residues = combine(residues, modulus, vector, prime)
            modulus *= prime
        fractions = [rational(r, modulus) for r in residues]
        exact = [f for f in fractions if f is not None]
        if len(exact) == len(fractions) and _holds(exact, jets, monomials):
            return exact
    return None


def _holds(vector: Sequence[Fraction], jets: Sequence[Any], monomials: Sequence[Exponents]) -> bool:
    """Whether the relation vanishes at fresh states modulo a fresh prime (Schwartz–Zippel)."""
    matrix = _relation_matrix(jets, monomials, 1, CHECK_PRIME, seed=1)
    residues = np.array([_residue(f, CHECK_PRIME) for f in vector], dtype=np.int64)
    return not np.any((matrix * residues % CHECK_PRIME).sum(axis=1) % CHECK_PRIME)


def _closure(vector: Sequence[Fraction], monomials: Sequence[Exponents], n: int) -> Closure:
    """Whole coefficients without a common factor; that of u0 in D, else the last of D, is positive."""
    scale = math.lcm(*(f.denominator for f in vector))
    whole = [int(f * scale) for f in vector]
    below = dict(zip(monomials, whole[len(monomials) :], strict=True))
    sign = below[(1,) + (0,) * (n - 1)] or next(c for c in reversed(below.values()) if c)
    factor = Fraction(1 if sign > 0 else -1, math.gcd(*whole))
    above = {e: -c for e, c in zip(monomials, whole[: len(monomials)], strict=True)}
    numerator, denominator = ({e: float(c * factor) for e, c in p.items() if c} for p in (above, below))
    return Closure(numerator, denominator, n)


def _branches(jets: Sequence[Any], n: int) -> int | None:
    """Lowest degree in u_n (up to 4) of a polynomial relation between u_0 … u_n within the allowed size."""
    for branches in range(2, MAX_BRANCHES + 1):
        degree = 1
        while (branches + 1) * math.comb(n + degree + 1, n) <= MAX_COLUMNS:
            degree += 1
        matrix = _relation_matrix(jets, total_degree_exponents(n, degree), branches, PRIMES[0])
        if null_vector(matrix, PRIMES[0]) is not None:
            return branches
    return None


def _relation_matrix(
    jets: Sequence[Any], monomials: Sequence[Exponents], top: int, prime: int, seed: int = 0
) -> IntArray:
    """Rows: random states; columns: the monomials in u_0 … u_{n−1}, times 1, u_n, …, u_n^top."""
    n = len(jets) - 1
    columns = (top + 1) * len(monomials)
    states = np.random.default_rng(seed).integers(1, prime, size=(columns + SPARE_ROWS, n))
    jet = np.stack([_evaluate(u, states, prime) for u in jets], axis=1)
    base = np.stack([_evaluate({e: 1}, jet[:, :-1], prime) for e in monomials], axis=1)
    blocks = [base]
    for _ in range(top):
        blocks.append(blocks[-1] * jet[:, -1:] % prime)
    return np.concatenate(blocks, axis=1)


def _rank(jets: Sequence[Any], variables: Sequence[Any]) -> int:
    """Generic rank of ∂u/∂x."""
    prime = PRIMES[0]
    state = np.random.default_rng(0).integers(1, prime, size=(1, len(variables)))
    jacobian = [[_evaluate(u.diff(x), state, prime)[0] for x in variables] for u in jets]
    return len(echelon(np.array(jacobian, dtype=np.int64), prime)[1])


def _evaluate(polynomial: Mapping[Exponents, Any], points: IntArray, prime: int) -> IntArray:
    total = np.zeros(points.shape[0], dtype=np.int64)
    for exponents, coefficient in polynomial.items():
        term = np.full(points.shape[0], _residue(coefficient, prime), dtype=np.int64)
        for column, power in zip(points.T, exponents, strict=True):
            for _ in range(power):
                term = term * column % prime
        total = (total + term) % prime
    return total


def _residue(value: Any, prime: int) -> int:
    return int(value.numerator) * pow(int(value.denominator), -1, prime) % prime
