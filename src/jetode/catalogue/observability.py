"""The Letellier–Aguirre–Maquet coefficient δ = λ_min(JᵀJ)/λ_max(JᵀJ), Eq. (obs_coeff) of the paper.

J = ∂(u_0 … u_{n−1})/∂x is the Jacobian of the jet coordinates with respect to the hidden state, derived
symbolically for any polynomial observable and evaluated along a trajectory.  det J = 0 is the singular set of
the closure.  Over 500 units one stretch in four has a median of the paper's tables off by more than 10 % (up to 36 %),
so that the default trajectory has 4,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jetode.catalogue.exact_closure import lie_derivatives
from jetode.catalogue.systems import System, Trajectory
from jetode.equations.polynomials import Polynomial, evaluate
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

WEAK = 1e-3  # δ below this is called weak
UNIFORM = 10.0  # p95/p1 below this is called uniform
DURATION = 4000.0
SPACING = 0.05
TRANSIENT = 500.0


@dataclass(frozen=True, eq=False)
class Observability:
    """δ and det J of one observable at the states of a trajectory, or of a region of it."""

    observable: str
    variables: tuple[str, ...]
    states: FloatArray
    delta: FloatArray
    determinant: FloatArray
    expression: Any  # det J as a SymPy expression in the variables

    @property
    def median(self) -> float:
        """Median of δ."""
        return self.percentile(50.0)

    def percentile(self, q: float) -> float:
        """Percentile of δ; NaN for an empty region."""
        return float(np.percentile(self.delta, q)) if self.delta.size else float("nan")

    @property
    def p1(self) -> float:
        """First percentile of δ."""
        return self.percentile(1.0)

    @property
    def p95(self) -> float:
        """95th percentile of δ."""
        return self.percentile(95.0)

    @property
    def weak_fraction(self) -> float:
        """Part of the samples with δ < 1e-3."""
        return float(np.mean(self.delta < WEAK)) if self.delta.size else float("nan")

    @property
    def uniform(self) -> bool:
        """p95/p1 < 10."""
        return self.p95 < UNIFORM * self.p1

    def within(self, region: Callable[..., NDArray[np.bool_]]) -> Observability:
        """The part in a region of the state variables, e.g. ``lambda x, y, z: abs(x) < 0.5``."""
        mask = np.broadcast_to(region(*self.states.T), self.delta.shape)
        return replace(self, states=self.states[mask], delta=self.delta[mask], determinant=self.determinant[mask])


def observability(system: System, observable: str, trajectory: Trajectory | None = None) -> Observability:
    """δ of ``observable`` along ``trajectory`` (default: 4,000 units after a transient of 500)."""
    if not system.polynomial:
        raise InputError(f"The 'system' parameter must have polynomial equations. Got {system.name!r} instead.")
    states = (_default_trajectory(system) if trajectory is None else trajectory).states
    jets, symbols = lie_derivatives(system.rows, system.observable(observable), system.dimension - 1)
    jacobian = [[jet.diff(x) for x in symbols] for jet in jets]
    values = np.empty((states.shape[0], system.dimension, system.dimension))
    for i, row in enumerate(jacobian):
        for j, entry in enumerate(row):
            values[:, i, j] = evaluate(_floats(entry), states)
    singular = np.linalg.svd(values, compute_uv=False)
    with np.errstate(invalid="ignore"):  # J = 0 at a state where nothing is seen: δ = 0 there
        delta = np.nan_to_num((singular[:, -1] / singular[:, 0]) ** 2)
    determinant = _determinant(jacobian)
    names = {f"x{i}": name for i, name in enumerate(system.variables)}
    numeric = evaluate(_floats(determinant), states)
    for array in (delta, numeric):
        array.setflags(write=False)
    expression = determinant.as_expr().subs(names, simultaneous=True)
    return Observability(observable, system.variables, states, delta, numeric, expression)


def screen(system: System, observables: Iterable[str], trajectory: Trajectory | None = None) -> list[Observability]:
    """All ``observables``, best median first: the paper's screening tables."""
    found = [observability(system, name, trajectory) for name in observables]
    return sorted(found, key=lambda o: o.median, reverse=True)


@cache
def _default_trajectory(system: System) -> Trajectory:
    return system.simulate(DURATION, dt=SPACING, transient=TRANSIENT)


def _floats(element: Any) -> Polynomial:
    return {e: float(c) for e, c in element.items()}


def _determinant(matrix: list[list[Any]]) -> Any:
    """Laplace expansion along the first row (exact, for the few rows there are)."""
    if len(matrix) == 1:
        return matrix[0][0]
    total = 0
    for j, entry in enumerate(matrix[0]):
        minor = [row[:j] + row[j + 1 :] for row in matrix[1:]]
        total = total + (-1) ** j * entry * _determinant(minor)
    return total
