"""Does a fit need terms beyond its own (score, or Lagrange-multiplier, test)?

At a fitted point the quadratic model of the cost in a larger library predicts by how much all absent terms together
would lower it.  For a closure that states the dynamics this is χ² distributed with as many degrees of freedom as
there are absent terms; one that imitates them leaves more.  χ² of the residuals is far less sensitive: it is spread
over every sample.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.polynomials import total_degree_exponents
from jetode.joint.forms.base import Form, hidden_library
from jetode.joint.parts import equation_of
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.term_selection import expand, quadratic_model

LARGER_DEGREE = 3  # of the library that is tried, or one more than the fit's own


def larger_form(form: Form, degree: int) -> Form:
    """The form with every monomial of P up to ``degree`` (linear in w) and, with a pole, of a reduced modulo D."""
    n = form.order
    big_p = tuple(dict.fromkeys((*form["P"], *hidden_library(n, degree))))
    if not form.has_pole:
        return form.with_parts(P=big_p)
    rest = [i for i in range(n - 1) if not form.lead[i]]
    a = tuple(dict.fromkeys((*form["a"], *total_degree_exponents(n - 1, degree, rest))))
    return form.with_parts(a=a, P=big_p)


def score_test(data: Data, form: Form, fit: Fit) -> float:
    """The predicted fall of the cost for the k absent terms of a larger library, which is χ² with k degrees of freedom
    for a right closure, as a standard normal variable (Wilson–Hilferty); NaN where the expansion is not finite.  The
    form has to be in the canonical gauge."""
    own = max((sum(e) for row, e in zip(fit.terms.rows, fit.terms.exponents, strict=True) if row == form.order - 1),
              default=0)  # fmt: skip
    larger = larger_form(form, max(LARGER_DEGREE, own + 1))
    full = larger.terms(equation_of(fit.terms))
    model = quadratic_model(data, full, fit)
    present = expand(full, fit.terms)[0]
    count = int(np.count_nonzero(~present[full.free]))
    if model is None or count == 0:
        return float("nan")
    if form.elements:  # beside a function, powers of its coordinate say nearly the same: only what can be told counts
        fall, count = model.score(present[full.free])
    else:
        fall = model.restricted_cost(present[full.free])
    width = 2.0 / (9.0 * count)
    return float((np.cbrt(max(fall, 0.0) / count) - (1.0 - width)) / np.sqrt(width))
