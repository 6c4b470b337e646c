"""The result a user works with: where it came from, what it integrates, how far to rely on it, and its forecasts.

A model is saved as plain JSON with all that a forecast from the end of the record needs.  Other start samples, and the
end of another record, need a record, which :meth:`Model.with_record` brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import pi
from pathlib import Path
from typing import Any

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.notation import slope_labels
from jetode.equations.regular import RegularClosure
from jetode.integration.forecast import Forecast, forecast_many
from jetode.joint.path import EndState, Identified, StateFit
from jetode.reconstruction import serialisation
from jetode.reconstruction.dynamics.base import Ahead, Coefficient, Dynamics, check_start
from jetode.reconstruction.dynamics.rational import RationalDynamics
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.evidence import AnyEvidence, Evidence, evidence_of
from jetode.reconstruction.found_elements import FoundElement, found_elements
from jetode.reconstruction.held_out_bands import HeldOutBands
from jetode.reconstruction.naming import NamedEquation, named
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.settings import INTEGRATION
from jetode.reconstruction.verdict import Verdict
from jetode.records.conversion import as_series
from jetode.records.series import Series
from jetode.signal.decimate import decimate
from jetode.support import markup, plotting
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.files import write_text

SAME_STEP = 1e-6  # relative difference up to which two sampling intervals are one


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A reconstruction: the ``record`` it starts from (the last one of several), the ``dynamics`` it integrates, the
    ``verdict`` on it, and plain data on how it was found (``settings``, ``diagnostics``).

    ``forecaster``: what forecasts, where that is farther than the equation of ``dynamics`` does; ``bands``: from
    held-out errors, where the model is not exact.
    """

    method: str
    noise_sigma: float
    record: RecordInfo
    verdict: Verdict
    dynamics: Dynamics = field(repr=False)
    spline: SplineInfo | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict, repr=False)
    forecaster: Dynamics | None = field(default=None, repr=False)
    bands: HeldOutBands | None = field(default=None, repr=False)

    # -- what was found ------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """Number of coordinates."""
        return self.dynamics.order

    @cached_property
    def evidence(self) -> AnyEvidence | None:
        """What the verdict looked at."""
        return evidence_of(self.diagnostics)

    @property
    def closure(self) -> Closure:
        """The rational closure D u_{n−1}' = N."""
        found = self.dynamics.closure
        if found is None:
            raise InputError(f"A model of the kind {self.dynamics.kind!r} has no rational closure.")
        return found

    @property
    def regular(self) -> RegularClosure | None:
        """The pole-free form, where there is one."""
        return self.dynamics.regular

    @property
    def characteristic_time(self) -> float:
        """tc = std(u0)/std(u1) in the record's time unit."""
        return float(self.diagnostics.get("characteristic_time") or self.spread[0] / self.spread[1])

    @property
    def oscillation(self) -> float:
        """Length of one oscillation in the record's time unit, as they are counted in the record."""
        counted = self.diagnostics.get("oscillation")
        if counted is None and isinstance(self.evidence, Evidence):  # files of version 2
            counted = self.record.n * self.record.dt / max(self.evidence.oscillations, 1.0)
        return float(counted or 2.0 * pi * self.characteristic_time)

    @cached_property
    def named(self) -> NamedEquation | None:
        """The equation in the words of the record, with units and what each coordinate is; None where it has none."""
        return named(self)

    def equation(self, format: str = "text", digits: int | None = None) -> Any:
        """The equations as "text", "latex" or "sympy" (a dictionary from coordinate to rate), in the record's symbols.

        Coefficients are rounded to two digits of their standard errors unless ``digits`` says how many to show.
        """
        if format not in ("text", "latex", "sympy"):
            raise InputError(f"The 'format' parameter must be text, latex or sympy. Got {format!r} instead.")
        shown = self.named
        if shown is None:
            raise InputError(f"A model of the kind {self.dynamics.kind!r} has no equation; it can only forecast.")
        if format == "sympy":
            return shown.rates()
        return shown.text(digits) if format == "text" else shown.latex(digits)

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Coefficients of the equation with standard errors (NaN where no covariance is known)."""
        listed = self.diagnostics.get("stability", ())
        kept = {(term["part"], tuple(term["powers"])): float(term["share"]) for term in listed}
        found = self.dynamics.coefficients()
        return tuple(replace(c, stability=kept.get((c.part, c.powers), c.stability)) for c in found)

    @cached_property
    def elements(self) -> tuple[FoundElement, ...]:
        """Functions of one coordinate in the equation (sin, abs, …, curve), none where it is polynomial."""
        return found_elements(self)

    @property
    def covariance(self) -> FloatArray:
        """Covariance of :meth:`coefficients`."""
        if not isinstance(self.dynamics, RegularDynamics):
            raise InputError("A covariance comes with the joint fit only: use method='joint'.")
        return self.dynamics.covariance

    # -- where it is ---------------------------------------------------------------------------------------

    @property
    def spread(self) -> FloatArray:
        """Std of each coordinate over the record."""
        return self.dynamics.spread

    @property
    def end_state(self) -> FloatArray:
        """The state at the end of the record."""
        return self.dynamics.end_state

    @property
    def records(self) -> tuple[Series, ...]:
        """Those of the session that fitted the model, or of :meth:`with_record`."""
        return self.dynamics.records

    @property
    def path(self) -> FloatArray:
        """Smoothed states at every sample of the (last) record: regular after the joint fit, else jets."""
        found = self.dynamics.path
        if found is None:
            raise InputError("The path needs the record, which a saved model does not hold: use with_record(record).")
        return found

    @property
    def jet_path(self) -> FloatArray:
        """Smoothed jets u0 … u_{n−1} at every sample of the (last) record."""
        found = self.dynamics.jet_path
        if found is None:
            raise InputError("The path needs the record, which a saved model does not hold: use with_record(record).")
        return found

    def state(self, start: int | None = None, past_only: bool = True) -> FloatArray:
        """The state at sample ``start`` (None: the last one), in the coordinates of the dynamics.

        After the joint fit it is estimated from the samples up to ``start`` unless ``past_only`` is False, which
        takes the path smoothed over the whole record (the paper's protocol).
        """
        if start is None:
            return self.end_state
        check_start(start, self.record.n)
        return self.dynamics.state(start, past_only)

    def with_record(self, record: Series | Sequence[Series]) -> Model:
        """The same model at the end of ``record`` (of the last of several), with all its samples to start from.

        A record sampled as the one that was given for the fit is decimated as that one was.
        """
        given = (record,) if isinstance(record, Series) else tuple(record)
        if not given:
            raise InputError("The 'record' parameter must be a Series or a sequence of them.")
        used = tuple(self.as_fitted(r) for r in given)
        again = used[-1] is not given[-1]
        notes = (f"decimated by {self.record.decimation} after a low-pass filter, as for the fit",) if again else ()
        info = RecordInfo.of(used, self.record.decimation, notes)
        forecaster = None if self.forecaster is None else self.forecaster.with_records(used)
        return replace(self, record=info, dynamics=self.dynamics.with_records(used), forecaster=forecaster)

    def as_fitted(self, record: Series) -> Series:
        """The record at the model's sampling interval."""
        dt, factor = self.record.dt, self.record.decimation
        if abs(record.dt - dt) <= SAME_STEP * dt:
            return record
        if factor > 1 and abs(record.dt * factor - dt) <= SAME_STEP * dt:
            return decimate(record, factor)
        also = f" (or {dt / factor:g}, as it was before decimation)" if factor > 1 else ""
        raise InputError(
            f"The record must have the model's sampling interval, {dt:g}{also}. Got {record.dt:g} instead."
        )

    def update(self, record: Any) -> Model:
        """The model with more samples: ``record`` is its own record as it is now, or what follows its end.

        Coefficients and path are fitted again from the old ones, without a search (those of an approximate equation
        and of a black box stay as they are); the verdict says whether it still holds.  A saved model needs the whole
        record.
        """
        from jetode.reconstruction.update import update

        return update(self, record)

    # -- forecasts -----------------------------------------------------------------------------------------

    def forecast(
        self,
        horizon: float,
        start: int | None = None,
        past_only: bool = True,
        samples: int = 200,
        seed: int | None = None,
        step: float | None = None,
        record: Any = None,
        **options: Any,
    ) -> Forecast:
        """Run the model ahead from sample ``start`` (None: the end) for ``horizon`` in the record's time.

        ``record``: start in this new record instead of the model's own, as :meth:`with_record` does; anything that
        holds one will do (an array has the model's sampling interval).
        The 50 % and 90 % bands come from ``samples`` members drawn from the posterior of an exact equation (0: no
        bands; ``seed`` draws them, default: that of the reconstruction), from held-out errors where it is not exact.
        ``step``: time between the values (default: the record's).  ``options``: ``coordinates``, "regular"
        (pole-free), "jet" (N/D, as the paper integrates) or "auto", the first where there is a regular form; rtol, atol
        (× std), max_step (× step), backend of :func:`jetode.integration.forecast.forecast`.
        """
        if record is not None:
            new = as_series(record, default_dt=self.record.dt)
            return self.with_record(new).forecast(horizon, start, past_only, samples, seed, step, **options)
        if start is not None:
            check_start(start, self.record.n)
        dt = self.record.dt if step is None else step
        drawn = int(self.settings.get("seed") or 0) if seed is None else seed
        members = samples if self.bands is None else 0
        coordinates = options.pop("coordinates", "auto")
        ahead = Ahead(horizon, dt, start, past_only, members, drawn, coordinates, options)
        run = replace((self.forecaster or self.dynamics).forecast(ahead), axis=self.record.axis(start))
        if self.bands is None or not samples:
            return run
        seen = self.records[-1].values[: None if start is None else start + 1] if self.records else None
        return (self.bands if seen is None else self.bands.after(seen)).around(run)

    def forecasts(self, horizon: float, starts: Any, **options: Any) -> list[Forecast]:
        """Forecasts by N/D from several samples of the jets in one compiled call (the paper's protocol)."""
        states = np.stack([self.state(int(i)) for i in starts])
        vector_field = Field.from_closure(self.closure)
        return forecast_many(vector_field, states, self.spread, horizon, self.record.dt, **options)

    def rollout(self, duration: float | None = None) -> FloatArray:
        """Jets of a long run from the end of the record (default 400 tc), tc/20 apart, as far as it gets."""
        tc = self.characteristic_time
        return self.dynamics.rollout(duration or INTEGRATION.rollout * tc, tc / INTEGRATION.rollout_density)

    # -- what single kinds have ------------------------------------------------------------------------------

    @property
    def coordinates(self) -> str:
        """Those of ``spread`` and ``end_state``: "jet" (u0 … u_{n−1}) or "regular" (u0 … u_{n−2}, w)."""
        return str(getattr(self.dynamics, "coordinates", self.dynamics.kind))

    @property
    def identified(self) -> Identified | None:
        """The joint fit in its own units."""
        return self.dynamics.identified if isinstance(self.dynamics, RegularDynamics) else None

    @property
    def end(self) -> EndState | None:
        """The joint fit's end state with its covariance."""
        return self.dynamics.end if isinstance(self.dynamics, RegularDynamics) else None

    @property
    def paths(self) -> tuple[StateFit, ...]:
        """The joint fit's path through each record."""
        return self.dynamics.paths if isinstance(self.dynamics, RegularDynamics) else ()

    @property
    def jets(self) -> FloatArray | None:
        """The spline's jets of the paper's method."""
        return self.dynamics.jets if isinstance(self.dynamics, RationalDynamics) else None

    def regular_state(self, jets: FloatArray) -> FloatArray:
        """Pole-free coordinates (u0 … u_{n−2}, w) of one jet state."""
        if isinstance(self.dynamics, RationalDynamics):
            return self.dynamics.regular_state(jets)
        if self.regular is None:
            raise InputError("The model has no regular form.")
        return self.regular.states(jets)

    def __repr__(self) -> str:
        record = plotting.label(self.record.name or "the record", self.record.unit)
        grade = f"grade {self.verdict.grade}"
        return f"Model({record}: {self.order} coordinates, {len(self.coefficients())} coefficients, {grade})"

    # -- seeing it -----------------------------------------------------------------------------------------

    def plot(self, horizon: float | None = None, axes: Any = None) -> Any:
        """End of the record, smoothed signal and forecast on matplotlib ``axes`` (None: new ones), returned."""
        ahead = self.forecast(horizon or 0.1 * self.record.n * self.record.dt)
        path = self.dynamics.path
        return plotting.record_and_forecast(
            axes,
            self.record.t0 + self.record.dt * np.arange(self.record.n, dtype=np.float64),
            self.records[-1].values if self.records else None,
            None if path is None else path[:, 0],
            ahead,
            plotting.label(self.record.name or "value", self.record.unit),
            plotting.label("t", self.record.time_unit),
        )

    def plot_attractor(self, axes: Any = None) -> Any:
        """Embedded record against a long run of the model on 3-D (order 2: plane) ``axes``, returned."""
        path, record = self.dynamics.jet_path, self.record
        slopes = slope_labels(record.name, record.unit, record.time_unit, min(3, self.order))
        return plotting.attractor(axes, np.empty((0, self.order)) if path is None else path, self.rollout(), slopes)

    def _repr_latex_(self) -> str | None:
        return None if self.shown_equation is None or self.named is None else f"$${self.named.latex()}$$"

    def _repr_html_(self) -> str:
        noise = self.summary()["noise"]
        rows = [
            ("record", f"{self.record.name} {self.record.n} samples, dt {self.record.dt:g} {self.record.time_unit}"),
            *(("", note) for note in self.record.notes),
            ("noise", f"{100 * noise['fraction']:.2g} % of the signal"),
            ("verdict", f"{self.verdict.grade}: {self.verdict.reason}"),
        ]
        shown = None if self.shown_equation is None else self.named
        if shown is not None:
            rows += [(name, meaning) for name, meaning in shown.meanings()]
        return markup.card("Model", rows, "" if shown is None else "".join(shown.html()))

    @property
    def shown_equation(self) -> Any:
        """The equation, where the verdict lets it count as one; else None."""
        return self.dynamics.equation if self.verdict.grade in ("exact", "approximate") else None

    # -- writing it down -----------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Plain data: what was found and how far to rely on it."""
        return serialisation.summary(self)

    def to_json(self) -> dict[str, Any]:
        """Everything but the records, as plain data."""
        return serialisation.to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Inverse of :meth:`to_json`."""
        return cls(**serialisation.from_json(data))

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        write_text(path, serialisation.text(self))


def load(path: str | Path) -> Model:
    """Read a model written by :meth:`Model.save`."""
    return Model.from_json(serialisation.read(path))
