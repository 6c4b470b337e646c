"""The sheared gauge of a closure without a pole (docs/mathematics.md §3, §4): u0' = α u0 + x instead of u0' = u1.

What is recorded may only follow the coordinate that has a simple law, as a membrane's recovery follows its voltage:
over u0 and u1 such a law is a dense polynomial of u1 − α u0.  A dense library is closed under this shear, so that the
coefficients of the fitted P are polynomials of α; where one of them vanishes many do, if there is such a coordinate,
and the quadratic model of the cost predicts the BIC of each before anything is refitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.polynomial import chebyshev

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, evaluate
from jetode.joint.candidates import Interrupt
from jetode.joint.forms.base import Candidate, Form
from jetode.joint.parts import equation_of
from jetode.joint.search_settings import DECISION
from jetode.joint.shooting.annealing import anneal, rescale_hidden
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.sparsest_gauge import LARGEST, predicted
from jetode.joint.term_selection import COMPARE, eliminate
from jetode.support.arrays import FloatArray

ORDER = 3  # of the forms whose first row may be other than u0' = u1: chains
LEAST = 1e-3  # of α: a smaller one changes nothing that a fit could tell
REAL = 1e-6  # imaginary part of a root that is real but for rounding
Gauge = tuple[int, float, dict[Exponents, float]]


def sheared(equation: Equation, alpha: float) -> tuple[Equation, list[Gauge]]:
    """A closure without a pole in x = u1 − α u0, the coordinates after it rates of the ones before up to a factor; and
    the changes of coordinates j that lead there, x_j → scale x_j + g."""
    gauges: list[Gauge] = [(1, 1.0, {(1,): -alpha})]
    moved = equation.changed(*gauges[0])
    for j in range(2, equation.dimension):
        gauges.append((j, *moved.gauge(j)))
        moved = moved.changed(*gauges[-1])
    return moved, gauges


def shears(equation: Equation, terms: tuple[Exponents, ...]) -> list[tuple[float, Exponents]]:
    """Every α with which a term of P vanishes, and that term."""
    degree = 2 + max(map(sum, terms))  # w brings two powers of α, as each of its rates does
    nodes = chebyshev.chebpts1(degree + 1)
    parts = [sheared(equation, LARGEST * x)[0].parts()["P"] for x in nodes]
    values = np.array([[part.get(e, 0.0) for e in terms] for part in parts])
    series = np.linalg.solve(chebyshev.chebvander(nodes, degree), values)
    out = []
    for e, one in zip(terms, series.T, strict=True):
        kept = chebyshev.chebtrim(one, REAL * float(np.abs(one).max()))
        roots = chebyshev.chebroots(kept) if kept.size > 1 else np.empty(0)
        real = roots[(np.abs(roots.imag) < REAL) & (np.abs(roots.real) < 1.0)].real * LARGEST
        out += [(float(alpha), e) for alpha in real if abs(alpha) > LEAST]
    return out


def sheared_fits(form: Form, fit: Fit) -> Iterator[tuple[Form, Fit]]:
    """The same fit in every sheared gauge in which a term of P vanishes, α free instead of that.  The origin of x is a
    parameter, as a pole is, and no term that could be removed: P keeps its constant."""
    equation, big_p, origin = equation_of(fit.terms), form["P"], (0,) * form.order
    for alpha, gone in shears(equation, tuple(e for e in big_p if any(e))):
        moved, gauges = sheared(equation, alpha)
        other = form.with_parts(f0=((1,),), c=((0,),), P=tuple(e for e in big_p if e != gone))
        other = replace(other, required=other.required | {("P", origin)})
        yield other, rescale_hidden(replace(fit, terms=other.terms(moved), states=moved_states(fit.states, gauges)))


def moved_states(states: FloatArray, gauges: list[Gauge]) -> FloatArray:
    """States after changes of coordinates."""
    out = states.copy()
    for j, scale, g in gauges:
        out[:, j] = scale * out[:, j] + evaluate(g, out[:, :j])
    return out


def in_sheared_gauge(
    data: Data, dense: Candidate, chosen: Candidate, price: float, interrupt: Interrupt
) -> Candidate | None:
    """A closure without a pole in the sheared gauge with the lowest predicted BIC, its terms selected; None where what
    was ``chosen`` of its terms does not follow the record or has few terms already, or has fewer than that, and for
    orders of which no form has such a first row."""
    assert dense.fit is not None and chosen.fit is not None
    if dense.form.order != ORDER:
        return None
    count, n = int(chosen.fit.terms.free.sum()), data.n_samples
    if count <= DECISION.few_terms or chosen.cost > DECISION.satisfying(n) * n or interrupt():
        return None
    tight = anneal(data, dense.fit.terms, dense.fit.states, COMPARE, interrupt)
    if not np.isfinite(tight.cost):
        return None
    likely = min(
        ((*predicted(data, *one, price), *one) for one in sheared_fits(dense.form, tight)),
        key=lambda one: one[0],
        default=None,
    )
    if likely is None or likely[1] >= count:
        return None
    *_, form, fit = likely
    again = eliminate(data, fit.terms, fit, form.protected(fit.terms), price, interrupt)
    if int(again.fit.terms.free.sum()) >= count or again.bic >= chosen.bic:
        return None
    # of few terms α is no gauge, and the one that it made vanish is one more that they lack
    return replace(dense, form=form.with_parts(P=dense.form["P"]), fit=again.fit, bic=again.bic)
