"""How firmly the record asks for each term: selection repeated on resampled stretches (docs/mathematics.md §4).

The gradient r of the reduced cost is a sum over the samples, r = Σ_s r_s over stretches of the record, each r_s with
the whole path behind it.  Stretches drawn with replacement, m_s times each, give Σ_s m_s r_s with the same information
F: a resampled quadratic model, on which the support with the lowest BIC is found again by algebra, without a refit.
A term's stability is the share of resamples that keep it (bootstrap inclusion frequency); the scatter of the r_s holds
whatever the residuals do, whether or not they are white.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from jetode.equations.polynomials import Exponents
from jetode.joint.forms.base import Form
from jetode.joint.parts import equation_of, named
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation
from jetode.joint.shooting.layout import Terms
from jetode.joint.term_selection import Quadratic, expand
from jetode.support.arrays import FloatArray

STRETCHES = 20
RESAMPLES = 100


@dataclass(frozen=True)
class TermStability:
    """Share of the resamples whose support has this term of a part (P, D, a …); ``chosen``: the fit has it."""

    part: str
    powers: Exponents
    share: float
    chosen: bool


def stretch(data: Data, first: int, last: int) -> Data:
    """Nodes ``first`` to ``last``: the sample of the last node belongs to the next stretch, except at the end and under
    coloured noise."""
    layout = data.layout
    begin, end = int(layout.first[first]), int(layout.first[last])
    weight = data.weight[begin : end + 1].copy()
    spans = layout.spans[first : last + 1].copy()
    if last < layout.first.size - 1:
        weight[-1] *= data.colour is not None
        spans[-1] = 0
    part = layout._replace(first=layout.first[first : last + 1] - begin, spans=spans)
    side, colour = (None if each is None else each[begin : end + 1] for each in (data.side, data.colour))
    return replace(data, y=data.y[begin : end + 1], weight=weight, layout=part, side=side, colour=colour)


def contributions(data: Data, full: Terms, fit: Fit, count: int = STRETCHES) -> tuple[FloatArray, FloatArray]:
    """(F, r_s): the information on all free terms of ``full``, and the gradients of ``count`` stretches of equal
    length, both with the node states eliminated and without the prior."""
    full = replace(full, precision=np.zeros_like(full.precision))
    coefficients = expand(full, fit.terms)[1]
    whole = Linearisation(data, full)
    whole.at(fit.states, coefficients)
    gradient, defects = whole.gradient.copy(), whole.defects.copy()
    edges = np.unique(np.linspace(0, data.layout.first.size - 1, count + 1).round().astype(int))
    reduced = []
    for first, last in pairwise(edges):
        part = Linearisation(stretch(data, first, last), full)
        part.at(fit.states[first : last + 1], coefficients)
        mine = slice(first, last + (last == edges[-1]))
        whole.gradient[:], whole.defects[:], whole.arrow_gradient[:] = 0.0, 0.0, part.arrow_gradient
        whole.gradient[mine], whole.defects[mine] = gradient[mine], defects[mine]
        eliminated = whole.eliminate(fit.q, 0.0)
        reduced.append(eliminated.reduced)
    return eliminated.schur, np.array(reduced)


def term_stability(data: Data, form: Form, fit: Fit, price: float, seed: int = 0) -> tuple[TermStability, ...]:
    """The stability of every term that the form could have; () where the path cannot be linearised."""
    full = form.terms(equation_of(fit.terms))
    present, coefficients = expand(full, fit.terms)
    free, protected = full.free, form.protected(full)[full.free]
    information, gradients = contributions(data, full, fit)
    if not (np.isfinite(information).all() and np.isfinite(gradients).all()):
        return ()
    information += np.diag(full.precision[free])
    pull = full.precision[free] * (coefficients - full.mean)[free]
    rng = np.random.default_rng(seed)
    pieces = len(gradients)
    count = np.zeros(int(free.sum()))
    model = Quadratic.around(coefficients[free], information, pull)
    if model is None:
        return ()
    # the optimum is linear in the gradient: one for each stretch gives those of all resamples
    alone = [Quadratic.around(np.zeros_like(pull), information, gradient) for gradient in gradients]
    steps = np.array([one.theta for one in alone if one is not None])
    for drawn in rng.multinomial(pieces, np.full(pieces, 1.0 / pieces), RESAMPLES):
        count += model.moved(model.theta + drawn @ steps).best_support(present[free], protected, price)
    terms = [term for term, is_free in zip(named(full), free, strict=True) if is_free]
    return tuple(
        TermStability(*term, float(n) / RESAMPLES, bool(chosen))
        for term, n, chosen, held in zip(terms, count, present[free], protected, strict=True)
        if not held
    )
