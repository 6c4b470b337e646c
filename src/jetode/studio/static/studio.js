// The studio's one page: which view is shown, the theme, and whether the server answers.

import { begin, listen, state } from "./api.js";
import { preload, redraw } from "./charts.js";
import { fill, h, t } from "./dom.js";
import { historyView, homeView } from "./lists.js";
import { jobView } from "./job.js";
import { recordView } from "./record.js";

const main = document.getElementById("main");
const banner = document.getElementById("banner");
const root = document.documentElement;
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function setTheme(name) {
  root.dataset.theme = name;
  redraw();
}

function savedTheme() {
  try { return localStorage.getItem("theme"); } catch { return null; }
}

setTheme(savedTheme() || (dark.matches ? "dark" : "light"));
dark.addEventListener("change", () => { if (!savedTheme()) setTheme(dark.matches ? "dark" : "light"); });
document.getElementById("theme").addEventListener("click", () => {
  const name = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("theme", name); } catch { /* private window */ }
  setTheme(name);
});

if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", `/${location.hash}`);

let leave = () => {};

function show(focus = true) {
  leave();
  const [, name, id] = /^#?(\w*)(?:=(\d+))?$/.exec(location.hash) || [];
  const views = { record: recordView, job: jobView, history: historyView };
  const place = h("div");
  fill(main, place);
  leave = (views[name] || homeView)(place, Number(id)) || (() => {});
  for (const link of document.querySelectorAll("header nav a")) {
    const here = link.hash === (name === "history" || name === "job" ? "#history" : "#home");
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  window.scrollTo(0, 0);
  if (focus) main.focus({ preventScroll: true });
}

listen((kind) => {
  if (kind === "lost") { banner.textContent = t("lost"); banner.hidden = false; }
  if (kind === "found") { banner.textContent = t("back"); setTimeout(() => { banner.hidden = true; }, 1500); }
});

window.addEventListener("hashchange", () => show());
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
try { await begin(); } catch (error) { banner.textContent = error.message; banner.hidden = false; }
show(false);
document.body.dataset.ready = state.ready ? "yes" : "no";
requestIdleCallback?.(preload);
