(function () {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const setTheme = (name) => { root.dataset.theme = name; };
  setTheme(dark.matches ? "dark" : "light");
  const { narrow, trace, layout } = FigureTraces;

  async function library() {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  const plots = Array.from(document.querySelectorAll("[data-figure]"));
  const config = () => ({ responsive: true, displaylogo: false, displayModeBar: narrow.matches ? false : undefined,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d", "resetCameraLastSave3d"] });
  function figure(div) {
    const f = FIGURES[div.dataset.figure];
    return { data: f.traces.map((t) => trace(t, f.solid)), layout: layout(f), config: config() };
  }
  async function draw() {
    for (const div of plots) await Plotly.react(div, figure(div));
  }

  const solid = document.querySelector(".plot.solid");
  async function forPrint() {
    if (!solid) return;
    const picture = document.createElement("img");
    picture.className = "print";
    picture.alt = solid.getAttribute("aria-label");
    const theme = root.dataset.theme;
    setTheme("light");  // paper is white
    const light = figure(solid);
    setTheme(theme);
    picture.src = await Plotly.toImage(light, { format: "png", width: 900, height: 640 });
    solid.after(picture);
  }
  let screen = "";
  window.addEventListener("beforeprint", () => {
    if (root.dataset.theme !== "dark" || document.body.dataset.ready !== "yes") return;
    screen = root.dataset.theme;
    setTheme("light");
    for (const div of plots) if (div !== solid) Plotly.react(div, figure(div));
  });
  window.addEventListener("afterprint", () => {
    if (!screen) return;
    setTheme(screen); screen = "";
    draw();
  });

  const turn = document.getElementById("turn");
  if (turn) {
    let frame = 0;
    const step = () => {
      const eye = solid._fullLayout.scene.camera.eye;
      const a = 0.012;
      const x = eye.x * Math.cos(a) - eye.y * Math.sin(a), y = eye.x * Math.sin(a) + eye.y * Math.cos(a);
      Plotly.relayout(solid, { "scene.camera.eye": { x, y, z: eye.z } });
      frame = requestAnimationFrame(step);
    };
    const stop = () => { cancelAnimationFrame(frame); frame = 0; turn.setAttribute("aria-pressed", "false"); turn.textContent = "Turn"; };
    turn.addEventListener("click", () => {
      if (frame) return stop();
      turn.setAttribute("aria-pressed", "true"); turn.textContent = "Stop";
      frame = requestAnimationFrame(step);
    });
    solid.addEventListener("pointerdown", () => { if (frame) stop(); });
    if (calm.matches) turn.parentElement.hidden = true;
  }

  function value(cell) {
    const text = cell.textContent.trim().replace("−", "-").replace(/^[≤≥]\s/, "");
    return text !== "" && isFinite(text) ? Number(text) : text;
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("th").forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        table.querySelectorAll("th").forEach((h) => h.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = Array.from(body.rows).sort((a, b) => {
          const [x, y] = [value(a.cells[column]), value(b.cells[column])];
          if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
          const order = typeof x === "number" ? x - y : x.localeCompare(y);
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }

  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark"); draw();
  });
  dark.addEventListener("change", () => { setTheme(dark.matches ? "dark" : "light"); draw(); });
  library().then(draw).then(forPrint).then(() => { document.body.dataset.ready = "yes"; });
})();
