"""A model beside the true regular form of its channel: form, terms, coefficients (docs/mathematics.md (5.4))."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from jetode.equations.closure import relative_l2
from jetode.equations.polynomials import Polynomial, graded_order
from jetode.equations.regular import RegularClosure
from jetode.reconstruction.model import Model

Term = tuple[str, tuple[int, ...]]  # part and powers

COEFFICIENT, ERRORS = 0.1, 5.0  # a coefficient is right within 10 % or 5 standard errors


@dataclass(frozen=True)
class Comparison:
    """Form: the monomials of D and c (their constants are parameters).  Terms: those of the rest too.  Right: and every
    coefficient within 10 % (those constants: within a tenth of the leading term's size) or 5 standard errors.
    ``missing`` and ``extra`` are terms such as "P u0 w"."""

    form: bool
    terms: bool
    right: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    error: float


def compare(model: Model, truth: RegularClosure, tc: float) -> Comparison:
    """A model beside the true regular form, both brought to the canonical gauge.

    A model found with as few coefficients as ``truth`` has in its own gauge may show further canonical terms that are
    0 within their errors: there the true coefficients cancel exactly and estimated ones cannot.
    """
    true, size = truth.canonical(), model.record.std
    closure = model.dynamics.closure
    if model.elements or closure is None:  # functions where the truth has none; a memory; forecasts alone
        return _other(model)
    error = relative_l2(closure.rescaled(1 / size, 1 / tc), true.rational().rescaled(1 / size, 1 / tc))[0]
    if model.regular is None or model.order != true.order:
        return Comparison(False, False, False, (), (), error)
    found = model.regular.canonical()
    ours, theirs = _terms(found), _terms(true)
    errors = {(c.part, c.powers): c.standard_error for c in model.coefficients()}
    form = _monomials(found.D) == _monomials(true.D) and _monomials(found.c) == _monomials(true.c)
    missing, extra = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
    if _frugal(model, truth):
        extra = {k for k in extra if not abs(ours[k]) <= ERRORS * errors.get(k, 0.0)}
    terms = form and not missing and not extra
    right = terms and _pole_is_right(found, true, (size, tc), errors)
    right = right and all(
        abs(ours[key] - value) <= np.fmax(COEFFICIENT * abs(value), ERRORS * errors.get(key, 0.0))
        for key, value in theirs.items()
    )
    lacking, beyond = _named(missing, true.names()), _named(extra, found.names())
    return Comparison(form, terms, bool(right), lacking, beyond, error)


def _other(model: Model) -> Comparison:
    """Of another kind than the truth."""
    return Comparison(False, False, False, (), tuple(f"{e.name}({e.variable})" for e in model.elements), np.nan)


def _frugal(model: Model, truth: RegularClosure) -> bool:
    """Whether a joint fit has no more coefficients than the truth in its own gauge."""
    if model.identified is None:
        return False
    most = sum(len(part) for part in (truth.a, truth.D, truth.P, truth.f0, truth.c if truth.is_chain else ()))
    return int(np.count_nonzero(model.identified.terms.free)) <= most


def _pole_is_right(
    found: RegularClosure, true: RegularClosure, units: tuple[float, float], errors: Mapping[Term, float]
) -> bool:
    """Whether the constant of D, or of a chain's c, is within a tenth of the leading term's size, or 5 standard
    errors."""
    size, tc = units
    key: Term = ("c", (0,)) if true.is_chain else ("D", (0,) * (true.order - 1))
    if true.is_chain:
        constants = found.c.get((0,), 0.0), true.c.get((0,), 0.0)
        unit = size ** max(e[0] for e in true.c)
    elif any(true.lead):
        constants = found.D.get(key[1], 0.0), true.D.get(key[1], 0.0)
        unit = float(np.prod([(size / tc**i) ** k for i, k in enumerate(true.lead)]))
    else:
        return True
    return bool(abs(constants[0] - constants[1]) <= np.fmax(COEFFICIENT * unit, ERRORS * errors.get(key, 0.0)))


def _terms(regular: RegularClosure) -> dict[Term, float]:
    out = {("a", e): c for e, c in regular.a.items()} | {("P", e): c for e, c in regular.P.items()}
    out |= {("f0", e): c for e, c in regular.f0.items()}
    return out | {("D", e): c for e, c in regular.D.items() if any(e) and e != regular.lead}


def _monomials(big_d: Polynomial) -> set[tuple[int, ...]]:
    return {e for e in big_d if any(e)}


def _named(keys: Iterable[tuple[str, tuple[int, ...]]], names: tuple[str, ...]) -> tuple[str, ...]:
    def name(e: tuple[int, ...]) -> str:
        factors = [s if k == 1 else f"{s}^{k}" for s, k in zip(names, e, strict=False) if k]
        return "*".join(factors) or "1"

    return tuple(f"{part} {name(e)}" for part, e in sorted(keys, key=lambda k: (k[0], graded_order(k[1]))))
