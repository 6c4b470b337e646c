"""What the panel's runs add up to: the table of the any-channel targets, and one HTML page with a row per channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from jetode.experiments.panel.channels import REGULAR

Result = dict[str, Any]
TARGETS = {  # at noise 0, 5 %, 15 %
    "right": (0.92, 0.92, 0.80),
    "oracle_ratio": (0.9, 0.95, 0.9),
    "beats_peers": (0.95, 0.90, 0.90),
    "wrong_trusted": (0.02, 0.02, 0.02),
}
NOISES = (0.0, 0.05, 0.15)
TIE = 0.999  # of the horizon


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.median(found)) if found else float("nan")


def _share(values: Iterable[bool]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else float("nan")


def channel_numbers(runs: Sequence[Result]) -> dict[str, Any]:
    """The median trajectory of one channel at one noise level."""
    exact = [r for r in runs if "right" in r]
    return {
        "channel": runs[0]["channel"],
        "class": runs[0]["class"],
        "noise": runs[0]["noise"],
        "runs": len(runs),
        "vpt": _median(r["vpt"] for r in runs),
        "horizon": runs[0]["horizon"],
        "trusted": sum(r["trusted"] for r in runs),
        "seconds": _median(r["seconds"] for r in runs),
        "example": runs[0],
        **_against_truth(exact),
        **_against_peers([r for r in runs if r["peers"]], runs[0]["horizon"], bool(exact)),
    }


def _against_truth(exact: Sequence[Result]) -> dict[str, Any]:
    """Numbers of the runs whose true regular form is known."""

    def median(values: Iterable[float]) -> float | None:
        return _median(values) if exact else None

    return {
        "right": median(r["right"] for r in exact),
        "right_runs": sum(r["right"] for r in exact),
        "oracle": median(r["oracle"] for r in exact),
        "ratio": median(_ratio(r) for r in exact),
        "wrong_trusted": sum(r["trusted"] and not r["right"] for r in exact),
        "error": median(r["error"] for r in exact if r["error"] is not None),
    }


def _against_peers(compared: Sequence[Result], horizon: float, exact: bool) -> dict[str, Any]:
    """Numbers of the runs that peers were measured on."""
    names = sorted({name for r in compared for name in r["peers"]})
    peers = {name: _median(r["peers"][name] for r in compared if name in r["peers"]) for name in names}
    own = _median(r["vpt"] for r in compared)
    return {
        "peers": peers,
        "best_peer": max(peers, key=lambda name: peers[name], default=None),
        "compared": len(compared),
        "compared_vpt": own,
        "beats": _beats(own, peers, horizon),
        "oracle_beats": _beats(_median(r["oracle"] for r in compared), peers, horizon) if exact else None,
    }


def _beats(vpt: float, peers: dict[str, float], horizon: float) -> bool | None:
    """Whether a forecast is no worse than every peer's, or at the horizon; None without peers."""
    return (vpt >= max(peers.values()) or vpt >= TIE * horizon) if peers else None


def _ratio(result: Result) -> float:
    if result["vpt"] >= TIE * result["horizon"]:
        return 1.0
    return float(result["vpt"] / result["oracle"]) if result["oracle"] > 0 else 1.0


def by_channel(results: Sequence[Result]) -> list[dict[str, Any]]:
    """One entry per channel and noise level."""
    groups: dict[tuple[str, float], list[Result]] = {}
    for r in sorted(results, key=lambda r: (r["class"], r["channel"], r["noise"], r["trajectory"])):
        groups.setdefault((r["channel"], r["noise"]), []).append(r)
    return [channel_numbers(runs) for runs in groups.values()]


def summarise(results: Sequence[Result]) -> dict[float, dict[str, float]]:
    """The targets' numbers over the R0–R2 channels, per noise level."""
    rows = by_channel(results)
    return {
        noise: {
            **_regular_channels([c for c in rows if c["noise"] == noise and c["class"] in REGULAR]),
            "others": _other_channels([c for c in rows if c["noise"] == noise and c["class"] not in REGULAR]),
            "seconds": _median(r["seconds"] for r in results if r["noise"] == noise),
            "slowest": max(r["seconds"] for r in results if r["noise"] == noise),
        }
        for noise in sorted({r["noise"] for r in results})
    }


def _regular_channels(exact: Sequence[Result]) -> dict[str, float]:
    """Channels with an exact form of order 3, at one noise level."""
    runs = sum(c["runs"] for c in exact)
    compared = [c for c in exact if c["beats"] is not None]
    return {
        "channels": len(exact),
        "runs": runs,
        "right": _share(c["right"] >= 0.5 for c in exact),
        "oracle_ratio": _median(c["ratio"] for c in exact),
        "beats_peers": _share(c["beats"] for c in compared),
        "oracle_beats_peers": _share(c["oracle_beats"] for c in compared),
        "wrong_trusted": sum(c["wrong_trusted"] for c in exact) / runs if runs else float("nan"),
        "trusted": sum(c["trusted"] for c in exact) / runs if runs else float("nan"),
    }


def _other_channels(others: Sequence[Result]) -> float:
    """Share of the channels without such a form that are not trusted, or no worse than every peer."""
    return _share(bool(c["beats"]) or 2 * c["trusted"] < c["runs"] for c in others if c["beats"] is not None)


LABELS = {
    "right": "right form, terms and coefficients (median trajectory), share of channels",
    "oracle_ratio": "VPT ahead / oracle, median over channels",
    "beats_peers": "beats or ties every peer ahead, share of channels",
    "oracle_beats_peers": "the oracle does (true equations given, same state estimate), share of channels",
    "wrong_trusted": "wrong model called trusted, share of runs",
    "trusted": "called trusted, share of runs",
    "others": "channels without an exact form of order 3: not trusted, or no worse than every peer, share",
    "seconds": "median CPU seconds per record",
    "slowest": "slowest record, CPU seconds",
}


def _target(key: str, noise: float) -> str:
    if key not in TARGETS or noise not in NOISES:
        return ""
    sign = "≤" if key == "wrong_trusted" else "≥"
    return f"{sign} {TARGETS[key][NOISES.index(noise)]:g}"


def summary_text(summary: dict[float, dict[str, float]]) -> str:
    """The summary for a terminal."""
    lines = ["R0–R2 channels at noise " + ", ".join(f"{n:g} ({s['channels']:.0f})" for n, s in summary.items())]
    for key, label in LABELS.items():
        cells = [f"{s[key]:.3g} {_target(key, n)}".strip() for n, s in summary.items()]
        lines.append(f"  {label}: " + " | ".join(cells))
    return "\n".join(lines)


# -- the page ----------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 120, 36


def sparkline(truth: Sequence[float | None], forecast: Sequence[float | None]) -> str:
    """Truth and forecast ahead as a small inline SVG."""
    known = [v for v in truth if v is not None]
    low, high = min(known), max(known)
    margin = 0.1 * (high - low) or 1.0
    low, high = low - margin, high + margin

    def points(values: Sequence[float | None]) -> str:
        pairs = []
        for i, v in enumerate(values):
            if v is not None and low - margin < v < high + margin:
                x = WIDTH * i / max(len(truth) - 1, 1)
                pairs.append(f"{x:.1f},{HEIGHT * (high - v) / (high - low):.1f}")
        return " ".join(pairs)

    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        'aria-label="truth and forecast ahead">'
        f'<polyline class="truth" points="{points(truth)}"/><polyline class="ours" points="{points(forecast)}"/></svg>'
    )


SIDE, EDGE = 220, 40


def duel(rows: Sequence[dict[str, Any]]) -> str:
    """Our VPT against the best peer's, as shares of the horizon, a point per channel: an inline SVG."""
    size = SIDE + 2 * EDGE
    parts = [
        f'<svg viewBox="0 0 {size} {size}" width="{size}" height="{size}" role="img" '
        'aria-label="VPT against the best peer">',
        f'<rect class="frame" x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}"/>',
        f'<line class="frame" x1="{EDGE}" y1="{EDGE + SIDE}" x2="{EDGE + SIDE}" y2="{EDGE}"/>',
        f'<text x="{size / 2}" y="{EDGE - 12}">noise {100 * rows[0]["noise"]:g} %</text>',
        f'<text x="{size / 2}" y="{size - 8}">best peer / horizon</text>',
        f'<text transform="translate(14 {size / 2}) rotate(-90)">jetode / horizon</text>',
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(f'<text x="{EDGE + share * SIDE}" y="{EDGE + SIDE + 16}">{share:g}</text>')
        parts.append(f'<text x="{EDGE - 12}" y="{EDGE + (1 - share) * SIDE + 4}">{share:g}</text>')
    for c in rows:
        peer, ours = (min(v / c["horizon"], 1.0) for v in (max(c["peers"].values()), c["compared_vpt"]))
        kind = "right" if c["right"] is not None and c["right"] >= 0.5 else "other"
        parts.append(
            f'<circle class="{kind}" cx="{EDGE + peer * SIDE:.1f}" cy="{EDGE + (1 - ours) * SIDE:.1f}" r="4">'
            f"<title>{escape(c['channel'])}</title></circle>"
        )
    return "".join([*parts, "</svg>"])


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>jetode: panel of channels</title>
<style>
:root { color-scheme: light dark; --truth: #888; --ours: #D55E00; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 112rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8884; vertical-align: middle; }
th:first-child, td:first-child, td.left { text-align: left; }
thead th { position: sticky; top: 0; background: Canvas; }
.ok { color: #009E73; } .bad { color: #D55E00; }
polyline { fill: none; stroke-width: 1.2; } .truth { stroke: var(--truth); } .ours { stroke: var(--ours); }
.frame { fill: none; stroke: var(--truth); } svg text { font-size: 12px; text-anchor: middle; fill: currentColor; }
.right { fill: #0072B2; fill-opacity: .7; } .other { fill: none; stroke: var(--ours); stroke-width: 1.5; }
.level { border-left: 2px solid #8884; } h3 { font-size: 1em; margin: .8rem 0 .2rem; }
.wide { overflow-x: auto; } pre { white-space: pre-wrap; margin: 0; } details { max-width: 34rem; min-width: 4rem; }
</style>
</head>
<body>
<h1>Panel of channels</h1>
<p>{{ when }}, {{ versions }}. Made by
{% for c in commands %}<code>{{ c }}</code>{{ ", " if not loop.last }}{% endfor %}.
Every record has 6,001 samples at tc/20; forecasts
start at the last sample and are scored against the continuation nobody saw, in Lyapunov times (at most 10, or 100 tc).
All defaults, no setting per system. “Right” means exactly the true terms in the canonical gauge and every coefficient
within 10 % or 5 standard errors.</p>
<h2>Summary over channels with an exact regular form (R0–R2)</h2>
<div class="wide"><table><thead><tr><th></th>{% for n in summary %}
<th>noise {{ '%g' % (100 * n) }} % ({{ summary[n].channels }} channels,
{{ summary[n].runs }} runs)</th>{% endfor %}</tr></thead>
{% for key, label in labels.items() %}<tr><td>{{ label }}</td>
{% for n in summary %}<td>{{ number(summary[n][key]) }} {{ target(key, n) }}</td>{% endfor %}</tr>
{% endfor %}</table></div>
{% if duels %}<h2>Against the best peer</h2>
<p>Median valid prediction time ahead over the same records, as a share of the horizon; a point above the diagonal is a
channel on which jetode forecasts longer than the best of all peers. Filled: the equation is right; open: it is not.</p>
<div class="wide">{% for rows in duels %}{{ duel(rows) }}{% endfor %}</div>{% endif %}
<h2>Channels</h2>
<p>Per noise level: records with the right equation (and how many were trusted); the median valid prediction time, with
the true equations given, and of the best peer; truth (grey) and forecast (red) ahead of the first record.</p>
<div class="wide"><table><thead><tr><th rowspan="2">channel</th><th rowspan="2">class</th><th rowspan="2">horizon</th>
{% for n in summary %}<th colspan="5" class="level">noise {{ '%g' % (100 * n) }} %</th>{% endfor %}
<th rowspan="2">equations, peers, times</th></tr>
<tr>{% for n in summary %}<th class="level">right (trusted)</th><th>VPT</th><th>oracle</th><th>best peer</th>
<th>ahead</th>{% endfor %}</tr></thead>
{% for levels in channels %}<tr><td>{{ levels[0].channel }}</td><td>{{ levels[0].class }}</td>
<td>{{ number(levels[0].horizon) }}</td>
{% for n in summary %}{% set c = at(levels, n) %}{% if c is none %}<td colspan="5" class="level">–</td>{% else %}
<td class="level">{% if c.right is none %}–{% else %}
<span class="{{ 'ok' if c.right >= 0.5 else 'bad' }}">{{ c.right_runs }} of {{ c.runs }}</span>{% endif %}
({{ c.trusted }})</td>
<td class="{{ 'ok' if c.beats else '' }}">{{ number(c.vpt) }}</td><td>{{ number(c.oracle) }}</td>
<td>{% if c.peers %}{{ number(c.peers.values() | max) }} {{ c.best_peer }}{% else %}–{% endif %}</td>
<td>{{ spark(c.example.sparkline) }}</td>{% endif %}{% endfor %}
<td class="left"><details><summary>show</summary>
{% for c in levels %}<h3>noise {{ '%g' % (100 * c.noise) }} %, {{ c.runs }} records</h3>
<pre>{{ c.example.equation }}</pre><p>{{ c.example.reason }}</p>
<p>Error of N {{ number(c.error) }}, {{ number(c.seconds) }} CPU seconds (medians).
{% if c.peers %}Peers, medians over {{ c.compared }} records (jetode {{ number(c.compared_vpt) }}):
{% for p in c.peers %}{{ p }} {{ number(c.peers[p]) }}{{ ", " if not loop.last }}{% endfor %}.{% endif %}</p>
{% endfor %}</details></td></tr>
{% endfor %}</table></div>
</body>
</html>
"""


def _shown_target(key: str, noise: float) -> str:
    target = _target(key, noise)
    return f"(target {target})" if target else ""


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.3g}"


def _at(levels: Sequence[Result], noise: float) -> Result | None:
    return next((c for c in levels if c["noise"] == noise), None)


def page(results: Sequence[Result], commands: Sequence[str]) -> str:
    """The page as HTML text: one row per channel, its noise levels side by side."""
    import platform
    from datetime import UTC, datetime
    from importlib.metadata import version

    from jinja2 import Environment
    from markupsafe import Markup

    versions = ", ".join(f"{name} {version(name)}" for name in ("jetode", "numpy", "scipy", "numba"))
    rows = by_channel(results)
    noises = sorted({c["noise"] for c in rows})
    compared = [[c for c in rows if c["noise"] == noise and c["peers"]] for noise in noises]
    return (
        Environment(autoescape=True)
        .from_string(PAGE)
        .render(
            when=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            versions=f"{versions}, Python {platform.python_version()}",
            commands=commands,
            summary=summarise(results),
            labels=LABELS,
            target=_shown_target,
            number=_number,
            channels=[list(levels) for _, levels in groupby(rows, key=lambda c: c["channel"])],
            at=_at,
            duels=[level for level in compared if level],
            duel=lambda level: Markup(duel(level)),
            spark=lambda s: Markup(sparkline(s["truth"], s["forecast"])),
        )
    )
