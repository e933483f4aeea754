"""The middle of a picture: every chain in a lane of its own, so that no label of one can stand on another's.

A lane is a row of segments and nodes from the history's edge to the response's. A segment carries its relations above the line
and the head of an arrow where its assertion points. A chain that is wider than the middle goes on in a row below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .look import COLOUR, DASHES, GREY, INK, QUIET, SMALL, THICKEST, THINNEST, signed
from .scene import By, Chain, Step
from .svg import arrow, box, label, number, stroke
from .typeset import clean, fit, joined, width_of

_ROW = 40.0
_ABOVE = 24.0
_NODE = 22.0
_NODE_PAD = 8.0
_SEGMENT_PAD = 11.0
_HEAD = 8.0
_SHARE = 50.0
_LABEL_MOST = 150.0


@dataclass(slots=True)
class _Token:
    """A node (``step`` None) or a segment of a row: its text and its width, which a segment has at least."""

    text: str
    width: float
    step: Step | None = None
    full: str = ""


@dataclass(slots=True)
class Lane:
    """One chain in its rows; ``height`` is what it takes from the top of the middle."""

    chain: Chain
    rows: list[list[_Token]] = field(default_factory=list)

    @property
    def height(self) -> float:
        """Of all its rows."""
        return _ABOVE + (len(self.rows) - 1) * _ROW + 14


def lane_of(chain: Chain, width: float) -> Lane:
    """Lay ``chain`` in rows of ``width``; the first keeps room for the share."""
    lane = Lane(chain, [[]])
    left = width - _SHARE
    for token in _tokens(chain, width):
        row = lane.rows[-1]
        if token.step is not None and row and token.width > left and any(part.step for part in row):
            row = []
            lane.rows.append(row)
            left = width
        if token.width > left:
            token.width = max(left, 0.0)
            spare = token.width - (2 * _NODE_PAD if token.step is None else 2 * _SEGMENT_PAD + _HEAD)
            token.text = fit(token.text, SMALL, max(spare, 0.0))
        row.append(token)
        left -= token.width
        if token.step is None and left < 0.15 * width and token is not None:
            left = 0.0
    return lane


def _tokens(chain: Chain, width: float) -> Iterator[_Token]:
    """The chain's parts in order, each no wider than it may be."""
    widest = 0.42 * width
    nodes = [chain.first, *chain.nodes, chain.last]
    for place, step in enumerate(chain.steps):
        if nodes[place]:
            yield _node(nodes[place], widest)
        text = joined([clean(one) for one in step.labels], SMALL, _LABEL_MOST)
        arrowed = 0.0 if step.onwards is None else _HEAD
        yield _Token(text, width_of(text, SMALL) + 2 * _SEGMENT_PAD + arrowed, step, ", ".join(step.labels))
    if chain.last:
        yield _node(chain.last, widest)


def _node(text: str, widest: float) -> _Token:
    short = fit(clean(text), SMALL, widest - 2 * _NODE_PAD)
    return _Token(short, width_of(short, SMALL) + 2 * _NODE_PAD, None, text)


def thickness(chain: Chain, most: float) -> float:
    """How thick the lines of a chain are when the strongest has ``most``."""
    return THINNEST + (THICKEST - THINNEST) * (chain.part / most if most > 0 else 0.0)


def first_y(top: float) -> float:
    """Where the line of a lane begins that begins at ``top``."""
    return top + _ABOVE


def last_y(lane: Lane, top: float) -> float:
    """Where it ends."""
    return top + _ABOVE + (len(lane.rows) - 1) * _ROW


def draw_lane(lane: Lane, x0: float, x1: float, top: float, thick: float) -> Iterator[str]:
    """Yield the marks of a lane from ``x0`` to ``x1`` whose top is ``top``."""
    for place, row in enumerate(lane.rows):
        y = top + _ABOVE + place * _ROW
        start = x0 if place else x0 + _SHARE
        if not place:
            yield label(x0, y - 5 - THICKEST / 2, signed(lane.chain.share), SMALL, INK, bold=True)
            first = lane.rows[0][0]
            if first.step is not None:
                by = first.step.by
                yield stroke(f"M{number(x0)} {number(y)}H{number(start)}", COLOUR[by], thick, DASHES[by])
        yield from _row(row, start, x1, y, thick)
        if place < len(lane.rows) - 1:
            end = x1 if row[-1].step is not None else x1 - row[-1].width / 2
            below = y + _NODE / 2
            turn = y + 16
            step = lane.rows[place + 1][0].step
            by = step.by if step is not None else By.LIKENESS
            path = f"M{number(end)} {number(below)}V{number(turn)}H{number(x0)}V{number(y + _ROW)}"
            yield stroke(path, COLOUR[by], thick, DASHES[by])


def _row(row: Sequence[_Token], x0: float, x1: float, y: float, thick: float) -> Iterator[str]:
    """One row, its spare room shared out among its segments."""
    segments = sum(token.step is not None for token in row)
    spare = max(x1 - x0 - sum(token.width for token in row), 0.0) / max(segments, 1)
    x = x0
    nodes: list[str] = []
    for token in row:
        if token.step is None:
            nodes.append(box(x, y - _NODE / 2, token.width, _NODE, "#ffffff", stroke=GREY, radius=11))
            nodes.append(label(x + token.width / 2, y + 4, token.text, SMALL, INK, anchor="middle", title=token.full))
            x += token.width
            continue
        end = x + token.width + spare
        yield from _segment(token, token.step, x, end, y, thick)
        x = end
    yield from nodes


def _segment(token: _Token, step: Step, x: float, end: float, y: float, thick: float) -> Iterator[str]:
    colour = COLOUR[step.by]
    length = 7 + thick
    start, stop = x, end
    if step.onwards is True:
        stop -= length - 1
    elif step.onwards is False:
        start += length - 1
    yield stroke(f"M{number(start)} {number(y)}H{number(stop)}", colour, thick, DASHES[step.by])
    if step.onwards is not None:
        yield arrow(end if step.onwards else x, y, step.onwards, thick, colour)
    ink = QUIET if step.by is By.LIKENESS else INK
    yield label((x + end) / 2, y - 5 - THICKEST / 2, token.text, SMALL, ink, anchor="middle", title=token.full)
