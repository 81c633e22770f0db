// Elements, tables, dialogs and the states of a view. Text is always set as text: what a client is
// called, or what a tag says, is never read as HTML.

import { Failure } from "./api.js";

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...some(children));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function some(children) {
  return children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false);
}

// New content in a place. What had the focus, was scrolled or was open, is so again.
export function fill(place, ...children) {
  const focused = place.contains(document.activeElement) ? remembered(place, document.activeElement) : null;
  const scrolled = [...place.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  const each = () => [...place.querySelectorAll("details")].map((one, n) => [one, one.id || n]);
  const open = new Map(each().map(([one, key]) => [key, one.open]));
  place.replaceChildren(...some(children));
  place.querySelectorAll(".scroll").forEach((one, n) => { one.scrollLeft = scrolled[n] ?? 0; });
  for (const [one, key] of each()) one.open ||= open.get(key) ?? false;
  if (focused) found(place, focused)?.focus({ preventScroll: true });
}

// By its id or its link, and only without these by its position: rows may have moved.
function remembered(place, element) {
  const link = element.getAttribute("href");
  const key = element.id ? `#${CSS.escape(element.id)}` : link ? `[href="${CSS.escape(link)}"]` : "*";
  return { key, steps: path(place, element) };
}

function found(place, { key, steps }) {
  const there = follow(place, steps);
  if (there?.matches(key)) return there;
  return key === "*" ? null : place.querySelector(key);
}

function path(place, element) {
  const steps = [];
  for (let one = element; one !== place; one = one.parentElement) steps.unshift([one.tagName, [...one.parentElement.children].indexOf(one)]);
  return steps;
}

function follow(place, steps) {
  let one = place;
  for (const [tag, index] of steps) {
    one = one?.children[index];
    if (one?.tagName !== tag) return null;
  }
  return one;
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, ...children);
}

// Figures in a row: [title, value, note].
export function facts(rows) {
  return h("dl", { class: "facts card" }, rows.map(([title, value, note]) =>
    h("div", {}, h("dt", {}, title), h("dd", {}, value, note ? h("small", {}, note) : null))));
}

export function badge(state, words = state) {
  return h("span", { class: `badge ${state}` }, words);
}

// A bar of parts, each {kind, share}.
export function bar(label, parts) {
  return h("div", { class: "track", role: "img", "aria-label": label }, parts.filter((one) => one.share > 0).map(({ kind, share }) => {
    const part = h("i", { class: kind });
    part.style.width = `${Math.min(100, 100 * share)}%`;
    return part;
  }));
}

// columns: {title, unit, value(row), kind, sort, first}. `kind` is number, name, words or text;
// onSort(key, descending) makes headers buttons, and `first` says that the largest comes first. On
// a narrow screen, a table with `stack` has a block for each row.
export function table(columns, rows, { sort = null, descending = false, onSort = null, label, tone = null, stack = false } = {}) {
  const head = columns.map((column) => {
    const sorted = onSort && column.sort === sort;
    const order = sorted ? (descending ? "descending" : "ascending") : null;
    const title = [column.title, column.unit ? h("span", { class: "unit" }, ` ${column.unit}`) : null];
    const press = () => onSort(column.sort, sorted ? !descending : Boolean(column.first));
    const shown = onSort && column.sort ? h("button", { type: "button", onclick: press }, title) : title;
    return h("th", { scope: "col", class: column.kind ?? "text", "aria-sort": order }, shown);
  });
  const title = (column) => (typeof column.title === "string" ? [column.title, column.unit ? `(${column.unit})` : ""].join(" ").trim() : null);
  const cell = (column, row) => h("td", { class: column.kind ?? "text", "data-title": title(column) }, column.value(row));
  const body = rows.map((row) => h("tr", { class: tone ? tone(row) : null }, columns.map((column) => cell(column, row))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: stack ? "stack" : null }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

// ------------------------------------------------------------------------- states of a view

const ICONS = { empty: "◌", error: "!", lost: "⇄", denied: "⊘", found: "?" };

// Instead of content: {kind: empty, error, lost, denied, found; action}.
export function state(title, words, { kind = "empty", action = null } = {}) {
  return h("div", { class: `state ${kind}`, role: kind === "empty" ? null : "alert" },
    h("span", { class: "sign", "aria-hidden": "true" }, ICONS[kind]), h("h2", {}, title), words ? h("p", {}, words) : null, action);
}

export function loading() {
  return h("div", { class: "loading", role: "status" }, h("span", { class: "hidden" }, "Loading…"),
    h("i", { class: "title" }), h("i"), h("i", { class: "tall" }));
}

export function toast(words, bad = false) {
  document.querySelector(".toast")?.remove();
  const place = h("div", { class: `toast${bad ? " bad" : ""}`, role: bad ? "alert" : "status" }, words);
  document.body.append(place);
  setTimeout(() => place.remove(), 6000);
}

// Does what somebody asked for, and says so if that failed. Returns whether it was done.
export async function tried(work) {
  try {
    await work();
    return true;
  } catch (error) {
    toast(error.message, true);
    if (!(error instanceof Failure)) reportError(error); // of this page itself
    return false;
  }
}

// For readers that listen: what has changed.
export function announce(words) {
  document.getElementById("news").textContent = words;
}

// ---------------------------------------------------------------------------------- dialogs

// A dialog keeps the focus inside and closes with Escape. Resolves to its form's answer.
export function ask(title, content, verb, { danger = false } = {}) {
  return new Promise((resolve) => {
    const cancel = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
    const go = h("button", { value: "yes", class: danger ? "danger solid" : "primary" }, verb);
    const dialog = h("dialog", { "aria-labelledby": "question" },
      h("form", { method: "dialog" }, h("h2", { id: "question" }, title), content, h("div", { class: "row end" }, cancel, go)));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
    (dialog.querySelector("input") ?? cancel).focus();
  });
}
