// Figures by plotly.js, which is loaded when the first one is drawn; colours come from the style sheet.

import { h, t } from "./dom.js";

let loading = null;
const drawn = new Map();

function plotly() {
  loading ??= new Promise((done, failed) => {
    document.head.append(h("script", { src: "/static/plotly.js", onload: () => done(window.Plotly), onerror: failed }));
  });
  return loading;
}

export const preload = () => { plotly(); };
const { colour, trace, layout } = FigureTraces;

function layoutOf(figure) {
  const rect = (s) => ({ type: "rect", yref: "paper", y0: 0, y1: 1, layer: "above", line: { width: 0 }, x0: s.x0, x1: s.x1,
    fillcolor: colour(s.role) });
  const drag = figure.solid ? {} : { dragmode: figure.dragmode || "zoom", selections: [] };
  if (figure.dragmode === "select") drag.selectdirection = "h";
  return { ...layout(figure), ...drag, shapes: (figure.shapes || []).map(rect), ...(figure.layout || {}) };
}

// figure: {traces, axes, solid, shapes, dragmode, selected(x0, x1)}
export async function draw(place, figure) {
  drawn.set(place, figure);
  const library = await plotly();
  if (drawn.get(place) !== figure || !place.isConnected) return;
  const traces = figure.traces.map((one) => trace(one, figure.solid));
  const config = { responsive: true, displayModeBar: false, displaylogo: false };
  await library.react(place, traces, layoutOf(figure), config);
  const first = !place.dataset.drawn; // of those that got so far: one that another overtook has drawn nothing
  place.dataset.drawn = "yes";
  if (first && figure.selected) {
    place.on("plotly_selected", (event) => {
      if (event?.range?.x) drawn.get(place).selected(...event.range.x);
    });
  }
}

export function plot(label, kind = "") {
  return h("div", { class: `plot ${kind}`, role: "img", "aria-label": label });
}

export function redraw() {
  for (const [place, figure] of drawn) {
    if (place.isConnected) draw(place, { ...figure });
    else drawn.delete(place);
  }
}

export const axes = (timeUnit, name, unit, range) => ({
  xaxis: { title: { text: timeUnit ? `${t("axis_time")} [${plain(timeUnit)}]` : t("axis_time") }, ...(range ? { range } : {}) },
  yaxis: { title: { text: unit ? `${plain(name || t("axis_value"))} [${plain(unit)}]` : plain(name || t("axis_value")) } },
});

// plotly reads a little markup in texts: names of others are shown as they are
export const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "＄");

// the forecast with its bands, cut at `samples`, from time `end` on
export function forecastTraces(run, end, samples) {
  const cut = (values) => values.slice(0, samples + 1);
  const line = (values, more) => ({ x0: end, dx: run.dt, y: cut(values), mode: "lines", ...more });
  const out = [];
  for (const [low, high, role, name] of [["lower", "upper", "band", t("trace_band")], ["inner_lower", "inner_upper", "inner", t("trace_inner")]]) {
    if (!run[low] || !run[high]) continue;
    out.push(line(run[low], { role: "edge", name, hidden: true }), line(run[high], { role, name, fill: "tonexty" }));
  }
  return [...out, line(run.values, { role: "model", name: t("trace_forecast"), width: 2 })];
}

export function tail(curve, from) {
  let i = curve.t.findIndex((time) => time >= from);
  i = i < 0 ? Math.max(0, curve.t.length - 2) : i;
  return { x: curve.t.slice(i), y: curve.y.slice(i) };
}

export function reach(lists) {
  const values = lists.flat().filter((v) => v !== null && isFinite(v)).sort((a, b) => a - b);
  if (!values.length) return undefined;
  const at = (q) => values[Math.min(values.length - 1, Math.floor(q * values.length))];
  const low = at(0.001), high = at(0.999), room = 0.12 * (high - low || 1);
  return [low - room, high + room];
}
