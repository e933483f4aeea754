// One metric's explanation as a card: value, picture, evidence in words and as a table, claims with their query, signature.

import { copyButton, decimal, h, plural } from "./dom.js";
import * as cookbook from "./cookbook.js";
import { address } from "./concepts.js";
import { figure } from "./picture.js";

/** The card of one explanation; `which`, "first" or "second", tells two responses apart. */
export function card(explanation, which = null) {
  const shown = { ...explanation, name: which ? `${explanation.metric}, ${which} response` : explanation.metric };
  const id = `score-of-${shown.metric}${which ? `-${which}` : ""}`;
  return h("article", { class: "card", "aria-labelledby": id },
    h("header", {},
      h(which ? "h3" : "h2", { id }, shown.name),
      h("p", { class: shown.value === null ? "value absent" : "value" }, valueOf(shown.value))),
    typeof shown.percentile === "number" ? h("p", { class: "hint" }, `percentile ${shown.percentile}: ${shown.percentile}% of the reference's true responses have this value or less`) : null,
    shown.note ? h("p", { class: "note" }, shown.note) : null,
    shown.svg && shown.pieces.length ? figure(shown.svg, shown.name, `What ${shown.name} rests on, drawn: history left, response right, knowledge between. The same stands below in words.`) : null,
    shown.pieces.length ? fold("Evidence in words", h("pre", { class: "words" }, withoutSignature(shown.text)), !shown.svg) : null,
    shown.pieces.length ? fold("Evidence as a table", table(shown)) : null,
    shown.claims.length ? fold(plural(shown.claims.length, "claim") + " in the graph", claims(shown)) : null,
    h("div", { class: "signature" },
      h("span", { class: "label" }, "Signature"), h("code", {}, shown.signature), copyButton(shown.signature, `the signature of ${shown.name}`)));
}

/** A value as the page shows it. */
export const valueOf = (value) => (value === null ? "none" : value.toFixed(Number.isInteger(value) && Math.abs(value) > 1 ? 0 : 3));

/** The text without the signature, which is shown separately. */
const withoutSignature = (text) => text.split("\n").filter((line, place, all) => place < all.length - 1 || !/\|v:\d+$/.test(line)).join("\n");

function fold(title, content, open = false) {
  return h("details", { open }, h("summary", {}, title), content);
}

function table(shown) {
  const rows = shown.pieces.flatMap((piece) => rowsOf(piece, 0));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Evidence of ${shown.name} as a table` },
    h("table", {},
      h("thead", {}, h("tr", {}, ["Share", "Piece", "Rests on", "Through"].map((name, place) =>
        h("th", { scope: "col", class: place === 0 ? "number" : null }, name)))),
      h("tbody", {}, rows)));
}

function rowsOf(piece, depth) {
  const share = ["part", "edge", "parallel"].includes(piece.kind) ? "" : signed(piece.share);
  const name = piece.response ? `“${piece.response.text}”` : piece.name || piece.kind;
  const from = piece.history ? `“${piece.history.text}”${piece.turn === null ? "" : `, turn ${piece.turn + 1}`}` : "";
  const through = piece.path ? piece.path.text : piece.hops !== null ? plural(piece.hops, "hop") : "";
  return [h("tr", {},
    h("td", { class: "number" }, share),
    h("td", { class: depth ? `deep deep-${Math.min(depth, 3)}` : null }, name, piece.response && piece.name ? h("small", {}, ` ${piece.name}`) : null),
    h("td", {}, from), h("td", {}, through)), ...piece.rests_on.flatMap((part) => rowsOf(part, depth + 1))];
}

export const signed = (number) => (number === null ? "" : `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(3)}`);

function claims(shown) {
  return h("ul", { class: "claims" }, shown.claims.map((claim) => h("li", {},
    h("p", { class: "edge" }, end(claim.head, claim.head_text), h("span", { class: "relation" }, claim.relation), h("span", { class: "arrow", "aria-label": "to" }, "→"), end(claim.tail, claim.tail_text)),
    h("p", { class: "hint" }, `weight ${decimal(claim.weight)} · ${[claim.source, claim.dataset].filter(Boolean).join(", ")} · share ${signed(claim.share)}`),
    h("details", {}, h("summary", {}, "The query that returns it"), queryOf(shown, claim)))));
}

function end(uri, text) {
  return uri.startsWith("/c/") ? h("a", { class: "concept", href: address(uri) }, text) : h("span", { class: "concept" }, text);
}

function queryOf(shown, claim) {
  const parameters = Object.entries(claim.parameters ?? {});
  return [h("pre", { class: "query", tabindex: "0", role: "region", "aria-label": "Cypher" }, shown.query),
    h("dl", { class: "given" }, parameters.map(([name, value]) => h("div", {}, h("dt", {}, `$${name}`), h("dd", {}, JSON.stringify(value))))),
    h("p", { class: "actions" }, copyButton(shown.query, "the query"),
      h("button", { type: "button", class: "small", onclick: () => { location.hash = cookbook.address(shown.query, claim.parameters ?? {}); } }, "Open in the cookbook"))];
}
