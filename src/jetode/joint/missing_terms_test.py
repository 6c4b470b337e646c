"""Does a fit need terms beyond its own (score, or Lagrange-multiplier, test)?

At a fitted point the quadratic model of the cost in a larger library predicts by how much all absent terms together
would lower it.  For a closure that states the dynamics this is χ² distributed with as many degrees of freedom as
there are absent terms; one that imitates them leaves more.  χ² of the residuals is far less sensitive: it is spread
over every sample.

The libraries are compared around the middle of the record (x0 = c + v, under which both are the same spaces of
functions): around a far origin their monomials are nearly the same function, and rounding would decide.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np

from jetode.equations.polynomials import total_degree_exponents
from jetode.joint.forms.base import PRIOR, Form, hidden_library
from jetode.joint.parts import equation_of
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation
from jetode.joint.shooting.layout import Terms
from jetode.joint.term_selection import expand
from jetode.support.arrays import BoolArray, FloatArray

LARGER_DEGREE = 3  # of the library that is tried, or one more than the fit's own
TOLD = 1e-4  # of the largest eigenvalue of the absent terms' information: below, how well a fit has converged decides


def larger_form(form: Form, degree: int) -> Form:
    """The form with every monomial of P up to ``degree`` (linear in w) and, with a pole, of a reduced modulo D; of a
    driven plane those of F."""
    n = form.order
    if form["f1"]:
        return form.with_parts(f1=tuple(dict.fromkeys((*form["f1"], *total_degree_exponents(2, degree)))))
    big_p = tuple(dict.fromkeys((*form["P"], *hidden_library(n, degree))))
    if not form.has_pole:
        return form.with_parts(P=big_p)
    rest = [i for i in range(n - 1) if not form.lead[i]]
    a = tuple(dict.fromkeys((*form["a"], *total_degree_exponents(n - 1, degree, rest))))
    return form.with_parts(a=a, P=big_p)


def score_test(data: Data, form: Form, fit: Fit) -> float:
    """The predicted fall of the cost for the k absent terms of a larger library, which is χ² with k degrees of freedom
    for a right closure, as a standard normal variable (Wilson–Hilferty); NaN where the expansion is not finite.  The
    form has to be in the canonical gauge."""
    learned = 1 if form["f1"] else form.order - 1  # of a driven plane F's row
    own = max((sum(e) for row, e in zip(fit.terms.rows, fit.terms.exponents, strict=True) if row == learned),
              default=0)  # fmt: skip
    larger = larger_form(form, max(LARGER_DEGREE, own + 1))
    full = larger.terms(equation_of(fit.terms))
    present = expand(full, fit.terms)[0]
    count = int(np.count_nonzero(~present[full.free]))
    if count == 0:
        return float("nan")
    if form.elements:  # beside a function, powers of its coordinate say nearly the same: only what can be told counts
        fall, count = _told_fall(data, full, fit, present)
    else:
        fall = _fall(data, full, fit, present)
    width = 2.0 / (9.0 * count)
    return float((np.cbrt(np.maximum(fall, 0.0) / count) - (1.0 - width)) / np.sqrt(width))


def around(terms: Terms, origin: float) -> tuple[Terms, FloatArray]:
    """The same vector field in v = x0 − ``origin``, all of its terms free, and the matrix that takes coefficients to
    the new ones, by (v + c)^m = Σ C(m, k) c^(m−k) v^k."""
    keys: dict[tuple[int, tuple[int, ...]], int] = {}
    entries = []
    for j, (row, (m, *rest)) in enumerate(zip(terms.rows.tolist(), terms.exponents, strict=True)):
        for k in range(m + 1):
            at = keys.setdefault((row, (k, *rest)), len(keys))
            entries.append((at, j, comb(m, k) * origin ** (m - k)))
    order = sorted(keys, key=lambda key: (key[0], keys[key]))
    place = {keys[key]: i for i, key in enumerate(order)}
    matrix = np.zeros((len(order), terms.rows.size))
    for at, j, value in entries:
        matrix[place[at], j] = value
    coefficients, every = matrix @ terms.coefficients, np.ones(len(order), dtype=bool)
    rows, exponents = np.array([row for row, _ in order], np.int64), tuple(e for _, e in order)
    ridge = np.full(len(order), PRIOR.ridge)
    return Terms(terms.dimension, terms.shifts, rows, exponents, coefficients, every, coefficients, ridge), matrix


def _fall(data: Data, full: Terms, fit: Fit, present: BoolArray) -> float:
    """By how much the free terms of ``full`` that are not ``present`` would lower the cost; NaN where the expansion is
    not finite."""
    middle = float(np.mean(fit.states[:, 0]))
    moved, matrix = around(full.with_coefficients(expand(full, fit.terms)[1]), middle)
    linear = Linearisation(replace(data, y=data.y - middle), moved)
    linear.at(fit.states - middle * np.eye(full.dimension)[0], moved.coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    if not np.all(np.isfinite(eliminated.schur)) or np.any(np.diag(eliminated.schur) < 0.0):
        return float("nan")
    scale = np.sqrt(np.maximum(np.diag(eliminated.schur), 1e-300))
    information, slope = eliminated.schur / np.outer(scale, scale), eliminated.reduced / scale

    def gain(within: BoolArray) -> float:
        """The most that a step within these terms gains, rᵀB(BᵀSB)⁻¹Bᵀr with an orthonormal B."""
        basis = np.linalg.qr(_unit(scale[:, None] * matrix[:, within]))[0]
        values, vectors = np.linalg.eigh(basis.T @ information @ basis)
        return float(np.sum((vectors.T @ (basis.T @ slope)) ** 2 / np.maximum(values, 1e-13 * values[-1])))

    return gain(full.free) - gain(full.free & present)


def _told_fall(data: Data, full: Terms, fit: Fit, present: BoolArray) -> tuple[float, int]:
    """:func:`told_fall` of free terms of ``full`` beside those ``present``; NaN where the expansion is not finite."""
    linear = Linearisation(data, full)
    linear.at(fit.states, expand(full, fit.terms)[1])
    eliminated = linear.eliminate(fit.q, 0.0)
    keep = present[full.free]
    if not np.all(np.isfinite(eliminated.schur)) or np.any(np.diag(eliminated.schur) < 0.0):
        return float("nan"), int(np.count_nonzero(~keep))
    return told_fall(eliminated.schur, eliminated.reduced, keep)


def told_fall(information: FloatArray, slope: FloatArray, keep: BoolArray) -> tuple[float, int]:
    """By how much all terms O beside those that are kept (K) would lower the cost 2 rᵀδ + δᵀFδ, gᵀS⁻¹g with
    S = F_OO − F_OK F_KK⁻¹ F_KO and g = r_O − F_OK F_KK⁻¹ r_K, and in how many directions: those of S, scaled to unit
    diagonal, that the record tells from errors of the linearisation.

    The slope r is taken as it is.  By way of the optimum, g = −S (−F⁻¹r)_O, rounding decides: of a right saturation it
    made 3 to 38 standard deviations, another number at every point of one minimum."""
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    f, r = information / np.outer(scale, scale), slope / scale
    weights = np.linalg.pinv(f[np.ix_(keep, keep)], rcond=1e-13, hermitian=True) @ f[np.ix_(keep, ~keep)]
    schur, gradient = f[np.ix_(~keep, ~keep)] - f[np.ix_(~keep, keep)] @ weights, r[~keep] - r[keep] @ weights
    own = np.sqrt(np.maximum(np.diag(schur), 1e-300))
    values, vectors = np.linalg.eigh(schur / np.outer(own, own))
    told = values > TOLD * values[-1]
    along = vectors[:, told].T @ (gradient / own)
    return float(np.sum(along**2 / values[told])), int(told.sum())


def _unit(columns: FloatArray) -> FloatArray:
    """Columns of length one."""
    return np.asarray(columns / np.linalg.norm(columns, axis=0))
