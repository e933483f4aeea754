"""The middle of a picture: every chain in a lane of its own, so that no label of one can stand on another's.

A lane is a row of segments and nodes from the history's edge to the response's. A segment carries its relations above the line
and the head of an arrow where its assertion points. A chain that is wider than the middle goes on in a row below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .look import COLOUR, DASHES, GREY, INK, QUIET, SMALL, signed, thickness
from .scene import By, Chain, Step
from .svg import arrow, box, label, number, stroke
from .typeset import clean, fit, joined, width_of, wrap

_ROW = 46.0
_ABOVE = 26.0
_LIFT = 9.5
_BELOW = 15.0
_NODE = 21.0
_NODE_LEAD = 13.0
_NODE_PAD = 8.0
_SEGMENT_PAD = 9.0
_HEAD = 8.0
_SHARE = 52.0
_LABELS = (150.0, 110.0, 60.0)
_NODES = (0.26, 0.3, 0.34, 0.38, 0.42)


@dataclass(slots=True)
class _Token:
    """A node (``step`` None) or a segment of a row: its lines (a segment has one), and its width (of a segment the least)."""

    lines: list[str]
    width: float
    step: Step | None = None
    full: str = ""


@dataclass(slots=True)
class Lane:
    """One chain in its rows; ``height`` is what it takes from the top of the middle."""

    chain: Chain
    rows: list[list[_Token]]

    @property
    def height(self) -> float:
        """Of all its rows."""
        return self.last + _BELOW

    @property
    def first(self) -> float:
        """How far below the lane's top its line begins."""
        return _ABOVE

    @property
    def last(self) -> float:
        """How far below the lane's top its line ends."""
        return _ABOVE + (len(self.rows) - 1) * _ROW


def lane_of(chain: Chain, width: float) -> Lane:
    """Lay ``chain`` in as few rows of ``width`` as naming fewer relations allows; the first row keeps room for the share."""
    found = [Lane(chain, _rows(_tokens(chain, width, most), width)) for most in _LABELS]
    return min(found, key=lambda lane: len(lane.rows))


def _rows(tokens: Sequence[_Token], width: float) -> list[list[_Token]]:
    """The tokens in rows: a row begins with a segment, and a segment stays with the node that it leads to."""
    rows: list[list[_Token]] = [[]]
    left = width - _SHARE
    for place, token in enumerate(tokens):
        follows = tokens[place + 1].width if place + 1 < len(tokens) and tokens[place + 1].step is None else 0.0
        if token.step is not None and rows[-1] and token.width + follows > left:
            rows.append([])
            left = width
        if token.width > left:
            token.width = max(left, 0.0)
            pad = 2 * (_NODE_PAD if token.step is None else _SEGMENT_PAD)
            token.lines = [fit(line, SMALL, max(token.width - pad, 0.0)) for line in token.lines]
        rows[-1].append(token)
        left -= token.width
    return rows


def _tokens(chain: Chain, width: float, most: float) -> list[_Token]:
    """The chain's parts in order; the labels of a segment are no wider than ``most`` where they are several."""
    tokens: list[_Token] = []
    nodes = [chain.first, *chain.nodes, chain.last]
    for place, step in enumerate(chain.steps):
        if nodes[place]:
            tokens.append(_node(nodes[place], width))
        single = len(step.labels) == 1
        text = joined([clean(one) for one in step.labels], SMALL, max(_LABELS) if single else most)
        arrowed = 0.0 if step.onwards is None else _HEAD
        tokens.append(_Token([text], width_of(text, SMALL) + 2 * _SEGMENT_PAD + arrowed, step, ", ".join(step.labels)))
    if chain.last:
        tokens.append(_node(chain.last, width))
    return tokens


def _node(text: str, width: float) -> _Token:
    """A node, in two lines where one is too long."""
    for most in _NODES:
        lines = [line.text for line in wrap(clean(text), SMALL, most * width - 2 * _NODE_PAD, 2)] or ["?"]
        if not lines[-1].endswith("…"):
            break
    return _Token(lines, max(width_of(line, SMALL) for line in lines) + 2 * _NODE_PAD, None, text)


def draw_lane(lane: Lane, x0: float, x1: float, top: float, most: float) -> Iterator[str]:
    """Yield the marks of a lane from ``x0`` to ``x1`` whose top is ``top``; ``most`` is the part of the strongest chain."""
    chain = lane.chain
    share = f"{chain.share:.2f}" if chain.attention else signed(chain.share)
    yield label(x0, top + lane.first - _LIFT, share, SMALL, INK, bold=True)
    for place, row in enumerate(lane.rows):
        y = top + lane.first + place * _ROW
        behind = 0.0 if place else _SHARE
        yield from _row(row, x0, x1, behind, y, (chain.part, most))
        if place + 1 < len(lane.rows):
            step = lane.rows[place + 1][0].step
            by = step.by if step is not None else By.LIKENESS
            *_, (last, start, stop) = _places(row, x0, x1, behind)
            end = stop if last.step is not None else (start + stop) / 2
            path = f"M{number(end)} {number(y)}V{number(y + _ROW / 2 - 2)}H{number(x0)}V{number(y + _ROW)}"
            yield stroke(path, COLOUR[by], thickness(chain.part, most, by), DASHES[by])
    for place, row in enumerate(lane.rows):  # over every line
        yield from _nodes(row, x0, x1, 0.0 if place else _SHARE, top + lane.first + place * _ROW)


def _places(row: Sequence[_Token], x0: float, x1: float, share: float) -> Iterator[tuple[_Token, float, float]]:
    """Each token with where it begins and ends; the spare room is shared out among the segments.

    A first segment runs on below the share, a first node stands behind it.
    """
    segments = sum(token.step is not None for token in row)
    spare = max(x1 - x0 - share - sum(token.width for token in row), 0.0) / max(segments, 1)
    x = x0 + share
    for place, token in enumerate(row):
        end = x + token.width + (spare if token.step is not None else 0.0)
        yield token, x0 if token.step is not None and not place else x, end
        x = end


def _row(row: Sequence[_Token], x0: float, x1: float, share: float, y: float, part: tuple[float, float]) -> Iterator[str]:
    """The segments of one row."""
    for token, start, end in _places(row, x0, x1, share):
        if token.step is not None:
            behind = share if start == x0 else 0.0
            yield from _segment(token, token.step, start, end, behind, y, thickness(*part, token.step.by))


def _segment(token: _Token, step: Step, x: float, end: float, behind: float, y: float, thick: float) -> Iterator[str]:
    """A line with its relations above it, centred in what is ``behind`` the share, and with an arrow's head at one end."""
    colour = COLOUR[step.by]
    back = 0.0 if step.onwards is None else 6 + thick
    start, stop = (x, end - back) if step.onwards else (x + back, end)
    yield stroke(f"M{number(start)} {number(y)}H{number(stop)}", colour, thick, DASHES[step.by])
    if step.onwards is not None:
        yield arrow(end if step.onwards else x, y, step.onwards, thick, colour)
    ink = QUIET if step.by is By.LIKENESS else INK
    yield label((x + behind + end) / 2, y - _LIFT, token.lines[0], SMALL, ink, anchor="middle", title=token.full)


def _nodes(row: Sequence[_Token], x0: float, x1: float, share: float, y: float) -> Iterator[str]:
    """The nodes of one row."""
    for token, start, end in _places(row, x0, x1, share):
        if token.step is None:
            height = _NODE + (len(token.lines) - 1) * _NODE_LEAD
            yield box(start, y - height / 2, end - start, height, "#ffffff", stroke=GREY, radius=10)
            for place, line in enumerate(token.lines):
                below = (place - (len(token.lines) - 1) / 2) * _NODE_LEAD
                title = "" if place else token.full
                yield label((start + end) / 2, y + 4 + below, line, SMALL, INK, anchor="middle", title=title)
