// A fit while it waits and runs: stages as they come, the best so far, and stopping; then its result.

import { get, learn, listen, post, state } from "./api.js";
import { axes, draw, plot, reach } from "./charts.js";
import { fill, h, t } from "./dom.js";
import { attempt, badge } from "./lists.js";
import { resultView } from "./result.js";

const WAITING = ["queued", "running"];

export function jobView(place, id) {
  let shown = null, best = null, timer = 0;
  const said = h("div");
  const title = h("h1", { id: "job-name" });
  const live = h("div", { id: "live" });
  const stages = h("ol", { class: "stages", id: "stages", "aria-live": "polite", "aria-label": t("job_stages") });
  const elapsed = h("p", { class: "hint", id: "elapsed" });
  const text = h("pre", { id: "best" });
  const figure = plot(t("job_best_forecast"));
  const found = h("section", { hidden: true }, h("h2", {}, t("job_best")), text, h("p", { class: "hint" }, t("job_best_hint")),
    h("figure", {}, figure, h("figcaption", {}, t("job_best_forecast"))));
  const first = h("p", { class: "hint" }, t("job_first"));
  const stop = h("button", { type: "button", id: "stop", onclick: () => attempt(() => post(`/api/jobs/${id}/stop`), said) });

  function job() { return state.jobs.get(id); }

  function tick() {
    const now = job();
    if (now?.state !== "running" || !now.started) { elapsed.textContent = ""; return; }
    const seconds = Math.max(0, Math.round(Date.now() / 1000 - now.started));
    const most = now.request.settings.max_seconds;
    elapsed.textContent = most ? t("job_elapsed_of", { seconds, most }) : t("job_elapsed", { seconds });
  }

  function showStages(now) {
    const list = now.stages || [];
    fill(stages, list.map((stage, i) => {
      const ends = list[i + 1]?.at;
      return h("li", { class: ends ? "" : "now" }, ends ? null : h("span", { class: "pulse", "aria-hidden": "true" }), stage.text,
        ends ? h("span", { class: "seconds" }, ` ${(ends - stage.at).toFixed(1)} s`) : null);
    }));
  }

  function showBest() {
    found.hidden = !best;
    first.hidden = Boolean(best);
    if (!best) return;
    text.textContent = best.text;
    const traces = [
      { x: best.curve.t, y: best.curve.y, mode: "markers", role: "record", name: t("trace_record"), size: 3 },
      { x0: best.start, dx: best.dt, y: best.values, mode: "lines", role: "model", name: t("trace_best"), width: 2 },
    ];
    const made = axes(best.time_unit, "", best.unit);
    made.yaxis.range = reach([best.curve.y]);
    draw(figure, { traces, axes: made });
  }

  function showLive(now) {
    if (shown !== "live") {
      fill(place, title, live, said);
      shown = "live";
    }
    place.dataset.state = now.state;
    const queued = now.state === "queued";
    stop.textContent = queued ? t("job_take_out") : now.stopping ? t("job_stop_now") : now.has_model ? t("job_stop") : t("job_cancel");
    const status = queued ? t("job_waits", { place: now.place }) : now.stopping ? t("job_stopping") : null;
    fill(live, h("p", {}, badge(now), " ", status), queued ? null : [elapsed, stages, first, found], h("p", {}, stop));
    if (!queued) { showStages(now); tick(); showBest(); }
  }

  function showEnded(now) {
    place.dataset.state = now.state;
    if (now.state === "done") {
      shown = "done";
      fill(place, title, h("div", { id: "result" }, h("p", { class: "hint" }, t("loading"))), said);
      attempt(async () => resultView(place.querySelector("#result"), now, await get(`/api/jobs/${id}/result`)), said);
      return;
    }
    shown = now.state;
    const again = h("button", { type: "button", id: "again", onclick: () => attempt(async () => {
      const made = await post(`/api/jobs/${id}/rerun`);
      learn(state.jobs, made);
      location.hash = `#job=${made.id}`;
    }, said) }, t("job_again"));
    fill(place, title, h("p", {}, badge(now)), h("p", { class: `message ${now.state === "failed" ? "bad" : ""}`, role: "alert" },
      now.message || t("job_failed")), h("p", {}, again), said);
  }

  async function show() {
    const now = job();
    if (!now) { fill(place, h("p", { class: "message bad" }, t("error_no_job"))); shown = null; return; }
    title.textContent = now.name;
    if (WAITING.includes(now.state)) showLive(now);
    else if (shown !== now.state) showEnded(now);
  }

  async function catchUp() {
    const now = job();
    if (now?.state !== "running") return;
    const more = await get(`/api/jobs/${id}`).catch(() => null);
    if (more?.best && job()?.state === "running") { best = more.best; showBest(); }
  }

  show();
  catchUp();
  timer = setInterval(tick, 1000);
  const deaf = listen((kind, data) => {
    if (kind === "stage" && data.job === id) {
      if (data.best) best = data.best;
      show();
    } else if ((kind === "job" && data.id === id) || kind === "job_deleted") show();
    else if (kind === "state") { show(); catchUp(); }
  });
  return () => { clearInterval(timer); deaf(); };
}
