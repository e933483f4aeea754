// A combobox that completes concepts, in the pattern of the ARIA Authoring Practices (editable, list autocomplete).

import { h, plural, show } from "./dom.js";
import { ask } from "./service.js";

const PATIENCE = 90; // milliseconds without a key press before a request is sent

/** Turn `box`, which contains a label, into a combobox with the id `id`; `chosen` is called with the text picked from the list. */
export function combobox(box, id, chosen) {
  const list = h("ul", { id: `${id}-list`, role: "listbox", class: "options", hidden: true, "aria-label": "Matching concepts" });
  const announced = h("span", { class: "away", role: "status" });
  const input = h("input", {
    id, type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
    autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: 200,
  });
  box.append(input, list, announced);
  let options = [];
  let active = -1;
  let timer = null;
  let request = null;

  const close = () => {
    clearTimeout(timer);
    request?.abort();
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  const mark = (place) => {
    active = place;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === place)));
    if (place < 0) input.removeAttribute("aria-activedescendant");
    else {
      input.setAttribute("aria-activedescendant", list.children[place].id);
      list.children[place].scrollIntoView({ block: "nearest" });
    }
  };

  const pick = (place) => {
    input.value = options[place].text;
    close();
    chosen(options[place].text);
  };

  const complete = async (then = null) => {
    const prefix = input.value.trim();
    request?.abort();
    if (!prefix) { close(); return; }
    request = new AbortController();
    try {
      const answer = await ask("v1/concepts", { parameters: { prefix, limit: 10 }, signal: request.signal });
      if (document.activeElement !== input) return;
      options = answer.concepts;
      show(list, options.map((option, place) => h("li", {
        id: `${id}-${place}`, role: "option", "aria-selected": "false",
        onpointerdown: (event) => event.preventDefault(), onclick: () => pick(place),
      }, h("mark", {}, option.text.slice(0, prefix.length)), option.text.slice(prefix.length))));
      list.hidden = options.length === 0;
      input.setAttribute("aria-expanded", String(options.length > 0));
      announced.textContent = options.length ? `${plural(options.length, "concept")}, arrow keys to choose` : "no matching concept";
      mark(-1);
      if (then && options.length) then();
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(complete, PATIENCE);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    const last = options.length - 1;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const down = event.key === "ArrowDown";
      if (list.hidden) complete(() => mark(down ? 0 : options.length - 1));
      else if (down) mark(active < last ? active + 1 : 0);
      else mark(active > 0 ? active - 1 : last);
    } else if (event.key === "Enter" && !list.hidden && active >= 0) {
      event.preventDefault();
      pick(active);
    } else if (event.key === "Escape") {
      if (list.hidden) input.value = "";
      else { event.preventDefault(); close(); }
    }
  });
  return { input, close };
}
