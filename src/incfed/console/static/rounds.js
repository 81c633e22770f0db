// Rounds over time, and a round with its whole decision.

import { fresh, get, root } from "./api.js";
import { colour, draw, panel } from "./charts.js";
import { announce, badge, bar, card, facts, fill, h, state, table } from "./dom.js";
import { counted, lasting, moment, money, name, number, ordinal } from "./format.js";

// Of a point: which rounds it is for.
export function over({ first, last }) {
  return first === last ? `Round ${ordinal(first)}` : `Rounds ${ordinal(first)} to ${ordinal(last)}, mean`;
}

const PRICED = ["budget", "per_round", "per_payment", "per_client", "reserve", "price_rise", "price_spread"]; // limits of money
const LATEST = 8; // rounds that have links of their own

export async function show(context) {
  if (context.rest.length) {
    context.titled(`Round ${context.rest[0]}`);
    context.seen = await get(`rounds/${encodeURIComponent(context.rest[0])}`);
    decision(context, context.seen);
    return;
  }
  context.seen = await get("rounds");
  series(context);
}

export async function refresh(context) {
  const path = ["rounds", ...context.rest.map(encodeURIComponent)].join("/");
  const found = await fresh(path, context.seen);
  if (!found) return;
  context.seen = found;
  if (context.rest.length) decision(context, found);
  else await series(context)?.();
}

// --------------------------------------------------------------------------------- over time

// Returns what draws the charts, once they have a place.
function series(context) {
  const { points, goals } = context.seen;
  context.shown = null;
  if (!points.length) {
    fill(context.place, h("h1", {}, "Rounds"), state("No round has closed yet", "A round opens when a client has learned enough, and closes when those who share have delivered."));
    return null;
  }
  const { last } = points.at(-1);
  if (context.last && context.last !== last) announce(`Round ${ordinal(last)} has closed.`);
  context.last = last;
  const grouped = points[0].last - points[0].first + 1;
  if (context.grouped !== grouped) Object.assign(context, { grouped, panels: panels(grouped), top: null });
  paint(context, points);
  context.shown = () => drawAll(context, points, goals);
  return context.shown;
}

function panels(grouped) {
  const note = grouped > 1 ? `Each point is the mean of ${ordinal(grouped)} rounds.` : null;
  return {
    who: panel("who", "Who shared, and why", { note: grouped > 1 ? `${note} Click one to open its first round.` : "Click a bar to open its round." }),
    money: panel("money", "Paid per round", { low: true, note }),
    traffic: panel("traffic", "Traffic per round", { low: true, note }),
    ratio: panel("ratio", "Information reached", { low: true, note: "As a share of what everyone's data would give (det ratio)." }),
  };
}

function paint(context, points) {
  const { who, money, traffic, ratio } = context.panels;
  const last = points.at(-1).last;
  const latest = Array.from({ length: Math.min(LATEST, last) }, (_, n) => last - n);
  const jump = h("input", { type: "number", min: "1", max: last, id: "jump", class: "short" });
  const open = (event) => { event.preventDefault(); if (jump.value) context.go(`rounds/${jump.value}`); };
  const top = [h("div", { class: "heading" }, h("h1", {}, "Rounds"), h("p", { class: "muted" }, `${ordinal(last)} so far`), h("a", { class: "button", download: true, href: `${root}/api/export/rounds.csv` }, "Rounds (CSV)")),
    h("form", { class: "row", onsubmit: open }, h("label", { class: "inline", for: "jump" }, "Round", jump), h("button", {}, "Open"),
      h("span", { class: "row tight" }, h("span", { class: "muted small" }, "Latest:"), latest.map((one) => h("a", { class: "chip", href: `${root}/rounds/${one}` }, ordinal(one)))))];
  if (context.top) { fill(context.top, top); return; } // the charts stay: they are only drawn anew
  context.top = h("div", {}, top);
  fill(context.place, context.top, who.section, h("div", { class: "grid three" }, money.section, traffic.section, ratio.section));
}

// Beta as it was for each round, up to the last one: each goal from its first round to the next goal's.
function steps(goals, last) {
  const all = goals.filter((one) => one.first <= last);
  const ends = all.map((one, n) => [one, all[n + 1]?.first ?? last]);
  return { x: ends.flatMap(([one, end]) => [one.first, end]), y: ends.flatMap(([one]) => [one.beta, one.beta]) };
}

// Clients are counted: no ticks between whole numbers.
function whole(points) {
  const most = Math.max(...points.map((one) => WHY.reduce((sum, [key]) => sum + one[key], 0)));
  return { yaxis: { title: { text: "Clients with new data" }, rangemode: "tozero", ...(most <= 10 ? { dtick: 1 } : {}) } };
}

export const WHY = [["for_data", "data alone", "data"], ["for_money", "data and money", "money"], ["no_cost", "no cost", "free"], ["passed_over", "passed over", "passed"]];

async function drawAll({ panels: { who, money, traffic, ratio }, go }, points, goals) {
  const x = points.map((one) => one.last);
  const span = points.map(over);
  const axes = (up) => ({ xaxis: { title: { text: "Round" }, showgrid: false, zeroline: false, ...(x.length < 12 ? { tickvals: x } : {}) }, yaxis: { title: { text: up }, rangemode: "tozero" }, showlegend: false, bargap: 0.15 });
  const legend = { showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" } };
  const stacked = WHY.map(([key, words, tone]) => ({ type: "bar", name: words, x, y: points.map((one) => one[key]), marker: { color: colour(tone) }, customdata: span,
    hovertemplate: `%{y:.3~g} ${words}<br>%{customdata}<extra></extra>` }));
  await draw(who.place, stacked, { ...axes(""), ...legend, ...whole(points), barmode: "stack", bargap: points.length > 100 ? 0 : 0.15, hovermode: "closest" },
    { name: "participants", onClick: (point) => go(`rounds/${points[point.pointIndex].first}`) });
  const line = (key, tone, unit) => ({ type: "scatter", mode: points.length > 60 ? "lines" : "lines+markers", name: unit.trim(), x, y: points.map((one) => one[key]),
    line: { color: colour(tone), width: 2 }, marker: { size: 5 }, cliponaxis: false, customdata: span, hovertemplate: `%{y:,.4~g}${unit}<br>%{customdata}<extra></extra>` });
  await draw(money.place, [line("payment", "money", " paid")], axes("Money"), { name: "payment" });
  await draw(traffic.place, [line("communication", "data", " scalars")], axes("Scalars"), { name: "traffic" });
  const known = goals.filter((one) => one.beta !== null);
  const words = known.length > 1 ? "beta, to be reached" : `beta ${known[0]?.beta}, to be reached`;
  const goal = known.length ? [{ type: "scatter", mode: "lines", name: words, ...steps(goals, x.at(-1)), line: { color: colour("bad"), dash: "dash", width: 1.5 }, hovertemplate: "beta %{y}<extra></extra>" }] : [];
  await draw(ratio.place, [line("ratio", "free", " reached"), ...goal], { ...axes("Share"), ...legend, yaxis: { title: { text: "Share" }, range: [0, 1.05], tickformat: ".1f" } }, { name: "ratio" });
}

// -------------------------------------------------------------------------------- one round

function kindOf(row, closed) {
  if (!row.joined) return closed ? ["passed", "passed over"] : ["away", "not decided"];
  if (row.payment > 0) return ["money", "data and money"];
  return row.cost > 0 ? ["data", "data alone"] : ["free", "no cost"];
}

function decision(context, round) {
  const { digits, shares } = round;
  const sum = (value) => (value === null ? "–" : money(value, digits));
  const closed = round.stage === "closed";
  const most = Math.max(0, ...shares.map((row) => row.nats ?? 0)) || 1;
  const columns = [
    { title: "Rank", kind: "index", value: (row) => ordinal(shares.indexOf(row) + 1) },
    { title: "Client", kind: "name", value: (row) => h("a", { href: `${root}/clients/${row.client}` }, name(row.name, 40)) },
    { title: "Shares for", value: (row) => badge(...kindOf(row, closed)) },
    { title: "Steps", kind: "number", value: (row) => number(row.steps) },
    { title: "Contribution", unit: "nats", kind: "number", value: (row) => [number(row.nats, 3), row.nats === null ? null : bar("", [{ kind: "nats", share: row.nats / most }])] },
    { title: "Data incentive", unit: "money", kind: "number", value: (row) => sum(row.incentive) },
    { title: "Cost", unit: "money", kind: "number", value: (row) => [sum(row.cost), cover(row)] },
    { title: "Paid", unit: "money", kind: "number", value: (row) => (row.joined ? sum(row.payment) : "–") },
    { title: "Why", kind: "words", value: (row) => row.why },
  ];
  fill(context.place,
    h("div", { class: "heading" }, h("h1", {}, `Round ${ordinal(round.number)}`, badge(closed ? "live" : "barred", round.stage)),
      h("nav", { class: "row tight", "aria-label": "Rounds" }, round.number > 1 ? h("a", { class: "button", href: `${root}/rounds/${round.number - 1}` }, "← Earlier") : null,
        h("a", { class: "button", href: `${root}/rounds/${round.number + 1}` }, "Later →"), h("a", { class: "button", href: `${root}/rounds` }, "All rounds"))),
    h("p", { class: "callout" }, summary(round, sum)),
    facts([
      ["Paid", sum(round.payment), "money"], ["Information reached", number(round.ratio, 3), round.beta === null ? "det ratio" : `det ratio; beta is ${round.beta}`],
      ["Traffic", number(round.communication), "scalars"], ["Opened", moment(round.opened), ["by ", name(round.called_by, 30)]],
      ["Took", round.ended === null ? "in progress" : span(round.ended - round.opened), round.attempts > 1 ? `decided ${round.attempts} times` : null],
      ["Mechanism", broken(round.mechanism), `epoch ${ordinal(round.epoch)}`],
    ]),
    card("The decision, the largest contribution first",
      round.pruned ? h("p", { class: "muted" }, "What clients uploaded was pruned: contributions can no longer be computed.") : null,
      round.missing_code ? h("p", { class: "muted" }, "The code of the mechanism is not loaded here: without it, the decision cannot be explained.") : null,
      shares.length ? table(columns, shares, { label: "Decision", stack: true, tone: (row) => (row.joined || !closed ? null : "faint") }) : h("p", { class: "muted" }, "Nobody had new data."),
      h("p", { class: "small muted" }, h("span", { class: "key data" }, "cost covered by what the others share (data incentive)"), " ", h("span", { class: "key money" }, "covered by money")),
      round.idle ? h("p", { class: "small muted" }, `${counted(round.idle, "more client")} took part without new data.`) : null));
}

// A line may end between the words of a name like PaymentEfficient.
function broken(text) {
  return text.split(/(?=[A-Z])/).flatMap((word, n) => (n ? [h("wbr"), word] : [word]));
}

function span(seconds) {
  return seconds < 10 ? `${number(seconds, 1)} seconds` : lasting(seconds);
}

// How the cost of somebody who shares is covered.
function cover(row) {
  if (!row.joined || !row.cost || row.incentive === null) return null;
  const data = Math.min(row.incentive, row.cost) / row.cost;
  return bar("", [{ kind: "data", share: data }, { kind: "money", share: Math.min(1 - data, row.payment / row.cost) }]);
}

function summary(round, sum) {
  const joined = round.shares.filter((one) => one.joined).length;
  const all = counted(round.shares.length, "client");
  if (round.stage === "void") return "Nobody uploaded: the round ended without a decision.";
  if (round.stage !== "closed") return `${all} uploaded new data. Not decided yet.`;
  const passed = round.shares.length - joined;
  return `${number(joined)} of ${all} with new data shared${passed ? `, ${number(passed)} did not` : ""}. ` + bought(round, sum);
}

// Money that was not there was needed all the same.
function bought(round, sum) {
  const paid = round.shares.filter((one) => one.payment > 0).length;
  if (paid) return `${counted(paid, "client")} got ${sum(round.payment)} in money.`;
  const dear = Object.values(round.removed).filter((limit) => PRICED.includes(limit)).length;
  return dear ? `No money was paid: ${counted(dear, "client")} asked for more than a limit allows.` : "No money was needed.";
}
