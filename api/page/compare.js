// Two responses to one history side by side: the second field, a table of the differences, and the explanations in pairs.

import { card, signed, valueOf } from "./explanation.js";
import { find, h, show } from "./dom.js";

/** Let the button add the field of the other response, and take it away again; what was typed there is kept. */
export function start() {
  find("compare").addEventListener("click", () => {
    const added = find("other-field").hidden;
    add(added);
    if (added) find("other").focus();
  });
}

/** Add the field of the other response, or take it away. */
export function add(added) {
  find("other-field").hidden = !added;
  find("other").required = added;
  find("compare").setAttribute("aria-expanded", String(added));
  find("compare").textContent = added ? "Score one response only" : "Compare with another response";
}

/** The other response, null where none is asked for. */
export const other = () => (find("other-field").hidden ? null : find("other").value.trim());

/** Show the values of both responses with their difference, and below them the explanations of each metric in a pair. */
export function compare(first, second) {
  const metrics = Object.keys(first);
  show(find("score-results"), h("article", { class: "card", "aria-labelledby": "compared" },
    h("h2", { id: "compared" }, "Both responses"),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values of both responses" },
      h("table", {},
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Metric"),
          ["First", "Second", "Difference"].map((name) => h("th", { scope: "col", class: "number" }, name)))),
        h("tbody", {}, metrics.map((metric) => row(metric, first[metric].value, second[metric].value))))),
    h("p", { class: "hint" }, "The difference is the second value less the first. The explanations stand below, the first response's before the second's.")));
  show(find("score-pairs"), metrics.map((metric) => h("section", { class: "pair", "aria-labelledby": `pair-of-${metric}` },
    h("h2", { id: `pair-of-${metric}` }, metric), card(first[metric], "first"), card(second[metric], "second"))));
}

function row(metric, first, second) {
  const missing = first === null || second === null;
  return h("tr", {}, h("th", { scope: "row" }, metric), [first, second].map((value) => h("td", { class: "number" }, valueOf(value))),
    h("td", { class: "number" }, missing ? "none" : signed(second - first)));
}
