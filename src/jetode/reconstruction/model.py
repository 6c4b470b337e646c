"""The result a user works with: a closure, where it came from, whether to trust it, and its forecasts.

Where the closure has a regular form (always after the joint fit), forecasts run in its pole-free coordinates.
A model is saved as plain JSON (``schemas/model.schema.json``) with all that a forecast from the end of the
record needs.  Other start samples need the record, which :meth:`Model.with_record` brings back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from jetode.equations import mathml
from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents, evaluate
from jetode.equations.regular import RegularClosure, leading_monomial
from jetode.integration.dop853 import integrate
from jetode.integration.forecast import Forecast, forecast, forecast_many, horizon_samples
from jetode.joint.bands import forecast_band
from jetode.joint.path import EndState, Identified, StateFit, past_state
from jetode.records.series import Series, require_complete
from jetode.signal.spline import SmoothingSpline, smooth
from jetode.support import markup, plotting
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.files import write_text

FORMAT = "jetode-model"
VERSION = 2
RTOL = 1e-8
TIGHT = 1e-12  # rtol where the samples are nearly exact
CLEAN = 1e-4  # noise in std below which they are
ROLLOUT = 400.0  # tc
NEAR_POLE = 0.1  # of the typical |D|


@dataclass(frozen=True)
class Verdict:
    """Whether the model may be relied on, why, and (where it may not) what would help most."""

    trusted: bool
    reason: str
    advice: str = ""


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


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of the regular closure in the record's units, with its standard error and ``stability``: the
    share of resampled stretches on which the selection keeps its term (NaN where it cannot be left out)."""

    part: str
    powers: Exponents
    value: float
    standard_error: float
    stability: float = float("nan")


@dataclass(frozen=True, eq=False)
class Model:
    """A reconstruction.

    ``coordinates`` are those of ``spread`` and ``end_state``: "jet" (u0 … u_{n−1}) or "regular" (u0 … u_{n−2}, w).
    ``identified`` and ``end`` are what the joint fit leaves for bands and past-only states; ``records`` and
    ``paths`` (smoothed states) are there in the session that fitted the model, or after :meth:`with_record`.
    """

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
    regular: RegularClosure | None = None
    coordinates: str = "jet"
    identified: Identified | None = field(default=None, repr=False)
    end: EndState | None = field(default=None, repr=False)
    jets: FloatArray | None = field(default=None, repr=False)
    records: tuple[Series, ...] = field(default=(), repr=False)
    paths: tuple[StateFit, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for name in ("spread", "end_state", "jets"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array, dtype=np.float64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    # -- what was found ------------------------------------------------------------------------------------

    @property
    def path(self) -> FloatArray:
        """Smoothed states at every sample of the (first) record: regular after the joint fit, else jets."""
        if self.paths:
            return self.paths[0].states
        if self.jets is None:
            raise InputError("The path needs the record, which a saved model does not hold: use with_record(record).")
        return self.jets

    @property
    def jet_path(self) -> FloatArray:
        """Smoothed jets u0 … u_{n−1} at every sample of the (first) record."""
        return self.regular.jets(self.path) if self.regular is not None and self.paths else self.path

    @property
    def characteristic_time(self) -> float:
        """tc = std(u0)/std(u1) in the record's time unit; 2π tc is one oscillation of a sine."""
        return float(self.diagnostics.get("characteristic_time") or self.spread[0] / self.spread[1])

    def equation(self, format: str = "text", digits: int = 6) -> Any:
        """The equations as "text", "latex" or "sympy" (a dictionary from coordinate to rate)."""
        written: RegularClosure | Closure = self.closure if self.regular is None else self.regular
        if format == "text":
            return written.text(digits)
        if format == "latex":
            return written.latex(digits)
        if format == "sympy":
            return self._rates()
        raise InputError(f"The 'format' parameter must be text, latex or sympy. Got {format!r} instead.")

    def _rates(self) -> dict[str, Any]:
        import sympy

        if self.regular is None:
            names, last = self.closure.names, {self.closure.names[-1]: self.closure.sympy()}
        else:
            names, parts = self.regular.names(), self.regular.sympy()
            last = {names[-2]: parts["a"] + parts["D"] * sympy.Symbol("w"), "w": parts["P"]}
            if self.regular.is_chain:
                last = {"u0": parts["f0"] + parts["c"] * sympy.Symbol("v")} | last
        chain = names[: len(names) - len(last) + 1]
        return {a: sympy.Symbol(b) for a, b in pairwise(chain)} | last

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Coefficients of the regular closure with standard errors (NaN where no covariance is known)."""
        if self.regular is None:
            return ()
        keys, values = _canonical_vector(self.regular)
        errors = np.full(values.size, np.nan)
        if self.identified is not None:
            errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        listed = self.diagnostics.get("stability", ())
        kept = {(term["part"], tuple(term["powers"])): float(term["share"]) for term in listed}
        return tuple(
            Coefficient(part, powers, float(v), float(e), kept.get((part, powers), float("nan")))
            for (part, powers), v, e in zip(keys, values, errors, strict=True)
        )

    @property
    def covariance(self) -> FloatArray:
        """Covariance of :meth:`coefficients`, by linear propagation through units and gauge."""
        if self.identified is None or self.regular is None:
            raise InputError("A covariance comes with the joint fit only: use method='joint'.")
        model = self.identified
        free = model.terms.coefficients[model.terms.free]
        keys, base = _canonical_vector(model.regular)
        step = 1e-6 * np.maximum(np.abs(free), 1e-3)
        jacobian = np.empty((base.size, free.size))
        for j in range(free.size):
            up, down = free.copy(), free.copy()
            up[j] += step[j]
            down[j] -= step[j]
            ends = [dict(zip(*_canonical_vector(model.with_coefficients(v).regular), strict=True)) for v in (up, down)]
            jacobian[:, j] = [(ends[0].get(k, 0.0) - ends[1].get(k, 0.0)) / (2 * step[j]) for k in keys]
        return jacobian @ model.covariance @ jacobian.T

    # -- forecasts ---------------------------------------------------------------------------------------

    def state(self, start: int | None = None, past_only: bool = True) -> FloatArray:
        """The state at sample ``start`` (None: the last one), in :attr:`coordinates`.

        After the joint fit it is estimated from the samples up to ``start`` unless ``past_only`` is False, which
        takes the path smoothed over the whole record (the paper's protocol).
        """
        if start is None:
            return self.end_state
        if not 0 <= start < self.record.n:
            raise InputError(
                f"The 'start' parameter must be an int from 0 to {self.record.n - 1}. Got {start} instead."
            )
        if self.identified is None:
            return self.path[start, : self.order]
        if past_only:
            return self._past(start).end
        return self.path[start]

    def _past(self, start: int) -> StateFit:
        if self.identified is None or not self.records:
            raise InputError(
                "A start sample needs the record, which a saved model does not hold: use with_record(record)."
            )
        return past_state(self.identified, self.records[0], start)

    def forecast(
        self,
        horizon: float,
        start: int | None = None,
        past_only: bool = True,
        samples: int = 200,
        seed: int = 0,
        coordinates: str = "auto",
        **options: Any,
    ) -> Forecast:
        """Run the model ahead from sample ``start`` (None: the end) for ``horizon`` in the record's time.

        After the joint fit, ``samples`` members drawn from the posterior give the 50 % and 90 % bands (0: none).
        ``coordinates``: "regular" (pole-free), "jet" (N/D, as the paper integrates), "auto" the first where there
        is a regular form.  ``options``: rtol, atol (× std), max_step (× dt), backend of
        :func:`jetode.integration.forecast.forecast`.
        """
        if coordinates not in ("auto", "jet", "regular"):
            raise InputError(f"The 'coordinates' parameter must be auto, jet or regular. Got {coordinates!r} instead.")
        if coordinates == "regular" and self.regular is None:
            raise InputError("The 'coordinates' parameter must be auto or jet: the model has no regular form.")
        dt = self.record.dt
        if self.identified is None:
            return self._forecast_jets(self.state(start), horizon, coordinates, options)
        options = {"rtol": TIGHT if self.identified.sigma < CLEAN else RTOL} | options
        end, state = self.end, self.state(start, past_only) if start is None or not past_only else None
        if state is None and start is not None:
            past = self._past(start)
            end, state = past.last, past.end
        assert state is not None and self.regular is not None
        if coordinates == "jet":
            run = forecast(
                Field.from_closure(self.closure),
                self.regular.jets(state),
                self._jet_spread(),
                horizon,
                dt,
                **options,
            )
        else:
            run = forecast(self.regular.field, state, self.spread, horizon, dt, **options)
        if not samples or end is None or (start is not None and not past_only):
            return run
        steps = horizon_samples(horizon, dt)
        band = forecast_band(self.identified, end, steps, dt, samples, np.random.default_rng(seed))
        m = run.values.shape[0]
        return replace(
            run,
            lower=band.lower[:m],
            upper=band.upper[:m],
            inner_lower=band.inner_lower[:m],
            inner_upper=band.inner_upper[:m],
        )

    def rollout(self, duration: float | None = None) -> FloatArray:
        """Jets of a long run from the end of the record (default 400 tc), tc/20 apart, as far as it gets."""
        tc = self.characteristic_time
        length, step = duration or ROLLOUT * tc, tc / 20.0
        if self.regular is None:
            return forecast(Field.from_closure(self.closure), self.end_state, self.spread, length, step).states
        state, spread = self.end_state, self.spread
        if self.coordinates == "jet":
            state, spread = self.regular_state(state), np.append(self.spread[:-1], self._hidden_spread())
        return self.regular.jets(forecast(self.regular.field, state, spread, length, step, rtol=1e-7).states)

    # -- seeing it -----------------------------------------------------------------------------------------

    def plot(self, horizon: float | None = None, axes: Any = None) -> Any:
        """End of the record, smoothed signal and forecast on matplotlib ``axes`` (None: new ones), returned."""
        ahead = self.forecast(horizon or 0.1 * self.record.n * self.record.dt)
        record = self.records[0] if self.records else None
        return plotting.record_and_forecast(
            axes,
            self.record.t0 + self.record.dt * np.arange(self.record.n, dtype=np.float64),
            None if record is None else record.values,
            self.path[:, 0] if self.paths or self.jets is not None else None,
            ahead,
            plotting.label(self.record.name or "value", self.record.unit),
            plotting.label("t", self.record.time_unit),
        )

    def plot_attractor(self, axes: Any = None) -> Any:
        """Embedded record against a long run of the model on 3-D (order 2: plane) ``axes``, returned."""
        path = self.jet_path if self.paths or self.jets is not None else np.empty((0, self.order))
        return plotting.attractor(axes, path, self.rollout())

    def _repr_latex_(self) -> str:
        return f"$${self.equation('latex', 4)}$$"

    def _repr_html_(self) -> str:
        word = "Trusted" if self.verdict.trusted else "Not trusted"
        noise = self.summary()["noise"]
        rows = [
            ("record", f"{self.record.name} {self.record.n} samples, dt {self.record.dt:g} {self.record.time_unit}"),
            ("noise", f"{100 * noise['fraction']:.2g} % of the signal"),
            ("verdict", f"{word}: {self.verdict.reason}"),
        ]
        written: RegularClosure | Closure = self.closure if self.regular is None else self.regular
        return markup.card("Model", rows, "".join(mathml.equations(written)))

    def _jet_spread(self) -> FloatArray:
        """Std of the jets where the spread is that of regular coordinates."""
        assert self.regular is not None
        jets = np.abs(self.regular.jets(self.spread))
        return np.append(jets[:-1], max(jets[-1], jets[-2]))

    def _forecast_jets(
        self, jets: FloatArray, horizon: float, coordinates: str, options: Mapping[str, Any]
    ) -> Forecast:
        """A forecast of a model known in jets, in regular coordinates where it has them."""
        dt = self.record.dt
        if self.regular is None or coordinates == "jet":
            return forecast(Field.from_closure(self.closure), jets, self.spread, horizon, dt, **options)
        state = self.regular_state(jets)
        spread = np.append(self.spread[:-1], self._hidden_spread())
        return forecast(self.regular.field, state, spread, horizon, dt, **options)

    def _hidden_spread(self) -> float:
        """Typical size of w off the pole."""
        assert self.regular is not None
        size = abs(float(evaluate(self.regular.D, self.spread[:-1])))
        return float(self.spread[-1] / size) if size > 0 else 1.0

    def regular_state(self, jets: FloatArray) -> FloatArray:
        """Pole-free coordinates (u0 … u_{n−2}, w) of one jet state."""
        return np.append(jets[:-1], self._hidden(jets))

    def _hidden(self, jets: FloatArray) -> float:
        """w at a jet state; near the pole it is carried there from where D is large, back along the flow."""
        assert self.regular is not None
        limit = NEAR_POLE * abs(float(evaluate(self.regular.D, self.spread[:-1])))
        here = abs(float(evaluate(self.regular.D, jets[:-1])))
        if here >= limit or self.jets is None:
            return float(self.regular.hidden(jets))
        at = int(np.argmin(np.abs(self.jets[:, : self.order] - jets).sum(axis=1)))
        reach = max(2, round(float(self.spread[0] / self.spread[1]) / self.record.dt))
        earlier = self.jets[max(0, at - reach) : at + 1, : self.order]
        sizes = np.abs(evaluate(self.regular.D, earlier[:, :-1]))
        j = int(np.argmax(sizes))
        start = np.append(earlier[j, :-1], float(self.regular.hidden(earlier[j])))
        steps = earlier.shape[0] - 1 - j
        run = integrate(self.regular.field, start, steps + 1, self.record.dt, 1e-10, 1e-12, 5 * self.record.dt)
        return float(run.states[-1, -1])

    def forecasts(self, horizon: float, starts: Any, **options: Any) -> list[Forecast]:
        """Forecasts by N/D from several samples of the jets in one compiled call (the paper's protocol)."""
        states = np.stack([self.state(int(i)) for i in starts])
        vector_field = Field.from_closure(self.closure)
        return forecast_many(vector_field, states, self.spread, horizon, self.record.dt, **options)

    def with_record(self, record: Series) -> Model:
        """The same model with ``record`` as the source of start states."""
        if abs(record.dt - self.record.dt) > 1e-6 * self.record.dt:
            raise InputError(
                f"The record must have the model's sampling interval, {self.record.dt:g}. Got {record.dt:g} instead."
            )
        if self.identified is not None:
            return replace(self, record=RecordInfo.of(record), records=(record,), paths=())
        require_complete(record, self.method)
        spline = smooth(record.values, record.dt, self.spline.degree, "weight", weight=self.spline.weight)
        return replace(self, record=RecordInfo.of(record), records=(record,), jets=spline.jets(self.order - 1))

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
            "regular": None if self.regular is None else self.regular.to_json(),
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
            "coordinates": self.coordinates,
            "spread": self.spread.tolist(),
            "end_state": self.end_state.tolist(),
            "identified": None if self.identified is None else self.identified.to_json(),
            "end": None
            if self.end is None
            else {name: getattr(self.end, name).tolist() for name in ("state", "covariance", "mixed")},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Model:
        """Inverse of :meth:`to_json`."""
        if data.get("format") != FORMAT:
            raise InputError(f"This is no jetode model: its 'format' must be {FORMAT!r}.")
        if data.get("version") != VERSION:
            raise InputError(f"The model has version {data.get('version')}, and this jetode reads version {VERSION}.")
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
                regular=None if data["regular"] is None else RegularClosure.from_json(data["regular"]),
                coordinates=str(data["coordinates"]),
                identified=None if data["identified"] is None else Identified.from_json(data["identified"]),
                end=None
                if data["end"] is None
                else EndState(*(np.array(data["end"][n], dtype=float) for n in ("state", "covariance", "mixed"))),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"The model file is incomplete or damaged: {error!r}.") from None

    def save(self, path: str | Path) -> None:
        """Write the model as JSON."""
        write_text(path, json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def _canonical_vector(regular: RegularClosure) -> tuple[list[tuple[str, Exponents]], FloatArray]:
    """Names and values of all coefficients but the leading 1 of D and of c."""
    items = [(("f0", e), c) for e, c in regular.f0.items()]
    items += [(("c", e), c) for e, c in regular.c.items() if e != leading_monomial(regular.c)]
    items += [(("a", e), c) for e, c in regular.a.items()]
    items += [(("D", e), c) for e, c in regular.D.items() if e != regular.lead]
    items += [(("P", e), c) for e, c in regular.P.items()]
    return [k for k, _ in items], np.array([c for _, c in items])


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
