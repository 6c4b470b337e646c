// A finished fit: verdict first, then equation, forecast, attractor, evidence, comparison, a new record, downloads.

import { get, post, state } from "./api.js";
import { axes, draw, forecastTraces, plot, reach, tail } from "./charts.js";
import { fill, h, math, save, short, t, tableOf, withUnit } from "./dom.js";
import { attempt, GRADES, takeIn } from "./lists.js";

export function resultView(place, job, page) {
  const unit = page.record.time_unit;
  const other = { run: null };
  const parts = [verdict(job, page, unit), facts(page), equation(page), forecastPart(page, unit, other),
    figurePart(page, "attractor", t("result_attractor")), evidence(page), comparison(job, page, other), newRecord(job, page, unit),
    downloads(job, page), settings(job, page)];
  fill(place, parts.filter(Boolean).map((part) => part.element || part));
  for (const part of parts) part?.after?.();
  place.dataset.grade = page.verdict.grade;
}

function section(title, ...children) {
  return h("section", {}, h("h2", {}, title), ...children);
}

function verdict(job, page, unit) {
  const { grade, sentence, steps, holds, baseline } = page.verdict;
  const more = [];
  if (holds) more.push(t("result_holds", { median: withUnit(holds.median, unit), lower: withUnit(holds.lower, unit), upper: withUnit(holds.upper, unit) }));
  if (baseline) more.push(t("result_baseline", { name: baseline.name, time: withUnit(baseline.time, unit) }));
  const kind = GRADES[grade];
  return h("div", { class: `message verdict ${kind === "fair" ? "" : kind}`, id: "verdict", "data-grade": grade },
    h("p", {}, h("span", { class: `badge ${kind}` }, t(`grade_${grade}`)), sentence),
    more.map((text) => h("p", { class: "hint" }, text)),
    page.complete ? null : h("p", {}, t("result_partial")),
    steps.length ? h("p", {}, h("strong", {}, `${t("result_advice")}: `), steps.join(" ")) : null);
}

function facts(page) {
  return h("div", {}, h("dl", { class: "facts" }, page.facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    page.notes.map((note) => h("p", { class: "hint" }, note)));
}

function equation(page) {
  const { shown, mathml, text, latex, coordinates } = page.equation;
  if (!mathml.length) return null;
  const body = [h("p", {}, coordinates), h("div", { class: "equation", tabindex: "0", role: "region", "aria-label": text, id: "equation" },
    mathml.map((row) => h("div", {}, ...math(row)))), tableOf(page.tables.coefficients),
  h("details", {}, h("summary", {}, t("result_copy")), h("pre", {}, text), h("pre", {}, latex))];
  if (shown) return section(t(page.verdict.grade === "exact" ? "result_equation" : "result_equation_approximate"), ...body);
  return section(t("result_equation"), h("details", {}, h("summary", {}, t("result_tried")), ...body));
}

// record, forecast and bands up to a horizon that a slider sets; more runs may be laid over it
function forecastFigure(id, record, run, oscillation, unit, holds, extra = () => []) {
  const place = plot(t("result_forecast_label"));
  place.id = id;
  const total = Math.max(1, run.values.length - 1);
  const start = holds > 0 ? Math.min(total, Math.max(1, Math.round((1.5 * holds) / run.dt))) : total;
  const slider = h("input", { type: "range", id: `${id}-horizon`, min: "1", max: String(total), value: String(start) });
  const value = h("output", { for: slider.id });
  const show = () => {
    const samples = Number(slider.value), ahead = samples * run.dt, end = record.end;
    value.textContent = t("result_horizon_value", { time: withUnit(ahead, unit), oscillations: short(ahead / oscillation, 2) });
    slider.setAttribute("aria-valuetext", value.textContent);
    const past = tail(record.curve, end - 2 * ahead);
    const traces = [{ ...past, mode: past.x.length > 800 ? "lines" : "lines+markers", role: "record", name: t("trace_record"), size: 3, width: 1 },
      ...forecastTraces(run, end, samples), ...extra(samples)];
    const made = axes(unit, record.name, record.unit, [end - 2 * ahead, end + ahead]);
    made.yaxis.range = reach([record.curve.y, run.values.slice(0, samples + 1)]);
    draw(place, { traces, axes: made });
  };
  slider.addEventListener("input", show);
  const ended = run.completed ? null : h("p", { class: "hint" }, t("result_stopped", { time: withUnit(run.stop_time, unit), reason: run.stop }));
  const element = h("div", {}, place, h("label", { for: slider.id }, `${t("result_horizon")}: `, value), slider, ended);
  return { element, show };
}

function forecastPart(page, unit, other) {
  const extra = (samples) => (other.run ? [{ x0: other.end, dx: other.run.dt, y: other.run.values.slice(0, samples + 1), mode: "lines", role: "other", name: t("trace_other"), width: 2, dash: "dash" }] : []);
  const figure = forecastFigure("forecast", page.record, page.forecast, page.oscillation, unit, page.holds, extra);
  other.show = figure.show;
  return { element: section(t("result_forecast"), figure.element), after: figure.show };
}

function oneFigure(figure) {
  const place = plot(`${figure.title}. ${figure.caption}`, figure.solid ? "solid" : "small");
  return { element: h("figure", {}, place, h("figcaption", {}, figure.caption)), after: () => draw(place, figure) };
}

function figurePart(page, name, title) {
  const figure = page.figures[name];
  if (!figure) return null;
  const made = oneFigure(figure);
  return { element: section(title, made.element), after: made.after };
}

function evidence(page) {
  const names = Object.keys(page.figures).filter((name) => name !== "attractor");
  const made = names.map((name) => [page.figures[name], oneFigure(page.figures[name])]);
  const more = h("details", {}, h("summary", {}, t("result_figures")), h("div", { class: "two" }, made.map(([figure, one]) => h("div", {}, h("h3", {}, figure.title), one.element))));
  more.addEventListener("toggle", () => { if (more.open) for (const [, one] of made) one.after(); });
  return section(t("result_evidence"), tableOf(page.tables.evidence), tableOf(page.tables.equilibria), made.length ? more : null);
}

function comparison(job, page, other) {
  const earlier = [...state.jobs.values()].filter((one) => one.id !== job.id && one.state === "done").sort((a, b) => b.id - a.id);
  if (!earlier.length) return null;
  const said = h("div", { "aria-live": "polite", id: "comparison" });
  const value = (c) => (c ? `${short(c.value, 5)}${c.error === null ? "" : ` ± ${short(c.error, 2)}`}` : "–");
  const choose = h("select", { id: "compare", onchange: () => attempt(async () => {
    if (!choose.value) { other.run = null; fill(said); other.show(); return; }
    const [found, theirs] = await Promise.all([get(`/api/jobs/${job.id}/compare/${choose.value}`), get(`/api/jobs/${choose.value}/result`)]);
    Object.assign(other, { run: theirs.forecast, end: page.record.end });
    other.show();
    const words = !found.comparable ? t("result_compare_not") : found.same ? t("result_compare_same") : t("result_compare_differ", found);
    const rows = found.rows.map((row) => [row.part, row.powers.join(" "), value(row.ours), value(row.other), short(row.z, 2)]);
    const head = [t("result_part"), t("result_term"), t("result_here"), t("result_there"), t("result_difference")];
    fill(said, h("p", {}, h("span", { class: `badge ${GRADES[theirs.verdict.grade]}` }, t(`grade_${theirs.verdict.grade}`)), " ", theirs.verdict.sentence), h("p", {}, h("strong", {}, words)),
      tableOf({ caption: t("result_compare_table"), head, rows }));
  }, said) }, h("option", { value: "" }, t("result_compare_choose")), earlier.map((one) => h("option", { value: String(one.id) }, `${one.name} (${t(`grade_${one.summary.grade}`)})`)));
  return section(t("result_compare"), h("label", { class: "row" }, choose), said);
}

function newRecord(job, page, unit) {
  const said = h("div", { "aria-live": "polite" });
  const out = h("div", { id: "new-result" });
  const choose = h("select", { id: "new-record" }, h("option", { value: "" }, "–"),
    [...state.records.values()].sort((a, b) => b.id - a.id).map((one) => h("option", { value: String(one.id) }, one.name)));
  const reading = Object.fromEntries(Object.entries(job.request.records.at(-1).reading).filter(([name]) => name !== "begin" && name !== "end"));
  const run = (record) => attempt(async () => {
    fill(out, h("p", { class: "hint" }, t("result_working")));
    try {
      const found = await post(`/api/jobs/${job.id}/forecast`, { record, reading });
      const shown = { ...found.record, name: page.record.name, unit: page.record.unit };
      const figure = forecastFigure("new-forecast", shown, found.forecast, found.oscillation, unit, page.holds);
      fill(out, found.notes.map((note) => h("p", { class: "hint" }, note)), figure.element,
        h("p", {}, h("button", { type: "button", id: "new-csv", onclick: () => save("forecast.csv", found.csv, "text/csv") }, t("result_new_csv"))));
      figure.show();
    } catch (error) {
      fill(out);
      throw error;
    }
  }, said);
  const file = h("input", { type: "file", id: "new-file", onchange: async () => {
    const [record] = await takeIn([...file.files].slice(0, 1), said);
    if (record) await run(record.id);
  } });
  return section(t("result_new"), h("p", { class: "hint" }, t("result_new_hint")),
    h("div", { class: "row" }, h("label", {}, h("span", {}, t("result_new_choose")), choose),
      h("button", { type: "button", id: "new-run", onclick: () => { if (choose.value) run(Number(choose.value)); } }, t("result_new_run")),
      h("label", {}, h("span", {}, t("result_new_file")), file)), said, out);
}

function downloads(job, page) {
  const path = (kind) => `/api/jobs/${job.id}/files/${kind}`;
  const link = (kind, text) => h("a", { class: "button", href: path(kind), download: "", "data-file": kind }, text);
  return section(t("result_downloads"), h("p", { class: "downloads", id: "downloads" },
    h("a", { class: "button strong", href: `${path("report")}?view`, target: "_blank", rel: "noopener" }, t("result_report_open")),
    link("report", t("result_report")), link("model", t("result_model")), link("forecast", t("result_csv")),
    page.exports.map((name) => link(name, t("result_export", { format: name })))));
}

function settings(job, page) {
  const seconds = job.finished && job.started ? (job.finished - job.started).toFixed(1) : "–";
  return h("details", {}, h("summary", {}, t("result_settings")), h("p", { class: "hint" }, t("job_took", { seconds, version: job.version })), tableOf(page.tables.settings));
}
