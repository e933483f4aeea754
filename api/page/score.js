// The view for scoring: a form for a dialogue and a response, and one card per metric.

import * as comparison from "./compare.js";
import { card } from "./explanation.js";
import { fault, find, h, plural, show } from "./dom.js";
import { fitting } from "./picture.js";
import * as question from "./question.js";
import { ask } from "./service.js";
import * as turns from "./turns.js";

const NARROWEST = 320; // width of a picture in pixels
let running = null;
let wanted = null; // the metrics that a link names

export function start() {
  const form = find("score-form");
  form.addEventListener("submit", (event) => { event.preventDefault(); score(); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); form.requestSubmit(); }
  });
  form.addEventListener("input", listed);
  comparison.start();
  question.start();
  find("share").addEventListener("click", async () => { find("score-status").textContent = await question.share(shared()); });
  examples();
}

/** Fill the form with the question of a link, without scoring it. */
export function open([linked]) {
  if (linked === undefined) return;
  fault(find("score-fault"), null);
  try {
    const read = question.read(linked);
    find("history").value = read.history.join("\n");
    find("response").value = read.response;
    find("other").value = read.other ?? "";
    comparison.add(Boolean(read.other));
    find("references").value = (read.references ?? []).join("\n");
    find("references").closest("details").open = Boolean(read.references?.length);
    find("example").value = "";
    listed();
    if (read.turn !== undefined && read.turn < dialogue().length) turns.point(read.turn);
    wanted = read.metrics ?? null;
    const boxes = [...document.querySelectorAll("input[name=metric]")];
    if (boxes.length) forgetUnknown(boxes.map((box) => box.value));
    for (const box of boxes) box.checked = isWanted(box.value);
  } catch (error) {
    fault(find("score-fault"), error);
  }
}

const isWanted = (name) => wanted === null || wanted.includes(name);

/** Choose all metrics where a link names only some that this service does not offer, and say so. */
function forgetUnknown(names) {
  const missing = (wanted ?? []).filter((name) => !names.includes(name));
  if (!missing.length) return;
  if (missing.length === wanted.length) wanted = null;
  find("score-status").textContent = `This service has no metric ${missing.join(", ")}, which the link names.`;
}

/** Show the metrics of the service as checkboxes, and keep what it says of its graph. */
export function offer(metrics, graph) {
  turns.offer(graph);
  const names = Object.keys(metrics);
  forgetUnknown(names);
  show(find("metrics"), names.map((name) => h("label", { class: "choice" },
    h("input", { type: "checkbox", name: "metric", value: name, checked: isWanted(name) }),
    h("span", {}, h("b", {}, name), h("small", {}, metrics[name].summary)))));
  if (!names.length) show(find("metrics"), h("p", { class: "hint" }, "The service names no metric."));
}

async function examples() {
  const select = find("example");
  const known = await fetch("static/examples.json").then((answer) => answer.json()).catch(() => []);
  select.append(...known.map((example, index) => h("option", { value: index }, example.name)));
  const choose = (index) => {
    find("history").value = known[index].history.join("\n");
    find("response").value = known[index].response;
    const references = known[index].references ?? [];
    find("references").value = references.join("\n");
    find("references").closest("details").open = references.length > 0;
    listed();
  };
  select.addEventListener("change", () => {
    if (select.value === "") { find("history").value = find("response").value = ""; listed(); find("history").focus(); } else choose(Number(select.value));
  });
  for (const id of ["history", "response"]) find(id).addEventListener("input", () => { select.value = ""; });
  if (known.length && !find("history").value && !find("response").value) { select.value = "0"; choose(0); }
}

const lines = (id) => find(id).value.split("\n").map((line) => line.trim()).filter(Boolean);

/** The turns of the form, the response last. */
const dialogue = () => [...lines("history"), lines("response").join(" ")].filter(Boolean);

const listed = () => turns.list(dialogue());

/** The question in the form. */
function formContents() {
  const metrics = [...document.querySelectorAll("input[name=metric]:checked")].map((box) => box.value);
  const [references, other] = [lines("references"), comparison.other()];
  return {
    history: lines("history"), response: find("response").value.trim(), metrics,
    ...(references.length && { references }), ...(other !== null && { other }),
  };
}

/** The question, with the turn that is asked about, for a link. */
const shared = () => ({ ...formContents(), ...(turns.place() !== null && { turn: turns.place() }) });

/** The width of a card's content, of the two responses side by side where the window has room for them. */
function room(paired) {
  const [box, padding] = [paired ? find("score").clientWidth : find("score-results").clientWidth, 56];
  return (paired && window.innerWidth > 992 ? box / 2 : box) - padding;
}

async function score() {
  running?.abort();
  const mine = running = new AbortController();
  const status = find("score-status");
  fault(find("score-fault"), null);
  const body = { ...formContents(), svg: true, width: fitting(room(comparison.other() !== null), NARROWEST) };
  if (!body.metrics.length) {
    fault(find("score-fault"), new Error("Choose at least one metric."));
    return;
  }
  status.textContent = "Scoring …";
  find("score").setAttribute("aria-busy", "true");
  try {
    const began = performance.now();
    const answer = await ask("v1/explain", { body, signal: mine.signal });
    const seconds = (performance.now() - began) / 1000;
    const explanations = Object.values(answer.explanations);
    show(find("score-pairs"));
    turns.fold();
    if (answer.other) comparison.compare(answer.explanations, answer.other);
    else show(find("score-results"), explanations.map((one) => card(one)));
    status.textContent = `${plural(explanations.length * (answer.other ? 2 : 1), "score")} in ${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = "";
    show(find("score-results"));
    show(find("score-pairs"));
    fault(find("score-fault"), error);
  } finally {
    if (running === mine) find("score").removeAttribute("aria-busy");
  }
}
