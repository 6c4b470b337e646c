"""The oracle (docs/mathematics.md (5.2)): the true equations given to the same state estimate that a model has.

What it forecasts is the limit that the noise sets; a model's forecast is measured against it.  *Within* the record a
start state is estimated from the samples up to the start, *ahead* from the whole record, as a model's is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Polynomial
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.integration.forecast import RTOL, forecast
from jetode.joint.path import Identified, StateFit, fit_state, identified_from, past_state
from jetode.joint.problem import CLEAN_SIGMA, prepare
from jetode.records.series import Series
from jetode.support.arrays import FloatArray

TIGHT = 1e-12  # rtol where the samples are nearly exact: a looser one would end the forecast before the noise does
ROUNDING = 1e-9  # of a part's largest coefficient: what is smaller is 0 in the true equation


@dataclass(frozen=True, eq=False)
class Oracle:
    """The true regular closure on one record; ``sigma`` is the noise's std (None: estimated)."""

    true: RegularClosure
    record: Series
    sigma: float | None = None

    @cached_property
    def known(self) -> Identified:
        """The true equations as the state estimate sees them."""
        prepared = prepare([self.record], self.true.order, self.sigma)
        return identified_from(self.true, prepared, prepared.sigma)

    def within(self, start: int, steps: int) -> FloatArray:
        """``steps`` + 1 values from sample ``start``, its state from the samples up to it."""
        return self._run(past_state(self.known, self.record, start), steps, self.known.sigma)

    def ahead(self, steps: int) -> FloatArray:
        """The same from the last sample, its state from the whole record."""
        with np.errstate(invalid="ignore"):  # a path that runs away is a value, not a warning
            path = fit_state(self.true, self.record, self.sigma)
        return self._run(path, steps, self.known.sigma)

    def _run(self, path: StateFit, steps: int, sigma: float) -> FloatArray:
        """NaN where the path has failed."""
        if not (np.isfinite(path.states).any() and np.isfinite(path.end).all()):
            return np.full(1, np.nan)
        spread = np.nanstd(path.states, axis=0)
        rtol = TIGHT if sigma < CLEAN_SIGMA else RTOL
        dt = self.record.dt
        return forecast(self.true.field, path.end, spread, steps * dt, dt, rtol=rtol).values


def exact_regular(closure: Closure, scales: FloatArray | None = None) -> RegularClosure:
    """The regular form of an exact rational closure, free of rounding where a coefficient is 0."""
    found = regularise(closure, scales).regular
    if found is None:
        raise ValueError("an exact closure without a regular form")
    a, d, p = (_without_rounding(part) for part in (found.a, found.D, found.P))
    return RegularClosure(a, d, p, found.order)


def _without_rounding(part: Polynomial) -> Polynomial:
    least = ROUNDING * max(map(abs, part.values()), default=0.0)
    return {e: c for e, c in part.items() if abs(c) > least}
