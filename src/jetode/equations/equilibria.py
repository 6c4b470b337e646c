"""Where a regular closure stands still: equilibria with their eigenvalues, part of every identified model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.equations.polynomials import Polynomial, add, embed, evaluate, multiply, power, scale
from jetode.equations.regular import RegularClosure

REAL = 1e-7  # imaginary part, relative to the root's size, below which a double root counts as real
ROUNDING = 1e-12  # of the largest root


@dataclass(frozen=True)
class Equilibrium:
    """A state (u0, 0, …, 0, w), in a chain (u0, v, w), with zero rate and the eigenvalues of the Jacobian there."""

    state: tuple[float, ...]
    eigenvalues: tuple[complex, ...]

    @property
    def kind(self) -> str:
        """Stable, unstable or saddle, with "focus" where it turns."""
        real = np.real(self.eigenvalues)
        turning = " focus" if np.any(np.abs(np.imag(self.eigenvalues)) > 0) else " node"
        if np.all(real < 0):
            return "stable" + turning
        if np.all(real > 0):
            return "unstable" + turning
        return "saddle" + (" focus" if turning == " focus" else "")


def _univariate(polynomial: Polynomial) -> Polynomial:
    """A polynomial in (u0, w) without w as one of u0."""
    return {(e[0],): c for e, c in polynomial.items()}


def _at_rest(regular: RegularClosure, polynomials: list[Polynomial]) -> list[Polynomial]:
    """Polynomials over the state where u0 … stand still, as polynomials in (u0, w): their terms without u1 …, or, in a
    chain, their values at v = −f0/c times the power of c that leaves no fraction in any of them."""
    if not regular.f0:
        return [{(e[0], e[-1]): c for e, c in p.items() if not any(e[1:-1])} for p in polynomials]
    above, below = scale(embed(regular.f0, 2), -1.0), embed(regular.c, 2)
    highest = max((e[1] for p in polynomials for e in p), default=0)
    out = []
    for polynomial in polynomials:
        parts: list[Polynomial] = []
        for (i, j, m), value in polynomial.items():
            factors = multiply(power(above, j, 2), power(below, highest - j, 2))
            parts.append(multiply({(i, m): value}, factors))
        out.append(add(*parts))
    return out


def _roots(polynomial: Polynomial) -> list[float]:
    """Real roots of a polynomial of one variable, each once."""
    coefficients = np.zeros(max((e[0] for e in polynomial), default=0) + 1)
    for e, c in polynomial.items():
        coefficients[e[0]] = c
    roots = np.roots(coefficients[::-1])
    tolerance = REAL * np.abs(roots) + ROUNDING * np.abs(roots).max(initial=0.0)
    out: list[float] = []
    real = np.abs(roots.imag) <= tolerance
    for root, near in sorted(zip(roots.real[real], tolerance[real], strict=True)):
        if not out or abs(root - out[-1]) > near:
            out.append(float(root))
    return out


def _magnitude(polynomial: Polynomial, at: float) -> float:
    """Σ |c| |x|^e: what the value at ``at`` is small against where it vanishes."""
    return float(sum(abs(c) * abs(at) ** e[0] for e, c in polynomial.items()))


def equilibria(regular: RegularClosure) -> tuple[Equilibrium, ...]:
    """All real equilibria; of a chain those off c = 0.

    On u1 = … = 0 they obey a + D w = 0 and P = 0: off the pole D^m P(u0, −a/D) = 0, one polynomial in u0; on it,
    where ``a`` vanishes too, P(u0, w) = 0 for w.  In a chain v = −f0/c takes the place of u1 = 0.
    """
    degree = max((e[-1] for e in regular.P), default=0)
    a, big_d = (_univariate(p) for p in _at_rest(regular, [embed(p, regular.order) for p in (regular.a, regular.D)]))
    (resting,) = _at_rest(regular, [regular.P])
    total: Polynomial = {}
    for e, c in resting.items():
        term = multiply({(e[0],): c}, power(scale(a, -1.0), e[1], 1))
        total = add(total, multiply(term, power(big_d, degree - e[1], 1)))
    points: list[tuple[float, float]] = []
    roots = _roots(total)
    largest = max(map(abs, roots), default=0.0)
    for root in roots:
        at = np.array([root])
        denominator = float(evaluate(big_d, at))
        if abs(denominator) > REAL * _magnitude(big_d, root) + ROUNDING * _magnitude(big_d, largest):
            points.append((root, -float(evaluate(a, at)) / denominator))
    for pole in _roots(big_d):
        if abs(float(evaluate(a, np.array([pole])))) <= REAL * _magnitude(a, pole):
            along: Polynomial = {}
            for e, c in resting.items():
                along = add(along, {(e[1],): c * pole ** e[0]})
            points += [(pole, w) for w in _roots(along)]
    field = regular.field
    found = []
    for u0, w in sorted(points):
        state = np.zeros(regular.order)
        state[0], state[-1] = u0, w
        if regular.f0:
            at = np.array([u0])
            if abs(factor := float(evaluate(regular.c, at))) <= REAL * _magnitude(regular.c, u0):
                continue
            state[1] = -float(evaluate(regular.f0, at)) / factor
        eigenvalues = np.linalg.eigvals(field.jacobian(state))
        found.append(Equilibrium(tuple(state.tolist()), tuple(complex(z) for z in eigenvalues)))
    return tuple(found)
