// Saved results: list, filter, tag; one, or several compared.

import { get, put, query, root } from "./api.js";
import { draw, panel } from "./charts.js";
import { ask, badge, card, fill, h, state, table, toast } from "./dom.js";
import { moment, name, number, signed } from "./format.js";

const TITLES = { tradeoff: "Payment and regret", search: "The search", frontier: "What money buys", communication: "Traffic", packed: "Packed traffic" };
const UNITS = { communication: "scalars", packed: "scalars", payment: "money", participation: "of clients" };
const NOTES = {
  tradeoff: "A setting is efficient if no other one is better in regret, payment or traffic, and no worse in the other two.",
  search: "Each line is a setting that was tried. Click one, or step through the efficient ones, to read it.",
  frontier: "Held-out means with 95 % intervals.",
};
const COMPARED = ["experiment", "run"];
const AXIS = 80; // pixels of an axis of parallel coordinates, at least
const titled = (name) => TITLES[name] ?? name[0].toUpperCase() + name.slice(1);

export async function show(context) {
  const ids = context.query.getAll("id");
  return ids.length ? compare(context, ids) : list(context);
}

// ---------------------------------------------------------------------------------- the list

const SORTS = {
  id: (a, b) => a.id.localeCompare(b.id, undefined, { numeric: true }),
  kind: (a, b) => a.kind.localeCompare(b.kind) || SORTS.id(a, b),
  changed: (a, b) => a.changed - b.changed,
};

async function list(context) {
  context.rows = await get("runs");
  if (!context.rows.length) {
    fill(context.place, h("h1", {}, "Runs"), state("Nothing is saved here yet", ["Try ", h("code", {}, "incfed demo"), ", or ", h("code", {}, "incfed run"), ", ", h("code", {}, "sweep"), " or ", h("code", {}, "plan"), " with this folder as output."]));
    return;
  }
  // The address has what is filtered, sorted and picked.
  context.asked = { filter: context.query.get("filter") ?? "", sort: context.query.get("sort") ?? "changed", ascending: context.query.has("ascending"), pick: context.query.getAll("pick") };
  const word = h("input", { type: "search", id: "filter", value: context.asked.filter, placeholder: "folder, kind or tag" });
  word.addEventListener("input", () => ask_({ filter: word.value }));
  const place = h("div"), picked = h("div", { class: "row tight push" });
  const ask_ = (changes) => {
    Object.assign(context.asked, changes);
    history.replaceState(null, "", `${root}/runs${query({ ...context.asked, sort: context.asked.sort === "changed" ? "" : context.asked.sort })}`);
    fill(place, saved(context, ask_, word));
    fill(picked, choice(context, ask_));
  };
  fill(context.place, h("div", { class: "heading" }, h("h1", {}, "Runs"), h("p", { class: "muted" }, `${number(context.rows.length)} saved`)),
    h("div", { class: "row" }, h("label", { class: "inline", for: "filter" }, "Filter", word), picked), place);
  ask_({});
}

function choice(context, again) {
  const { pick } = context.asked;
  const words = pick.length ? `${pick.length} chosen` : "Choose runs to compare";
  return [h("span", { class: "small muted" }, words),
    pick.length ? h("button", { type: "button", class: "quiet small", onclick: () => again({ pick: [] }) }, "Clear") : null,
    h("button", { type: "button", class: "primary", disabled: pick.length < 2, onclick: () => context.go(`runs${query({ id: pick })}`) }, "Compare")];
}

function saved(context, again, word) {
  const { filter, sort, ascending, pick } = context.asked;
  const fits = (row) => [row.id, row.kind, ...row.tags].some((one) => one.toLowerCase().includes(filter.toLowerCase()));
  const rows = context.rows.filter(fits).sort((SORTS[sort] ?? SORTS.changed));
  if (!ascending) rows.reverse();
  if (!rows.length) {
    const all = h("button", { type: "button", onclick: () => { word.value = ""; again({ filter: "" }); } }, "Show all");
    return state("Nothing matches", "Change the filter.", { action: all });
  }
  const box = (row) => h("input", { type: "checkbox", "aria-label": `choose ${row.id}`, checked: pick.includes(row.id),
    onchange: (event) => again({ pick: event.target.checked ? [...pick, row.id] : pick.filter((one) => one !== row.id) }) });
  const chip = (one) => h("button", { type: "button", class: "chip", title: "Show those with this tag", onclick: () => { word.value = one; again({ filter: one }); } }, name(one));
  const columns = [
    { title: h("span", { class: "hidden" }, "Compare"), kind: "narrow", value: (row) => (COMPARED.includes(row.kind) ? box(row) : null) },
    { title: "Folder", sort: "id", kind: "name", value: (row) => h("a", { href: `${root}/runs${query({ id: row.id })}` }, row.id === "." ? "this folder" : name(row.id)) },
    { title: "Kind", sort: "kind", value: (row) => badge(row.kind) }, { title: "Changed", sort: "changed", first: true, value: (row) => moment(row.changed) },
    { title: "Tags", kind: "words", value: (row) => h("span", { class: "row tight" }, row.tags.map(chip), context.mayChange ? h("button", { type: "button", class: "chip", "aria-label": `Tag ${row.id}`, onclick: () => tag(context, row) }, "+ Tag") : null) },
  ];
  const onSort = (key, descending) => again({ sort: key, ascending: !descending });
  return h("section", { class: "card flush" }, table(columns, rows, { sort, descending: !ascending, onSort, label: "Saved results" }));
}

async function tag(context, row) {
  const words = h("input", { value: row.tags.join(", "), id: "tags" });
  const title = ["Tags of ", row.id === "." ? "this folder" : name(row.id)];
  if (!(await ask(title, h("label", { for: "tags" }, "Words, separated by commas", words), "Save"))) return;
  try {
    await put(`runs/tags${query({ id: row.id })}`, { tags: words.value.split(",") });
    context.query = new URLSearchParams(location.search);
    await list(context);
  } catch (error) { toast(error.message, true); }
}

// ---------------------------------------------------------------------- one, or several compared

async function compare(context, ids) {
  const found = await get(`runs/view${query({ id: ids })}`);
  const title = ids.length > 1 ? "Comparison" : found.title === "." ? "This folder" : found.title;
  context.titled(title.slice(0, 60));
  const chosen = context.query.get("chart") ?? found.charts[0];
  const tabs = h("nav", { class: "tabs", "aria-label": "Charts" }, found.charts.map((one) =>
    h("a", { class: "tab", href: `${root}/runs${query({ id: ids, chart: one })}`, "aria-current": one === chosen ? "true" : null }, titled(one))));
  const chart = chosen ? await get(`runs/chart${query({ id: ids, name: chosen })}`) : null;
  const axes = chart?.layout.meta?.names?.length ?? 0;
  const shown = chart ? panel(chosen, titled(chosen), { note: NOTES[chosen] ?? found.lines, wide: axes * AXIS }) : null;
  fill(context.place,
    h("div", { class: "heading" }, h("h1", {}, name(title), badge(found.kind)), h("a", { class: "button", href: `${root}/runs` }, "All runs")),
    ids.length > 1 ? h("p", { class: "muted" }, ids.flatMap((one, n) => [n ? " · " : "", h("a", { href: `${root}/runs${query({ id: one })}` }, name(one))])) : null,
    found.words.map((one) => h("p", { class: "callout" }, h("bdi", {}, one))), tabs, shown?.section ?? null, figures(found, ids));
  if (!chart) return;
  if (chosen === "tradeoff") shown.section.append(h("p", { class: "small" }, h("b", {}, "Efficient: "), named(chart.layout.meta.efficient)));
  context.shown = () => draw(shown.place, chart.data, chart.layout, { name: chosen });
  if (axes) pickable(context, shown, chart, chosen);
}

function named(labels) {
  return labels.flatMap((one, n) => [n ? " · " : "", name(one)]);
}

function figures(found, ids) {
  const paired = found.rows.some((row) => Object.values(row.difference ?? {}).some(Boolean)); // one seed has none
  const value = (row, metric) => [h("div", {}, row.text[metric] ?? "–"), metric === "participation" ? null : difference(row, metric)];
  const columns = [{ title: found.per ? `Per ${number(found.per)} matched steps` : found.kind === "plan" ? "Setting" : "Algorithm", kind: "name", value: (row) => name(row.label) },
    ...found.metrics.map((metric) => ({ title: titled(metric), unit: UNITS[metric], kind: "number", value: (row) => value(row, metric) }))];
  const compared = paired ? " Below, the paired difference to the first row with its 95 % interval; bold: the interval excludes zero." : "";
  const save = h("a", { class: "button quiet small", download: true, href: `${root}/api/runs/table.csv${query({ id: ids })}` }, "Figures as CSV");
  return h("section", { class: "card panel" }, h("header", {}, h("h2", {}, "Figures"), save), table(columns, found.rows, { label: "Figures" }),
    h("p", { class: "small muted" }, found.note + compared));
}

function difference(row, metric) {
  const one = row.difference?.[metric];
  if (!one) return null;
  const [mean, low, high] = one;
  const sure = low > 0 || high < 0;
  return h("div", { class: `difference${sure ? " sure" : ""}` }, h("span", {}, signed(mean)), ` (${signed(low)} to ${signed(high)})`);
}

// Parallel coordinates: one line can be picked, by a click or step by step.
function pickable(context, { section, place }, chart, chosen) {
  const { names, rows, efficient } = chart.layout.meta;
  const words = h("div", { class: "picked", "aria-live": "polite" });
  const pick = async (row) => {
    const line = chart.data.find((one) => one.customdata.includes(row));
    const at = line.customdata.flatMap((one, n) => (one === row ? [n] : []));
    const last = chart.data.at(-1);
    Object.assign(last, { x: at.map((n) => line.x[n]), y: at.map((n) => line.y[n]), text: at.map((n) => line.text[n]), customdata: at.map(() => row) });
    context.row = row;
    context.query.set("row", row);
    history.replaceState(null, "", `${location.pathname}?${context.query}`);
    fill(words, h("dl", { class: "facts" }, names.map((title, n) => h("div", {}, h("dt", {}, title), h("dd", {}, h("bdi", {}, rows[row][n]))))));
    await draw(place, [...chart.data], chart.layout, { name: chosen, onClick });
  };
  const onClick = (point) => pick(point.customdata);
  const step = (by) => {
    const at = efficient.indexOf(context.row);
    return pick(efficient[(at + by + efficient.length + (at < 0 && by < 0 ? 1 : 0)) % efficient.length]);
  };
  const button = (title, by) => h("button", { type: "button", class: "small", onclick: () => step(by) }, title);
  section.append(h("div", { class: "row tight" }, h("span", { class: "small muted" }, "Efficient settings:"), button("← Previous", -1), button("Next →", 1)), words);
  const asked = context.query.get("row");
  const known = asked !== null && rows[asked] !== undefined;
  context.shown = () => (known ? pick(Number(asked)) : draw(place, chart.data, chart.layout, { name: chosen, onClick }));
}
