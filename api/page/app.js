// Entry point of the page: selects the view by the URL's hash, shows what the service has, and moves the focus.

import { find, h, plural, show } from "./dom.js";
import { ask } from "./service.js";
import * as cookbook from "./cookbook.js";
import * as explore from "./explore.js";
import * as score from "./score.js";

const VIEWS = { score, explore, cookbook };
const TITLES = { score: "Score", explore: "Explore", cookbook: "Cookbook" };
let current = null;

/** The view and its arguments: #/explore/dog/bone is explore, [dog, bone]. */
function route() {
  const [view, ...words] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return Object.hasOwn(VIEWS, view) ? [view, words.filter(Boolean)] : ["score", []];
}

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word; // a lone percent sign
  }
}

function go() {
  if (location.hash === "#main") return; // the skip link
  const [view, words] = route();
  const first = current === null;
  if (view !== current) {
    for (const name of Object.keys(VIEWS)) find(name).hidden = name !== view;
    for (const link of document.querySelectorAll("nav a[data-view]")) {
      if (link.dataset.view === view) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    current = view;
    if (!first) {
      window.scrollTo(0, 0);
      find(`${view}-title`).focus({ preventScroll: true });
    }
  }
  const named = words.slice(0, { score: 0, explore: 2, cookbook: 1 }[view]); // the rest of a link holds whole texts
  document.title = [...named, TITLES[view], "tacit"].join(" · ");
  VIEWS[view].open(words, first);
}

async function about() {
  try {
    const info = await ask("v1/info");
    const graph = info.graph;
    show(find("about"), graph && [`${plural(graph.concepts, "concept")}, ${plural(graph.events, "event")}, ${plural(graph.assertions, "assertion")} · graph `,
      h("code", {}, graph.digest), " · "], `tacit ${info.version}`);
    score.offer(info.metrics, graph);
  } catch (error) {
    show(find("about"), error.message);
    score.offer({});
  }
}

for (const view of Object.values(VIEWS)) view.start();
window.addEventListener("hashchange", go);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  find("main").focus();
});
go();
about();
