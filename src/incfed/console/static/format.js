// Numbers, money, times and names as people read them.

import { ahead } from "./api.js";
import { h } from "./dom.js";

const LONGEST = 60; // characters of a name that are shown; the rest is in its title

const decimals = new Map();
function decimal(digits) {
  if (!decimals.has(digits)) {
    const shape = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    decimals.set(digits, new Intl.NumberFormat("en", shape));
  }
  return decimals.get(digits);
}

// Three to four digits that count; from a million on with a unit.
export function number(value, digits = null) {
  if (value === null || value === undefined) return "–";
  if (digits !== null) return decimal(digits).format(value);
  const size = Math.abs(value);
  for (const [scale, unit] of [[1e12, " T"], [1e9, " B"], [1e6, " M"]]) {
    if (size >= scale) return decimal(2).format(value / scale) + unit;
  }
  return decimal(Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3).format(value);
}

export function signed(value) {
  return value > 0 ? `+${number(value)}` : number(value).replace("-", "−");
}

export function money(value, digits) {
  return number(value, digits ?? 2);
}

// Less than all is never shown as 100 %.
export function percent(share) {
  if (share > 0.99 && share < 1) return `${decimal(1).format(Math.floor(1000 * share) / 10)} %`;
  return `${decimal(share < 0.1 ? 1 : 0).format(100 * share)} %`;
}

// Of a round or an entry: never shortened.
export function ordinal(value) {
  return decimal(0).format(value);
}

export function counted(count, word, many = `${word}s`) {
  return `${number(count)} ${count === 1 ? word : many}`;
}

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "long" });
const complete = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
export const zone = moments.resolvedOptions().timeZone;

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const date = new Date(seconds * 1000);
  return h("time", { datetime: date.toISOString(), title: complete.format(date) }, moments.format(date));
}

export function day(seconds) {
  const date = new Date(seconds * 1000);
  return h("time", { datetime: date.toISOString(), title: complete.format(date) }, days.format(date));
}

export function lasting(seconds) {
  const steps = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, unit] = steps.find(([size]) => seconds >= size) ?? [1, "second"];
  return counted(Math.floor(seconds / size), unit);
}

// How long ago, by the clock of the server: kept up to date by `tick`.
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  const date = new Date(seconds * 1000);
  const time = h("time", { datetime: date.toISOString(), title: complete.format(date), "data-since": seconds });
  return told(time);
}

// How long still.
export function left(until) {
  return told(h("time", { "data-until": until }));
}

function told(time) {
  const now = Date.now() / 1000 + ahead;
  let words;
  if (time.dataset.since) {
    const gone = now - Number(time.dataset.since);
    words = gone < 5 ? "just now" : `${lasting(gone)} ago`;
  } else {
    const seconds = Math.ceil(Number(time.dataset.until) - now);
    words = seconds > 0 ? `${lasting(seconds)} left` : "time is up";
  }
  if (time.textContent !== words) time.textContent = words;
  return time;
}

export function tick() {
  for (const time of document.querySelectorAll("time[data-since], time[data-until]")) told(time);
}

// A name that somebody else chose: a text of its own direction, and not too long.
export function name(text, longest = LONGEST) {
  const letters = Array.from(text);
  const cut = letters.length > longest;
  return h("bdi", { class: "name", title: cut ? text : null }, cut ? `${letters.slice(0, longest).join("")}…` : text);
}

export function names(texts) {
  return texts.flatMap((one, n) => [n ? ", " : "", name(one)]);
}

// A sentence of the server. It marks names by the characters that isolate them (U+2068, U+2069),
// and commands by backticks.
export function said(text) {
  const parts = text.split(/\u2068([^\u2069]*)\u2069/);
  const words = (part) => part.split(/`([^`]*)`/).map((one, n) => (n % 2 ? h("code", {}, one) : one));
  return h("bdi", { dir: "ltr" }, parts.map((part, n) => (n % 2 ? name(part) : words(part))));
}
