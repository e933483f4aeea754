"""The layout that all pictures share: boxes with wrapped text, and chains of nodes and labelled lines between them.

Texts are measured before layout and wrapped or truncated to their boxes, so that nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from .scene import SIMILARITY, Chain, Step, Word
from .svg import SMALL, TEXT, arrowhead, curve, fit, head_length, label, line, one_line, px, rect, width_of, wrap

Point = tuple[float, float]
GAP = 7.0
"""Between boxes, in pixels."""


class Paragraph(NamedTuple):
    """A text of a box: at most ``max_lines`` lines, with some ``(start, end)`` of it marked."""

    text: str
    size: float = TEXT
    style: str = ""
    max_lines: int = 3
    marks: Sequence[tuple[int, int]] = ()


class Box:
    """A box with wrapped paragraphs, and smaller boxes below them.

    Attributes:
        x, y: of its top left corner, set by :meth:`place`; width, height: in pixels.
        title: its tooltip. name: its ``data-answer``.
    """

    def __init__(
        self,
        style: str,
        paragraphs: Sequence[Paragraph],
        width: float,
        *,
        shrink: bool = False,
        side: str = "",
        inside: Sequence[Box] = (),
        title: str = "",
        name: str = "",
    ) -> None:
        """Measure the box: ``width`` wide, or as narrow as its text with ``shrink``; ``side`` is the style of marked text."""
        self._style, self._side, self.title, self.name = style, side, title, name
        self._inside, self._centred = inside, shrink
        self._pad, self._pad_y = (8.0, 5.0) if shrink else (10.0, 8.0)
        self.rows = [
            (paragraph, start, row)
            for paragraph in paragraphs
            for start, row in wrap(paragraph.text, paragraph.size, width - 2 * self._pad, paragraph.max_lines)
        ]
        text_width = max((width_of(row, paragraph.size) for paragraph, _, row in self.rows), default=0.0)
        self.width: float = text_width + 2 * self._pad if shrink else width
        self._text_height = sum(_line_height(paragraph.size) for paragraph, _, _ in self.rows) + 2 * len(paragraphs)
        self.height: float = self._text_height + 2 * self._pad_y - 2 + sum(box.height + GAP for box in inside)
        self.x = self.y = 0.0

    @property
    def middle(self) -> float:
        """The y of its middle."""
        return self.y + self.height / 2

    def place(self, x: float, y: float) -> None:
        """Put the box, with the boxes in it, at a point."""
        self.x, self.y = x, y
        y += self._pad_y + self._text_height + GAP / 2
        for box in self._inside:
            box.place(x + self.width - self._pad - box.width if self._side == "left" else x + self._pad, y)
            y += box.height + GAP

    def draw(self) -> Iterator[str]:
        """Yield the elements of the box."""
        if self.title:
            yield f'<g data-answer="{escape(self.name)}">' if self.name else "<g>"
            yield f"<title>{escape(one_line(self.title))}</title>"
        if self._style:
            yield rect(self.x, self.y, self.width, self.height, self._style)
        y, before = self.y + self._pad_y, None
        for paragraph, start, row in self.rows:
            size, lead = paragraph.size, _line_height(paragraph.size)
            y += 2 if before not in (None, paragraph) else 0
            for begin, end in paragraph.marks:
                first, last = max(begin - start, 0), min(end - start, len(row))
                if first < last:
                    left, wide = width_of(row[:first], size), width_of(row[first:last], size)
                    yield rect(self.x + self._pad + left - 1.5, y, wide + 3, lead - 1, f"{self._side} marked", 3)
            x, anchor = (self.x + self.width / 2, "middle") if self._centred else (self.x + self._pad, "start")
            yield label(x, y + lead / 2 + 0.35 * size, row, size, paragraph.style, anchor=anchor)
            y, before = y + lead, paragraph
        for box in self._inside:
            yield from box.draw()
        if self.title:
            yield "</g>"


def _line_height(size: float) -> float:
    return round(1.36 * size, 1)


def small_box(style: str, text: str, width: float, *, name: str = "", size: float = TEXT, max_lines: int = 2) -> Box:
    """Return a box as wide as its text; ``name`` is its tooltip if it is another text."""
    shown = one_line(text) or "?"
    box = Box(style, [Paragraph(shown, size, max_lines=max_lines)], width, shrink=True)
    full_name = one_line(name or text)
    if [row for _, _, row in box.rows] != [full_name]:
        box.title = full_name
    return box


def height_of(boxes: Sequence[Box | ChainRows], gap: float = GAP) -> float:
    """Return the height of boxes or chains one below the other."""
    return sum(box.height for box in boxes) + gap * max(len(boxes) - 1, 0)


def stack(boxes: Sequence[Box | ChainRows], x: float, y: float, gap: float = GAP) -> None:
    """Put boxes or chains one below the other."""
    for box in boxes:
        box.place(x, y)
        y += box.height + gap


# Chains: rows of nodes and segments between two columns. A segment has its relations above its line, and an arrowhead in the
# direction of its assertion. A chain that is too wide for its row continues in the next.

_ABOVE, _BELOW = 27.0, 12.0  # of a row's line, with its label
_LIFT = 8.0  # of a label above its line
_NODE_GAP = 6.0
_SEGMENT_PAD = 8.0
_LABEL, _LABELS = 150.0, 100.0  # most pixels of the label of one relation, of several
_NODE_WIDTHS = (0.42, 0.34, 0.26, 0.21)  # of the row, tried from the widest
_LEAST_NODE = 84.0
_THINNEST, _THICKEST, _SIMILAR = 1.2, 5.0, 2.0


class _Segment:
    """A line of a chain with its label: ``width`` is the least it needs, ``x0`` and ``x1`` its place."""

    def __init__(self, step: Step) -> None:
        self.step, self.whole = step, ", ".join(map(one_line, step.labels))
        self.label = fit(self.whole, SMALL, _LABEL if len(step.labels) == 1 else _LABELS)
        self.width = width_of(self.label, SMALL) + 2 * _SEGMENT_PAD + (0.0 if step.onwards is None else 8.0)
        self.x0 = self.x1 = 0.0


class ChainRows:
    """One chain in as few rows as possible.

    Attributes:
        height: of all rows; natural: the width from which one row is enough.
    """

    def __init__(self, chain: Chain, width: float, share: str = "", part: float = 0.0) -> None:
        """Measure the rows of ``chain`` in ``width`` pixels, with ``share`` at its start and ``part`` of the full thickness."""
        self.chain, self._width, self._share, self._part = chain, width, share, part
        self._indent = width_of(share, SMALL, bold=True) + 12 if share and not chain.first else 0.0
        tried = [_parts(chain, max(part * width, _LEAST_NODE)) for part in _NODE_WIDTHS]
        self.natural = _even_width(tried[0], self._indent) or sum(part.width for part in tried[0])
        self._rows = min((self._broken(parts) for parts in tried), key=len)
        self._tops: list[float] = []
        self._lines: list[float] = []
        y = 0.0
        for row in self._rows:
            tallest = max((part.height for part in row if isinstance(part, Box)), default=0.0) / 2 + _NODE_GAP
            self._tops.append(y)
            y += max(_ABOVE, tallest + (16 if share and chain.first and not y else 0))
            self._lines.append(y)
            y += max(_BELOW, tallest)
        self.height = y
        self.x = self.y = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The y of the lines of the first and of the last row."""
        return self.y + self._lines[0], self.y + self._lines[-1]

    def _broken(self, parts: Sequence[Box | _Segment]) -> list[list[Box | _Segment]]:
        """Return the parts in rows; a segment is in the same row as the node after it."""
        rows: list[list[Box | _Segment]] = [[]]
        room = self._width - self._indent
        for index, part in enumerate(parts):
            if isinstance(part, _Segment):
                after = parts[index + 1].width if index + 1 < len(parts) else 0.0
                if rows[-1] and part.width + after > room:
                    rows.append([])
                    room = self._width
                if part.width + after > room:
                    part.width = max(room - after, 0.0)
                    part.label = fit(part.label, SMALL, max(part.width - 2 * _SEGMENT_PAD, 0.0))
            rows[-1].append(part)
            room -= part.width
        return rows

    def place(self, x: float, y: float) -> None:
        """Put the chain at a point: nodes at equal distances where that leaves room for the labels."""
        self.x, self.y = x, y
        for number, (row, below) in enumerate(zip(self._rows, self._lines, strict=True)):
            indent = 0.0 if number else self._indent
            segments = sum(isinstance(part, _Segment) for part in row)
            spare = max(self._width - indent - sum(part.width for part in row), 0.0) / max(segments, 1)
            even = 0 < _even_width(row, indent) <= self._width
            at = x + indent
            for index, part in enumerate(row):
                if isinstance(part, Box):
                    part.place(at, y + below - part.height / 2)
                    at += part.width
                    continue
                part.x0 = at if index else x
                at += part.width + spare
                if even:
                    after = row[index + 1].width / 2 if index + 1 < len(row) else 0.0
                    at = x + self._width * (index // 2 + 1) / segments - after
                part.x1 = at

    def draw(self, start: Point | None, end: Point | None) -> Iterator[str]:
        """Yield the elements of the chain; its line begins and ends at points of boxes if they are given."""
        thick = _THINNEST + (_THICKEST - _THINNEST) * self._part
        for number, row in enumerate(self._rows):
            y, first = self.y + self._lines[number], row[0] if row else None
            if not number:
                lift = max(first.height / 2 + 6, _LIFT + 12) if isinstance(first, Box) else _LIFT
                yield label(self.x, y - lift, self._share, SMALL, "bold")
            elif isinstance(first, _Segment):
                before = self._rows[number - 1][-1]
                x = before.x1 if isinstance(before, _Segment) else before.x + before.width / 2
                turn = self.y + self._tops[number]
                path = f"M{px(x)} {px(self.y + self._lines[number - 1])}V{px(turn)}H{px(self.x)}V{px(y)}"
                yield line(path, first.step.by, _THINNEST)
            for part in row:
                if isinstance(part, _Segment):
                    begin, indent = (start, self._indent) if part is self._rows[0][0] else (None, 0.0)
                    stop = end if part is self._rows[-1][-1] else None
                    yield from _draw_segment(part, y, thick, indent, begin, stop)
        for part in (part for row in self._rows for part in row):  # over the lines
            if isinstance(part, Box):
                yield from part.draw()


def _parts(chain: Chain, node: float) -> list[Box | _Segment]:
    """Return the nodes, at most ``node`` pixels wide, and the segments of a chain in order."""
    parts: list[Box | _Segment] = []
    styles = ["left" if chain.left else "node", *["node"] * len(chain.nodes), "right" if chain.right else "node"]
    for index, text in enumerate([chain.first, *chain.nodes, chain.last]):
        if index and chain.steps:
            parts.append(_Segment(chain.steps[index - 1]))
        if text:
            parts.append(small_box(styles[index], text, node, size=SMALL, max_lines=4))
    return parts


def _even_width(row: Sequence[Box | _Segment], indent: float) -> float:
    """Return the width from which nodes at equal distances leave room for the labels; 0 if an end of the row is a node."""
    if not row or isinstance(row[0], Box) or isinstance(row[-1], Box):
        return 0.0
    halves = [indent, *[part.width / 2 if isinstance(part, Box) else 0.0 for part in row], 0.0]
    needed = [halves[index] + part.width + halves[index + 2] for index, part in enumerate(row) if isinstance(part, _Segment)]
    return max(needed) * len(needed)


def _draw_segment(part: _Segment, y: float, thick: float, indent: float, start: Point | None, end: Point | None) -> Iterator[str]:
    """Yield a line with its relations above it, beyond ``indent`` pixels, and with an arrowhead; similarities are thin."""
    onwards, style, quiet = part.step.onwards, part.step.by, ""
    if style == SIMILARITY:
        thick, quiet = min(thick, _SIMILAR), "quiet"
    head = head_length(thick) - 1
    (x0, y0), (x1, y1) = start or (part.x0, y), end or (part.x1, y)
    first, last = x0 + (head if onwards is False else 0), x1 - (head if onwards else 0)
    path = f"M{px(first)} {px(y0)}{curve(first, y0, part.x0, y) if start else ''}"
    path += f"H{px(part.x1)}{curve(part.x1, y, last, y1)}" if end else f"H{px(last)}"
    yield line(path, style, thick)
    if onwards is not None:
        yield arrowhead(*((x1, y1) if onwards else (x0, y0)), onwards, style, thick)
    yield label((part.x0 + indent + part.x1) / 2, y - _LIFT, part.label, SMALL, quiet, anchor="middle", title=part.whole)


def draw_chains(rows: Sequence[ChainRows], boxes: Mapping[Word, Box]) -> Iterator[str]:
    """Yield placed chains, connected with those boxes of their words that are given."""
    meeting: dict[Word, list[ChainRows]] = {}
    for row in rows:
        for word in (row.chain.left, row.chain.right):
            if word is not None:
                meeting.setdefault(word, []).append(row)

    def port(word: Word | None, row: ChainRows) -> Point | None:
        """The point where the row meets the box of a word."""
        if word is None or (box := boxes.get(word)) is None:
            return None
        here = meeting[word]
        x = box.x + box.width if box.x < row.x else box.x
        return x, box.y + box.height * (here.index(row) + 1) / (len(here) + 1)

    for row in rows:
        yield from row.draw(port(row.chain.left, row), port(row.chain.right, row))
