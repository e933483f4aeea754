"""The few marks that a picture is made of, as SVG text: presentation attributes only, no style, no identifiers, no script.

So a picture means the same in a file, in a notebook, and many times on one page, under any content security policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .typeset import clean, width_of

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"


def number(value: float) -> str:
    """A coordinate with at most one decimal, the same on every machine."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def label(
    x: float, y: float, text: str, size: float, fill: str, *, anchor: str = "start", bold: bool = False, title: str = ""
) -> str:
    """A text whose baseline begins (``anchor``: ``start``, ``middle``, ``end``) at a place; ``title`` shows when pointed at."""
    width = width_of(text, size, bold=bold)
    if not text:
        return ""
    weight = ' font-weight="bold"' if bold else ""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    more = f"<title>{escape(clean(title))}</title>" if title and clean(title) != text else ""
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{fill}"{placed}{weight} '
        f'textLength="{number(width)}" lengthAdjust="spacingAndGlyphs">{escape(text)}{more}</text>'
    )


def box(
    x: float, y: float, width: float, height: float, fill: str, *, stroke: str = "none", radius: float = 4, dashed: bool = False
) -> str:
    """A rectangle with round corners."""
    line = "" if stroke == "none" else f' stroke="{stroke}"' + (' stroke-dasharray="3 3"' if dashed else "")
    return (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(width, 0))}" height="{number(max(height, 0))}" '
        f'rx="{number(radius)}" fill="{fill}"{line}/>'
    )


def stroke(path: str, colour: str, width: float, dashes: str = "") -> str:
    """A line along an SVG path."""
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{number(width)}"{dash}/>'


def arrow(x: float, y: float, onwards: bool, thickness: float, colour: str) -> str:
    """A head whose point is at a place and shows to the right, or with ``onwards`` false to the left."""
    length, half = 7 + thickness, 3.5 + thickness * 0.7
    back = x - length if onwards else x + length
    return f'<path d="M{number(x)} {number(y)}L{number(back)} {number(y - half)}V{number(y + half)}Z" fill="{colour}"/>'


def bend(x0: float, y0: float, x1: float, y1: float) -> str:
    """A soft curve from one place to another that leaves and arrives level."""
    middle = (x0 + x1) / 2
    return f"M{number(x0)} {number(y0)}C{number(middle)} {number(y0)} {number(middle)} {number(y1)} {number(x1)} {number(y1)}"


def document(width: float, height: float, title: str, description: str, marks: Sequence[str]) -> str:
    """The whole picture, on a white card of its own so that it reads on any page, with a name and a description for readers."""
    name, told = escape(clean(title)), escape(clean(description))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}" role="img" aria-label="{name}" font-family="{FONT}">'
    )
    card = box(0.5, 0.5, width - 1, height - 1, "#ffffff", stroke="#d5dae0", radius=8)
    body = "\n".join(mark for mark in marks if mark)
    return f"{head}\n<title>{name}</title>\n<desc>{told}</desc>\n{card}\n{body}\n</svg>\n"
