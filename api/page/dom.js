// Creating elements. Texts become text nodes only, so no text is interpreted as markup.

const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element; `on…` attributes are listeners, null and false are left out. */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** The same in SVG. */
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const show = (place, ...children) => place.replaceChildren(...children.flat(Infinity).filter(Boolean));

export const plural = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** A number with up to three decimals. */
export function decimal(value, digits = 3) {
  return value === null || value === undefined ? "none" : Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

/** Show an error, and announce it to screen readers. */
export function fault(place, error) {
  show(place, error ? h("p", { class: "fault", role: "alert" }, error.message) : null);
}

/** A button that copies `text`, and confirms it. */
export function copyButton(text, what) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", async () => {
    button.textContent = (await copy(text)) ? "Copied" : "Press Ctrl C";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  return button;
}

/** Copy `text`; whether that was possible. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard API exists on https and localhost only; elsewhere a selection is copied.
    const area = h("textarea", { class: "away", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
