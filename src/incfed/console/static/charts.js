// Plotly, loaded when the first chart is shown, in the colours of the page.

import { root } from "./api.js";
import { described } from "./described.js";
import { fill, h, tried } from "./dom.js";

// As in results/palette.py: each colour of a figure, and its shade for dark pages.
const DARK = {
  "#0072b2": "#4aa8e0", "#d55e00": "#f0803c", "#009e73": "#2fc79b", "#cc79a7": "#e29cc3",
  "#e69f00": "#f2b93b", "#56b4e9": "#8fd0f5", "#6b6b6b": "#a8a8a8", "#000000": "#ffffff",
};
const NARROW = 560; // pixels
const MOST_ROWS = 12; // of a legend: of more, it scrolls

let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}/plotly/plotly.min.js`;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; script.remove(); reject(new Error("The chart could not be loaded.")); };
    document.head.append(script);
  });
  return loading;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// The same figure with the shades of dark pages.
function darkened(data) {
  const faint = (red, green, blue) => `#${[red, green, blue].map((one) => Number(one).toString(16).padStart(2, "0")).join("")}`;
  const shade = (text) => {
    const bands = /^rgba\((\d+),(\d+),(\d+),([\d.]+)\)$/.exec(text);
    if (!bands) return DARK[text] ?? text;
    const found = DARK[faint(bands[1], bands[2], bands[3])];
    return found ? `${found}${Math.round(255 * bands[4]).toString(16).padStart(2, "0")}` : text;
  };
  return JSON.parse(JSON.stringify(data), (_, value) => (typeof value === "string" ? shade(value) : value));
}

// `uirevision`: what a reader zoomed into, or hid in the legend, stays so when the chart is drawn anew.
function dressed(layout, { narrow, ink, muted, line, card }) {
  const axis = (own) => ({ gridcolor: line, linecolor: line, zerolinecolor: line, tickfont: { color: muted }, ...own,
    title: { ...own.title, font: { color: muted, size: 12 }, standoff: 10 } });
  const axes = Object.fromEntries(Object.entries(layout).filter(([key]) => /^[xy]axis/.test(key)).map(([key, own]) => [key, axis(own)]));
  const below = narrow && layout.legend ? { legend: { ...layout.legend, font: { size: 11 } } } : {};
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 12, family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: card, bordercolor: line, align: "left", font: { color: ink, size: 12 } },
    autosize: true, uirevision: true, ...layout, ...axes, ...below,
    annotations: layout.annotations?.map((one) => ({ bgcolor: card, opacity: 0.85, borderpad: 1, ...one })) ?? [],
    margin: { t: 16, l: 56, r: 16, b: 44, ...layout.margin, ...(narrow ? { l: 44, r: 8 } : {}) },
  };
}

const shown = new Map();

// A place for a chart, with its title and a button for its picture.
export function panel(name, title, { note = null, low = false, wide = 0, tools = [] } = {}) {
  const place = h("div", { class: `chart${low ? " low" : ""}${wide ? " wide" : ""}`, "data-chart": name, "data-title": title, role: "img", "aria-label": `Chart: ${title}` });
  if (wide) place.style.minWidth = `${wide}px`;
  const save = h("button", { type: "button", class: "quiet small", onclick: () => tried(() => picture(place, title)) }, "PNG");
  save.setAttribute("aria-label", `Download the chart ${title} as PNG`);
  const section = h("section", { class: "card panel" }, h("header", {}, h("h2", {}, title), h("div", { class: "row tight" }, tools, save)),
    h("div", { class: wide ? "scroll" : null, tabindex: wide ? "0" : null, role: wide ? "region" : null, "aria-label": wide ? title : null }, place), note ? h("p", { class: "small muted" }, note) : null);
  return { section, place };
}

export async function draw(place, data, layout, { name = "chart", onClick = null } = {}) {
  shown.set(place, { data, layout, name, onClick });
  let Plotly;
  try {
    Plotly = await load();
  } catch (error) {
    fill(place, h("p", { class: "state" }, error.message));
    return;
  }
  if (!place.isConnected) return;
  place.style.setProperty("--legend", `${room(data, layout, place.clientWidth)}px`);
  const dark = document.documentElement.dataset.theme === "dark";
  const inks = { narrow: place.clientWidth < NARROW, ink: colour("ink"), muted: colour("muted"), line: colour("line"), card: colour("card") };
  await Plotly.react(place, dark ? darkened(data) : data, dressed(layout, inks), { responsive: true, displayModeBar: false, doubleClick: "reset" });
  place.removeAllListeners?.("plotly_click");
  if (onClick) place.on("plotly_click", (event) => onClick(event.points[0]));
  place.setAttribute("aria-label", [`Chart: ${place.dataset.title}`, described(data, layout)].filter(Boolean).join(". "));
  place.dataset.drawn = "true";
}

// Pixels that a legend of many entries needs: else it would take them from the chart.
function room(data, layout, width) {
  if (layout.showlegend === false) return 0;
  const entries = data.filter((one) => one.name && one.showlegend !== false).map((one) => 50 + 7 * one.name.length);
  const rows = Math.ceil(entries.reduce((sum, one) => sum + one, 0) / Math.max(1, width - 100));
  return 24 * Math.max(0, Math.min(rows, MOST_ROWS) - 2);
}

export async function redraw() {
  for (const [place, { data, layout, ...rest }] of [...shown]) await draw(place, data, layout, rest);
}

// Charts that are gone: Plotly keeps what it knows of them until it is told.
export function forget() {
  for (const place of [...shown.keys()].filter((one) => !one.isConnected)) {
    window.Plotly?.purge(place);
    shown.delete(place);
  }
}

// As a picture on white paper, with its title.
async function picture(place, title) {
  const { data, layout, name } = shown.get(place) ?? {};
  if (!data) return;
  const Plotly = await load();
  const paper = { narrow: false, ink: "#1f2328", muted: "#59636e", line: "#d8dee4", card: "#ffffff" };
  const dress = dressed(layout, paper);
  const margin = { ...dress.margin, t: dress.margin.t + 56 };
  const full = { ...dress, margin, title: { text: title, x: 0.02, y: 0.97, yanchor: "top", font: { size: 18 } }, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", autosize: false };
  const width = Math.max(900, place.clientWidth);
  await Plotly.downloadImage({ data, layout: full }, { format: "png", width, height: 520, scale: 2, filename: `incfed-${name}` });
}
