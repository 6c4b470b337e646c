"""A record that is multiplied by its echo (order 3, docs/mathematics.md (3.21)–(3.22)): what is hidden is a filter of
second order of what is recorded.

    u0' = (u0 − p) v + g v',     v'' = α v' + β v + k u0

Without v' it is a regular closure whose pole is a parabola.  Given the rates, the roots of ρ² = α ρ + β, v is a filter
of the record and p, g and k are linear: only the first derivative of the noise is taken, against test functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from jetode.equations.polynomials import Exponents, Polynomial
from jetode.equations.regular import RegularClosure
from jetode.joint.forms.base import PRIOR, Form
from jetode.joint.forms.filtered import WeakForm, filtered
from jetode.joint.jets import Jets
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

ORDER = 3
FORM = Form(
    ORDER,
    (
        ("a", ((1, 0), (0, 1), (1, 1))),
        ("D", ((0, 1), (2, 0), (1, 0), (0, 0))),
        ("P", ((0, 1, 0), (0, 0, 1), (1, 0, 1))),
    ),
)
U0, V, SLOPE, PRODUCT = (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)  # of the rows u0', v' and v''
TERMS: tuple[tuple[int, Exponents], ...] = ((0, PRODUCT), (0, V), (0, SLOPE), (1, SLOPE), (2, SLOPE), (2, V), (2, U0))
FIXED = ((1, SLOPE), (2, U0))  # they set the scales of v and v'


@dataclass(frozen=True)
class EchoSettings:
    """Numbers of the look for an echo; rates in 1/tc."""

    slowest: float = 0.2  # slower filters hardly move within a record
    fastest: float = 1.8  # of faster ones v and v' are the record and its slope, which follow anything
    count: int = 10  # rates between them: a quarter apart, and what is left doubles within that
    evaluations: int = 60  # of the simplex method: to a percent, the joint fit does the rest
    left: float = 0.1  # of u0': where an echo leaves more, nothing is fitted; a right one leaves 0.01 to 0.03


SETTINGS = EchoSettings()


@dataclass(frozen=True, eq=False)
class Echo:
    """The regression at one pair of rates: ``gains`` of u0 V, V and V', both at every sample, and the rms that is left
    in units of that of u0'."""

    rates: tuple[float, float]
    gains: FloatArray
    v: FloatArray
    slope: FloatArray
    left: float

    @cached_property
    def begun(self) -> Terms:
        """The three rows with v and v' at std 1."""
        size, speed, (r, s) = float(np.std(self.v)), float(np.std(self.slope)), self.rates
        values = [
            *(self.gains * [size, size, speed]).tolist(),
            speed / size,
            r + s,
            -r * s * size / speed,
            1.0 / speed,
        ]
        count = len(TERMS)
        return Terms(
            ORDER,
            0,
            np.array([row for row, _ in TERMS], np.int64),
            tuple(e for _, e in TERMS),
            np.array(values),
            np.array([term not in FIXED for term in TERMS]),
            np.zeros(count),
            np.full(count, PRIOR.ridge),
        )

    def states(self, jets: Jets) -> FloatArray:
        """u0, v and v' at every sample, both of these at std 1."""
        return np.column_stack([jets.u[:, 0], self.v / np.std(self.v), self.slope / np.std(self.slope)])


def eliminated(terms: Terms, states: FloatArray) -> tuple[RegularClosure, FloatArray]:
    """Rows and states (u0, v, v') without v', as a regular closure and its states (u0, u1, v)."""
    named = dict(zip(zip(terms.rows.tolist(), terms.exponents, strict=True), terms.coefficients.tolist(), strict=True))
    product, held, slope, speed, alpha, beta, source = (named[term] for term in TERMS)
    g, p = slope / (speed * product), -held / product
    beta, source = beta * speed, source * speed
    a: Polynomial = {(1, 1): 1.0 / g, (0, 1): alpha - p / g, (1, 0): g * product * source}
    big_d: Polynomial = {
        (0, 1): 1.0,
        (2, 0): -1.0 / g,
        (1, 0): 2.0 * p / g - alpha,
        (0, 0): g * beta + alpha * p - p**2 / g,
    }
    big_p: Polynomial = {(0, 1, 0): 1.0 / (g * product), (1, 0, 1): -1.0 / g, (0, 0, 1): p / g}
    closure = RegularClosure(a, {e: product * c for e, c in big_d.items()}, big_p, ORDER)
    u0, v, w = states.T
    return closure, np.column_stack([u0, product * (u0 - p) * v + slope * w, v])


class Look:
    """Echoes of one record by their rates."""

    def __init__(self, jets: Jets) -> None:
        self.jets, self.weak = jets, WeakForm(jets)

    def at(self, rates: FloatArray) -> list[Echo]:
        """The regressions at pairs of rates (n, 2), which differ."""
        u0 = self.jets.u[:, :1]
        different, where = np.unique(rates, return_inverse=True)
        columns = np.broadcast_to(different, (len(u0), different.size))
        single = filtered(self.jets, columns, np.broadcast_to(u0, columns.shape))[:, where.reshape(rates.shape)]
        v = (single[..., 0] - single[..., 1]) / (rates[:, 0] - rates[:, 1])
        slope = (rates[:, 0] * single[..., 0] - rates[:, 1] * single[..., 1]) / (rates[:, 0] - rates[:, 1])
        blocks, target = [self.weak(f) for f in (u0 * v, v, slope)], self.weak(u0, 1)[:, 0]
        out = []
        for i, (r, s) in enumerate(rates.tolist()):
            shown = np.column_stack([block[:, i] for block in blocks])
            gains = np.asarray(np.linalg.lstsq(shown, target)[0], dtype=np.float64)
            left = float(np.linalg.norm(target - shown @ gains) / np.linalg.norm(target))
            out.append(Echo((r, s), gains, v[:, i], slope[:, i], left))
        return out

    def likeliest(self) -> Echo | None:
        """The echo that leaves least of u0' among those at whose rates it is a minimum: one decays and one grows in
        time.  None where there is none, it runs away to the fastest or slowest, or it leaves too much."""
        if not self.weak.fits:
            return None
        grid = np.geomspace(SETTINGS.slowest, SETTINGS.fastest, SETTINGS.count)
        pairs = np.stack(np.meshgrid(-grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
        left = np.array([one.left for one in self.at(pairs)]).reshape(grid.size, grid.size)
        inner = left[1:-1, 1:-1]
        around = np.stack([left[:-2, 1:-1], left[2:, 1:-1], left[1:-1, :-2], left[1:-1, 2:]])
        lowest = np.argwhere((inner < around).all(axis=0)) + 1
        if not lowest.size:
            return None
        decay, growth = min(lowest.tolist(), key=lambda at: left[tuple(at)])
        options = {"maxfev": SETTINGS.evaluations, "xatol": 1e-3}
        start, edges = np.log([grid[decay], grid[growth]]), np.log([SETTINGS.slowest, SETTINGS.fastest])
        found = minimize(
            lambda x: self._of_logs(x).left, start, method="Nelder-Mead", bounds=[tuple(edges)] * 2, options=options
        )
        best = self._of_logs(found.x)
        inside = bool(np.all((found.x > edges[0]) & (found.x < edges[1])))
        return best if inside and best.left <= SETTINGS.left else None

    def _of_logs(self, logs: FloatArray) -> Echo:
        """At rates −exp(x0) and exp(x1)."""
        return self.at(np.exp(logs)[None] * [-1.0, 1.0])[0]
