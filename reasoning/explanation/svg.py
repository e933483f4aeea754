"""SVG elements as text, and text metrics for the layout: widths, wrapping, truncation.

Elements have presentation attributes only, no style, identifiers or scripts, so that a picture looks the same in a file, in a
notebook, and many times on one page, under any content security policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple
from unicodedata import category, combining, east_asian_width

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def px(value: float) -> str:
    """Return a coordinate with at most one decimal, the same on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def label(
    x: float, y: float, text: str, size: float, fill: str, *, anchor: str = "start", bold: bool = False, title: str = ""
) -> str:
    """Return a text whose baseline is anchored (``start``, ``middle``, ``end``) at a point; ``title`` is its tooltip."""
    width = width_of(text, size, bold=bold)
    if not text:
        return ""
    weight = ' font-weight="bold"' if bold else ""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    more = f"<title>{escape(clean(title))}</title>" if title and clean(title) != text else ""
    return (
        f'<text x="{px(x)}" y="{px(y)}" font-size="{px(size)}" fill="{fill}"{placed}{weight} '
        f'textLength="{px(width)}" lengthAdjust="spacingAndGlyphs">{escape(text)}{more}</text>'
    )


def box(
    x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "none", radius: float = 4, dashed: bool = False
) -> str:
    """Return a rectangle with round corners."""
    line = "" if stroke == "none" else f' stroke="{stroke}"' + (' stroke-dasharray="3 3"' if dashed else "")
    return (
        f'<rect x="{px(x)}" y="{px(y)}" width="{px(max(width, 0))}" height="{px(max(height, 0))}" '
        f'rx="{px(radius)}" fill="{fill}"{line}/>'
    )


def stroke(path: str, colour: str, width: float, dashes: str = "") -> str:
    """Return a line along an SVG path."""
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{px(width)}"{dash}/>'


def arrow(x: float, y: float, onwards: bool, thickness: float, colour: str) -> str:
    """Return an arrowhead with its tip at a point, to the right, or to the left with ``onwards`` false."""
    length, half = 7 + thickness, 3.5 + thickness * 0.7
    back = x - length if onwards else x + length
    return f'<path d="M{px(x)} {px(y)}L{px(back)} {px(y - half)}V{px(y + half)}Z" fill="{colour}"/>'


def bend(x0: float, y0: float, x1: float, y1: float) -> str:
    """Return the path of a curve between two points that is horizontal at both ends."""
    middle = (x0 + x1) / 2
    return f"M{px(x0)} {px(y0)}C{px(middle)} {px(y0)} {px(middle)} {px(y1)} {px(x1)} {px(y1)}"


def document(width: float, height: float, title: str, description: str, marks: Sequence[str]) -> str:
    """Return the SVG document, on a white card so that it is readable on any page, with title and description for
    screen readers.
    """
    name, details = escape(clean(title)), escape(clean(description))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{px(width)}" height="{px(height)}" '
        f'viewBox="0 0 {px(width)} {px(height)}" role="img" aria-label="{name}" font-family="{FONT}">'
    )
    card = box(0.5, 0.5, width - 1, height - 1, "#ffffff", stroke="#d5dae0", radius=8)
    body = "\n".join(mark for mark in marks if mark)
    return f"{head}\n<title>{name}</title>\n<desc>{details}</desc>\n{card}\n{body}\n</svg>\n"


# Text metrics without a font, so that the layout can guarantee that nothing overlaps.
#
# The widths are those of Arial, Helvetica and Liberation Sans, in thousandths of the font size. Every text element states its
# width, so that a viewer with another font fits it to the same place.

_WIDTHS = {
    191: "'", 222: "ijl‘’", 260: "|¦", 278: " !,./:;I[\\]ft·ÌÍÎÏìíîï", 333: "()-`r¡¨´“”", 334: "{}", 350: "•", 355: '"',
    389: "*", 400: "°", 469: "^", 500: "Jcksvxyzçýÿšž", 556: "#$0123456789?L_abdeghnopqu£«»àáâãäåèéêëñòóôõöùúûü–",
    549: "±÷≈", 584: "+<=>~×−", 611: "FTZßø", 667: "&ABEKPSVXYÀÁÂÃÄÅÈÉÊËÝŠ", 722: "CDHNRUwÇÑÙÚÛÜ", 778: "GOQÒÓÔÕÖØ", 833: "Mm",
    889: "%æ", 944: "Wœ", 1000: "ÆŒ—…→←", 1015: "@",
}  # fmt: skip
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_UNKNOWN = 750
_FULL = 1000
_BOLD = 1.09
_DIRECTION_MARKS = re.compile("[\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
ELLIPSIS = "…"


class Line(NamedTuple):
    """One line of a wrapped text, and for each of its words the offset in the text, the offset in the line, and the word."""

    text: str
    words: tuple[tuple[int, int, str], ...]


def plain(text: str) -> str:
    """Return ``text`` with control characters and direction marks replaced, character by character."""
    return _DIRECTION_MARKS.sub("\u200b", _NO_XML.sub("\ufffd", text))


def clean(text: str) -> str:
    """Return ``text`` as :func:`plain` does, on one line, with single spaces."""
    return " ".join(plain(text).split())


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of ``text`` in pixels at a font size in pixels."""
    return sum(map(_advance, text)) * size / 1000 * (_BOLD if bold else 1.0)


def _advance(letter: str) -> int:
    known = _WIDTH_OF.get(letter)
    if known is not None:
        return known
    if combining(letter) or category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return _FULL if east_asian_width(letter) in ("W", "F") else _UNKNOWN


def fit(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return ``text``, truncated with an ellipsis if it is wider than ``width``; at least one character remains."""
    if width_of(text, size, bold=bold) <= width:
        return text
    while len(text) > 1 and width_of(text + ELLIPSIS, size, bold=bold) > width:
        text = text[: min(len(text) - 1, max(1, int(len(text) * width / width_of(text + ELLIPSIS, size, bold=bold)) + 1))]
    return text.rstrip() + ELLIPSIS


def wrap(text: str, size: float, width: float, most: int) -> list[Line]:
    """Wrap ``text`` in at most ``most`` lines of at most ``width``; wider words are broken, and the rest is replaced by ``…``."""
    lines: list[Line] = []
    words: list[tuple[int, int, str]] = []
    line = ""
    for start, word in _pieces(text, size, width):
        joined = f"{line} {word}" if line else word
        if line and width_of(joined, size) > width:
            if len(lines) + 1 == most:
                lines.append(Line(fit(f"{line} {ELLIPSIS}", size, width), tuple(words)))
                return lines
            lines.append(Line(line, tuple(words)))
            words, joined = [], word
        words.append((start, len(joined) - len(word), word))
        line = joined
    return [*lines, Line(line, tuple(words))] if line else lines


def _pieces(text: str, size: float, width: float) -> Iterator[tuple[int, str]]:
    """Yield the words of a text with their offsets, words that are wider than a line in parts."""
    longest = int(6 * width / size) + 2  # most letters of a line
    for match in re.finditer(r"\S+", text):
        start, word = match.start(), match[0]
        while len(word) > 1 and (len(word) > longest or width_of(word, size) > width):
            end = min(len(word) - 1, longest)
            while end > 1 and width_of(word[:end], size) > width:
                end = max(1, min(end - 1, int(end * width / width_of(word[:end], size))))
            yield start, word[:end]
            start, word = start + end, word[end:]
        yield start, word


def joined(parts: Sequence[str], size: float, width: float) -> str:
    """Return ``parts`` with commas between them, as many as fit into ``width``, and ``+n`` for the others; at least the first."""
    for shown in range(len(parts), 1, -1):
        more = f" +{len(parts) - shown}" if shown < len(parts) else ""
        if width_of(text := ", ".join(parts[:shown]) + more, size) <= width:
            return text
    more = f" +{len(parts) - 1}" if len(parts) > 1 else ""
    return fit(parts[0], size, max(width - width_of(more, size), size)) + more
