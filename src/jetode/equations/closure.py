"""The rational closure D(u) u_{n−1}' = N(u) and how to compare two (docs/mathematics.md (1.1), (1.7)).

N and D are polynomials in the jet coordinates (u0 … u_{n−1}).  A common factor κ leaves the closure as it is;
comparisons fix it by a least-squares fit of κD to the reference denominator, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetode.equations import polynomials
from jetode.equations.polynomials import Polynomial, graded_order
from jetode.equations.writers import Infix, latex_name, latex_writer, text_writer
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Closure:
    """Numerator and denominator over exponents of (u0 … u_{order−1})."""

    numerator: Polynomial
    denominator: Polynomial
    order: int

    def __post_init__(self) -> None:
        if self.order < 1:
            raise InputError(f"The 'order' parameter must be an int ≥ 1. Got {self.order} instead.")
        for name in ("numerator", "denominator"):
            terms = getattr(self, name)
            for exponents in terms:
                if len(exponents) != self.order:
                    raise InputError(f"Exponents in '{name}' must have {self.order} entries. Got {exponents} instead.")
            ordered = {e: float(terms[e]) for e in sorted(terms, key=graded_order)}
            object.__setattr__(self, name, ordered)
        if not self.denominator:
            raise InputError("The 'denominator' parameter must have at least one term. Got an empty one instead.")

    # -- values ----------------------------------------------------------------------------------------

    def rate(self, points: FloatArray) -> FloatArray:
        """u_{n−1}' = N/D at ``points`` (…, order); ±inf or nan on the singular set."""
        with np.errstate(divide="ignore", invalid="ignore"):
            below = polynomials.evaluate(self.denominator, points)
            return polynomials.evaluate(self.numerator, points) / below

    @property
    def pole_variable(self) -> int | None:
        """The coordinate D depends on; None where D is constant or depends on several."""
        used = {i for e in self.denominator for i, k in enumerate(e) if k}
        return used.pop() if len(used) == 1 else None

    def poles(self) -> tuple[float, ...]:
        """Real roots of D, ascending, where D depends on one coordinate (``pole_variable``), else none."""
        variable = self.pole_variable
        if variable is None:
            return ()
        coefficients = np.zeros(1 + max(e[variable] for e in self.denominator))
        for e, c in self.denominator.items():
            coefficients[e[variable]] = c
        roots = np.polynomial.Polynomial(coefficients).roots()
        real = np.abs(roots.imag) <= 1e-9 * (1e-300 + np.abs(roots))
        return tuple(float(r) for r in np.sort(roots.real[real]))

    # -- gauge and units ---------------------------------------------------------------------------------

    def scaled(self, factor: float) -> Closure:
        """The same closure with N and D multiplied by ``factor``."""
        return Closure(
            polynomials.scale(self.numerator, factor), polynomials.scale(self.denominator, factor), self.order
        )

    def normalised(self) -> Closure:
        """Gauge of the paper: D of unit norm, its coefficient of u0 positive (else its largest one)."""
        linear = (1,) + (0,) * (self.order - 1)
        largest = max(self.denominator.values(), key=abs)
        size = float(np.linalg.norm(list(self.denominator.values())))
        return self.scaled(float(np.copysign(1.0 / size, self.denominator.get(linear, largest))))

    def rescaled(self, amplitude: float, time: float) -> Closure:
        """The closure of the record with values multiplied by ``amplitude`` and times by ``time``."""
        factors = [time**k / amplitude for k in range(self.order + 1)]
        return Closure(
            polynomials.rescale(self.numerator, factors[:-1]),
            polynomials.scale(polynomials.rescale(self.denominator, factors[:-1]), factors[-1]),
            self.order,
        )

    # -- writing it down -----------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """u0, u1, …"""
        return tuple(f"u{i}" for i in range(self.order))

    @property
    def is_polynomial(self) -> bool:
        """Whether D is the constant 1."""
        return self.denominator == {(0,) * self.order: 1.0}

    def written(self, writer: Infix, names: Sequence[str]) -> str:
        """N/D."""
        above, below = (writer.polynomial(p, names) for p in (self.numerator, self.denominator))
        return above if self.is_polynomial else writer.ratio(above, below)

    def text(self, digits: int = 6) -> str:
        """One line, e.g. ``u2' = (…) / (3 u0)``."""
        return f"{self.names[-1]}' = {self.written(text_writer(digits), self.names)}"

    def latex_rows(self, digits: int = 6) -> list[tuple[str, str]]:
        """(left, right) of the equations of all jets as LaTeX."""
        names = [latex_name(n) for n in self.names]
        rates = [*names[1:], self.written(latex_writer(digits), names)]
        return [(rf"\dot{{u}}_{{{i}}}", rate) for i, rate in enumerate(rates)]

    def latex(self, digits: int = 6) -> str:
        r"""LaTeX source, ``\dot{u}_{2} = \frac{…}{…}``."""
        return " = ".join(self.latex_rows(digits)[-1])

    def _repr_latex_(self) -> str:
        return f"$${self.latex(4)}$$"

    def sympy(self) -> Any:
        """N/D as a SymPy expression in the symbols u0, u1, …"""
        above = polynomials.to_sympy(self.numerator, self.names)
        return above / polynomials.to_sympy(self.denominator, self.names)

    def to_json(self) -> dict[str, Any]:
        """Plain data for :meth:`from_json`."""
        return {
            "order": self.order,
            "numerator": polynomials.to_json(self.numerator),
            "denominator": polynomials.to_json(self.denominator),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Closure:
        """Inverse of :meth:`to_json`."""
        numerator, denominator = (polynomials.from_json(data[k]) for k in ("numerator", "denominator"))
        return cls(numerator, denominator, int(data["order"]))


# -- comparison ----------------------------------------------------------------------------------------


def _vectors(*terms: Polynomial) -> list[FloatArray]:
    """Coefficient vectors over the common set of monomials."""
    monomials = sorted({e for p in terms for e in p}, key=graded_order)
    return [np.array([p.get(e, 0.0) for e in monomials]) for p in terms]


def gauge_factor(closure: Closure, reference: Closure) -> float:
    """κ of the least-squares fit of κD to the reference denominator."""
    found, true = _vectors(closure.denominator, reference.denominator)
    return float(found @ true / (found @ found))


def relative_l2(closure: Closure, reference: Closure) -> tuple[float, float]:
    """Eq. (rel_l2): ‖κX − X*‖/‖X*‖ for X = N and X = D."""
    kappa = gauge_factor(closure, reference)

    def error(found: Polynomial, true: Polynomial) -> float:
        a, b = _vectors(found, true)
        return float(np.linalg.norm(kappa * a - b) / np.linalg.norm(b))

    return error(closure.numerator, reference.numerator), error(closure.denominator, reference.denominator)


def cosine(closure: Closure, reference: Closure) -> tuple[float, float]:
    """Eq. (cosine): cos_N and cos_D; N takes its sign from the gauge in which D agrees with the reference."""
    sign = float(np.copysign(1.0, gauge_factor(closure, reference)))

    def between(found: Polynomial, true: Polynomial) -> float:
        a, b = _vectors(found, true)
        return sign * float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

    cos_n = between(closure.numerator, reference.numerator)
    return cos_n, between(closure.denominator, reference.denominator)


# -- the singular set along a record ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SingularSet:
    """Where a record meets D = 0.

    ``crossings``: samples after which D changes sign.  ``closest``: min |D| in units of its rms.  ``misfit``:
    median of |N| at the crossings in units of its rms; near 0 where the closure is regular there.
    """

    crossings: IntArray
    closest: float
    misfit: float

    @property
    def crossed(self) -> bool:
        """Whether the record crosses the singular set."""
        return self.crossings.size > 0


def singular_set(closure: Closure, jets: FloatArray) -> SingularSet:
    """Test the record's jet coordinates (N, ≥ order) against the singular set of ``closure``."""
    points = np.asarray(jets, dtype=float)[:, : closure.order]
    below = polynomials.evaluate(closure.denominator, points)
    above = polynomials.evaluate(closure.numerator, points)
    crossings = np.flatnonzero(np.signbit(below[1:]) != np.signbit(below[:-1])).astype(np.int64)
    left, right = below[crossings], below[crossings + 1]
    share = left / (left - right)
    at_crossing = (1.0 - share) * above[crossings] + share * above[crossings + 1]
    return SingularSet(
        crossings,
        float(np.abs(below).min() / _rms(below)),
        float(np.median(np.abs(at_crossing)) / _rms(above)) if crossings.size else 0.0,
    )


def _rms(values: Sequence[float] | FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) or 1.0
