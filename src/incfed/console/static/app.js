// The console: which view is shown, who looks at it, and when it is brought up to date.

import { Failure, get, post, root } from "./api.js";
import { redraw } from "./charts.js";
import { fill, h, state, toast } from "./dom.js";
import * as now from "./now.js";
import * as rounds from "./rounds.js";
import * as clients from "./clients.js";
import * as ledger from "./ledger.js";
import * as runs from "./runs.js";

const EVERY = 2000; // milliseconds between looks, while the page is seen
const { federation, runs: saved, login } = document.body.dataset;
const VIEWS = [
  ...(federation === "true" ? [["now", "Now", now], ["rounds", "Rounds", rounds], ["clients", "Clients", clients], ["ledger", "Ledger", ledger]] : []),
  ...(saved === "true" ? [["runs", "Runs", runs]] : []),
];
const place = document.getElementById("view");
const live = document.getElementById("live");

export const session = { who: null };
let current = null; // the view that is shown: {module, context}
let timer = null;

function here() {
  const path = location.pathname.slice(root.length).split("/").filter(Boolean);
  return { name: path[0] ?? VIEWS[0][0], rest: path.slice(1), query: new URLSearchParams(location.search) };
}

export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", `${root}/${path}`);
  show();
}

async function show() {
  clearTimeout(timer);
  const { name, rest, query } = here();
  const found = VIEWS.find(([key]) => key === name);
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = found ? `${found[1]} · incfed console` : "incfed console";
  if (!found) {
    fill(place, state("There is no such page", "Choose one above."));
    return;
  }
  const context = { place: h("div"), rest, query, go, session, mayChange: session.who?.role === "operator" };
  const mine = { module: found[2], context };
  current = mine;
  fill(place, h("p", { class: "state" }, "Loading…"));
  const done = await attempt(() => found[2].show(context), mine);
  if (current !== mine) return; // another view was chosen meanwhile
  if (done) {
    fill(place, context.place);
    await attempt(async () => context.shown?.(), mine);
    schedule();
  } else if (live.dataset.state === "lost") timer = setTimeout(show, EVERY);
}

// Runs a request of a view; says what went wrong, if something did and the view is still shown.
async function attempt(work, mine, quiet = false) {
  try {
    await work();
    connection(true);
    return true;
  } catch (error) {
    if (current !== mine) return false;
    const status = error instanceof Failure ? error.status : null;
    if (status === 401) logIn(session.who ? "Your session has expired. Log in again." : "");
    else if (status === 0 || status === 503) {
      connection(false);
      if (!quiet) fill(place, state("No connection", error.message, { error: true }));
    } else if (!quiet) {
      const title = { 403: "You may not see this", 404: "Not found" }[status] ?? "That did not work";
      fill(place, state(title, error.message, { error: true }));
    }
    return false;
  }
}

function connection(there) {
  live.dataset.state = there ? "live" : "lost";
  live.textContent = there ? "live" : "connection lost, trying again";
}

function schedule() {
  clearTimeout(timer);
  if (!document.hidden && current?.module.refresh) timer = setTimeout(refresh, EVERY);
}

async function refresh() {
  const mine = current;
  const lost = live.dataset.state === "lost";
  const done = await attempt(() => mine.module.refresh(mine.context), mine, true);
  if (done && lost && current === mine) show(); // what was missed
  else if (current === mine) schedule();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (current?.module.refresh) refresh();
});

// ------------------------------------------------------------------------------- the session

// A link may bring the token along, after "#", which browsers do not send.
async function useLink() {
  if (!location.hash.startsWith("#token=")) return;
  const token = decodeURIComponent(location.hash.slice(7));
  history.replaceState(null, "", location.pathname + location.search);
  await post("login", { token }).catch((error) => toast(error.message, true));
}

async function start() {
  await useLink();
  fill(document.getElementById("nav"), VIEWS.map(([key, title]) => h("a", { href: `${root}/${key}`, "data-view": key }, title)));
  current = null;
  const done = await attempt(async () => { session.who = await get("me"); }, null);
  if (!done) {
    if (live.dataset.state === "lost") timer = setTimeout(start, EVERY);
    return;
  }
  const who = document.getElementById("who");
  if (login === "true") {
    const leave = h("button", { type: "button", onclick: logOut }, "Log out");
    fill(who, `${session.who.name} (${session.who.role}) `, leave);
  }
  show();
}

function logIn(words) {
  current = null;
  clearTimeout(timer);
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  const error = h("p", { class: "muted", role: "alert" }, words);
  const send = async (event) => {
    event.preventDefault();
    try {
      await post("login", { token: token.value });
      session.who = null;
      start();
    } catch (failure) {
      fill(error, failure.message);
      token.select();
    }
  };
  fill(place, h("section", { class: "card login" }, h("h1", {}, "Log in"),
    h("p", { class: "muted" }, "With the token that ", h("code", {}, "incfed operator add"), " printed."), error,
    h("form", { onsubmit: send }, h("label", { for: "token" }, "Token", token), h("button", { class: "primary" }, "Log in"))));
  token.focus();
}

async function logOut() {
  await post("logout").catch((error) => toast(error.message, true));
  session.who = null;
  fill(document.getElementById("who"));
  logIn("You are logged out.");
}

// ------------------------------------------------------------------------------ links, theme

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const inside = link?.href.startsWith(`${location.origin}${root}/`) && !link.hasAttribute("download") && !link.pathname.startsWith(`${root}/api/`);
  if (!inside || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  show();
  place.focus({ preventScroll: true });
});
window.addEventListener("popstate", show);

const themes = window.matchMedia("(prefers-color-scheme: dark)");
function theme(kept) {
  const dark = kept ? kept === "dark" : themes.matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.getElementById("theme").textContent = dark ? "Light" : "Dark";
  redraw();
}
const kept = () => { try { return localStorage.getItem("incfed-theme"); } catch { return null; } };
document.getElementById("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("incfed-theme", next); } catch { /* private window */ }
  theme(next);
});
themes.addEventListener("change", () => theme(kept()));
theme(kept());
start();
