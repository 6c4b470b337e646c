"""Figures of a paper: record and forecast, attractor, residuals and their correlation, each with a caption.

One column wide (86 mm), 8 pt, colours that everybody can tell apart; the numbers are those of the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jetode.reconstruction.model import Model
from jetode.reporting.forecast_reach import default_horizon, outlook
from jetode.signal.whiteness import whiteness
from jetode.support import plotting
from jetode.support.errors import InputError
from jetode.support.files import make_directory, write_text

COLUMN = 86 / 25.4  # inches
FORMATS = ("pdf", "svg", "png")
STYLE: Any = {"font.size": 8} | {
    "axes.linewidth": 0.6,
    "lines.linewidth": 0.9,
    "legend.frameon": False,
    "pdf.fonttype": 42,
}
FEWEST = 20  # residuals that can be shown
PAST = 2.0  # lengths of the forecast that are shown of the record before it


@dataclass(frozen=True)
class PaperFigure:
    """What draws it on a matplotlib figure, its size in columns, and its caption."""

    draw: Callable[[Any], None]
    height: float
    caption: str


def paper_figures(model: Model, horizon: float | None = None) -> dict[str, PaperFigure]:
    """Those that the model and its record allow, by name."""
    reach = horizon or default_horizon(model)
    ahead = model.forecast(reach)
    record = model.record
    name, unit = record.name or "the channel", record.time_unit or "time units"
    held = outlook(model, ahead).text()
    said = f" Forecasts hold for {held}." if held and model.verdict.grade != "none" else ""
    bands = " Shaded: 50 % and 90 % bands." if ahead.lower is not None else ""
    found = {
        "forecast": PaperFigure(
            lambda figure: _forecast(figure, model, reach),
            0.55,
            f"End of the record of {name} (dots), the signal without its noise (line) and the forecast beyond the last "
            f"sample over {reach:.3g} {unit}.{bands}{said}",
        )
    }
    if model.dynamics.jet_path is not None:
        found["attractor"] = PaperFigure(
            lambda figure: _attractor(figure, model),
            0.85,
            f"The record of {name} as signal and slopes, and a long run of the model from its end.",
        )
    left = model.dynamics.residuals
    if left is not None and np.count_nonzero(~np.isnan(left)) >= FEWEST:
        test = whiteness(left)
        found["residuals"] = PaperFigure(
            lambda figure: _residuals(figure, model),
            0.8,
            "What the equation leaves of the record, in units of the noise "
            f"({f'{model.noise_sigma:.3g} {record.unit}'.rstrip()}), "
            "and its autocorrelation with the 95 % limit. "
            f"Ljung–Box: p = {test.p_value:.2g}.",
        )
    return found


def write_figures(model: Model, out: Path, format: str = "pdf", horizon: float | None = None) -> list[Path]:
    """One file per figure and ``captions.md``, which holds the equation too."""
    if format not in FORMATS:
        raise InputError(f"The 'format' parameter must be one of {', '.join(FORMATS)}. Got {format!r} instead.")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    make_directory(out)
    written, captions = [], [f"# {model.record.name or 'The record'}", ""]
    with matplotlib.rc_context(STYLE):
        for i, (name, shown) in enumerate(paper_figures(model, horizon).items(), 1):
            figure = Figure(figsize=(COLUMN, COLUMN * shown.height), layout="constrained")
            FigureCanvasAgg(figure)
            shown.draw(figure)
            path = out / f"{name}.{format}"
            figure.savefig(path, dpi=600)
            written.append(path)
            captions += [f"**Figure {i}** ({path.name}). {shown.caption}", ""]
    if model.shown_equation is not None and model.named is not None:
        captions += [f"Equation ({model.verdict.grade}):", "", f"$${model.named.latex()}$$", ""]
    captions.append(model.verdict.reason)
    write_text(out / "captions.md", "\n".join(captions) + "\n")
    return [*written, out / "captions.md"]


def _forecast(figure: Any, model: Model, horizon: float) -> None:
    axes = model.plot(horizon, figure.add_subplot())
    axes.set_xlim(max(model.record.t0, model.record.end - PAST * horizon), model.record.end + horizon)
    axes.get_legend().remove()
    figure.legend(loc="outside upper center", ncols=5, fontsize=6, handlelength=1.0, columnspacing=0.8)


def _attractor(figure: Any, model: Model) -> None:
    axes = figure.add_subplot(projection="3d" if model.order > 2 else None)
    model.plot_attractor(axes)
    if model.order > 2:
        axes.set_box_aspect(None, zoom=0.82)


def _residuals(figure: Any, model: Model) -> None:
    left = model.dynamics.residuals
    assert left is not None
    above, below = figure.subplots(2, 1)
    times = model.record.t0 + model.record.dt * np.arange(left.size)
    above.plot(times, left, ".", color=plotting.SMOOTHED, markersize=1, rasterized=True)
    above.set_xlabel(plotting.label("t", model.record.time_unit))
    above.set_ylabel("residual / σ")
    test = whiteness(left)
    below.bar(np.arange(1, test.correlation.size + 1), test.correlation, color=plotting.SMOOTHED)
    for side in (1.0, -1.0):
        below.axhline(side * test.limit, color=plotting.RECORD, linestyle="--")
    below.set_xlabel("lag [samples]")
    below.set_ylabel("correlation")
