"""What a fit that is still searching would say if it had to end now: the best equation so far, and where it stands.

The search works on a stretch of the record; its path ends with a state there, from which the equation can be run ahead
over samples that it has not seen (docs/mathematics.md §4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.equations.equation import Equation
from jetode.integration.forecast import Forecast, forecast
from jetode.joint.candidates import Found
from jetode.joint.path import Identified
from jetode.joint.problem import Prepared
from jetode.joint.progress import WithModel
from jetode.joint.shooting.gaussnewton import path_states
from jetode.support.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Interim:
    """The best ``equation`` so far in the record's units, and its ``state`` at ``sample`` of record number ``record``
    (of those that are fitted: after decimation), the last one that the search used; ``spread``: std of each coordinate.
    """

    equation: Equation
    record: int
    sample: int
    state: FloatArray
    spread: FloatArray

    def forecast(self, horizon: float, dt: float) -> Forecast:
        """The equation run ahead from where the search ended."""
        return forecast(self.equation.field, self.state, self.spread, horizon, dt, rtol=1e-6)


class Improved(WithModel):
    """The name of a stage that has just found a better model, with that model."""

    def __new__(cls, stage: str, best: Interim) -> Improved:
        """``stage`` with ``best``."""
        said = super().__new__(cls, stage)
        said.best = best
        return said

    best: Interim


def improved(stage: str, found: Found, prepared: Prepared) -> WithModel:
    """The stage with the best model of ``found``; only its name where there is none that could be written down."""
    best = next((c for c in found.candidates if c.fit is not None and np.isfinite(c.cost)), None)
    if best is None or best.fit is None:
        return WithModel(stage)
    model = Identified(best.fit.terms, prepared.amplitude, prepared.time, prepared.sigma, np.zeros((0, 0)))
    states = model.physical(path_states(best.fit, found.data))
    if not np.isfinite(states).all():
        return WithModel(stage)
    record, sample = _place(prepared, found.data.y.size - 1)
    return Improved(stage, Interim(model.equation, record, sample, states[-1], states.std(axis=0)))


def _place(prepared: Prepared, at: int) -> tuple[int, int]:
    """(record, sample) of sample ``at`` of the pieces laid end to end."""
    for piece, where in zip(prepared.pieces, prepared.jets.pieces(), strict=True):
        if at < where.stop:
            return piece.record, piece.start + at - where.start
    raise IndexError(at)
