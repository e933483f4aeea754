// One metric's explanation as a card: value, picture, evidence in words and as a table, claims with their query, signature.

import { copyButton, decimal, h, plural } from "./dom.js";
import * as cookbook from "./cookbook.js";
import { address } from "./concepts.js";
import { figure } from "./picture.js";

/** The card of one explanation; `which`, "first" or "second", tells two responses apart. */
export function card(explanation, which = null) {
  const told = { ...explanation, name: which ? `${explanation.metric}, ${which} response` : explanation.metric };
  const id = `score-of-${told.metric}${which ? `-${which}` : ""}`;
  return h("article", { class: "card", "aria-labelledby": id },
    h("header", {},
      h(which ? "h3" : "h2", { id }, told.name),
      h("p", { class: told.value === null ? "value absent" : "value" }, valueOf(told.value))),
    typeof told.percentile === "number" ? h("p", { class: "hint" }, `percentile ${told.percentile}: ${told.percentile}% of the reference's true responses have this value or less`) : null,
    told.note ? h("p", { class: "note" }, told.note) : null,
    told.svg && told.pieces.length ? figure(told.svg, told.name, `What ${told.name} rests on, drawn: history left, response right, knowledge between. The same stands below in words.`) : null,
    told.pieces.length ? fold("Evidence in words", h("pre", { class: "words" }, words(told.text)), !told.svg) : null,
    told.pieces.length ? fold("Evidence as a table", table(told)) : null,
    told.claims.length ? fold(plural(told.claims.length, "claim") + " in the graph", claims(told)) : null,
    h("div", { class: "signature" },
      h("span", { class: "label" }, "Signature"), h("code", {}, told.signature), copyButton(told.signature, `the signature of ${told.name}`)));
}

/** A value as the page shows it. */
export const valueOf = (value) => (value === null ? "none" : value.toFixed(Number.isInteger(value) && Math.abs(value) > 1 ? 0 : 3));

/** The text without the signature, which is shown separately. */
const words = (text) => text.split("\n").filter((line, place, all) => place < all.length - 1 || !/\|v:\d+$/.test(line)).join("\n");

function fold(title, content, open = false) {
  return h("details", { open }, h("summary", {}, title), content);
}

function table(told) {
  const rows = told.pieces.flatMap((piece) => rowsOf(piece, 0));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Evidence of ${told.name} as a table` },
    h("table", {},
      h("thead", {}, h("tr", {}, ["Share", "Piece", "Rests on", "Through"].map((name, place) =>
        h("th", { scope: "col", class: place === 0 ? "number" : null }, name)))),
      h("tbody", {}, rows)));
}

function rowsOf(piece, depth) {
  const share = ["part", "edge", "parallel"].includes(piece.kind) ? "" : signed(piece.share);
  const said = piece.response ? `“${piece.response.text}”` : piece.name || piece.kind;
  const from = piece.history ? `“${piece.history.text}”${piece.turn === null ? "" : `, turn ${piece.turn + 1}`}` : "";
  const through = piece.path ? piece.path.text : piece.hops !== null ? plural(piece.hops, "hop") : "";
  return [h("tr", {},
    h("td", { class: "number" }, share),
    h("td", { class: depth ? `deep deep-${Math.min(depth, 3)}` : null }, said, piece.response && piece.name ? h("small", {}, ` ${piece.name}`) : null),
    h("td", {}, from), h("td", {}, through)), ...piece.rests_on.flatMap((part) => rowsOf(part, depth + 1))];
}

export const signed = (number) => (number === null ? "" : `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(3)}`);

function claims(told) {
  return h("ul", { class: "claims" }, told.claims.map((claim) => h("li", {},
    h("p", { class: "edge" }, end(claim.head, claim.head_text), h("span", { class: "relation" }, claim.relation), h("span", { class: "arrow", "aria-label": "to" }, "→"), end(claim.tail, claim.tail_text)),
    h("p", { class: "hint" }, `weight ${decimal(claim.weight)} · ${[claim.source, claim.dataset].filter(Boolean).join(", ")} · share ${signed(claim.share)}`),
    h("details", {}, h("summary", {}, "The query that returns it"), queryOf(told, claim)))));
}

function end(uri, text) {
  return uri.startsWith("/c/") ? h("a", { class: "concept", href: address(uri) }, text) : h("span", { class: "concept" }, text);
}

function queryOf(told, claim) {
  const parameters = Object.entries(claim.parameters ?? {});
  return [h("pre", { class: "query", tabindex: "0", role: "region", "aria-label": "Cypher" }, told.query),
    h("dl", { class: "given" }, parameters.map(([name, value]) => h("div", {}, h("dt", {}, `$${name}`), h("dd", {}, JSON.stringify(value))))),
    h("p", { class: "actions" }, copyButton(told.query, "the query"),
      h("button", { type: "button", class: "small", onclick: () => { location.hash = cookbook.address(told.query, claim.parameters ?? {}); } }, "Open in the cookbook"))];
}
