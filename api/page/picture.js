// Pictures that the service draws: as an image, or as elements with links in them, and as files. Their style, which static/picture.css has too, is light or
// dark as the reader prefers.

import { h, s } from "./dom.js";

const STACKED = 600; // width below which a picture has its parts one below the other
const image = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;

/** The width in pixels, in the range of pictures, that fits into a box. */
export const fitting = (box, narrowest, widest = 960) => Math.min(widest, Math.max(narrowest, Math.floor(box)));

/** A figure with the picture as an image, in which no script runs and which loads nothing. */
export function figure(svg, name, alt) {
  const narrow = Number(/ width="([\d.]+)"/.exec(svg)?.[1]) < STACKED;
  return around(h("img", { class: narrow ? "picture" : "picture wide", alt, src: image(svg) }), svg, name);
}

/**
 * A figure with the picture as elements: only those that pictures consist of, with their attributes of appearance. A group with
 * `data-answer` becomes a link where `linkOf` returns its attributes for that value.
 */
export function linked(svg, name, label, linkOf) {
  const unstyled = svg.replace(/<style>[^]*?<\/style>/, ""); // the page has the same style, and its policy forbids this one
  const plain = unstyled.replace(/ xmlns="[^"]*"/, ""); // elements of no namespace have no event handlers, which the policy forbids too
  const read = new DOMParser().parseFromString(plain, "application/xml").documentElement;
  const shown = copied(read, linkOf);
  for (const [attribute, value] of Object.entries({ class: "drawn tacit", role: "group", "aria-label": label })) shown.setAttribute(attribute, value);
  return around(shown, svg, name);
}

const TAGS = new Set(["svg", "g", "rect", "path", "text", "title"]);
const ATTRIBUTES = new Set(["x", "y", "width", "height", "viewBox", "rx", "d", "class", "stroke-width", "font-size", "text-anchor", "textLength", "lengthAdjust"]);

function copied(element, linkOf) {
  const kept = Object.fromEntries([...element.attributes].filter((one) => ATTRIBUTES.has(one.name)).map((one) => [one.name, one.value]));
  const whole = element.localName === "svg";
  const inner = [...element.childNodes].flatMap((node) => {
    if (node.nodeType === Node.TEXT_NODE) return whole ? [] : [node.data];
    if (!TAGS.has(node.localName) || (whole && node.localName === "title")) return []; // the label says it
    return [copied(node, linkOf)];
  });
  const made = s(element.localName, kept, ...inner);
  const link = element.hasAttribute("data-answer") ? linkOf(element.getAttribute("data-answer")) : null;
  return link ? s("a", link, made) : made;
}

function around(shown, svg, name) {
  const file = name.replaceAll(/[^\w-]+/g, "-");
  return h("figure", {},
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Picture of ${name}` }, shown),
    h("figcaption", {}, "Download the picture as ", h("a", { href: image(svg), download: `${file}.svg` }, "SVG"), " or ", png(svg, file)));
}

/** A button that downloads a picture as PNG, at twice its size, in its light colours. */
function png(svg, name) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Download the picture of ${name} as PNG` }, "PNG");
  button.addEventListener("click", async () => {
    const drawn = new Image();
    drawn.src = image(svg.replace("(prefers-color-scheme: dark)", "not all"));
    await drawn.decode();
    const canvas = h("canvas", { width: 2 * drawn.naturalWidth, height: 2 * drawn.naturalHeight });
    const brush = canvas.getContext("2d");
    brush.fillStyle = "#fff";
    brush.fillRect(0, 0, canvas.width, canvas.height);
    brush.drawImage(drawn, 0, 0, canvas.width, canvas.height);
    h("a", { href: canvas.toDataURL("image/png"), download: `${name}.png` }).click();
  });
  return button;
}
