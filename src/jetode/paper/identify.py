"""The paper's identification (its Sec. 3; docs/mathematics.md §1): record → jets → weak or strong system → D, then N.

``embed`` turns a record into jets, ``identify`` jets into a closure.  Everything between is dimensionless
(:class:`jetode.paper.weakform.Scales`); coefficients are converted back exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Literal, get_args

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Library
from jetode.paper.bounded_numerator import bounded_numerator
from jetode.paper.nullspace import null_space, oriented, pooled_denominator, singular_values, solve_numerator
from jetode.paper.weakform import (
    ClosureSystem,
    Placement,
    Quadrature,
    Scales,
    Window,
    place_windows,
    strong_form,
    weak_form,
)
from jetode.records.series import Series
from jetode.signal.noise import is_clean, noise_floor, noise_scale
from jetode.signal.oscillations import oscillation
from jetode.signal.spline import SmoothingSpline, smooth
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

Form = Literal["weak", "strong"]
Denominator = Literal["global", "pooled-samples", "pooled-rows"]
Smoothing = Literal["interpolate", "residual", "gcv", "reml", "literal"]

POOLED_WINDOWS = 12
POOLED_SIZE = 120
NOISE_STEP = 2.0**-20  # of σ̂: what is finer than this in a noisy record is not information


@dataclass(frozen=True)
class PaperSettings:
    """Free parameters of the identification; the defaults are the paper's Table (settings).

    ``denominator``: one SVD of all rows ("global"); or the mean over 12 local windows, either of 120 samples
    each with every test function that fits ("pooled-samples") or of 120 of the K rows each ("pooled-rows").
    ``pool_unit``: amplitude in which the 12 are averaged, in units of the record (the paper: 1); None: std(u0), with
    which the model is the same in any unit.
    ``crossing`` keeps N/D bounded at the pole of an affine D (:mod:`.bounded_numerator`); the paper does not.
    """

    denominator_degree: int = 1
    numerator_degree: int = 4
    denominator_variables: tuple[int, ...] = (0,)
    form: Form = "weak"
    windows: int = 200
    half_width: int = 20
    exponent: int = 4
    placement: Placement = "even"
    quadrature: Quadrature = "parts"
    denominator: Denominator = "global"
    pool_unit: float | None = None
    crossing: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, lowest in (("denominator_degree", 0), ("numerator_degree", 0), ("windows", 2)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < lowest:
                raise InputError(f"The '{name}' parameter must be an int ≥ {lowest}. Got {value} instead.")
        if self.pool_unit is not None and not self.pool_unit > 0:
            raise InputError(f"The 'pool_unit' parameter must be a number > 0. Got {self.pool_unit} instead.")
        for name, kind in (("form", Form), ("denominator", Denominator)):
            value = getattr(self, name)
            if value not in get_args(kind):
                allowed = ", ".join(get_args(kind))
                raise InputError(f"The '{name}' parameter must be one of {allowed}. Got {value!r} instead.")

    @property
    def window(self) -> Window:
        """The test function."""
        return Window(self.half_width, self.exponent, self.quadrature)


@dataclass(frozen=True, eq=False)
class Embedding:
    """A record in jet coordinates; ``sample_jets`` (N, order + 1) holds u0 … u_order with time in samples.

    ``unit`` is the amplitude in which they count, in units of the record.  ``margin`` samples at each end are left out
    of the regression: a spline's derivatives are poor there.
    """

    sample_jets: FloatArray
    dt: float
    order: int
    spline: SmoothingSpline
    clean: bool
    noise_sigma: float
    margin: int
    unit: float = 1.0

    @cached_property
    def jets(self) -> FloatArray:
        """u0 … u_order in the units of the record."""
        return self.sample_jets * (self.unit / self.dt ** np.arange(self.order + 1))

    @cached_property
    def sample_scales(self) -> Scales:
        """std(u0) in ``unit``, and tc in samples."""
        return Scales.of(self.sample_jets)

    @property
    def scales(self) -> Scales:
        """std(u0) and tc in the units of the record."""
        return Scales(self.sample_scales.amplitude * self.unit, self.sample_scales.time * self.dt)

    @cached_property
    def dimensionless(self) -> FloatArray:
        """The jets in units of std(u0) and tc, to the last bit the same in any unit of time.

        Of a noisy record also in any unit of amplitude, see :func:`embed`.
        """
        return self.sample_jets / self.sample_scales.powers(self.order + 1)

    @property
    def step(self) -> float:
        """The sampling interval in units of tc."""
        return 1.0 / self.sample_scales.time

    @cached_property
    def spread(self) -> FloatArray:
        """std of each coordinate u0 … u_{order−1}."""
        return np.array([np.std(column) for column in self.jets.T[: self.order]])  # axis=0 takes four times as long

    @cached_property
    def oscillation(self) -> float:
        """Length of one oscillation, as they are counted in the smoothed record."""
        return self.dt * oscillation(self.sample_jets[:, 0])


def embed(
    record: Series,
    order: int,
    spline_degree: int | None = None,
    smoothing: Smoothing | float | None = None,
    sigma: float | None = None,
) -> Embedding:
    """Jets of a record; by default a clean one is interpolated, a noisy one meets the residual target.

    ``smoothing``: a rule for λ, a number (λ itself, in the record's units), or "literal" for the paper's
    λ = N σ̂² taken at its word.  A noisy record is counted in steps of ``NOISE_STEP`` σ̂, which are the same integers
    in any unit of amplitude: the null space of a short window is so near to singular that the rounding of the samples
    alone would move its closure by 1e-5.
    """
    degree = max(5, 2 * order - 1) if spline_degree is None else spline_degree
    if degree <= order:
        raise InputError(
            f"The 'spline_degree' parameter must be above the order ({order}) to have the derivatives. "
            f"Got {degree} instead."
        )
    clean = is_clean(record.values) if sigma is None else sigma == 0.0
    if sigma is None:
        sigma = noise_floor(record.values) if clean else noise_scale(record.values)
    if smoothing is None:
        smoothing = "interpolate" if clean else "residual"
    if smoothing == "literal":
        smoothing = record.n * sigma**2
    unit, values = 1.0, record.values
    if not clean:
        unit, values = sigma, NOISE_STEP * np.rint(record.values / (NOISE_STEP * sigma))
    if isinstance(smoothing, str):
        spline = smooth(values, record.dt, degree, smoothing, sigma=sigma / unit)
    else:
        spline = smooth(values, record.dt, degree, "weight", weight=float(smoothing))
    margin = spline_margin(spline)
    sample_jets = replace(spline, dt=1.0).jets(order)
    in_units = replace(spline, coefficients=spline.coefficients * unit, rss=spline.rss * unit**2)
    return Embedding(sample_jets, record.dt, order, in_units, clean, sigma, margin, unit)


def spline_margin(spline: SmoothingSpline) -> int:
    """Samples at each end where a spline's derivatives are poor: its degree and twice the length it smooths over."""
    length = (spline.weight / spline.dt**spline.degree) ** (1 / (spline.degree + 1))
    return min(spline.degree + ceil(2 * length), spline.n // 10)


@dataclass(frozen=True, eq=False)
class Identification:
    """A closure and how sharply the null space of its system is defined."""

    closure: Closure
    singular_values: FloatArray
    gap: float


def identify(embedding: Embedding, settings: PaperSettings) -> Identification:
    """Denominator from the null space, numerator by least squares."""
    order = embedding.order
    for variable in settings.denominator_variables:
        if not 0 <= variable < order - (settings.form == "weak"):
            highest = order - 1 - (settings.form == "weak")
            raise InputError(
                f"The 'denominator_variables' parameter must hold ints from 0 to {highest} in the "
                f"{settings.form} form. Got {variable} instead."
            )
    system = _system(embedding, settings)
    joint = null_space(system)
    denominator = joint.denominator
    if settings.denominator != "global":
        amplitude = embedding.scales.amplitude
        unit = 1.0 if settings.pool_unit is None else settings.pool_unit / amplitude
        denominator = pooled_denominator(_local_systems(embedding, settings, system), unit)
    bounded = bounded_numerator(system, denominator, embedding.dimensionless) if settings.crossing else None
    numerator = solve_numerator(system, denominator) if bounded is None else bounded
    units = embedding.scales.powers(order + 1)
    # D(v) dv_{n−1}/dτ = N(v) with v_k = u_k/units_k, so u_n enters in units of its own
    physical_d = denominator / _monomial_units(system.denominator, units[:-1]) / units[-1]
    physical_n = numerator / _monomial_units(system.numerator, units[:-1])
    gauge = oriented(physical_d, system.denominator) @ physical_d
    gauge = np.copysign(np.linalg.norm(physical_d), gauge)
    above = system.numerator.polynomial(physical_n / gauge)
    closure = Closure(above, system.denominator.polynomial(physical_d / gauge), order)
    return Identification(closure, joint.singular_values, joint.gap)


def spectrum(embedding: Embedding, settings: PaperSettings) -> tuple[FloatArray, float]:
    """The singular values of the system and the gap of its null space, without a closure."""
    values = singular_values(_system(embedding, settings))
    return values, float(values[-2] - values[-1])


def _monomial_units(library: Library, units: FloatArray) -> FloatArray:
    return np.prod(units ** np.array(library.exponents), axis=1)


@lru_cache(maxsize=64)
def _library(order: int, degree: int, variables: tuple[int, ...] | None) -> Library:
    return Library.total_degree(order, degree, variables)


def _libraries(order: int, settings: PaperSettings) -> tuple[Library, Library]:
    denominator = _library(order, settings.denominator_degree, settings.denominator_variables)
    return denominator, _library(order, settings.numerator_degree, None)


def _system(embedding: Embedding, settings: PaperSettings) -> ClosureSystem:
    libraries = _libraries(embedding.order, settings)
    first, last = embedding.margin, embedding.sample_jets.shape[0] - 1 - embedding.margin
    if settings.form == "strong":
        return strong_form(embedding.dimensionless[first : last + 1], *libraries)
    window = settings.window
    centres = place_windows(first, last, settings.windows, window.reach, settings.placement, settings.seed)
    return weak_form(embedding.dimensionless, embedding.step, *libraries, centres, window)


def _local_systems(embedding: Embedding, settings: PaperSettings, system: ClosureSystem) -> list[ClosureSystem]:
    """The 12 windows of the pooled denominator, longer than 120 only where the unknowns need it."""
    libraries = _libraries(embedding.order, settings)
    unknowns = len(libraries[0]) + len(libraries[1])
    n_rows = system.m_d.shape[0]
    if settings.denominator == "pooled-rows" or settings.form == "strong":
        size = min(max(POOLED_SIZE, unknowns), n_rows)
        return [system.rows(start, start + size) for start in _spread(0, n_rows - size)]
    window = settings.window
    first, last = embedding.margin, embedding.sample_jets.shape[0] - 1 - embedding.margin
    size = min(max(POOLED_SIZE, 2 * window.half_width + unknowns), last - first + 1)
    systems = []
    for start in _spread(first, last + 1 - size):
        lowest = max(start + window.half_width, window.reach)
        highest = min(start + size - 1 - window.half_width, last + first - window.reach)
        centres = np.arange(lowest, max(lowest, highest) + 1)
        systems.append(weak_form(embedding.dimensionless, embedding.step, *libraries, centres, window))
    return systems


def _spread(first: int, last: int) -> list[int]:
    return [int(x) for x in np.round(np.linspace(first, last, POOLED_WINDOWS))]
