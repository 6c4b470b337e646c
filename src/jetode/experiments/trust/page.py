"""The page of the calibration: a reliability diagram of bands and intervals, and the table of grades."""

from __future__ import annotations

from collections.abc import Sequence

from jetode.experiments.core.html_page import head
from jetode.experiments.trust.summary import (
    GRADES,
    HALVES,
    Outcome,
    Point,
    grade_rows,
    graded,
    points,
    right_but_far,
    sources,
    wrong_and_exact,
)

SIZE, EDGE = 420, 48
COLOURS = {
    "exact": "#D55E00",
    "approximate": "#0072B2",
    "forecast": "#009E73",
    "none": "#888",
    "coefficients": "#CC79A7",
}


def diagram(found: Sequence[Point]) -> str:
    """Held against promised as an inline SVG; on the diagonal a promise is kept."""

    def at(share: float) -> float:
        return EDGE + (SIZE - 2 * EDGE) * share

    def down(share: float) -> float:
        return SIZE - at(share)

    parts = [f'<svg viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="Reliability diagram">']
    parts.append(f'<line class="ideal" x1="{at(0)}" y1="{down(0)}" x2="{at(1)}" y2="{down(1)}"/>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<text x="{at(share)}" y="{SIZE - EDGE + 18}">{100 * share:.0f}</text>')
        parts.append(f'<text x="{EDGE - 18}" y="{down(share) + 4}">{100 * share:.0f}</text>')
    for k, p in enumerate(found):
        colour = next(c for name, c in COLOURS.items() if name in p.name)
        x, low, high = at(p.promised) + 3 * (k % 5) - 6, down(p.held - p.error), down(p.held + p.error)
        parts.append(f'<line stroke="{colour}" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>')
        title = f"<title>{p.name}: {p.held:.3f} ± {p.error:.3f}, n {p.count}</title>"
        parts.append(f'<circle fill="{colour}" cx="{x}" cy="{down(p.held)}" r="4">{title}</circle>')
    parts.append(f'<text x="{SIZE / 2}" y="{SIZE - 8}">promised, %</text>')
    parts.append(f'<text transform="rotate(-90)" x="{-SIZE / 2}" y="12">held, %</text>')
    return "".join([*parts, "</svg>"]).replace('"nan"', f'"{down(0)}"')


STYLE = """\
svg { max-width: 28rem; }
svg text { font-size: 12px; text-anchor: middle; fill: currentColor; }
.ideal { stroke: #8888; stroke-dasharray: 4 3; }
"""
PAGE = (
    head("jetode: trust", STYLE)
    + """<body>
<h1>How far a grade can be trusted</h1>
<p>Made by <code>{{ command }}</code>: {{ records }} records of systems drawn by their seeds.</p>
<p>{% for commit, code, count in sources %}{{ count }} of commit {{ commit }}
(code {{ code }}){{ "" if loop.last else "; " }}{% endfor %}.
{% if sources|length > 1 %}Different states of the code may grade the same record differently.{% endif %}</p>
{% for half in halves %}<h2>{{ half.name }}</h2>
<p>{{ half.count }} records, {{ half.exact }} graded exact, {{ half.wrong }} of these wrong
(and {{ half.far }} the true equation, with coefficients farther off than white noise would leave them).</p>
{{ half.diagram }}
<div class="wide"><table><thead><tr><th>promise</th><th>held</th><th>±</th><th>n</th></tr></thead>
{% for p in half.points %}<tr><td>{{ p.name }}</td><td>{{ '%.3f' % p.held }}</td><td>{{ '%.3f' % p.error }}</td>
<td>{{ p.count }}</td></tr>{% endfor %}</table></div>
{% endfor %}
<h2>Grades</h2>
<div class="wide"><table><thead><tr><th>records</th><th>count</th>{% for g in grades %}<th>{{ g }}</th>{% endfor %}
<th>wrong and exact</th><th>VPT, oscillations</th><th>CPU s</th></tr></thead>
{% for r in rows %}<tr><td>{{ r.records }}</td><td>{{ r['count'] }}</td>
{% for g in grades %}<td>{{ r[g] }}</td>{% endfor %}
<td>{{ r.wrong_and_exact }}</td><td>{{ '%.2f' % r.vpt }}</td><td>{{ '%.1f' % r.seconds }}</td></tr>
{% endfor %}</table></div>
</body>
</html>
"""
)


def page(outcomes: Sequence[Outcome], command: str) -> str:
    """The page as HTML text."""
    from jinja2 import Environment
    from markupsafe import Markup

    halves = []
    for name, mine in HALVES.items():
        part = [o for o in graded(outcomes) if mine(o["seed"])]
        found = points(part)
        halves.append(
            {
                "name": name[:1].upper() + name[1:],
                "count": len(part),
                "exact": sum(o["grade"] == "exact" for o in part),
                "wrong": wrong_and_exact(part),
                "far": right_but_far(part),
                "points": found,
                "diagram": Markup(diagram(found)),
            }
        )
    rows, records = grade_rows(outcomes), len(graded(outcomes))
    template = Environment(autoescape=True).from_string(PAGE)
    shown = {"halves": halves, "rows": rows, "grades": GRADES, "sources": sources(outcomes)}
    return template.render(command=command, records=records, **shown)
