"""A record that grows: where it is, what comes next, and whether it does what was forecast.

A watch makes a forecast, waits for its samples, and raises an alarm where too many of them lie outside of its 90 %
band, widened by the noise; then it forecasts anew from where the record is.
"""

from __future__ import annotations

from dataclasses import dataclass

from jetode.integration.forecast import Forecast
from jetode.reconstruction.band_check import outside_band
from jetode.reconstruction.model import Model
from jetode.records.series import Series


@dataclass(frozen=True)
class Seen:
    """What the new samples showed: how many there are, how many lie outside of the band, whether that is an alarm, and
    the forecast that follows them."""

    new: int
    outside: int
    alarm: bool
    forecast: Forecast
    model: Model

    def text(self) -> str:
        """One line for a terminal or a log."""
        axis, ahead = self.forecast.axis, self.forecast
        dates = axis.timestamps(ahead.times[:1])
        now = axis.counted(float(ahead.times[0]), 6) if dates is None else str(dates[0])
        value = f"{ahead.values[0]:.4g} {axis.unit}".rstrip()
        next_value = f"{ahead.values[-1]:.4g} {axis.unit}".rstrip()
        band = ""
        if ahead.lower is not None and ahead.upper is not None:
            band = f" ({ahead.lower[-1]:.4g} to {ahead.upper[-1]:.4g})"
        outside = f", {self.outside} of {self.new} new samples outside of the band" if self.new else ""
        line = (
            f"{now}: {axis.name or 'value'} {value}; in {axis.counted(float(ahead.t[-1]))} {next_value}{band}{outside}"
        )
        return f"ALARM {line}: the record has left its forecast" if self.alarm else line


@dataclass(frozen=True)
class Watch:
    """A model at the end of a record, with the forecast that the next samples are held against."""

    model: Model
    horizon: float
    forecast: Forecast

    @classmethod
    def at(cls, model: Model, record: Series, horizon: float) -> Watch:
        """At the end of a record."""
        moved = model.with_record(record)
        return cls(moved, horizon, moved.forecast(horizon))

    def see(self, record: Series) -> tuple[Watch, Seen]:
        """The record as it is now: its new samples against the forecast, and the watch that goes on from its end."""
        known = self.model.record.n
        here = self.model.as_fitted(record)
        new = here.values[known:]
        found = outside_band(self.forecast, new, self.model.noise_sigma)
        following = Watch.at(self.model, record, self.horizon) if new.size else self
        return following, Seen(int(new.size), found.outside, found.too_many, following.forecast, following.model)
