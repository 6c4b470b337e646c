"""From the rational closure back to a regular one: crossing conditions (docs/mathematics.md (3.6)), how N meets them.

Where N/D is smooth along trajectories that cross D = 0, N is D' (u_{n−1} − a) on the pole, and the rest of it the
image of a polynomial P.  :func:`crossing_family` spans all such N; :func:`regularise` finds the one nearest to an N.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.polynomials import (
    Exponents,
    Library,
    Polynomial,
    add,
    derivative,
    multiply,
    power,
    rescale,
    scale,
    total_degree_exponents,
    widen,
)
from jetode.equations.regular import RegularClosure
from jetode.equations.rows import leading_monomial
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class Regularisation:
    """What :func:`regularise` found: the nearest regular form and how far it is from the rational closure.

    ``misfit`` is the relative L2 distance of the numerators, in the scaled coordinates given; below a tolerance
    set by the accuracy of N, the crossing conditions (docs/mathematics.md (3.6)) hold.
    """

    regular: RegularClosure | None
    misfit: float
    reason: str


def regularise(closure: Closure, scales: Sequence[float] | FloatArray | None = None) -> Regularisation:
    """Regular form of D u_{n−1}' = N where D is constant or, in one of u0 … u_{n−2}, monic.

    On D = 0 a regular form demands N = D'·(u_{n−1} − a) + P₂ (u_{n−1} − a)², which is linear in ``a`` when P₂ (the
    part of P quadratic in w) vanishes there; then the rest of N must be D² P₀ + D P₁ (u_{n−1} − a) + P₂ (…)².  Both
    are least-squares problems on polynomial coefficients; the misfit says whether the conditions hold.
    ``scales`` are typical sizes of u0 … u_{n−1}, used to weigh coefficients (default 1).
    """
    n = closure.order
    factors = [1.0] * n if scales is None else [float(s) for s in scales]
    numerator = rescale(closure.numerator, factors)
    denominator = rescale(closure.denominator, factors)
    if any(e[-1] for e in denominator):
        return Regularisation(None, np.inf, "the denominator contains the highest derivative")
    big_d: Polynomial = {e[:-1]: c for e, c in denominator.items()}
    lead = monic_power(big_d)
    if lead is None:
        return Regularisation(None, np.inf, "the denominator is not monic in any coordinate")
    norm = big_d[lead]
    big_d = scale(big_d, 1.0 / norm)
    numerator = scale(numerator, 1.0 / (norm * factors[-1]))
    # In scaled coordinates the chain reads ũ_i' = (s_{i+1}/s_i) ũ_{i+1}, and D ũ_{n−1}' = N / s_{n−1}.
    rates = [factors[i + 1] / factors[i] for i in range(n - 1)]
    if sum(lead) == 0:
        scaled = RegularClosure({}, {lead: 1.0}, numerator, n)
        return Regularisation(_unscale(scaled, factors), 0.0, "the denominator is constant")
    a = _pole_curve(numerator, big_d, lead, rates, n)
    regular, misfit = _match(numerator, big_d, a, rates, n)
    return Regularisation(_unscale(regular, factors), misfit, "the denominator is monic")


def monic_power(big_d: Polynomial) -> Exponents | None:
    """The power u_k^m of D, of lowest m, that no other monomial of D reaches in u_k; all zeros for a constant D.
    Among affine coordinates the last."""
    if all(not any(e) for e in big_d):
        return leading_monomial(big_d)
    found: list[Exponents] = []
    for k in range(len(next(iter(big_d)))):
        m = max(e[k] for e in big_d)
        tops = [e for e in big_d if m and e[k] == m]
        if len(tops) == 1 and sum(tops[0]) == m:
            found.append(tops[0])
    return min(found, key=lambda e: (sum(e), e), default=None)


def _unscale(regular: RegularClosure, factors: Sequence[float]) -> RegularClosure:
    """From ũ_i = u_i/s_i back to u_i, with u_{n−1} = a + D w kept (w in units of u_{n−1}), then canonical."""
    n = regular.order
    inverse = [1.0 / f for f in factors]
    top = factors[-1]
    return RegularClosure(
        scale(rescale(regular.a, inverse[:-1]), top),
        scale(rescale(regular.D, inverse[:-1]), top),
        rescale(regular.P, [*inverse[:-1], 1.0]),
        n,
    ).canonical()


def _flow(polynomial: Polynomial, rates: Sequence[float], n: int) -> Polynomial:
    """d/dt of a polynomial in u0 … u_{n−2} along the scaled chain."""
    parts = []
    for i, rate in enumerate(rates):
        following: Polynomial = {tuple(int(j == i + 1) for j in range(n)): rate}
        parts.append(multiply(derivative(widen(polynomial, n), i), following))
    return add(*parts)


def _on_pole(polynomial: Polynomial, big_d: Polynomial, lead: Exponents, n: int) -> Polynomial:
    """The remainder modulo D: u_k^m is replaced by −(D − u_k^m) until no power ≥ m of u_k is left."""
    (variable,) = np.flatnonzero(lead)
    m = lead[variable]
    substitute = widen(scale({e: c for e, c in big_d.items() if e != lead}, -1.0), n)
    rest = dict(polynomial)
    while high := [e for e in rest if e[variable] >= m]:
        out: Polynomial = {e: c for e, c in rest.items() if e[variable] < m}
        for e in high:
            left = e[variable] % m
            monomial: Polynomial = {(*e[:variable], left, *e[variable + 1 :]): rest[e]}
            out = add(out, multiply(monomial, power(substitute, e[variable] // m, n)))
        rest = out
    return rest


def _solve_polynomials(columns: list[Polynomial], target: Polynomial) -> tuple[FloatArray, float]:
    """Least squares over polynomial coefficients: (solution, residual norm)."""
    support = sorted({e for p in (*columns, target) for e in p})
    place = {e: i for i, e in enumerate(support)}
    matrix = np.zeros((len(support), len(columns)))
    for j, p in enumerate(columns):
        for e, c in p.items():
            matrix[place[e], j] = c
    rhs = np.zeros(len(support))
    for e, c in target.items():
        rhs[place[e]] = c
    solution: FloatArray = np.asarray(np.linalg.lstsq(matrix, rhs, rcond=1e-12)[0], dtype=np.float64)
    return solution, float(np.linalg.norm(matrix @ solution - rhs))


def _pole_curve(
    numerator: Polynomial, big_d: Polynomial, lead: Exponents, rates: Sequence[float], n: int
) -> Polynomial:
    """``a`` modulo D from N = D' (u_{n−1} − a) modulo D, fitted over polynomials not divisible by the lead."""
    degree = max(sum(e) for e in numerator)
    (variable,) = np.flatnonzero(lead)
    every = total_degree_exponents(n, max(degree - 1, 1), range(n - 1))
    candidates = [e[: n - 1] for e in every if e[variable] < lead[variable]]
    top: Polynomial = {(0,) * (n - 1) + (1,): 1.0}
    slope = _on_pole(_flow(big_d, rates, n), big_d, lead, n)
    target = add(_on_pole(numerator, big_d, lead, n), scale(multiply(slope, top), -1.0))
    columns = [scale(_on_pole(multiply(slope, widen({e: 1.0}, n)), big_d, lead, n), -1.0) for e in candidates]
    solution, _ = _solve_polynomials(columns, target)
    return Library(tuple(candidates), n - 1).polynomial(solution)


def crossing_family(
    big_d: Polynomial,
    a: Polynomial,
    rates: Sequence[float],
    degree: int,
    n: int,
    a_degree: int = 1,
    hidden_degree: int = 2,
) -> tuple[Polynomial, list[Exponents], list[Polynomial]]:
    """All numerators that cross D = 0 smoothly (docs/mathematics.md (3.7)): N = known + Σ_j P_j column_j.

    known = D a' + D' (u_{n−1} − a); a term u^β w^m of P adds u^β D^(2−m) (u_{n−1} − a)^m, up to total ``degree`` with
    ``a`` counted as of degree ``a_degree`` and m ≤ ``hidden_degree``.
    """
    top: Polynomial = {(0,) * (n - 1) + (1,): 1.0}
    d_full = widen(big_d, n)
    above = add(top, scale(widen(a, n), -1.0))
    known = add(multiply(d_full, _flow(a, rates, n)), multiply(_flow(big_d, rates, n), above))
    d_degree = max(sum(e) for e in big_d)
    exponents: list[Exponents] = []
    columns: list[Polynomial] = []
    for m in range(hidden_degree + 1):
        factor = multiply(power(d_full, 2 - m, n), power(above, m, n))
        for e in total_degree_exponents(n, max(degree - 1, 1), range(n - 1)):
            if sum(e) + (2 - m) * d_degree + m * max(1, a_degree) <= degree:
                exponents.append((*e[:-1], m))
                columns.append(multiply(factor, {e: 1.0}))
    return known, exponents, columns


def _match(
    numerator: Polynomial, big_d: Polynomial, a: Polynomial, rates: Sequence[float], n: int
) -> tuple[RegularClosure, float]:
    """P from the member of the crossing family nearest to N, and the relative misfit."""
    known, exponents, columns = crossing_family(big_d, a, rates, max(sum(e) for e in numerator), n)
    target = add(numerator, scale(known, -1.0))
    solution, residual = _solve_polynomials(columns, target)  # terms no column has, such as u_{n−1}³, stay in it
    size = float(np.linalg.norm(list(numerator.values())))
    big_p = Library(tuple(exponents), n).polynomial(solution)
    return RegularClosure(a, big_d, big_p, n), residual / size
