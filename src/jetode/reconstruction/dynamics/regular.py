"""The regular closure of the joint fit (docs/mathematics.md §3, §4): pole-free coordinates, states from the path of the
equation through the record, bands from the posterior of coefficients and state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation
from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents
from jetode.equations.regular import RegularClosure
from jetode.integration.forecast import Forecast, forecast, horizon_samples
from jetode.joint.bands import forecast_band
from jetode.joint.path import EndState, Identified, StateFit, past_state, paths_through
from jetode.reconstruction.dynamics.base import NEEDS_RECORD, Ahead, Coefficient, read_only
from jetode.reconstruction.dynamics.written import RegularEquation
from jetode.reconstruction.found_elements import left_range, visited_ranges
from jetode.reconstruction.settings import INTEGRATION
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

COVARIANCE_STEP = 1e-6  # of a coefficient, or of 1e-3 where it is smaller: central differences through units and gauge


@dataclass(frozen=True, eq=False)
class RegularDynamics:
    """u_i' = u_{i+1}, u_{n−2}' = a + D w, w' = P as identified by the joint fit.

    ``end``: the dimensionless state at the last sample with its covariance; ``fitted_paths``: those of the fit, where
    it was made in this session (else they are estimated when first asked for); ``visited``: the range of the coordinate
    of each element over the record.
    """

    identified: Identified
    regular: RegularClosure
    spread: FloatArray
    end_state: FloatArray
    end: EndState
    records: tuple[Series, ...] = field(default=(), repr=False)
    fitted_paths: tuple[StateFit, ...] = field(default=(), repr=False)
    visited: tuple[tuple[float, float], ...] = ()

    kind = "regular"
    coordinates = "regular"

    def __post_init__(self) -> None:
        for name in ("spread", "end_state"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def of(cls, identified: Identified, records: Sequence[Series], paths: Sequence[StateFit]) -> RegularDynamics:
        """From a fit; it stands at the end of the last record."""
        states = np.concatenate([p.states for p in paths])
        last = paths[-1]
        spread, regular = np.nanstd(states, axis=0), identified.regular
        visited = visited_ranges(regular.elements, states)
        return cls(identified, regular, spread, last.end, last.last, tuple(records), tuple(paths), visited)

    # -- what it says --------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """Number n of coordinates."""
        return self.regular.order

    @property
    def equation(self) -> RegularEquation:
        """In the canonical gauge and the record's units."""
        return RegularEquation(self.regular)

    @cached_property
    def closure(self) -> Closure | None:
        """The same without its hidden coordinate; None with elements, which are not rational."""
        return None if self.regular.elements else self.regular.rational()

    def coefficients(self) -> tuple[Coefficient, ...]:
        """All but the leading 1 of D and of c, with standard errors."""
        keys, values = canonical_vector(self.regular)
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return tuple(
            Coefficient(part, powers, float(v), float(e))
            for (part, powers), v, e in zip(keys, values, errors, strict=True)
        )

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of :meth:`coefficients`, by linear propagation through units and gauge."""
        model = self.identified
        free = model.terms.coefficients[model.terms.free]
        keys, base = canonical_vector(self.regular)
        step = COVARIANCE_STEP * np.maximum(np.abs(free), 1e-3)
        jacobian = np.empty((base.size, free.size))
        for j in range(free.size):
            up, down = free.copy(), free.copy()
            up[j] += step[j]
            down[j] -= step[j]
            ends = [dict(zip(*canonical_vector(model.with_coefficients(v).regular), strict=True)) for v in (up, down)]
            jacobian[:, j] = [(ends[0].get(k, 0.0) - ends[1].get(k, 0.0)) / (2 * step[j]) for k in keys]
        return read_only(jacobian @ model.covariance @ jacobian.T)

    # -- where it is -----------------------------------------------------------------------------------------

    @cached_property
    def paths(self) -> tuple[StateFit, ...]:
        """Smoothed states through each record."""
        return self.fitted_paths or (paths_through(self.identified, self.records) if self.records else ())

    @property
    def path(self) -> FloatArray | None:
        """Smoothed regular states at every sample of the last record."""
        return self.paths[-1].states if self.paths else None

    @property
    def jet_path(self) -> FloatArray | None:
        """The same as jets."""
        return self.regular.jets(self.paths[-1].states) if self.paths else None

    @property
    def residuals(self) -> FloatArray | None:
        """Of the last record, in units of the noise."""
        return self.paths[-1].residuals if self.paths else None

    def past(self, start: int) -> StateFit:
        """The path up to sample ``start`` of the last record, from the samples up to it."""
        if not self.records:
            raise InputError(NEEDS_RECORD)
        return past_state(self.identified, self.records[-1], start)

    def state(self, start: int, past_only: bool = True) -> FloatArray:
        """The state at a sample, from its past or from the whole record."""
        if past_only:
            return self.past(start).end
        if not self.paths:
            raise InputError(NEEDS_RECORD)
        return self.paths[-1].states[start]

    def with_records(self, records: Sequence[Series]) -> RegularDynamics:
        """The same equation at the end of the last of ``records``."""
        last = past_state(self.identified, records[-1], records[-1].n - 1)
        return replace(self, end_state=last.end, end=last.last, records=tuple(records), fitted_paths=())

    # -- where it goes ---------------------------------------------------------------------------------------

    def forecast(self, ahead: Ahead) -> Forecast:
        """In regular coordinates (in jets where asked for), with bands from the posterior unless the start was smoothed
        over the samples to come."""
        settings = INTEGRATION
        if ahead.samples:  # before anything is run
            horizon_samples(ahead.horizon, ahead.dt, settings.most_band_steps)
        rtol = settings.tight_rtol if self.identified.sigma < settings.nearly_exact else settings.rtol
        options = {"rtol": rtol, **ahead.options}
        state, end = self._start(ahead)
        if ahead.coordinates == "jet":
            if self.closure is None:
                raise InputError("The 'coordinates' must be auto or regular for an equation with elements. Got 'jet'.")
            jets = self.regular.jets(state)
            around = Field.from_closure(self.closure)
            run = forecast(around, jets, self._jet_spread(), ahead.horizon, ahead.dt, **options)
        else:
            run = forecast(self.regular.field, state, self.spread, ahead.horizon, ahead.dt, **options)
            run = replace(run, notes=left_range(self.regular.elements, self.visited, run))
        if not ahead.samples or end is None:
            return run
        steps = horizon_samples(ahead.horizon, ahead.dt)
        rng = np.random.default_rng(ahead.seed)
        band = forecast_band(self.identified, end, steps, ahead.dt, ahead.samples, rng)
        m = run.values.shape[0]
        names = ("lower", "upper", "inner_lower", "inner_upper")
        return replace(run, **{name: getattr(band, name)[:m] for name in names})

    def _start(self, ahead: Ahead) -> tuple[FloatArray, EndState | None]:
        """The state to start from, and how uncertain it is (None where it knows the future)."""
        if ahead.start is None:
            return self.end_state, self.end
        if not ahead.past_only:
            return self.state(ahead.start, past_only=False), None
        past = self.past(ahead.start)
        return past.end, past.last

    def _jet_spread(self) -> FloatArray:
        """Size of the jets where the spread is that of regular coordinates."""
        jets = np.abs(self.regular.jets(self.spread))
        return np.append(jets[:-1], max(jets[-1], jets[-2]))

    def rollout(self, duration: float, step: float) -> FloatArray:
        """Jets of a long run."""
        run = forecast(self.regular.field, self.end_state, self.spread, duration, step, rtol=INTEGRATION.rollout_rtol)
        return self.regular.jets(run.states)

    # -- plain data ------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Equation in both forms, states, and the fit in its own units."""
        return {
            "kind": self.kind,
            "closure": None if self.closure is None else self.closure.to_json(),
            "regular": self.regular.to_json(),
            "poles": [] if self.closure is None else list(self.closure.poles()),
            "coordinates": self.coordinates,
            "spread": self.spread.tolist(),
            "end_state": self.end_state.tolist(),
            "identified": self.identified.to_json(),
            "end": {name: getattr(self.end, name).tolist() for name in ("state", "covariance", "mixed")},
            **({"visited": [list(seen) for seen in self.visited]} if self.visited else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RegularDynamics:
        """From a model file."""
        end = EndState(*(np.array(data["end"][n], dtype=float) for n in ("state", "covariance", "mixed")))
        identified, regular = Identified.from_json(data["identified"]), RegularClosure.from_json(data["regular"])
        if not len(regular.elements) == len(identified.terms.elements) == len(data.get("visited", ())):
            raise ValueError("the elements of its parts differ")
        if set(canonical_vector(regular)[0]) != set(canonical_vector(identified.regular)[0]):
            raise ValueError("its equation has not the terms of its fit")
        return cls(
            identified,
            regular,
            read_only(data["spread"]),
            read_only(data["end_state"]),
            end,
            visited=tuple((float(low), float(high)) for low, high in data.get("visited", ())),
        )


def canonical_vector(equation: Equation) -> tuple[list[tuple[str, Exponents]], FloatArray]:
    """Names and values of all coefficients but the leading 1 of D and of other factors."""
    listed = equation.coefficients()
    return [(part, e) for part, e, _ in listed], np.array([c for *_, c in listed])
