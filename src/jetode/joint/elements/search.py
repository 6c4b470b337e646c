"""Equations with functions (docs/mathematics.md §8.4): those that the weak form shows, and sharp ones that it hides."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from jetode.joint.candidates import Found, Interrupt, Progress, by_bic
from jetode.joint.elements.naming import Functions, search_elements
from jetode.joint.elements.sharp import sharp_exponentials
from jetode.joint.problem import Prepared
from jetode.joint.progress import renewed
from jetode.joint.stepping import kinked
from jetode.joint.unscanned import compared_on


def names_a_function(named: Found | None) -> TypeGuard[Found]:
    """Whether an equation with a function is the best and satisfies."""
    return named is not None and bool(named.candidates[0].form.elements) and named.satisfies()


def search_functions(
    prepared: Prepared, order: int, functions: Functions, interrupt: Interrupt, progress: Progress
) -> Found | None:
    """Equations with functions of one coordinate that follow the record; a sharp exponential where none satisfies, and
    beside a kink that could imitate one."""
    named = search_elements(compared_on(prepared, order, fine=True), order, functions, interrupt, progress)
    satisfies = names_a_function(named)
    if named is not None and satisfies and not _has_kink(named):
        return named
    sharp = sharp_exponentials(prepared, order, functions, renewed(interrupt), progress, certain=satisfies)
    if sharp is None or named is None:
        return sharp or named
    likelier = min(sharp, named, key=lambda found: found.candidates[0].bic)
    return replace(likelier, candidates=tuple(sorted((*sharp.candidates, *named.candidates), key=by_bic)))


def _has_kink(named: Found) -> bool:
    """Whether the function of the best has a kink."""
    fit = named.candidates[0].fit
    return fit is not None and kinked(fit.terms)
