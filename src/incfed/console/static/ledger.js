// The ledger: its head, audits, exports, and its entries.

import { fresh, get, later, post, query, root } from "./api.js";
import { announce, badge, card, fill, h, state, table, tried } from "./dom.js";
import { ago, moment, name, number, ordinal } from "./format.js";

const KINDS = ["founded", "key", "deadline", "void", "opened", "uploaded", "decided", "answered", "delivered", "closed", "barred", "settings", "enrolled", "revoked", "withdrawn", "paid_out", "paused", "resumed", "operator", "pruned"];
const EXPORTS = [["rounds", "Rounds"], ["payments", "Payments"], ["offers", "Offers"], ["entries", "Entries"]];

export async function show(context) {
  context.kind = context.query.get("kind") ?? "";
  context.before = context.query.get("before") ?? "";
  const [head, page] = await Promise.all([get("ledger"), listed(context)]);
  context.entries = h("div", {}, entries(context, page));
  context.head = h("div", { class: "grid" }, summary(context, head));
  context.seen = head;
  const kinds = h("select", { id: "kind", onchange: (event) => context.go(`ledger${query({ kind: event.target.value })}`) },
    h("option", { value: "" }, "all"), KINDS.map((one) => h("option", { value: one, selected: one === context.kind }, one.replace("_", " "))));
  fill(context.place, h("h1", {}, "Ledger"), context.head,
    card("Export", h("div", { class: "row" }, EXPORTS.map(([name, title]) => h("a", { class: "button", download: true, href: `${root}/api/export/${name}.csv` }, `${title} (CSV)`)))),
    h("section", { class: "card panel" }, h("header", {}, h("h2", {}, "Entries, the last one first"), h("label", { class: "inline", for: "kind" }, "Kind", kinds)), context.entries));
}

const listed = (context) => get(`ledger/entries${query({ before: context.before, kind: context.kind })}`);

export async function refresh(context) {
  const head = await fresh("ledger", context.seen);
  if (!head) return;
  if (context.seen.running !== null && head.running === null) announce(`The audit has ended: ${head.outcome}.`);
  const grown = head.entries !== context.seen.entries && !context.before; // earlier pages stay as they are
  if (grown) fill(context.entries, entries(context, await listed(context)));
  fill(context.head, summary(context, head));
  context.seen = head;
}

function summary(context, head) {
  return [
    card("Head", h("p", { class: "headline" }, h("b", {}, ordinal(head.entries)), " entries"), h("p", { class: "small muted" }, "The hash of the last one stands for all of them:"), h("p", { class: "mono small" }, head.hash)),
    audit(context, head),
  ];
}

function audit(context, head) {
  const running = head.running !== null;
  const start = async () => { if (await tried(() => post("ledger/audit"))) await refresh(context).catch(later); };
  const verdict = head.audited === null ? "It was never audited." : [badge(head.outcome === "clean" ? "live" : "revoked", head.outcome), " ", ago(head.audited), head.audited_by ? [", by ", name(head.audited_by)] : null];
  const done = running ? h("div", { class: "progress" }, h("progress", { value: head.running, max: 1, "aria-label": "Audit" }), h("span", {}, `${Math.round(100 * head.running)} % recomputed`)) : null;
  const found = head.findings.length && !running ? h("ul", { class: "notices" }, head.findings.map((one) => h("li", { class: "audit" }, h("bdi", {}, one)))) : null;
  const stopped = head.interrupted && !running ? h("p", { class: "wrong" }, "An audit that began ", ago(head.interrupted.began), " was interrupted: the process that ran it has stopped. Run it again.") : null;
  const words = "It recomputes every decision and every payment from what clients sent.";
  return card("Last audit", h("p", { class: "headline" }, verdict), done, stopped, found, h("p", { class: "small muted" }, words),
    context.mayChange ? h("button", { type: "button", disabled: running, onclick: start }, running ? "Audit running…" : "Run an audit") : h("p", { class: "small muted" }, "An operator can run one."));
}

// --------------------------------------------------------------------------------- entries

function entries(context, page) {
  const older = page.older === null ? null : h("p", {}, h("a", { class: "button", href: `${root}/ledger${query({ kind: context.kind, before: page.older })}` }, "Earlier entries"));
  if (!page.rows.length) return [state("No such entry here", context.kind ? `None of kind ${context.kind.replace("_", " ")}.` : ""), older];
  const columns = [
    { title: "Entry", kind: "index", value: (row) => ordinal(row.number) }, { title: "When", value: (row) => moment(row.at) },
    { title: "Kind", value: (row) => row.kind.replace("_", " ") }, { title: "What", kind: "words", value: what },
  ];
  return [table(columns, page.rows, { label: "Entries" }), older];
}

function what(row) {
  const { round, client, by, name: called, ...rest } = row.what;
  const parts = [];
  if (round !== undefined && round !== null) parts.push(h("a", { href: `${root}/rounds/${round}` }, `round ${ordinal(round)}`), " ");
  if (client !== undefined && client !== null) parts.push(h("a", { href: `${root}/clients/${client}` }, `client ${client}`), " ");
  if (typeof called === "string") parts.push(name(called), " ");
  if (by) parts.push("by ", name(String(by)), " ");
  const fields = Object.keys(rest).length;
  return [...parts, h("details", { id: `entry-${row.number}` }, h("summary", { class: "small muted" }, fields ? `all of it` : "its hash"),
    h("pre", { dir: "ltr" }, JSON.stringify(row.what, null, 1)), h("p", { class: "mono small" }, row.hash))];
}
