"""The report as a reader meets it: one file, no network, and in headless Chromium figures that draw, turn and sort."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

import jetode
from jetode.reconstruction.evidence import ContestEvidence, Entry, RefusalEvidence
from jetode.reporting import report as tables
from jetode.reporting.figures import all_figures
from jetode.reporting.forecast_reach import lyapunov_exponent, next_steps, outlook, sentence
from jetode.reporting.report import report
from jetode.signal.whiteness import whiteness

DEGREES = {"denominator_degree": 1, "numerator_degree": 4}
PATIENCE = 120_000  # ms: a software renderer on a busy machine
PROBE = """async () => {
  const out = {}, wait = (ms) => new Promise((go) => setTimeout(go, ms));
  const plots = Array.from(document.querySelectorAll("[data-figure]"));
  const flat = ".scatterlayer path";
  out.figures = Object.fromEntries(plots.map((p) => [p.dataset.figure, {
    drawn: p.querySelectorAll(p.classList.contains("solid") ? "canvas" : flat).length,
    traces: (p.data || []).length, label: p.getAttribute("aria-label") }]));
  const column = (table, i) => Array.from(table.tBodies[0].rows).map((r) => Number(r.cells[i].textContent));
  const table = document.getElementById("table-coefficients"), head = table.querySelectorAll("th")[2];
  head.querySelector("button").click(); out.ascending = [column(table, 2), head.getAttribute("aria-sort")];
  head.querySelector("button").click(); out.descending = [column(table, 2), head.getAttribute("aria-sort")];
  const inline = (name) => name.startsWith("data:") || name.startsWith("blob:");
  out.fetched = performance.getEntriesByType("resource").map((e) => e.name).filter((n) => !inline(n));
  out.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  out.printed = document.querySelectorAll("img.print[src^='data:image/png']").length;
  return out;
}"""
EYE = "(({x, y}) => Math.atan2(y, x))(document.querySelector('.plot.solid')._fullLayout.scene.camera.eye)"
INK = "getComputedStyle(document.body).backgroundColor + document.querySelector('.plot.solid').layout.font.color"


@pytest.fixture(scope="module")
def model():
    return jetode.reconstruct(jetode.read(files("jetode") / "data" / "lorenz_x_15.csv"))


@pytest.fixture(scope="module")
def page(model):
    return report(model, model.forecast(6.0), command="jetode reconstruct 'a <b>.csv' --seed 0")


def test_one_file_without_network(page):
    assert len(page.encode()) < 2e6
    own = page[: page.index("<script")] + page[page.rindex("<script>") :]
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!data:|#)", own) and "@import" not in own
    assert "a &lt;b&gt;.csv" in page and "<b>.csv" not in own


def test_the_verdict_comes_first_and_everything_is_there(page, model):
    text = page[page.index("<main") : page.index("<noscript")]
    assert text.index('id="verdict"') < text.index("<dl")
    for name in ("record", "attractor", "residuals", "whiteness", "singular", "information", "neighbours", "spectrum"):
        assert f'data-figure="{name}"' in page, name
    for name in ("evidence", "coefficients", "equilibria", "settings"):
        assert f'id="table-{name}"' in page, name
    assert jetode.__version__ in page and "seed" in page and "<math" in page
    said = sentence(model, outlook(model, model.forecast(6.0)))
    assert said.startswith("The equation behind this signal was found and can be trusted")
    assert "Lyapunov times" in said and next_steps(model) == ()


def test_where_no_equation_is_exact_all_that_was_tried_and_why_it_is_not_are_shown(model):
    own = model.diagnostics["evidence"]
    memory = Entry("memory closure", "memory", 3.0, 2.0, 4.0, 1.2)
    entries = (memory, Entry("an equation", "equation", 1.5, 1.0, 2.0, 0.7, 6))
    numbers = {"ratio": 2.0, "advantage": 5.0, "oscillation": 1.5, "trials": 40, "longest": 6.0}
    contested = ContestEvidence("memory closure", "an equation", entries, **numbers, exact={**own, "noise_ratio": 3.0})
    graded = replace(model, diagnostics={**model.diagnostics, "evidence": contested.to_json()})
    shown = tables.contest(graded).rows
    assert [(row[0].split(":")[0], row[1]) for row in shown] == [("memory closure", "2.00"), ("an equation", "1.00")]
    assert "memory of the past" in shown[0][0] and shown[1][-1] == "6"
    refused = tables.not_exact(graded).rows
    assert [row[-1] for row in refused if "noise" in row[0].lower()][:1] == ["✗ fail"]
    assert len(refused) == len(tables.evidence(model).rows) and not tables.not_exact(model).rows
    page = report(graded, model.forecast(1.0))
    assert 'id="table-contest"' in page and 'id="table-exact"' in page
    nothing = replace(contested, exact=RefusalEvidence("Nothing fits.", "Measure more.").to_json())
    graded = replace(model, diagnostics={**model.diagnostics, "evidence": nothing.to_json()})
    assert [row[-1] for row in tables.not_exact(graded).rows] == ["✗ fail"]


def test_every_grade_looks_like_itself(model):
    """A name and a colour each; a refusal has no equation in sight, no bands and no promise."""
    ahead = model.forecast(1.0)
    names = {"exact": "Exact", "approximate": "Approximate", "forecast": "Forecast only", "none": "None"}
    for grade, name in names.items():
        graded = replace(model, verdict=replace(model.verdict, grade=grade))
        page = report(graded, ahead)
        said = re.search(r'class="verdict (\w+)" data-grade="(\w+)".*?<strong class="grade">(.*?)</strong>', page, re.S)
        colour = {"exact": "good", "none": "bad"}.get(grade, "fair")
        assert said.groups() == (colour, grade, name)
        open_equation = page.split("<details")[0].count('class="equation"')
        bands = [
            t for t in all_figures(graded, ahead, model.records)["record"].traces if t["role"] in ("band", "inner")
        ]
        assert bool(open_equation) == (grade in ("exact", "approximate")) == ('id="h-equation"' in page)
        assert len(bands) == (0 if grade == "none" else 2)
        assert ("which could not be forecast" in page) == (grade == "none") != ("Record and forecast</h2>" in page)


def test_the_html_is_balanced_and_labelled(page):
    class Checker(HTMLParser):
        open: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attributes):
            given = dict(attributes)
            assert tag != "img" or given.get("alt")
            if tag == "div" and "data-figure" in given:
                assert given["role"] == "img" and len(given["aria-label"]) > 40
            if tag == "th":
                assert given["scope"] in ("col", "row")
            if tag not in ("meta", "link", "br", "img"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert page.count("<h1") == 1 and 'lang="en"' in page and 'name="viewport"' in page


def test_figures_are_plain_and_lean(model):
    figures = all_figures(model, model.forecast(6.0), model.records)
    text = json.dumps({n: f.plain() for n, f in figures.items()}, allow_nan=False)
    assert len(text) < 1e6
    roles = {t["role"] for f in figures.values() for t in f.traces}
    style = (files("jetode.reporting") / "templates" / "report.css").read_text()
    assert all(f"--{role}:" in style for role in roles - {"edge"})


def test_a_model_of_the_papers_method_has_a_report():
    record = jetode.systems["lorenz"].simulate(30.0).observe("x")
    found = jetode.reconstruct(record, **DEGREES)
    page = report(found, found.forecast(2.0))
    assert 'data-figure="spectrum"' in page and "follow it for one oscillation" in page


def test_a_cycle_has_no_lyapunov_time_and_a_plane():
    values = np.sin(0.1 * np.arange(3000)) + np.sin(0.2 * np.arange(3000))
    found = jetode.reconstruct(jetode.Series(values, 0.1), method="paper", order=2, **DEGREES)
    slow = {"lyapunov": 1e-3, "lyapunov_error": 1e-4, "oscillations": 40.0}
    cycle = replace(found, diagnostics={**found.diagnostics, "evidence": slow})
    assert np.isnan(lyapunov_exponent(cycle))
    page = report(found, found.forecast(2.0))
    assert 'class="plot solid"' not in page and 'data-figure="attractor"' in page


def test_whiteness_knows_white_from_coloured():
    noise = np.random.default_rng(0).standard_normal(4000)
    assert whiteness(noise).p_value > 0.01
    assert whiteness(noise[1:] + 0.3 * noise[:-1]).p_value < 1e-6
    noise[100:300] = np.nan
    test = whiteness(noise)
    assert test.p_value > 0.01 and test.limit == pytest.approx(1.96 / np.sqrt(3800))


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 500])
def test_in_a_browser(browser, page, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(page)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    shown, wrong = context.new_page(), []
    shown.set_default_timeout(PATIENCE)
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    shown.goto(path.as_uri())
    shown.wait_for_selector("body[data-ready=yes]")
    found = shown.evaluate(PROBE)
    for name, figure in found["figures"].items():
        assert figure["drawn"] > 0 and figure["traces"] > 0, (name, figure)
    assert found["ascending"] == [sorted(found["ascending"][0]), "ascending"]
    assert found["descending"] == [found["ascending"][0][::-1], "descending"]
    assert found["overflow"] <= 0 and found["printed"] == 1 and found["fetched"] == []
    before = shown.evaluate(EYE)
    shown.click("#turn")
    shown.wait_for_function(f"Math.abs({EYE} - {before}) > 0.01")
    shown.click("#turn")
    light = shown.evaluate(INK)
    shown.click("#theme")
    shown.wait_for_function(f"({INK}) !== {json.dumps(light)}")
    context.close()
    assert wrong == []
