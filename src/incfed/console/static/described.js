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

function series({ name, x, y }, { xaxis, yaxis }) {
  const known = finite(y);
  if (!name || !known.length) return "";
  const told = range(known);
  if (y.length > 1) return `${name}: ${told}${told.startsWith("always") ? "" : `, at last ${number(known.at(-1))}`}`;
  return `${name}: ${yaxis?.title?.text ?? "value"} ${number(y[0])}, ${xaxis?.title?.text ?? "at"} ${number(x[0])}`;
}
