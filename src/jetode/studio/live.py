"""A fit as it goes on: every stage by name, and the best equation so far with a forecast, each time it improves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from jetode.joint.interim import Improved, Interim
from jetode.joint.progress import WithModel
from jetode.reconstruction.naming import NamedEquation
from jetode.reconstruction.record_info import RecordInfo
from jetode.records.series import Series
from jetode.signal.decimate import reduce_all
from jetode.signal.oscillations import oscillation
from jetode.signal.scales import filled
from jetode.signal.spline import smooth
from jetode.studio.look import curve, numbers
from jetode.studio.settings import HORIZON
from jetode.support.json import plain

DIGITS = 4


class Live:
    """The ``progress`` of a reconstruction that tells the page."""

    def __init__(self, records: Sequence[Series], tell: Callable[[dict[str, Any]], None]) -> None:
        self._given = records
        self._tell = tell

    @cached_property
    def _fitted(self) -> Sequence[Series]:
        """The records as the fit sees them."""
        return reduce_all(self._given)[0]

    @cached_property
    def _oscillation(self) -> float:
        """Length of one oscillation of the last record in its time."""
        last = self._fitted[-1]
        return last.dt * float(oscillation(smooth(filled(last.values), 1.0, 5, "gcv").jets(0)[:, 0]))

    def __call__(self, stage: str) -> None:
        """A stage begins; one that has just found a better model shows it."""
        event: dict[str, Any] = {"stage": str(stage), "has_model": isinstance(stage, WithModel)}
        if isinstance(stage, Improved):
            event["best"] = self.shown(stage.best)
        self._tell(event)

    def shown(self, best: Interim) -> dict[str, Any]:
        """The best so far as plain data: its equation, and its forecast beside what the record does there."""
        series = self._fitted[best.record]
        length = HORIZON.interim * self._oscillation
        run = best.forecast(max(length, 2 * series.dt), series.dt)
        back = max(0, best.sample - int(np.ceil(length / series.dt)))
        return plain(
            {
                "text": NamedEquation(best.equation, (), RecordInfo.of([series])).text(DIGITS),
                "start": series.t0 + best.sample * series.dt,
                "dt": series.dt,
                "values": numbers(run.values),
                "curve": curve(series.slice(back, best.sample + run.values.size), 1200),
                "unit": series.unit,
                "time_unit": series.time_unit,
            }
        )
