"""The result a user works with: a closure, where it came from, whether to trust it, and its forecasts.

A model is saved as plain JSON (``schemas/model.schema.json``) with all that a forecast from the end of the
record needs.  Other start samples need the record's jets, which :meth:`Model.with_record` brings back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from jetode.closure import Closure
from jetode.errors import InputError
from jetode.field import Field
from jetode.files import write_text
from jetode.forecast import Forecast, forecast, forecast_many
from jetode.polynomials import FloatArray
from jetode.series import Series, require_complete
from jetode.spline import SmoothingSpline, smooth

FORMAT = "jetode-model"
VERSION = 1


@dataclass(frozen=True)
class Verdict:
    """Whether the model may be relied on, and why, in one sentence."""

    trusted: bool
    reason: str


@dataclass(frozen=True)
class RecordInfo:
    """What a model remembers of its record."""

    n: int
    dt: float
    std: float
    t0: float = 0.0
    name: str = ""
    unit: str = ""
    time_unit: str = ""

    @classmethod
    def of(cls, record: Series) -> RecordInfo:
        """Size, step, spread and names of ``record``."""
        return cls(record.n, record.dt, record.std, record.t0, record.name, record.unit, record.time_unit)


@dataclass(frozen=True)
class SplineInfo:
    """The spline that gave the jets: degree, the rule for λ, λ, effective degrees of freedom, residual."""

    degree: int
    rule: str
    weight: float
    dof: float
    rss: float

    @classmethod
    def of(cls, spline: SmoothingSpline) -> SplineInfo:
        """Its numbers without its coefficients."""
        return cls(spline.degree, spline.rule, spline.weight, spline.dof, spline.rss)


@dataclass(frozen=True, eq=False)
class Model:
    """A reconstruction; ``spread`` is the std of u0 … u_{order−1}, ``end_state`` their last values."""

    method: str
    order: int
    closure: Closure
    noise_sigma: float
    record: RecordInfo
    verdict: Verdict
    spread: FloatArray
    end_state: FloatArray
    spline: SplineInfo
    settings: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    jets: FloatArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("spread", "end_state", "jets"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array, dtype=np.float64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    # -- forecasts ---------------------------------------------------------------------------------------

    def state(self, start: int | None = None) -> FloatArray:
        """Jet coordinates u0 … u_{order−1} at sample ``start`` (None: the last one)."""
        if start is None:
            return self.end_state
        if self.jets is None:
            raise InputError(
                "A start sample needs the record, which a saved model does not hold: use with_record(record)."
            )
        if not 0 <= start < self.record.n:
            raise InputError(
                f"The 'start' parameter must be an int from 0 to {self.record.n - 1}. Got {start} instead."
            )
        return self.jets[start, : self.order]

    def forecast(self, horizon: float, start: int | None = None, **options: Any) -> Forecast:
        """Run the closure ahead from sample ``start`` (None: the end) for ``horizon`` in the record's time.

        ``options``: rtol, atol (× std), max_step (× dt), backend of :func:`jetode.forecast.forecast`.
        """
        vector_field = Field.from_closure(self.closure)
        return forecast(vector_field, self.state(start), self.spread, horizon, self.record.dt, **options)

    def forecasts(self, horizon: float, starts: Any, **options: Any) -> list[Forecast]:
        """:meth:`forecast` from several samples in one compiled call."""
        states = np.stack([self.state(int(i)) for i in starts])
        vector_field = Field.from_closure(self.closure)
        return forecast_many(vector_field, states, self.spread, horizon, self.record.dt, **options)

    def with_record(self, record: Series) -> Model:
        """The same model with the jets of ``record``, smoothed as in the fit, as start states."""
        require_complete(record, self.method)
        if abs(record.dt - self.record.dt) > 1e-6 * self.record.dt:
            raise InputError(
                f"The record must have the model's sampling interval, {self.record.dt:g}. "
                f"Got {record.dt:g} instead."
            )
        spline = smooth(record.values, record.dt, self.spline.degree, "weight", weight=self.spline.weight)
        return replace(self, record=RecordInfo.of(record), jets=spline.jets(self.order - 1))

    # -- writing it down -----------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Plain data: what was found and whether to trust it."""
        signal = float(self.spread[0])
        return {
            "method": self.method,
            "order": self.order,
            "record": {"n": self.record.n, "dt": self.record.dt, "std": self.record.std},
            "noise": {"sigma": self.noise_sigma, "fraction": self.noise_sigma / signal if signal else 0.0},
            "closure": self.closure.to_json(),
            "poles": list(self.closure.poles()),
            "verdict": vars(self.verdict) | {},
            "spline": vars(self.spline) | {},
            "settings": dict(self.settings),
            "diagnostics": dict(self.diagnostics),
        }

    def to_json(self) -> dict[str, Any]:
        """Everything but the jets, as plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **self.summary(),
            "record": vars(self.record) | {},
            "spread": self.spread.tolist(),
            "end_state": self.end_state.tolist(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Inverse of :meth:`to_json`."""
        if data.get("format") != FORMAT:
            raise InputError(f"This is no jetode model: its 'format' must be {FORMAT!r}.")
        if data.get("version") != VERSION:
            raise InputError(
                f"The model has version {data.get('version')}, and this jetode reads version {VERSION}."
            )
        try:
            return cls(
                method=str(data["method"]),
                order=int(data["order"]),
                closure=Closure.from_json(data["closure"]),
                noise_sigma=float(data["noise"]["sigma"]),
                record=RecordInfo(**data["record"]),
                verdict=Verdict(**data["verdict"]),
                spread=np.array(data["spread"], dtype=float),
                end_state=np.array(data["end_state"], dtype=float),
                spline=SplineInfo(**data["spline"]),
                settings=dict(data["settings"]),
                diagnostics=dict(data["diagnostics"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"The model file is incomplete or damaged: {error!r}.") from None

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        write_text(path, json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def load(path: str | Path) -> Model:
    """Read a model written by :meth:`Model.save`."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The model {str(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"The model {str(path)!r} is no JSON file.") from None
    if not isinstance(data, dict):
        raise InputError(f"This is no jetode model: its 'format' must be {FORMAT!r}.")
    return Model.from_json(data)
