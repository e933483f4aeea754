// Picture of a concept between the concepts that point to it (left) and those that it points to (right); the lists have the same edges.

import { address } from "./concepts.js";
import { s } from "./dom.js";

const ROWS = 8;
const [WIDTH, STEP, PILL, HALF] = [960, 42, 176, 84];

/** The strongest edges of each side as an SVG, null if there are none; hidden from screen readers, which read the lists. */
export function butterfly(text, out, into) {
  const [right, left] = [out.slice(0, ROWS), into.slice(0, ROWS)];
  const rows = Math.max(right.length, left.length);
  if (!rows) return null;
  const height = Math.max(rows, 2) * STEP + 16;
  const heaviest = Math.max(...[...right, ...left].map((row) => row.weight), Number.MIN_VALUE);
  const draw = (row, place, rows, way) => {
    const y = height / 2 + (place - (rows.length - 1) / 2) * STEP;
    const [from, to] = [WIDTH / 2 + way * HALF, WIDTH / 2 + way * (WIDTH / 2 - PILL)];
    const run = to - from;
    const below = y > height / 2 + 1; // the line comes from above there
    const link = s("a", { href: address(row.uri), tabindex: "-1" },
      s("title", {}, row.text),
      s("rect", { x: way > 0 ? to : to - PILL + 4, y: y - 15, width: PILL - 4, height: 30, rx: 15, class: "pill" }),
      s("text", { x: to + way * (PILL - 4) / 2, y: y + 5, "text-anchor": "middle", class: "node" }, clipped(row.text, 22)));
    return [
      s("path", { d: `M${from} ${height / 2} C${from + 0.3 * run} ${height / 2} ${to - 0.75 * run} ${y} ${to} ${y}`, class: "line", "stroke-width": (1 + 4 * row.weight / heaviest).toFixed(2) }),
      s("text", { x: to - way * 12, y: below ? y + 15 : y - 7, "text-anchor": way > 0 ? "end" : "start", class: "label" }, `${row.relation} →`),
      link];
  };
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "butterfly", "aria-hidden": "true", focusable: "false" },
    left.map((row, place) => draw(row, place, left, -1)), right.map((row, place) => draw(row, place, right, 1)),
    s("rect", { x: WIDTH / 2 - HALF, y: height / 2 - 22, width: 2 * HALF, height: 44, rx: 22, class: "heart" }),
    s("text", { x: WIDTH / 2, y: height / 2 + 6, "text-anchor": "middle", class: "core" }, clipped(text, 17)));
}

const clipped = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
