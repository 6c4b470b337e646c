"""Where is the pole?  A diagnostic from data alone (mathematics.md §3: on D = 0 the attractor is the curve u2 = a(u1)).

That the samples near u0 = p lie on a curve does not tell a pole: a section of any thin attractor is one.  What tells
is whether a regular closure with D = u0 − p, u1' = a(u1) + (u0 − p) w, w' = P, can carry a path through the record.
The scan measures, for every p of a grid, the cost per sample of the joint fit (mathematics.md §4) with D fixed at
p, at one small continuity q on a stretch of the record; and the same without a pole (D = 1).  The best poles of a first
look are fitted with p free; from the best of these the others are reached by walking along the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from jetode.equations.polynomials import Polynomial, evaluate
from jetode.equations.regular import RegularClosure
from jetode.equations.writers import text
from jetode.joint.candidates import held_terms
from jetode.joint.forms.affine_pole import affine_pole, u0_poles
from jetode.joint.forms.pole_free import pole_free
from jetode.joint.parts import equation_of, is_factor
from jetode.joint.problem import Prepared, prepare
from jetode.joint.scan import scan, scan_data
from jetode.joint.search_settings import COOLING, SEARCH
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.shooting.layout import Terms
from jetode.joint.unscanned import term_price
from jetode.records.series import Series, require_samples
from jetode.signal.scales import Unsuitable
from jetode.support import plotting
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.files import whole_file

COLD = Schedule((0.01, 0.003, 0.001), 6)
WALK = Schedule((0.02, 0.005, 0.001), 3)


@dataclass(frozen=True)
class PoleScanSettings:
    """The scan of a record for a pole in u0."""

    fewest_samples: int = 200  # of a record: fewer show no pole
    released: int = 3  # candidates of the first look that are fitted with p free
    grid: int = 21  # poles over the range of the first look: a step is a twentieth of it
    zoom: int = 5  # poles more between the best one's neighbours
    cold: Schedule = COLD  # with p free, from where the first look ended
    walk: Schedule = WALK  # from one pole to the next, which is near
    curve_degree: int = 2  # of a, and
    degree: int = 2  # of P with a pole: as on the first rung of the search
    plain_degrees: tuple[int, ...] = (2, 3)  # of P without one
    high: float = 1e3  # cost per sample at which a fit is given up (inf)
    followed: float = 30.0  # and up to which it is the start of its neighbour's
    significant: float = 5.0  # standard deviations of χ²/n by which a fit may miss the noise


SETTINGS = PoleScanSettings()


@dataclass(frozen=True)
class PoleScan:
    """Cost per sample against the pole p, and the collapse curve at the best one; in the record's units.

    ``pole`` is p where a pole is found, else None; ``best`` is where the cost is least anyway.  ``section`` holds
    (u1, u2) of the smoothed record where it crosses u0 = best, and ``a`` the curve through them as the fit has it.
    """

    poles: FloatArray
    cost: FloatArray
    plain_cost: float
    best: float
    pole: float | None
    reason: str
    a: Polynomial
    section: FloatArray
    name: str
    unit: str

    @property
    def best_cost(self) -> float:
        """The least cost per sample."""
        return float(self.cost.min())

    def curve(self, slope: FloatArray) -> FloatArray:
        """u2 = a(u1) on the pole."""
        points = np.column_stack([np.full_like(slope, self.best), slope])
        return evaluate(self.a, points) if self.a else np.zeros_like(slope)

    def text(self) -> str:
        """The finding as lines for a terminal."""
        curve = f"u2 = {text(self.a, ('u0', 'u1'), 4) if self.a else '0'} on it"
        found = self.reason if self.pole is None else f"u0 = {self.pole:.4g}: {self.reason}; {curve}"
        return f"{'pole':<10} {found}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "pole": self.pole,
            "reason": self.reason,
            "best": self.best,
            "poles": self.poles.tolist(),
            "cost": self.cost.tolist(),
            "plain_cost": self.plain_cost,
            "curve": [[list(e), c] for e, c in self.a.items()],
            "section": self.section.tolist(),
        }

    def plot(self, axes: Any = None) -> Any:
        """Cost against p, and the section with its curve, on two matplotlib ``axes`` (None: new ones), returned."""
        slope = np.sort(self.section[:, 0])
        return plotting.pole_scan(
            axes,
            (self.poles, self.cost),
            self.plain_cost,
            self.best,
            self.section,
            (slope, self.curve(slope)),
            plotting.label(self.name or "u0", self.unit),
        )

    def save_figure(self, path: str | Path) -> None:
        """:meth:`plot` as a file; its ending (png, svg, pdf) gives the format."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, 3.6), layout="constrained")
        self.plot(figure.subplots(1, 2))
        with whole_file(path) as file:
            figure.savefig(cast("TextIO", file).buffer, format=Path(path).suffix[1:], dpi=150)


def pole_scan(record: Series, sigma: float | None = None) -> PoleScan:
    """Scan a record (order 3) for a pole D = u0 − p; ``sigma`` is the noise's std (default: estimated)."""
    require_samples(record, SETTINGS.fewest_samples, "a pole scan")
    try:
        prepared = prepare([record], 3, sigma, loss="auto")
    except Unsuitable as unsuitable:
        raise InputError(str(unsuitable)) from None
    level = max(prepared.sigma, SEARCH.sigma)
    data = scan_data(prepared, level)
    profile, fit = _profile(prepared, level, data)
    poles = np.array(sorted(profile))
    cost = np.array([profile[p] for p in poles]) / data.n_samples
    best = float(poles[np.argmin(cost)])
    plain = _plain_fits(prepared, data)
    amplitude, time = prepared.amplitude, prepared.time
    a = equation_of(fit.terms).in_units(amplitude, time).canonical().parts()["a"]
    found, reason = _judge(data, cost, poles, int(fit.terms.free.sum()) + 1, plain)
    return PoleScan(
        poles * amplitude,
        cost,
        min(cost for cost, _ in plain) / data.n_samples,
        best * amplitude,
        best * amplitude if found else None,
        reason,
        a,
        _section(prepared, best) * (amplitude / time ** np.array([1.0, 2.0])),
        record.name,
        record.unit,
    )


def _pole_of(fit: Fit) -> float:
    """p of D = d (u0 − p)."""
    big_d = equation_of(fit.terms).parts()["D"]
    return -big_d.get((0, 0), 0.0) / big_d[1, 0]


def _fixed_at(fit: Fit, p: float) -> Terms:
    """A fit's terms with D fixed at another pole."""
    closure = RegularClosure.of(equation_of(fit.terms))
    lead = closure.D[1, 0]
    moved = replace(closure, D={(1, 0): lead, (0, 0): -lead * p})
    terms = affine_pole(3, 0, (), SETTINGS.curve_degree, SETTINGS.degree).terms(moved)
    return replace(terms, free=terms.free & ~is_factor(terms))


def _profile(prepared: Prepared, level: float, data: Data) -> tuple[dict[float, float], Fit]:
    """Cost for every pole of the grid, and the best fit."""
    first = u0_poles(prepared.jets, 3, SETTINGS.curve_degree, SETTINGS.degree)
    low, *_, high = sorted(-c.guess[0, 0] for c in first)
    released = []
    for candidate in scan(prepared, level, first, lambda: False)[: SETTINGS.released]:
        assert candidate.fit is not None
        released.append(anneal(data, held_terms(candidate, candidate.fit), candidate.fit.states, SETTINGS.cold))
    grid, step = np.linspace(low, high, SETTINGS.grid, retstep=True)
    found: dict[float, Fit] = {}
    _walk(data, min(released, key=lambda fit: fit.cost), grid, found)
    best = min(found, key=lambda p: found[p].cost)
    near = best + step * np.linspace(-1.0, 1.0, SETTINGS.zoom + 2)[1:-1]
    _walk(data, found[best], near[(near > low) & (near < high)], found)
    best = min(found, key=lambda p: found[p].cost)
    return {p: fit.cost for p, fit in found.items()}, found[best]


def _walk(data: Data, start: Fit, grid: FloatArray, found: dict[float, Fit]) -> None:
    """Fit every new pole of ``grid`` from its neighbour's fit, outwards from that of ``start``."""
    centre = _pole_of(start)
    for side in (grid[grid >= centre], grid[grid < centre][::-1]):
        near = start
        for p in map(float, side):
            if p in found:
                continue
            fit = anneal(data, _fixed_at(near, p), near.states, SETTINGS.walk, ceiling=SETTINGS.high * data.n_samples)
            found[p] = fit
            near = fit if fit.cost < SETTINGS.followed * data.n_samples else near


def _plain_fits(prepared: Prepared, data: Data) -> list[tuple[float, int]]:
    """(cost, number of terms) without a pole."""
    jets = prepared.jets.head(data.y.size)
    out = []
    for degree in SETTINGS.plain_degrees:
        start = pole_free(3, degree).start(jets, {(0, 0): 1.0})
        fit = anneal(
            data, start.terms, start.states[data.layout.first], COOLING.patient, ceiling=SETTINGS.high * data.n_samples
        )
        out.append((fit.cost, int(fit.terms.free.sum())))
    return out


def _section(prepared: Prepared, p: float) -> FloatArray:
    """(u1, u2) where the smoothed record crosses u0 = p, read off linearly between samples."""
    out = []
    for piece in prepared.jets.pieces():
        u = prepared.jets.u[piece.start + prepared.jets.trim : piece.stop - prepared.jets.trim]
        above = u[:, 0] - p
        i = np.flatnonzero(above[:-1] * above[1:] < 0.0)
        share = (above[i] / (above[i] - above[i + 1]))[:, None]
        out.append((1.0 - share) * u[i, 1:] + share * u[i + 1, 1:])
    return np.concatenate(out)


def _judge(
    data: Data, cost: FloatArray, poles: FloatArray, terms: int, plain: Sequence[tuple[float, int]]
) -> tuple[bool, str]:
    """Whether there is a pole, by BIC against the forms without one, and why."""
    n = data.n_samples
    limit = 1.0 + SETTINGS.significant * np.sqrt(2.0 / n)
    price = term_price(n, terms)
    with_pole = float(cost.min()) * n + price * terms
    without = min(value + price * count for value, count in plain)
    least = min(float(cost.min()), min(value for value, _ in plain) / n)
    if not least < limit:
        return False, f"undecided: no closure with a pole in u0 (quadratic P) or without (cubic) fits, χ²/n {least:.3g}"
    if without <= with_pole:
        return False, "none: a closure without a pole carries the record as well"
    if np.argmin(cost) in (0, cost.size - 1):
        return False, "none within the record: the cost falls towards its end"
    return True, f"the only place where a regular closure carries the record (χ²/n {cost.min():.3g})"
