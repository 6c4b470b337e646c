"""The top of a food chain (order 3, docs/mathematics.md (3.23)–(3.25)): z eats v, and v lives on w.

    z' = i + z (v − r),     v' = v (α + β z + w),     w' = w P(v, w)

z is what is recorded, i comes from outside, w is the share that v has of its own food.  If that is x with a meal that
saturates, w = g x / (1 + k x), and x' = x (a − e x) − y w, then P is a polynomial though the rates of x are ratios:
w' = w (1 − κ w) (a − b v (1 − κ w)) for e = 0 (Blasius' system).  v and w are never 0 and count by their logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.polynomials import Library, Polynomial
from jetode.equations.regular import RegularClosure
from jetode.joint.forms.base import Form, Monomials, Start
from jetode.joint.forms.starts import regress_increments, smooth_hidden
from jetode.joint.jets import Jets
from jetode.joint.parts import Term, equation_of, named
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

ORDER, TINY = 3, 1e-3
W, VW = (0, 0, 1), (0, 1, 1)
PLAIN: Monomials = (W, (0, 0, 2), VW)  # of a meal that does not saturate, with food that limits itself
SATURATED: Monomials = (*PLAIN, (0, 1, 2), (0, 1, 3))
RATE, INFLOW = ("f0", (1,)), ("f0", (0,))  # −r and i
FORM = Form(
    ORDER,
    (
        ("f0", ((0,), (1,))),
        ("c", ((1,),)),
        ("a", ((0, 1), (1, 1))),
        ("D", ((0, 1),)),
        ("P", SATURATED),
    ),
)


@dataclass(frozen=True)
class FoodChainSettings:
    """Where the search for a food chain begins; amplitudes in std of the record, rates in 1/tc."""

    typical: float = 0.5  # median of a record that spikes from near 0: 0.12 of Blasius' z, 1 and more of most others
    edge: float = 0.02  # quantile of the record that counts as its floor
    seen: float = 0.3  # std from which noise of 5 % leaves the relative slope
    fall: float = 0.02  # quantile of the relative slope: r is no smaller than the fastest fall
    rates: tuple[float, ...] = (4.0, 2.7, 6.0, 1.8)  # × the fastest fall, which noise and the prey make smaller
    floor: float = 0.6  # of the record's floor is i / r, which lies below it
    least: float = 0.1  # of the median of v: the least that is believed, where noise makes it negative
    stiffness: float = 0.3  # of log v: less leaves noise of 5 % in its slope, whence w; between 0.03 and 1 all did
    lowest: float = 0.03  # quantile of (log v)' that is α, where z does not eat v: there w is nearly 0
    share: float = 0.02  # of the std of w: the least that is believed


SETTINGS = FoodChainSettings()


def spikes_from_nothing(jets: Jets) -> bool:
    """Whether a record is positive, near 0 most of the time and far from it now and then."""
    u0 = jets.u[:, 0]
    low, middle = np.quantile(u0, (SETTINGS.edge, 0.5))
    return bool(low > 0.0 and middle < SETTINGS.typical and u0.max() > SETTINGS.seen)


def food_chains(jets: Jets) -> Iterator[Start]:
    """Starts for several r: v from z', w from the slope of log v, P from increments of w; v and w at std 1.  None where
    a stretch has no spike that falls."""
    if not spikes_from_nothing(jets):
        return
    above = _positive(jets)
    fall = -float(np.quantile((jets.u[:, 1] / above)[above > SETTINGS.seen], SETTINGS.fall))
    floor = 2.0 * float(above.min())
    for rate in (fall * factor for factor in SETTINGS.rates if fall > 0.0):
        i = SETTINGS.floor * floor * rate
        v, slope = _prey(jets, i, rate)
        lowest = float(np.quantile(slope[above < np.median(above)], SETTINGS.lowest))
        w = np.maximum(slope - lowest, SETTINGS.share * np.std(slope))
        size, top = float(np.std(v)), float(np.std(w))
        states = np.column_stack([jets.u[:, 0], v / size, w / top])
        library = Library(PLAIN, ORDER)
        big_p = library.polynomial(regress_increments(jets, states, library))
        head: Polynomial = {(0,): i, (1,): -rate}
        closure = RegularClosure({(0, 1): lowest}, {(0, 1): top}, big_p, ORDER, head, {(1,): size})
        yield Start(FORM.terms(closure), states)


def start_like(jets: Jets, terms: Terms) -> FloatArray:
    """States at every sample with the coefficients of a fit."""
    part = equation_of(terms).parts()
    c, head, a, top = part["c"][1,], part["f0"], part["a"], part["D"][0, 1]
    v, slope = _prey(jets, head.get((0,), 0.0), -head.get((1,), 0.0))
    share = (slope - a.get((0, 1), 0.0) - a.get((1, 1), 0.0) * jets.u[:, 0]) / top
    return np.column_stack([jets.u[:, 0], v / c, np.maximum(share, SETTINGS.share * np.std(share))])


def _positive(jets: Jets) -> FloatArray:
    """The record where it is no lower than half of its floor."""
    u0 = jets.u[:, 0]
    return np.asarray(np.maximum(u0, 0.5 * float(np.quantile(u0, SETTINGS.edge))))


def _prey(jets: Jets, i: float, rate: float) -> tuple[FloatArray, FloatArray]:
    """v and (log v)' at every sample from z' = i + z (v − r): log v as smooth as errors of z' ask for, which weigh as
    1 / (z v) in it."""
    above = _positive(jets)
    v = (jets.u[:, 1] + rate * above - i) / above
    v = np.maximum(v, max(SETTINGS.least * float(np.median(v[above > SETTINGS.seen])), TINY * float(np.std(v))))
    trust = v * above / np.sqrt(np.mean((v * above) ** 2))
    log_v = smooth_hidden(jets, trust, trust * np.log(v), SETTINGS.stiffness)
    slope = np.concatenate([np.gradient(log_v[piece], jets.spacing) for piece in jets.pieces()])
    return np.exp(log_v), slope


def held(terms: Terms, *names: Term) -> Terms:
    """The terms with some where they are: while jumps cost little r runs away, and z follows anything."""
    return replace(terms, free=terms.free & np.array([term not in names for term in named(terms)]))


def not_saturating(terms: Terms) -> Terms:
    """The terms without those that a meal which saturates adds."""
    return held(terms, *(("P", e) for e in SATURATED if e not in PLAIN))
