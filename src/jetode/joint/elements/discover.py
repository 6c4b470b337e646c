"""Which function of which coordinate a record asks for, from its weak form (docs/mathematics.md (8.6), (8.7)).

For every coordinate v and every named function f the equation

    u_n = c + Σ_j c_j u_j + Σ_k b_k (d/dt)^k f(v; p)

is linear but for p: coefficients are projected out, p is looked for on a grid and then by least squares.  The smoothed
argument makes all of this a start, on which the joint fit decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from jetode.equations.elements import Element
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.weak_form import Argument, Projection, WeakForm
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class DiscoverySettings:
    """Numbers of the first look, each with its reason."""

    refined: int = 3  # guesses of a kind that are improved: the grid is coarse, its order rough
    evaluations: int = 12  # per parameter, of the improvement: to a percent, which is all the smoothing leaves


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


def bic_of(residual: float, rows: int, parameters: int) -> float:
    """Of a least-squares fit that leaves the sum of squares ``residual``."""
    return float(rows * np.log(max(residual, 1e-300) / rows) + parameters * np.log(rows))


@dataclass(frozen=True, eq=False)
class Look:
    """One coordinate as the argument of functions: its weak integrals with what other terms carry taken off."""

    argument: Argument
    operators: tuple[FloatArray, ...]
    target: FloatArray

    @classmethod
    def of(cls, argument: Argument, base: Projection, count: int) -> Look:
        """With ``count`` derivatives of the function, and the projection on all that is there without it."""
        return cls(argument, tuple(map(base.without, argument.operators[:count])), base.target)

    def values(self, kind: str, parameters: Sequence[float]) -> FloatArray:
        """A function at the places, of size 1; zero where it cannot be computed."""
        with np.errstate(all="ignore"):
            values = Element(kind, self.argument.variable, tuple(parameters))(self.argument.places)
            values = values / np.abs(values).max()
        return values if np.isfinite(values).all() else np.zeros_like(values)

    def residual(self, kind: str, parameters: Sequence[float]) -> FloatArray:
        """What a function leaves of the target."""
        values = self.values(kind, parameters)
        columns = np.column_stack([operator @ values for operator in self.operators])
        scale = np.linalg.norm(columns, axis=0)
        if not np.all(scale > 1e-12):
            return self.target
        basis = np.linalg.qr(columns / scale)[0]
        return np.asarray(self.target - basis @ (basis.T @ self.target))

    def ranked(self, kind: str) -> list[tuple[float, ...]]:
        """The guesses of a kind, best first; on its first derivative alone, which is quick."""
        guesses = list(GUESSES[kind](self.argument.samples))
        if len(guesses) <= DISCOVERY.refined:
            return guesses
        columns = self.operators[0] @ np.column_stack([self.values(kind, guess) for guess in guesses])
        norms = np.sum(columns**2, axis=0)
        gains = (self.target @ columns) ** 2 / np.where(norms > 1e-20, norms, np.inf)
        return [guesses[j] for j in np.argsort(-gains)]

    def best(self, kind: str) -> tuple[Element, FloatArray] | None:
        """The best parameters of a kind, and what it leaves; None where it has none for this coordinate."""
        tried = [self._improved(kind, guess) for guess in self.ranked(kind)[: DISCOVERY.refined]]
        tried = [p for p in tried if sensible(kind, p, self.argument.samples)]
        if not tried:
            return None
        lefts = [self.residual(kind, p) for p in tried]
        j = min(range(len(tried)), key=lambda j: float(lefts[j] @ lefts[j]))
        return Element(kind, self.argument.variable, tried[j]), lefts[j]

    def _improved(self, kind: str, guess: tuple[float, ...]) -> tuple[float, ...]:
        """Parameters by least squares from a guess."""
        if not guess:
            return guess
        scale = np.maximum(np.abs(guess), 0.1)
        most = DISCOVERY.evaluations * len(guess)
        with np.errstate(all="ignore"):
            found = least_squares(lambda p: self.residual(kind, p * scale), np.array(guess) / scale, max_nfev=most)
        return tuple(float(p) for p in found.x * scale)


@dataclass(frozen=True, eq=False)
class Discovery:
    """The weak form of a record with its coordinates as arguments of functions."""

    weak: WeakForm
    arguments: tuple[Argument, ...]

    @classmethod
    def of(cls, weak: WeakForm) -> Discovery:
        """Every jet coordinate; u0 with the function's derivatives."""
        n = weak.order
        return cls(weak, tuple(Argument.of(weak, v, n if v == 0 else 1) for v in range(n)))

    def linear(self) -> float:
        """The BIC of the linear equation."""
        left = Projection.of(self.weak.linear, self.weak.target).target
        return bic_of(float(left @ left), self.weak.rows, 1 + self.weak.order)

    def suggestions(
        self, kinds: Sequence[str], spread: bool, given: tuple[Element, ...] = (), variables: Sequence[int] = ()
    ) -> Iterator[Suggestion]:
        """The best parameters of every kind and coordinate, beside elements that are there already."""
        weak = self.weak
        columns = [weak.linear]
        for element in given:
            argument = self.arguments[element.variable]
            columns.append((argument.operators[0] @ element(argument.places))[:, None])
        base = Projection.of(np.column_stack(columns), weak.target)
        taken = 1 + weak.order + sum(1 + len(e.parameters) for e in given)
        for argument in self.arguments:
            if (spread and argument.variable) or (variables and argument.variable not in variables):
                continue
            look = Look.of(argument, base, weak.order if spread else 1)
            for kind in kinds:
                found = look.best(kind)
                if found is None:
                    continue
                element, residual = found
                count = taken + len(element.parameters) + len(look.operators)
                left = float(residual @ residual)
                bic = bic_of(left, weak.rows, count)
                yield Suggestion(weak.order, (*given, element), spread, bic, left / float(weak.target @ weak.target))
