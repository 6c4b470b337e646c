"""Which combination of the derivatives a function is of (docs/mathematics.md (8.10)), from the weak form.

Chua's element acts on x; seen in z, x is z'' + z' + β z up to a factor.  With w = u_{n−1} − Σ_j α_j u_j as the last
coordinate such an equation is u_{n−2}' = Σ_j α_j u_j + w, w' = c + Σ_j c_j u_j + c_w w + b f(w).  For given α the weak
form with a free curve in place of f is linear; α is looked for on a grid, then by the simplex method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.optimize import minimize

from jetode.equations.curve_basis import basis
from jetode.joint.elements.discover import DISCOVERY, Discovery, bic_of
from jetode.joint.elements.weak_form import Argument, Projection, WeakForm
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class CombinationSettings:
    """Numbers of the search, each with its reason."""

    angles: int = 9  # per derivative: directions 18° apart, between which a curve of eight modes still follows
    steepest: float = 1.3  # radians from u_{n−1}: beyond, the function is of the lower derivatives
    improved: int = 2  # directions that are improved: neighbours on the grid mostly end in one place
    evaluations: int = 80  # of the simplex method: to a percent, the joint fit does the rest


SETTINGS = CombinationSettings()


def combined(weak: WeakForm, mix: FloatArray) -> FloatArray:
    """The samples of u_{n−1} − Σ_j mix_j u_j."""
    return np.asarray(weak.jets[:, weak.order - 1] - weak.jets[:, : weak.order - 1] @ mix)


@dataclass(frozen=True, eq=False)
class Combinations:
    """The weak form with a free curve of any combination: how much each leaves."""

    weak: WeakForm
    base: Projection
    scale: FloatArray  # of α_j, so that an angle of 45° weighs both parts alike

    @classmethod
    def of(cls, weak: WeakForm) -> Combinations:
        """For one record."""
        spread = np.std(weak.jets[:, : weak.order], axis=0)
        return cls(weak, Projection.of(weak.linear, weak.target), spread[-1] / spread[:-1])

    def left(self, angles: FloatArray) -> float:
        """The sum of squares that a curve of the combination at these angles leaves."""
        v = combined(self.weak, self.mix(angles))
        modes = basis((v - v.min()) / np.ptp(v))[:, : DISCOVERY.modes]
        columns = self.base.without(self.weak.operator() @ modes)
        rest = Projection.of(columns, self.base.target).target
        return float(rest @ rest)

    def mix(self, angles: FloatArray) -> FloatArray:
        """α at these angles."""
        return np.asarray(np.tan(np.clip(angles, -SETTINGS.steepest, SETTINGS.steepest)) * self.scale)

    def best(self) -> tuple[FloatArray, float]:
        """The angles that leave least."""
        grid = np.linspace(-SETTINGS.steepest, SETTINGS.steepest, SETTINGS.angles)
        looked = sorted((self.left(np.array(a)), a) for a in product(grid, repeat=self.weak.order - 1))
        found = [
            minimize(self.left, a, method="Nelder-Mead", options={"maxfev": SETTINGS.evaluations, "xatol": 1e-3})
            for _, a in looked[: SETTINGS.improved]
        ]
        one = min(found, key=lambda f: f.fun)
        return np.asarray(one.x), float(one.fun)


def mixed_discovery(discovery: Discovery) -> tuple[Discovery, float, float]:
    """Functions of the likeliest combination, the BIC of its free curve and the share of the target that it leaves."""
    weak = discovery.weak
    every = Combinations.of(weak)
    angles, left = every.best()
    mix = every.mix(angles)
    argument = Argument.of(weak, weak.order - 1, 1, combined(weak, mix))
    bic = bic_of(left, weak.rows, 2 * weak.order + DISCOVERY.modes)
    mixed = replace(discovery, arguments=(*discovery.arguments[:-1], argument), mix=tuple(mix.tolist()))
    return mixed, bic, left / float(weak.target @ weak.target)
