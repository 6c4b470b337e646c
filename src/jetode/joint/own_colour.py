"""The colour of the noise before anything is selected (docs/mathematics.md (4.18)): by what a first path leaves.

The spectrum above the motion's frequencies tells that noise is coloured, and its φ roughly.  Tests for terms are made
at the motion's own frequencies, where the noise goes with 1/(1 − φ)²: there the residuals of a path that follows the
record tell it better, within what the spectrum allows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode.joint.candidates import Interrupt
from jetode.joint.forms.pole_free import candidate
from jetode.joint.noise import Noise
from jetode.joint.own_noise import own_correlation
from jetode.joint.problem import Prepared
from jetode.joint.request import Request
from jetode.joint.scan import begun
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.joint.unscanned import compared_on
from jetode.signal.colour import WHITE, Colour
from jetode.support.arrays import FloatArray

DEGREES = (2, 3)  # of the equations without a pole that are tried for a path
ROUNDS = 3  # φ moves the path, and the path φ
SETTLED = 0.1  # relative change of 1 − φ that no test would notice


def with_own_colour(request: Request, order: int, interrupt: Interrupt) -> Request:
    """The request with the colour that paths of an order leave, where one follows the record."""
    prepared = request.prepared(order)
    colour = prepared.colour
    if colour == WHITE:
        return request
    for _ in range(ROUNDS):
        moved = _left_by_a_path(replace(prepared, noise=Noise(colour)), order, interrupt)
        settled = moved is None or abs(moved.correlation - colour.correlation) < SETTLED * (1.0 - colour.correlation)
        colour = moved or colour
        if settled or interrupt():
            break
    return replace(request, noise=Noise(colour), begun={})


def _left_by_a_path(prepared: Prepared, order: int, interrupt: Interrupt) -> Colour | None:
    """The colour of what the first path that follows leaves; None where none does."""
    problem = compared_on(prepared, order)
    for degree in DEGREES:
        fit = begun(problem, [candidate(order, degree)], interrupt)[0].fit
        if fit is not None and np.isfinite(fit.cost):
            return prepared.colour.moved(own_correlation(_residuals(problem.data, fit)))
    return None


def _residuals(data: Data, fit: Fit) -> FloatArray:
    """What a path leaves of the samples; NaN where there are none."""
    return np.where(data.weight > 0.0, data.y - path_states(fit, data)[:, 0], np.nan)
