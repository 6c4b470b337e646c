"""Memory closures (docs/mathematics.md §7): explicit equations whose state is a causal filter of the past.

The forecast is the pointwise median of several good settings, or the mean of that and of kernel ridge where both carry
about as far; the equation that is shown and exported is the best setting's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from jetode.baselines.kernel_map import KernelForecast
from jetode.equations.rows import part_names
from jetode.integration.forecast import Forecast
from jetode.memory.closure import MemoryClosure
from jetode.memory.fit import MemoryFit
from jetode.reconstruction.dynamics.base import Ahead, Coefficient, read_only
from jetode.reconstruction.dynamics.samples import Samples, StandsOnSamples
from jetode.reconstruction.dynamics.written import RegularEquation
from jetode.records.series import Series
from jetode.signal.trials import median
from jetode.support.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MemoryDynamics(StandsOnSamples):
    """``fit``: its members, best first; ``samples``: where it stands; ``beside``: kernel ridge to forecast with."""

    fit: MemoryFit
    samples: Samples
    beside: KernelForecast | None = None

    kind = "memory"

    @classmethod
    def of(cls, fit: MemoryFit, records: Sequence[Series], beside: KernelForecast | None = None) -> MemoryDynamics:
        """From a fit; it stands at the end of the last record."""
        longest = max(member.past * member.theta + 10.0 * member.step for member in fit.members)
        seen = max(ceil(longest / records[-1].dt) + 1, 0 if beside is None else beside.seen)
        return cls(fit, Samples.of(records, seen), beside)

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """From each end on."""
        alone = self.fit.forecasts(values, ends, steps)
        return alone if self.beside is None else median([alone, self.beside.forecasts(values, ends, steps)])

    @property
    def best(self) -> MemoryClosure:
        """The member that is written down."""
        return self.fit.members[0]

    @property
    def order(self) -> int:
        """q + 1 of the best member."""
        return self.best.q + 1

    @cached_property
    def equation(self) -> RegularEquation:
        """The best member's."""
        return RegularEquation(self.best.equation)

    @property
    def spread(self) -> FloatArray:
        """Of the signal; the whitened memory has unit spread."""
        return read_only([self.samples.signal_spread, *np.ones(self.best.q)])

    @property
    def end_state(self) -> FloatArray:
        """The best member's state, in its own coordinates, after the last sample."""
        tail = self.samples.tail
        return read_only(self.best.state(tail, tail.size - 1, self.samples.dt))

    def coefficients(self) -> tuple[Coefficient, ...]:
        """Of the learned row; they are regularised, so they have no standard errors."""
        row = self.best.equation.rows[0]
        assert isinstance(row, Mapping)
        part = part_names(0, self.order)[2]
        return tuple(Coefficient(part, powers, float(value), float("nan")) for powers, value in row.items())

    def state(self, start: int, past_only: bool = True) -> FloatArray:
        """The best member's state after the samples up to ``start``."""
        return self.best.state(self.samples.upto(start), start, self.samples.dt)

    def with_records(self, records: Sequence[Series]) -> MemoryDynamics:
        """The same equations at the end of the last of ``records``."""
        return replace(self, samples=self.samples.at_end_of(records))

    def forecast(self, ahead: Ahead) -> Forecast:
        """The median of the members, or its mean with kernel ridge."""
        return self.samples.run(self.forecasts, ahead)

    def rollout(self, duration: float, step: float) -> FloatArray:
        """A long run of the forecast, smoothed."""
        return self.samples.long_run(self.forecasts, duration, step)

    def to_json(self) -> dict[str, Any]:
        """The members and the samples that their filters need."""
        beside = None if self.beside is None else self.beside.to_json()
        return {"kind": self.kind, "samples": self.samples.to_json(), "memory": self.fit.to_json(), "beside": beside}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MemoryDynamics:
        """Inverse of :meth:`to_json`."""
        beside = None if data.get("beside") is None else KernelForecast.from_json(data["beside"])
        return cls(MemoryFit.from_json(data["memory"]), Samples.from_json(data["samples"]), beside)
