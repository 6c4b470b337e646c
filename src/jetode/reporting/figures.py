"""The report's figures as plain data for plotly.js: traces with roles instead of colours, and a description each.

Nothing here draws; ``templates/traces.js`` and ``report.js`` do.  Curves are thinned so that the page stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jetode.equations.closure import singular_set
from jetode.equations.notation import slope_labels
from jetode.equations.polynomials import evaluate
from jetode.integration.forecast import Forecast
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.signal.embedding import EmbeddingDiagnostics
from jetode.signal.whiteness import whiteness
from jetode.support.arrays import FloatArray
from jetode.support.plotting import label

MOST = 4000  # points of a curve
MOST_SOLID = 7000  # points of a curve in space
AT_REST = 0.05  # of the record's range: a long run that moves less has come to rest with the record
GRID = 90  # of D = 0 in the plane


@dataclass(frozen=True)
class Figure:
    """Traces and axes of one figure, and what it shows in a sentence."""

    name: str
    title: str
    caption: str
    traces: tuple[dict[str, Any], ...]
    axes: dict[str, Any] = field(default_factory=dict)
    solid: bool = False  # three-dimensional

    def plain(self) -> dict[str, Any]:
        """What the script needs."""
        return {"traces": list(self.traces), "axes": self.axes, "solid": self.solid}


def numbers(values: FloatArray, digits: int = 5) -> list[float | None]:
    """Plain numbers with few digits; NaN becomes null."""
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in np.asarray(values).tolist()]


def _curve(start: float, step: float, values: FloatArray, **style: Any) -> dict[str, Any]:
    """A uniformly sampled curve without its x values."""
    every = max(1, -(-values.size // MOST))
    return {"x0": start, "dx": step * every, "y": numbers(values[::every]), **style}


def all_figures(model: Model, forecast: Forecast, records: Sequence[Series]) -> dict[str, Figure]:
    """Those that the model and its records allow, by name."""
    found = [record_figure(model, forecast, records)]
    path = model.dynamics.jet_path if records else None
    if path is not None:
        found += [attractor_figure(model, path), *singular_figures(model, path)]
        if model.shown_equation is not None:  # else they are those of something that nobody sees
            found += residual_figures(model, records[-1])
    found += embedding_figures(model)
    return {figure.name: figure for figure in found}


def record_figure(model: Model, forecast: Forecast, records: Sequence[Series]) -> Figure:
    """The record, the smoothed signal and the forecast with its bands."""
    info = model.record
    traces: list[dict[str, Any]] = []
    end = info.t0 + info.dt * (info.n - 1)
    if records:
        shown = slice(max(0, info.n - MOST), info.n)
        start = info.t0 + shown.start * info.dt
        values = records[-1].values[shown]
        traces.append(_curve(start, info.dt, values, mode="markers", role="record", name="record", size=3))
        if model.dynamics.path is not None:
            smoothed = model.dynamics.path[shown, 0]
            traces.append(_curve(start, info.dt, smoothed, mode="lines", role="smoothed", name="smoothed"))
    relied = model.verdict.grade != "none"
    for low, high, name, role in (
        (forecast.lower, forecast.upper, "90 % band", "band"),
        (forecast.inner_lower, forecast.inner_upper, "50 % band", "inner"),
    ):
        if low is not None and high is not None and relied:
            traces.append(_curve(end, forecast.dt, low, mode="lines", role="edge", name=name, hidden=True))
            traces.append(_curve(end, forecast.dt, high, mode="lines", role=role, name=name, fill="tonexty"))
    style = {"name": "forecast", "width": 2} if relied else {"name": "what was tried", "width": 1, "dash": "dot"}
    traces.append(_curve(end, forecast.dt, forecast.values, mode="lines", role="model", **style))
    span = max(float(forecast.t[-1]), model.characteristic_time)  # a forecast may end at once
    first = max(info.t0, end - 2.0 * span)
    axes: dict[str, Any] = {
        "xaxis": {"title": {"text": label("t", info.time_unit)}, "range": [first, end + span]},
        "yaxis": {"title": {"text": label(info.name or "value", info.unit)}},
    }
    if info.std:
        last = [r.values[max(0, int((first - r.t0) / r.dt)) :] for r in records[-1:]]
        axes["yaxis"]["range"] = _reach(np.concatenate([forecast.values, *last]))
    return Figure(
        "record",
        "Record and forecast",
        "Measured samples (dots), the signal without its noise (line) and "
        + (_ahead(forecast) if relied else "the best of what was tried, which did not hold: no forecast")
        + ". Double-click shows everything.",
        tuple(traces),
        axes,
    )


def _ahead(forecast: Forecast) -> str:
    bands = " with the bands in which the truth is expected half and nine tenths of the time"
    return "the forecast beyond the last sample" + (bands if forecast.lower is not None else "")


def _reach(values: FloatArray) -> list[float]:
    low, high = float(np.nanquantile(values, 0.0005)), float(np.nanquantile(values, 0.9995))
    return [low - 0.12 * (high - low), high + 0.12 * (high - low)]


def ran(model: Model) -> str:
    """What a long run is a run of."""
    if model.shown_equation is not None:
        return "the equation"
    return "what was tried" if model.verdict.grade == "none" else "the forecast"


def _spacing(model: Model) -> int:
    """Samples between drawn points: about 120 points per oscillation."""
    return max(1, int(model.characteristic_time / (20 * model.record.dt)))


def attractor_figure(model: Model, jets: FloatArray) -> Figure:
    """The embedded record against a long run of the equation."""
    path, run = jets[:: _spacing(model)], model.rollout()
    inside = np.all(np.abs(run - np.nanmean(path, axis=0)) < 10 * np.nanstd(path, axis=0), axis=1)
    stop = int(np.argmin(inside)) if not inside.all() else run.shape[0]  # up to where it leaves for good
    d = min(3, path.shape[1])
    traces = []
    rests = bool(stop and np.all(np.ptp(run[:stop], axis=0) < AT_REST * np.ptp(path[~np.isnan(path[:, 0])], axis=0)))
    shown = [(path, "smoothed", "record"), *([] if rests else [(run[:stop], "model", "model, long run")])]
    for states, role, name in shown:
        points = {axis: numbers(states[:MOST_SOLID, i], 4) for i, axis in zip(range(d), "xyz", strict=False)}
        traces.append({**points, "mode": "lines", "role": role, "name": name, "width": 2 if d == 3 else 1})
    names = slope_labels(model.record.name, model.record.unit, model.record.time_unit, d)
    what = ran(model)
    titles = {f"{axis}axis": {"title": {"text": name}} for axis, name in zip("xyz", names, strict=False)}
    return Figure(
        "attractor",
        "Attractor",
        f"The record as signal, its slope{' and the slope of that' if d == 3 else ''}"
        + (
            f". The motion has come to rest, and {what} stays there."
            if rests
            else f", and a long run of {what} from the last sample. Both should fill the same region."
        ),
        tuple(traces),
        titles,
        solid=d == 3,
    )


def residual_figures(model: Model, record: Series) -> list[Figure]:
    """Residuals in time and their autocorrelation."""
    left = model.dynamics.residuals
    if left is None or np.count_nonzero(~np.isnan(left)) < 20 or not np.nanstd(left) > 0:
        return []
    test = whiteness(left)
    white = "no correlation beyond chance" if test.p_value > 0.01 else "correlated beyond chance"
    lags = np.arange(1, test.correlation.size + 1, dtype=float)
    ends = [0.0, float(lags[-1]) + 1]
    band = [
        {"x": ends, "y": [s * test.limit] * 2, "mode": "lines", "role": "record", "dash": "dash", "name": "95 % limit",
         "hidden": s < 0} for s in (1.0, -1.0)
    ]  # fmt: skip
    unit = model.record.time_unit
    return [
        Figure(
            "residuals",
            "Residuals",
            "What the equation leaves of the record, in units of the noise: it should look like structureless noise.",
            (_curve(record.t0, record.dt, left, mode="markers", role="smoothed", name="residual", size=3),),
            {
                "xaxis": {"title": {"text": label("t", unit)}},
                "yaxis": {"title": {"text": "residual / σ"}},
            },
        ),
        Figure(
            "whiteness",
            "Are the residuals white?",
            f"Autocorrelation of the residuals. Ljung–Box over {lags.size} lags: p = {test.p_value:.2g} ({white}).",
            (
                {"x": lags.tolist(), "y": numbers(test.correlation, 3), "kind": "bar", "role": "smoothed",
                 "name": "autocorrelation"},
                *band,
            ),
            {"xaxis": {"title": {"text": "lag [samples]"}}, "yaxis": {"title": {"text": "correlation"}}},
        ),
    ]  # fmt: skip


def singular_figures(model: Model, jets: FloatArray) -> list[Figure]:
    """The plane of signal and slope with D = 0 and where the record crosses it, where there is such a set."""
    closure = model.dynamics.closure
    if closure is None or all(not any(e) for e in closure.denominator):
        return []
    denominator = closure.denominator
    path = jets[~np.isnan(jets[:, 0])]
    meets = singular_set(closure, path)
    shown = jets[:: _spacing(model)][:MOST_SOLID]  # with its gaps
    traces: list[dict[str, Any]] = [
        {"x": numbers(shown[:, 0], 4), "y": numbers(shown[:, 1], 4), "mode": "lines", "role": "smoothed",
         "name": "record"},
    ]  # fmt: skip
    low, high = path[:, :2].min(axis=0), path[:, :2].max(axis=0)
    if all(not any(e[2:]) for e in denominator):
        x, y = (np.linspace(low[i], high[i], GRID) for i in (0, 1))
        points = np.stack([*np.meshgrid(x, y), *[np.zeros((GRID, GRID))] * (model.order - 2)], axis=-1)
        x_zero, y_zero = zero_lines(x, y, evaluate(denominator, points))
        traces.append({"x": numbers(x_zero), "y": numbers(y_zero), "mode": "lines", "role": "model", "name": "D = 0",
                       "width": 3})  # fmt: skip
    crossings = path[meets.crossings][:MOST]
    titles = slope_labels(model.record.name, model.record.unit, model.record.time_unit, 2)
    traces.append({"x": numbers(crossings[:, 0], 4), "y": numbers(crossings[:, 1], 4), "mode": "markers",
                   "role": "mark", "name": "crossings", "size": 6})  # fmt: skip
    found = Figure(
        "singular",
        "Singular set",
        f"Where the denominator D of the rational closure vanishes. The record crosses it {meets.crossings.size} "
        f"times; the closest sample has |D| at {meets.closest:.2g} of its typical size. "
        + (
            "Forecasts run in pole-free coordinates and pass it without loss."
            if model.regular is not None
            else f"There the numerator is {meets.misfit:.2g} of its typical size; a forecast may stop there."
        ),
        tuple(traces),
        {f"{axis}axis": {"title": {"text": title}} for axis, title in zip("xy", titles, strict=True)},
    )  # fmt: skip
    return [found]


def zero_lines(x: FloatArray, y: FloatArray, surface: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where a surface over a grid is 0: the lines, NaN between them."""
    from contourpy import contour_generator

    lines: Any = contour_generator(x, y, surface).lines(0.0)
    parts = [part for line in lines for part in (line, np.full((1, 2), np.nan))]
    joined = np.concatenate(parts) if parts else np.empty((0, 2))
    return joined[:, 0], joined[:, 1]


def embedding_figures(model: Model) -> list[Figure]:
    """Mutual information, false neighbours, and singular values of the paper's weak system, as the model holds them."""
    found = model.diagnostics.get("embedding")
    out = [] if found is None else _delay_figures(model, EmbeddingDiagnostics.from_json(found))
    values = model.diagnostics.get("singular_values")
    return out if values is None else [*out, _spectrum_figure(np.array(values), float(model.diagnostics["gap"]))]


def _delay_figures(model: Model, shown: EmbeddingDiagnostics) -> list[Figure]:
    found = f"first minimum at {shown.delay} samples" if shown.delay else "no minimum"
    unit, dt = model.record.time_unit, model.record.dt
    shares = 100 * np.array(shown.false_neighbours)
    return [
        Figure(
            "information",
            "Average mutual information",
            f"How much a sample tells about one a lag later: {found} (the usual embedding delay).",
            (_curve(0.0, dt, np.array(shown.information), mode="lines", role="smoothed", name="mutual information"),),
            {"xaxis": {"title": {"text": label("lag", unit)}}, "yaxis": {"title": {"text": "I [nats]"}}},
        ),
        Figure(
            "neighbours",
            "False nearest neighbours",
            f"Share of neighbours that are only apparent in m delay coordinates; below 1 % from m = "
            f"{shown.dimension or '– (not reached)'}.",
            (
                {"x": list(range(1, shares.size + 1)), "y": numbers(shares, 3), "kind": "bar", "role": "smoothed",
                 "name": "false neighbours"},
            ),
            {"xaxis": {"title": {"text": "m"}, "dtick": 1}, "yaxis": {"title": {"text": "share [%]"}}},
        ),
    ]  # fmt: skip


def _spectrum_figure(values: FloatArray, gap: float) -> Figure:
    return Figure(
        "spectrum",
        "Singular values",
        "Of the paper’s weak-form system for D u′ = N: the last one is the equation, and the gap before it "
        f"({gap:.2g}, a factor {values[-2] / max(values[-1], 1e-300):.3g}) says how sharply the record "
        "defines it without the joint fit.",
        (
            {"x": list(range(1, values.size + 1)), "y": numbers(values), "mode": "lines+markers",
             "role": "smoothed", "name": "singular values", "size": 6},
        ),
        {"xaxis": {"title": {"text": "index"}}, "yaxis": {"title": {"text": "σᵢ"}, "type": "log",
                                                         "exponentformat": "power", "dtick": 1}},
    )  # fmt: skip
