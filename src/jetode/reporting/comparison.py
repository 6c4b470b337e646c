"""Models side by side: their coefficients term by term, how long held-out forecasts held, and on one record the valid
prediction time of past-only forecasts (docs/mathematics.md (5.5)) and ΔBIC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, nan
from typing import Any

import numpy as np

from jetode.equations.numbers import with_error
from jetode.integration.windowed_prediction_time import windowed_vpt
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

STARTS = 12  # past-only forecasts into the last quarter of the record
KNOWN = 0.75  # of the record, before the first start
OSCILLATIONS = 10.0  # the longest forecast that is scored


@dataclass(frozen=True)
class Compared:
    """One model: how far to rely on it, its coefficients by (rate, term); ``vpt`` (oscillations) and ``delta_bic`` (the
    best has 0) on the record where one was given, NaN where the model cannot tell."""

    name: str
    grade: str
    noise: float
    holds: float
    terms: Mapping[tuple[str, str], str]
    vpt: float = nan
    delta_bic: float = nan

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        terms = [{"rate": rate, "term": term, "value": value} for (rate, term), value in self.terms.items()]
        return vars(self) | {"terms": terms}


def compare(models: Mapping[str, Model], record: Series | None = None) -> list[Compared]:
    """The models in the order given; ``record`` is one that all of them may be scored on."""
    if not models:
        raise InputError("There must be at least one model to compare.")
    moved = {name: model if record is None else model.with_record(record) for name, model in models.items()}
    scores = {name: nan if record is None else _forecasts(model) for name, model in moved.items()}
    bic = dict.fromkeys(models, nan) if record is None else _bic(moved)
    best = min((value for value in bic.values() if np.isfinite(value)), default=nan)
    return [
        Compared(
            name,
            model.verdict.grade,
            float(model.summary()["noise"]["fraction"]),
            nan if model.verdict.holds is None else model.verdict.holds.median,
            _terms(model),
            scores[name],
            bic[name] - best,
        )
        for name, model in models.items()
    ]


def _terms(model: Model) -> dict[tuple[str, str], str]:
    """Values with errors, where the verdict lets the equation count as one."""
    if model.shown_equation is None or model.named is None:
        return {}
    return {
        (t.rate, t.term): with_error(t.coefficient.value, t.coefficient.standard_error) for t in model.named.terms()
    }


def _forecasts(model: Model) -> float:
    """Median valid prediction time in oscillations, past-only starts evenly over the last quarter."""
    record, period = model.records[-1], model.oscillation / model.record.dt
    first = int(KNOWN * record.n)
    steps = int(min(OSCILLATIONS * period, 0.5 * (record.n - first)))
    starts = np.linspace(first, record.n - 1 - steps, STARTS).astype(int)
    errors = np.full((STARTS, steps + 1), np.inf)
    for i, start in enumerate(starts.tolist()):
        run = model.forecast(steps * model.record.dt, start=start, samples=0).values
        truth = record.values[start : start + run.size]
        errors[i, : run.size] = (run - truth) / record.std
    return float(np.median(windowed_vpt(errors[:, 1:], period)))


def _bic(models: Mapping[str, Model]) -> dict[str, float]:
    """Misfit in units of the least noise among the models, and log n for each coefficient; NaN where a model has no
    path of its equation through the record."""
    left: dict[str, tuple[FloatArray, int]] = {}
    for name, model in models.items():
        if isinstance(model.dynamics, RegularDynamics) and model.dynamics.residuals is not None:
            residuals = model.dynamics.residuals * model.noise_sigma * model.dynamics.identified.noise.colour.innovation
            left[name] = residuals[~np.isnan(residuals)], len(model.coefficients())
    sigma = min((float(np.std(r)) for r, _ in left.values()), default=nan)
    return {
        name: float(np.sum((left[name][0] / sigma) ** 2)) + left[name][1] * log(left[name][0].size)
        if name in left
        else nan
        for name in models
    }


def table(compared: list[Compared]) -> list[list[str]]:
    """A heading, one row per number and one per term that some model has; – where a model has none."""

    def number(value: float, digits: int = 3) -> str:
        return f"{value:.{digits}g}" if np.isfinite(value) else "–"

    rows = [
        ["", *(c.name for c in compared)],
        ["grade", *(c.grade for c in compared)],
        ["noise, share of the signal", *(number(c.noise) for c in compared)],
        ["held-out forecasts hold", *(number(c.holds) for c in compared)],
        ["forecasts of the record hold (oscillations)", *(number(c.vpt) for c in compared)],
        ["ΔBIC on the record", *(number(c.delta_bic, 4) for c in compared)],
    ]
    rows = [row for row in rows if set(row[1:]) != {"–"}]
    terms: dict[tuple[str, str], None] = {}
    for c in compared:
        terms |= dict.fromkeys(c.terms)
    order = {rate: i for i, rate in enumerate(dict.fromkeys(rate for rate, _ in terms))}
    for rate, term in sorted(terms, key=lambda key: order[key[0]]):
        rows.append([f"{rate}: {term}", *(c.terms.get((rate, term), "–") for c in compared)])
    return rows
