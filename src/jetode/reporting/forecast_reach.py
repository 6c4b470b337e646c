"""What a model is good for, in a person's words: how long its forecast holds, the verdict, what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jetode.integration.forecast import Forecast
from jetode.reconstruction.model import Model

HOLDS = 0.4  # std of the signal: a forecast holds while half the width of its 90 % band is below

CHAOTIC = 0.02  # growth per oscillation below which an exponent is that of a cycle


@dataclass(frozen=True)
class Outlook:
    """How long forecasts hold: ``time`` in the record's unit (NaN: unknown), ``at_least`` where it was never
    exceeded; ``lyapunov_times`` the same in units of 1/λ1, ``oscillations`` in periods of 2π tc."""

    time: float
    at_least: bool
    lyapunov_times: float
    oscillations: float
    time_unit: str

    def text(self) -> str:
        """``about 3.2 s (2.9 Lyapunov times)``, or empty where nothing is known."""
        if not self.time > 0:
            return ""
        size = "at least " if self.at_least else "about "
        unit = f" {self.time_unit}" if self.time_unit else " time units"
        if self.lyapunov_times > 0:
            return f"{size}{self.time:.3g}{unit} ({self.lyapunov_times:.2g} Lyapunov times)"
        return f"{size}{self.time:.3g}{unit} ({self.oscillations:.2g} oscillations)"


def lyapunov_exponent(model: Model) -> float:
    """Largest exponent in 1/time unit where the motion is chaotic beyond doubt, else NaN."""
    evidence = model.diagnostics.get("evidence") or {}
    exponent, error = evidence.get("lyapunov"), evidence.get("lyapunov_error")
    if exponent is None or exponent <= 2.0 * (error or 0.0):
        return math.nan
    if exponent * 2.0 * math.pi * model.characteristic_time < CHAOTIC:
        return math.nan
    return float(exponent)


def outlook(model: Model, forecast: Forecast) -> Outlook:
    """From the forecast's band where there is one, else from the paper's eight starts within the record."""
    if forecast.lower is not None and forecast.upper is not None:
        wide = np.flatnonzero(0.5 * (forecast.upper - forecast.lower) > HOLDS * model.spread[0])
        at_least = not wide.size
        time = float(forecast.t[-1] if at_least else forecast.t[wide[0]])
    else:
        times = model.diagnostics.get("valid_prediction_times") or [math.nan]
        time = float(np.median(times))
        at_least = time >= float(model.diagnostics.get("horizon", math.inf))
    exponent = lyapunov_exponent(model)
    return Outlook(
        time, at_least, exponent * time, time / (2.0 * math.pi * model.characteristic_time), model.record.time_unit
    )


def sentence(model: Model, ahead: Outlook) -> str:
    """The verdict: trusted or not, for how long, why."""
    if not model.verdict.trusted:
        return f"Not trusted. {model.verdict.reason}"
    held = ahead.text()
    good = f" for {held} beyond the record" if held else ""
    return f"Trusted{good}. {model.verdict.reason}"


def next_steps(model: Model) -> tuple[str, ...]:
    """What would help most, in sentences; empty for a trusted model."""
    return (model.verdict.advice,) if model.verdict.advice else ()
