"""An equation fitted again to more samples (docs/mathematics.md §4), from its coefficients, at its final continuity.

The path is estimated with the old coefficients, then both are free at the last two levels of q.  The form and its terms
stay as they are, so there is no search: the cost is that of a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.forms.base import PRIOR
from jetode.joint.own_noise import POLISH_ITERATIONS, covariance_of, refine_sigma
from jetode.joint.parts import released
from jetode.joint.path import Identified, StateFit, describe, estimate_path, final_q
from jetode.joint.problem import SMALLEST_SIGMA
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.records.series import Series
from jetode.signal.scales import Unsuitable
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Refit:
    """The equation with its new coefficients and its paths."""

    identified: Identified
    paths: tuple[StateFit, ...]


def refit(model: Identified, records: Sequence[Series]) -> Refit | None:
    """``model`` on ``records``, which hold its own and more samples; None where no path can be carried through them."""
    lengths = [record.n for record in records]
    try:
        prepared = model.prepared(records)
    except Unsuitable as reason:
        raise InputError(str(reason)) from None
    data, path = estimate_path(model, prepared)
    if not np.isfinite(path.cost):
        return None
    terms = released(model.terms, 1e-3 * PRIOR.ridge)
    last = final_q(model.sigma)
    fit = anneal(data, terms, path.states, Schedule((30.0 * last, last), POLISH_ITERATIONS))
    covariance = covariance_of(data, fit)
    if not (np.isfinite(fit.cost) and np.isfinite(covariance).all()):
        return None
    sigma = max(refine_sigma(data, fit, model.sigma), SMALLEST_SIGMA)
    found = replace(model, terms=fit.terms, sigma=sigma, covariance=covariance * (sigma / model.sigma) ** 2)
    return Refit(found, tuple(describe(found, prepared, data, fit, lengths)))
