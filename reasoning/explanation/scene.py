"""The content of a picture before layout: words of both sides, chains between them, and bars of shares.

Every metric's evidence is mapped to these: a *word* is a keyword or an event at a place in a turn; a *chain* leads from a word
of the history to one of the response, with steps that are assertions of the graph, predictions of a model, or similarities; a
*bar* is a piece without a place in a text and with a share of the score.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite, isnan
from typing import NamedTuple

from ...graph.model import Path
from ...graph.names import text_of
from ..base import Piece, Score
from ..text.linking import Mention
from .explained import is_slight

MOST_CHAINS = 16
MOST_WORDS = 12
MOST_BARS = 12

GRAPH, MODEL, SIMILARITY = "graph", "model", "similarity"
"""Sources of a step (similarity includes identity of two texts), which are also the styles of its line."""

_TUPLE = re.compile(r"^(.+?) -(\w+)-> (.+)$", re.DOTALL)


class Word(NamedTuple):
    """A place in a text: ``turn`` of the history from 0, None for the response; its ``text`` as shown, its concept's ``name``."""

    turn: int | None
    start: int
    end: int
    text: str
    name: str


class Step(NamedTuple):
    """One step of a chain: its relations, and whether they point from history to response; None without a direction."""

    labels: tuple[str, ...]
    onwards: bool | None
    by: str


class Chain(NamedTuple):
    """A connection of a word of the history with one of the response."""

    left: Word | None  # left, right: the words; None for an end that no text mentions
    right: Word | None
    steps: tuple[Step, ...]
    nodes: tuple[str, ...]  # texts between the steps
    share: float = 0.0  # its share of the score; with `attention`, a model's attention instead, which has no sign
    first: str = ""  # first, last: text of an end that is not a word
    last: str = ""
    attention: bool = False

    @property
    def weight(self) -> float:
        """Size of the share, which is drawn as thickness."""
        return abs(self.share) if isfinite(self.share) else 0.0


class Bar(NamedTuple):
    """A piece with a share of the score: its name, and its own value if that is another number."""

    name: str
    share: float
    value: float | None = None


class Scene(NamedTuple):
    """The content of a picture."""

    chains: list[Chain]  # strongest first
    left_out: int  # number of those that are not among them
    words: list[Word]  # of both sides, in the order of the texts, with words of the response that have no chain
    bars: list[Bar]  # in the metric's order; the weakest of too many are summed up in the last
    facts: list[tuple[str, float]]  # names and values of pieces without a share


def scene_of(score: Score) -> Scene:
    """Return the content of the picture of ``score``."""
    pieces = score.evidence.pieces
    merged = _merged([chain for piece in pieces for chain in _chains(piece)])
    merged.sort(key=lambda chain: -chain.weight)  # stable: the metric's own order among equals
    chains, words = _strongest(merged)
    for piece in pieces:
        if piece.response is not None and not any(_chains(piece)) and sum(word.turn is None for word in words) < MOST_WORDS:
            words.add(_word(piece.response, None))
    bars = [_bar(piece) for piece in pieces if not _is_chain(piece) and piece.kind != "part" and isfinite(piece.share)]
    facts = [(piece.name, piece.value) for piece in pieces if piece.kind == "part"]
    ordered = sorted(words, key=lambda word: (word.turn is None, word.turn or 0, word[1:]))
    return Scene(chains, len(merged) - len(chains), ordered, _summed(bars), facts)


def _strongest(chains: Sequence[Chain]) -> tuple[list[Chain], set[Word]]:
    """Return the strongest chains within the limits, with their words."""
    words: set[Word] = set()
    chosen: list[Chain] = []
    for chain in chains:
        both = words | {word for word in (chain.left, chain.right) if word is not None}
        sides = Counter(word.turn is None for word in both)
        if len(chosen) < MOST_CHAINS and max(sides.values(), default=0) <= MOST_WORDS:
            chosen.append(chain)
            words = both
    return chosen, words


def _summed(bars: list[Bar]) -> list[Bar]:
    """Return the strongest bars in their order, and one for the sum of the others."""
    order = sorted(range(len(bars)), key=lambda index: -abs(bars[index].share))
    rest = [bars[index].share for index in order[MOST_BARS:]]
    return [bars[index] for index in sorted(order[:MOST_BARS])] + ([Bar(f"{len(rest)} more", sum(rest))] if rest else [])


def _bar(piece: Piece) -> Bar:
    own = piece.kind in ("base", "keyword", "word") or piece.value == piece.share or isnan(piece.value)
    return Bar(piece.name, piece.share, None if own else piece.value)


def _is_chain(piece: Piece) -> bool:
    """Return whether the piece is a chain, or a word without one; a keyword of GRADE is a bar."""
    return piece.kind != "keyword" and (piece.kind == "tuple" or piece.response is not None)


def _chains(piece: Piece) -> Iterator[Chain]:
    """Yield the chains of a piece and of the pieces below it, without those whose share rounds to zero."""
    if is_slight(piece):
        return
    if piece.kind == "tuple":
        yield _of_tuple(piece)
        return
    if piece.response is not None and piece.history is not None and piece.turn is not None:
        yield _of_path(piece, _word(piece.history, piece.turn), _word(piece.response, None))
    for part in piece.rests_on:
        if part.kind != "parallel":
            yield from _chains(part)


def _of_path(piece: Piece, left: Word, right: Word) -> Chain:
    """Return the chain of a piece that connects two words; parallel assertions in its direction are labels of a single step."""
    steps = steps_of(piece.path, GRAPH if piece.asserted else MODEL) if piece.path else ()
    if len(steps) == 1:
        beside = [part.path for part in piece.rests_on if part.kind == "parallel" and part.path]
        same = [label for path in beside for row in steps_of(path) if row.onwards == steps[0].onwards for label in row.labels]
        steps = (steps[0]._replace(labels=(*steps[0].labels, *same)),)
    if not steps:
        text = "no path" if piece.hops is None else f"{piece.hops} hops" if piece.hops else "the same concept"
        steps = (Step((text,), None, GRAPH if piece.hops else SIMILARITY),)
    attention = piece.kind == "edge"
    share = piece.value if attention else piece.share
    return Chain(left, right, steps, inner_nodes(piece.path) if piece.path else (), share, attention=attention)


def steps_of(path: Path, by: str = GRAPH) -> tuple[Step, ...]:
    """Return the assertions of a path as steps."""
    rows = zip(path.nodes, path.assertions, strict=False)
    return tuple(Step((row.relation,), row.head == start, by) for start, row in rows)


def inner_nodes(path: Path) -> tuple[str, ...]:
    """Return the texts of the nodes between the ends of a path."""
    return tuple(text_of(node) for node in path.nodes[1:-1])


def _of_tuple(piece: Piece) -> Chain:
    """Return the chain of an event tuple: from its head by the relation to the closest known tail, then to its own tail."""
    match = _TUPLE.match(piece.name)
    head, relation, tail = match.groups() if match else (piece.name, "", "")
    left = _word(piece.history, piece.turn) if piece.history is not None and piece.turn is not None else None
    right = _word(piece.response, None) if piece.response is not None else None
    closest = piece.rests_on[0] if piece.rests_on else None
    steps, nodes = [Step((f"{relation} {piece.value:.2f}".strip(),), True, MODEL)], []
    if closest is not None and closest.path is not None:
        start, end = closest.path.nodes
        known = steps_of(closest.path, GRAPH if closest.asserted else MODEL)
        steps, nodes = [*known, Step((f"≈ {closest.value:.2f}",), None, SIMILARITY)], [text_of(end)]
        if closest.kind == "nearest-tail":
            steps, nodes = [Step(("≈",), None, SIMILARITY), *steps], [text_of(start), *nodes]
    return Chain(left, right, tuple(steps), tuple(nodes), piece.share, "" if left else head, "" if right else tail)


def _word(mention: Mention, turn: int | None) -> Word:
    name = text_of(mention.concept)
    known = mention.concept.startswith("/e/") or name == mention.text.lower()
    return Word(turn, mention.start, mention.end, mention.text if known else f"{mention.text} ({name})", name)


def _merged(chains: Sequence[Chain]) -> list[Chain]:
    """Merge chains that differ in their relations and shares only: the relations are listed together, the shares added."""
    merged: dict[object, Chain] = {}
    for chain in chains:
        course = chain._replace(steps=tuple(step._replace(labels=()) for step in chain.steps), share=0.0)
        if course in merged:
            known = merged[course]
            labels = [(*first.labels, *second.labels) for first, second in zip(known.steps, chain.steps, strict=True)]
            steps = [step._replace(labels=tuple(dict.fromkeys(both))) for step, both in zip(known.steps, labels, strict=True)]
            chain = known._replace(steps=tuple(steps), share=known.share + chain.share)
        merged[course] = chain
    return list(merged.values())
