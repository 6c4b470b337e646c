"""What a user knows of the equation: terms that must be there, must not, or have known coefficients, and u → −u.

Coefficients are those of the regular closure in the record's units and the canonical gauge (D's leading coefficient 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jetode.equations.polynomials import Exponents, Polynomial
from jetode.equations.regular import RegularClosure
from jetode.joint.forms.base import Form
from jetode.joint.parts import Term
from jetode.support.errors import InputError

PARTS = ("a", "D", "P")


@dataclass(frozen=True)
class Constraints:
    """Required, forbidden and fixed terms as (part, exponents); ``symmetric`` imposes u → −u."""

    required: frozenset[Term] = frozenset()
    forbidden: frozenset[Term] = frozenset()
    fixed: tuple[tuple[Term, float], ...] = ()
    symmetric: bool = False

    @classmethod
    def of(
        cls,
        order: int,
        required: Mapping[str, Iterable[Exponents]] | None = None,
        forbidden: Mapping[str, Iterable[Exponents]] | None = None,
        fixed: Mapping[str, Mapping[Exponents, float]] | None = None,
        symmetric: bool = False,
    ) -> Constraints:
        """Checked at the edge: parts are a, D, P; exponents fit the order; no term is wanted and unwanted."""
        needed = frozenset(_terms("required", required or {}, order))
        unwanted = frozenset(_terms("forbidden", forbidden or {}, order))
        known = tuple(
            (term, float(fixed[term[0]][term[1]])) for term in _terms("fixed", fixed or {}, order) if fixed is not None
        )
        both = (needed | {t for t, _ in known}) & unwanted
        if both:
            part, powers = next(iter(both))
            raise InputError(f"A term must not be both wanted and forbidden. Got {powers} of {part} in both.")
        return cls(needed, unwanted, known, bool(symmetric))

    def apply(self, form: Form, amplitude: float, time: float) -> Form | None:
        """The form with these constraints in the dimensionless coordinates of a record; None where they clash, and for
        a form with other coordinates than the u0 … u_{n−2}, w they speak of."""
        if not form.constrainable:
            return form if self == Constraints() else None
        parts = self._with_wanted(form)
        if parts is None or ("D", form.lead) in self.forbidden:
            return None
        kept = {part: [e for e in exponents if (part, e) not in self.forbidden] for part, exponents in parts.items()}
        if self.symmetric:
            kept = _symmetric(kept, form.lead)
        fixed = tuple((term, _dimensionless(term, value, form, amplitude, time)) for term, value in self.fixed)
        allowed = form.with_parts(a=tuple(kept["a"]), D=(form.lead, *kept["D"]), P=tuple(kept["P"]))
        return replace(allowed, required=self.required, fixed=fixed)

    def _with_wanted(self, form: Form) -> dict[str, list[Exponents]] | None:
        """The monomials of the form and those that are required or fixed; None where its gauge has no place for one."""
        parts: dict[str, list[Exponents]] = {"a": list(form["a"]), "D": list(form["D"][1:]), "P": list(form["P"])}
        for part, powers in (*self.required, *(term for term, _ in self.fixed)):
            if part == "D" and powers == form.lead:
                continue
            if part in ("a", "D") and _divides(form.lead, powers) and any(form.lead):
                return None
            if powers not in parts[part]:
                parts[part].append(powers)
        return parts


def _terms(name: str, given: Mapping[str, Any], order: int) -> list[Term]:
    out: list[Term] = []
    for part, exponents in given.items():
        if part not in PARTS:
            raise InputError(f"The '{name}' parameter must have keys out of a, D, P. Got {part!r} instead.")
        length = order if part == "P" else order - 1
        for powers in exponents:
            if len(tuple(powers)) != length or any(int(k) != k or k < 0 for k in powers):
                raise InputError(
                    f"The '{name}' parameter must give exponents of {part} as {length} integers ≥ 0. "
                    f"Got {powers} instead."
                )
            out.append((part, tuple(int(k) for k in powers)))
    return out


def _divides(lead: Exponents, powers: Exponents) -> bool:
    return all(i <= j for i, j in zip(lead, powers, strict=True))


def _symmetric(parts: dict[str, list[Exponents]], lead: Exponents) -> dict[str, list[Exponents]]:
    """Terms allowed by u → −u with w → w (D odd) or w → −w (D even)."""
    odd = sum(lead) % 2
    return {
        "a": [e for e in parts["a"] if sum(e) % 2],
        "D": [e for e in parts["D"] if sum(e) % 2 == odd],
        "P": [e for e in parts["P"] if (sum(e[:-1]) % 2 == 0 if odd else sum(e) % 2 == 1)],
    }


def _dimensionless(term: Term, value: float, form: Form, amplitude: float, time: float) -> float:
    """The coefficient in dimensionless coordinates with D's leading coefficient 1."""
    part, powers = term
    polynomials: dict[str, Polynomial] = {"a": {}, "D": {form.lead: 1.0}, "P": {}}
    polynomials[part][powers] = value
    scaled = RegularClosure(polynomials["a"], polynomials["D"], polynomials["P"], form.order)
    unit = scaled.in_units(1.0 / amplitude, 1.0 / time)
    monic = unit.with_hidden_scaled(unit.D[form.lead])
    return {"a": monic.a, "D": monic.D, "P": monic.P}[part][powers]
