// The console: which view is shown, who looks at it, and when it is brought up to date.

import { Failure, get, post, root } from "./api.js";
import { forget, redraw } from "./charts.js";
import { fill, h, loading, state, toast, tried } from "./dom.js";
import { name, tick, zone } from "./format.js";
import * as now from "./now.js";
import * as rounds from "./rounds.js";
import * as clients from "./clients.js";
import * as ledger from "./ledger.js";
import * as runs from "./runs.js";

const EVERY = 2000; // milliseconds between looks, while the page is seen
const SOON = 150; // before it is said that something is being loaded
const { federation, runs: saved, login } = document.body.dataset;
const VIEWS = [
  ...(federation === "true" ? [["now", "Now", now], ["rounds", "Rounds", rounds], ["clients", "Clients", clients], ["ledger", "Ledger", ledger]] : []),
  ...(saved === "true" ? [["runs", "Runs", runs]] : []),
];
const place = document.getElementById("view");
const live = document.getElementById("live");
const lost = document.getElementById("lost");

let who = null; // is logged in
let current = null; // the view that is shown: {module, context, done: is it there}
let timer = null;

// ---------------------------------------------------------------------------------- the views

function here() {
  const path = location.pathname.slice(root.length).split("/").filter(Boolean);
  return { name: path[0] ?? VIEWS[0][0], rest: path.slice(1), query: new URLSearchParams(location.search) };
}

function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", `${root}/${path}`);
  return show();
}

async function show() {
  clearTimeout(timer);
  const { name, rest, query } = here();
  const found = VIEWS.find(([key]) => key === name);
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  titled(found?.[1]);
  if (!found) {
    current = null;
    fill(place, h("h1", { class: "hidden" }, "Not found"), state("There is no such page", "Choose one above.", { kind: "found" }));
    return;
  }
  const context = { place: h("div"), rest, query, go, titled, mayChange: who?.role === "operator", login: login === "true" };
  const again = current?.module === found[2] && current.context.rest.join() === rest.join(); // another sort, or page
  const mine = { module: found[2], context };
  current = mine;
  const wait = setTimeout(() => { if (current === mine && !again) fill(place, loading()); }, SOON);
  const done = await attempt(() => found[2].show(context), mine);
  clearTimeout(wait);
  if (current !== mine) return; // another view was chosen meanwhile
  if (done) {
    mine.done = true;
    fill(place, context.place);
    forget();
    await attempt(async () => context.shown?.(), mine);
    schedule();
  } else if (live.dataset.state === "lost") timer = setTimeout(show, EVERY);
}

function titled(words) {
  document.title = words ? `${words} · incfed console` : "incfed console";
}

const again = (mine) => h("button", { type: "button", onclick: () => (mine ? show() : start()) }, "Try again");

// From what is not there: to try it again does not help.
function back() {
  const [key, title] = VIEWS.find(([key]) => key === here().name) ?? VIEWS[0];
  return h("a", { class: "button", href: `${root}/${key}` }, title);
}

const STATES = { 403: ["You may not see this", "denied"], 404: ["Not found", "found"], 422: ["Not found", "found"] };

// Runs a request of a view; says what went wrong, if something did and the view is still shown.
async function attempt(work, mine, quiet = false) {
  try {
    await work();
    connected(true);
    return true;
  } catch (error) {
    if (current !== mine) return false;
    const status = error instanceof Failure ? error.status : null;
    const gone = status === 0 || status >= 500;
    connected(!gone);
    if (status === null) reportError(error); // of this page itself
    if (status === 401) logIn(who ? "Your session has ended. Log in again." : "");
    else if (!gone || !quiet) { // what was known stays, while there is no answer
      const lacking = status === 0 || status === 503 ? "No connection" : "The server has a problem";
      const [title, kind] = gone ? [lacking, "lost"] : STATES[status] ?? ["That did not work", "error"];
      if (mine) mine.done = false;
      fill(place, state(title, error.message, { kind, action: kind === "found" ? back() : again(mine) }));
    }
    return false;
  }
}

// ------------------------------------------------------------------------------ up to date

function connected(there) {
  const next = there ? "live" : "lost";
  const words = there ? (current?.module.refresh ? "live" : "") : "connection lost";
  if (live.textContent !== words) live.textContent = words;
  if (live.dataset.state === next) return;
  live.dataset.state = next;
  lost.hidden = there;
  if (!there) lost.textContent = `No answer since ${new Date().toLocaleTimeString()}. What you see may be out of date. Trying again every ${EVERY / 1000} seconds.`;
}

function schedule() {
  clearTimeout(timer);
  if (!document.hidden && current?.done && current.module.refresh) timer = setTimeout(refresh, EVERY);
}

async function refresh() {
  const mine = current;
  const wasLost = live.dataset.state === "lost";
  const done = await attempt(() => mine.module.refresh(mine.context), mine, true);
  if (current !== mine) return;
  if (done && wasLost) show(); // what was missed
  else schedule();
}

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (document.hidden) return;
  if (!current?.done && live.dataset.state === "lost") (who ? show : start)();
  else if (current?.done && current.module.refresh) refresh();
});
setInterval(() => { if (!document.hidden) tick(); }, 1000);

// ------------------------------------------------------------------------------- the session

// A link may bring the token along, after "#", which browsers do not send.
async function useLink() {
  if (!location.hash.startsWith("#token=")) return;
  const token = decodeURIComponent(location.hash.slice(7));
  history.replaceState(null, "", location.pathname + location.search);
  await post("login", { token }).catch((error) => toast(error.message, true));
}

async function start() {
  clearTimeout(timer);
  await useLink();
  fill(document.getElementById("nav"), VIEWS.map(([key, title]) => h("a", { href: `${root}/${key}`, "data-view": key }, title)));
  current = null;
  const done = await attempt(async () => { who = await get("me"); }, null);
  if (!done) {
    if (live.dataset.state === "lost") timer = setTimeout(start, EVERY);
    return;
  }
  if (login === "true") {
    const leave = h("button", { type: "button", class: "quiet", onclick: logOut }, "Log out");
    fill(document.getElementById("who"), h("span", {}, name(who.name, 20), ` (${who.role})`), leave);
  }
  show();
}

// Nobody is logged in, and nothing is live, while this is asked.
function logIn(words) {
  current = who = null;
  clearTimeout(timer);
  fill(document.getElementById("who"));
  live.textContent = "";
  titled("Log in");
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  const error = h("p", { class: "wrong", role: "alert" }, words);
  const send = async (event) => {
    event.preventDefault();
    try {
      await post("login", { token: token.value });
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
  if (await tried(() => post("logout"))) logIn("You are logged out.");
}

// ------------------------------------------------------------------------------ links, theme

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const inside = link?.href.startsWith(`${location.origin}${root}/`) && !link.hasAttribute("download") && !link.pathname.startsWith(`${root}/api/`);
  if (!inside || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  if (link.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  const same = link.pathname === location.pathname;
  history.pushState(null, "", link.href);
  show();
  if (same) return; // another sort, page or chart of the same view: the eye stays where it is
  place.focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
window.addEventListener("popstate", show);

const button = document.getElementById("theme");
function themed() {
  const dark = document.documentElement.dataset.theme === "dark";
  button.textContent = dark ? "☀ Light" : "☾ Dark";
  button.title = `Change to ${dark ? "light" : "dark"} colours`;
  redraw();
}
button.addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("incfed-theme", next); } catch { /* a private window */ }
  document.documentElement.dataset.theme = next;
  themed();
});
document.addEventListener("theme", themed);
document.getElementById("zone").textContent = `Times are those of ${zone}`;
themed();
start();
