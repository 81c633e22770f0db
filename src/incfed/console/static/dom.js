// Elements, numbers, times, tables and the states of a view. Text is always set as text: what a
// client is called, or what a tag says, is never read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

export function fill(place, ...children) {
  place.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
}

const decimals = new Map();
function decimal(digits) {
  if (!decimals.has(digits)) {
    const shape = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    decimals.set(digits, new Intl.NumberFormat("en", shape));
  }
  return decimals.get(digits);
}

export function number(value, digits = null) {
  if (value === null || value === undefined) return "–";
  if (digits !== null) return decimal(digits).format(value);
  const size = Math.abs(value);
  if (size >= 1e6) return short(value);
  return decimal(Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3).format(value);
}

export function short(value) {
  for (const [scale, unit] of [[1e12, " T"], [1e9, " B"], [1e6, " M"]]) {
    if (Math.abs(value) >= scale) return decimal(2).format(value / scale) + unit;
  }
  return number(value);
}

export function money(value, digits) {
  return number(value, digits === null || digits === undefined ? 2 : digits);
}

const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "long" });

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const date = new Date(seconds * 1000);
  return h("time", { datetime: date.toISOString(), title: date.toString() }, moments.format(date));
}

export function day(seconds) {
  return days.format(new Date(seconds * 1000));
}

export function ago(seconds, now = Date.now() / 1000) {
  if (seconds === null || seconds === undefined) return "never";
  const gone = Math.max(0, now - seconds);
  const steps = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, unit] = steps.find(([size]) => gone >= size) ?? [1, "second"];
  const count = Math.floor(gone / size);
  return h("time", { title: new Date(seconds * 1000).toString() }, count ? `${count} ${unit}${count === 1 ? "" : "s"} ago` : "just now");
}

// Of a round or an entry: never shortened.
export function ordinal(value) {
  return decimal(0).format(value);
}

export function counted(count, word, many = `${word}s`) {
  return `${number(count)} ${count === 1 ? word : many}`;
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, ...children);
}

// columns: {title, text, value(row), sort, kind}. onSort(key, descending) makes headers buttons.
export function table(columns, rows, { sort = null, descending = false, onSort = null, label = "" } = {}) {
  const head = columns.map((column) => {
    const sorted = onSort && column.sort === sort;
    const order = sorted ? (descending ? "descending" : "ascending") : null;
    const title = onSort && column.sort
      ? h("button", { type: "button", onclick: () => onSort(column.sort, sorted ? !descending : Boolean(column.first)) }, column.title)
      : column.title;
    return h("th", { scope: "col", class: column.kind === "number" ? null : "text", "aria-sort": order }, title);
  });
  const body = rows.map((row) => h("tr", {}, columns.map((column) =>
    h("td", { class: { number: null, words: "words", name: "name" }[column.kind ?? "text"] ?? (column.kind === "number" ? null : "text"),
      title: column.hint ? column.hint(row) : null }, column.value(row)))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label || "table" },
    h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

export function state(title, words, { error = false, action = null } = {}) {
  return h("div", { class: `state${error ? " error" : ""}`, role: error ? "alert" : null },
    h("h2", {}, title), words ? h("p", {}, words) : null, action);
}

export function toast(words, bad = false) {
  const place = h("div", { class: `toast${bad ? " bad" : ""}`, role: "status" }, words);
  document.body.append(place);
  setTimeout(() => place.remove(), 6000);
}

// Ask before a change. Resolves to true if it was confirmed.
export function confirmed(title, words, verb, danger = false) {
  return new Promise((resolve) => {
    const cancel = h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel");
    const go = h("button", { type: "button", class: danger ? "danger" : "primary", onclick: () => dialog.close("yes") }, verb);
    const dialog = h("dialog", { "aria-label": title }, h("h2", {}, title), h("p", {}, words), h("div", { class: "row" }, cancel, go));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
    cancel.focus();
  });
}
