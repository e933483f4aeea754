"""The SVG picture of paths through the graph: a row for each path, with the nodes that all rows begin or end with drawn once.

It uses nothing but the paths, so it draws paths of any origin: of ``graph.paths``, of the evidence of a score, or the rows of a
Cypher query that returns head, relation and tail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ...graph.errors import InputError
from ...graph.model import Assertion, Path
from ...graph.names import text_of
from .boxes import GAP, ChainRows, draw_chains, height_of, small_box, stack
from .scene import Chain, Word, inner_nodes, steps_of
from .svg import MARGIN, SMALL, Picture, Sheet, first_of, one_line

_GUTTER = 26.0
_NODE = 0.24  # of the width, at most
_SPACE = 1.1  # width of the chains, as a multiple of what they need
_PART = 0.15  # thickness of the lines

PathLikeRow = Path | Sequence[str]
"""A path, an assertion, or the texts or URIs of a head, a relation and a tail."""


def draw_paths(paths: Iterable[PathLikeRow], *, width: int = 960, limit: int = 12) -> Picture:
    """Return a picture of paths, in the given order; deterministic, byte for byte.

    Every line is an assertion with the name of its relation, and its arrow points from head to tail. Consecutive paths with the
    same first node share its box, and the box of their last node when they end at the same one.

    Args:
        paths: paths, assertions, or triples of texts or URIs.
        width: in pixels, 320..2,400; the picture is narrower if it needs less, and a path with too many hops for it continues
            in a row below.
        limit: number of paths that are drawn, 1..50; a line below says how many are left out.

    Raises:
        InputError: there is no path, one of them is neither a path nor a triple of texts, or a number is out of range.
    """
    sheet = Sheet(width)
    shown, left_out = first_of([_as_path(path) for path in paths], limit, "path")
    groups = [list(group) for _, group in groupby(shown, key=lambda path: path.nodes[0])]
    chains = [_chain(path, number) for number, group in enumerate(groups) for path in group]
    words = dict.fromkeys(word for chain in chains for word in (chain.left, chain.right) if word is not None)
    boxes = {word: small_box("left", word.text, sheet.inner * _NODE) for word in words}
    sides = [max((box.width for word, box in boxes.items() if word.start == side), default=-_GUTTER) for side in (0, 1)]
    room = sheet.inner - sum(sides) - 2 * _GUTTER
    between = min(_SPACE * max(ChainRows(chain, room).natural for chain in chains), room)
    rows = [ChainRows(chain, between, part=_PART) for chain in chains]
    x0 = MARGIN + sides[0] + _GUTTER
    stack(rows, x0, MARGIN)
    bottoms = [MARGIN, MARGIN]
    for word, box in boxes.items():
        ends = [row.ends[word.start] for row in rows if word in (row.chain.left, row.chain.right)]
        y = max(sum(ends) / len(ends) - box.height / 2, bottoms[word.start])
        box.place(x0 + between + _GUTTER if word.start else MARGIN + sides[0] - box.width, y)
        bottoms[word.start] = y + box.height + GAP
        sheet.add(*box.draw())
    sheet.add(*draw_chains(rows, boxes))
    sheet.width = x0 + between + _GUTTER + sides[1] + MARGIN
    sheet.y = max(MARGIN + height_of(rows), bottoms[0] - GAP, bottoms[1] - GAP)
    if left_out:
        sheet.write(f"and {left_out} more", SMALL)
    described = "; ".join(path.text() for path in shown) + (f"; and {left_out} more" if left_out else "")
    return sheet.picture(_title(shown), described)


def _chain(path: Path, group: int) -> Chain:
    """Return a path as a chain; its ends are words with the number of the group as their turn, the last one at place 1."""
    start, end = (_name(node) for node in (path.nodes[0], path.nodes[-1]))
    right = Word(group, 1, 1, end, path.nodes[-1]) if path.assertions else None
    return Chain(Word(group, 0, 0, start, path.nodes[0]), right, steps_of(path), inner_nodes(path))


def _title(paths: Sequence[Path]) -> str:
    number = f"{len(paths)} path{'s' if len(paths) > 1 else ''}"
    starts, ends = {path.nodes[0] for path in paths}, {path.nodes[-1] for path in paths}
    if len(starts) > 1:
        return number
    return f"{number} from {_name(paths[0].nodes[0])}" + (f" to {_name(paths[0].nodes[-1])}" if len(ends) == 1 else "")


def _as_path(row: PathLikeRow) -> Path:
    """Return a path; a triple becomes a path of one assertion."""
    if isinstance(row, Path):
        return row
    if isinstance(row, str) or len(row) < 3 or not all(isinstance(text, str) and text.strip() for text in row[:3]):
        raise InputError(f"{row!r} is neither a path nor a head, a relation and a tail")
    head, relation, tail = row[:3]
    return Path((head, tail), (Assertion(head, relation, tail),))


def _name(node: str) -> str:
    return one_line(text_of(node) if node.startswith("/") else node)
