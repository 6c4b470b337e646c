"""Selection as in the paper (Sec. 4): degrees and window parameters that maximise VPT, Eq. (vpt).

The score compares forecasts from the eight interior starts with the measured continuation of the record, so
it needs no knowledge of the system.  Candidates are tried from few terms to many, and more terms must earn a
longer forecast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import pi

import numpy as np

from jetode.equations.field import Field
from jetode.equations.polynomials import total_degree_exponents
from jetode.integration.forecast import Forecast, forecast_many
from jetode.integration.valid_prediction_time import STARTS, interior_starts, valid_prediction_time
from jetode.paper.identify import Embedding, Identification, PaperSettings, identify
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError

DENOMINATOR_DEGREES = (0, 1, 2)
NUMERATOR_DEGREES = (1, 2, 3, 4, 5)
HALF_WIDTHS = (10, 20, 40)
EXPONENTS = (4, 8)
HORIZON = 10.0 * 2.0 * pi  # tc, ten periods of a sine, but at most a third of the record
WORTHWHILE = 1.05  # ratio of mean VPT by which a larger candidate has to win
SIGNIFICANT = 2.0  # standard errors of the mean gain over the starts by which it has to win
MOST_TERMS = 150
STEPS_PER_SAMPLE = 4  # a forecast that crawls at a pole is no candidate


@dataclass(frozen=True, eq=False)
class Skill:
    """Forecasts from the interior starts and their valid prediction times against the measured record."""

    starts: IntArray
    forecasts: tuple[Forecast, ...]
    vpt: FloatArray
    horizon: float

    @property
    def mean(self) -> float:
        """Mean VPT over the starts."""
        return float(np.mean(self.vpt))


@dataclass(frozen=True, eq=False)
class DegreeChoice:
    """One setting, what it identified and how far it forecasts."""

    settings: PaperSettings
    identification: Identification
    skill: Skill


def skill(
    identification: Identification, embedding: Embedding, values: FloatArray, horizon: float | None = None
) -> Skill:
    """Forecast from the eight interior starts; ``horizon`` in the record's time (default: ``HORIZON``)."""
    dt, n = embedding.dt, values.shape[0]
    if horizon is None:
        horizon = min(HORIZON * embedding.scales.time, (n - 1) // 3 * dt)
    steps = max(round(horizon / dt), 1)
    starts = interior_starts(n, steps, STARTS)
    forecasts = forecast_many(
        Field.from_closure(identification.closure),
        embedding.jets[starts, : embedding.order],
        embedding.spread,
        steps * dt,
        dt,
        max_steps=STEPS_PER_SAMPLE * steps,
    )
    vpt = [
        valid_prediction_time(f.values, values[i : i + steps + 1], dt) for f, i in zip(forecasts, starts, strict=True)
    ]
    return Skill(starts, tuple(forecasts), np.array(vpt), steps * dt)


def select(
    embedding: Embedding,
    values: FloatArray,
    base: PaperSettings,
    denominator_degree: int | None = None,
    numerator_degree: int | None = None,
    half_width: int | None = None,
    exponent: int | None = None,
) -> DegreeChoice:
    """Best settings around ``base``; a parameter that is given stays as it is.

    Degrees first, with the paper's window, then the window for the best degrees.
    """
    degrees = product(
        DENOMINATOR_DEGREES if denominator_degree is None else (denominator_degree,),
        NUMERATOR_DEGREES if numerator_degree is None else (numerator_degree,),
    )
    shaped = replace(
        base,
        half_width=base.half_width if half_width is None else half_width,
        exponent=base.exponent if exponent is None else exponent,
    )
    candidates = [replace(shaped, denominator_degree=d, numerator_degree=n) for d, n in degrees]
    candidates.sort(key=lambda c: _terms(c, embedding.order))
    small = [c for c in candidates if _terms(c, embedding.order) <= MOST_TERMS]
    chosen = _best(embedding, values, small or candidates[:1])
    windows = product(
        HALF_WIDTHS if half_width is None else (half_width,), EXPONENTS if exponent is None else (exponent,)
    )
    longest = (values.shape[0] - 1 - 2 * embedding.margin) // 4
    shapes = [
        replace(chosen.settings, half_width=r, exponent=p)
        for r, p in windows
        if r <= longest and (r, p) != (shaped.half_width, shaped.exponent)
    ]
    return _best(embedding, values, shapes, chosen)


def _terms(settings: PaperSettings, order: int) -> int:
    below = len(total_degree_exponents(order, settings.denominator_degree, settings.denominator_variables))
    return below + len(total_degree_exponents(order, settings.numerator_degree))


def _best(
    embedding: Embedding,
    values: FloatArray,
    candidates: Iterable[PaperSettings],
    best: DegreeChoice | None = None,
) -> DegreeChoice:
    for settings in candidates:
        identification = identify(embedding, settings)
        candidate = DegreeChoice(settings, identification, skill(identification, embedding, values))
        if best is None or _wins(candidate.skill, best.skill):
            best = candidate
    if best is None:
        raise InputError("There is no candidate to select from: allow at least one degree of N and of D.")
    return best


def _wins(new: Skill, old: Skill) -> bool:
    """Longer forecasts, by more than rounding alone moves eight of them at a pole."""
    gain = new.vpt - old.vpt
    error = float(np.std(gain, ddof=1)) / np.sqrt(gain.size) if gain.size > 1 else 0.0
    return new.mean > WORTHWHILE * old.mean and new.mean - old.mean > SIGNIFICANT * error
