// Plotly, loaded when the first chart is shown, in the colours of the page.

import { root } from "./api.js";

let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}/plotly/plotly.min.js`;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; reject(new Error("The chart could not be loaded.")); };
    document.head.append(script);
  });
  return loading;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function dressed(layout, narrow) {
  const ink = colour("ink"), line = colour("line");
  const axis = (own) => ({ gridcolor: line, linecolor: line, zerolinecolor: line, ...own });
  const axes = Object.fromEntries(Object.entries(layout).filter(([key]) => /^[xy]axis/.test(key)).map(([key, own]) => [key, axis(own)]));
  const below = narrow ? { legend: { orientation: "h", y: -0.3, yanchor: "top", x: 0 } } : {};
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 13 },
    hoverlabel: { bgcolor: colour("card"), bordercolor: line, font: { color: ink } },
    margin: { t: 30, l: 60, r: 20, b: 48 }, autosize: true, ...layout, ...axes, ...below,
  };
}

const shown = new Map();

export async function draw(place, data, layout, name = "chart") {
  const Plotly = await load();
  if (!place.isConnected) return;
  shown.set(place, { data, layout, name });
  await Plotly.react(place, data, dressed(layout, place.clientWidth < 520), {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"],
    toImageButtonOptions: { filename: `incfed-${name}`, scale: 2 },
  });
  place.dataset.drawn = "true";
}

export async function redraw() {
  for (const [place, { data, layout, name }] of [...shown]) {
    if (place.isConnected) await draw(place, data, layout, name).catch(() => undefined);
    else shown.delete(place);
  }
}
