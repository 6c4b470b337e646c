// Elements and texts. Whatever comes from a file or a request becomes a text node, never markup.

const texts = await (await fetch("/static/en.json")).json();

export function t(key, values = {}) {
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

export function has(key) {
  return key in texts;
}

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

const MATH = "http://www.w3.org/1998/Math/MathML";

// MathML of an equation: only elements of that language, and none of their attributes that run anything
export function math(source) {
  const parsed = new DOMParser().parseFromString(source, "text/html").body;
  const copy = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
    if (node.namespaceURI !== MATH) return document.createTextNode(node.textContent ?? "");
    const made = document.createElementNS(MATH, node.localName);
    for (const { name, value } of node.attributes) if (!/^(on|href|style)/i.test(name)) made.setAttribute(name, value);
    made.append(...Array.from(node.childNodes, copy));
    return made;
  };
  return Array.from((parsed.querySelector(".formula") ?? parsed).childNodes, copy); // terms, between which a line may break
}

const SVG = "http://www.w3.org/2000/svg";

export function sparkline(values) {
  const present = values.filter((v) => v !== null);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 100 30");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  if (present.length < 2) return svg;
  const low = Math.min(...present), size = Math.max(...present) - low || 1;
  let line = "", pen = "M";
  values.forEach((v, i) => {
    if (v === null) { pen = "M"; return; }
    line += `${pen}${((100 * i) / (values.length - 1)).toFixed(2)} ${(28 - (26 * (v - low)) / size).toFixed(2)}`;
    pen = "L";
  });
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", line);
  path.setAttribute("class", "spark");
  svg.append(path);
  return svg;
}

export function short(value, digits = 4) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  return String(Number(Number(value).toPrecision(digits)));
}

export function withUnit(value, unit, digits = 3) {
  return unit ? `${short(value, digits)} ${unit}` : short(value, digits);
}

export function tableOf(table) {
  if (!table.rows.length) return null;
  const kind = (cell) => (cell.startsWith("✗") ? "bad" : cell.startsWith("✓") ? "good" : null);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.caption },
    h("table", {}, h("caption", {}, table.caption),
      h("thead", {}, h("tr", {}, table.head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, table.rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: kind(cell) }, cell)))))));
}

export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
