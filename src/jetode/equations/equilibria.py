"""Where a cascade of rows stands still: equilibria with their eigenvalues, part of every identified model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Polynomial, add, evaluate, multiply, power, scale
from jetode.equations.state_jets import offset_and_factor
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

REAL = 1e-7  # imaginary part, relative to the root's size, below which a double root counts as real
ROUNDING = 1e-12  # of the largest root
MARGIN = 0.5  # of the range of the record: how far beyond it equilibria of an equation with elements are looked for
GRID = 2001  # places on that range between which two roots are told apart


@dataclass(frozen=True)
class Equilibrium:
    """A state, (u0, 0, …, 0, w) of a regular closure, with zero rate and the eigenvalues of the Jacobian there."""

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


Ratio = tuple[Polynomial, Polynomial]  # above and below, in u0


def _at_rest(polynomials: list[Polynomial], coordinates: list[Ratio]) -> list[Polynomial]:
    """Polynomials over (x_0 … x_k) or (x_0 … x_k, w) with x_1 … x_k replaced by their ``coordinates``, ratios in u0:
    polynomials in (u0, w), all times the one power of the denominators that leaves no fraction in any of them."""
    highest = [max((e[i + 1] for p in polynomials for e in p), default=0) for i in range(len(coordinates))]
    out = []
    for polynomial in polynomials:
        parts: list[Polynomial] = []
        for (first, *between), value in polynomial.items():
            w = between.pop() if len(between) > len(coordinates) else 0
            product: Polynomial = {(first,): value}
            for (above, below), k, most in zip(coordinates, between, highest, strict=True):
                product = multiply(product, multiply(power(above, k, 1), power(below, most - k, 1)))
            parts.append({(e[0], w): c for e, c in product.items()})
        out.append(add(*parts))
    return out


def _univariate(polynomial: Polynomial) -> Polynomial:
    """A polynomial in (u0, w) without w as one of u0."""
    return {(e[0],): c for e, c in polynomial.items()}


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


def equilibria(equation: Equation, within: tuple[float, float] | None = None) -> tuple[Equilibrium, ...]:
    """All real equilibria of a cascade; where a factor before the last can vanish, those off its zeros.  With elements
    there may be infinitely many: those with u0 ``within`` a range, or as near to it as half its length.

    Rows before the last coupled one give x_{i+1} = −offset/factor, which is u1 = … = 0 for shifts.  There they obey
    a + D w = 0 and P = 0: off the pole D^m P(u0, −a/D) = 0, one polynomial in u0; on it, where ``a`` vanishes too,
    P(u0, w) = 0 for w.
    """
    if equation.elements:
        return _numerical(equation, within)
    *earlier, last = equation.cascade()
    big_p = equation.parts()["P"]
    coordinates: list[Ratio] = []
    for row in earlier:
        above, below = (_univariate(p) for p in _at_rest([row.offset, row.factor], coordinates))
        coordinates.append((scale(above, -1.0), below))
    a, big_d = (_univariate(p) for p in _at_rest([last.offset, last.factor], coordinates))
    (resting,) = _at_rest([big_p], coordinates)
    found = []
    for u0, w in sorted(_points(a, big_d, resting)):
        at = np.array([u0])
        factors = [float(evaluate(below, at)) for _, below in coordinates]
        if any(abs(f) <= REAL * _magnitude(p, u0) for f, (_, p) in zip(factors, coordinates, strict=True)):
            continue
        between = [float(evaluate(above, at)) / f for f, (above, _) in zip(factors, coordinates, strict=True)]
        found.append(_equilibrium(equation, np.array([u0, *between, w])))
    return tuple(found)


def _equilibrium(equation: Equation, state: FloatArray) -> Equilibrium:
    """A state of rest with the eigenvalues there."""
    state = state + 0.0  # no negative zeros
    eigenvalues = np.linalg.eigvals(equation.field.jacobian(state))
    return Equilibrium(tuple(state.tolist()), tuple(complex(z) for z in eigenvalues))


def _numerical(equation: Equation, within: tuple[float, float] | None) -> tuple[Equilibrium, ...]:
    """Changes of sign of the last rate, the coordinates before it at rest, along u0."""
    if within is None:
        raise InputError("The 'within' parameter must be a range of the signal where the equation has elements.")
    margin = MARGIN * (within[1] - within[0])
    grid = np.linspace(within[0] - margin, within[1] + margin, GRID)

    def resting(u0: FloatArray) -> FloatArray:
        states = np.zeros((u0.size, equation.dimension))
        states[:, 0] = u0
        with np.errstate(divide="ignore", invalid="ignore"):
            for i in range(equation.dimension - 1):
                offset, factor = offset_and_factor(equation, i, states[:, : i + 1])
                states[:, i + 1] = -offset / factor
        return states

    def rate(u0: float) -> float:
        return float(equation.field(resting(np.array([u0])))[0, -1])

    rates = equation.field(resting(grid))[:, -1]
    found = []
    for i in np.flatnonzero(np.isfinite(rates[1:] * rates[:-1]) & (rates[1:] * rates[:-1] <= 0.0) & (rates[1:] != 0.0)):
        root = float(brentq(rate, grid[i], grid[i + 1], xtol=ROUNDING * (grid[-1] - grid[0])))
        if abs(rate(root)) <= min(abs(rates[i]), abs(rates[i + 1])) + REAL * np.nanmax(np.abs(rates)):  # else a pole
            found.append(_equilibrium(equation, resting(np.array([root]))[0]))
    return tuple(found)


def _points(a: Polynomial, big_d: Polynomial, resting: Polynomial) -> list[tuple[float, float]]:
    """(u0, w) where a + D w = 0 and the polynomial ``resting`` in (u0, w) vanishes."""
    degree = max((e[1] for e in resting), default=0)
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
    return points
