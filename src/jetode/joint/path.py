"""The path of a known equation through a record (mathematics.md §4.7): smoothed states, the past-only state at
any sample, and their uncertainty.  With the true equations given it is the oracle, the limit set by the noise.

The fit is the joint fit's with the coefficients fixed.  A *past-only* state is the last state of the fit to the
samples up to and including that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from jetode.equations.elements import Shape, kind_of
from jetode.equations.equation import Equation
from jetode.equations.regular import RegularClosure
from jetode.equations.rows import Coupled
from jetode.equations.state_jets import offset_and_factor
from jetode.joint.candidates import states_for
from jetode.joint.noise import PLAIN, Noise
from jetode.joint.parts import equation_of, equation_terms
from jetode.joint.problem import CLEAN_SIGMA, CLEAN_STEP, FEWEST_SAMPLES, Loss, Prepared, prepare, stretches
from jetode.joint.search_settings import DECISION
from jetode.joint.shooting.annealing import Schedule, anneal, settled
from jetode.joint.shooting.gaussnewton import Data, Fit, Linearisation, path_states
from jetode.joint.shooting.layout import RK8, Layout, Terms
from jetode.joint.stepping import stepped
from jetode.joint.weak_fit import weak_data, weak_path
from jetode.records.series import Series
from jetode.signal.artefacts import UNLIMITED, Rails
from jetode.signal.colour import WHITE, Colour
from jetode.signal.growth import EVEN, Growth
from jetode.signal.scales import Unsuitable
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

PAST_LENGTH = 150.0  # tc: how much of the past a past-only state is estimated from
CLEAN_PAST_LENGTH = 40.0  # tc: and where the samples are nearly exact
WEAK_PAST_LENGTH = 40.0  # tc: and where the equation has model error, whose filter forgets
SHORTEST_PAST = 0.5  # tc
CARRIED, CARRIED_ITERATIONS = (0.03, 0.01, 3e-3, 1e-3, 3e-4), 10  # q: tight enough for what is known not to be lost
JUMP_RATIO = 6e-4  # final q in units of the noise: jumps this small no longer feed the forecast


def final_q(sigma: float) -> float:
    """The continuity at which a fit is finished."""
    return max(JUMP_RATIO * sigma, 1e-12)


def path_schedule(sigma: float) -> Schedule:
    """Cooling of a path whose equation is known, down to :func:`final_q`."""
    levels = [1.0, 0.3, 0.1, 0.03, 0.01, 0.003]
    last = final_q(sigma)
    q = 0.001
    while q > 2.0 * last:
        levels.append(q)
        q /= 10.0 if q < 1e-4 else 3.2
    return Schedule((*levels, last), 6)


@dataclass(frozen=True)
class Identified:
    """An equation as the fit sees it: dimensionless terms (hidden coordinates at unit spread), units, noise, and the
    covariance of the free coefficients.  ``jump``: std per √tc of the process noise that drives its learned rows (or
    all from ``driven`` on) where the equation is not exact (docs/mathematics.md (4.13)), 0 where it is.  ``rails``: the
    limits of the record's range, in its unit, where its samples are one-sided.  ``noise``: what is known
    of it beside its level."""

    terms: Terms
    amplitude: float
    time: float
    sigma: float
    covariance: FloatArray
    robust: bool = False
    jump: float = 0.0
    driven: int | None = None
    rails: Rails = UNLIMITED
    noise: Noise = PLAIN

    @property
    def loss(self) -> Loss:
        """The loss its paths are estimated with."""
        return "student" if self.robust else "gaussian"

    def prepared(self, records: Sequence[Series], shortest: float = SHORTEST_PAST) -> Prepared:
        """Records in its units, with its noise, its loss and its limits; stretches below ``shortest`` tc not used."""
        sigma, units = self.sigma * self.amplitude, (self.amplitude, self.time)
        return prepare(records, self.terms.dimension, sigma, units, shortest, self.loss, self.rails, self.noise)

    @property
    def scaled(self) -> Equation:
        """The equation in dimensionless coordinates."""
        return equation_of(self.terms)

    @property
    def equation(self) -> Equation:
        """The equation in the record's units, in the canonical gauge; a pole at 0 is written down as such."""
        canonical = self._in_units.canonical()
        rows = [
            Coupled(row.offset, {**row.factor, (0,) * (i + 1): row.factor.get((0,) * (i + 1), 0.0)})
            if isinstance(row, Coupled) and row.vanishes
            else row
            for i, row in enumerate(canonical.rows)
        ]
        return canonical.with_rows(tuple(rows))

    @property
    def regular(self) -> RegularClosure:
        """:attr:`equation` by the names a, D and P of its parts; an input error where its rows are others."""
        return RegularClosure.of(self.equation)

    @property
    def _in_units(self) -> Equation:
        """The equation in the record's units, in the gauge of the fit."""
        return self.scaled.in_units(self.amplitude, self.time)

    @property
    def _units(self) -> FloatArray:
        """Units of the dimensionless coordinates; hidden ones have none."""
        out = np.ones(self.terms.dimension)
        seen = np.arange(self.terms.shifts + 1)
        out[seen] = self.amplitude / self.time**seen
        return out

    def physical(self, states: FloatArray) -> FloatArray:
        """States (…, n) in the record's units and the canonical gauge."""
        return self._in_units.canonical_states(states * self._units)

    def with_coefficients(self, free: FloatArray) -> Identified:
        """The same closure with other values of the free coefficients."""
        coefficients = self.terms.coefficients.copy()
        coefficients[self.terms.free] = free
        return replace(self, terms=self.terms.with_coefficients(coefficients))

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        terms = self.terms
        rows = zip(terms.rows, terms.exponents, terms.coefficients, terms.free, strict=True)
        return {
            "order": terms.dimension,
            "amplitude": self.amplitude,
            "time": self.time,
            "sigma": self.sigma,
            "robust": self.robust,
            "jump": self.jump,
            "driven": self.driven,
            "terms": [
                {"row": int(r), "powers": list(e), "coefficient": float(c), "free": bool(f)} for r, e, c, f in rows
            ],
            **({"rails": [v if np.isfinite(v) else None for v in self.rails]} if self.rails != UNLIMITED else {}),
            **({"colour": list(astuple(self.noise.colour))} if self.noise.colour != WHITE else {}),
            **({"growth": list(astuple(self.noise.growth))} if self.noise.growth != EVEN else {}),
            **({"elements": [_shape_to_plain(one) for one in terms.elements]} if terms.elements else {}),
            "covariance": self.covariance.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Identified:
        """Inverse of :meth:`to_json`."""
        order = int(data["order"])
        rows = data["terms"]
        count = len(rows)
        free = np.array([bool(t["free"]) for t in rows])
        terms = Terms(
            order,
            min((int(t["row"]) for t in rows), default=order - 2),  # the rows before the first are u_i' = u_{i+1}
            np.array([int(t["row"]) for t in rows], np.int64),
            tuple(tuple(int(k) for k in t["powers"]) for t in rows),
            np.array([float(t["coefficient"]) for t in rows]),
            free,
            np.zeros(count),
            np.zeros(count),
            tuple(map(_shape_from_plain, data.get("elements", ()))),
        )
        terms.check()
        covariance = np.array(data["covariance"], dtype=float).reshape(int(free.sum()), int(free.sum()))
        amplitude, time, sigma = (float(data[name]) for name in ("amplitude", "time", "sigma"))
        noise = float(data.get("jump", 0.0)), data.get("driven")
        low, high = data.get("rails") or (None, None)
        known = Noise(Colour(*map(float, data.get("colour", ()))), Growth(*map(float, data.get("growth", ()))))
        rails = UNLIMITED[0] if low is None else float(low), UNLIMITED[1] if high is None else float(high)
        return cls(terms, amplitude, time, sigma, covariance, bool(data["robust"]), *noise, rails, known)

    def physical_jacobian(self, state: FloatArray) -> FloatArray:
        """∂(physical state)/∂(dimensionless state) at one dimensionless state."""
        return self._in_units.canonical_jacobian(state * self._units) * self._units


def _shape_to_plain(shape: Shape) -> dict[str, Any]:
    """Kind and coordinates of an element as plain data; inverse of :func:`_shape_from_plain`."""
    return {name: value for name, value in shape._asdict().items() if value is not None}


def _shape_from_plain(data: Mapping[str, Any]) -> Shape:
    partner = data.get("partner")
    return Shape(kind_of(str(data["kind"])).name, int(data["variable"]), None if partner is None else int(partner))


@dataclass(frozen=True)
class EndState:
    """The dimensionless state at the last sample, its covariance, and that with the free coefficients."""

    state: FloatArray
    covariance: FloatArray
    mixed: FloatArray


@dataclass(frozen=True)
class StateFit:
    """A path: states at every sample of the record (NaN in long gaps), the state at its last sample (carried there
    by the equation where that is missing) and its covariance in the record's units, the same dimensionless
    (``last``), residuals in units of the noise, cost per sample."""

    states: FloatArray
    end: FloatArray
    end_covariance: FloatArray
    last: EndState
    residuals: FloatArray
    chi2: float
    converged: bool


def identified_from(equation: Equation, prepared: Prepared, sigma: float) -> Identified:
    """A given equation in the units of a prepared record, all coefficients fixed, hidden coordinates at unit spread."""
    scaled = equation.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time)
    data = prepared.data(max(sigma, 0.01))
    for j in range(scaled.n_jets, scaled.dimension):
        factor = offset_and_factor(scaled, j - 1, prepared.jets.u[:, :j])[1]
        size = np.sqrt(np.mean(factor**2))
        scaled = scaled.changed(j, float(size), {})  # a factor of size 1: the start weighs it against smoothness
        spread = float(np.std(states_for(prepared, scaled, data)[:, j]))
        scaled = scaled.changed(j, 1.0 / spread, {})
    terms = equation_terms(scaled)
    return Identified(terms, prepared.amplitude, prepared.time, sigma, np.zeros((0, 0)))


def estimate_path(
    model: Identified, prepared: Prepared, interrupt: Callable[[], bool] | None = None, ceiling: float = np.inf
) -> tuple[Data, Fit]:
    """Fit the node states of a prepared record (scaled by the model's units), coefficients fixed; with jumps of their
    own size where the equation has model error.  A path that costs more than ``ceiling`` per sample is given up."""
    if model.jump > 0.0:
        weak = weak_data(prepared, model.sigma, model.terms, driven=model.driven)
        return weak, weak_path(weak, model.terms, states_for(prepared, model.scaled, weak), model.jump)
    prepared = stepped(prepared, model.terms)
    frozen = replace(model.terms, free=np.zeros_like(model.terms.free))
    coarse = prepared.data(max(model.sigma, 0.02))
    start = states_for(prepared, model.scaled, coarse)
    schedule = path_schedule(model.sigma)
    rough = Schedule(tuple(q for q in schedule.levels if q > 1e-3), schedule.iterations)
    most = ceiling * coarse.n_samples
    fit = anneal(coarse, frozen, start, rough, interrupt, rescale=False, ceiling=most)
    data = prepared.data(model.sigma)
    if not fit.cost <= most:
        return data, replace(fit, states=np.full((data.layout.first.size, fit.terms.dimension), np.nan))
    nodes = _nodes_of(fit, coarse, data)
    rest = Schedule(tuple(q for q in schedule.levels if q <= 1e-3), 10)
    fit = anneal(data, fit.terms, nodes, rest, interrupt, rescale=False, ceiling=most)
    return data, settled(data, fit, DECISION.suspicious(data.n_samples) * data.n_samples, interrupt)


def carried_through(
    prepared: Prepared, data: Data, fit: Fit, searched: Data, interrupt: Callable[[], bool] | None = None
) -> Fit:
    """The path of a ``fit`` to the data that were ``searched`` through all ``data`` of a record, for one that a path
    from the smoothed record does not follow: beyond what was searched it begins there, is never loose, and has its
    coefficients held."""
    nodes = states_for(prepared, equation_of(fit.terms), data)
    known = data.layout.first < searched.y.size
    nodes[known] = path_states(fit, searched)[data.layout.first[known]]
    if known.all():
        return replace(fit, states=nodes)
    frozen = replace(fit.terms, free=np.zeros_like(fit.terms.free))
    path = anneal(data, frozen, nodes, Schedule((*CARRIED, fit.q), CARRIED_ITERATIONS), interrupt, rescale=False)
    return replace(path, terms=fit.terms)


def _nodes_of(fit: Fit, coarse: Data, fine: Data) -> FloatArray:
    """Node states of one layout from those of another."""
    if np.array_equal(coarse.layout.first, fine.layout.first):
        return fit.states
    return path_states(fit, coarse)[fine.layout.first]


def describe(model: Identified, prepared: Prepared, data: Data, fit: Fit, lengths: list[int]) -> list[StateFit]:
    """One :class:`StateFit` per record, with end covariance from the linearised fit (coefficients as uncertain
    as the model says)."""
    linear = Linearisation(data, model.terms)
    linear.at(fit.states, fit.terms.coefficients)
    eliminated = linear.eliminate(fit.q, 0.0)
    covariances, mixed = eliminated.state_covariance(model.covariance)
    states = path_states(fit, data)
    residual = np.where(data.weight > 0, data.whitened(states[:, 0] - data.y) * np.sqrt(data.weight), np.nan)
    residual[data.side != 0.0 if data.side is not None else slice(0)] = np.nan  # one-sided samples have none
    physical = model.physical(states)
    ends = np.flatnonzero(data.layout.spans == 0)
    offsets = np.cumsum((0, *prepared.jets.lengths))
    out = []
    for record, length in enumerate(lengths):
        full = np.full((length, model.terms.dimension), np.nan)
        left = np.full(length, np.nan)
        last = -1
        for i, piece in enumerate(prepared.pieces):
            if piece.record == record:
                full[piece.start : piece.stop] = physical[offsets[i] : offsets[i + 1]]
                left[piece.start : piece.stop] = residual[offsets[i] : offsets[i + 1]]
                last = i
        node = int(ends[last])
        end = EndState(fit.states[node], covariances[node], mixed[node])
        end = carry(model, end, length - prepared.pieces[last].stop, prepared.jets.spacing)
        jacobian = model.physical_jacobian(end.state)
        out.append(
            StateFit(
                full,
                model.physical(end.state),
                jacobian @ end.covariance @ jacobian.T,
                end,
                left,
                fit.cost / max(data.n_samples, 1),
                fit.converged and bool(np.isfinite(fit.cost)),
            )
        )
    return out


def carry(model: Identified, end: EndState, samples: int, spacing: float) -> EndState:
    """A state and its covariances ``samples`` samples of length ``spacing`` (in tc) later, by the linearised flow."""
    if samples == 0:
        return end
    empty = np.zeros(samples + 1)
    steps = max(1, ceil(spacing / CLEAN_STEP))
    layout = Layout(np.array([0, samples], np.int64), np.array([samples, 0], np.int64), 1, steps, spacing)
    linear = Linearisation(Data(empty, empty, layout, RK8), model.terms)
    linear.at(np.stack([end.state, np.zeros_like(end.state)]), model.terms.coefficients)
    flow, arrow = linear.transitions[0], linear.arrows[0]
    both = flow @ end.mixed @ arrow.T
    covariance = flow @ end.covariance @ flow.T + both + both.T + arrow @ model.covariance @ arrow.T
    return EndState(linear.defects[0].copy(), covariance, flow @ end.mixed + arrow @ model.covariance)


def fit_state(regular: Equation, record: Series, sigma: float | None = None) -> StateFit:
    """The path of ``regular`` through ``record``; ``sigma`` is the noise's std (default: estimated).

    With the true closure this is the oracle of mathematics.md §5.
    """
    if not isinstance(regular, Equation):
        raise InputError(
            f"The 'regular_closure' parameter must be a RegularClosure or another Equation. "
            f"Got {type(regular).__name__} instead."
        )
    try:
        prepared = prepare([record], regular.dimension, sigma, loss="auto")
    except Unsuitable as reason:
        raise InputError(str(reason)) from None
    model = identified_from(regular, prepared, prepared.sigma)
    data, fit = estimate_path(model, prepared)
    return describe(model, prepared, data, fit, [record.n])[0]


def paths_through(model: Identified, records: Sequence[Series]) -> tuple[StateFit, ...]:
    """The paths of a model through records other than its own, or its own again, in its units and with its noise."""
    try:
        prepared = model.prepared(records)
    except Unsuitable as reason:
        raise InputError(str(reason)) from None
    data, fit = estimate_path(model, prepared)
    return tuple(describe(model, prepared, data, fit, [r.n for r in records]))


def past_length(model: Identified) -> float:
    """How much of the past, in tc, a past-only state is estimated from."""
    exact = PAST_LENGTH if model.sigma > CLEAN_SIGMA else CLEAN_PAST_LENGTH
    return WEAK_PAST_LENGTH if model.jump > 0.0 else exact


def past_state(model: Identified, record: Series, sample: int) -> StateFit:
    """The state at ``sample`` from the samples up to it."""
    window = round(past_length(model) * model.time / record.dt)
    begin = max(0, sample - window)
    if not stretches(record.values[begin : sample + 1], record.dt, model.time, SHORTEST_PAST):
        shortest = max(SHORTEST_PAST * model.time, FEWEST_SAMPLES * record.dt)
        raise InputError(
            f"The state at sample {sample} needs a stretch of {shortest:.3g} time units before it. Got a shorter one."
        )
    stretch = record.slice(begin, sample + 1)
    prepared = model.prepared([stretch])
    data, fit = estimate_path(model, prepared)
    return describe(model, prepared, data, fit, [stretch.n])[0]
