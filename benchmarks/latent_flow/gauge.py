"""The gauge of a latent flow: hidden coordinates are free up to an affine map, which leaves
every row a polynomial of the same degree; here they are uncorrelated with the signal and each other, of unit spread."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from jetode.equations.polynomials import Library
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

SMALLEST = 1e-6  # std of a hidden coordinate that is one at all


def library(dimension: int, degree: int) -> Library:
    """All monomials of a row."""
    return Library.total_degree(dimension, degree)


def terms_of(rows: FloatArray, degree: int, precision: float) -> Terms:
    """A flow with coefficients (d, monomials), all of them free, and the precision of their prior about 0."""
    dimension, count = rows.shape
    exponents = library(dimension, degree).exponents
    total = dimension * count
    return Terms(
        dimension,
        0,
        np.repeat(np.arange(dimension), count),
        exponents * dimension,
        rows.ravel().copy(),
        np.ones(total, dtype=np.bool_),
        np.zeros(total),
        np.full(total, precision),
    )


def rows_of(terms: Terms) -> FloatArray:
    """Coefficients (d, monomials)."""
    return terms.coefficients.reshape(terms.dimension, -1)


def degree_of(terms: Terms) -> int:
    """Of the rows."""
    return max(map(sum, terms.exponents))


def prior_cost(terms: Terms) -> float:
    """What the coefficients cost by their prior."""
    return float(terms.precision @ terms.coefficients**2)


@lru_cache(maxsize=8)
def _points(dimension: int, degree: int) -> tuple[FloatArray, FloatArray]:
    """Points that determine a polynomial, and what makes its coefficients of its values there."""
    some = library(dimension, degree)
    points = np.random.default_rng(0).standard_normal((4 * len(some.exponents), dimension))
    return points, np.asarray(np.linalg.pinv(some.evaluate(points)), dtype=np.float64)


def whitening(states: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """M and o with which states @ M − o have hidden coordinates of mean 0 and unit spread, uncorrelated; the signal
    stays.  None where a hidden coordinate is none."""
    centred = states - states.mean(axis=0)
    upper = np.linalg.qr(centred, mode="r") / np.sqrt(len(states))
    if not np.abs(np.diag(upper)).min() > SMALLEST:
        return None
    mixing = np.linalg.inv(upper)
    mixing[:, 0] = 0.0
    mixing[0, 0] = 1.0
    offset = (states @ mixing).mean(axis=0)
    offset[0] = 0.0
    return mixing, offset


def moved(terms: Terms, mixing: FloatArray, offset: FloatArray) -> Terms:
    """The same flow in coordinates x @ M − o."""
    degree = degree_of(terms)
    points, solve = _points(terms.dimension, degree)
    before = (points + offset) @ np.linalg.inv(mixing)
    rates = library(terms.dimension, degree).evaluate(before) @ rows_of(terms).T
    return terms.with_coefficients((solve @ (rates @ mixing)).T.ravel())


def whitened(fit: Fit) -> Fit:
    """The same fit in the gauge of its own path."""
    found = whitening(fit.states) if np.isfinite(fit.states).all() else None
    if found is None:
        return fit
    mixing, offset = found
    return replace(fit, terms=moved(fit.terms, mixing, offset), states=fit.states @ mixing - offset)
