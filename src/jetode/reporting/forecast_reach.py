"""What a model is good for, in a person's words: how long its forecast holds, the verdict, what to do next."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jetode.integration.forecast import Forecast
from jetode.reconstruction.evidence import Evidence, PaperEvidence
from jetode.reconstruction.model import Model
from jetode.reconstruction.settings import EXAMINATION

OSCILLATIONS = 20  # the longest forecast that is made unasked
NEARLY = 0.99  # of the longest trial: a median of this has not seen an end
CHAOTIC = 0.02  # growth per oscillation below which an exponent is that of a cycle


@dataclass(frozen=True)
class Outlook:
    """How long forecasts hold: ``time`` in the record's unit (NaN: unknown), ``at_least`` where it was never
    exceeded; ``lyapunov_times`` the same in units of 1/λ1, ``oscillations`` in those of the record; ``notes`` are the
    forecast's."""

    time: float
    at_least: bool
    lyapunov_times: float
    oscillations: float
    time_unit: str
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """``about 3.2 s (2.9 Lyapunov times)``, or empty where nothing is known."""
        if not self.time > 0:
            return ""
        size = "at least " if self.at_least else "about "
        unit = f" {self.time_unit}" if self.time_unit else " time units"
        if self.lyapunov_times > 0:
            return f"{size}{self.time:.3g}{unit} ({self.lyapunov_times:.2g} Lyapunov times)"
        return f"{size}{self.time:.3g}{unit} ({self.oscillations:.2g} oscillations)"


def default_horizon(model: Model) -> float:
    """A tenth of the record, but no more oscillations than any forecast is likely to hold."""
    return min(0.1 * model.record.dt * model.record.n, OSCILLATIONS * model.oscillation)


def lyapunov_exponent(model: Model) -> float:
    """Largest exponent in 1/time unit where the motion is chaotic beyond doubt, else NaN."""
    found = model.evidence
    if not isinstance(found, Evidence) or not found.lyapunov > 2.0 * (found.lyapunov_error or 0.0):
        return math.nan
    return found.lyapunov if found.lyapunov * model.oscillation >= CHAOTIC else math.nan


def outlook(model: Model, forecast: Forecast) -> Outlook:
    """From held-out forecasts where the equation is not exact; else from the forecast's band where there is one, else
    from the paper's eight starts within the record."""
    found, holds = model.evidence, model.verdict.holds
    if model.verdict.grade in ("approximate", "forecast") and holds is not None:
        time = holds.median
        at_least = model.bands is not None and time >= NEARLY * model.bands.longest
    elif forecast.lower is not None and forecast.upper is not None:
        wide = np.flatnonzero(0.5 * (forecast.upper - forecast.lower) > EXAMINATION.holds * model.spread[0])
        at_least = not wide.size
        time = float(forecast.t[-1] if at_least else forecast.t[wide[0]])
    elif isinstance(found, PaperEvidence):
        time = float(np.median(found.times))
        at_least = time >= found.horizon
    else:
        time, at_least = math.nan, False
    exponent = lyapunov_exponent(model)
    held = time, at_least, exponent * time, time / model.oscillation
    return Outlook(*held, model.record.time_unit, forecast.notes)


def sentence(model: Model, ahead: Outlook) -> str:
    """The verdict in words: what was found, for how long it holds, why."""
    held = ahead.text()
    opening = _OPENINGS[model.verdict.grade](held, _against(model))
    return " ".join([opening, model.verdict.reason, *ahead.notes])


def _against(model: Model) -> str:
    """``; the best simple method (repetition) manages 0.3 s``, or empty."""
    baseline = model.verdict.baseline
    if baseline is None:
        return ""
    unit = f" {model.record.time_unit}" if model.record.time_unit else " time units"
    return f"; the best simple method ({baseline.name}) manages {baseline.time:.3g}{unit}"


def _for(held: str) -> str:
    return f" for {held}" if held else ""


_OPENINGS: dict[str, Callable[[str, str], str]] = {
    "exact": lambda held, _: (
        "The equation behind this signal was found and can be trusted"
        + (f"; forecasts hold for {held} beyond the record." if held else ".")
    ),
    "approximate": lambda held, against: (
        f"An equation was found that describes this signal approximately: its forecasts hold{_for(held)}{against}."
    ),
    "forecast": lambda held, against: (
        f"This signal can be forecast{_for(held)}{against}, but no readable equation was found behind it."
    ),
    "none": lambda held, _: "No equation was found, and no forecast of this signal can be relied on.",
}


def next_steps(model: Model) -> tuple[str, ...]:
    """What would help most, in sentences; empty where nothing is wanted."""
    return (model.verdict.advice,) if model.verdict.advice else ()
