"""Does another term in the place of one fit as well (docs/mathematics.md (6.8))?

Leaving a term out has a price in its favour, exchanging one for another has none: where two say nearly the same on the
record, noise has chosen.  The quadratic model of the cost proposes exchanges, and those that look near are refitted:
where the terms are nearly dependent the model's small differences are rounding.
"""

from __future__ import annotations

from jetode.joint.candidates import Interrupt
from jetode.joint.forms.base import Form
from jetode.joint.parts import equation_of
from jetode.joint.search_settings import DECISION
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.term_selection import COMPARE, expand, quadratic_model

HOPELESS = 50.0  # times what is asked for: an exchange that costs so much more on the way is given up


def nearest_exchange(
    data: Data, form: Form, fit: Fit, interrupt: Interrupt, least: float = DECISION.min_exchange
) -> float:
    """The smallest rise of the cost over exchanging one term of a fit for another of its form: by a refit where it may
    be below ``least``, of which the first that is will do, else as predicted."""
    full = form.terms(equation_of(fit.terms))
    present, coefficients = expand(full, fit.terms)
    model = quadratic_model(data, full, fit)
    if model is None:
        return 0.0
    free, nearest = full.free, float("inf")
    for predicted, keep in model.exchanges(present[free], form.protected(full)[free]):
        if predicted >= least or interrupt():
            return min(nearest, predicted)
        kept = ~free
        kept[free] = keep
        terms = full.with_coefficients(coefficients).select(kept)
        other = anneal(data, terms, fit.states, COMPARE, interrupt, ceiling=fit.cost + HOPELESS * least)
        nearest = min(nearest, other.cost - fit.cost)
        if nearest < least:
            break
    return nearest
