// A figure's plain data (roles instead of colours) as plotly.js wants it: for the report, which holds this text, and the studio.
const FigureTraces = (function () {
  "use strict";
  const narrow = window.matchMedia("(max-width: 44rem)");
  const colour = (role) => getComputedStyle(document.documentElement).getPropertyValue("--" + role).trim();

  // the partial bundle has no bars: one outline for all of them
  function bars(t) {
    const x = [], y = [], half = 0.33;
    t.x.forEach((at, i) => { x.push(at - half, at - half, at + half, at + half, null); y.push(0, t.y[i], t.y[i], 0, null); });
    return { x, y };
  }

  function trace(t, solid) {
    const ink = colour(t.role === "edge" || t.role === "band" || t.role === "inner" ? "model" : t.role);
    const common = { name: t.name, showlegend: !t.hidden, legendgroup: t.hidden || t.fill ? t.name : undefined };
    for (const key of ["x", "y", "z", "x0", "dx"]) if (key in t) common[key] = t[key];
    if (t.kind === "bar") return { ...common, ...bars(t), type: "scatter", mode: "lines", fill: "toself", fillcolor: ink,
      line: { color: ink, width: 1 }, showlegend: false, hoveron: "points" };
    const line = { color: ink, width: t.role === "edge" || t.fill ? 0 : t.width || 1.2, dash: t.dash || "solid" };
    return { ...common, type: solid ? "scatter3d" : "scatter", mode: t.mode, line, connectgaps: false,
      marker: { color: ink, size: t.size || 4 }, fill: t.fill, fillcolor: t.fill ? colour(t.role) : undefined,
      hoverinfo: t.role === "edge" || t.fill ? "skip" : undefined };
  }

  function layout(f) {
    const axis = (a) => ({ gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), automargin: true,
      color: colour("ink"), backgroundcolor: colour("paper"), ...a });
    const axes = Object.fromEntries(Object.entries(f.axes || {}).map(([name, a]) => [name, axis(a)]));
    const common = { font: { family: getComputedStyle(document.body).fontFamily, color: colour("ink"), size: 13 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", hovermode: f.solid ? "closest" : "x",
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" },
      hoverlabel: { bgcolor: colour("panel"), font: { color: colour("ink") } } };
    if (!f.solid) return { ...common, margin: { l: 50, r: 12, t: 8, b: 44 }, ...axes };
    const eye = narrow.matches ? { x: 1.75, y: 1.75, z: 0.9 } : { x: 1.5, y: 1.5, z: 0.8 };
    return { ...common, margin: { l: 0, r: 0, t: 0, b: 0 }, uirevision: "turn",
      scene: { ...axes, dragmode: "orbit", aspectmode: "cube", camera: { eye, center: { x: 0, y: 0, z: -0.12 } } } };
  }

  return { colour, narrow, trace, layout };
})();
