// The question in the form: a transcript that is pasted is taken apart into turns, and a link holds the whole question.

import { copy, find, h, plural, show } from "./dom.js";

const LONGEST = 8000; // characters of a question in a link, as they stand there
const DATE = String.raw`(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})`;
const TIME = String.raw`\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\.?)?(?:Z|[+-]\d{2}:?\d{2})?`;
const STAMP = new RegExp(String.raw`^(?:[\[(]\s*(?:${DATE}[T,\s]\s*)?${TIME}\s*[\])]|(?:${DATE}[T,\s]\s*)?${TIME}(?=\s))\s*(?:[-–]\s+)?`, "i");
const NAMED = /^(\p{L}[\p{L}\p{N} ._-]{0,30}):(?:\s+(.*))?$/u;
const LABELS = /^(?:[a-z]|user|assistant|system|human|ai|bot|chatbot|agent|customer|operator|me|you|(?:speaker|person|participant|user|agent) ?[a-z0-9]{1,2})$/i;

/** Take apart transcripts that are pasted into the history. */
export function start() {
  for (const id of ["history", "response"]) find(id).addEventListener("input", () => show(find("pasted"))); // Undo would lose it
  find("history").addEventListener("paste", (event) => {
    const pasted = turnsOf(event.clipboardData?.getData("text/plain") ?? "");
    if (pasted === null) return;
    const turns = pasted.filter(Boolean);
    const empty = pasted.length - turns.length;
    event.preventDefault();
    const before = [find("history").value, find("response").value];
    write(turns.slice(0, -1).join("\n"), turns.at(-1));
    const undo = h("button", { type: "button", class: "small" }, "Undo");
    undo.addEventListener("click", () => { write(...before); show(find("pasted")); find("history").focus(); });
    show(find("pasted"), h("span", {}, `${plural(turns.length, "turn was", "turns were")} recognised; the last one is the response.${empty ? ` ${plural(empty, "empty turn is", "empty turns are")} left out.` : ""} `), undo);
  });
}

function write(history, response) {
  find("history").value = history;
  find("response").value = response;
  find("history").dispatchEvent(new Event("input", { bubbles: true })); // the example is none of the list any more
}

/**
 * The turns of a transcript, without time stamps and the names of their speakers; null where the text is none. A transcript begins with
 * a name and has two or more of them; one of these has several turns, or all are labels such as A, B, User and Assistant, since a list
 * ("Shopping: milk, Deadline: Friday") has names too. A line without a name continues the turn before it. A turn may be empty.
 */
function turnsOf(text) {
  const turns = [];
  const speakers = new Map(); // numbers of turns
  for (const line of text.split(/\r?\n/).map((one) => one.trim()).filter(Boolean)) {
    const named = NAMED.exec(line.replace(STAMP, ""));
    if (named) {
      const name = named[1].toLowerCase();
      speakers.set(name, (speakers.get(name) ?? 0) + 1);
      turns.push(named[2] ?? "");
    } else if (turns.length) {
      turns.push(`${turns.pop()} ${line}`.trim());
    } else {
      return null;
    }
  }
  const names = [...speakers.keys()];
  const sound = names.length > 1 && ([...speakers.values()].some((number) => number > 1) || names.every((name) => LABELS.test(name)));
  return sound && turns.some(Boolean) ? turns : null;
}

/** Copy a link that holds the question, and say so. */
export async function share(question) {
  const encoded = encodeURIComponent(JSON.stringify(question));
  if (encoded.length > LONGEST) return `The question would take ${encoded.length.toLocaleString("en")} characters of a link, and at most ${LONGEST.toLocaleString("en")} are read; shorten the texts.`;
  const link = `${location.origin}${location.pathname}#/score/${encoded}`;
  return (await copy(link)) ? "The link is copied. It holds the texts of this form." : "The browser does not let the page copy the link.";
}

/**
 * The question in a link: lists of texts `history` and `references`, texts `response` and `other`, a list of names `metrics`, and the
 * index `turn` of the turn that is asked about, all but the first two optional.
 */
export function read(text) {
  let question = null;
  try {
    if (encodeURIComponent(text).length <= LONGEST) question = JSON.parse(text);
  } catch { /* reported below */ }
  const texts = (list) => Array.isArray(list) && list.every((text) => typeof text === "string");
  const sound = question !== null && typeof question === "object" && texts(question.history) && typeof question.response === "string" && texts(question.references ?? []) && texts(question.metrics ?? [])
    && typeof (question.other ?? "") === "string" && Number.isInteger(question.turn ?? 0) && (question.turn ?? 0) >= 0;
  if (!sound) throw new Error("The link does not hold a dialogue that this page can read; ask for it again.");
  return question;
}
