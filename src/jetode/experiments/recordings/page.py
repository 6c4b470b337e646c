"""The page of the recordings: a summary, and for each recording its numbers and forecasts against what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jetode.experiments.core.html_page import head
from jetode.experiments.recordings.methods import OURS

WIDTH, HEIGHT, EDGE = 960, 150, 34
COLOURS = {"truth": "#666", "ours": "#D55E00", "other": "#0072B2"}


def best_other(result: dict[str, Any]) -> str | None:
    """The method, other than ours, that forecasts longest."""
    others = {name: found["vpt"] for name, found in result["methods"].items() if name != OURS}
    return max(others, key=lambda name: others[name], default=None)


def picture(truth: dict[str, Any], curves: dict[str, dict[str, Any]], longest: float) -> str:
    """Forecasts from one start as an inline SVG: truth, ours with its band, the best other."""
    seen = [v for v in truth["truth"] if v is not None]
    low, high = min(seen), max(seen)
    room = 0.25 * (high - low) or 1.0
    low, high = low - room, high + room
    first = min(truth["times"][0], 0.0)

    def x(t: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * (t - first) / (longest - first)

    def y(v: float) -> float:
        return 8 + (HEIGHT - 34) * (high - min(max(v, low), high)) / (high - low)

    def line(times: Sequence[float], values: Sequence[float | None], kind: str) -> str:
        points: list[str] = []
        for t, v in zip(times, values, strict=False):
            if v is None or not low <= v <= high:  # a curve that leaves the picture ends there
                break
            points.append(f"{x(t):.1f},{y(v):.1f}")
        return f'<polyline class="{kind}" points="{" ".join(points)}"/>'

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="forecasts from sample {truth["sample"]}">']
    ours = curves.get(OURS, {})
    if "lower" in ours:
        parts.append(_band(truth["ahead"], ours["lower"], ours["upper"], x, y))
    parts.append(line(truth["times"], truth["truth"], "truth"))
    for name, curve in curves.items():
        parts.append(line(truth["ahead"], curve["values"], "ours" if name == OURS else "other"))
    parts.append(f'<line class="start" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="4" y2="{HEIGHT - 24}"/>')
    step = next(s for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if longest / s <= 10 or s == 5.0)
    for k in range(int(longest / step) + 1):
        parts.append(f'<text x="{x(k * step):.1f}" y="{HEIGHT - 8}">{k * step:g}</text>')
    return "".join([*parts, "</svg>"])


def _band(times: Sequence[float], lower: Sequence[Any], upper: Sequence[Any], x: Any, y: Any) -> str:
    known = [(t, a, b) for t, a, b in zip(times, lower, upper, strict=False) if a is not None and b is not None]
    edge = [f"{x(t):.1f},{y(b):.1f}" for t, _, b in known] + [f"{x(t):.1f},{y(a):.1f}" for t, a, _ in reversed(known)]
    return f'<polygon class="band" points="{" ".join(edge)}"/>'


def pictures(result: dict[str, Any]) -> list[str]:
    """One for each start that is drawn."""
    other = best_other(result)
    names = [name for name in (other, OURS) if name is not None and name in result["methods"]]
    return [
        picture(truth, {name: result["methods"][name]["drawn"][k] for name in names}, result["longest"])
        for k, truth in enumerate(result["drawn"])
    ]


STYLE = """\
.best { font-weight: 600; color: #009E73; }
svg { width: 100%; height: auto; display: block; } polyline { fill: none; stroke-width: 1.6; }
.truth { stroke: COLOUR_TRUTH; stroke-width: 2.2; } .ours { stroke: COLOUR_OURS; }
.other { stroke: COLOUR_OTHER; stroke-dasharray: 5 3; }
.band { fill: COLOUR_OURS; fill-opacity: .16; } .start { stroke: #888; stroke-dasharray: 2 3; }
svg text { font-size: 11px; text-anchor: middle; fill: currentColor; }
figure { margin: 1rem 0; } figcaption { font-size: 13px; } pre { white-space: pre-wrap; font-size: 13px; }
"""
PAGE = (
    head("jetode: recordings", STYLE)
    + """<body>
<h1>Recordings</h1>
<p>{{ when }}, {{ versions }}, code {{ about.code[:12] }}. Made by <code>{{ about.command }}</code>.</p>
<p>{{ about.protocol }}</p>
<div class="wide"><table><thead><tr><th>recording</th><th>samples</th><th>per oscillation</th><th>jetode</th>
<th>grade</th><th>90 % bands hold</th><th>best other</th><th>longest possible</th><th>jetode, CPU s</th></tr></thead>
{% for r in measured %}{% set o = r.methods.get('jetode') %}{% set b = best(r) %}
<tr><td><a href="#{{ r.name }}">{{ r.name }}</a></td><td>{{ r.samples | sum }}</td>
<td>{{ '%.1f' % r.samples_per_oscillation }}</td>
{% if o %}<td class="{{ 'best' if b is none or o.vpt >= r.methods[b].vpt else '' }}">{{ '%.2f' % o.vpt }}</td>
<td>{{ o.about.grade }}</td><td>{{ '–' if o.coverage is none else '%.0f %%' % (100 * o.coverage) }}</td>
{% else %}<td>–</td><td>–</td><td>–</td>{% endif %}
<td>{% if b %}{{ '%.2f' % r.methods[b].vpt }} {{ b }}{% else %}–{% endif %}</td>
<td>{{ '%.2f' % r.longest }}</td><td>{{ '–' if not o else '%.1f' % o.seconds }}</td></tr>
{% endfor %}</table></div>
{% for r in refused %}<p><b>{{ r.name }}</b> was not measured: {{ r.reason }}</p>
{% endfor %}
{% for r in measured %}<h2 id="{{ r.name }}">{{ r.name }}</h2>
<p>{{ r.files | join(', ') }}: {{ r.samples | join(' + ') }} samples, of which the first {{ r.known | join(' + ') }} are
known; {{ '%.1f' % r.samples_per_oscillation }} per oscillation.{% for n in r.notes %} {{ n }}.{% endfor %}</p>
<figure>{% for svg in pictures(r) %}{{ svg }}{% endfor %}
<figcaption>Oscillations from the start. Grey: what was recorded; red: jetode and its 90 % band; blue, dashed:
{{ best(r) or 'no other method' }}. Starts {% for d in r.drawn %}at sample {{ d.sample }} of record {{ d.record }}{{
", " if not loop.last }}{% endfor %}.</figcaption></figure>
<div class="wide"><table><thead><tr><th>method</th><th>VPT</th><th>quartiles</th><th>blow-ups</th>
{% for t in times(r) %}<th>error at {{ t }}</th>{% endfor %}<th>CPU s</th></tr></thead>
{% for name, m in ordered(r) %}<tr><td>{{ name }}</td><td>{{ '%.2f' % m.vpt }}</td>
<td>{{ '%.2f' % m.quartiles[0] }} … {{ '%.2f' % m.quartiles[1] }}</td><td>{{ '%.0f %%' % (100 * m.blown) }}</td>
{% for t in times(r) %}<td>{{ '–' if m.error[t] is none else '%.2f' % m.error[t] }}</td>{% endfor %}
<td>{{ '%.1f' % m.seconds }}</td></tr>
{% endfor %}</table></div>
{% if r.methods.jetode %}<p>{{ r.methods.jetode.about.reason }} {{ r.methods.jetode.about.advice }}</p>
{% if r.methods.jetode.about.grade != 'none' %}<pre>{{ r.methods.jetode.about.equation }}</pre>{% endif %}{% endif %}
{% endfor %}
</body>
</html>
"""
)


def page(results: Sequence[dict[str, Any]], about: dict[str, Any]) -> str:
    """The page as HTML text."""
    import platform
    from datetime import UTC, datetime
    from importlib.metadata import version

    from jinja2 import Environment
    from markupsafe import Markup

    template = PAGE
    for name, colour in COLOURS.items():
        template = template.replace(f"COLOUR_{name.upper()}", colour)
    versions = ", ".join(f"{name} {version(name)}" for name in ("jetode", "numpy", "scipy", "numba"))
    return (
        Environment(autoescape=True)
        .from_string(template)
        .render(
            when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            versions=f"{versions}, Python {platform.python_version()}",
            about=about,
            measured=[r for r in results if "methods" in r],
            refused=[r for r in results if "reason" in r],
            best=best_other,
            pictures=lambda r: [Markup(svg) for svg in pictures(r)],
            times=lambda r: list(next(iter(r["methods"].values()))["error"]),
            ordered=lambda r: sorted(r["methods"].items(), key=lambda item: -item[1]["vpt"]),
        )
    )
