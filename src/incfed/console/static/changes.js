// What operators may change: each asks first, and says what was done.

import { get, later, post } from "./api.js";
import { ask, h, toast, tried } from "./dom.js";
import { said } from "./format.js";

// Ask, do it, say so, and bring the view up to date. Returns whether it was done.
export async function change(context, title, words, verb, work, danger = false) {
  if (!(await ask(title, h("div", { class: "words" }, words), verb, { danger }))) return false;
  const done = await tried(async () => toast(said((await work()).text)));
  if (done) await context.repaint().catch(later);
  return done;
}

const FIELDS = [
  ["beta", "Beta", "share of everyone's information that a round must reach, from 0 to 1"],
  ["threshold", "Threshold D_c", "the lower it is, the sooner a client calls a round"],
  ["budget", "Budget in all", "money"], ["per_round", "Most for a round", "money"],
  ["per_payment", "Most for one payment", "money"], ["per_client", "Most for one client", "money"],
  ["reserve", "Reserve price", "no price above it is considered, money"],
];

// A form with the settings in force.
export async function settings(context, close) {
  const old = await get("changes/settings");
  const lacking = { beta: old.beta === null ? "the mechanism has none" : null, threshold: old.trigger ? `${old.trigger} opens rounds` : null };
  const field = ([name, title, unit]) => {
    const needed = name in lacking && old[name] !== null;
    const input = h("input", { type: "number", step: "any", min: "0", name, id: `set-${name}`, value: old[name] ?? "", required: needed,
      placeholder: lacking[name] ?? (name === "threshold" ? "no client opens a round" : "no limit"), disabled: Boolean(lacking[name]) });
    return h("label", { for: input.id }, h("span", {}, title), input, h("small", {}, unit));
  };
  const send = async (event) => {
    event.preventDefault();
    const value = (name) => (form.elements[name].value === "" ? null : Number(form.elements[name].value));
    const changed = FIELDS.filter(([name]) => value(name) !== (old[name] ?? null));
    if (!changed.length) { toast("Nothing was changed."); return; }
    const words = [h("span", {}, "In force from the next round on, until the config is changed."),
      h("ul", {}, changed.map(([name, title]) => h("li", {}, `${title}: ${old[name] ?? "none"} → ${value(name) ?? "none"}`)))];
    const body = Object.fromEntries(changed.map(([name]) => [name, value(name)]));
    if (await change(context, "Change settings?", words, "Change", () => post("changes/settings", body))) close();
  };
  const form = h("form", { class: "settings", onsubmit: send }, h("div", { class: "fields" }, FIELDS.map(field)),
    h("div", { class: "row" }, h("button", { class: "primary" }, "Change…"), h("button", { type: "button", onclick: close }, "Cancel")));
  return form;
}
