"""What tests of pictures share: explanations of every shape, and the boxes of all labels that stand in an SVG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

from hypothesis import strategies as st
from tacit.graph.model import Assertion, Path
from tacit.graph.names import concept_uri, event_uri
from tacit.reasoning import Evidence, Explanation, Piece, Score, Signature
from tacit.reasoning.text.linking import Mention

SVG = "{http://www.w3.org/2000/svg}"
RELATIONS = ("IsA", "UsedFor", "HasPrerequisite", "MotivatedByGoal", "AtLocation", "xWant", "A" * 64)
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=24) | st.sampled_from(
    ["dog", "credit card", "W" * 60, "犬" * 20]
)

SHARES = st.floats(-1, 1) | st.floats(-1e9, 1e9)


class Box(NamedTuple):
    """Where a label stands: from left to right, from the top of its letters to their foot."""

    left: float
    top: float
    right: float
    bottom: float
    text: str

    def meets(self, other: Box) -> bool:
        """Whether the two have more than a line in common."""
        return (
            min(self.right, other.right) - max(self.left, other.left) > 0.11
            and min(self.bottom, other.bottom) - max(self.top, other.top) > 0.11
        )


def boxes(svg: str) -> list[Box]:
    """The boxes of all labels of a picture, as wide as it says they are, as high as letters of their size are."""
    rectangles = []
    for node in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        x, y, size, width = (float(node.attrib[name]) for name in ("x", "y", "font-size", "textLength"))
        left = {"middle": x - width / 2, "end": x - width}.get(node.attrib.get("text-anchor", ""), x)
        rectangles.append(Box(left, y - 0.74 * size, left + width, y + 0.22 * size, node.text or ""))
    return rectangles


def overlaps(rectangles: Sequence[Box]) -> list[tuple[Box, Box]]:
    """The pairs of labels that stand on each other."""
    return [(first, second) for index, first in enumerate(rectangles) for second in rectangles[:index] if first.meets(second)]


def frame(svg: str) -> Box:
    """The picture's own box."""
    match = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert match is not None
    return Box(0, 0, float(match[1]), float(match[2]), "")


def mention(text: str, start: int, event: bool) -> Mention:
    """A mention of what is written at a place."""
    try:
        concept = event_uri(text) if event else concept_uri(text)
    except Exception:
        concept = "/c/en/thing"
    return Mention(start, start + len(text), text, concept, text, "NOUN")


@st.composite
def chains(draw: st.DrawFn, turns: Sequence[Sequence[Mention]], response: Sequence[Mention]) -> Piece:
    """A piece that joins a word of the history to one of the response, or an event tuple, or a word that nothing joins."""
    share = draw(SHARES)
    right = draw(st.sampled_from(response))
    turn = draw(st.integers(0, len(turns) - 1))
    left = draw(st.sampled_from(turns[turn]))
    nodes = ["/c/en/a", *draw(st.lists(WORDS.map(lambda text: "/c/en/" + text), max_size=5)), "/c/en/b"]
    rows = []
    for start, two in pairwise(nodes):
        head, tail = (start, two) if draw(st.booleans()) else (two, start)
        rows.append(Assertion(head, draw(st.sampled_from(RELATIONS)), tail))
    path = Path(tuple(nodes), tuple(rows))
    kind = draw(st.sampled_from(["concept", "triple", "term", "tuple", "unjoined", "same", "bare"]))
    if kind == "unjoined":
        return Piece("concept", 0.0, 0.0, right)
    if kind == "same":
        return Piece("concept", 1.0, share, right, turn, left, 0, Path(("/c/en/a",), ()))
    if kind == "bare":
        return Piece("concept", 1.0, share, right, turn, left, 3)
    if kind != "tuple":
        return Piece(kind, 1.0, share, right, turn, left, path.hops, path, asserted=kind != "term")
    tail = draw(WORDS)
    close = Piece(draw(st.sampled_from(["graph-tail", "nearest-tail", "model-tail"])), 0.8, share, name=tail, path=Path(
        ("/e/PersonX_runs", f"/e/{tail}"), (Assertion("/e/PersonX_runs", "xWant", f"/e/{tail}"),)
    ), asserted=draw(st.booleans()))  # fmt: skip
    here = draw(st.booleans())
    name = f"{draw(WORDS)} -xWant-> {tail}"
    rests_on = (close,) if draw(st.booleans()) else ()
    return Piece(
        "tuple", 0.5, share, right if draw(st.booleans()) else None, turn if here else None, left if here else None, name=name,
        rests_on=rests_on,
    )  # fmt: skip


@st.composite
def explanations(draw: st.DrawFn, limit: int = 12) -> Explanation:
    """An explanation with up to ``most`` words a side, whatever its chains and its bars."""
    history, spoken = [], []
    for _ in range(draw(st.integers(1, 4))):
        text, words = draw(spoken_turn(max(1, limit // 3)))
        history.append(text)
        spoken.append(words)
    response, answered = draw(spoken_turn(limit))
    pieces = draw(st.lists(chains(spoken, answered), max_size=24))
    bars = draw(st.lists(st.builds(Piece, st.sampled_from(["base", "feature", "part"]), SHARES, SHARES,
                                   name=WORDS), max_size=15))  # fmt: skip
    value = draw(SHARES | st.just(float("nan")))
    note = draw(st.text(max_size=200))
    score = Score(value, Evidence((*pieces, *bars), note), Signature(draw(st.sampled_from(["grounding", "mine"])), (), 1))
    return Explanation(tuple(history), response, score)


@st.composite
def spoken_turn(draw: st.DrawFn, limit: int) -> tuple[str, list[Mention]]:
    """A turn and the mentions in it."""
    words = draw(st.lists(WORDS, min_size=1, max_size=limit))
    text, mentions = "", []
    event = draw(st.booleans())
    for word in words:
        text += " " if text else ""
        mentions.append(mention(word, len(text), event))
        text += word
    return text, mentions


def all_pieces(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces with those that they rest on."""
    for piece in pieces:
        yield piece
        yield from all_pieces(piece.rests_on)
