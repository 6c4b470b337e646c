"""Which function of which coordinate a record asks for, from its weak form (docs/mathematics.md (8.6), (8.7)).

For every coordinate v and every named function f the equation

    u_n = c + Σ_j c_j u_j + Σ_k b_k (d/dt)^k f(v; p)

is linear but for p: coefficients are projected out, p is looked for on a grid and then by least squares.  The smoothed
argument makes all of this a start, on which the joint fit decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from jetode.equations.elements import Element
from jetode.joint.elements.guesses import GUESSES
from jetode.joint.elements.weak_form import Projection, WeakForm
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class DiscoverySettings:
    """Numbers of the first look, each with its reason."""

    refined: int = 3  # guesses of a kind that are improved: the grid is coarse, its order rough
    evaluations: int = 40  # of the improvement: parameters to a percent, which is all the smoothing leaves
    thin: int = 400  # rows of the grid's look at most, more of them repeat each other


DISCOVERY = DiscoverySettings()


@dataclass(frozen=True)
class Suggestion:
    """Elements in a linear equation of some order, ``spread`` over the derivatives of the element or in the last row
    alone; the ``bic`` of the weak form, with the share of the target that is left."""

    order: int
    elements: tuple[Element, ...]
    spread: bool
    bic: float
    left: float

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of its elements."""
        return tuple(e.kind for e in self.elements)


def bic_of(residual: FloatArray, parameters: int) -> float:
    """Of a least-squares fit."""
    rows = residual.size
    return float(rows * np.log(max(float(residual @ residual), 1e-300) / rows) + parameters * np.log(rows))


def columns_of(weak: WeakForm, element: Element, spread: bool) -> FloatArray:
    """The weak integrals of an element, and of its derivatives below the order where it is spread over them."""
    with np.errstate(all="ignore"):
        values = element(weak.jets[:, element.variable])
    if not np.isfinite(values).all():
        return np.zeros((weak.rows, 1))
    size = float(np.abs(values).max())
    return np.column_stack([weak.integral(values / max(size, 1e-300), k) for k in range(weak.order if spread else 1)])


def suggestions(
    weak: WeakForm, kinds: Sequence[str], variables: Iterable[int], given: tuple[Element, ...] = ()
) -> Iterator[Suggestion]:
    """The best parameters of every kind and coordinate, beside elements that are there already."""
    columns = [weak.linear, *(columns_of(weak, element, False) for element in given)]
    base = Projection.of(np.column_stack(columns), weak.target)
    taken = 1 + weak.order + sum(1 + len(e.parameters) for e in given)
    for variable in variables:
        for spread in (False, True) if variable == 0 and not given else (False,):
            for kind in kinds:
                found = _best(weak, base, kind, variable, spread)
                if found is not None:
                    element, residual = found
                    count = taken + len(element.parameters) + (weak.order if spread else 1)
                    left = float(np.linalg.norm(residual) / np.linalg.norm(weak.target))
                    yield Suggestion(weak.order, (*given, element), spread, bic_of(residual, count), left)


def _best(
    weak: WeakForm, base: Projection, kind: str, variable: int, spread: bool
) -> tuple[Element, FloatArray] | None:
    """One kind of one coordinate with its best parameters, and what it leaves."""
    v = weak.jets[:, variable]

    def left(parameters: Sequence[float]) -> FloatArray:
        return base.residual(columns_of(weak, Element(kind, variable, tuple(parameters)), spread))

    def cost(parameters: Sequence[float]) -> float:
        residual = left(parameters)
        return float(residual @ residual)

    ranked = sorted(GUESSES[kind](v), key=cost)[: DISCOVERY.refined]
    if not ranked:
        return None
    best = min((_improved(left, guess) for guess in ranked), key=cost)
    return Element(kind, variable, best), left(best)


def _improved(left: object, guess: tuple[float, ...]) -> tuple[float, ...]:
    """Parameters by least squares from a guess."""
    if not guess:
        return guess
    scale = np.maximum(np.abs(guess), 0.1)
    found = least_squares(
        lambda p: left(p * scale), np.array(guess) / scale, method="lm" , max_nfev=DISCOVERY.evaluations * (1 + len(guess))
    )
    return tuple(float(p) for p in found.x * scale)
