"""The SVG picture of paths through the graph: a row for each path, with the nodes that all rows begin or end with drawn once.

It uses nothing but the paths, so it draws paths of any origin: of ``graph.paths``, of the evidence of a score, or the rows of a
Cypher query that returns head, relation and tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from os import PathLike
from pathlib import Path as FilePath
from typing import NamedTuple

from ...graph.errors import InputError
from ...graph.model import Assertion, Path
from ...graph.names import text_of
from .svg import arrow, bend, box, clean, document, fit, label, px, stroke, width_of

BLUE = "#0072b2"
INK = "#1b1f24"
QUIET = "#57606a"
END, END_EDGE = "#dcebf7", "#5a9bc9"
MIDDLE, MIDDLE_EDGE = "#f6f8fa", "#8a94a0"

NARROWEST, WIDEST = 320, 2400
MOST = 50

_MARGIN = 20.0
_TEXT, _SMALL = 13.0, 11.0
_ROW, _BOX = 44.0, 26.0
_PAD = 9.0
_LEAST_BOX, _LEAST_GAP = 40.0, 36.0
_FAN = 26.0  # between a shared box and the rows
_LINE = 1.6

PathLikeRow = Path | Sequence[str]
"""A path, an assertion, or the texts or URIs of a head, a relation and a tail."""


class Picture(str):
    """An SVG picture as text; notebooks show it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        """Return the SVG, for notebooks."""
        return str(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the picture to an ``.svg`` file."""
        FilePath(path).write_text(self, encoding="utf-8")


def draw_paths(paths: Iterable[PathLikeRow], *, width: int = 960, most: int = 12) -> Picture:
    """Return a picture of paths, in the given order; deterministic, byte for byte.

    Every line is an assertion with the name of its relation, and its arrow points from head to tail. Consecutive paths with the
    same first node share its box, and share the box of their last node when all of them end there.

    Args:
        paths: paths, assertions, or triples of texts or URIs.
        width: in pixels, 320..2,400; the picture is narrower if it needs less, and wider where many hops leave no place for
            labels.
        most: number of paths that are drawn, 1..50; a line below says how many are left out.

    Raises:
        InputError: there is no path, one of them is neither a path nor a triple of texts, or a number is out of range.
    """
    if not NARROWEST <= width <= WIDEST:
        raise InputError(f"the width of a picture must be from {NARROWEST} to {WIDEST} pixels, not {width}")
    if not 1 <= most <= MOST:
        raise InputError(f"most must be from 1 to {MOST}, not {most}")
    rows = [_as_path(one) for one in paths]
    if not rows:
        raise InputError("there is no path to draw; give at least one")
    shown, left_out = rows[:most], len(rows) - min(most, len(rows))
    groups = [_Group(list(group)) for _, group in groupby(shown, key=lambda one: one.nodes[0])]
    measure = _Measure.of(groups, width)
    marks: list[str] = []
    y = _MARGIN
    for group in groups:
        y = _draw_group(group, measure, y, marks) + 6
    if left_out:
        marks.append(label(_MARGIN, y + 10, f"and {left_out} more", _SMALL, QUIET))
        y += 16
    described = "; ".join(one.text() for one in shown) + (f"; and {left_out} more" if left_out else "")
    return Picture(document(measure.width, y + _MARGIN - 8, _title(shown), described, marks))


def _title(paths: Sequence[Path]) -> str:
    number = f"{len(paths)} path{'s' if len(paths) > 1 else ''}"
    starts, ends = {one.nodes[0] for one in paths}, {one.nodes[-1] for one in paths}
    if len(starts) > 1:
        return number
    start = _name(paths[0].nodes[0])
    return f"{number} from {start}" + (f" to {_name(paths[0].nodes[-1])}" if len(ends) == 1 else "")


def _as_path(one: PathLikeRow) -> Path:
    """Return a path; a triple becomes a path of one assertion.

    Raises:
        InputError: it is neither.
    """
    if isinstance(one, Path):
        return one
    if isinstance(one, str) or len(one) < 3 or not all(isinstance(text, str) and text.strip() for text in one[:3]):
        raise InputError(f"{one!r} is neither a path nor a head, a relation and a tail")
    head, relation, tail = one[:3]
    return Path((head, tail), (Assertion(head, relation, tail),))


def _name(node: str) -> str:
    return clean(text_of(node) if node.startswith("/") else node)


class _Group:
    """Paths with the same first node.

    Attributes:
        paths: in order.
        joined: whether all end at the same node, whose box is drawn once.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.joined = len({one.nodes[-1] for one in paths}) == 1 and all(one.assertions for one in paths)


class _Measure(NamedTuple):
    """Columns of the whole picture, so that rows of all groups are aligned: widths of boxes, and of the gaps after them."""

    width: float
    boxes: tuple[float, ...]
    gaps: tuple[float, ...]

    @classmethod
    def of(cls, groups: Sequence[_Group], width: float) -> _Measure:
        """Return the columns for ``groups``: boxes first and then gaps are made narrower to fit ``width``, down to a least width
        with which every label has a place of its own.
        """
        columns = max(len(path.nodes) for group in groups for path in group.paths)
        boxes, gaps = [_LEAST_BOX] * columns, [_LEAST_GAP] * (columns - 1)
        if gaps and any(len(group.paths) > 1 for group in groups):
            gaps[0] += _FAN
            gaps[-1] += _FAN if any(group.joined and len(group.paths) > 1 for group in groups) else 0.0
        least = list(gaps)
        for group in groups:
            for path in group.paths:
                places = _columns(path, group, columns)
                for place, node in zip(places, path.nodes, strict=True):
                    boxes[place] = max(boxes[place], width_of(_name(node), _TEXT) + 2 * _PAD)
                for start, end, one in zip(places, places[1:], path.assertions, strict=False):
                    if end == start + 1:  # a line over several columns is long enough for any label
                        gaps[start] = max(gaps[start], width_of(one.relation, _SMALL) + least[start])
        room = width - 2 * _MARGIN
        if sum(boxes) + sum(gaps) > room:
            ratio = max(room - sum(gaps), 0.0) / sum(boxes)
            boxes = [max(one * ratio, _LEAST_BOX) for one in boxes]
        if gaps and sum(boxes) + sum(gaps) > room:
            ratio = max(room - sum(boxes), 0.0) / sum(gaps)
            gaps = [max(one * ratio, few) for one, few in zip(gaps, least, strict=True)]
        return cls(sum(boxes) + sum(gaps) + 2 * _MARGIN, tuple(boxes), tuple(gaps))

    def left(self, column: int) -> float:
        """Return the left edge of a column's boxes."""
        return _MARGIN + sum(self.boxes[:column]) + sum(self.gaps[:column])


def _columns(path: Path, group: _Group, columns: int) -> list[int]:
    """Return the column of each node: by its place in the path, a shared last node in the last column."""
    places = list(range(len(path.nodes)))
    if group.joined:
        places[-1] = columns - 1
    return places


def _draw_group(group: _Group, measure: _Measure, top: float, marks: list[str]) -> float:
    """Add the rows of a group; return the y below them."""
    middles = [top + _ROW * (number + 0.5) for number in range(len(group.paths))]
    centre = (middles[0] + middles[-1]) / 2
    several = len(group.paths) > 1
    last = len(measure.boxes) - 1
    for path, y in zip(group.paths, middles, strict=True):
        places = _columns(path, group, last + 1)
        for step, one in enumerate(path.assertions):
            x0 = measure.left(places[step]) + measure.boxes[places[step]]
            x1 = measure.left(places[step + 1])
            if several and step == 0:
                marks.append(stroke(bend(x0, centre, x0 + _FAN, y), BLUE, _LINE))
                x0 += _FAN
            if several and group.joined and step == path.hops - 1:
                marks.append(stroke(bend(x1 - _FAN, y, x1, centre), BLUE, _LINE))
                x1 -= _FAN
            marks += _edge(one, one.head == path.nodes[step], x0, x1, y)
        for place, node in list(zip(places, path.nodes, strict=True))[1 : -1 if group.joined else None]:
            marks += _node(node, measure, place, y, ending=node == path.nodes[-1])
    marks += _node(group.paths[0].nodes[0], measure, 0, centre, ending=True)
    if group.joined:
        marks += _node(group.paths[0].nodes[-1], measure, last, centre, ending=True)
    return top + _ROW * len(group.paths)


def _node(node: str, measure: _Measure, column: int, y: float, *, ending: bool) -> list[str]:
    x, width = measure.left(column), measure.boxes[column]
    name = _name(node)
    text = fit(name, _TEXT, width - 2 * _PAD + 1)
    fill, edge = (END, END_EDGE) if ending else (MIDDLE, MIDDLE_EDGE)
    return [
        box(x, y - _BOX / 2, width, _BOX, fill, stroke=edge),
        label(x + width / 2, y + 4.5, text, _TEXT, INK, anchor="middle", title=name),
    ]


def _edge(one: Assertion, forward: bool, x0: float, x1: float, y: float) -> list[str]:
    """Return the line of an assertion with its arrow and its label."""
    text = fit(one.relation, _SMALL, max(x1 - x0 - 12, 12.0))
    line = stroke(f"M{px(x0)} {px(y)}H{px(x1)}", BLUE, _LINE)
    tip = arrow(x1, y, True, _LINE, BLUE) if forward else arrow(x0, y, False, _LINE, BLUE)
    return [line, tip, label((x0 + x1) / 2, y - 6, text, _SMALL, QUIET, anchor="middle", title=one.relation)]
