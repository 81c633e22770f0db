// Now: what needs attention, who is there, the budget, the round in progress.

import { fresh, get, post, root } from "./api.js";
import { change, settings } from "./changes.js";
import { announce, badge, bar, card, fill, h, svg, tried } from "./dom.js";
import { WHY, over } from "./rounds.js";
import { counted, day, lasting, left, moment, money, name, names, number, ordinal, percent, said } from "./format.js";

const WEEK = 7 * 86_400;
const SOON = 2 * 86_400; // seconds: of a budget that ends sooner, the time of the day counts
const RATES = [[1440, "a minute", 3600], [24, "an hour", 86_400], [1, "a day", Infinity]]; // [of a day, words, up to so many seconds]
const FAR = 3e9; // seconds: a budget that lasts longer has no date

export async function show(context) {
  context.repaint = async () => {
    const [now, rounds] = await Promise.all([get("now"), get("rounds")]);
    context.rounds = rounds;
    paint(context, now);
  };
  await context.repaint();
}

export async function refresh(context) {
  const now = await fresh("now", context.now);
  if (!now) return; // what is selected stays so
  tell(context.now, now);
  context.rounds = (await fresh("rounds", context.rounds)) ?? context.rounds;
  if (context.form) context.now = now; // not while somebody types
  else paint(context, now);
}

// For those who listen.
function tell(before, now) {
  if (now.rounds > before.rounds) announce(`Round ${now.rounds} has opened.`);
  else if (before.round && !now.round) announce(`Round ${before.round.number} has ended.`);
  else {
    const news = now.attention.find((one) => !before.attention.some((old) => old.text === one.text));
    if (news) announce(news.text);
  }
}

function paint(context, now) {
  context.now = now;
  fill(context.place,
    h("h1", {}, name(now.federation), h("small", {}, `epoch ${ordinal(now.epoch)}, ${counted(now.rounds, "round")}`), now.paused ? badge("barred", "paused") : null),
    attention(now), h("div", { class: "grid" }, spending(now), members(now)), round(now), lately(context.rounds.points, now), controls(context, now));
}

const LOOK = { ledger: "Open the ledger", clients: "See the clients" };

function attention(now) {
  if (!now.attention.length) return h("p", { class: "calm" }, "Nothing needs attention.");
  const look = (link) => LOOK[link] ?? { clients: "See the client", rounds: "Open this round" }[link.split("/")[0]];
  const action = ({ link }) => (look(link) ? h("a", { href: `${root}/${link}` }, look(link)) : null);
  return card("Needs attention", h("ul", { class: "notices" }, now.attention.map((one) =>
    h("li", { class: one.kind }, h("span", {}, said(one.text)), action(one)))));
}

const STATES = [["live", "live"], ["away", "away"], ["barred", "barred"], ["revoked", "revoked"]];

function members(now) {
  const total = STATES.reduce((sum, [key]) => sum + now.members[key], 0);
  const shares = STATES.map(([key]) => ({ kind: key, share: now.members[key] / Math.max(1, total) }));
  return card("Clients", h("p", { class: "headline" }, h("b", {}, number(now.members.live)), ` live of ${number(total)}`),
    bar(STATES.map(([key]) => `${now.members[key]} ${key}`).join(", "), shares),
    h("ul", { class: "counts" }, STATES.map(([key, words]) =>
      h("li", {}, h("a", { href: `${root}/clients?state=${key}`, class: `key ${key}` }, h("b", {}, number(now.members[key])), ` ${words}`)))));
}

function spending(now) {
  const { spent, reserved, budget, digits } = now.spending;
  const sum = (value) => money(value, digits);
  const of = budget === null ? " spent, no budget is set" : ` spent of ${sum(budget)}`;
  const shares = budget ? [{ kind: "spent", share: spent / budget }, { kind: "reserved", share: reserved / budget }] : [];
  const words = budget === null ? "" : `${percent(spent / (budget || 1))} spent`;
  return card("Budget", h("p", { class: "headline" }, h("b", {}, sum(spent)), of), budget === null ? null : bar(words, shares),
    h("ul", { class: "counts" },
      budget === null ? null : h("li", {}, h("span", { class: "key spent" }, words)),
      reserved ? h("li", {}, h("span", { class: "key reserved" }, `${sum(reserved)} reserved for offers`)) : null,
      budget === null ? null : h("li", {}, h("span", {}, `${sum(Math.max(0, budget - spent - reserved))} left`))),
    h("p", { class: "muted" }, until(now.spending, now.at, sum)));
}

function until({ spent, budget, per_day: pace, since, runs_out: end }, at, sum) {
  if (budget !== null && spent >= budget) return "Nothing is left of it.";
  if (pace === null) return spent ? "Too early to tell for how long it lasts." : "Nothing was paid yet.";
  if (pace === 0) return "Nothing was paid in the last week.";
  const time = at - since < WEEK ? lasting(at - since).replace(/^1 /, "") : "week"; // the last hour, the last 2 hours
  const told = ([one, , most]) => at - since < most && sum(pace / one) !== sum(0);
  const [per, unit] = RATES.find(told) ?? RATES.at(-1);
  const rate = `${sum(pace / per)} ${unit} at the pace of the last ${time}`;
  if (end === null || end - at > FAR) return `${rate}.`;
  return [`${rate}: the budget lasts until `, h("b", {}, end - at < SOON ? moment(end) : day(end)), "."];
}

// ---------------------------------------------------------------------- the round in progress

function round(now) {
  const one = now.round;
  if (!one) {
    const words = now.paused ? "Rounds are paused by an operator. Clients go on learning by themselves." : "None. The next one opens when a client has learned enough.";
    return card("Round in progress", h("p", { class: "muted" }, words));
  }
  const offered = one.stage === "offered";
  const waiting = one.awaited.length ? h("p", {}, "waiting for ", names(one.awaited), one.more ? ` and ${number(one.more)} more` : null) : null;
  const limit = one.deadline === null ? null : h("p", { class: "deadline" }, left(one.deadline), ", until ", moment(one.deadline));
  const step = (kind, title, ...words) => h("li", { class: kind, "aria-current": kind === "now" ? "step" : null }, h("div", {}, h("b", {}, title), ...words));
  const answers = `${counted(one.offered, "offer")}, ${number(one.answered)} answered, ${number(one.delivered)} delivered`;
  return card(`Round ${ordinal(one.number)} in progress`, h("ol", { class: "steps" },
    step("done", "Opened", h("p", {}, "by ", name(one.called_by), ", ", moment(one.opened))),
    step(offered ? "done" : "now", "Uploads", h("p", {}, counted(one.uploaded, "upload")), offered ? null : [waiting, limit]),
    step(offered ? "now" : "", "Offers", h("p", {}, offered ? answers : "who shares, and for what"), offered ? [waiting, limit] : null),
    step("", "Closed", h("p", {}, "everybody gets the new model"))),
  one.attempt > 1 ? h("p", { class: "small muted" }, `Decided ${one.attempt} times: somebody declined or did not deliver.`) : null,
  h("p", {}, h("a", { href: `${root}/rounds/${one.number}` }, "Open this round")));
}

// ---------------------------------------------------------------------------- latest rounds

const LATELY = 60; // points

function lately(points, now) {
  if (!points.length) return null;
  const shown = points.slice(-LATELY);
  const all = (one) => WHY.reduce((sum, [key]) => sum + one[key], 0);
  const most = Math.max(...shown.map(all)) || 1;
  const bars = shown.flatMap((one, n) => {
    let top = 100;
    return WHY.map(([key, words, tone]) => {
      const height = (100 * one[key]) / most;
      top -= height;
      return svg("rect", { class: tone, x: n + 0.1, y: top, width: 0.8, height }, svg("title", {}, `${over(one)}: ${number(one[key])} ${words}`));
    });
  });
  const [first, last] = [shown[0].first, shown.at(-1).last];
  const label = `Who shared in rounds ${ordinal(first)} to ${ordinal(last)}, and why`;
  const mean = (key) => shown.reduce((sum, one) => sum + one[key], 0) / shown.length;
  return h("section", { class: "card panel" }, h("header", {}, h("h2", {}, label), h("a", { href: `${root}/rounds` }, "All rounds")),
    svg("svg", { class: "lately", viewBox: `0 0 ${Math.max(20, shown.length)} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label }, ...bars),
    h("ul", { class: "counts" }, WHY.map(([, words, tone]) => h("li", {}, h("span", { class: `key ${tone}` }, words))),
      h("li", { class: "muted" }, `Average per round: ${money(mean("payment"), now.spending.digits)} paid, ${number(mean("ratio"), 2)} of everyone's information reached`)));
}

// ------------------------------------------------------------------------------ for operators

function controls(context, now) {
  if (!context.mayChange) return h("p", { class: "small muted" }, "You can look at everything. To pause rounds or change settings, ask an operator.");
  const [verb, path, words] = now.paused
    ? ["Resume rounds", "resume", "Clients may open rounds again."]
    : ["Pause rounds", "pause", "No new round is opened until you resume. One in progress goes on."];
  const toggle = () => change(context, `${verb}?`, words, verb, () => post(`changes/${path}`));
  const edit = () => tried(async () => {
    context.form = await settings(context, () => {
      context.form = null;
      paint(context, context.now);
      document.getElementById("edit")?.focus(); // where it was before
    });
    paint(context, context.now);
    context.form.querySelector("input:enabled").focus();
  });
  return card("Control", context.form ?? h("div", { class: "row" },
    h("button", { type: "button", class: now.paused ? "primary" : null, onclick: toggle }, verb), h("button", { type: "button", id: "edit", onclick: edit }, "Change settings")));
}
