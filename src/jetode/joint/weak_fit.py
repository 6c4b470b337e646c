"""The joint fit of an equation with model error (docs/mathematics.md §4.9): coefficients, path, σ and the jumps' q.

The continuity ratio ρ = q/σ is searched by the marginal likelihood from loose to tight, each level from the path of
the last, so that the search is the annealing.  Coefficients that minimise J jointly with the path are biased where the
path is uncertain: the gradient of the determinants of (4.14) puts that right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.problem import CLEAN_SIGMA, Prepared
from jetode.joint.shooting.annealing import rescale_hidden
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation, minimise
from jetode.joint.shooting.layout import Terms
from jetode.joint.shooting.likelihood import Marginal, jump_scales, log_determinants, marginal
from jetode.support.arrays import FloatArray

Interrupt = Callable[[], bool]


@dataclass(frozen=True)
class WeakSettings:
    """Numbers of the fit with model error, each with its reason."""

    loosest: float = 1.0  # std per node: the path follows the samples
    tightest: float = 1e-4  # std per node: jumps that a forecast over a few oscillations does not feel
    factor: float = 3.0  # from one level to the next
    iterations: int = 5  # of Gauss–Newton per level: the next level goes on from there
    path_factor: float = 5.0  # the same for the path of a known equation, which is found from farther
    rise: float = 30.0  # of −2 log L over the best level beyond which tighter levels are not tried
    refinements: int = 2  # parabolic steps around the best level: ρ within a tenth
    corrections: int = 2  # steps of the coefficients with the determinants' gradient
    step: float = 0.3  # standard errors: of the differences that give that gradient
    longest_step: float = 3.0  # standard errors: of a correction, beyond which the expansion says nothing


WEAK = WeakSettings()


@dataclass(frozen=True, eq=False)
class WeakFit:
    """A fit with model error: ``data`` with weights 1/σ², the ``fit`` at q, and (4.14) there."""

    data: Data
    fit: Fit
    sigma: float
    likelihood: float

    @property
    def q(self) -> float:
        """Size of the jumps per node, in std."""
        return self.fit.q

    @property
    def free(self) -> int:
        """Free coefficients."""
        return int(self.fit.terms.free.sum())

    def bic(self, price: float) -> float:
        """(4.14) and the price of the coefficients."""
        return self.likelihood + price * self.free


def weak_data(
    prepared: Prepared, sigma: float, terms: Terms, samples: int | None = None, driven: int | None = None
) -> Data:
    """The shooting problem at noise level ``sigma`` with jumps that enter through the learned rows, or all from
    ``driven`` on; integrated no finer than misfits above the noise can show.  Clipped samples are taken as they are:
    what is compared by its forecasts of the record forecasts them too.  So is coloured noise: its slow part cannot be
    told from the jumps."""
    data = prepared.data(max(sigma, CLEAN_SIGMA), samples)
    weight = prepared.present[: data.y.size] / sigma**2
    return replace(data, weight=weight, scale=jump_scales(terms, node_length(data), driven), side=None, colour=None)


def node_length(data: Data) -> float:
    """Distance of nodes in tc."""
    return float(np.median(data.layout.spans[data.layout.spans > 0])) * data.layout.spacing


def jump_of(weak: WeakFit) -> float:
    """Size of the jumps in std per √tc."""
    return weak.q / float(np.sqrt(node_length(weak.data)))


def weak_path(data: Data, terms: Terms, states: FloatArray, jump: float) -> Fit:
    """The path of a known equation with model error: coefficients fixed, q from loose to its own size."""
    last = jump * float(np.sqrt(node_length(data)))
    count = max(2, 1 + round(np.log(WEAK.loosest / last) / np.log(WEAK.path_factor)))
    frozen = replace(terms, free=np.zeros_like(terms.free))
    fit = Fit(frozen, states, np.inf, np.inf, np.inf, 0, False)
    for q in np.geomspace(max(WEAK.loosest, last), last, count):
        fit = minimise(data, fit.terms, fit.states, float(q), WEAK.iterations)
    return fit


def rescaled(data: Data, fit: Fit, sigma: float, found: Marginal) -> WeakFit:
    """The same fit with σ and q multiplied by the factor that maximises the likelihood."""
    f = found.factor
    scaled = replace(fit, q=fit.q * f, misfit=fit.misfit / f**2, jumps=fit.jumps / f**2)
    return WeakFit(replace(data, weight=data.weight / f**2), scaled, sigma * f, found.value)


def search_ratio(
    data: Data, terms: Terms, states: FloatArray, sigma: float, interrupt: Interrupt, around: float | None = None
) -> WeakFit | None:
    """Fit along levels of q from loose to tight (or, given the q ``around`` which to look, from a little above it), and
    keep the level with the highest marginal likelihood, refined by parabolas; None where nothing is finite."""
    loosest = WEAK.loosest if around is None else min(WEAK.loosest, around * WEAK.factor)
    q, fit = loosest, Fit(terms, states, np.inf, np.inf, np.inf, 0, False)
    tried: list[tuple[float, Marginal, Fit]] = []
    while q >= WEAK.tightest and not (tried and interrupt()):
        fit = _level(data, fit, q, interrupt)
        found = marginal(data, fit)
        if not np.isfinite(found.value):
            break
        tried.append((q, found, fit))
        if found.value > min(t[1].value for t in tried) + WEAK.rise:
            break
        q /= WEAK.factor
    if not tried:
        return None
    for _ in range(WEAK.refinements):
        between = _vertex(tried)
        if between is None or interrupt():
            break
        nearest = min(tried, key=lambda t: abs(np.log(t[0] / between)))[2]
        fit = _level(data, nearest, between, interrupt)
        tried.append((between, marginal(data, fit), fit))
    _, found, fit = min(tried, key=lambda t: t[1].value)
    return rescaled(data, fit, sigma, found)


def _level(data: Data, fit: Fit, q: float, interrupt: Interrupt) -> Fit:
    """The fit at one q, hidden coordinates at unit spread before it, so that their jumps count alike."""
    begun = rescale_hidden(fit)
    return minimise(data, begun.terms, begun.states, q, WEAK.iterations, interrupt=interrupt)


def _vertex(tried: list[tuple[float, Marginal, Fit]]) -> float | None:
    """Where the parabola through the best level and its neighbours is lowest; None where it is at an end or known."""
    levels = sorted((np.log(q), m.value) for q, m, _ in tried if np.isfinite(m.value))
    best = min(range(len(levels)), key=lambda i: levels[i][1])
    if best in (0, len(levels) - 1):
        return None
    (x0, y0), (x1, y1), (x2, y2) = levels[best - 1 : best + 2]
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    curvature = (right - left) / (x2 - x0)
    vertex = 0.5 * (x0 + x1) - 0.5 * left / curvature
    vertex = min(max(vertex, x0 + 0.1 * (x1 - x0)), x2 - 0.1 * (x2 - x1))
    return None if min(abs(vertex - x) for x in (x0, x1, x2)) < 0.1 else float(np.exp(vertex))


def determinant_gradient(data: Data, fit: Fit) -> tuple[FloatArray, FloatArray]:
    """(d log det/dθ along the valley of J, F): central differences, the path moving with each coefficient."""
    linear = Linearisation(data, fit.terms)
    linear.at(fit.states, fit.terms.coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    schur = eliminated.schur
    free = np.flatnonzero(fit.terms.free)
    sizes = WEAK.step / np.sqrt(np.maximum(np.diag(schur), 1e-300))
    other = Linearisation(data, fit.terms)
    out, still = np.zeros(free.size), eliminated.follow(np.zeros(free.size))
    for j, index in enumerate(free):
        unit = np.zeros(free.size)
        unit[j] = sizes[j]
        moved = eliminated.follow(unit) - still
        values = []
        for sign in (1.0, -1.0):
            coefficients = fit.terms.coefficients.copy()
            coefficients[index] += sign * sizes[j]
            other.at(fit.states + sign * moved, coefficients)
            values.append(log_determinants(other.eliminate(fit.q, 0.0)))
        out[j] = (values[0] - values[1]) / (2.0 * sizes[j])
    return np.where(np.isfinite(out), out, 0.0), schur


def corrected(weak: WeakFit, interrupt: Interrupt) -> WeakFit:
    """The fit with coefficients at the maximum of (4.14) instead of the minimum of J: steps −½ F⁻¹ ∇ log det, kept
    while they raise the likelihood."""
    for _ in range(WEAK.corrections):
        if interrupt() or weak.free == 0:
            break
        gradient, schur = determinant_gradient(weak.data, weak.fit)
        better = _stepped(weak, gradient, schur, interrupt)
        if better is None:
            break
        weak = better
    return weak


def _stepped(weak: WeakFit, gradient: FloatArray, schur: FloatArray, interrupt: Interrupt) -> WeakFit | None:
    """One step of :func:`corrected`; None where it does not raise the likelihood."""
    fit, data = weak.fit, weak.data
    # J's own gradient along the valley: zero at a joint fit, not after a first correction
    linear = Linearisation(data, fit.terms)
    linear.at(fit.states, fit.terms.coefficients)
    reduced = linear.eliminate(fit.q, 0.0).reduced
    step = -np.linalg.lstsq(schur, reduced + 0.5 * gradient, rcond=1e-12)[0]
    length = float(np.sqrt(max(float(step @ schur @ step), 0.0)))
    limit = WEAK.longest_step * np.sqrt(weak.free)
    step *= min(1.0, limit / max(length, 1e-300))
    for share in (1.0, 0.3):
        coefficients = fit.terms.coefficients.copy()
        coefficients[fit.terms.free] += share * step
        frozen = replace(fit.terms, coefficients=coefficients, free=np.zeros_like(fit.terms.free))
        path = minimise(data, frozen, fit.states, fit.q, WEAK.iterations, interrupt=interrupt)
        moved = replace(path, terms=replace(fit.terms, coefficients=coefficients))
        found = marginal(data, moved)
        if found.value < weak.likelihood - 1e-3:
            return rescaled(data, moved, weak.sigma, found)
    return None
