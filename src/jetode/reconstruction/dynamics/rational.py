"""The paper's closure on jets (its Sec. 2 and 3): u_{n−1}' = N/D from a spline's derivatives, run in pole-free
coordinates where the closure has a regular form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.polynomials import evaluate
from jetode.equations.regular import RegularClosure
from jetode.integration.dop853 import integrate
from jetode.integration.forecast import Forecast, forecast, forecast_many
from jetode.paper.identify import spline_margin
from jetode.reconstruction.dynamics.base import NEEDS_RECORD, Ahead, Coefficient, read_only
from jetode.reconstruction.dynamics.regular import canonical_vector
from jetode.reconstruction.dynamics.written import RationalEquation, RegularEquation
from jetode.reconstruction.record_info import SplineInfo
from jetode.reconstruction.settings import INTEGRATION
from jetode.records.series import Series, require_complete
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True, eq=False)
class RationalDynamics:
    """D u_{n−1}' = N on jets; ``regular`` is its pole-free form where it has one, ``jets`` (n, order) those of the
    record in hand, sampled ``dt`` apart; ``sigma`` the std of the noise."""

    closure: Closure
    spread: FloatArray
    end_state: FloatArray
    spline: SplineInfo
    dt: float
    sigma: float = 0.0
    regular: RegularClosure | None = None
    jets: FloatArray | None = field(default=None, repr=False)
    records: tuple[Series, ...] = field(default=(), repr=False)

    kind = "rational"
    coordinates = "jet"

    def __post_init__(self) -> None:
        for name in ("spread", "end_state"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        if self.jets is not None:
            object.__setattr__(self, "jets", read_only(self.jets))

    # -- what it says --------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """Number n of coordinates."""
        return self.closure.order

    @property
    def equation(self) -> RationalEquation | RegularEquation:
        """The pole-free form where there is one."""
        return RationalEquation(self.closure) if self.regular is None else RegularEquation(self.regular)

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Of the equation; the method knows no standard errors."""
        if self.regular is not None:
            keys, values = canonical_vector(self.regular)
            return tuple(Coefficient(*key, float(v), nan) for key, v in zip(keys, values, strict=True))
        parts = (("N", self.closure.numerator), ("D", self.closure.denominator))
        return tuple(Coefficient(part, e, c, nan) for part, polynomial in parts for e, c in polynomial.items())

    # -- where it is -----------------------------------------------------------------------------------------

    @property
    def path(self) -> FloatArray | None:
        """The spline's jets at every sample."""
        return self.jets

    jet_path = path

    @property
    def residuals(self) -> FloatArray | None:
        """Record minus spline in units of the noise."""
        if self.jets is None or not self.records:
            return None
        return np.asarray((self.records[-1].values - self.jets[:, 0]) / (self.sigma or 1.0), dtype=np.float64)

    def state(self, start: int, past_only: bool = True) -> FloatArray:
        """The spline's jets at a sample; they see what comes after it, whatever ``past_only`` says."""
        if self.jets is None:
            raise InputError(NEEDS_RECORD)
        return self.jets[start, : self.order]

    def with_records(self, records: Sequence[Series]) -> RationalDynamics:
        """The same closure at the end of the last of ``records``, smoothed with the same weight."""
        record = records[-1]
        require_complete(record, "paper")
        spline = smooth(record.values, record.dt, self.spline.degree, "weight", weight=self.spline.weight)
        jets = spline.jets(self.order - 1)
        end = end_state(self.closure, jets, self.spread, record.dt, spline_margin(spline))
        return replace(self, end_state=end, jets=jets, records=tuple(records))

    # -- where it goes ---------------------------------------------------------------------------------------

    def forecast(self, ahead: Ahead) -> Forecast:
        """In regular coordinates where there are any, unless jets are asked for; no bands."""
        if ahead.coordinates == "regular" and self.regular is None:
            raise InputError("The 'coordinates' parameter must be auto or jet: the model has no regular form.")
        jets = self.end_state if ahead.start is None else self.state(ahead.start)
        if self.regular is None or ahead.coordinates == "jet":
            around = Field.from_closure(self.closure)
            return forecast(around, jets, self.spread, ahead.horizon, ahead.dt, **ahead.options)
        state, spread = self.regular_state(jets), self._regular_spread(self.regular)
        return forecast(self.regular.field, state, spread, ahead.horizon, ahead.dt, **ahead.options)

    def rollout(self, duration: float, step: float) -> FloatArray:
        """Jets of a long run."""
        if self.regular is None:
            return forecast(Field.from_closure(self.closure), self.end_state, self.spread, duration, step).states
        state, spread = self.regular_state(self.end_state), self._regular_spread(self.regular)
        run = forecast(self.regular.field, state, spread, duration, step, rtol=INTEGRATION.rollout_rtol)
        return self.regular.jets(run.states)

    def _regular_spread(self, regular: RegularClosure) -> FloatArray:
        """The spread with the typical size of w off the pole."""
        size = abs(float(evaluate(regular.D, self.spread[:-1])))
        return np.append(self.spread[:-1], self.spread[-1] / size if size > 0 else 1.0)

    def regular_state(self, jets: FloatArray) -> FloatArray:
        """Pole-free coordinates (u0 … u_{n−2}, w) of one jet state; near the pole w is carried there from where D is
        large, back along the flow."""
        if self.regular is None:
            raise InputError("The model has no regular form.")
        limit = INTEGRATION.near_pole * abs(float(evaluate(self.regular.D, self.spread[:-1])))
        here = abs(float(evaluate(self.regular.D, jets[:-1])))
        if here >= limit or self.jets is None:
            return np.append(jets[:-1], float(self.regular.hidden(jets)))
        at = int(np.argmin(np.abs(self.jets[:, : self.order] - jets).sum(axis=1)))
        reach = max(2, round(float(self.spread[0] / self.spread[1]) / self.dt))
        earlier = self.jets[max(0, at - reach) : at + 1, : self.order]
        j = int(np.argmax(np.abs(evaluate(self.regular.D, earlier[:, :-1]))))
        start = np.append(earlier[j, :-1], float(self.regular.hidden(earlier[j])))
        steps = earlier.shape[0] - 1 - j
        run = integrate(self.regular.field, start, steps + 1, self.dt, rtol=1e-10, atol=1e-12, max_step=5 * self.dt)
        return np.append(jets[:-1], float(run.states[-1, -1]))

    # -- plain data ------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The closure, its regular form, and the end of the record."""
        return {
            "kind": self.kind,
            "closure": self.closure.to_json(),
            "regular": None if self.regular is None else self.regular.to_json(),
            "poles": list(self.closure.poles()),
            "coordinates": self.coordinates,
            "spread": self.spread.tolist(),
            "end_state": self.end_state.tolist(),
            "identified": None,
            "end": None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RationalDynamics:
        """From a model file."""
        return cls(
            Closure.from_json(data["closure"]),
            read_only(data["spread"]),
            read_only(data["end_state"]),
            SplineInfo(**data["spline"]),
            float(data["record"]["dt"]),
            float(data["noise"]["sigma"]),
            None if data["regular"] is None else RegularClosure.from_json(data["regular"]),
        )


def end_state(closure: Closure, jets: FloatArray, spread: FloatArray, dt: float, margin: int) -> FloatArray:
    """State at the last sample, carried there by the closure from where the spline is good, or the spline's."""
    order, last = closure.order, jets.shape[0] - 1
    end = jets[last, :order]
    if margin == 0:
        return end
    run = forecast_many(Field.from_closure(closure), jets[last - margin, :order], spread, margin * dt, dt)[0]
    if run.completed and abs(run.values[-1] - end[0]) < INTEGRATION.carried_agreement * spread[0]:
        return run.states[-1]
    return end
