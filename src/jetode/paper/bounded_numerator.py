"""A numerator that stays bounded over D at the estimated pole (the paper's future work; docs/mathematics.md (3.7)).

Real trajectories cross D = 0 smoothly, so N must vanish there in a certain way.  For D affine in u0 and a pole inside
the record, the numerators that do are, for a given collapse curve ``a``, an affine family
(:func:`jetode.equations.regularise.crossing_family`): the weak system is solved within it instead of over all
monomials, and ``a``, begun at the curve that the samples near the pole show, by minimising what the system leaves
(variable projection).
P is kept linear in the hidden coordinate, as in every known case.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from jetode.equations.polynomials import Library, Polynomial
from jetode.equations.regularise import crossing_family
from jetode.paper.weakform import ClosureSystem
from jetode.support.arrays import FloatArray

WIDTHS = (0.15, 0.03)  # of std(u0): samples nearer to the pole than this shape the collapse curve
EVALUATIONS = 100


def pole_of(denominator: Library, coefficients: FloatArray, jets: FloatArray) -> float | None:
    """p of D ∝ u0 − p where D is affine in u0 alone and the record reaches p, else None."""
    n = denominator.n_variables
    unit, zero = (1,) + (0,) * (n - 1), (0,) * n
    polynomial = denominator.polynomial(coefficients)
    if not polynomial.get(unit) or not set(polynomial) <= {unit, zero}:
        return None
    pole = -polynomial.get(zero, 0.0) / polynomial[unit]
    return pole if jets[:, 0].min() < pole < jets[:, 0].max() else None


def bounded_numerator(system: ClosureSystem, denominator: FloatArray, jets: FloatArray) -> FloatArray | None:
    """Least squares for N within the crossing family of the given D; None where there is no pole to cross.

    ``jets`` are the dimensionless coordinates (N, n or more) that the system was assembled from.
    """
    n = system.numerator.n_variables
    pole = pole_of(system.denominator, denominator, jets)
    if pole is None or n < 3:
        return None
    degree = max(sum(e) for e in system.numerator.exponents)
    big_d: Polynomial = {(1,) + (0,) * (n - 2): 1.0, (0,) * (n - 1): -pole}
    lead = denominator[system.denominator.index[(1,) + (0,) * (n - 1)]]
    target = system.m_d @ (denominator / lead)
    starts = [_collapse(jets, pole, width, max(1, degree - 2), n) for width in WIDTHS]

    def solve(curve: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(N, what the system leaves) for a collapse curve."""
        a: Polynomial = {(0, k) + (0,) * (n - 3): float(c) for k, c in enumerate(curve)}
        known, _, columns = crossing_family(big_d, a, [1.0] * (n - 1), degree, n, len(curve) - 1, 1)
        basis = np.column_stack([system.numerator.coefficients(c) for c in columns])
        fixed = system.numerator.coefficients(known)
        matrix = system.m_n @ basis
        size = np.linalg.norm(matrix, axis=0)
        solution = np.linalg.lstsq(matrix / size, target - system.m_n @ fixed, rcond=1e-12)[0] / size
        numerator = fixed + basis @ solution
        return numerator, system.m_n @ numerator - target

    found = [least_squares(lambda curve: solve(curve)[1], s, method="lm", max_nfev=EVALUATIONS) for s in starts]
    return lead * solve(min(found, key=lambda f: f.cost).x)[0]


def _collapse(jets: FloatArray, pole: float, width: float, degree: int, n: int) -> FloatArray:
    """Coefficients of a(u1) from the samples near the pole: u_{n−1} = a there."""
    near = np.exp(-0.5 * ((jets[:, 0] - pole) / width) ** 2)
    powers = jets[:, 1][:, None] ** np.arange(degree + 1)
    return np.asarray(np.linalg.lstsq(powers * near[:, None], jets[:, n - 1] * near, rcond=1e-10)[0], dtype=np.float64)
