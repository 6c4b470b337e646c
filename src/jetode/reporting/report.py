"""One self-contained HTML report about a reconstruction: no network, opens from disk, figures one can turn.

The page is ``templates/report.html`` with its style and script inlined; figures go in as plain data with named
roles (record, model, …) that the script colours for light and dark.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np

from jetode.equations import mathml
from jetode.integration.forecast import Forecast
from jetode.joint.search import MAX_SCORE, MIN_MARGIN
from jetode.reconstruction import verdict
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.reporting import figures as report_figures
from jetode.reporting.exports import FORMATS
from jetode.reporting.figures import Figure
from jetode.reporting.forecast_reach import lyapunov_exponent, next_steps, outlook, sentence

LONG_FORM = 60  # terms: a longer rational closure is left to model.json
VERSIONS = ("jetode", "numpy", "scipy", "numba", "plotly")


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
    from plotly.offline import get_plotlyjs

    records = tuple(records) or model.records
    figures = report_figures.all_figures(model, forecast, records)
    environment = Environment(loader=PackageLoader("jetode.reporting"), autoescape=True, undefined=StrictUndefined)
    ahead = outlook(model, forecast)
    written = model.closure if model.regular is None else model.regular
    terms = len(model.closure.numerator) + len(model.closure.denominator)
    shown = model.regular is not None and terms <= LONG_FORM
    return environment.get_template("report.html").render(
        title=f"Reconstruction of {model.record.name or 'the record'}",
        trusted=model.verdict.trusted,
        sentence=sentence(model, ahead),
        steps=next_steps(model),
        facts=facts(model, ahead.text() if model.verdict.trusted else "", records),
        equations=mathml.equations(written),
        rational=mathml.equations(model.closure)[-1:] if shown else [],
        text=model.equation("text"),
        latex=model.equation("latex"),
        coordinates=coordinates(model),
        figures=figures,
        figure_json=_script(json.dumps({f.name: f.plain() for f in figures.values()}, allow_nan=False)),
        tables={
            "coefficients": coefficients(model),
            "evidence": evidence(model),
            "equilibria": equilibria(model),
            "rivals": rivals(model),
            "settings": settings(model),
        },
        command=command,
        formats=tuple(FORMATS),
        style=_part("report.css"),
        script=_part("report.js"),
        plotly=get_plotlyjs(),
    )


def _part(name: str) -> str:
    return (files("jetode.reporting") / "templates" / name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value + 0.0:.{digits}g}"


def coordinates(model: Model) -> str:
    """What the letters of the equation stand for."""
    channel = f"u₀ is {model.record.name or 'the recorded channel'}"
    regular = model.regular
    if regular is None:
        return f"{channel}, u₁ its slope, u₂ the slope of that, and so on."
    if regular.is_chain:
        return f"{channel}, and v and w hidden coordinates that the record determines but does not show."
    slopes = "" if model.order == 2 else ", u₁ its slope" + (", u₂ the slope of that, and so on" * (model.order > 3))
    if not regular.a and regular.pole_factor() is None:
        return f"{channel}{slopes}, and w the next slope."
    return f"{channel}{slopes}, and w a hidden coordinate that the record determines but does not show."


def facts(model: Model, held: str, records: Sequence[Series]) -> list[tuple[str, str]]:
    """A handful of numbers for the top of the page."""
    record = model.record
    unit = f" {record.time_unit}" if record.time_unit else ""
    noise = model.summary()["noise"]
    sigma = f"{noise['sigma']:.3g} {record.unit}".strip()
    n = sum(r.n for r in records) or record.n
    missing = sum(int(np.isnan(r.values).sum()) for r in records)
    many = f"{len(records)} records, " if len(records) > 1 else ""
    exponent = lyapunov_exponent(model)
    period = 2 * np.pi * model.characteristic_time
    out = [
        ("Samples", f"{many}{n:,}".replace(",", "\u202f") + (f", {missing} missing" if missing else "")),
        ("Sampling interval", f"{record.dt:g}{unit}"),
        ("Noise", f"{100 * noise['fraction']:.2g} % of the signal (σ {sigma})"),
        ("Oscillation", f"{period:.3g}{unit}, {period / record.dt:.3g} samples"),
    ]
    if np.isfinite(exponent):
        out.append(("Lyapunov time", f"{1 / exponent:.3g}{unit} (λ₁ = {exponent:.3g})"))
    found = model.diagnostics.get("lyapunov_spectrum") or {}
    if found.get("exponents"):
        pairs = zip(found["exponents"], found["standard_errors"], strict=True)
        listed = ", ".join(f"{value:.3g}\u202f±\u202f{error:.1g}" for value, error in pairs)
        out.append(("Lyapunov spectrum", listed.replace("-", "−")))
        out.append(("Kaplan–Yorke dimension", _number(found["kaplan_yorke_dimension"], 3)))
    if held:
        out.append(("Forecast holds", held))
    return out


def coefficients(model: Model) -> Table:
    """Coefficients with standard errors, in the record's units."""
    rows = []
    for c in model.coefficients():
        names = model.regular.names() if model.regular is not None else ()
        ratio = abs(c.value / c.standard_error) if c.standard_error > 0 else np.nan
        error = "fixed" if c.standard_error == 0 else _number(c.standard_error, 2)
        kept = f"{100 * c.stability:.0f}\u202f%" if np.isfinite(c.stability) else "–"
        rows.append((c.part, _monomial(c.powers, names), _number(c.value, 6), error, _number(ratio, 3), kept))
    if not rows:
        for part, polynomial in (("N", model.closure.numerator), ("D", model.closure.denominator)):
            terms = {_monomial(e, model.closure.names): v for e, v in polynomial.items()}
            rows += [(part, term, _number(value, 6), "–", "–", "–") for term, value in terms.items()]
    caption = (
        "Coefficients in the record’s units; z is the value in units of its standard error, and a term is kept in so "
        "many of 100 resamplings of the record’s stretches"
    )
    return Table(caption, ("part", "term", "value", "standard error", "z", "kept"), tuple(rows))


def _monomial(powers: Sequence[int], names: Sequence[str]) -> str:
    from jetode.equations.polynomials import text

    exponents = tuple(powers)
    return text({exponents: 1.0}, tuple(names)[: len(exponents)])


def evidence(model: Model) -> Table:
    """What the verdict looked at, with the limits it applied."""
    found = model.diagnostics.get("evidence") or {}
    tests: list[tuple[str, str, str, bool | None]] = []  # None: shown, not judged

    def test(name: str, key: str, limit: float, below: bool) -> None:
        value = found.get(key)
        if value is not None:
            passed = value <= limit if below else value >= limit
            tests.append((name, _number(value, 3), ("≤\u00a0" if below else "≥\u00a0") + _number(limit, 3), passed))

    if found and not model.diagnostics.get("clean"):
        test("Residual over estimated noise", "noise_ratio", verdict.MAX_NOISE_RATIO, True)
        test("Slow structure in the residuals (1: white)", "block_ratio", verdict.MAX_BLOCK_RATIO, True)
        test("χ² per sample on a stretch held out of the fit", "held_out", verdict.MAX_HELD_OUT, True)
        test("Gain of terms beyond its own over chance [standard deviations]", "score", MAX_SCORE, True)
    test("Oscillations in the record", "oscillations", verdict.MIN_OSCILLATIONS, False)
    test("Distance of a long run’s distribution from the record’s [std]", "distance", verdict.MAX_DISTANCE, True)
    if found.get("spectrum_distance") is not None:
        name = "Share of power at other frequencies in a long run than in the record"
        tests.append((name, _number(found["spectrum_distance"], 2), "–", None))
    test("Held-out forecasts hold [oscillations]", "skill", verdict.MIN_SKILL, False)
    test("Free coefficients", "terms", verdict.MAX_TERMS, True)
    test("ΔBIC of the nearest other form", "rival", verdict.MIN_RIVAL, False)
    test("ΔBIC of one term more or less", "margin", MIN_MARGIN, False)
    if "bounded" in found:
        tests.insert(0, ("A long run stays bounded", "yes" if found["bounded"] else "no", "yes", found["bounded"]))
    if found.get("exhausted"):
        tests.append(("The search tried every form", "no: it ended at its bound of iterations", "–", None))
    times = model.diagnostics.get("valid_prediction_times")
    if times:
        wanted = min(model.diagnostics["oscillation"], model.diagnostics["horizon"])
        reached = float(np.median(times))
        limit = f"≥\u00a0{_number(wanted, 3)}"
        tests.append(("Valid prediction time from 8 starts, median", _number(reached, 3), limit, reached >= wanted))
    jets = found.get("sufficiency")
    if jets:
        tests.append((f"Jets against delays: {jets['sentence']}", "hidden" if jets["hidden"] else "none", "–", None))
    words = {True: "✓ pass", False: "✗ fail", None: "–"}
    rows = tuple((name, value, limit, words[ok]) for name, value, limit, ok in tests)
    return Table("What the verdict looked at", ("test", "measured", "limit", "result"), rows)


def equilibria(model: Model) -> Table:
    """Where the equation stands still."""
    rows = []
    for e in model.diagnostics.get("equilibria") or ():
        values = ", ".join(f"{re:.3g}" + (f"{im:+.3g}i" if im else "") for re, im in e["eigenvalues"])
        rows.append((_number(e["state"][0], 5), _number(e["state"][-1], 5), e["kind"], values))
    return Table("Equilibria of the equation", ("u0", "w", "kind", "eigenvalues"), tuple(rows))


def rivals(model: Model) -> Table:
    """Other forms that were tried."""
    found = sorted(model.diagnostics.get("rivals") or (), key=lambda r: r["delta_bic"])[:5]
    rows = tuple((_number(r["delta_bic"], 4), r["text"].replace("\n", "; ")) for r in found)
    return Table("Other forms tried (std = 1, tc = 1); larger ΔBIC is worse", ("ΔBIC", "equations"), rows)


def settings(model: Model) -> Table:
    """Everything needed to repeat the run."""
    rows = [(name, _setting(value)) for name, value in model.settings.items()]
    rows += [("method", model.method), ("spline", f"degree {model.spline.degree}, {model.spline.rule}")]
    rows += [(f"{package} version", version(package)) for package in VERSIONS]
    rows.append(("Python", platform.python_version()))
    return Table("Settings and versions", ("name", "value"), tuple(rows))


def _setting(value: Any) -> str:
    if value is None:
        return "default"
    return "; ".join(str(v) for v in value) or "none" if isinstance(value, list | tuple) else str(value)


__all__ = ["Figure", "Table", "report"]
