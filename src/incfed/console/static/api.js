// Requests to this server, and what may go wrong with them.

export const root = document.body.dataset.root;

export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status; // 0: no answer at all
  }
}

// For what is tried again anyway: that it failed is no error of the page.
export function later(error) {
  if (!(error instanceof Failure)) throw error;
}

const UNANSWERED = "The server does not answer. This page tries again by itself.";
const UNDONE = "The server does not answer. See whether it was done before you try again."; // nobody repeats a change

export let ahead = 0; // seconds by which the clock of the server is ahead of this one

async function request(method, path, body) {
  let reply;
  try {
    const shape = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
    reply = await fetch(`${root}/api/${path}`, { method, credentials: "same-origin", ...shape });
  } catch {
    throw new Failure(0, path.startsWith("changes/") ? UNDONE : UNANSWERED);
  }
  const said = reply.status === 204 ? null : await reply.json().catch(() => null);
  if (!reply.ok) throw new Failure(reply.status, said?.message ?? said?.detail ?? `The server answered ${reply.status}.`);
  if (typeof said?.at === "number") ahead = said.at - Date.now() / 1000; // texts and lists have a method `at`
  return said;
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);
export const put = (path, body) => request("PUT", path, body);

// What is new at a path since `seen`, an earlier answer; null: nothing.
export async function fresh(path, seen) {
  const after = new URLSearchParams({ after: seen.version });
  const found = await get(`${path}${path.includes("?") ? "&" : "?"}${after}`);
  if (found === null) return null;
  const known = (answer) => JSON.stringify({ ...answer, at: 0, version: "" });
  if (known(found) !== known(seen)) return found;
  seen.version = found.version; // something changed that this view does not show
  return null;
}

export function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined || value === false) continue;
    for (const one of Array.isArray(value) ? value : [value]) found.append(name, one);
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}
