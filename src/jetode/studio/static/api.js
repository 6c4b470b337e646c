// The job API (docs/studio.md), what this page knows of the server's state, and its events.

import { t } from "./dom.js";

export class Refused extends Error {}

export async function call(method, path, data) {
  const options = { method, headers: {} };
  if (data !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(data);
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(t("error_network"));
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(found.error || `${answer.status}`);
  return found;
}

export const get = (path) => call("GET", path);
export const post = (path, data = {}) => call("POST", path, data);

export function upload(file, heard) {
  return new Promise((done, failed) => {
    if (state.limit && file.size > state.limit) {
      failed(new Refused(t("error_too_large", { megabytes: state.limit >> 20 })));
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", `/api/records?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => heard(event.lengthComputable ? event.loaded / event.total : 0);
    request.onload = () => {
      let found = {};
      try { found = JSON.parse(request.responseText); } catch { /* not from the API */ }
      if (request.status === 201) {
        done(learn(state.records, found));
      } else failed(new Refused(found.error || `${request.status}`));
    };
    request.onerror = () => failed(new Refused(t("error_network")));
    request.send(file);
  });
}

export const state = { records: new Map(), jobs: new Map(), limit: 0, version: "", losses: [], ready: false };
const hearers = new Set();

// heard(kind, data): "state" when everything may have changed, "job", "stage", "record", "lost", "found"
export function listen(heard) {
  hearers.add(heard);
  return () => hearers.delete(heard);
}

function tell(kind, data) {
  for (const heard of [...hearers]) heard(kind, data);
}

// what an answer says of something new, unless its event has come before the answer: then that is newer
export function learn(known, made) {
  if (!known.has(made.id)) known.set(made.id, made);
  return known.get(made.id);
}

let heard = 0; // the number of the last event

async function refresh() {
  let found;
  do found = await get("/api/state"); while (found.events < heard); // made before an event that is known here
  state.records = new Map(found.records.map((record) => [record.id, record]));
  state.jobs = new Map(found.jobs.map((job) => [job.id, job]));
  Object.assign(state, { limit: found.limit, version: found.version, losses: found.losses, ready: true });
  tell("state");
}

let source = null, lost = false;

function connect() {
  if (source) source.close();
  source = new EventSource("/api/events");
  const on = (kind, act) => source.addEventListener(kind, (event) => {
    const data = JSON.parse(event.data);
    heard = Number(event.lastEventId);
    act(data);
    tell(kind, data);
  });
  source.addEventListener("hello", async (event) => {
    heard = Number(event.lastEventId); // a server that was started again counts anew
    try { await refresh(); } catch { return; }
    if (lost) { lost = false; tell("found"); }
  });
  on("job", (job) => state.jobs.set(job.id, job));
  on("job_deleted", ({ id }) => state.jobs.delete(id));
  on("record", (record) => state.records.set(record.id, record));
  on("record_deleted", ({ id }) => state.records.delete(id));
  on("stage", (stage) => {
    const job = state.jobs.get(stage.job);
    if (job) { job.stages = [...(job.stages || []), { at: stage.at, text: stage.text }]; job.has_model = stage.has_model; }
  });
  source.onerror = () => {
    if (!lost) { lost = true; tell("lost"); }
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) connect(); }, 1500);
  };
}

// a browser allows six connections to one server: hidden pages give theirs back
export async function begin() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { source?.close(); source = null; } else if (!source) connect();
  });
  if (!document.hidden) connect();
  await refresh();
}
