"""The page of a batch: how many files came to what, and for each a picture, its grade and its equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT = 360, 110
GRADES = ("exact", "approximate", "forecast", "none", "failed")


def picture(curves: dict[str, Any]) -> str:
    """Record and forecast with its band as an inline SVG."""
    seen = [v for name in ("record", "forecast") for v in curves[name] if v is not None]
    low, high = min(seen), max(seen)
    room = 0.15 * (high - low) or 1.0
    low, high = low - room, high + room
    first, last = curves["past"][0], curves["ahead"][-1]

    def at(t: float, v: float) -> str:
        x = WIDTH * (t - first) / ((last - first) or 1.0)
        return f"{x:.1f},{HEIGHT * (high - min(max(v, low), high)) / (high - low):.1f}"

    def line(times: Sequence[float], values: Sequence[float | None], kind: str) -> str:
        points = " ".join(at(t, v) for t, v in zip(times, values, strict=False) if v is not None)
        return f'<polyline class="{kind}" points="{points}"/>'

    band = ""
    if "lower" in curves:
        edge = [(t, v) for t, v in zip(curves["ahead"], curves["upper"], strict=False) if v is not None]
        edge += [(t, v) for t, v in zip(curves["ahead"], curves["lower"], strict=False) if v is not None][::-1]
        band = f'<polygon class="band" points="{" ".join(at(t, v) for t, v in edge)}"/>'
    record, ahead = line(curves["past"], curves["record"], "record"), line(curves["ahead"], curves["forecast"], "model")
    label = "the end of the record and its forecast"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{band}{record}{ahead}</svg>'


def page(results: Sequence[dict[str, Any]], command: str) -> str:
    """The page as HTML text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    grades = [result["row"]["grade"] or result["row"]["status"] for result in results]
    counts = [(grade, grades.count(grade)) for grade in GRADES if grade in grades]
    loader = PackageLoader("jetode.experiments.batch")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return environment.get_template("batch.html").render(
        results=results, command=command, counts=counts, picture=lambda curves: Markup(picture(curves))
    )
