"""Monomial libraries Φ_D, Φ_N of the paper's Eq. (libraries), and exact polynomial arithmetic.

Two views of one thing.  A *polynomial* is a plain ``dict[exponents, coefficient]`` (exact algebra, any number
of variables); a *Library* is an ordered set of monomials with a program that evaluates all of them with one
multiplication each: ``table[k] = table[parent[k]] * x[variable[k]]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from jetode.support.arrays import FloatArray, IntArray

Exponents = tuple[int, ...]
Polynomial = dict[Exponents, float]


def graded_order(exponents: Exponents) -> tuple[int, Exponents]:
    """Total degree first, then u0 ahead of u1 ahead of u2 (1, u0, u1, u2, u0², u0u1, …)."""
    return (sum(exponents), tuple(-e for e in exponents))


def total_degree_exponents(n_variables: int, degree: int, variables: Sequence[int] | None = None) -> list[Exponents]:
    """All exponents of total degree ≤ ``degree`` in ``variables`` (default: all) out of ``n_variables``."""
    active = sorted(range(n_variables) if variables is None else set(variables))
    factors = (chosen for d in range(degree + 1) for chosen in combinations_with_replacement(active, d))
    return [tuple(map(chosen.count, range(n_variables))) for chosen in factors]


@dataclass(frozen=True)
class Library:
    """An ordered set of monomials in ``n_variables`` variables and the program that evaluates them.

    ``parent``/``variable`` describe a table closed under division (ancestors of sparse sets are added);
    ``slots[m]`` is the place of monomial ``m`` in that table.
    """

    exponents: tuple[Exponents, ...]
    n_variables: int
    parent: IntArray = field(init=False, repr=False, compare=False)
    variable: IntArray = field(init=False, repr=False, compare=False)
    slots: IntArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parent, variable, slots = monomial_program(self.exponents, self.n_variables)
        for name, array in (("parent", parent), ("variable", variable), ("slots", slots)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def total_degree(cls, n_variables: int, degree: int, variables: Sequence[int] | None = None) -> Library:
        """Every monomial of total degree ≤ ``degree`` in the chosen variables."""
        return cls(tuple(total_degree_exponents(n_variables, degree, variables)), n_variables)

    def __len__(self) -> int:
        return len(self.exponents)

    def evaluate(self, points: FloatArray) -> FloatArray:
        """Values (N, M) of all monomials at ``points`` (N, n_variables)."""
        return np.ascontiguousarray(evaluate_table(points, self.parent, self.variable)[self.slots].T)

    def gradient(self, points: FloatArray) -> FloatArray:
        """Exact partial derivatives (N, M, n_variables) of all monomials at ``points``."""
        table = gradient_table(points, self.parent, self.variable)
        return np.ascontiguousarray(np.moveaxis(table[self.slots], 2, 0))

    def polynomial(self, coefficients: Sequence[float] | FloatArray) -> Polynomial:
        """The polynomial with these coefficients; exact zeros are dropped."""
        return {e: float(c) for e, c in zip(self.exponents, coefficients, strict=True) if c != 0.0}

    def coefficients(self, polynomial: Mapping[Exponents, float]) -> FloatArray:
        """Coefficient vector of ``polynomial`` over this library (KeyError if a term is missing from it)."""
        out = np.zeros(len(self))
        for exponents, coefficient in polynomial.items():
            out[self.index[exponents]] = coefficient
        return out

    @cached_property
    def index(self) -> dict[Exponents, int]:
        """Position of each exponent tuple."""
        return {e: i for i, e in enumerate(self.exponents)}


def monomial_program(exponents: Iterable[Exponents], n_variables: int) -> tuple[IntArray, IntArray, IntArray]:
    """``(parent, variable, slots)`` of a table, closed under division, that contains all ``exponents``."""
    wanted = list(exponents)
    closed: set[Exponents] = {(0,) * n_variables}
    for e in wanted:
        while e not in closed:
            closed.add(e)
            e = _divide(e)[0]
    order = sorted(closed, key=graded_order)
    place = {e: i for i, e in enumerate(order)}
    parent = np.zeros(len(order), dtype=np.int64)
    variable = np.zeros(len(order), dtype=np.int64)
    for i, e in enumerate(order[1:], start=1):
        quotient, variable[i] = _divide(e)
        parent[i] = place[quotient]
    return parent, variable, np.array([place[e] for e in wanted], dtype=np.int64)


def _divide(exponents: Exponents) -> tuple[Exponents, int]:
    """Divide by the last variable that occurs."""
    last = max(i for i, e in enumerate(exponents) if e)
    return (*exponents[:last], exponents[last] - 1, *exponents[last + 1 :]), last


def evaluate_table(points: FloatArray, parent: IntArray, variable: IntArray) -> FloatArray:
    """The whole table at many points, one multiplication per monomial: (table length, N)."""
    x = np.ascontiguousarray(points.T)
    out = np.empty((parent.shape[0], points.shape[0]))
    out[0] = 1.0
    for k in range(1, parent.shape[0]):
        np.multiply(out[parent[k]], x[variable[k]], out=out[k])
    return out


def gradient_table(points: FloatArray, parent: IntArray, variable: IntArray) -> FloatArray:
    """Gradients of the whole table at many points, by the product rule: (table length, n_variables, N)."""
    x = np.ascontiguousarray(points.T)
    table = evaluate_table(points, parent, variable)
    out = np.zeros((parent.shape[0], points.shape[1], points.shape[0]))
    for k in range(1, parent.shape[0]):
        np.multiply(out[parent[k]], x[variable[k]], out=out[k])
        out[k, variable[k]] += table[parent[k]]
    return out


# -- exact algebra on dictionaries -------------------------------------------------------------------


def add(*terms: Mapping[Exponents, float]) -> Polynomial:
    """Sum of polynomials; terms that cancel exactly are dropped."""
    out: Polynomial = {}
    for p in terms:
        for e, c in p.items():
            out[e] = out.get(e, 0.0) + c
    return {e: c for e, c in out.items() if c != 0.0}


def scale(p: Mapping[Exponents, float], factor: float) -> Polynomial:
    """``factor · p``."""
    return {e: c * factor for e, c in p.items() if c * factor != 0.0}


def multiply(p: Mapping[Exponents, float], q: Mapping[Exponents, float]) -> Polynomial:
    """Product of two polynomials in the same variables."""
    out: Polynomial = {}
    for e, c in p.items():
        for f, d in q.items():
            g = tuple(i + j for i, j in zip(e, f, strict=True))
            out[g] = out.get(g, 0.0) + c * d
    return {e: c for e, c in out.items() if c != 0.0}


def power(p: Mapping[Exponents, float], exponent: int, n_variables: int) -> Polynomial:
    """``p`` to a non-negative integer power."""
    out: Polynomial = {(0,) * n_variables: 1.0}
    for _ in range(exponent):
        out = multiply(out, p)
    return out


def derivative(p: Mapping[Exponents, float], variable: int) -> Polynomial:
    """∂p/∂x_variable."""
    out: Polynomial = {}
    for e, c in p.items():
        if e[variable]:
            out[(*e[:variable], e[variable] - 1, *e[variable + 1 :])] = c * e[variable]
    return out


def widen(p: Mapping[Exponents, float], n_variables: int) -> Polynomial:
    """The same polynomial with further variables appended (exponent 0)."""
    return {e + (0,) * (n_variables - len(e)): c for e, c in p.items()}


def rescale(p: Mapping[Exponents, float], factors: Sequence[float]) -> Polynomial:
    """``p(factors · x)``: the polynomial after a change of units of every variable."""
    return {e: c * float(np.prod([f**k for f, k in zip(factors, e, strict=True)])) for e, c in p.items()}


def evaluate(p: Mapping[Exponents, float], points: FloatArray) -> FloatArray:
    """Values of one polynomial at ``points`` (…, n_variables)."""
    points = np.asarray(points, dtype=float)
    if not p:
        return np.zeros(points.shape[:-1])
    library = Library(tuple(p), points.shape[-1])
    flat = library.evaluate(points.reshape(-1, points.shape[-1])) @ np.array(list(p.values()))
    return flat.reshape(points.shape[:-1])


# -- as SymPy expressions and plain data ---------------------------------------------------------------


def to_sympy(p: Mapping[Exponents, float], names: Sequence[str]) -> Any:
    """SymPy expression in symbols of these names."""
    import sympy  # imported late: it costs half a second that most calls never need

    symbols = [sympy.Symbol(n) for n in names]
    terms = [
        sympy.Float(c, 17) * sympy.Mul(*(s**k for s, k in zip(symbols, e, strict=True)))
        for e, c in sorted(p.items(), key=lambda item: graded_order(item[0]))
    ]
    return sympy.Add(*terms)


def to_json(p: Mapping[Exponents, float]) -> list[dict[str, Any]]:
    """``[{"powers": [...], "coefficient": c}, …]`` in graded order."""
    return [{"powers": list(e), "coefficient": p[e]} for e in sorted(p, key=graded_order)]


def from_json(terms: Iterable[Mapping[str, Any]]) -> Polynomial:
    """Inverse of :func:`to_json`."""
    return {tuple(int(k) for k in t["powers"]): float(t["coefficient"]) for t in terms}
