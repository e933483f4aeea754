// Requests to the service: JSON, problem documents as errors, and a dialog for the API key. The page sends no other requests.

import { find, h } from "./dom.js";

const STORED = "tacit-api-key";
let key = sessionStorage.getItem(STORED);
let asking = null;

/** An error of the service as a sentence; `status` is 0 if it did not answer. */
export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** The JSON response to GET `path` with `parameters`, or to POST with a `body`; rejects with a Problem. */
export async function ask(path, { parameters = {}, body = null, signal = null } = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) query.append(name, value);
  const method = body ? "POST" : "GET";
  return read(await request(query.size ? `${path}?${query}` : path, { method, body: body && JSON.stringify(body), signal }));
}

/** The response to a request with any status, except 401: then the user is asked for a key; `body` is JSON text. */
export async function request(path, { method = "GET", body = null, signal = null } = {}) {
  for (let refused = false; ; refused = true) {
    const used = key;
    const response = await send(path, method, body, signal);
    if (response.status !== 401) return response;
    if (used !== key) continue; // another request has set a key in the meantime
    asking ??= askForKey(refused || used !== null).finally(() => { asking = null; });
    if (!(await asking)) throw new Problem("The service needs an API key. Reload the page to enter one.", 401);
  }
}

async function send(path, method, body, signal) {
  const headers = { Accept: "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method, headers, body, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The service does not answer. Is it still running?", 0);
  }
}

async function read(response) {
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const id = answer?.request_id ?? response.headers.get("X-Request-ID");
  const reason = sentence(answer?.detail ?? answer?.title ?? `The service answers ${response.status} ${response.statusText}`);
  const patience = (response.status === 429 || response.status === 503) && !/try again/i.test(reason) ? " Try again in a moment." : "";
  throw new Problem(`${reason}${patience}${response.status >= 500 && id ? ` (request ${id})` : ""}`, response.status);
}

function sentence(text) {
  const trimmed = String(text).trim();
  const begun = /^[a-z]+\b(?!\()/.test(trimmed) ? trimmed[0].toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** The dialog for the API key, created on first use. */
function keyDialog() {
  const dialog = h("dialog", { id: "key-dialog", "aria-labelledby": "key-title" },
    h("form", { method: "dialog", autocomplete: "off" },
      h("h2", { id: "key-title" }, "This service needs an API key"),
      h("p", { id: "key-hint" }),
      h("div", { class: "field" },
        h("label", { for: "key" }, "API key"),
        h("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", "aria-describedby": "key-hint" })),
      h("div", { class: "actions" },
        h("button", { type: "submit", class: "primary", value: "use" }, "Use it"),
        h("button", { type: "submit", value: "cancel", formnovalidate: true }, "Not now"))));
  document.body.append(dialog);
  return dialog;
}

function askForKey(wrong) {
  const dialog = find("key-dialog") ?? keyDialog();
  find("key-hint").textContent = wrong
    ? "That key was refused. A key stays in this tab and is forgotten when the tab is closed."
    : "It stays in this tab and is forgotten when the tab is closed.";
  find("key").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = find("key").value.trim();
      find("key").value = "";
      if (dialog.returnValue === "use" && given) {
        key = given;
        sessionStorage.setItem(STORED, given);
      }
      resolve(dialog.returnValue === "use" && given !== "");
    }, { once: true });
  });
}
