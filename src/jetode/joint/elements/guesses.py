"""First parameters of every named function for a coordinate with given samples: a grid for the weak form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product
from types import MappingProxyType

import numpy as np

from jetode.support.arrays import FloatArray

Parameters = tuple[float, ...]
CENTRES = np.linspace(0.06, 0.94, 12)  # quantiles of the coordinate: a kink beyond them is seen by too few samples
WIDTHS = (0.1, 0.25, 0.6, 1.5)  # std of the coordinate: from a step to nearly a line
RATES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  # e-folds per std: from nearly a parabola to a diode
TURNS = (0.15, 0.25, 0.4, 0.6, 0.9, 1.3, 2.0)  # periods of a sine over the visited range: less is a cubic
PHASES = (-0.5, -0.25, 0.0, 0.25)  # of π
STEEPEST = 60.0  # e-folds over the visited range: more cannot be computed with
EXPONENTS = (0.25, 0.5, 1.5, 2.5, 3.5)
HALVES = (0.05, 0.15, 0.4, 1.0, 3.0)  # std: saturation from almost everywhere to almost nowhere
RATIOS = (-1.0, -0.5, 1.0)
SIGN_WIDTH = 0.12  # std: a step that is narrower is a sign, a wider one a saturation
WIDEST = 5.0  # std: a wider one cannot be told from the first powers of its coordinate
EDGE = 0.02  # of the samples that must lie beyond a kink on either side
LEAST_TURN = 1.2  # radians over the visited range: less is a parabola or a cubic
NEAREST_ONE = 0.2  # an exponent nearer to 1 is the linear term, and the difference to it v log|v|
CLEAR = 1.5  # times what lies below 0: there v/(h + v) has its pole
LEAST_RISE = 1.0  # e-folds over the visited range: less is a parabola


def _centred(v: FloatArray) -> Iterator[Parameters]:
    std = float(np.std(v))
    yield from ((float(c), w * std) for c, w in product(np.quantile(v, CENTRES), WIDTHS))


def _sine(v: FloatArray) -> Iterator[Parameters]:
    reach = float(np.ptp(v))
    yield from ((2.0 * np.pi * t / reach, np.pi * p) for t, p in product(TURNS, PHASES))


def _exponential(v: FloatArray) -> Iterator[Parameters]:
    steepest, std = STEEPEST / float(np.abs(v).max()), float(np.std(v))
    yield from ((s * r / std,) for r, s in product(RATES, (1.0, -1.0)) if r / std < steepest)


def _even(v: FloatArray) -> Iterator[Parameters]:
    yield from (rate for rate in _exponential(v) if rate[0] > 0.0)


def _kinks(v: FloatArray) -> Iterator[Parameters]:
    yield from ((float(c),) for c in np.quantile(v, CENTRES))


def _pieces(v: FloatArray) -> Iterator[Parameters]:
    pairs = combinations(np.quantile(v, CENTRES[::2]), 2)
    yield from ((float(a), float(b), r) for (a, b), r in product(pairs, RATIOS))


def _sign(v: FloatArray) -> Iterator[Parameters]:
    if v.min() < 0.0 < v.max():
        yield from ((w * float(np.std(v)),) for w in (0.05, 0.15))


def _drag(v: FloatArray) -> Iterator[Parameters]:
    if v.min() < 0.0 < v.max():
        yield ()


def _power(v: FloatArray) -> Iterator[Parameters]:
    yield from ((p,) for p in EXPONENTS)


def _half(v: FloatArray) -> Iterator[Parameters]:
    if np.quantile(v, EDGE) > 0.0:  # noise may push a few samples of a positive quantity below 0
        halves = (h * float(np.std(v)) for h in HALVES)
        yield from ((h,) for h in halves if h > CLEAR * max(-float(v.min()), 0.0))


GUESSES: Mapping[str, Callable[[FloatArray], Iterator[Parameters]]] = MappingProxyType(
    {
        "sin": _sine, "tanh": _centred, "arctan": _centred, "exp": _exponential, "cosh": _even, "diode": _centred,
        "abs": _kinks, "drag": _drag, "sign": _sign, "piecewise-linear": _pieces, "power": _power,
        "michaelis-menten": _half, "holling": _half, "gaussian": _centred,
    }
)  # fmt: skip


def sensible(kind: str, parameters: Parameters, v: FloatArray) -> bool:
    """Whether parameters still describe what the kind is meant for, on the samples of its coordinate."""
    std, low, high = float(np.std(v)), float(v.min()), float(v.max())
    inner = np.quantile(v, (EDGE, 1.0 - EDGE))
    if kind == "sign":
        return abs(parameters[0]) < SIGN_WIDTH * std
    if kind in ("tanh", "arctan", "diode", "gaussian"):
        centre, width = parameters
        return low < centre < high and SIGN_WIDTH * std < abs(width) < WIDEST * std
    if kind == "sin":
        return abs(parameters[0]) * (high - low) > LEAST_TURN
    if kind in ("abs", "piecewise-linear"):
        return all(inner[0] < kink < inner[1] for kink in parameters[:2])
    if kind == "michaelis-menten":
        return -low < parameters[0] < WIDEST * std
    if kind == "power":
        return abs(parameters[0] - 1.0) > NEAREST_ONE and 0.1 < parameters[0] < 6.0
    if kind in ("exp", "cosh"):
        return LEAST_RISE < abs(parameters[0]) * (high - low) < 2.0 * STEEPEST
    return True


def crossed(v: FloatArray) -> bool:
    """Whether a coordinate is seen on both sides of 0, so that a function of it can be odd."""
    below, above = np.quantile(v, (EDGE, 1.0 - EDGE))
    return bool(below < 0.0 < above)
