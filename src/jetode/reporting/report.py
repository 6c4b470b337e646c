"""One self-contained HTML report about a reconstruction: no network, opens from disk, figures one can turn.

The page is ``templates/report.html`` with its style and script inlined; figures go in as plain data with named
roles (record, model, …) that the script colours for light and dark.  plotly.js comes along as its partial bundle for
scatter and scatter3d (``npm pack plotly.js-gl3d-dist-min@4.1.1``, MIT), compressed, and the letters and signs of
equations of STIX Two Math (Open Font License): formulas look alike everywhere, and a report has less than 2 MB.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from jetode.equations.numbers import with_error
from jetode.integration.forecast import Forecast
from jetode.reconstruction.check import walk
from jetode.reconstruction.checks import CHECKS, notes
from jetode.reconstruction.evidence import AnyEvidence, ContestEvidence, evidence_of
from jetode.reconstruction.model import Model
from jetode.reconstruction.naming import NamedEquation
from jetode.reconstruction.verdict import METHODS
from jetode.records.series import Series
from jetode.reporting import figures as report_figures
from jetode.reporting.element_figures import element_figures
from jetode.reporting.exports import FORMATS
from jetode.reporting.figures import Figure
from jetode.reporting.forecast_reach import lyapunov_exponent, next_steps, outlook, sentence
from jetode.reporting.page_parts import FONT, LIBRARY, TRACES, packed, part

NO_NOISE = 1e-4  # of the signal: less is as good as none
AT_ZERO = 1e-9  # std: a coordinate of an equilibrium nearer to 0 is 0
LONG_FORM = 60  # terms: a longer rational closure is left to model.json
VERSIONS = ("jetode", "numpy", "scipy", "numba")
GRADES = {"exact": "Exact", "approximate": "Approximate", "forecast": "Forecast only", "none": "None"}


@dataclass(frozen=True)
class Table:
    """A table with a caption; numbers sort as numbers."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def report(model: Model, forecast: Forecast, records: Sequence[Series] = (), command: str = "") -> str:
    """The report as HTML text.

    ``records`` are those the model was fitted to (default: the model's own), ``command`` what repeats the run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    records = tuple(records) or model.records
    figures = report_figures.all_figures(model, forecast, records)
    figures |= {figure.name: figure for figure in element_figures(model)}
    environment = Environment(loader=PackageLoader("jetode.reporting"), autoescape=True, undefined=StrictUndefined)
    ahead = outlook(model, forecast)
    written = model.named
    return environment.get_template("report.html").render(
        title=f"Reconstruction of {model.record.name or 'the record'}",
        grade=model.verdict.grade,
        grade_name=GRADES[model.verdict.grade],
        sentence=sentence(model, ahead),
        steps=next_steps(model),
        facts=facts(model, ahead.text() if model.verdict.grade != "none" else "", records),
        notes=model.record.notes,
        shown=model.shown_equation is not None,
        ran=report_figures.ran(model),
        equations=[] if written is None else written.html(),
        rational=_rational(model),
        text="" if written is None else written.text(),
        latex="" if written is None else written.latex(),
        meanings=[] if written is None else written.meanings(),
        figures=figures,
        figure_json=_script(json.dumps({f.name: f.plain() for f in figures.values()}, allow_nan=False)),
        tables={
            "coefficients": coefficients(model),
            "evidence": evidence(model),
            "contest": contest(model),
            "exact": not_exact(model),
            "equilibria": equilibria(model),
            "rivals": rivals(model),
            "settings": settings(model),
        },
        command=command,
        formats=tuple(FORMATS),
        style=part("report.css").decode(),
        traces=part(TRACES).decode(),
        script=part("report.js").decode(),
        plotly=packed(LIBRARY),
        font=packed(FONT),
    )


def _rational(model: Model) -> list[str]:
    """The same equation without its hidden coordinate, where that is another one and short enough to read."""
    closure = model.dynamics.closure
    if model.regular is None or closure is None or len(closure.numerator) + len(closure.denominator) > LONG_FORM:
        return []
    return NamedEquation(closure, (), model.record).html(4)[-1:]


def _script(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value + 0.0:.{digits}g}"


def facts(model: Model, held: str, records: Sequence[Series]) -> list[tuple[str, str]]:
    """A handful of numbers for the top of the page."""
    record = model.record
    unit = f" {record.time_unit}" if record.time_unit else ""
    noise = model.summary()["noise"]
    sigma = f"{noise['sigma']:.3g} {record.unit}".strip()
    size = f"{100 * noise['fraction']:.2g} % of the signal (σ\u00a0{sigma})"
    n = sum(r.n for r in records) or record.n
    missing = sum(int(np.isnan(r.values).sum()) for r in records)
    many = f"{len(records)} records, " if len(records) > 1 else ""
    exponent = lyapunov_exponent(model)
    period = model.oscillation
    out = [
        ("Samples", many + f"{n:,}".replace(",", "\u202f") + (f", {missing} missing" if missing else "")),
        ("Sampling interval", f"{record.dt:g}{unit}"),
        ("Noise", size if noise["fraction"] >= NO_NOISE else f"less than {100 * NO_NOISE:g} % of the signal"),
        ("Oscillation", f"{period:.3g}{unit}, {period / record.dt:.3g} samples"),
    ]
    if np.isfinite(exponent):
        out.append(("Lyapunov time", f"{1 / exponent:.3g}{unit} (λ₁ = {exponent:.3g})"))
    found = model.diagnostics.get("lyapunov_spectrum") or {}
    if found.get("exponents") and found["kaplan_yorke_dimension"] > 0:  # else the motion comes to rest
        pairs = zip(found["exponents"], found["standard_errors"], strict=True)
        listed = ", ".join(with_error(value, error).replace(" ", "\u202f") for value, error in pairs)
        out.append(("Lyapunov spectrum", listed.replace("-", "−")))
        out.append(("Kaplan–Yorke dimension", _number(found["kaplan_yorke_dimension"], 3)))
    if held:
        out.append(("Forecast holds", held))
    return out


def coefficients(model: Model) -> Table:
    """Coefficients with standard errors, in the record's units and to two digits of their errors."""
    rows = []
    for term in () if model.named is None else model.named.terms():
        c = term.coefficient
        ratio = abs(c.value / c.standard_error) if c.standard_error > 0 else np.nan
        error = "fixed" if c.standard_error == 0 else _number(c.standard_error, 2)
        kept = f"{100 * c.stability:.0f}\u202f%" if np.isfinite(c.stability) else "–"
        z = f"{float(_number(ratio, 3)):g}" if np.isfinite(ratio) else "–"
        rows.append((term.rate, term.term, term.value, error, term.unit, z, kept))
    caption = (
        "Coefficients and where they stand; z is the value in units of its standard error, and a term is kept in so "
        "many of 100 resamplings of the record’s stretches"
    )
    return Table(caption, ("rate", "term", "value", "standard error", "unit", "z", "kept"), tuple(rows))


TESTS = ("test", "measured", "limit", "result")


def evidence(model: Model) -> Table:
    """Every check that the verdict walked, with its limit, and what else was noticed."""
    return Table("What the verdict looked at", TESTS, _walked(model.evidence))


def _walked(found: AnyEvidence | None) -> tuple[tuple[str, str, str, str], ...]:
    """Every check of some evidence, with its limit, and what else was noticed."""
    if found is None:
        return ()
    words = {True: "✓ pass", False: "✗ fail", None: "–"}
    outcomes = walk(CHECKS[found.kind], found)
    return (
        *((o.check.name, o.measured, o.check.limit, words[o.passed]) for o in outcomes),
        *((name, measured, "–", words[None]) for name, measured in notes(found)),
    )


def contest(model: Model) -> Table:
    """All that was tried on held-out stretches where no equation is exact, farthest first."""
    found = model.evidence
    caption = "How long forecasts of stretches that were held out hold, by all that was tried"
    head = ("forecast by", "holds [oscillations]", "quartiles", "score", "coefficients")
    if not isinstance(found, ContestEvidence):
        return Table(caption, head, ())
    rows = []
    for e in found.entries:
        low, middle, high = (f"{time / found.oscillation:.2f}" for time in (e.lower, e.time, e.upper))
        terms = "–" if e.terms is None else str(e.terms)
        rows.append((_explained(e.name), middle, f"{low}\u202f–\u202f{high}", f"{e.score:.2f}", terms))
    return Table(caption, head, tuple(rows))


def _explained(name: str) -> str:
    return f"{name}: {METHODS[name]}" if name in METHODS else name


def not_exact(model: Model) -> Table:
    """The checks on which an exact equation was refused, where what is shown was chosen by a contest."""
    found = model.evidence
    caption = "Why no equation counts as exact: the best one that was found, test by test"
    refused = found.exact if isinstance(found, ContestEvidence) else None
    diagnostics = {"evidence": refused, "clean": model.diagnostics.get("clean")}
    return Table(caption, TESTS, _walked(None if refused is None else evidence_of(diagnostics)))


def equilibria(model: Model) -> Table:
    """Where the equation stands still."""
    rows = []
    for e in model.diagnostics.get("equilibria") or ():
        values = ", ".join(f"{re:.3g}" + (f"{im:+.3g}i" if im else "") for re, im in e["eigenvalues"])
        state = [0.0 if abs(x) < AT_ZERO * spread else x for x, spread in zip(e["state"], model.spread, strict=False)]
        rows.append((_number(state[0], 5), _number(state[-1], 5), e["kind"], values))
    names = ("x", "w") if model.named is None else (model.named.names[0], model.named.names[-1])
    return Table("Equilibria: where the equation stands still", (*names, "kind", "eigenvalues"), tuple(rows))


def rivals(model: Model) -> Table:
    """Other forms that were tried."""
    found = sorted(model.diagnostics.get("rivals") or (), key=lambda r: r["delta_bic"])[:5]
    rows = tuple((_number(r["delta_bic"], 4), r["text"].replace("\n", "; ")) for r in found)
    return Table("Other forms tried (std = 1, tc = 1); larger ΔBIC is worse", ("ΔBIC", "equations"), rows)


def settings(model: Model) -> Table:
    """Everything needed to repeat the run."""
    rows = [(name, _setting(value)) for name, value in model.settings.items()]
    rows.append(("method", model.method))
    if model.spline is not None:
        rows.append(("spline", f"degree {model.spline.degree}, {model.spline.rule}"))
    rows += [(f"{package} version", version(package)) for package in VERSIONS]
    rows.append(("Python", platform.python_version()))
    return Table("Settings and versions", ("name", "value"), tuple(rows))


def _setting(value: Any) -> str:
    if value is None:
        return "default"
    return "; ".join(str(v) for v in value) or "none" if isinstance(value, list | tuple) else str(value)


__all__ = ["Figure", "Table", "report"]
