"""What kernel ridge has learnt (docs/mathematics.md §7.6): maps of windows, x_{n+1} = x_n + Σ_c w_c k(window, c), that
run on their own output, and the median of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jetode.baselines.blocks import Blocks
from jetode.baselines.drawn import drawn, pieces
from jetode.baselines.kernel_regression import Bells
from jetode.signal.trials import median
from jetode.support.arrays import FloatArray, IntArray

SEEN = 1.0  # oscillations before the first window of a start that it is drawn with: farther back says no more of it
CHUNK = 256  # windows whose slopes are taken at a time: what the cache of a processor holds


@dataclass(frozen=True, eq=False)
class KernelMap:
    """A fitted map: the next block from a window of ``centres.shape[1]`` blocks; a forecast starts from the past as it
    is or, with a ``ratio``, drawn towards what the map can follow (7.8)."""

    blocks: Blocks
    centres: FloatArray
    weights: FloatArray
    gamma: float
    ratio: float | None = None

    @property
    def length(self) -> int:
        """Blocks of a window."""
        return int(self.centres.shape[1])

    @property
    def before(self) -> int:
        """Blocks before the window of a start that it is drawn with."""
        return 0 if self.ratio is None else round(SEEN * self.blocks.period)

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Rollouts from any ends."""
        prepare, bells = None if self.ratio is None else self._drawn, Bells(self.centres, self.gamma)

        def step(window: FloatArray) -> FloatArray:
            return np.asarray(window[:, -1] + bells(window) @ self.weights)

        return self.blocks.closed_loop(step, self.length, self.before, prepare)(values, ends, steps)

    def slopes(self, window: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The block after each window and its slopes (windows, length)."""
        change, slope = np.empty(window.shape[0]), np.empty(window.shape)
        bells, weighted = Bells(self.centres, self.gamma), self.weights[:, None] * self.centres
        for first in range(0, window.shape[0], CHUNK):
            part = window[first : first + CHUNK]
            near = bells(part)
            now = near @ self.weights
            change[first : first + CHUNK] = now
            pull = near @ weighted - now[:, None] * part
            slope[first : first + CHUNK] = 2.0 * self.gamma * pull
        slope[:, -1] += 1.0
        return window[:, -1] + change, slope

    def _drawn(self, pasts: FloatArray) -> FloatArray:
        assert self.ratio is not None
        return np.stack(drawn(list(pasts), self.length, self.slopes, self.ratio))

    def drawn_blocks(self, blocks: Blocks, ratio: float) -> Blocks:
        """Other blocks of the same system, drawn towards what the map can follow."""
        parts = [part.copy() for part in blocks.parts]
        places = [(part, place) for part in parts for place in pieces(part, self.length + 2)]
        if places:
            moved = drawn([part[place] for part, place in places], self.length, self.slopes, ratio)
            for (part, place), row in zip(places, moved, strict=True):
                part[place] = row
        return replace(blocks, parts=tuple(parts))

    def to_json(self) -> dict[str, Any]:
        """Plain data without the records."""
        blocks = self.blocks
        scale = {name: getattr(blocks, name) for name in ("factor", "period", "middle", "spread", "low", "high")}
        fitted = {"centres": self.centres.tolist(), "weights": self.weights.tolist(), "gamma": self.gamma}
        return {**fitted, "ratio": self.ratio, **scale}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelMap:
        """Inverse of :meth:`to_json`."""
        numbers = (float(data[name]) for name in ("period", "middle", "spread", "low", "high"))
        blocks = Blocks((), (), int(data["factor"]), *numbers)
        fitted = np.array(data["centres"], float), np.array(data["weights"], float), float(data["gamma"])
        return cls(blocks, *fitted, data.get("ratio"))


@dataclass(frozen=True, eq=False)
class KernelForecast:
    """The median of some maps, best first."""

    members: tuple[KernelMap, ...]

    @property
    def seen(self) -> int:
        """Samples before an end that a forecast looks back on."""
        return max(m.blocks.factor * (m.length + m.before) for m in self.members)

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Rollouts from any ends."""
        return median([member.forecasts(values, ends, steps) for member in self.members])

    def to_json(self) -> dict[str, Any]:
        """Plain data without the records."""
        return {"members": [member.to_json() for member in self.members]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KernelForecast:
        """Inverse of :meth:`to_json`; models saved before there were members have one."""
        return cls(tuple(KernelMap.from_json(member) for member in data.get("members", (data,))))
