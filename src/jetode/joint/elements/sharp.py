"""Sharp exponentials (docs/mathematics.md §8.4): diodes whose current is all in short spikes.

Smoothing blurs the spikes, so that the weak form does not see the exponential, and a path from smoothed jets misses
them.  Three coefficients are few enough for the path to be let go: where jumps of three std cost no more than the
noise, a blunt exponential alone, nothing beside it but the other derivatives, sharpens by itself while q falls.
Where a diode is, some blunt exponential carries most of what linear terms leave; in next to no other record one does,
so that these pay for a glance only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import Element
from jetode.joint.candidates import Found, Interrupt, Progress, states_for
from jetode.joint.elements.candidates import begin, weak_columns, weak_solution
from jetode.joint.elements.discover import Discovery, Suggestion
from jetode.joint.elements.fits import Fits, Named
from jetode.joint.elements.naming import Functions
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.parts import equation_of
from jetode.joint.problem import FAST_STEP, Prepared
from jetode.joint.search_settings import DECISION, REHEATS, SCAN
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.unscanned import compared_on
from jetode.support.arrays import FloatArray

KIND, ORDER = "exp", 3
LOOSE = Schedule((3.0, 2.0, 1.3, *REHEATS[-1].levels), 10)  # from a path that is let go


@dataclass(frozen=True)
class SharpSettings:
    """Numbers of the look; rates in 1/std of the coordinate."""

    # of a diode with 18 each of them had been lost at some noise
    rates: tuple[float, ...] = (6.0, 3.0, 2.0, 4.0, 2.5, 5.0, 3.5, 8.0)
    step: float = 0.01  # tc: of the look; twice that errs by half the noise where a spike rises at 27 per tc
    coordinates: tuple[int, ...] = (0, 1)  # u0 or u1 across the diode
    sides: int = 2  # of all coordinates and signs, those that carry most: without noise the right one is far ahead
    # of the norm that linear terms leave: 0.05 to 0.26 of a diode at 0 to 5 % noise, 0.68 and more of other channels
    left: float = 0.5
    certain: float = 0.25  # of the same: 0.35 and more of |x|, which a blunt exponential is like, too


SETTINGS = SharpSettings()
SIDES = [(coordinate, sign) for coordinate in SETTINGS.coordinates for sign in (1.0, -1.0)]


def sharp_exponentials(
    prepared: Prepared,
    order: int,
    functions: Functions,
    interrupt: Interrupt,
    progress: Progress,
    certain: bool = False,
) -> Found | None:
    """The linear equation with one exponential that satisfies, found without the weak form; first on a stretch.  Where
    something else does so already, only if the weak form leaves no doubt of spikes (``certain``)."""
    weak = WeakForm.of(prepared, order) if order == ORDER and KIND in functions.kinds else None
    if weak is None or interrupt():
        return None
    progress("sharp exponentials")
    discovery = Discovery.of(weak)
    suggestions = blunt_exponentials(discovery, SETTINGS.certain if certain else SETTINGS.left)
    if not suggestions:
        return None
    problem = compared_on(replace(prepared, step=FAST_STEP), order, fine=True)
    samples = min(problem.data.y.size, round(SCAN.length / prepared.jets.spacing))
    stretch = replace(prepared, step=SETTINGS.step).data(problem.sigma, samples)
    fits = Fits(problem, functions.kinds, interrupt)
    n = stretch.n_samples
    for suggestion in suggestions:
        terms, states = begin(prepared, stretch, discovery, suggestion)
        fit = anneal(stretch, terms, states, LOOSE, interrupt, ceiling=DECISION.selectable * n)
        if interrupt() or not fit.cost <= DECISION.rich * n:
            continue
        states = states_for(prepared, equation_of(fit.terms), problem.data)
        fitted = fits.fitted([(suggestion, fit.terms, states)], schedule=LOOSE)
        found = _with_names(fits, fitted)
        if found.satisfies():
            return found
    return None


def _with_names(fits: Fits, fitted: list[Named]) -> Found:
    """What was fitted as it stands and with its terms selected, which can lose a spike, and other names beside it."""
    price = fits.problem.price
    alone = [(replace(c, bic=c.cost + price * c.free), s) for c, s in fitted if fits.follows((c, s))]
    return fits.found([*alone, *fits.selected(fits.with_other_names(fitted))])


def blunt_exponentials(discovery: Discovery, most: float = SETTINGS.left) -> list[Suggestion]:
    """Exponentials of the coordinates, and to the side, where blunt ones carry most of what linear terms leave."""
    linear = _left(discovery, discovery.weak.linear)
    left = {side: min(_left(discovery, _with(discovery, *side, rate)) for rate in SETTINGS.rates) for side in SIDES}
    sides = [side for side in sorted(SIDES, key=left.__getitem__) if left[side] < most * linear]
    return [
        Suggestion(ORDER, (Element(KIND, coordinate, (sign * rate,)),), False, np.inf, 1.0, bare=True)
        for rate in SETTINGS.rates
        for coordinate, sign in sides[: SETTINGS.sides]
    ]


def _with(discovery: Discovery, coordinate: int, sign: float, rate: float) -> FloatArray:
    """Columns of the linear terms and of one exponential."""
    element = Element(KIND, coordinate, (sign * rate,))
    return np.column_stack([discovery.weak.linear, weak_columns(discovery, element, 1)])


def _left(discovery: Discovery, columns: FloatArray) -> float:
    """What some columns leave of the target in weak form."""
    target = discovery.weak.target
    return float(np.linalg.norm(target - columns @ weak_solution(columns, target)))
