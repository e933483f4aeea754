"""SVG elements as text, and text metrics for the layout: widths, wrapping, truncation.

Elements have positions, sizes and classes; ``picture.css``, which every picture contains, has the colours, light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path as FilePath
from typing import TypeVar
from unicodedata import category, combining, east_asian_width

from ...graph.errors import InputError

TEXT, SMALL, TINY = 13.0, 11.5, 10.5
"""Font sizes in pixels."""
MARGIN = 24.0
ELLIPSIS = "…"
MOST = 50
_WIDEST = 2400  # pixels
Row = TypeVar("Row")

# Widths of Arial, Helvetica and Liberation Sans, in thousandths of the font size. Every text element states its width, so that
# a viewer with another font fits it to the same place, and nothing overlaps.
_WIDTHS = {
    191: "'", 222: "ijl‘’", 260: "|¦", 278: " !,./:;I[\\]ft·ÌÍÎÏìíîï", 333: "()-`r¡¨´“”", 334: "{}", 350: "•", 355: '"',
    389: "*", 400: "°", 469: "^", 500: "Jcksvxyzçýÿšž", 556: "#$0123456789?L_abdeghnopqu£«»àáâãäåèéêëñòóôõöùúûü–",
    549: "±÷≈", 584: "+<=>~×−", 611: "FTZßø", 667: "&ABEKPSVXYÀÁÂÃÄÅÈÉÊËÝŠ", 722: "CDHNRUwÇÑÙÚÛÜ", 778: "GOQÒÓÔÕÖØ", 833: "Mm",
    889: "%æ", 944: "Wœ", 1000: "ÆŒ—…→←", 1015: "@",
}  # fmt: skip
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_UNKNOWN, _FULL, _BOLD = 750, 1000, 1.09
_DIRECTION_MARKS = re.compile("[\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Picture(str):
    """An SVG picture as text; notebooks show it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        """Return the SVG, for notebooks."""
        return str(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to an ``.svg`` file."""
        FilePath(path).write_text(self, encoding="utf-8")


def printable(text: str) -> str:
    """Return ``text`` with control characters and direction marks replaced, character by character."""
    return _DIRECTION_MARKS.sub("\u200b", _NO_XML.sub("\ufffd", text))


def one_line(text: str) -> str:
    """Return printable ``text`` on one line, with single spaces."""
    return " ".join(printable(text).split())


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


def _fitting(text: str, size: float, width: float) -> int:
    """Return how many characters of ``text`` fit into ``width``, at least 1."""
    used = 0.0
    for count, letter in enumerate(text):
        used += _advance(letter) * size / 1000
        if used > width:
            return max(count, 1)
    return len(text)


def fit(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return ``text``, truncated with an ellipsis if it is wider than ``width``; at least one character remains."""
    if width_of(text, size, bold=bold) <= width:
        return text
    size *= _BOLD if bold else 1.0
    return text[: _fitting(text, size, width - width_of(ELLIPSIS, size))].rstrip() + ELLIPSIS


def wrap(text: str, size: float, width: float, max_lines: int) -> list[tuple[int, str]]:
    """Wrap a text without line breaks in at most ``max_lines`` lines, each with its offset; the rest is replaced by ``…``."""
    lines: list[tuple[int, str]] = []
    start = end = 0
    for begin, stop in _words(text, size, width):
        if end > start and width_of(text[start:stop], size) > width:
            if len(lines) + 1 == max_lines:
                return [*lines, (start, fit(f"{text[start:end]} {text[begin:stop]}{ELLIPSIS}", size, width))]
            lines.append((start, text[start:end]))
            start = begin
        end = stop
    return [*lines, (start, text[start:end])] if end else lines


def _words(text: str, size: float, width: float) -> Iterator[tuple[int, int]]:
    """Yield start and end of the words of a text; words that are wider than a line are yielded in parts."""
    for match in re.finditer(r"\S+", text):
        begin, end = match.span()
        while begin < end:
            stop = begin + _fitting(text[begin:end], size, width)
            yield begin, stop
            begin = stop


def px(value: float) -> str:
    """Return a coordinate with at most one decimal, the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def label(x: float, y: float, text: str, size: float = TEXT, style: str = "", *, anchor: str = "start", title: str = "") -> str:
    """Return a text whose baseline is anchored (``start``, ``middle``, ``end``) at a point; ``title`` is its tooltip."""
    if not text:
        return ""
    width = px(width_of(text, size, bold="bold" in style))
    kind = (f' class="{style}"' if style else "") + (f' text-anchor="{anchor}"' if anchor != "start" else "")
    more = f"<title>{escape(one_line(title))}</title>" if title and one_line(title) != text else ""
    return (
        f'<text x="{px(x)}" y="{px(y)}" font-size="{px(size)}"{kind} textLength="{width}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(text)}{more}</text>'
    )


def rect(x: float, y: float, width: float, height: float, style: str, radius: float = 6) -> str:
    """Return a rectangle with round corners."""
    return f'<rect x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height)}" rx="{px(radius)}" class="{style}"/>'


def line(path: str, style: str, width: float) -> str:
    """Return a line along an SVG path."""
    return f'<path d="{path}" class="line {style}" stroke-width="{px(width)}"/>'


def curve(x0: float, y0: float, x1: float, y1: float) -> str:
    """Return the part of a path from a first to a second point that is horizontal at both."""
    middle = (x0 + x1) / 2
    return f"C{px(middle)} {px(y0)} {px(middle)} {px(y1)} {px(x1)} {px(y1)}"


def head_length(thickness: float) -> float:
    """Return the length of the arrowhead of a line."""
    return 6 + thickness


def arrowhead(x: float, y: float, right: bool, style: str, thickness: float) -> str:
    """Return an arrowhead with its tip at a point, pointing to the right or to the left."""
    back = x + head_length(thickness) * (-1 if right else 1)
    half = 3.5 + thickness * 0.7
    return f'<path d="M{px(x)} {px(y)}L{px(back)} {px(y - half)}V{px(y + half)}Z" class="tip {style}"/>'


def first_of(rows: Sequence[Row], limit: int, name: str) -> tuple[Sequence[Row], int]:
    """Return the first ``limit`` rows and the number of others; raise InputError unless there is a row and limit is 1..50."""
    if not 1 <= limit <= MOST:
        raise InputError(f"limit must be from 1 to {MOST}, not {limit}")
    if not rows:
        raise InputError(f"there is no {name} to draw; give at least one")
    return rows[:limit], max(len(rows) - limit, 0)


class Sheet:
    """The elements of a picture, added from top to bottom.

    Attributes:
        width: in pixels; inner: between the margins; y: below what was added.
    """

    def __init__(self, width: int, narrowest: int = 320) -> None:
        """Raise :class:`InputError` when the width is not in ``narrowest`` .. 2,400."""
        if not narrowest <= width <= _WIDEST:
            raise InputError(f"the width of a picture must be from {narrowest} to {_WIDEST} pixels, not {width}")
        self.width: float = width
        self.inner, self.y = width - 2 * MARGIN, MARGIN
        self._marks: list[str] = []

    def add(self, *marks: str) -> None:
        """Add elements."""
        self._marks += filter(None, marks)

    def write(self, text: str, size: float = TEXT, max_lines: int = 3) -> None:
        """Add a text below, in at most ``max_lines`` lines."""
        for _, row in wrap(one_line(text), size, self.inner, max_lines):
            self.add(label(MARGIN, self.y + size, row, size, "quiet"))
            self.y += 1.36 * size

    def legend(self, entries: Sequence[tuple[str, str]], note: str = "") -> None:
        """Add the styles of lines with their meanings, and a note."""
        x = MARGIN
        for style, text in [*entries, ("", note)] if entries else []:
            indent = 36 if style else 0
            wide = indent + width_of(text, SMALL)
            if x > MARGIN and x + wide > self.width - MARGIN:
                x, self.y = MARGIN, self.y + 18
            if style:
                self.add(line(f"M{px(x)} {px(self.y + 9)}h28", style, 3))
            self.add(label(x + indent, self.y + 13, text, SMALL, "quiet"))
            x += wide + 24
        self.y += 22 if entries else 0

    def picture(self, title: str, description: str) -> Picture:
        """Return the SVG document, on a background of its own, with title and description for screen readers."""
        name, details, height = escape(one_line(title)), escape(one_line(description)), self.y + 14
        size = f'width="{px(self.width)}" height="{px(height)}" viewBox="0 0 {px(self.width)} {px(height)}"'
        return Picture(
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="tacit" role="img" aria-label="{name}">\n'
            f"<title>{name}</title>\n<desc>{details}</desc>\n<style>\n{_style()}\n</style>\n"
            + "\n".join([rect(0.5, 0.5, self.width - 1, height - 1, "paper", 8), *self._marks, "</svg>\n"])
        )


@cache
def _style() -> str:
    return (files(__package__) / "picture.css").read_text(encoding="utf-8").split("*/", 1)[1].strip()
