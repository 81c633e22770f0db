// Clients: a list to sort, filter and page through, and a client's own page.

import { fresh, get, post, query, root } from "./api.js";
import { change } from "./changes.js";
import { colour, draw, panel } from "./charts.js";
import { badge, card, facts, fill, h, state, table, tried } from "./dom.js";
import { ago, counted, moment, money, name, number, ordinal, said } from "./format.js";

const STATES = ["live", "away", "barred", "revoked"];
const ASKED = ["search", "state", "sort", "descending", "page"];

export async function show(context) {
  context.answers = new Map(); // by round: why it was paid this
  context.open = new Set(); // rounds of which it was asked
  context.repaint = async () => use(context, await get(context.path));
  if (context.rest.length) {
    context.path = `clients/${encodeURIComponent(context.rest[0])}${query({ before: context.query.get("before") })}`;
    context.paint = page;
    return context.repaint();
  }
  const asked = Object.fromEntries(ASKED.map((key) => [key, context.query.get(key) ?? ""]));
  context.asked = { ...asked, sort: asked.sort || "id", descending: asked.descending === "true" };
  context.path = `clients${query(context.asked)}`;
  context.paint = paint;
  return context.repaint();
}

export async function refresh(context) {
  const found = await fresh(context.path, context.seen);
  if (found) await use(context, found);
}

async function use(context, found) {
  if (found.last_paid) await answer(context, found.client.id, found.last_paid);
  context.seen = found;
  context.paint(context, found);
  if (context.place.isConnected) await context.shown?.(); // at first, the page draws when it is there
}

// -------------------------------------------------------------------------------- the list

function paint(context, found) {
  const { asked } = context;
  const count = `${number(found.total)} ${asked.search || asked.state ? "match" : "in all"}`;
  if (context.table) { // somebody may be typing a search
    fill(context.count, count);
    fill(context.table, list(context, found));
    return;
  }
  const again = (changes) => context.go(`clients${query({ ...asked, page: "", ...changes })}`, true);
  const search = h("input", { type: "search", id: "search", value: asked.search, placeholder: "part of a name" });
  const tab = (words, value) => h("a", { class: "tab", href: `${root}/clients${query({ ...asked, page: "", state: value })}`, "aria-current": asked.state === value ? "true" : null }, words);
  context.table = h("div", {}, list(context, found));
  context.count = h("p", { class: "muted" }, count);
  fill(context.place, h("div", { class: "heading" }, h("h1", {}, "Clients"), context.count),
    h("form", { class: "row", role: "search", onsubmit: (event) => { event.preventDefault(); again({ search: search.value }); } },
      h("nav", { class: "tabs", "aria-label": "State" }, tab("all", ""), STATES.map((one) => tab(one, one))),
      h("label", { class: "inline push", for: "search" }, "Search", search), h("button", {}, "Search")),
    context.table);
}

function list(context, found) {
  const { asked } = context;
  const at = (changes) => `clients${query({ ...asked, ...changes })}`;
  if (!found.total) {
    if (!asked.search && !asked.state) return [state("No client is enrolled yet", ["Enrol one with: ", h("code", {}, "incfed client enrol NAME")])];
    return [state("No client matches", "Change the search.", { action: h("a", { class: "button", href: `${root}/clients` }, "Show all clients") })];
  }
  const columns = [
    { title: "Client", sort: "name", kind: "name", value: (row) => h("a", { href: `${root}/clients/${row.id}` }, name(row.name)) },
    { title: "State", value: (row) => badge(row.state) },
    { title: "Last seen", sort: "last_seen", first: true, value: (row) => ago(row.last_seen) },
    { title: "Rounds", unit: "shared in", sort: "rounds", first: true, kind: "number", value: (row) => number(row.rounds) },
    { title: "Data", unit: "steps", sort: "steps", first: true, kind: "number", value: (row) => number(row.steps) },
    { title: "Contribution", unit: "nats", sort: "nats", first: true, kind: "number", value: (row) => number(row.nats, 2) },
    { title: "Paid", unit: "money", sort: "paid", first: true, kind: "number", value: (row) => money(row.paid, found.digits) },
  ];
  const onSort = (sort, descending) => context.go(at({ sort, descending, page: "" }), true);
  return [h("section", { class: "card flush" }, table(columns, found.rows, { sort: asked.sort, descending: asked.descending, onSort, label: "Clients" })), pages(found, at)];
}

function pages(found, at) {
  if (found.pages <= 1) return null;
  const link = (words, page) => h("a", { class: "button", href: `${root}/${at({ page })}` }, words);
  return h("nav", { class: "row", "aria-label": "Pages" }, found.page > 1 ? link("← Before", found.page - 1) : null,
    h("span", { class: "muted" }, `Page ${number(found.page)} of ${number(found.pages)}`),
    found.page < found.pages ? link("Next →", found.page + 1) : null);
}

// ------------------------------------------------------------------------------ one client

const OUTCOMES = { "shared, paid": "money", "shared for data": "data", "in progress": "away" };

function page(context, found) {
  const { client, digits } = found;
  const { id } = client;
  const sum = (value) => (value === null ? "–" : money(value, digits));
  context.titled(client.name.slice(0, 60));
  const columns = [
    { title: "Round", kind: "index", value: (row) => h("a", { href: `${root}/rounds/${row.round}` }, ordinal(row.round)) },
    { title: "When", value: (row) => moment(row.ended ?? row.opened) },
    { title: "Data", unit: "steps", kind: "number", value: (row) => number(row.steps) },
    { title: "Cost", unit: "money", kind: "number", value: (row) => sum(row.cost) },
    { title: "Paid", unit: "money", kind: "number", value: (row) => sum(row.payment) },
    { title: "Outcome", kind: "words", value: (row) => [badge(OUTCOMES[row.outcome] ?? "passed", row.outcome), row.paid_out === null ? "" : " paid out ", row.payment ? why(context, id, row.round) : ""] },
  ];
  const several = found.history.length > 1;
  if (several) context.panels ??= panels();
  context.shown = several ? () => drawAll(context, found.history) : null;
  fill(context.place,
    h("div", { class: "heading" }, h("h1", {}, name(client.name, 200), badge(client.state)), h("a", { class: "button", href: `${root}/clients` }, "All clients")),
    found.last_paid ? h("p", { class: "callout" }, h("b", {}, "Why was it paid this? "), said(context.answers.get(found.last_paid))) : null,
    facts([
      ["Paid", sum(client.paid), `${sum(found.paid_out)} marked as paid out`], ["Contribution", number(client.nats, 2), "nats"],
      ["Shared in", counted(client.rounds, "round"), counted(client.steps, "step")], ["Last seen", ago(client.last_seen), found.silent ? `silent in ${counted(found.silent, "round")}` : null],
      ["Messages", found.signs ? "signed" : "not signed", null],
    ]),
    several ? h("div", { class: "grid" }, context.panels.map((one) => one.section)) : null,
    card("History", found.history.length ? table(columns, found.history, { label: "History" }) : h("p", { class: "muted" }, "It has shared nothing yet."),
      found.older === null ? null : h("p", {}, h("a", { class: "button", href: `${root}/clients/${id}?before=${found.older}` }, "Earlier rounds"))),
    context.mayChange ? controls(context, client, found) : null);
}

const BECAME = [["data", "shared for data"], ["money", "shared, paid"], ["passed", "not shared"]];

function panels() {
  return [panel("steps", "Data, and what became of it", { low: true, note: "Of the rounds below. Click a bar to open its round." }),
    panel("paid", "Cost and payment", { low: true, note: "Where it was paid less than its cost, what the others shared covers the rest." })];
}

async function drawAll(context, history) {
  const rounds = [...history].reverse(); // the first one at the left
  const x = rounds.map((row) => row.round);
  const [steps, paid] = context.panels;
  const axes = (up) => ({ xaxis: { title: { text: "Round" }, showgrid: false, zeroline: false, ...(x.length < 12 ? { tickvals: x } : {}) },
    yaxis: { title: { text: up }, rangemode: "tozero" }, showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" }, bargap: 0.15 });
  const onClick = (point) => context.go(`rounds/${x[point.pointIndex]}`);
  const tone = (row) => (row.ended === null ? "" : OUTCOMES[row.outcome] ?? "passed");
  const bars = BECAME.map(([key, words]) => ({ type: "bar", name: words, x, y: rounds.map((row) => (tone(row) === key ? row.steps : 0)),
    marker: { color: colour(key) }, hovertemplate: `%{y} steps ${words}<br>Round %{x}<extra></extra>` }));
  await draw(steps.place, bars, { ...axes("Steps"), barmode: "stack", hovermode: "closest" }, { name: "client-steps", onClick });
  const payment = { type: "bar", name: "paid", x, y: rounds.map((row) => row.payment), marker: { color: colour("money") }, hovertemplate: "%{y:,.4~g} paid<br>Round %{x}<extra></extra>" };
  const cost = { type: "scatter", mode: "lines", name: "its cost", x, y: rounds.map((row) => row.cost), line: { color: colour("muted"), dash: "dash", width: 1.5 }, hovertemplate: "%{y:,.4~g} its cost<extra></extra>" };
  await draw(paid.place, [payment, cost], { ...axes("Money"), hovermode: "closest" }, { name: "client-payments", onClick });
}

async function answer(context, id, round) {
  if (!context.answers.has(round)) context.answers.set(round, await get(`clients/${id}/rounds/${round}`));
  return h("p", { class: "small" }, said(context.answers.get(round)));
}

// What was once asked stays answered.
function why(context, id, round) {
  const place = h("span", { class: "why", "aria-live": "polite" }, " ");
  const ask = async () => { fill(place, await answer(context, id, round)); context.open.add(round); };
  place.append(h("button", { type: "button", id: `why-${round}`, class: "quiet small", onclick: () => tried(ask) }, "Why?"));
  if (context.open.has(round)) fill(place, h("p", { class: "small" }, said(context.answers.get(round))));
  return place;
}

function controls(context, client, found) {
  const who = () => name(client.name);
  const act = (title, words, verb, path, body, danger) => () => change(context, title, words, verb, () => post(`changes/clients/${client.id}/${path}`, body), danger);
  const owed = client.paid - found.paid_out > 1e-9;
  return card("Control", h("div", { class: "row" },
    h("button", { type: "button", disabled: !owed, onclick: act("Mark as paid out?", ["All payments to ", who(), " that are not marked yet. This cannot be undone."], "Mark as paid out", "paid-out", {}) }, "Mark as paid out"),
    h("button", { type: "button", class: "danger", disabled: client.state === "revoked", onclick: act("Revoke this client?", [who(), " can no longer take part. What it shared and was paid stays."], "Revoke", "revoke", undefined, true) }, "Revoke"),
    h("button", { type: "button", class: "danger", disabled: !client.rounds, onclick: act("Withdraw what it shared?", ["All data of ", who(), " is taken out of the shared model, and everybody gets the corrected one. What it was paid stays."], "Withdraw", "withdraw", undefined, true) }, "Withdraw its data")));
}
