"""The marginal likelihood of weak-constraint shooting (docs/mathematics.md (4.13), (4.14)): how large are the jumps?

With the node states integrated out (exactly where the flow is linear, else by Laplace's method at the fitted path)

    −2 log L = J + N log σ² + Σ_k log det(1 + q² S H_k S) + Σ_first log det(Π H_first),

and all determinants fall out of the elimination of the nodes.  Along q = ρ σ the fitted path does not depend on σ, so
that σ² = J σ₀²/(N − d·firsts) is explicit and one search over ρ is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from jetode.joint.shooting.gaussnewton import Data, Elimination, Fit, Linearisation
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class Marginal:
    """−2 log L (up to a constant of the samples) of a fit, at the scale ``factor`` of σ and q that maximises it."""

    value: float
    factor: float


def learned_rows(terms: Terms) -> list[int]:
    """Rows that say something of the system: all but u_i' = u_{i+1} and its like with a constant factor."""
    rows = terms.rows[: terms.n_terms].tolist()
    said = {row for row, e in zip(rows, terms.exponents, strict=False) if rows.count(row) > 1 or sum(e) > 1}
    return sorted(said | {terms.dimension - 1})


def jump_scales(terms: Terms, node: float, driven: int | None = None) -> FloatArray:
    """S: each coordinate's jump over ``node`` (tc) relative to the rows that noise drives: the learned ones, or
    all from row ``driven`` on (a force on the first of two coupled masses shows in u1 already).

    What drives a row as white noise reaches the coordinate k rows above it as the k-fold integral of a Wiener
    process, with standard deviation node^k / (k! √(2k + 1)): u0' = u1 itself is never in doubt.
    """
    learned = learned_rows(terms) if driven is None else list(range(driven, terms.dimension))
    out = np.ones(terms.dimension)
    for i in range(terms.dimension):
        k = min((row - i for row in learned if row >= i), default=0)
        out[i] = node**k / (factorial(k) * np.sqrt(2.0 * k + 1.0))
    return out


def log_determinants(eliminated: Elimination) -> float:
    """Σ_k log det(1 + q² S H_k S) + Σ_first log det H_first; +inf where the elimination has failed."""
    with np.errstate(all="ignore"):
        signs, logs = np.linalg.slogdet(eliminated.smoothers)
    if not (np.isfinite(logs).all() and (signs > 0).all()):
        return float("inf")
    return -float(np.sum(logs))


def firsts(data: Data) -> int:
    """Records that the path begins in."""
    return int(np.count_nonzero(data.layout.spans == 0))


def marginal(data: Data, fit: Fit) -> Marginal:
    """(4.14) of a fit, with σ (and q = ρσ) at the scale that maximises it."""
    linear = Linearisation(data, fit.terms)
    linear.at(fit.states, fit.terms.coefficients)
    return profiled(data, fit, log_determinants(linear.eliminate(fit.q, 0.0)))


def profiled(data: Data, fit: Fit, determinants: float) -> Marginal:
    """(4.14) from the cost of a fit and its determinants, profiled over the scale of σ and q at fixed ρ = q/σ."""
    n = data.n_samples
    free = n - fit.terms.dimension * firsts(data)
    if not (np.isfinite(fit.cost) and np.isfinite(determinants) and fit.cost > 0 and free > 0):
        return Marginal(float("inf"), 1.0)
    factor = float(np.sqrt(fit.cost / free))
    weights = -float(np.sum(np.log(data.weight[data.weight > 0])))
    return Marginal(free * (1.0 + 2.0 * np.log(factor)) + weights + determinants, factor)
