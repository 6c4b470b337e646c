"""The sparsest gauge of a closure without a pole (docs/mathematics.md §3, §4): w → w + g(u) with g linear.

With D = 1 the canonical gauge a = 0 can hide a simple equation: Rössler's y has nine terms there, six with
u_{n−1} = a + w and a linear ``a``.  Every choice of monomials of ``a`` is paired with as many w-free monomials of P
that g is made to cancel; the quadratic model of the cost predicts the BIC of each before anything is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Polynomial, evaluate
from jetode.joint.forms.base import Form
from jetode.joint.parts import equation_of
from jetode.joint.shooting.annealing import rescale_hidden
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.term_selection import quadratic_model
from jetode.support.arrays import FloatArray

NEWTON_STEPS = 30
CANCELLED = 1e-9  # of the largest coefficient
LARGEST = 5.0  # coefficient of a: with more, u_{n−1} is a small difference of a and w, whose jumps cost nothing


@dataclass(frozen=True)
class ShiftedRate:
    """The coefficients of P(u, w − g) + g' for g = Σ c_i ``monomials[i]``, which are quadratic in c: those of
    :attr:`terms` are ``constant + linear c + cᵀ quadratic c``, exactly, where P is at most quadratic in w."""

    monomials: tuple[Exponents, ...]
    terms: tuple[Exponents, ...]
    constant: FloatArray
    linear: FloatArray
    quadratic: FloatArray

    @classmethod
    def of(cls, equation: Equation, monomials: tuple[Exponents, ...]) -> ShiftedRate:
        """From the rates at a few c, which determine a quadratic function."""
        m = len(monomials)

        def rate(*ones: tuple[int, float]) -> Polynomial:
            return dict(equation.with_hidden_shifted({monomials[i]: value for i, value in ones}).parts()["P"])

        plain = dict(equation.parts()["P"])
        up, down = ([rate((i, value)) for i in range(m)] for value in (1.0, -1.0))
        both = {(i, j): rate((i, 1.0), (j, 1.0)) for i, j in combinations(range(m), 2)}
        terms = tuple(dict.fromkeys(e for p in (plain, *up, *down, *both.values()) for e in p))

        def of(p: Polynomial) -> FloatArray:
            return np.array([p.get(e, 0.0) for e in terms])

        linear, quadratic = np.empty((len(terms), m)), np.empty((len(terms), m, m))
        for i in range(m):
            linear[:, i] = 0.5 * (of(up[i]) - of(down[i]))
            quadratic[:, i, i] = 0.5 * (of(up[i]) + of(down[i])) - of(plain)
        for (i, j), p in both.items():
            alone = of(up[i]) + of(up[j]) - of(plain)
            quadratic[:, i, j] = quadratic[:, j, i] = 0.5 * (of(p) - alone)
        return cls(monomials, terms, of(plain), linear, quadratic)

    def cancelling(self, cancelled: tuple[Exponents, ...]) -> Polynomial | None:
        """g with which none of the ``cancelled`` terms is left; None if Newton's method from g = 0 does not find it."""
        at = [self.terms.index(e) for e in cancelled if e in self.terms]
        if len(at) < len(self.monomials):
            return None
        constant, linear, quadratic = self.constant[at], self.linear[at], self.quadratic[at]
        c, size = np.zeros(len(self.monomials)), float(np.max(np.abs(self.constant), initial=0.0))
        for _ in range(NEWTON_STEPS):
            bent = quadratic @ c
            now = constant + linear @ c + bent @ c
            if np.max(np.abs(now)) <= CANCELLED * size:
                return dict(zip(self.monomials, c.tolist(), strict=True)) if np.any(c) else None
            jacobian = linear + 2.0 * bent
            if not np.linalg.cond(jacobian) < 1e8:
                return None
            c = c - np.linalg.solve(jacobian, now)
            if not np.max(np.abs(c)) < LARGEST:
                return None
        return None


def cancels(equation: Equation) -> bool:
    """Whether u_{n−1} = a + D w has become a small difference of large terms."""
    return any(abs(c) > LARGEST for c in equation.parts()["a"].values())


def shifted_fits(form: Form, fit: Fit) -> Iterator[tuple[Form, Fit]]:
    """The same fit in every gauge that trades terms of P for as many of a linear ``a``."""
    equation, big_p = equation_of(fit.terms), form["P"]
    if not equation.is_cascade or max((e[-1] for e in big_p), default=0) > 2:
        return
    for g, cancelled in _shifts(equation, [e for e in big_p if e[-1] == 0]):
        shifted = equation.with_hidden_shifted(g)
        if set(shifted.parts()["P"]) <= set(big_p):
            states = fit.states.copy()
            states[:, -1] += evaluate(g, states[:, :-1])
            other = form.with_parts(a=tuple(g), P=tuple(e for e in big_p if e not in cancelled))
            yield other, rescale_hidden(replace(fit, terms=other.terms(shifted), states=states))


def _shifts(equation: Equation, visible: Sequence[Exponents]) -> Iterator[tuple[Polynomial, tuple[Exponents, ...]]]:
    """Linear g that cancel as many of the ``visible`` terms of P as they have, and these."""
    n = equation.dimension
    linear = [tuple(int(i == j) for j in range(n - 1)) for i in range(n - 1)]
    for count in range(1, n):
        for monomials in combinations(linear, count):
            rate = ShiftedRate.of(equation, monomials)
            for cancelled in combinations(visible, count):
                g = rate.cancelling(cancelled)
                if g is not None:
                    yield g, cancelled


def predicted(data: Data, form: Form, fit: Fit, price: float) -> tuple[float, int]:
    """The lowest BIC that the quadratic model of the cost predicts, beyond the cost of the fit, and its terms."""
    full = fit.terms
    every = np.ones(len(full.exponents), dtype=bool)
    model = quadratic_model(data, full, fit)
    if model is None:
        return np.inf, 0
    keep = model.best_support(every[full.free], form.protected(full)[full.free], price)
    return model.restricted_cost(keep) + price * float(keep.sum()), int(keep.sum())


def sparsest(data: Data, form: Form, fit: Fit, price: float, most: int) -> tuple[Form, Fit] | None:
    """The gauge with the lowest predicted BIC, or None where the canonical one, a = 0, is as good, or where no gauge
    promises fewer than ``most`` terms."""
    best, (lowest, _) = None, predicted(data, form, fit, price)
    for other, moved in shifted_fits(form, fit):
        score, count = predicted(data, other, moved, price)
        if score < lowest - 1e-6 and count < most:
            best, lowest = (other, moved), score
    return best
