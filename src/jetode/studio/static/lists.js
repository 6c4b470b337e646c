// The first page with its records, and the history of results.

import { call, listen, post, state, upload } from "./api.js";
import { fill, h, t } from "./dom.js";

export const GRADES = { exact: "good", approximate: "fair", forecast: "fair", none: "bad" };
const STATES = { queued: "", running: "fair", stopped: "", failed: "bad" };

export function badge(job) {
  const grade = job.state === "done" ? job.summary.grade : null;
  const [kind, word] = grade ? [GRADES[grade], t(`grade_${grade}`)] : [STATES[job.state], t(`state_${job.state}`)];
  return h("span", { class: `badge ${kind}` }, word);
}

export async function attempt(act, place) {
  try {
    return await act();
  } catch (error) {
    fill(place, h("p", { class: "message bad", role: "alert" }, error.message));
    return null;
  }
}

// takes files in one after another; the records that arrived
export async function takeIn(files, place) {
  const records = [];
  const failures = [];
  for (const file of files) {
    const bar = h("progress", { max: "1", value: "0" });
    const words = h("p", {}, t("drop_uploading", { name: file.name, percent: 0 }));
    fill(place, ...failures, words, bar);
    try {
      records.push(await upload(file, (share) => {
        bar.value = share;
        words.textContent = t("drop_uploading", { name: file.name, percent: Math.round(100 * share) });
      }));
    } catch (error) {
      failures.push(h("p", { class: "message bad", role: "alert" }, t("drop_failed", { name: file.name, reason: error.message })));
    }
  }
  fill(place, ...failures);
  return records;
}

export function dropZone(place, arrived) {
  const input = h("input", { type: "file", multiple: true, hidden: true, id: "file" });
  const said = h("div", { role: "status", "aria-live": "polite" });
  const take = async (files) => {
    const records = await takeIn([...files], said);
    if (records.length) arrived(records);
  };
  input.addEventListener("change", () => { take(input.files); input.value = ""; });
  const zone = h("div", { class: "drop", id: "drop", tabindex: "0", role: "button", "aria-label": t("drop_label"),
    onclick: () => input.click(),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); input.click(); } },
    ondragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files); } },
  h("p", { class: "lead" }, t("drop_title")), h("p", {}, t("drop_or")),
  h("p", {}, h("span", { class: "button strong" }, t("drop_choose"))),
  h("p", { class: "hint" }, t("drop_hint", { megabytes: state.limit >> 20 })));
  place.append(zone, input, said);
}

function rename(path, name) {
  const wanted = window.prompt(t("rename_prompt"), name);
  return wanted ? call("PATCH", path, { name: wanted }) : null;
}

function remove(path, name) {
  return window.confirm(t("delete_sure", { name })) ? call("DELETE", path) : null;
}

function actions(kind, item, said, more = []) {
  const path = `/api/${kind}/${item.id}`;
  const act = (word, does, danger = false) => h("button", { type: "button", class: danger ? "danger" : "",
    "aria-label": t(`${word}_label`, { name: item.name }), onclick: () => attempt(does, said) }, t(word));
  return h("span", { class: "actions" }, ...more.map(([word, does]) => act(word, does)),
    act("rename", () => rename(path, item.name)), act("delete", () => remove(path, item.name), true));
}

export function homeView(place) {
  const list = h("div");
  const said = h("div");
  fill(place, h("h1", {}, t("home_title")), h("p", { class: "lead" }, t("tagline")));
  dropZone(place, (records) => {
    sessionStorage.setItem("together", JSON.stringify(records.map((record) => record.id)));
    location.hash = `#record=${records[0].id}`;
  });
  place.append(said, h("h2", {}, t("records_title")), list);
  const show = () => {
    const records = [...state.records.values()].sort((a, b) => b.id - a.id);
    if (!records.length) { fill(list, h("p", { class: "hint" }, t("records_none"))); return; }
    fill(list, h("ul", { class: "list", id: "records" }, records.map((record) => h("li", {},
      h("a", { class: "name", href: `#record=${record.id}`, "aria-label": t("record_open", { name: record.name }) }, record.name),
      h("span", { class: "hint" }, t("record_size", { size: (record.size / 1e6).toPrecision(2) })),
      actions("records", record, said)))));
  };
  show();
  return listen((kind) => { if (kind.startsWith("record") || kind === "state") show(); });
}

export function historyView(place) {
  const list = h("div");
  const said = h("div");
  fill(place, h("h1", {}, t("history_title")), said, list);
  const show = () => {
    const jobs = [...state.jobs.values()].sort((a, b) => b.id - a.id);
    if (!jobs.length) { fill(list, h("p", { class: "hint" }, t("history_none"))); return; }
    fill(list, h("ul", { class: "list", id: "jobs" }, jobs.map((job) => h("li", { "data-job": String(job.id), "data-state": job.state },
      h("a", { class: "name", href: `#job=${job.id}`, "aria-label": t("history_open", { name: job.name }) }, job.name),
      badge(job), h("span", { class: "hint" }, new Date(1000 * job.created).toLocaleString()),
      actions("jobs", job, said, [["rerun", () => post(`/api/jobs/${job.id}/rerun`)]])))));
  };
  show();
  return listen((kind) => { if (kind.startsWith("job") || kind === "state") show(); });
}
