// A record before the fit: which channel, its time, a stretch, what it shows, and the settings.

import { learn, listen, post, state } from "./api.js";
import { axes, draw, plot, reach } from "./charts.js";
import { fill, h, short, sparkline, t } from "./dom.js";

const WAIT = 350; // ms after the last keystroke

export function recordView(place, id) {
  const record = state.records.get(id);
  if (!record) { fill(place, h("p", { class: "message bad" }, t("error_no_record"))); return null; }
  const asked = { ...record.reading };
  const together = new Set(JSON.parse(sessionStorage.getItem("together") || "[]").filter((other) => other !== id && state.records.has(other)));
  sessionStorage.removeItem("together");
  const parts = Object.fromEntries(["problem", "columns", "sampling", "diagnosis", "more"].map((name) => [name, h("div")]));
  const curve = plot("");
  curve.id = "curve";
  const from = h("input", { type: "number", id: "from", min: "0", step: "1" });
  const to = h("input", { type: "number", id: "to", min: "1", step: "1" });
  const busy = h("p", { class: "hint", role: "status", "aria-live": "polite", id: "busy" });
  let found = null, turn = 0, timer = 0;

  async function look(changes = {}) {
    Object.assign(asked, changes);
    for (const name of Object.keys(asked)) if (asked[name] === null || asked[name] === "") delete asked[name];
    const mine = ++turn;
    busy.textContent = t("record_looking");
    try {
      const answer = await post(`/api/records/${id}/look`, asked);
      if (mine !== turn || !place.isConnected) return;
      if (answer.problem) showProblem(answer); else { found = answer; show(); }
    } catch (error) {
      if (mine === turn) fill(parts.problem, h("p", { class: "message bad", role: "alert" }, error.message));
    } finally {
      if (mine === turn) busy.textContent = "";
    }
  }

  const later = (changes) => { clearTimeout(timer); timer = setTimeout(() => look(changes()), WAIT); };

  function showProblem(answer) {
    const offer = answer.resample ? h("p", {}, h("button", { type: "button", id: "resample", onclick: () => look({ resample: answer.resample }) },
      t("record_resample", { step: short(answer.resample, 6) }))) : null;
    const skip = h("label", {}, `${t("record_skip")} `, h("input", { type: "number", min: "0", step: "1", id: "skip",
      onchange: (event) => look({ skip_rows: event.target.value === "" ? null : Number(event.target.value) }) }));
    fill(parts.problem, h("div", { class: "message bad", role: "alert" }, h("p", {}, answer.problem), offer, h("p", {}, skip)));
    fit.disabled = !found;
  }

  async function show() {
    fill(parts.problem);
    fit.disabled = false;
    showColumns();
    showSampling();
    const curveDrawn = showCurve();
    showDiagnosis();
    await curveDrawn; // from here on a stretch can be chosen
    place.dataset.looked = String(Number(place.dataset.looked || 0) + 1);
  }

  function showColumns() {
    const pick = (column) => () => look({ column: column.number, begin: null, end: null });
    fill(parts.columns, h("fieldset", {}, h("legend", {}, t("record_columns")), h("div", { class: "columns", id: "columns" },
      found.columns.map((column) => {
        const usable = column.kind === "number" && !(column.number === found.time);
        const note = column.number === found.time ? t("record_clock") : column.kind === "number" ? "" : t("record_not_numbers");
        return h("label", {}, h("input", { type: "radio", name: "column", value: String(column.number), disabled: !usable,
          checked: column.number === found.column, onchange: pick(column) }), " ",
        column.label || t("record_column", { number: column.number }), note ? h("span", { class: "hint" }, ` (${note})`) : null,
        sparkline(column.preview));
      }))));
  }

  function showSampling() {
    if (parts.sampling.contains(document.activeElement) && parts.sampling.childElementCount) return;
    const clock = found.columns.find((column) => column.number === found.time);
    const auto = clock ? t("record_time_found", { name: clock.label || clock.number }) : t("record_time_none");
    const times = h("select", { id: "time", onchange: (event) => { document.activeElement.blur(); look({ time: event.target.value === "" ? null : Number(event.target.value), dt: null }); } },
      h("option", { value: "" }, auto),
      found.columns.filter((column) => column.number !== found.column).map((column) => h("option",
        { value: String(column.number), selected: asked.time === column.number }, column.label || t("record_column", { number: column.number }))));
    const number = (event) => (event.target.value === "" ? null : Number(event.target.value));
    const step = h("input", { type: "number", id: "dt", min: "0", step: "any", value: short(asked.resample ?? found.dt, 8),
      oninput: (event) => later(() => (asked.resample ? { resample: number(event) } : { dt: number(event) })) });
    const unit = h("input", { type: "text", id: "unit", maxlength: "24", value: found.time_unit,
      oninput: (event) => later(() => ({ time_unit: event.target.value || null })) });
    const field = (name, input) => h("label", {}, h("span", {}, t(name)), input);
    fill(parts.sampling, h("div", { class: "fields", role: "group", "aria-labelledby": "h-time" },
      field("record_time", times), field(asked.resample ? "record_resampled" : "record_dt", step), field("record_unit", unit)),
    found.assumed ? h("p", { class: "message" }, t("record_assumed")) : null);
  }

  const time = (sample) => found.t0 + found.dt * sample;

  function showCurve() {
    [from.value, to.value] = [found.begin, found.end];
    from.max = to.max = String(found.samples);
    const first = time(0), last = time(found.samples - 1), half = found.dt / 2;
    const shapes = found.gaps.map(([a, b]) => ({ x0: time(a) - half, x1: time(b) + half, role: "gap" }));
    if (found.begin > 0) shapes.push({ x0: first, x1: time(found.begin), role: "left-out" });
    if (found.end < found.samples) shapes.push({ x0: time(found.end - 1), x1: last, role: "left-out" });
    const far = new Set(found.outliers);
    const at = found.curve.t.map((moment) => Math.round((moment - found.t0) / found.dt));
    const marked = at.flatMap((sample, i) => (far.has(sample) ? [i] : []));
    const traces = [{ x: found.curve.t, y: found.curve.y, mode: "lines", role: "smoothed", name: t("trace_record"), width: 1 }];
    if (marked.length) {
      traces.push({ x: marked.map((i) => found.curve.t[i]), y: marked.map((i) => found.curve.y[i]), mode: "markers", role: "model", name: t("trace_outliers"), size: 7 });
    }
    const figure = { traces, axes: axes(found.time_unit, found.channel, found.unit), shapes, dragmode: "select",
      layout: { showlegend: marked.length > 0 }, selected: choose };
    figure.axes.yaxis.range = reach([found.curve.y]);
    curve.setAttribute("aria-label", t("record_curve", { n: found.samples, gaps: found.gaps.length, outliers: found.outliers.length }));
    return draw(curve, figure);
  }

  function choose(x0, x1) {
    const sample = (moment) => Math.round((moment - found.t0) / found.dt);
    const [a, b] = [Math.max(0, sample(Math.min(x0, x1))), Math.min(found.samples, sample(Math.max(x0, x1)) + 1)];
    if (b - a > 1) look({ begin: a || null, end: b < found.samples ? b : null });
  }

  function typed() {
    if (!found || from.value === "" || to.value === "") return;
    const [a, b] = [Number(from.value), Number(to.value)];
    look({ begin: a || null, end: b < found.samples ? b : null });
  }

  function showDiagnosis() {
    const { headline, words, advice, good, reduced, examined } = found.diagnosis;
    fill(parts.diagnosis, h("div", { class: `message ${good ? "good" : ""}`, id: "diagnosis" }, h("p", {}, h("strong", {}, headline)),
      h("ul", {}, words.map((word) => h("li", {}, word))), advice.map((word) => h("p", {}, word)),
      examined ? h("p", {}, t("record_examined", { samples: examined.toLocaleString("en") })) : null,
      reduced ? h("p", { class: "hint" }, t("record_reduced", { samples: reduced.toLocaleString("en") })) : null));
  }

  function showMore() {
    const others = [...state.records.values()].filter((other) => other.id !== id);
    if (!others.length) { fill(parts.more); return; }
    fill(parts.more, h("details", { open: together.size > 0 }, h("summary", {}, t("record_more")), h("p", { class: "hint" }, t("record_more_hint")),
      h("div", { class: "fields", id: "more" }, others.map((other) => h("label", { class: "check" },
        h("input", { type: "checkbox", checked: together.has(other.id), value: String(other.id),
          onchange: (event) => { if (event.target.checked) together.add(other.id); else together.delete(other.id); } }), other.name)))));
  }

  const settings = settingsForm();
  const name = h("input", { type: "text", id: "name", maxlength: "200", value: record.name });
  const fit = h("button", { type: "submit", class: "strong", id: "fit", disabled: true }, t("record_fit"));
  const said = h("div");

  async function begin(event) {
    event.preventDefault();
    fit.disabled = true;
    const shared = Object.fromEntries(Object.entries(asked).filter(([key]) => key !== "begin" && key !== "end"));
    const records = [...[...together].map((other) => ({ id: other, reading: shared })), { id, reading: asked }];
    if (found && asked.column === undefined) for (const one of records) one.reading = { ...one.reading, column: found.column };
    try {
      const job = await post("/api/jobs", { records, settings: settings.read(), name: name.value });
      learn(state.jobs, job);
      location.hash = `#job=${job.id}`;
    } catch (error) {
      fill(said, h("p", { class: "message bad", role: "alert" }, error.message));
      fit.disabled = false;
    }
  }

  for (const input of [from, to]) input.addEventListener("change", typed);
  fill(place, h("h1", { id: "record-name" }, record.name), busy, parts.problem, parts.columns,
    h("h2", {}, t("record_stretch")), h("p", { class: "hint" }, t("record_stretch_hint")), curve,
    h("div", { class: "row" }, h("label", {}, h("span", {}, t("record_from")), from), h("label", {}, h("span", {}, t("record_to")), to),
      h("button", { type: "button", id: "whole", onclick: () => look({ begin: null, end: null }) }, t("record_whole"))),
    h("div", { class: "two" }, h("div", {}, h("h2", {}, t("record_diagnosis")), parts.diagnosis), h("div", {}, h("h2", { id: "h-time" }, t("record_sampling")), parts.sampling)),
    h("form", { onsubmit: begin }, parts.more, settings.element,
      h("div", { class: "fields" }, h("label", {}, h("span", {}, t("record_name")), name)), said, h("p", { class: "actions-end" }, fit)));
  showMore();
  look();
  return listen((kind) => { if (kind === "record_deleted") showMore(); });
}

function settingsForm() {
  const inputs = {
    order: h("select", { id: "order" }, h("option", { value: "" }, t("record_order_auto")), [2, 3, 4, 5].map((n) => h("option", { value: String(n) }, String(n)))),
    max_seconds: h("input", { type: "number", id: "seconds", min: "0", step: "any" }),
    sigma: h("input", { type: "number", id: "sigma", min: "0", step: "any" }),
    loss: h("select", { id: "loss" }, state.losses.map((loss) => h("option", { value: loss === "auto" ? "" : loss }, t(`loss_${loss}`)))),
    seed: h("input", { type: "number", id: "seed", min: "0", step: "1", placeholder: "0" }),
  };
  const symmetric = h("input", { type: "checkbox", id: "symmetric" });
  const field = (key, input) => h("label", {}, h("span", {}, t(key)), input);
  const element = h("details", { id: "settings" }, h("summary", {}, t("record_settings")), h("div", { class: "fields" },
    field("record_order", inputs.order), field("record_seconds", inputs.max_seconds), field("record_sigma", inputs.sigma),
    field("record_loss", inputs.loss), field("record_seed", inputs.seed), h("label", { class: "check" }, symmetric, t("record_symmetric"))));
  const read = () => {
    const out = Object.fromEntries(Object.entries(inputs).filter(([, input]) => input.value !== "")
      .map(([name, input]) => [name, name === "loss" ? input.value : Number(input.value)]));
    return symmetric.checked ? { ...out, symmetric: true } : out;
  };
  return { element, read };
}
