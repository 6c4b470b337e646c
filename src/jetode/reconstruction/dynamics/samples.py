"""Dynamics whose state is a filter of past samples: what they keep of a record, and how they run from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from jetode.integration.dop853 import Stop
from jetode.integration.forecast import Forecast, horizon_samples
from jetode.reconstruction.dynamics.base import NEEDS_RECORD, Ahead, read_only
from jetode.records.series import Series
from jetode.signal.scales import filled
from jetode.signal.spline import smooth
from jetode.signal.trials import Rollout
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True, eq=False)
class Samples:
    """The ``tail`` of a record up to the end, where forecasts start, ``keep`` samples at most and ``dt`` apart; the
    records themselves where they are in hand; ``signal_spread``: the std of those that the model learnt from."""

    tail: FloatArray
    dt: float
    keep: int
    signal_spread: float
    records: tuple[Series, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tail", read_only(self.tail))

    @classmethod
    def of(cls, records: Sequence[Series], keep: int) -> Samples:
        """At the end of the last record."""
        spread = float(np.nanstd(np.concatenate([r.values for r in records])))
        return cls(_tail(records[-1], keep), records[-1].dt, keep, spread, tuple(records))

    def at_end_of(self, records: Sequence[Series]) -> Samples:
        """At the end of the last of other records."""
        return replace(self, tail=_tail(records[-1], self.keep), records=tuple(records))

    def upto(self, start: int | None) -> FloatArray:
        """The samples up to a start (None: the end)."""
        if start is None:
            return self.tail
        if not self.records:
            raise InputError(NEEDS_RECORD)
        return self.records[-1].values[: start + 1]

    def last(self, start: int | None = None) -> float:
        """The sample at a start, or the last one measured before it."""
        return float(filled(self.upto(start))[-1])

    @cached_property
    def jet_path(self) -> FloatArray | None:
        """Signal and slopes of a smoothing spline through the last record."""
        return jets(self.records[-1].values, self.dt) if self.records else None

    def run(self, rollout: Rollout, ahead: Ahead) -> Forecast:
        """A forecast from the samples up to its start; it ends where the rollout does."""
        values, wanted = self.upto(ahead.start), horizon_samples(ahead.horizon, ahead.dt)
        steps = max(1, ceil(wanted * ahead.dt / self.dt - 1e-9))
        run = rollout(values, np.array([values.size - 1]), steps)[0]
        missing = ~np.isfinite(run)
        sound = int(missing.argmax()) if missing.any() else run.size
        if not sound:
            run, sound = np.array([self.last(ahead.start)]), 1
        t = ahead.dt * np.arange(wanted + 1, dtype=np.float64)
        t = t[t <= (sound - 1) * self.dt * (1 + 1e-9)]
        out = run[: t.size] if ahead.dt == self.dt else np.interp(t, self.dt * np.arange(sound), run[:sound])
        stop = Stop.COMPLETED if t.size == wanted + 1 else Stop.DIVERGED
        return Forecast(t, out, out[:, None], ahead.dt, stop, float(t[-1]))

    def long_run(self, rollout: Rollout, duration: float, step: float) -> FloatArray:
        """Signal and slopes of a long run from the end, about ``step`` apart."""
        return jets(self.run(rollout, Ahead(duration, self.dt)).values, self.dt)[:: max(1, round(step / self.dt))]

    def to_json(self) -> dict[str, object]:
        """Plain data, the records left out."""
        tail = [v if np.isfinite(v) else None for v in self.tail.tolist()]
        return {"tail": tail, "dt": self.dt, "keep": self.keep, "signal_spread": self.signal_spread}

    @classmethod
    def from_json(cls, data: dict[str, object]) -> Samples:
        """Inverse of :meth:`to_json`."""
        tail = np.array(data["tail"], dtype=np.float64)
        return cls(tail, float(data["dt"]), int(data["keep"]), float(data["signal_spread"]))  # type: ignore[arg-type, call-overload]


class StandsOnSamples:
    """What all dynamics of this kind say in the same way; ``samples``: where they stand."""

    samples: Samples

    closure = None
    regular = None
    residuals = None

    @property
    def records(self) -> tuple[Series, ...]:
        """Those in hand."""
        return self.samples.records

    @property
    def jet_path(self) -> FloatArray | None:
        """Of a smoothing spline through the last record."""
        return self.samples.jet_path

    @property
    def path(self) -> FloatArray | None:
        """The smoothed signal."""
        return None if self.jet_path is None else self.jet_path[:, :1]


def jets(values: FloatArray, dt: float) -> FloatArray:
    """Signal and two slopes by a smoothing spline; by differences where there are too few samples for one."""
    if values.size < 16:
        slope = np.gradient(values, dt) if values.size > 1 else np.zeros_like(values)
        return np.column_stack([values, slope, np.gradient(slope, dt) if values.size > 1 else slope])
    return smooth(filled(values), dt, 5, "gcv").jets(2)


def _tail(record: Series, keep: int) -> FloatArray:
    return record.values[max(0, record.n - keep) :]
