"""The identified system u0' = u1, …, u_{n−1}' = N(u)/D(u) (paper, Sec. 2, last step) run forward in time.

The paper's settings, free of units: rtol 1e-8, atol 1e-10 × std of each coordinate, max_step 5·dt.  A
forecast that cannot go on is shorter and says why (``stop``) and when (``stop_time``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jetode.equations.field import Field
from jetode.integration.dop853 import Control, Integration, Stop, integrate_many
from jetode.records.axis import Axis
from jetode.support import markup, plotting
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError
from jetode.support.files import write_text

if TYPE_CHECKING:
    import pandas as pd

RTOL = 1e-8
ATOL = 1e-10  # × std of each coordinate
MAX_STEP = 5.0  # × dt
BOUND = 1e3  # × std of each coordinate, beyond the start state: farther out a forecast has DIVERGED
BACKENDS = ("dop853", "heyoka")
MOST_STEPS = 10_000_000  # of a forecast: half a gigabyte of states
BANDS = ("lower", "upper", "inner_lower", "inner_upper")
ENDED = {  # why a forecast is shorter than its horizon, in words
    Stop.POLE: "the equation divides by zero there",
    Stop.DIVERGED: "it runs away from where the record lives",
    Stop.STEP_TOO_SMALL: "the equation cannot be integrated any further",
    Stop.STEP_LIMIT: "it takes too many steps to go on",
}


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """A forecast from its start sample (t = 0, included) to its last valid sample.

    ``states`` are all coordinates of the model, ``values`` the observed one; where an ensemble was run, ``lower``
    and ``upper`` are its 90 % band, ``inner_lower`` and ``inner_upper`` its 50 % band.  ``axis`` says what the record
    calls its channel, in which units, and when the forecast starts; ``notes`` what to bear in mind, in sentences.
    """

    t: FloatArray
    values: FloatArray
    states: FloatArray
    dt: float
    stop: Stop
    stop_time: float
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    inner_lower: FloatArray | None = None
    inner_upper: FloatArray | None = None
    axis: Axis = field(default_factory=Axis)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("t", "values", "states", "lower", "upper", "inner_lower", "inner_upper"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array, dtype=np.float64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def completed(self) -> bool:
        """Whether the whole horizon was reached."""
        return self.stop is Stop.COMPLETED

    @property
    def ended(self) -> str:
        """Why it is shorter than its horizon, in words; empty where it is not."""
        return ENDED.get(self.stop, "")

    @property
    def times(self) -> FloatArray:
        """Times of the values on the record's own axis."""
        return self.axis.origin + self.t

    def columns(self) -> dict[str, FloatArray]:
        """Times on the record's axis, values, and the bands where there are any."""
        bands = {name: getattr(self, name) for name in BANDS}
        return {"t": self.times, "value": self.values, **{n: b for n, b in bands.items() if b is not None}}

    def csv(self) -> str:
        """``t,value`` (and ``lower,upper,inner_lower,inner_upper``; ``timestamp`` where the record has dates) with all
        digits; t is that of the record."""
        columns = self.columns()
        texts = [[repr(v) for v in column.tolist()] for column in columns.values()]
        dates = self.axis.timestamps(self.times)
        names = list(columns)
        if dates is not None:
            names.append("timestamp")
            texts.append(np.datetime_as_string(dates).tolist())
        return "\n".join([",".join(names), *(",".join(row) for row in zip(*texts, strict=True))]) + "\n"

    def to_pandas(self) -> pd.DataFrame:
        """A pandas DataFrame of values and bands over the record's time: timestamps where the record has them."""
        import pandas as pd

        columns = self.columns()
        times = columns.pop("t")
        dates = self.axis.timestamps(times)
        return pd.DataFrame(columns, index=pd.Index(times if dates is None else dates, name="t"))

    def to_csv(self, path: str | Path) -> None:
        """Write :meth:`csv` to a file."""
        write_text(path, self.csv())

    def plot(self, axes: Any = None) -> Any:
        """Values and bands on matplotlib ``axes`` (None: new ones), returned."""
        axes = plotting.new_axes(axes)
        axes.set_xlabel(axes.get_xlabel() or plotting.label("t", self.axis.time_unit))
        axes.set_ylabel(axes.get_ylabel() or plotting.label(self.axis.name or "value", self.axis.unit))
        return plotting.forecast(axes, self.times, self)

    def _reach(self) -> str:
        """From when to when, and why no farther."""
        dates, counted = self.axis.timestamps(self.times[[0, -1]]), self.axis.counted
        ends = [counted(t, 6) for t in self.times[[0, -1]]] if dates is None else [str(date) for date in dates]
        return f"from {ends[0]} to {ends[1]}" + ("" if self.completed else f", where {self.ended}")

    def __repr__(self) -> str:
        bands = "with bands" if self.lower is not None else "without bands"
        return f"Forecast({self.axis.name or 'value'} {self._reach()}: {self.t.size} values, {bands})"

    def _repr_html_(self) -> str:
        name = plotting.label(self.axis.name or "value", self.axis.unit)
        rows = [("channel", name), ("time", self._reach()), ("values", f"{self.t.size}, {self.dt:g} apart")]
        rows += [("note", note) for note in self.notes]
        return markup.card("Forecast", rows, markup.sparkline(self.values, self.lower, self.upper))


@dataclass(frozen=True)
class Accuracy:
    """How exactly a forecast is integrated, free of units: ``atol`` in std of each coordinate, ``max_step`` in dt."""

    rtol: float = RTOL
    atol: float = ATOL
    max_step: float = MAX_STEP
    backend: str = "dop853"
    max_steps: int | None = None  # None: as many as the integration allows

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise InputError(
                f"The 'backend' parameter must be one of {', '.join(BACKENDS)}. Got {self.backend!r} instead."
            )


def horizon_samples(horizon: float, dt: float, most: int = MOST_STEPS) -> int:
    """Number of steps of length dt in ``horizon``: at least one, at most ``most``."""
    steps = horizon / dt if np.isfinite(horizon) and dt > 0 else 0.0
    if not steps > 0.5:
        raise InputError(f"The 'horizon' parameter must be at least one step of {dt:g}. Got {horizon} instead.")
    if not steps <= most:
        raise InputError(f"The 'horizon' parameter must be at most {most:,} steps of {dt:g}. Got {horizon} instead.")
    return round(steps)


def forecast_many(
    field: Field,
    states: ArrayLike,
    scale: ArrayLike,
    horizon: float,
    dt: float,
    **accuracy: Any,
) -> list[Forecast]:
    """Forecasts from each row of ``states`` (s, d); ``scale`` is the std of each coordinate.

    ``accuracy``: what :class:`Accuracy` takes.
    """
    asked = Accuracy(**accuracy)
    starts = np.array(states, dtype=np.float64, ndmin=2)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (field.dimension,))
    n_samples = horizon_samples(horizon, dt) + 1
    bound = BOUND * scales + np.max(np.abs(starts), axis=0)
    if asked.backend == "heyoka":
        from jetode.integration.heyoka import integrate_many as heyoka_many

        runs = heyoka_many(field, starts, n_samples, dt, asked.rtol, bound)
    else:
        control = Control(asked.rtol, asked.atol * scales, asked.max_step * dt, bound, asked.max_steps)
        runs = integrate_many(field, starts, n_samples, dt, **vars(control))
    return [_forecast(run, dt) for run in runs]


def forecast(field: Field, state: ArrayLike, scale: ArrayLike, horizon: float, dt: float, **accuracy: Any) -> Forecast:
    """:func:`forecast_many` from one state."""
    return forecast_many(field, np.asarray(state)[None], scale, horizon, dt, **accuracy)[0]


def _forecast(run: Integration, dt: float) -> Forecast:
    t = dt * np.arange(run.states.shape[0], dtype=np.float64)
    return Forecast(t, run.states[:, 0], run.states, dt, run.stop, run.stop_time)
