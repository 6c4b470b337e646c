"""The sparsest gauge of a closure without a pole (docs/mathematics.md §3, §4): w → w + g(u) with g linear.

With D = 1 the canonical gauge a = 0 can hide a simple equation: Rössler's y has nine terms there, six with
u_{n−1} = a + w and a linear ``a``.  Every choice of monomials of ``a`` is paired with as many w-free monomials of P
that g is made to cancel; the quadratic model of the cost predicts the BIC of each before anything is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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


def cancelling_shift(
    equation: Equation, monomials: tuple[Exponents, ...], cancelled: tuple[Exponents, ...]
) -> Polynomial | None:
    """g = Σ c_i ``monomials[i]`` with which P(u, w − g) + g' has none of the ``cancelled`` terms; None if Newton's
    method from g = 0 does not find it."""

    def residual(c: FloatArray) -> FloatArray:
        shifted = equation.with_hidden_shifted(dict(zip(monomials, c.tolist(), strict=True))).parts()["P"]
        return np.array([shifted.get(e, 0.0) for e in cancelled])

    c = np.zeros(len(monomials))
    size = max(map(abs, equation.parts()["P"].values()), default=0.0)
    for _ in range(NEWTON_STEPS):
        now = residual(c)
        if np.max(np.abs(now)) <= CANCELLED * size:
            return dict(zip(monomials, c.tolist(), strict=True)) if np.any(c) else None
        step = 1e-6 * (1.0 + np.abs(c))
        jacobian = np.column_stack([(residual(c + step * unit) - now) / step for unit in np.eye(c.size)])
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
    n = form.order
    equation = equation_of(fit.terms)
    if not equation.is_cascade:
        return
    big_p = form["P"]
    linear = [tuple(int(i == j) for j in range(n - 1)) for i in range(n - 1)]
    visible = [e for e in big_p if e[-1] == 0]
    for count in range(1, n):
        for monomials in combinations(linear, count):
            for cancelled in combinations(visible, count):
                g = cancelling_shift(equation, monomials, cancelled)
                if g is None:
                    continue
                shifted = equation.with_hidden_shifted(g)
                if any(e not in big_p for e in shifted.parts()["P"]):
                    continue
                states = fit.states.copy()
                states[:, -1] += evaluate(g, states[:, :-1])
                other = form.with_parts(a=monomials, P=tuple(e for e in big_p if e not in cancelled))
                yield other, rescale_hidden(replace(fit, terms=other.terms(shifted), states=states))


def sparsest(data: Data, form: Form, fit: Fit, price: float) -> tuple[Form, Fit] | None:
    """The gauge with the lowest predicted BIC, or None where the canonical one, a = 0, is as good."""

    def predicted(of: Form, at: Fit) -> float:
        full = at.terms
        every = np.ones(len(full.exponents), dtype=bool)
        model = quadratic_model(data, full, at)
        if model is None:
            return np.inf
        protected = of.protected(full)[full.free]
        keep = model.best_support(every[full.free], protected, price)
        return model.restricted_cost(keep) + price * float(keep.sum())

    best, lowest = None, predicted(form, fit)
    for other, moved in shifted_fits(form, fit):
        score = predicted(other, moved)
        if score < lowest - 1e-6:
            best, lowest = (other, moved), score
    return best
