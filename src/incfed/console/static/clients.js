// Clients: a list to sort, filter and page through, and a client's own page.

import { get, post, query, root } from "./api.js";
import { ago, card, counted, fill, h, moment, money, number, ordinal, state, table } from "./dom.js";
import { change } from "./now.js";

const STATES = ["live", "away", "barred", "revoked"];

export async function show(context) {
  if (context.rest.length) return own(context, context.rest[0]);
  const asked = Object.fromEntries(["search", "state", "sort", "descending", "page"].map((name) => [name, context.query.get(name) ?? ""]));
  context.asked = { ...asked, sort: asked.sort || "id", page: asked.page || 1 };
  context.repaint = async () => paint(context, await get(`clients${query(context.asked)}`));
  await context.repaint();
}

export async function refresh(context) {
  const { asked, version: after } = context;
  const own = `clients/${encodeURIComponent(context.rest[0])}${query({ before: context.query.get("before"), after })}`;
  const found = await get(context.rest.length ? own : `clients${query({ ...asked, after })}`);
  if (found === null) return; // nothing new
  context.version = found.version;
  const told = JSON.stringify({ ...found, version: "" });
  if (told !== context.told && context.rest.length) page(context, context.rest[0], found);
  else if (told !== context.told) fill(context.table, list(context, found));
  context.told = told;
}

function paint(context, found) {
  const { asked } = context;
  const again = (changes) => context.go(`clients${query({ ...asked, page: 1, ...changes })}`, true);
  const search = h("input", { type: "search", id: "search", value: asked.search, placeholder: "name" });
  const states = h("select", { id: "state", onchange: (event) => again({ state: event.target.value }) },
    h("option", { value: "" }, "all"), STATES.map((one) => h("option", { value: one, selected: one === asked.state }, one)));
  context.table = h("div", {}, list(context, found));
  fill(context.place, h("h1", {}, "Clients"),
    h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); again({ search: search.value }); } },
      h("label", { class: "inline", for: "search" }, "Search", search), h("button", {}, "Search"),
      h("label", { class: "inline", for: "state" }, "State", states)),
    context.table);
}

function list(context, found) {
  const { asked } = context;
  const at = (changes) => `clients${query({ ...asked, ...changes })}`;
  if (!found.total) {
    const narrowed = asked.search || asked.state;
    return [state(narrowed ? "No client matches" : "No client is enrolled yet", narrowed ? "Change the search." : "Enrol one with: incfed client enrol NAME")];
  }
  const columns = [
    { title: "Client", sort: "name", kind: "name", value: (row) => h("a", { href: `${root}/clients/${row.id}` }, row.name), hint: (row) => row.name },
    { title: "State", value: (row) => h("span", { class: `badge ${row.state}` }, row.state) },
    { title: "Last seen", sort: "last_seen", first: true, value: (row) => ago(row.last_seen) },
    { title: "Rounds", sort: "rounds", first: true, kind: "number", value: (row) => number(row.rounds) },
    { title: "Steps shared", sort: "steps", first: true, kind: "number", value: (row) => number(row.steps) },
    { title: "Contribution (nats)", sort: "nats", first: true, kind: "number", value: (row) => number(row.nats, 2) },
    { title: "Paid", sort: "paid", first: true, kind: "number", value: (row) => money(row.paid, found.digits) },
  ];
  const onSort = (sort, descending) => context.go(at({ sort, descending, page: 1 }), true);
  const pages = found.pages > 1 ? h("p", { class: "row" },
    found.page > 1 ? h("a", { class: "button", href: `${root}/${at({ page: found.page - 1 })}` }, "← Before") : null,
    h("span", { class: "muted" }, `Page ${number(found.page)} of ${number(found.pages)}, ${counted(found.total, "client")}`),
    found.page < found.pages ? h("a", { class: "button", href: `${root}/${at({ page: found.page + 1 })}` }, "Next →") : null) : null;
  return [table(columns, found.rows, { sort: asked.sort, descending: asked.descending === "true" || asked.descending === true, onSort, label: "clients" }), pages];
}

async function own(context, id) {
  const before = context.query.get("before");
  context.repaint = async () => page(context, id, await get(`clients/${encodeURIComponent(id)}${query({ before })}`));
  await context.repaint();
}

function page(context, id, found) {
  const { client, digits } = found;
  const facts = [
    ["Last seen", ago(client.last_seen)], ["Took part in", counted(client.rounds, "round")], ["Shared", counted(client.steps, "step")],
    ["Contribution", `${number(client.nats, 2)} nats`], ["Paid", money(client.paid, digits)], ["Marked as paid out", money(found.paid_out, digits)],
    ["Signs its messages", found.signs ? "yes" : "no"],
  ];
  const columns = [
    { title: "Round", value: (row) => h("a", { href: `${root}/rounds/${row.round}` }, ordinal(row.round)) },
    { title: "When", value: (row) => moment(row.ended ?? row.opened) },
    { title: "Steps", kind: "number", value: (row) => number(row.steps) },
    { title: "Cost", kind: "number", value: (row) => money(row.cost, digits) },
    { title: "Paid", kind: "number", value: (row) => (row.payment === null ? "–" : money(row.payment, digits)) },
    { title: "Outcome", kind: "words", value: (row) => [row.outcome, row.paid_out === null ? "" : ", paid out", row.payment ? why(id, row.round) : ""] },
  ];
  fill(context.place, h("h1", {}, client.name, " ", h("span", { class: `badge ${client.state}` }, client.state)),
    found.last_paid ? h("p", { class: "callout" }, h("b", {}, "Why was it paid this? "), found.last_paid) : null,
    h("div", { class: "grid" }, facts.map(([title, value]) => h("div", { class: "card" }, h("span", { class: "muted small" }, title), h("div", {}, value)))),
    context.mayChange ? controls(context, client, found) : null,
    card("History", found.history.length ? table(columns, found.history, { label: "history" }) : h("p", { class: "muted" }, "It has shared nothing yet."),
      found.older === null ? null : h("p", {}, h("a", { class: "button", href: `${root}/clients/${id}?before=${found.older}` }, "Earlier rounds"))));
}

function why(id, round) {
  const place = h("span", {}, " ");
  const ask = async () => fill(place, h("p", { class: "small" }, await get(`clients/${id}/rounds/${round}`)));
  place.append(h("button", { type: "button", class: "small", onclick: ask }, "Why?"));
  return place;
}

function controls(context, client, found) {
  const act = (title, words, verb, path, body, danger) => () => change(context, title, words, verb, () => post(`changes/clients/${client.id}/${path}`, body), danger);
  const owed = client.paid - found.paid_out > 1e-9;
  return card("Control", h("div", { class: "row" },
    h("button", { type: "button", disabled: !owed, onclick: act("Mark as paid out?", `All payments to ${client.name} that are not marked yet. This cannot be undone.`, "Mark as paid out", "paid-out", {}) }, "Mark as paid out"),
    h("button", { type: "button", class: "danger", disabled: client.state === "revoked", onclick: act("Revoke this client?", `${client.name} can no longer take part. What it shared and was paid stays.`, "Revoke", "revoke", undefined, true) }, "Revoke"),
    h("button", { type: "button", class: "danger", disabled: !client.rounds, onclick: act("Withdraw what it shared?", `All data of ${client.name} is taken out of the shared model, and everybody gets the corrected one. What it was paid stays.`, "Withdraw", "withdraw", undefined, true) }, "Withdraw its data")));
}
