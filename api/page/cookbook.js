// The view for Cypher: a query of the cookbook or of the user, its parameters as fields, the rows as a table.

import { address as conceptAddress } from "./concepts.js";
import { decimal, fault, find, h, plural, show } from "./dom.js";
import { ask } from "./service.js";

const OWN = "MATCH (a:Concept)-[r:IsA]->(b:Concept)\nRETURN a.text AS what, b.text AS kind, r.weight AS weight\nORDER BY weight DESC, what, kind";

let recipes = null;
let chosen = null;
let own = OWN;
let running = null;
const given = new Map(); // typed values by parameter, kept when another query is chosen

export function start() {
  find("recipe").addEventListener("change", (event) => {
    const goal = `#/cookbook/${event.target.value}`;
    if (location.hash === goal) choose(event.target.value);
    else location.hash = goal;
  });
  find("cypher").addEventListener("input", () => {
    if (!chosen || chosen.name === "own") own = find("cypher").value; // also while the cookbook is still loading
    fields();
  });
  const form = find("cookbook-form");
  form.addEventListener("submit", (event) => { event.preventDefault(); run(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
}

export async function open([name, encoded]) {
  try {
    const known = await load();
    const select = find("recipe");
    if (!select.options.length) {
      select.append(...known.map((query) => h("option", { value: query.name }, query.summary)), h("option", { value: "own" }, "Your own query"));
    }
    let linked = null, refused = null;
    try { linked = encoded === undefined ? null : read(encoded); } catch (error) { refused = error; }
    if (linked) { take(known, linked); return; }
    await choose(known.some((query) => query.name === name) || name === "own" ? name : chosen?.name ?? (find("cypher").value ? "own" : known[0]?.name) ?? "own");
    if (refused) fault(find("cookbook-fault"), refused);
  } catch (error) {
    fault(find("cookbook-fault"), error);
  }
}

async function choose(name) {
  const query = (await load()).find((entry) => entry.name === name) ?? { name: "own", text: own, parameters: [] };
  find("recipe").value = query.name;
  if (chosen?.name === query.name) return;
  chosen = query;
  if (find("cypher").value !== query.text) { // else it was typed, and maybe run, while the cookbook was loading
    find("cypher").value = query.text;
    find("cypher").rows = Math.min(14, Math.max(5, query.text.split("\n").length + 1));
    forget();
  }
  fields();
}

/** Abort the running query, and clear its result. */
function forget() {
  running?.abort();
  fault(find("cookbook-fault"), null);
  find("cookbook-status").textContent = "";
  show(find("cookbook-results"));
}

/** The page's URL of a query, of the cookbook or not, with its parameters; it is run when the reader says so. */
export const address = (query, parameters) => `#/cookbook/own/${encodeURIComponent(JSON.stringify({ query, parameters }))}`;

/** The query in a link. */
function read(text) {
  let query = null;
  try {
    query = JSON.parse(text);
  } catch { /* reported below */ }
  const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  if (!isTable(query) || typeof query.query !== "string" || !isTable(query.parameters)) throw new Error("The link does not hold a query that this page can read; ask for it again.");
  return query;
}

/** Show the query of a link with its parameters. */
function take(recipes, { query: text, parameters }) {
  for (const [name, value] of Object.entries(parameters)) given.set(name, typeof value === "string" ? value : JSON.stringify(value));
  const known = recipes.find((query) => query.text.trim() === text.trim());
  if (!known) own = text;
  chosen = null;
  show(find("parameters")); // the fields are created again with these values
  forget();
  choose(known?.name ?? "own");
}

function load() {
  recipes ??= ask("v1/cookbook").then((answer) => answer.queries).catch((error) => { recipes = null; throw error; });
  return recipes;
}

/** The names of $parameters outside of quotes and comments, in order. */
function parametersOf(text) {
  const bare = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\/\/.*|\/\*[^]*?\*\//g, " ");
  return [...new Set([...bare.matchAll(/\$([A-Za-z_]\w*)/g)].map((match) => match[1]))];
}

function fields() {
  const names = parametersOf(find("cypher").value);
  const place = find("parameters");
  if (names.join() === [...place.querySelectorAll("input")].map((input) => input.name).join()) return;
  show(place, names.map((name) => {
    const input = h("input", { id: `parameter-${name}`, name, type: "text", autocomplete: "off", spellcheck: "false",
      value: given.get(name) ?? chosen?.example?.[name] ?? "" });
    input.addEventListener("input", () => given.set(name, input.value));
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); find("cookbook-form").requestSubmit(); } });
    return h("div", { class: "field" }, h("label", { for: input.id }, h("code", {}, `$${name}`)), input);
  }));
}

/** A parameter's value: JSON if it is a number, a list, an object, true, false or null, else text. */
function valueOf(text) {
  if (/^\s*(-?\d|\[|\{|true$|false$|null$)/.test(text)) {
    try { return JSON.parse(text); } catch { /* text that begins like a number */ }
  }
  return text;
}

async function run() {
  running?.abort();
  const mine = running = new AbortController();
  const text = find("cypher").value.trim();
  const parameters = Object.fromEntries([...find("parameters").querySelectorAll("input")].map((input) => [input.name, valueOf(input.value)]));
  const query = chosen && chosen.name !== "own" && text === chosen.text.trim() ? chosen.name : text;
  const status = find("cookbook-status");
  fault(find("cookbook-fault"), null);
  status.textContent = "Asking …";
  find("cookbook").setAttribute("aria-busy", "true");
  try {
    const began = performance.now();
    const answer = await ask("v1/cypher", { body: { query, parameters, limit: Number(find("limit").value) || 100 }, signal: mine.signal });
    const time = performance.now() - began;
    status.textContent = `${answer.truncated ? "the first " : ""}${plural(answer.rows.length, "row")} in ${time < 1000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`}${answer.truncated ? "; there are more" : ""}`;
    show(find("cookbook-results"), answer.rows.length ? table(answer) : h("p", { class: "card" }, "No rows."));
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = "";
    show(find("cookbook-results"));
    fault(find("cookbook-fault"), error);
  } finally {
    if (running === mine) find("cookbook").removeAttribute("aria-busy");
  }
}

function table({ columns, rows }) {
  const numeric = columns.map((column) => rows.every((row) => row[column] === null || typeof row[column] === "number"));
  return h("div", { class: "scroll card flush", tabindex: "0", role: "region", "aria-label": "Rows" }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((column, at) => h("th", { scope: "col", class: numeric[at] ? "number" : null }, column)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((column, at) => h("td", { class: numeric[at] ? "number" : null }, cell(row[column]))))))));
}

function cell(value) {
  if (value === null || value === undefined) return h("span", { class: "absent" }, "null");
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : decimal(value);
  if (typeof value === "string") return value.startsWith("/c/") ? h("a", { href: conceptAddress(value) }, value) : value;
  return h("code", {}, JSON.stringify(value));
}
