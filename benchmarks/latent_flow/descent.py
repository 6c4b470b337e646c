"""Shooting problems of latent flows, and their descent in the whitened gauge (docs/mathematics.md (4.1))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from jetode.joint.problem import CLEAN_SIGMA, CLEAN_STEP, NODE
from jetode.joint.shooting.annealing import Schedule
from jetode.joint.shooting.gaussnewton import Data, Fit, minimise
from jetode.joint.shooting.layout import RK4, RK8, Terms, make_layout
from jetode.support.arrays import FloatArray
from latent_flow.gauge import whitened

STEP = 0.1  # tc: of the Runge–Kutta method of order 4

Interrupt = Callable[[], bool]


def problem(y: FloatArray, present: FloatArray, lengths: Sequence[int], spacing: float, sigma: float) -> Data:
    """Samples y that count by ``present``, in pieces; every sample ends a step, since the slope of the signal is no
    coordinate that could interpolate it."""
    fine = sigma < CLEAN_SIGMA
    layout = make_layout(lengths, spacing, CLEAN_STEP if fine else STEP, NODE, interpolate=False)
    return Data(y, present / sigma**2, layout, RK8 if fine else RK4)


def descend(data: Data, terms: Terms, states: FloatArray, schedule: Schedule, interrupt: Interrupt) -> Fit | None:
    """Down the levels, whitened after each; None where the path is lost."""
    fit = None
    for q in schedule.levels:
        fit = minimise(data, terms, states, q, schedule.iterations, interrupt=interrupt)
        if not np.isfinite(fit.cost):
            return None
        fit = whitened(fit)
        terms, states = fit.terms, fit.states
    return fit


def follow(data: Data, terms: Terms, states: FloatArray, schedule: Schedule) -> Fit:
    """The path alone, with the coefficients as they are."""
    fixed = replace(terms, free=np.zeros_like(terms.free))
    fit = minimise(data, fixed, states, schedule.levels[0], schedule.iterations)
    for q in schedule.levels[1:]:
        fit = minimise(data, fixed, fit.states, q, schedule.iterations)
    return fit
