// The question in the form: a transcript that is pasted is taken apart into turns, and a link holds the whole question.

import { copy, find, h, show } from "./dom.js";

const LONGEST = 8000; // characters of a link
const NAMED = /^(\p{L}[\p{L}\p{N} ._-]{0,30}):\s+(\S.*)$/u;

/** Take apart transcripts that are pasted into the history. */
export function start() {
  for (const id of ["history", "response"]) find(id).addEventListener("input", () => show(find("pasted"))); // Undo would lose it
  find("history").addEventListener("paste", (event) => {
    const turns = turnsOf(event.clipboardData?.getData("text/plain") ?? "");
    if (turns === null) return;
    event.preventDefault();
    const before = [find("history").value, find("response").value];
    write(turns.slice(0, -1).join("\n"), turns.at(-1));
    const undo = h("button", { type: "button", class: "small" }, "Undo");
    undo.addEventListener("click", () => { write(...before); show(find("pasted")); find("history").focus(); });
    show(find("pasted"), h("span", {}, `${turns.length} turns were recognised; the last one is the response. `), undo);
  });
}

function write(history, response) {
  find("history").value = history;
  find("response").value = response;
  find("history").dispatchEvent(new Event("input")); // the example is none of the list any more
}

/**
 * The turns of a transcript, without the names of their speakers; null where the text is none: its first line has no name, or
 * there is one speaker only. A line without a name continues the turn before it.
 */
function turnsOf(text) {
  const turns = [];
  const speakers = new Set();
  for (const line of text.split(/\r?\n/).map((one) => one.trim()).filter(Boolean)) {
    const named = NAMED.exec(line);
    if (named) {
      speakers.add(named[1]);
      turns.push(named[2]);
    } else if (turns.length) {
      turns.push(`${turns.pop()} ${line}`);
    } else {
      return null;
    }
  }
  return speakers.size > 1 ? turns : null;
}

/** Copy a link that holds the question, and say so. */
export async function share(question) {
  const link = `${location.origin}${location.pathname}#/score/${encodeURIComponent(JSON.stringify(question))}`;
  if (link.length > LONGEST) return `The link would have ${link.length.toLocaleString("en")} characters, and at most ${LONGEST.toLocaleString("en")} are read; shorten the texts.`;
  return (await copy(link)) ? "The link is copied. It holds the texts of this form." : "The browser does not let the page copy the link.";
}

/**
 * The question in a link: lists of texts `history` and `references`, texts `response` and `other`, a list of names `metrics`, and the
 * index `turn` of the turn that is asked about, all but the first two optional.
 */
export function read(text) {
  let found = null;
  try {
    found = JSON.parse(text);
  } catch { /* said below */ }
  const texts = (value) => Array.isArray(value) && value.every((one) => typeof one === "string");
  const sound = found !== null && typeof found === "object" && text.length <= LONGEST
    && texts(found.history) && typeof found.response === "string" && texts(found.references ?? []) && texts(found.metrics ?? [])
    && typeof (found.other ?? "") === "string" && Number.isInteger(found.turn ?? 0) && (found.turn ?? 0) >= 0;
  if (!sound) throw new Error("The link does not hold a dialogue that this page can read; ask for it again.");
  return found;
}
