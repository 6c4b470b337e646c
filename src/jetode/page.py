"""One self-contained HTML page about a reconstruction: the verdict, the equation, one figure."""

from __future__ import annotations

import html
import io
from typing import TYPE_CHECKING

from jetode.series import Series

if TYPE_CHECKING:
    from jetode.forecast import Forecast
    from jetode.model import Model

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; background: #fff; border-radius: 4px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
"""
# Okabe and Ito's palette, safe for colour-blind readers
RECORD_COLOUR, FORECAST_COLOUR = "#0072B2", "#D55E00"


def page(record: Series, model: Model, forecast: Forecast) -> str:
    """The page as HTML text."""
    title = f"Reconstruction of {record.name or 'the record'}"
    verdict = "Trusted" if model.verdict.trusted else "Not trusted"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p><strong>{verdict}:</strong> {html.escape(model.verdict.reason)}</p>
<pre>{html.escape(model.closure.text())}</pre>
<figure>
{_figure(record, forecast)}
<figcaption>The end of the record and its forecast ({html.escape(forecast.stop.value)} at
{forecast.stop_time:g} after the last sample).</figcaption>
</figure>
</body>
</html>
"""


def _figure(record: Series, forecast: Forecast) -> str:
    """Record and forecast as inline SVG."""
    import matplotlib
    from matplotlib.figure import Figure

    shown = record.slice(record.n - min(record.n, max(2 * forecast.t.size, 500)), record.n)
    end = record.times[-1]
    with matplotlib.rc_context({"svg.hashsalt": "jetode"}):
        figure = Figure(figsize=(9, 3.5), layout="constrained")
        axes = figure.add_subplot()
        axes.plot(shown.times, shown.values, color=RECORD_COLOUR, linewidth=0.8, label="record")
        axes.plot(end + forecast.t, forecast.values, color=FORECAST_COLOUR, label="forecast")
        if forecast.lower is not None and forecast.upper is not None:
            band = (forecast.lower, forecast.upper)
            axes.fill_between(end + forecast.t, *band, color=FORECAST_COLOUR, alpha=0.25, linewidth=0)
        axes.set_xlabel(f"t [{record.time_unit}]" if record.time_unit else "t")
        name = record.name or "value"
        axes.set_ylabel(f"{name} [{record.unit}]" if record.unit else name)
        axes.legend(loc="upper left")
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    return svg[svg.index("<svg") :].replace("<svg", '<svg role="img" aria-label="Record and forecast"', 1)
