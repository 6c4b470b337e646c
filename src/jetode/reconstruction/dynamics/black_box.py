"""A forecast without an equation (docs/mathematics.md §7.6): kernel ridge, analogues, or one of the simple methods.

It runs from the last samples of a record, which it keeps; analogues and autoregression keep what they learnt from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from jetode.baselines.contest import FittedBaseline, made
from jetode.baselines.kernel_map import KernelForecast
from jetode.integration.forecast import Forecast
from jetode.reconstruction.dynamics.base import Ahead, Coefficient, read_only
from jetode.reconstruction.dynamics.samples import Samples, StandsOnSamples
from jetode.records.series import Series
from jetode.signal.trials import Rollout
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

PAST = 5.0  # oscillations before the end that any of the methods looks back on


@dataclass(frozen=True, eq=False)
class BlackBoxDynamics(StandsOnSamples):
    """``name`` of the method with its ``setting`` or ``map``, ``period`` in samples; ``library``: what it learnt from
    (empty for kernel ridge, whose map says it all); ``samples``: where it stands."""

    name: str
    period: float
    samples: Samples
    setting: tuple[float, ...] = ()
    map: KernelForecast | None = None
    library: tuple[FloatArray, ...] = field(default=(), repr=False)

    kind = "black box"
    order = 1
    equation = None

    @classmethod
    def of(cls, fitted: FittedBaseline, records: Sequence[Series], period: float) -> BlackBoxDynamics:
        """From a fit; it stands at the end of the last record."""
        library = () if fitted.map is not None else tuple(r.values for r in records)
        samples = Samples.of(records, round(PAST * period))
        return cls(fitted.name, period, samples, fitted.setting, fitted.map, library)

    @property
    def spread(self) -> FloatArray:
        """Of the signal."""
        return read_only([self.samples.signal_spread])

    @property
    def end_state(self) -> FloatArray:
        """The last sample."""
        return read_only([self.samples.last()])

    @cached_property
    def rollouts(self) -> Rollout:
        """The method, ready to run."""
        if self.map is not None:
            return self.map.forecasts
        records = [Series(values, self.samples.dt) for values in self.library]
        found = made(self.name, records, self.period, self.setting)
        if found is None:
            raise InputError(f"The model holds too few samples for {self.name}.")
        return found

    def coefficients(self) -> tuple[Coefficient, ...]:
        """None."""
        return ()

    def state(self, start: int, past_only: bool = True) -> FloatArray:
        """The sample."""
        return read_only([self.samples.last(start)])

    def with_records(self, records: Sequence[Series]) -> BlackBoxDynamics:
        """The same method at the end of the last of ``records``."""
        return replace(self, samples=self.samples.at_end_of(records))

    def forecast(self, ahead: Ahead) -> Forecast:
        """From the samples up to the start."""
        return self.samples.run(self.rollouts, ahead)

    def rollout(self, duration: float, step: float) -> FloatArray:
        """A long run, smoothed."""
        return self.samples.long_run(self.rollouts, duration, step)

    def to_json(self) -> dict[str, Any]:
        """The method and the samples that it needs."""
        return {
            "kind": self.kind,
            "name": self.name,
            "period": self.period,
            "samples": self.samples.to_json(),
            "setting": list(self.setting),
            "map": None if self.map is None else self.map.to_json(),
            "library": [[v if np.isfinite(v) else None for v in values.tolist()] for values in self.library],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BlackBoxDynamics:
        """Inverse of :meth:`to_json`."""
        return cls(
            str(data["name"]),
            float(data["period"]),
            Samples.from_json(data["samples"]),
            tuple(data["setting"]),
            None if data["map"] is None else KernelForecast.from_json(data["map"]),
            tuple(np.array(v, dtype=np.float64) for v in data["library"]),
        )
