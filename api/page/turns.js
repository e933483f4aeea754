// The turns of the dialogue in the form: each can be asked about, and the graph's answers to five questions are shown as a picture and a list.

import { address } from "./concepts.js";
import * as cookbook from "./cookbook.js";
import { decimal, fault, find, h, plural, show } from "./dom.js";
import { fitting, linked } from "./picture.js";
import { ask } from "./service.js";

const TITLES = { cause: "Cause", subsequent: "Subsequent event", prerequisite: "Prerequisite", motivation: "Motivation", reaction: "Reaction" };
const NARROWEST = 240; // width of a picture in pixels
const LIMIT = 3;
const SETTLED = 250; // milliseconds after the last change of the window's size

let dialogue = [];
let chosen = null;
let graph; // as /v1/info has it; undefined until it is known, null where the service has none
let running = null;
let drawnAt = 0; // width of the picture that is shown, 0 without one
let waiting;

/** The index of the turn that is chosen, null without one. */
export const place = () => chosen;

/** Keep what the service says of its graph. */
export function offer(known) {
  graph = known;
}

/** List the turns of a dialogue; what was answered about another one is cleared. */
export function list(turns) {
  if (turns.join("\n") === dialogue.join("\n")) return;
  dialogue = turns;
  find("turns").hidden = !turns.length;
  show(find("turn-list"), turns.map((text, index) => h("li", {},
    h("button", { type: "button", class: "turn", "aria-pressed": "false", onclick: () => choose(index) }, text))));
  mark(null);
  clear();
}

/** Mark the turn of a link, which is asked about when it is chosen. */
export function point(index) {
  if (index === chosen) return;
  mark(index);
  clear();
  find("turns").open = true;
  find("turn-status").textContent = `The link asks about turn ${index + 1}: choose it to see the answers.`;
}

/** Fold the turns with what was answered, so that the scores stand above. */
export function fold() {
  find("turns").open = false;
}

function mark(index) {
  chosen = index;
  [...find("turn-list").querySelectorAll("button")].forEach((button, number) => button.setAttribute("aria-pressed", String(number === index)));
}

function clear() {
  running?.abort();
  drawnAt = 0;
  fault(find("turn-fault"), null);
  show(find("turn-answers"));
  find("turn-status").textContent = "";
}

async function choose(index) {
  clear();
  mark(index);
  const status = find("turn-status");
  if (graph === null) {
    fault(find("turn-fault"), new Error("This service has no graph, so nothing can be asked about a turn; serve one with tacit serve GRAPH."));
    return;
  }
  const mine = running = new AbortController();
  status.textContent = "Asking the graph …";
  find("turns").setAttribute("aria-busy", "true");
  try {
    const began = performance.now();
    const width = room();
    const answer = await ask("v1/infer", { body: { dialogue, target: index, limit: LIMIT, svg: true, width }, signal: mine.signal });
    const [turn] = answer.turns;
    const answers = Object.values(turn.answers).flat().length;
    const seconds = (performance.now() - began) / 1000;
    status.textContent = `${answers ? plural(answers, "answer") : "no answer"} in ${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
    drawnAt = width;
    const eventless = graph?.events === 0;
    show(find("turn-answers"),
      eventless ? h("p", { class: "note" }, `This graph has no events, such as those of ATOMIC, so ${answers ? "only edges between concepts answer" : "it cannot answer questions about a turn"}.`) : null,
      eventless && !answers ? null : [pictured(turn), inWords(turn)]);
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = "";
    fault(find("turn-fault"), error);
  } finally {
    if (running === mine) find("turns").removeAttribute("aria-busy");
  }
}

/** The width that a picture has room for. */
const room = () => fitting(find("turn-answers").clientWidth, NARROWEST);

window.addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (drawnAt && find("turn-answers").clientWidth && drawnAt !== room()) choose(chosen);
  }, SETTLED);
});

/** The picture, in which an answer with an edge is a link to it; the edge of the one that is pointed at stands below. */
function pictured(turn) {
  const edge = h("p", { class: "pointed hint" }, "Point at an answer, or move to it with Tab, to see its edge; open it to query the edge.");
  const linkOf = (name) => {
    const [, question, number] = name.split(" ");
    const answer = turn.answers[question]?.[Number(number)];
    if (!answer?.edge) return null;
    const showEdge = () => { edge.className = "pointed"; show(edge, edgeOf(answer)); };
    return { href: cookbook.address(turn.query, answer.parameters), "aria-label": `${TITLES[question]}: ${worded(answer)}: ${edgeText(answer)}`, onmouseenter: showEdge, onfocus: showEdge };
  };
  const name = `turn ${turn.turn + 1}`;
  const drawn = linked(turn.svg, name, `Five questions about ${name}, with the answers as links to their edges. The same stands below as a list.`, linkOf);
  drawn.querySelector("figcaption").before(edge);
  return drawn;
}

function inWords(turn) {
  return h("details", {}, h("summary", {}, "Answers as a list"),
    Object.entries(turn.answers).map(([question, answers]) => [h("h3", {}, TITLES[question]),
      answers.length ? h("ul", { class: "claims" }, answers.map((answer) => h("li", {}, h("p", {}, worded(answer)), detailsOf(turn, answer))))
        : h("p", { class: "hint" }, "no edge")]));
}

function detailsOf(turn, answer) {
  if (!answer.edge) return h("p", { class: "hint" }, answer.origin === "model" ? "written by a model, no edge" : `generated under ${answer.relation}, no edge`);
  return [h("p", { class: "edge" }, edgeOf(answer)),
    h("p", { class: "hint" }, answer.origin === "nearest" ? `about a similar event, likeness ${decimal(answer.likeness, 2)} · ` : null,
      `weight ${decimal(answer.edge.steps[0].weight)} · ${[answer.edge.steps[0].source, answer.edge.steps[0].dataset].filter(Boolean).join(", ")} · `,
      h("a", { href: cookbook.address(turn.query, answer.parameters), "aria-label": `Query the edge ${edgeText(answer)}` }, "query the edge"))];
}

const worded = (answer) => (answer.emotion && !answer.text.includes(answer.emotion) ? `${answer.text} (${answer.emotion})` : answer.text);

/** Head, relation and tail of the edge of an answer, the head first whatever the direction in which it was read. */
function ends(answer) {
  const [step] = answer.edge.steps;
  const sides = answer.edge.nodes.map((uri, at) => [uri, answer.edge.node_texts[at]]);
  const [head, tail] = step.direction === "forward" ? sides : sides.reverse();
  return [head, step.relation, tail];
}

function edgeText(answer) {
  const [[, head], relation, [, tail]] = ends(answer);
  return `${head} -${relation}-> ${tail}`;
}

function edgeOf(answer) {
  const [head, relation, tail] = ends(answer);
  return [end(head), h("span", { class: "relation" }, relation), h("span", { class: "arrow", "aria-label": "to" }, "→"), end(tail)];
}

function end([uri, text]) {
  return uri.startsWith("/c/") ? h("a", { class: "concept", href: address(uri) }, text) : h("span", { class: "concept" }, text);
}
