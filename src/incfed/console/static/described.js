// A chart in a sentence or two, for readers that listen: what its lines, bars and points say.

import { number } from "./format.js";

const SERIES = 8; // that are told; more are counted

export function described(data, layout) {
  if (layout.meta?.names) return ""; // parallel coordinates: heights of lines are no figures
  const told = data.filter((one) => one.hoverinfo !== "skip").map((one) => (one.z ? cells(one) : series(one, layout))).filter(Boolean);
  const more = told.length - SERIES;
  return told.slice(0, SERIES).join("; ") + (more > 0 ? `; and ${number(more)} more` : "");
}

const finite = (values) => (values ?? []).filter((one) => typeof one === "number" && Number.isFinite(one));

function range(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const one of values) [low, high] = [Math.min(low, one), Math.max(high, one)];
  return low === high ? `always ${number(low)}` : `${number(low)} to ${number(high)}`;
}

function cells({ z }) {
  const known = finite(z.flat());
  return known.length ? `values: ${range(known)}` : "";
}

// As Plotly shows it, which reads some HTML in names.
const plain = (name) => new DOMParser().parseFromString(name ?? "", "text/html").body.textContent;

function series({ name: label, x, y }, { xaxis, yaxis }) {
  const [known, name] = [finite(y), plain(label)];
  if (!name || !known.length) return "";
  const told = range(known);
  if (y.length > 1) return `${name}: ${told}${told.startsWith("always") ? "" : `, ${number(known.at(-1))} at the end`}`;
  return `${name}: ${yaxis?.title?.text ?? "value"} ${number(y[0])}, ${xaxis?.title?.text ?? "at"} ${number(x[0])}`;
}
