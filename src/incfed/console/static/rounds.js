// Rounds over time, and a round with its whole decision.

import { get, query, root } from "./api.js";
import { colour, draw } from "./charts.js";
import { card, counted, fill, h, moment, money, number, ordinal, state, table } from "./dom.js";

export async function show(context) {
  if (context.rest.length) return one(context, context.rest[0]);
  context.charts = Object.fromEntries(["who", "money", "traffic", "ratio"].map((name) => [name, h("div", { class: `chart${name === "who" ? "" : " low"}`, "data-chart": name })]));
  await load(context);
}

export async function refresh(context) {
  if (!context.rest.length) await load(context, true);
  else if (context.ended === null) await one(context, context.rest[0]); // a round that ended stays as it is
}

async function load(context, again = false) {
  const found = await get(`rounds${query({ after: context.version })}`);
  if (found === null) return; // nothing new
  context.version = found.version;
  const { points, beta } = found;
  if (!points.length) {
    fill(context.place, h("h1", {}, "Rounds"), state("No round has closed yet", "A round opens when a client has learned enough, and closes when those who share have delivered."));
    context.drawn = false;
    return;
  }
  if (!again || !context.drawn) paint(context);
  context.drawn = true;
  const charts = () => drawAll(context.charts, points, beta);
  if (again) await charts();
  else context.shown = charts;
}

function paint(context) {
  const jump = h("input", { type: "number", min: "1", id: "jump", class: "small" });
  const open = (event) => { event.preventDefault(); if (jump.value) context.go(`rounds/${jump.value}`); };
  fill(context.place, h("h1", {}, "Rounds"),
    h("form", { class: "row", onsubmit: open }, h("label", { class: "inline", for: "jump" }, "Round", jump), h("button", {}, "Open"),
      h("span", { class: "muted small" }, "or click a bar")),
    card("Who shared, and why", context.charts.who), h("div", { class: "grid" }, card("Paid", context.charts.money), card("Traffic", context.charts.traffic),
      card("Information reached, of everyone's", context.charts.ratio)));
}

async function drawAll(places, points, beta) {
  const x = points.map((one) => one.last);
  const span = points.map((one) => (one.first === one.last ? `round ${one.first}` : `rounds ${one.first} to ${one.last}, in the mean`));
  const bars = [["for_data", "data alone", "data"], ["for_money", "data and money", "money"], ["no_cost", "no cost", "free"], ["passed_over", "passed over", "passed"]];
  const axes = (up) => ({ xaxis: { title: { text: "round" } }, yaxis: { title: { text: up }, rangemode: "tozero" }, legend: { orientation: "h", y: 1.15 } });
  await draw(places.who, bars.map(([key, name, tone]) => ({
    type: "bar", name, x, y: points.map((one) => one[key]), marker: { color: colour(tone), opacity: key === "passed_over" ? 0.45 : 1 }, customdata: span, hovertemplate: "%{y:.3~g} " + name + "<br>%{customdata}<extra></extra>",
  })), { ...axes("clients"), barmode: "stack", bargap: 0.1 }, "participants");
  places.who.removeAllListeners?.("plotly_click");
  places.who.on?.("plotly_click", (event) => { location.href = `${root}/rounds/${points[event.points[0].pointIndex].first}`; });
  const line = (key, name, tone) => ({ type: "scatter", mode: "lines", name, x, y: points.map((one) => one[key]), line: { color: colour(tone), shape: "hv" }, customdata: span, hovertemplate: "%{y:,.4~g}<br>%{customdata}<extra></extra>" });
  await draw(places.money, [line("payment", "paid", "money")], axes("money"), "payment");
  await draw(places.traffic, [line("communication", "traffic", "data")], axes("scalars"), "traffic");
  const goal = beta === null ? [] : [{ type: "scatter", mode: "lines", name: `beta ${beta}`, x: [x[0], x.at(-1)], y: [beta, beta], line: { color: colour("bad"), dash: "dash" }, hoverinfo: "skip" }];
  await draw(places.ratio, [line("ratio", "ratio", "free"), ...goal], axes("det ratio"), "ratio");
}

async function one(context, number_) {
  const round = await get(`rounds/${encodeURIComponent(number_)}${query({ after: context.version })}`);
  if (round === null) return; // nothing new
  Object.assign(context, { version: round.version, ended: round.ended });
  const { digits } = round;
  const facts = [
    ["Opened by", round.called_by], ["Opened", moment(round.opened)], ["Ended", round.ended === null ? "in progress" : moment(round.ended)],
    ["Mechanism", round.beta === null ? round.mechanism : `${round.mechanism}, beta ${round.beta}`], ["Decided", counted(round.attempts, "time")],
    ["Reached (det ratio)", number(round.ratio, 3)], ["Paid", money(round.payment, digits)],
    ["Traffic", round.communication === null ? "–" : counted(round.communication, "scalar")],
  ];
  const columns = [
    { title: "Client", kind: "name", value: (row) => h("a", { href: `${root}/clients/${row.client}` }, row.name), hint: (row) => row.name },
    { title: "Steps", kind: "number", value: (row) => number(row.steps) },
    { title: "Contribution (nats)", kind: "number", value: (row) => number(row.nats, 3) },
    { title: "Data is worth", kind: "number", value: (row) => money(row.incentive, digits) },
    { title: "Cost", kind: "number", value: (row) => money(row.cost, digits) },
    { title: "Paid", kind: "number", value: (row) => (row.joined ? money(row.payment, digits) : "–") },
    { title: "Why", kind: "words", value: (row) => row.why },
  ];
  fill(context.place, h("h1", {}, `Round ${ordinal(round.number)}`, h("small", {}, round.stage)),
    h("p", { class: "row" }, round.number > 1 ? h("a", { class: "button", href: `${root}/rounds/${round.number - 1}` }, "← Earlier") : null,
      h("a", { class: "button", href: `${root}/rounds/${round.number + 1}` }, "Later →"), h("a", { class: "button", href: `${root}/rounds` }, "All rounds")),
    h("div", { class: "grid" }, facts.map(([title, value]) => h("div", { class: "card" }, h("span", { class: "muted small" }, title), h("div", {}, value)))),
    card("Who could share, the largest contribution first",
      round.pruned ? h("p", { class: "muted" }, "What clients uploaded was pruned: contributions can no longer be computed.") : null,
      round.shares.length ? table(columns, round.shares, { label: "decision" }) : h("p", { class: "muted" }, "Nobody had new data."),
      round.idle ? h("p", { class: "small muted" }, `${counted(round.idle, "more client")} took part without new data.`) : null));
}
