// The ledger: its head, audits, exports, and its entries.

import { get, post, query, root } from "./api.js";
import { ago, card, fill, h, moment, number, ordinal, table, toast } from "./dom.js";

const KINDS = ["founded", "key", "deadline", "void", "opened", "uploaded", "decided", "answered", "delivered", "closed", "barred", "settings", "enrolled", "revoked", "withdrawn", "paid_out", "paused", "resumed", "operator", "pruned"];
const EXPORTS = [["rounds", "Rounds"], ["payments", "Payments"], ["offers", "Offers"], ["entries", "Entries"]];

export async function show(context) {
  context.kind = context.query.get("kind") ?? "";
  context.before = context.query.get("before") ?? "";
  const [head, page] = await Promise.all([get("ledger"), get(`ledger/entries${query({ before: context.before, kind: context.kind })}`)]);
  context.head = h("div", {}, summary(context, head));
  const kinds = h("select", { id: "kind", onchange: (event) => context.go(`ledger${query({ kind: event.target.value })}`) },
    h("option", { value: "" }, "all"), KINDS.map((one) => h("option", { value: one, selected: one === context.kind }, one)));
  const columns = [
    { title: "Entry", kind: "number", value: (row) => ordinal(row.number) }, { title: "When", value: (row) => moment(row.at) },
    { title: "Kind", value: (row) => row.kind }, { title: "What", kind: "words", value: (row) => what(row) },
  ];
  fill(context.place, h("h1", {}, "Ledger"), context.head,
    card("Export as CSV", h("div", { class: "row" }, EXPORTS.map(([name, title]) => h("a", { class: "button", download: true, href: `${root}/api/export/${name}.csv` }, title)))),
    card("Entries", h("p", { class: "row" }, h("label", { class: "inline", for: "kind" }, "Kind", kinds)),
      page.rows.length ? table(columns, page.rows, { label: "entries" }) : h("p", { class: "muted" }, "None here."),
      page.older === null ? null : h("p", {}, h("a", { class: "button", href: `${root}/ledger${query({ kind: context.kind, before: page.older })}` }, "Earlier entries"))));
}

export async function refresh(context) {
  const head = await get(`ledger${query({ after: context.version })}`);
  if (head === null) return; // nothing new
  context.version = head.version;
  const told = JSON.stringify({ ...head, version: "" });
  if (told !== context.told) fill(context.head, summary(context, head));
  context.told = told;
}

function summary(context, head) {
  const running = head.running !== null;
  const start = async () => { await post("ledger/audit").catch((error) => toast(error.message, true)); await refresh(context); };
  const verdict = head.audited === null ? "It was never audited." : [`Audited `, ago(head.audited), `: ${head.outcome}.`];
  return card(`${number(head.entries)} entries`,
    h("p", { class: "mono small" }, `Head: ${head.hash}`), h("p", { class: head.outcome && head.outcome !== "clean" ? "" : "muted" }, verdict),
    head.interrupted ? h("p", {}, "The audit that ", head.interrupted.by ?? "somebody", " began ", ago(head.interrupted.began), " was interrupted: the process that ran it has stopped. Run it again.") : null,
    running ? h("p", {}, h("progress", { value: head.running, max: 1, "aria-label": "audit" }), ` ${Math.round(100 * head.running)} % recomputed`) : null,
    head.findings.length ? h("ul", { class: "notices" }, head.findings.map((one) => h("li", { class: "audit" }, one))) : null,
    context.mayChange ? h("button", { type: "button", disabled: running, onclick: start }, running ? "Audit running…" : "Run an audit") : null);
}

function what(row) {
  const { round, client, ...rest } = row.what;
  const parts = [];
  if (round !== undefined) parts.push("round ", h("a", { href: `${root}/rounds/${round}` }, ordinal(round)), " ");
  if (client !== undefined) parts.push("client ", h("a", { href: `${root}/clients/${client}` }, String(client)), " ");
  if (rest.by) parts.push("by ", rest.by, " ");
  parts.push(h("details", {}, h("summary", { class: "small muted" }, "all of it"), h("pre", {}, JSON.stringify(row.what, null, 1)), h("p", { class: "mono small" }, row.hash)));
  return parts;
}
