// Saved results: list, filter, tag; one, or several compared.

import { get, put, query, root } from "./api.js";
import { draw } from "./charts.js";
import { card, fill, h, moment, short, state, table, toast } from "./dom.js";

const TITLES = { tradeoff: "Payment and regret", search: "The search", frontier: "What money buys" };
const titled = (name) => TITLES[name] ?? name[0].toUpperCase() + name.slice(1);

export async function show(context) {
  const ids = context.query.getAll("id");
  return ids.length ? compare(context, ids) : list(context);
}

async function list(context) {
  const rows = await get("runs");
  if (!rows.length) {
    fill(context.place, h("h1", {}, "Runs"), state("Nothing is saved here yet", "Try: incfed demo, or incfed run, sweep or plan with this folder as output."));
    return;
  }
  const chosen = new Set();
  const filter = context.query.get("filter") ?? "";
  const word = h("input", { type: "search", id: "filter", value: filter, placeholder: "folder, kind or tag" });
  const go = h("button", { type: "button", class: "primary", disabled: true, onclick: () => context.go(`runs${query({ id: [...chosen] })}`) }, "Compare");
  const fits = (row) => [row.id, row.kind, ...row.tags].some((one) => one.toLowerCase().includes(word.value.toLowerCase()));
  const place = h("div");
  const pick = (row) => h("input", { type: "checkbox", "aria-label": `choose ${row.id}`, checked: chosen.has(row.id), disabled: !["experiment", "run"].includes(row.kind), onchange: (event) => {
    if (event.target.checked) chosen.add(row.id); else chosen.delete(row.id);
    go.disabled = chosen.size < 2;
  } });
  const columns = [
    { title: "", value: pick }, { title: "Folder", kind: "name", value: (row) => h("a", { href: `${root}/runs${query({ id: row.id })}` }, row.id === "." ? "this folder" : row.id), hint: (row) => row.id },
    { title: "Kind", value: (row) => row.kind }, { title: "Changed", value: (row) => moment(row.changed) },
    { title: "Tags", kind: "words", value: (row) => [row.tags.map((one) => [h("span", { class: "badge tag" }, one), " "]).flat(), context.mayChange ? h("button", { type: "button", class: "small", onclick: () => tag(context, row) }, "Tag") : null] },
  ];
  const paint = () => fill(place, rows.some(fits) ? table(columns, rows.filter(fits), { label: "saved results" }) : state("Nothing matches", "Change the filter."));
  word.addEventListener("input", () => { history.replaceState(null, "", `${root}/runs${query({ filter: word.value })}`); paint(); });
  paint();
  fill(context.place, h("h1", {}, "Runs"), h("div", { class: "row" }, h("label", { class: "inline", for: "filter" }, "Filter", word), go), place);
}

async function tag(context, row) {
  const dialog = h("dialog", { "aria-label": "Tags" });
  const words = h("input", { value: row.tags.join(", "), id: "tags" });
  const send = async (event) => {
    event.preventDefault();
    try {
      await put(`runs/tags${query({ id: row.id })}`, { tags: words.value.split(",") });
      dialog.close();
      await list(context);
    } catch (error) { toast(error.message, true); }
  };
  fill(dialog, h("form", { onsubmit: send }, h("h2", {}, `Tags of ${row.id}`), h("label", { for: "tags" }, "Words, separated by commas", words),
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), h("button", { class: "primary" }, "Save"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

async function compare(context, ids) {
  const found = await get(`runs/view${query({ id: ids })}`);
  const figure = (row, metric) => {
    return [row.text[metric] ?? "–", metric === "participation" ? null : difference(row, metric)];
  };
  const columns = [{ title: "", kind: "name", value: (row) => row.label, hint: (row) => row.label },
    ...found.metrics.map((metric) => ({ title: titled(metric), kind: "number", value: (row) => figure(row, metric) }))];
  const name = context.query.get("chart") ?? found.charts[0];
  const place = h("div", { class: "chart", "data-chart": name });
  const tabs = h("div", { class: "row", role: "tablist" }, found.charts.map((one) =>
    h("a", { class: "button", role: "tab", "aria-selected": String(one === name), href: `${root}/runs${query({ id: ids, chart: one })}` }, titled(one))));
  fill(context.place, h("h1", {}, ids.length > 1 ? "Comparison" : found.title === "." ? "This folder" : found.title, h("small", {}, found.kind)),
    found.words.map((one) => h("p", { class: "callout" }, one)),
    card(null, tabs, place), card("Figures", table(columns, found.rows, { label: "figures" }),
      h("p", { class: "small muted" }, found.kind === "plan" ? "Held-out means with 95 % intervals" : "Mean ± standard deviation over seeds", ids.length > 1 || found.kind === "experiment" ? "; below, the paired difference to the first row with its 95 % interval." : "."),
      h("a", { class: "button", download: true, href: `${root}/api/runs/table.csv${query({ id: ids })}` }, "Figures as CSV")));
  if (name) {
    const chart = await get(`runs/chart${query({ id: ids, name })}`);
    context.shown = () => draw(place, chart.data, chart.layout, name);
  }
}

function difference(row, metric) {
  const one = row.difference?.[metric];
  if (!one) return null;
  const [mean, low, high] = one;
  const sign = mean > 0 ? "+" : "";
  return h("div", { class: "small muted" }, `${sign}${short(mean)} (${short(low)} to ${short(high)})`);
}
