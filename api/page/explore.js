// The view for exploring: a concept with its edges, concepts two hops away, and paths between two concepts.

import { combobox } from "./combobox.js";
import { address, pathsAddress, textOf } from "./concepts.js";
import { butterfly } from "./butterfly.js";
import { decimal, fault, find, h, plural, show } from "./dom.js";
import { ask } from "./service.js";

const MOST = 60; // edges per direction
const SHOWN = 7; // edges per group that are not collapsed
const PATHS = 10;
const OUT = `MATCH (c:Concept {uri: $uri})-[r]->(n:Concept) WHERE n.uri <> c.uri
RETURN type(r) AS relation, n.uri AS uri, n.text AS text, max(r.weight) AS weight
ORDER BY weight DESC, uri, relation LIMIT ${MOST}`;
const IN = OUT.replace("-[r]->", "<-[r]-");
const IDEAS = ["dog", "cook", "rain", "holiday", "exam", "doctor"];

let concept, target;
let trail = [];
let running = null;

export function start() {
  concept = combobox(find("concept-box"), "concept", () => submit());
  target = combobox(find("target-box"), "target", () => submit());
  find("explore-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
}

function submit() {
  const [from, to] = [concept.input.value.trim(), target.input.value.trim()];
  concept.close();
  target.close();
  if (!from) { concept.input.focus(); return; }
  const goal = to ? pathsAddress(from, to) : `#/explore/${encodeURIComponent(from)}`;
  if (location.hash === goal) open([from, to].filter(Boolean));
  else location.hash = goal;
}

export async function open([from, to]) {
  running?.abort();
  fault(find("explore-fault"), null);
  if (!from) { welcome(); return; }
  const mine = running = new AbortController();
  concept.input.value = shown(from);
  target.input.value = to ? shown(to) : "";
  find("explore-status").textContent = "Looking …";
  try {
    await (to ? paths(from, to, mine.signal) : around(from, mine.signal));
  } catch (error) {
    if (error.name === "AbortError" || running !== mine) return;
    show(find("explore-results"));
    find("explore-status").textContent = "";
    fault(find("explore-fault"), error);
  }
}

const shown = (word) => (word.startsWith("/c/") ? textOf(word) : word);

function welcome() {
  concept.input.value = target.input.value = "";
  find("explore-status").textContent = "";
  show(find("explore-results"), h("p", { class: "ideas" }, h("span", { class: "label" }, "Begin with"),
    IDEAS.map((word) => h("a", { class: "concept", href: `#/explore/${word}` }, word))));
  show(find("trail"));
}

async function around(word, signal) {
  const details = await ask(`v1/concepts/${encodeURIComponent(word)}`, { signal });
  // If Cypher is not available, the neighbours are still known, but not the relations.
  const edges = (query) => ask("v1/cypher", { body: { query, parameters: { uri: details.uri }, limit: MOST }, signal }).catch((error) => {
    if (error.name === "AbortError") throw error;
    return { rows: [], missed: true };
  });
  const [out, into, far] = await Promise.all([edges(OUT), edges(IN),
    ask("v1/neighbours", { parameters: { concept: details.uri, hop: 2, limit: 12 }, signal })]);
  follow(details.uri);
  const text = textOf(details.uri);
  document.title = `${text} · Explore · tacit`;
  const heaviest = Math.max(...[...out.rows, ...into.rows].map((row) => row.weight), Number.MIN_VALUE);
  show(find("explore-results"), h("article", { class: "card" },
    h("header", {}, h("h2", { id: "concept-title", tabindex: "-1" }, text), h("code", { class: "uri" }, details.uri)),
    butterfly(text, out.rows, into.rows),
    out.missed || into.missed ? [h("p", { class: "note" }, "The relations could not be asked for now; these are the strongest neighbours."),
      h("p", { class: "chips" }, details.neighbours.map((row) => h("a", { class: "concept", href: address(row.uri) }, row.text)))] : null,
    side(`What is said of ${text}`, out.rows, (relation) => [`${text} `, h("span", { class: "relation" }, relation), " …"], heaviest),
    side(`Where ${text} is said of others`, into.rows, (relation) => ["… ", h("span", { class: "relation" }, relation), ` ${text}`], heaviest),
    far.neighbours.length ? [h("h3", {}, "Two hops away"), h("p", { class: "chips" }, far.neighbours.map((row) =>
      h("a", { class: "concept", href: address(row.uri), title: `weight ${decimal(row.weight)}` }, row.text)))] : null,
    h("p", { class: "hint after" }, "Paths to ", h("a", { href: pathsAddress(text, "dog" === text ? "doctor" : "dog") }, "dog" === text ? "doctor" : "dog"), ", or to any other: name it above.")));
  const all = out.rows.length + into.rows.length;
  const cut = out.rows.length === MOST || into.rows.length === MOST;
  find("explore-status").textContent = cut ? `the ${all} strongest edges` : all ? plural(all, "edge") : "no edge";
  if (document.activeElement === document.body || document.activeElement?.closest?.("#explore-results, #trail")) find("concept-title").focus({ preventScroll: true });
}

/** Edges of one direction, grouped by relation, the strongest first. */
function side(title, rows, heading, heaviest) {
  if (!rows.length) return null;
  const groups = Map.groupBy ? Map.groupBy(rows, (row) => row.relation) : grouped(rows);
  const list = (edges) => h("ul", { class: "edges" }, edges.map((row) => h("li", {},
    h("a", { class: "concept", href: address(row.uri) }, row.text),
    bar(row.weight / heaviest), h("span", { class: "weight" }, h("span", { class: "away" }, "weight "), decimal(row.weight, 2)))));
  return h("section", {}, h("h3", {}, title), h("div", { class: "groups" }, [...groups].map(([relation, edges]) => {
    const [first, rest] = edges.length > SHOWN + 2 ? [edges.slice(0, SHOWN), edges.slice(SHOWN)] : [edges, []];
    return h("div", { class: "group" }, h("h4", {}, heading(relation)), list(first),
      rest.length ? h("details", { class: "more" }, h("summary", {}, `${rest.length} more`), list(rest)) : null);
  })));
}

function grouped(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.relation, [...(groups.get(row.relation) ?? []), row]);
  return groups;
}

function bar(part) {
  const inner = h("span");
  inner.style.inlineSize = `${Math.max(4, 100 * part)}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, inner);
}

async function paths(from, to, signal) {
  const answer = await ask("v1/paths", { parameters: { source: from, target: to, limit: PATHS }, signal });
  const rows = answer.paths;
  show(find("explore-results"), h("article", { class: "card" },
    h("header", {}, h("h2", { id: "concept-title", tabindex: "-1" }, `${shown(from)} and ${shown(to)}`)),
    rows.length ? h("ol", { class: "paths" }, rows.map(path)) : h("p", {}, "No path of at most six hops joins them.")));
  find("explore-status").textContent = rows.length
    ? `${rows.length < PATHS ? plural(rows.length, "path") : `the ${PATHS} strongest paths`} of ${plural(rows[0].hops, "hop")}${rows.length < PATHS ? ", the strongest first" : ""}` : "no path";
}

function path(row) {
  return h("li", {}, h("p", { class: "chain" }, row.nodes.map((uri, place) => [
    place ? edge(row.steps[place - 1]) : null,
    h("a", { class: "concept", href: address(uri) }, row.node_texts[place])])),
  row.steps.length ? h("p", { class: "hint" }, `as strong as its weakest edge, ${decimal(row.strength)}`) : null);
}

function edge(assertion) {
  const forward = assertion.direction === "forward";
  return h("span", { class: "step" },
    h("span", { class: "arrow", "aria-hidden": "true" }, forward ? "–" : "←"), h("span", { class: "away" }, forward ? " " : " is what "),
    h("span", { class: "relation" }, assertion.relation),
    h("span", { class: "arrow", "aria-hidden": "true" }, forward ? "→" : "–"), h("span", { class: "away" }, forward ? " " : " comes from, "));
}

/** Append `uri` to the trail, or cut the trail back to it. */
function follow(uri) {
  const met = trail.indexOf(uri);
  trail = met >= 0 ? trail.slice(0, met + 1) : [...trail.slice(-11), uri];
  show(find("trail"), trail.length > 1 ? trail.map((step, place) => h("li", {}, place === trail.length - 1
    ? h("span", { "aria-current": "location" }, textOf(step)) : h("a", { href: address(step) }, textOf(step)))) : []);
}
