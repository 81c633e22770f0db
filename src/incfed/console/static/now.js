// Now: who is there, the round in progress, the budget, what needs attention.

import { get, post, query, root } from "./api.js";
import { card, confirmed, counted, day, fill, h, moment, money, number, toast } from "./dom.js";

export async function show(context) {
  paint(context, await get("now"));
}

export async function refresh(context) {
  const found = await get(`now${query({ after: context.now.version })}`); // null: nothing new
  const now = found ?? { ...context.now, at: context.now.at + (Date.now() - context.asked) / 1000 };
  const told = JSON.stringify({ ...now, at: 0, version: "" });
  const same = told === context.told && !now.round; // what is focused or selected stays so
  Object.assign(context, { now, told, asked: Date.now() });
  if (!same && !context.form) paint(context, now); // not while somebody types
}

function paint(context, now) {
  context.now = now;
  context.asked = Date.now();
  fill(context.place,
    h("h1", {}, now.federation, h("small", {}, `epoch ${number(now.epoch)}, ${counted(now.rounds, "round")}`)),
    attention(now), h("div", { class: "grid" }, members(now), spending(now)), round(now), controls(context, now));
}

function attention(now) {
  if (!now.attention.length) return null;
  return card("Needs attention", h("ul", { class: "notices" }, now.attention.map((one) =>
    h("li", { class: one.kind }, one.text, " ", h("a", { href: `${root}/${one.link}` }, "Look")))));
}

function members(now) {
  const { live, away, barred, revoked } = now.members;
  const count = (state, words, figure) => h("li", {}, h("a", { href: `${root}/clients?state=${state}` }, h("b", {}, number(figure)), " ", words));
  return card("Clients", h("ul", { class: "counts" }, count("live", "live", live), count("away", "away", away),
    count("barred", "barred", barred), count("revoked", "revoked", revoked)));
}

function spending(now) {
  const { spent, reserved, budget, digits, per_day: pace, runs_out: end } = now.spending;
  const bar = budget === null ? null : h("div", { class: "track", role: "img", "aria-label": `${money(spent, digits)} of ${money(budget, digits)} spent` },
    part("spent", spent / budget), part("reserved", reserved / budget));
  const left = budget === null ? "No budget is set." : `of ${money(budget, digits)}`;
  const until = pace === null ? (spent ? "Too early to tell for how long it lasts." : "Nothing was paid yet.")
    : `${money(pace, digits)} a day of late` + (end === null ? "." : end - now.at > 3e9 ? "." : `: the budget lasts until ${day(end)}.`);
  return card("Spent", h("p", { class: "figure-number" }, money(spent, digits)), h("p", { class: "muted" }, left), bar,
    h("p", { class: "small muted" }, until, reserved ? ` ${money(reserved, digits)} are reserved for offers.` : ""));
}

function part(kind, share) {
  const one = h("i", { class: kind });
  one.style.width = `${Math.min(100, 100 * share)}%`;
  return one;
}

function round(now) {
  const one = now.round;
  if (!one) {
    const words = now.paused ? "Rounds are paused by an operator." : "None. The next one opens when a client has learned enough.";
    return card("Round in progress", h("p", { class: "muted" }, words));
  }
  const wait = one.awaited.length ? `, waiting for ${one.awaited.join(", ")}` : "";
  const offered = one.stage === "offered";
  const left = one.deadline === null ? "" : Math.max(0, one.deadline - now.at);
  return card(`Round ${number(one.number)} in progress`, h("ol", { class: "steps" },
    h("li", { class: "done" }, "Opened by ", one.called_by, ", ", moment(one.opened)),
    h("li", { class: offered ? "done" : "now" }, `${counted(one.uploaded, "upload")}${offered ? "" : wait}`),
    h("li", { class: offered ? "now" : "" }, offered ? `${counted(one.offered, "offer")}, ${number(one.answered)} answered, ${number(one.delivered)} delivered${wait}` : "Offers"),
    h("li", {}, "Closed")),
  h("p", { class: "small muted" }, one.attempt > 1 ? `Decided ${one.attempt} times. ` : "", left === "" ? "" : `At most ${Math.ceil(left)} s more for this step.`, " ",
    h("a", { href: `${root}/rounds/${one.number}` }, "Details")));
}

// --------------------------------------------------------------------------- for operators

function controls(context, now) {
  if (!context.mayChange) return null;
  const verb = now.paused ? "Resume rounds" : "Pause rounds";
  const words = now.paused ? "Clients may open rounds again." : "No new round is opened until you resume. One in progress goes on.";
  const toggle = h("button", { type: "button", class: now.paused ? "primary" : null, onclick: () => change(context, verb, words, verb, () => post(`changes/${now.paused ? "resume" : "pause"}`)) }, verb);
  return card("Control", h("div", { class: "row" }, toggle,
    h("button", { type: "button", onclick: () => settings(context) }, "Change settings")), context.form ?? null);
}

export async function change(context, title, words, verb, work, danger = false) {
  if (!(await confirmed(title, words, verb, danger))) return false;
  try {
    const done = await work();
    toast(done.text);
    await refreshed(context);
    return true;
  } catch (error) {
    toast(error.message, true);
    return false;
  }
}

async function refreshed(context) {
  if (context.repaint) await context.repaint();
  else if (context.now) paint(context, await get("now"));
}

const FIELDS = [
  ["beta", "beta: how much of everyone's data a round must reach"], ["threshold", "Threshold D_c"],
  ["budget", "Budget in all"], ["per_round", "Most for a round"], ["per_payment", "Most for one payment"],
  ["per_client", "Most for one client"], ["reserve", "Reserve price"],
];

async function settings(context) {
  if (context.form) { context.form = null; paint(context, context.now); return; }
  const old = await get("changes/settings");
  const inputs = Object.fromEntries(FIELDS.map(([name]) => [name,
    h("input", { type: "number", step: "any", min: "0", name, value: old[name] ?? "", placeholder: "none", disabled: name === "beta" && old.beta === null })]));
  const send = async (event) => {
    event.preventDefault();
    const body = Object.fromEntries(FIELDS.map(([name]) => [name, inputs[name].value === "" ? null : Number(inputs[name].value)]));
    const names = FIELDS.map(([name]) => name).filter((name) => body[name] !== (old[name] ?? null));
    if (!names.length) { toast("Nothing was changed."); return; }
    const words = names.map((name) => `${name}: ${old[name] ?? "none"} → ${body[name] ?? "none"}`).join("; ");
    const only = Object.fromEntries(names.map((name) => [name, body[name]]));
    const form = context.form;
    context.form = null;
    const done = await change(context, "Change settings?", `${words}. In force from the next round on, until the config is changed.`, "Change", () => post("changes/settings", only));
    if (!done) { context.form = form; paint(context, context.now); }
  };
  context.form = h("form", { onsubmit: send }, h("div", { class: "grid" }, FIELDS.map(([name, words]) => h("label", {}, words, inputs[name]))),
    h("button", { class: "primary" }, "Change…"));
  paint(context, context.now);
}
