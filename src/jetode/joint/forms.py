"""Forms of the regular closure and where the joint fit of each begins (docs/mathematics.md §3 collapse, §4 start).

A *form* says which monomials a, D and P may have.  From smoothed jets and a guess of D, the start is linear algebra:
``a`` from the collapse curve (on D = 0 the attractor is u_{n−1} = a), the hidden coordinate ``w`` from
D w = u_{n−1} − a by a solve penalised on its second difference (so that it passes smoothly through the pole), and P
from the increments of w over short windows.  All arrays are dimensionless: u/std, t/tc.

In a chain (:mod:`jetode.equations.regular`) the same solve gives v from c v = u1 − f0, and w from v'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg import solveh_banded

from jetode.equations.polynomials import Exponents, Library, Polynomial, evaluate, total_degree_exponents
from jetode.equations.regular import RegularClosure
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray, FloatArray

COLLAPSE_WIDTH = 0.15  # of the std of D: samples nearer to the pole than this shape the collapse curve
HIDDEN_STIFFNESS = 3e-4  # weight of (d²w/dτ²)² against the misfit of D w, both dimensionless
RIDGE = 1e-4  # precision of the prior θ ~ 0 on every dimensionless coefficient
POLE_HOLD = 100.0  # see Form.terms: a tenth of a std
EDGE = 0.5  # of the rms of c: nearer to its zero u1 says little on v
WINDOW = 0.25  # tc: length of the windows over which increments of w are regressed


@dataclass(frozen=True)
class Form:
    """Monomials allowed in a and D (over u0 … u_{n−2}) and P (over u0 … u_{n−2}, w); ``lead`` is D's fixed one.

    A chain has monomials of f0 and c (over u0), the first of ``c`` fixed.  Terms, as (part, exponents), can be
    ``required``, or ``fixed`` at a value that holds for D's leading coefficient 1.  ``reach`` is by how much u0 exceeds
    its std: written around a far origin, a coefficient is larger by that much per power that its term lacks.
    """

    order: int
    lead: Exponents
    denominator: tuple[Exponents, ...]
    a: tuple[Exponents, ...]
    big_p: tuple[Exponents, ...]
    required: frozenset[tuple[str, Exponents]] = frozenset()
    fixed: tuple[tuple[tuple[str, Exponents], float], ...] = ()
    f0: tuple[Exponents, ...] = ()
    c: tuple[Exponents, ...] = ()
    reach: float = 1.0

    @property
    def has_pole(self) -> bool:
        """Whether D can vanish."""
        return any(self.lead)

    @property
    def is_chain(self) -> bool:
        """Whether the second coordinate is v with u0' = f0 + c v."""
        return bool(self.c)

    def terms(self, regular: RegularClosure, pole_hold: float = 0.0) -> Terms:
        """The vector field with the coefficients of ``regular`` (0 where it has none); the leads of D and c are fixed.

        ``pole_hold`` is the precision with which the other coefficients of D and c, relative to the lead, are held
        where they are: with every term in the library and q still large, the pole would run away.
        """
        lead = regular.D.get(self.lead, 1.0)
        known = {term: value * _hidden_factor(term, lead) for term, value in self.fixed}
        listed = [("f0", e, regular.f0) for e in self.f0] + [("c", e, regular.c) for e in self.c]
        listed += [("a", e, regular.a) for e in self.a]
        listed += [("D", e, regular.D) for e in (self.lead, *self.denominator)]
        listed += [("P", e, regular.P) for e in self.big_p]
        leads = {"D": self.lead, "c": self.c[0] if self.c else ()}
        keys = [(part, e) for part, e, _ in listed]
        values = [known.get((part, e), polynomial.get(e, 0.0)) for part, e, polynomial in listed]
        size = {part: values[keys.index((part, e))] for part, e in leads.items() if e}
        terms = field_terms(keys, values, self.order, self.order - 2 if not self.c else 0)
        free = np.array([(part, e) not in known and leads.get(part) != e for part, e in keys])
        mean = np.zeros(len(keys))
        degrees = {part: max(sum(e) for name, e in keys if name == part) for part, _ in keys}
        precision = np.array([RIDGE / self.reach ** (2 * (degrees[part] - sum(e))) for part, e in keys])
        for j, (part, e) in enumerate(keys):
            if pole_hold and part in size and e != leads[part]:
                mean[j], precision[j] = values[j], pole_hold / size[part] ** 2
        return replace(terms, free=free, mean=mean, precision=precision)

    def protected(self, terms: Terms) -> BoolArray:
        """Marks the terms that elimination must keep: the pole's constant and what the user requires."""
        return is_pole_constant(terms) | np.array([term in self.required for term in named(terms)])


def field_terms(keys: Sequence[tuple[str, Exponents]], values: Sequence[float], order: int, chain: int) -> Terms:
    """Terms (part, exponents) of a regular closure with these coefficients as a vector field, none of them free."""
    rows = {"f0": 0, "c": 0, "a": order - 2, "D": order - 2, "P": order - 1}
    after = {"c": (1,), "D": (1,)}  # c multiplies v, D multiplies w: the coordinate after their own
    exponents = [(*e, *after.get(part, ()), *(0,) * (order - len(e) - len(after.get(part, ())))) for part, e in keys]
    count = len(exponents)
    return Terms(
        order, chain, np.array([rows[part] for part, _ in keys], np.int64), tuple(exponents), np.array(values),
        np.zeros(count, dtype=bool), np.zeros(count), np.zeros(count),
    )  # fmt: skip


def named(terms: Terms) -> list[tuple[str, Exponents]]:
    """Part of the regular closure and exponents of every term of a vector field of its shape."""
    n = terms.dimension
    out = []
    for row, e in zip(terms.rows.tolist(), terms.exponents, strict=True):
        if row == n - 1:
            out.append(("P", e))
        elif row == n - 2:
            out.append(("D" if e[-1] else "a", e[:-1]))
        else:
            out.append(("c" if e[1] else "f0", e[:1]))
    return out


def _hidden_factor(term: tuple[str, Exponents], lead: float) -> float:
    """How a coefficient changes when D's leading coefficient becomes ``lead``, i.e. w is divided by it."""
    part, e = term
    return {"a": 1.0, "D": lead, "P": lead ** (e[-1] - 1)}[part]


def regular_of(terms: Terms) -> RegularClosure:
    """The regular closure a vector field of this shape stands for."""
    parts: dict[str, Polynomial] = {"a": {}, "D": {}, "P": {}, "f0": {}, "c": {}}
    for (part, e), c in zip(named(terms), terms.coefficients.tolist(), strict=True):
        parts[part][e] = c
    if not parts["c"]:
        del parts["f0"], parts["c"]
    return RegularClosure(order=terms.dimension, **parts)


def is_denominator(terms: Terms) -> BoolArray:
    """Marks the terms of the field that belong to D, or to the c of a chain."""
    return np.array([part in ("D", "c") for part, _ in named(terms)])


def is_pole_constant(terms: Terms) -> BoolArray:
    """Marks the constant of a D or c that can vanish: the pole is a parameter, not a term that could be removed."""
    constant = np.array([part in ("D", "c") and not any(e) for part, e in named(terms)])
    return constant & terms.free


def hidden_library(order: int, degree: int, hidden_degree: int = 1) -> tuple[Exponents, ...]:
    """Monomials of total degree ≤ ``degree`` that are at most of ``hidden_degree`` in w."""
    return tuple(e for e in total_degree_exponents(order, degree) if e[-1] <= hidden_degree)


def pole_free(order: int, degree: int, hidden_degree: int = 1) -> Form:
    """D = 1, a = 0: the plain jerk equation w = u_{n−1}, w' = P."""
    return Form(order, (0,) * (order - 1), (), (), hidden_library(order, degree, hidden_degree))


def affine_pole(order: int, lead: int, others: Sequence[int], a_degree: int, degree: int) -> Form:
    """D = u_lead + Σ c_i u_i − p; ``a`` reduced modulo D, i.e. free of u_lead."""
    n = order - 1
    unit = [tuple(int(i == j) for i in range(n)) for j in range(n)]
    rest = [i for i in range(n) if i != lead]
    return Form(
        order,
        unit[lead],
        (*(unit[i] for i in others), (0,) * n),
        tuple(total_degree_exponents(n, a_degree, rest)),
        hidden_library(order, degree),
    )


def curved_pole(a_degree: int, curve_degree: int, degree: int) -> Form:
    """Order 3, D = u1 − c(u0) with a polynomial c, ``a`` reduced modulo D, i.e. a function of u0.

    Where ``a`` had a term u0² u1, the reduction gives it c's degree + 2 and P a power of u0 more.
    """
    return Form(
        3,
        (0, 1),
        tuple((k, 0) for k in range(curve_degree, -1, -1)),
        tuple((k, 0) for k in range(a_degree + 1)),
        (*hidden_library(3, degree), (degree + 1, 0, 0)),
    )


def chain(degree: int, hidden: int) -> Form:
    """Order 3, u0' = f0 + c v with c affine and f0 a constant, v' = w, and P at most of degree ``hidden`` in v and w
    together."""
    big_p = tuple(e for e in hidden_library(3, degree) if e[1] + e[2] <= hidden)
    return Form(3, (0, 0), (), (), big_p, f0=((0,),), c=((1,), (0,)))


@dataclass(frozen=True)
class Jets:
    """Smoothed jets (N, n) of one or several records, dimensionless; ``lengths`` are the records' sample counts,
    ``spacing`` the sampling interval in tc, ``trim`` the samples at each end where the spline is poor."""

    u: FloatArray
    lengths: tuple[int, ...]
    spacing: float
    trim: int

    def pieces(self) -> list[slice]:
        """One slice per record."""
        ends = np.cumsum((0, *self.lengths))
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def head(self, samples: int) -> Jets:
        """The first records up to about ``samples`` samples in all."""
        lengths: list[int] = []
        for n in self.lengths:
            take = min(n, samples - sum(lengths))
            if take < min(n, 4 * self.trim + 2) and lengths:  # a piece that is there in full counts, however short
                break
            lengths.append(take)
            if take < n:
                break
        return Jets(self.u[: sum(lengths)], tuple(lengths), self.spacing, self.trim)


@dataclass(frozen=True)
class Start:
    """A form's start: the field with its first coefficients, states at every sample, and the collapse quality
    (share of the variance of u_{n−1} near the pole that the curve leaves unexplained)."""

    terms: Terms
    states: FloatArray
    collapse: float


def collapse_curve(jets: Jets, big_d: FloatArray, form: Form) -> tuple[Polynomial, float]:
    """``a`` by weighted regression of u_{n−1} on the monomials of ``form.a`` near D = 0, and what it leaves."""
    n = form.order
    spread = float(np.std(big_d))
    near = np.exp(-0.5 * (big_d / (COLLAPSE_WIDTH * spread)) ** 2)
    library = Library(form.a, n - 1)
    matrix = library.evaluate(jets.u[:, : n - 1]) * near[:, None]
    target = jets.u[:, n - 1] * near
    ridge = 1e-3 * np.sqrt(np.sum(near**2)) + 1e-12
    solution = np.linalg.lstsq(
        np.vstack([matrix, ridge * np.eye(len(library))]), np.concatenate([target, np.zeros(len(library))])
    )[0]
    total = float(np.sum(target**2))
    left = float(np.sum((target - matrix @ solution) ** 2))
    return library.polynomial(solution), left / total if total > 0 else 1.0


def smooth_hidden(jets: Jets, big_d: FloatArray, target: FloatArray, stiffness: float = HIDDEN_STIFFNESS) -> FloatArray:
    """w that minimises Σ (D w − target)² + stiffness Σ (d²w/dτ²)², record by record."""
    out = np.empty_like(target)
    weight = stiffness / jets.spacing**4
    for piece in jets.pieces():
        n = piece.stop - piece.start
        diagonal = np.full(n, 6.0)
        diagonal[[0, -1]] = 1.0
        diagonal[[1, -2]] = 5.0
        off = np.full(n - 1, -4.0)
        off[[0, -1]] = -2.0
        band = np.zeros((3, n))
        band[2] = big_d[piece] ** 2 + weight * diagonal + 1e-9 * weight
        band[1, 1:] = weight * off
        band[0, 2:] = weight
        out[piece] = solveh_banded(band, big_d[piece] * target[piece])
    return out


def regress_increments(jets: Jets, states: FloatArray, library: Library, reach: float = 1.0) -> FloatArray:
    """Coefficients of w' = P from w(τ + window) − w(τ) = Σ c ∫ monomial dτ (trapezoid), damped lightly: the farther
    the record lies from 0 (``reach``), the more its powers resemble each other."""
    step = max(1, round(WINDOW / jets.spacing))
    rows: list[FloatArray] = []
    targets: list[FloatArray] = []
    for piece in jets.pieces():
        inner = slice(piece.start + jets.trim, piece.stop - jets.trim)
        values = library.evaluate(states[inner])
        if values.shape[0] <= step:
            continue
        integral = np.vstack(
            [np.zeros(len(library)), np.cumsum(0.5 * (values[1:] + values[:-1]) * jets.spacing, axis=0)]
        )
        rows.append(integral[step:] - integral[:-step])
        targets.append(states[inner, -1][step:] - states[inner, -1][:-step])
    matrix = np.vstack(rows)
    size = np.linalg.norm(matrix, axis=0) + 1e-300
    damped = np.vstack([matrix / size, 1e-3 / reach**2 * np.eye(len(library))])
    rhs = np.concatenate([*targets, np.zeros(len(library))])
    gram = damped.T @ damped
    return np.linalg.solve(gram, damped.T @ rhs) / size


def chain_second(jets: Jets, f0: Polynomial, c: Polynomial) -> tuple[FloatArray, FloatArray]:
    """v and v' of a chain from c v = u1 − f0.  Near c = 0, where an orbit can rest for long, errors of u0, c and f0
    weigh more than v: there its smoothness decides."""
    u0 = jets.u[:, :1]
    factor = evaluate(c, u0)
    trust = factor**2 / (factor**2 + EDGE**2 * np.mean(factor**2))
    v = smooth_hidden(jets, trust * factor, trust * (jets.u[:, 1] - evaluate(f0, u0)))
    return v, np.concatenate([np.gradient(v[piece], jets.spacing) for piece in jets.pieces()])


def regular_states(jets: Jets, regular: RegularClosure) -> FloatArray:
    """States at every sample from the jets, the hidden coordinates by the penalised solve."""
    lower, top = jets.u[:, : regular.order - 1], jets.u[:, regular.order - 1]
    if regular.is_chain:
        v, top = chain_second(jets, regular.f0, regular.c)
        lower = np.column_stack([jets.u[:, 0], v])
    big_d, target = evaluate(regular.D, lower), top - evaluate(regular.a, lower)
    w = target / big_d if regular.pole_factor() is None else smooth_hidden(jets, big_d, target)
    return np.column_stack([lower, w])


def chain_start(
    jets: Jets, form: Form, v: FloatArray, rate: FloatArray, f0: Polynomial, c: Polynomial
) -> tuple[Terms, FloatArray]:
    """Terms and states of a chain with D = 1 from v and v' at every sample: v and w at std 1, P from increments."""
    spread, top = float(np.std(v)), float(np.std(rate))
    states = np.column_stack([jets.u[:, 0], v / spread, rate / top])
    library = Library(form.big_p, 3)
    big_p = library.polynomial(regress_increments(jets, states, library, form.reach))
    factor = {e: x * spread for e, x in c.items()}
    return form.terms(RegularClosure({}, {(0, 0): top / spread}, big_p, 3, f0, factor)), states


def start_form(jets: Jets, form: Form, denominator: Polynomial) -> Start:
    """The start of a form whose D is guessed as ``denominator`` (over u0 … u_{n−2}); w is scaled to std 1.

    In a chain without another pole the guess is that of c (over u0), and f0 starts at 0.
    """
    n = form.order
    if form.is_chain:
        return Start(*chain_start(jets, form, *chain_second(jets, {}, denominator), {}, denominator), 0.0)
    quality = 0.0
    if form.has_pole:
        big_d = evaluate(denominator, jets.u[:, : n - 1])
        a, quality = collapse_curve(jets, big_d, form)
        w = smooth_hidden(jets, big_d, jets.u[:, n - 1] - evaluate(a, jets.u[:, : n - 1]))
    else:
        a = {}
        w = jets.u[:, n - 1] / denominator[form.lead]
    spread = float(np.std(w))
    states = np.column_stack([jets.u[:, : n - 1], w / spread])
    library = Library(form.big_p, n)
    big_p = library.polynomial(regress_increments(jets, states, library, form.reach))
    regular = RegularClosure(a, {e: c * spread for e, c in denominator.items()}, big_p, n)
    return Start(form.terms(regular), states, quality)
