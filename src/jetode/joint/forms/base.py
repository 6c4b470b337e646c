"""What a form of the equation is (docs/mathematics.md §4.5): monomials per part, a start from jets, steps to climb.

A file of this package is a form: a subclass of :class:`Form` with its start, and a :class:`Family` named ``FAMILY``
that gives the candidates with which the search tries it.  Everything is dimensionless: u/std, t/tc.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.curve_basis import mode_precision
from jetode.equations.elements import Element
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Polynomial, total_degree_exponents
from jetode.equations.rows import element_of_part, is_factor_part, is_parameter_part, row_of_part
from jetode.joint.jets import Jets
from jetode.joint.parts import Term, by_row, field_terms, is_element, is_pole_constant, named
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Prior:
    """What is believed of coefficients before the fit."""

    ridge: float = 1e-4  # precision of θ ~ 0 on every dimensionless coefficient: felt where the record says nothing
    pole_hold: float = 100.0  # precision of a pole held while q is large: a tenth of a std
    element_hold: float = 1e-2  # precision of an element's parameter: a width or a kink stays within some ten std
    smoothness: float = 1e-2  # precision of a curve's smoothest mode, of unit size; of the others by their roughness


PRIOR = Prior()
Monomials = tuple[Exponents, ...]


@dataclass(frozen=True)
class Start:
    """Where the fit of a form begins: the field with its first coefficients, states at every sample, and the collapse
    quality (share of the variance of u_{n−1} near the pole that the curve leaves unexplained)."""

    terms: Terms
    states: FloatArray
    collapse: float = 0.0


@dataclass(frozen=True)
class Form:
    """Monomials that every part of the equation may have (:func:`jetode.equations.rows.part_names`); rows before the
    first part are shifts, and the first monomial of a factor (D, c) is its *lead*, with a coefficient that is fixed.

    Terms, as (part, exponents), can be ``required``, or ``fixed`` at a value that holds for D's leading coefficient 1.
    ``reach`` is by how much u0 exceeds its std: written around a far origin, a coefficient is larger by that much per
    power that its term lacks.  ``elements`` are of the terms of parts such as ``P.0``, with their parameters free but
    for those that their kind fixes; :meth:`with_element` adds one.
    """

    order: int
    parts: tuple[tuple[str, Monomials], ...]
    required: frozenset[Term] = frozenset()
    fixed: tuple[tuple[Term, float], ...] = ()
    reach: float = 1.0
    elements: tuple[Element, ...] = ()

    shows_late: ClassVar[bool] = False  # its hidden coordinates show only now and then: scanned on all that is searched
    rounds: ClassVar[bool] = False  # at the q of the selection rounding would decide its score test
    constrainable: ClassVar[bool] = True  # its coordinates are those that constraints on a, D and P speak of

    def plausible(self, equation: Equation, jets: Jets) -> bool:
        """Whether a fitted equation is still what the form is meant for."""
        return True

    def __getitem__(self, part: str) -> Monomials:
        """The monomials of a part; none where the form has no such part."""
        return dict(self.parts).get(part, ())

    def with_parts(self, **monomials: Monomials) -> Self:
        """The form with other monomials in some parts."""
        changed = dict(self.parts) | monomials
        return replace(self, parts=tuple((part, changed[part]) for part in by_row(changed, self.order)))

    def with_element(self, element: Element, part: str, *monomials: Exponents) -> Self:
        """The form with one more element, times these monomials in a part."""
        m = len(self.elements)
        added: dict[str, Monomials] = {f"{part}.{m}": monomials or ((0,) * row_width(part, self.order),)}
        if element.parameters:
            added[f"e{m}"] = tuple((i,) for i in range(len(element.parameters)))
        return replace(self, elements=(*self.elements, element)).with_parts(**added)

    @property
    def leads(self) -> dict[str, Exponents]:
        """The lead of every factor."""
        return {part: monomials[0] for part, monomials in self.parts if is_factor_part(part) and "." not in part}

    @property
    def lead(self) -> Exponents:
        """D's lead."""
        return self["D"][0]

    @property
    def has_pole(self) -> bool:
        """Whether D can vanish."""
        return any(any(e) for e in self["D"][:1])

    def terms(self, equation: Equation, pole_hold: float = 0.0) -> Terms:
        """The vector field with the coefficients of ``equation`` (0 where it has none); the leads are fixed.

        ``pole_hold`` is the precision with which the other coefficients of factors, relative to the lead, are held
        where they are: with every term in the library and q still large, the pole would run away.
        """
        values_of, leads = self._parameters() | equation.parts() | equation.element_parts(), self.leads
        lead = values_of.get("D", {}).get(leads.get("D", ()), 1.0)
        known = {term: value * _hidden_factor(term, lead) for term, value in self.fixed}
        keys = [(part, e) for part, monomials in self.parts for e in monomials]
        values = [known.get((part, e), values_of.get(part, {}).get(e, 0.0)) for part, e in keys]
        free = np.array([(part, e) not in known and leads.get(part) != e for part, e in keys])
        mean = np.zeros(len(keys))
        degrees = {part: max(map(sum, monomials), default=0) for part, monomials in self.parts}
        precision = np.array([PRIOR.ridge / self.reach ** (2 * (degrees[part] - sum(e))) for part, e in keys])
        size = {part: values[keys.index((part, e))] for part, e in leads.items()}
        for j, (part, e) in enumerate(keys):
            if pole_hold and part in size and e != leads[part]:
                mean[j], precision[j] = values[j], pole_hold / size[part] ** 2
            if is_parameter_part(part):
                estimated, mean[j], precision[j] = _parameter_prior(self.elements[int(part[1:])], e[0], values[j])
                free[j] &= estimated
        terms = field_terms(keys, values, self.order, self.elements)
        return replace(terms, free=free & ~self._gains_held(keys), mean=mean, precision=precision)

    def _parameters(self) -> dict[str, Polynomial]:
        """The parameters of the form's elements, where an equation has no others."""
        return {f"e{m}": {(i,): p for i, p in enumerate(one.parameters)} for m, one in enumerate(self.elements)}

    def _gains_held(self, keys: Sequence[Term]) -> BoolArray:
        """Marks the terms of curves, whose size is in their modes."""
        acting = [element_of_part(part) for part, _ in keys]
        return np.array([m is not None and self.elements[m].kind == "curve" for m in acting], dtype=bool)

    def protected(self, terms: Terms) -> BoolArray:
        """Marks the terms that term selection must keep: the pole's constant, elements, what the user requires."""
        required = np.array([term in self.required for term in named(terms)])
        return is_pole_constant(terms) | is_element(terms) | required


def _hidden_factor(term: Term, lead: float) -> float:
    """How a coefficient changes when D's leading coefficient becomes ``lead``, i.e. w is divided by it."""
    part, e = term
    return {"D": lead, "P": lead ** (e[-1] - 1)}.get(part, 1.0)


def _parameter_prior(element: Element, i: int, value: float) -> tuple[bool, float, float]:
    """Whether a parameter is free, and the mean and precision of its prior."""
    if element.kind == "curve":
        k = i - element.info.fixed
        return k >= 0, 0.0, float(mode_precision(PRIOR.smoothness)[k]) if k >= 0 else 0.0
    return i >= element.info.fixed, value, PRIOR.element_hold


@dataclass(frozen=True)
class Searched(Form, ABC):
    """A form that the search can begin with; others are written down around a fit that is there already."""

    @abstractmethod
    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """Where the fit begins, from smoothed jets and a guess of the factor; hidden coordinates at std 1."""


@dataclass(frozen=True)
class Candidate:
    """A form, a guess of the factor that its start needs, and, once fitted, the fit and its BIC.

    The factor is ``fixed`` during the first look, or free from the start; then it is held with precision ``hold``.
    """

    form: Form
    guess: Polynomial
    hold: float = PRIOR.pole_hold
    fixed: bool = True
    fit: Fit | None = None
    bic: float = np.inf

    def start(self, jets: Jets) -> Start:
        """Where its fit begins."""
        assert isinstance(self.form, Searched)
        return self.form.start(jets, self.guess)

    @property
    def cost(self) -> float:
        """Cost of the fit (inf where there is none)."""
        return np.inf if self.fit is None else self.fit.cost

    @property
    def free(self) -> int:
        """Free coefficients of the fit (0 where there is none)."""
        return 0 if self.fit is None else int(self.fit.terms.free.sum())


@dataclass(frozen=True)
class Step:
    """Candidates of one form at one height of the ladder: rungs are climbed by ``level``, the freest forms last.

    ``scanned`` candidates are many guesses of one form, of which a first look keeps a few; the others are fitted
    from the start.
    """

    level: float
    name: str
    candidates: Callable[[Jets], list[Candidate]]
    scanned: bool = True


@dataclass(frozen=True)
class Family:
    """A form as the search sees it: its steps for an order, and, where it can be read off the rational closure of a
    clean record, how (:class:`Start` with its form, or None where the closure is not of this form)."""

    steps: Callable[[int], tuple[Step, ...]]
    from_rational: Callable[[Closure, Jets], tuple[Form, Start] | None] | None = None


def row_width(part: str, order: int) -> int:
    """Over how many coordinates a part is a polynomial."""
    row = row_of_part(part, order)
    return order if part[0] == "P" else row + 1


def hidden_library(order: int, degree: int, hidden_degree: int = 1) -> Monomials:
    """Monomials of total degree ≤ ``degree`` that are at most of ``hidden_degree`` in the last coordinate."""
    return tuple(e for e in total_degree_exponents(order, degree) if e[-1] <= hidden_degree)
