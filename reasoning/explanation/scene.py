"""The content of a picture before layout: words of both sides, chains between them, and bars of shares.

Every metric's evidence is mapped to these: a *word* is a keyword or an event at a place in a turn; a *chain* leads from a word
of the history to one of the response, with steps that are assertions of the graph, predictions of a model, or similarities; a
*bar* is a piece without a place in a text and with a share of the score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from math import isfinite, isnan

from ...graph.model import Path
from ...graph.names import text_of
from ..base import Piece, Score
from ..text.linking import Mention
from .explained import is_slight

MOST_CHAINS = 16
MOST_WORDS = 12
MOST_BARS = 12

_TUPLE = re.compile(r"^(?P<head>.+?) -(?P<relation>\w+)-> (?P<tail>.+)$", re.DOTALL)


class By(Enum):
    """Source of a step: the graph, a model, or similarity (or identity) of two texts."""

    GRAPH = "graph"
    MODEL = "model"
    SIMILARITY = "similarity"


@dataclass(frozen=True, slots=True)
class Word:
    """A place in a text: ``turn`` of the history from 0, None for the response; its ``text`` as shown, its concept's ``name``."""

    turn: int | None
    start: int
    end: int
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a chain: its relations, and whether they point from history to response; None without a direction."""

    labels: tuple[str, ...]
    onwards: bool | None
    by: By


@dataclass(frozen=True, slots=True)
class Chain:
    """A connection of a word of the history with one of the response.

    Attributes:
        left, right: the words; None for an end that no text mentions.
        nodes: texts between the steps, one fewer than the steps. first, last: text of an end that is not a word.
        share: its share of the score; part: its weight among the chains, >= 0, drawn as thickness.
        attention: the share is a model's attention instead, which has no sign.
    """

    left: Word | None
    right: Word | None
    steps: tuple[Step, ...]
    nodes: tuple[str, ...]
    share: float
    part: float
    first: str = ""
    last: str = ""
    attention: bool = False

    @property
    def course(self) -> tuple[object, ...]:
        """Key of chains that are drawn as one: everything but the relations and the shares."""
        return self.left, self.right, self.nodes, self.first, self.last, tuple((step.onwards, step.by) for step in self.steps)


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece with a share of the score: its name, and its own value if that is another number."""

    name: str
    share: float
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a picture.

    Attributes:
        chains: strongest first; chains_left_out: number of the others.
        words: of both sides, in the order of the texts, with words of the response that have no chain.
        bars: in the metric's order, the strongest if there are too many; bars_left_out: number and total share of the others.
        facts: names and values of pieces without a share.
        attention: thickness is a model's attention, not a share.
    """

    chains: tuple[Chain, ...]
    chains_left_out: int
    words: tuple[Word, ...]
    bars: tuple[Bar, ...]
    bars_left_out: tuple[int, float]
    facts: tuple[tuple[str, float], ...]
    attention: bool


def scene_of(score: Score) -> Scene:
    """Return the content of the picture of ``score``."""
    found = _merged([chain for piece in score.evidence.pieces for chain in _chains(piece)])
    found.sort(key=lambda chain: -chain.part)  # stable: the metric's own order among equals
    chains, words = _fitting(found)
    for piece in score.evidence.pieces:
        if piece.response is not None and not any(_chains(piece)) and _count(words, None) < MOST_WORDS:
            words.setdefault(_word(piece.response, None), None)
    bars = [_bar(piece) for piece in score.evidence.pieces if not _is_chain(piece) and piece.kind != "part"]
    shown, rest = _strongest([bar for bar in bars if isfinite(bar.share)])
    return Scene(
        tuple(chains),
        len(found) - len(chains),
        tuple(sorted(words, key=_place)),
        tuple(shown),
        (len(rest), sum(bar.share for bar in rest)),
        tuple((piece.name, piece.value) for piece in score.evidence.pieces if piece.kind == "part"),
        any(chain.attention for chain in chains),
    )


def _place(word: Word) -> tuple[bool, int, int, int, str]:
    return word.turn is None, word.turn or 0, word.start, word.end, word.name


def _count(words: dict[Word, None], turn: int | None) -> int:
    return sum((word.turn is None) == (turn is None) for word in words)


def _fitting(chains: Sequence[Chain]) -> tuple[list[Chain], dict[Word, None]]:
    """Return the strongest chains within the limits, with their words."""
    words: dict[Word, None] = {}
    chosen: list[Chain] = []
    for chain in chains:
        ends = {word: None for word in (chain.left, chain.right) if word is not None}
        both = {**words, **ends}
        if len(chosen) < MOST_CHAINS and _count(both, 0) <= MOST_WORDS and _count(both, None) <= MOST_WORDS:
            chosen.append(chain)
            words = both
    return chosen, words


def _is_chain(piece: Piece) -> bool:
    """Return whether the piece is a chain, or a word without one; a keyword of GRADE is a bar."""
    return piece.kind != "keyword" and (piece.kind == "tuple" or piece.response is not None)


def _chains(piece: Piece) -> Iterator[Chain]:
    """Yield the chains of a piece and of the pieces below it, without those whose share rounds to zero. Parallel assertions in
    the direction of the chain are labels of it; those in the other direction are in the text only."""
    if is_slight(piece):
        return
    if piece.kind == "tuple":
        yield _of_tuple(piece)
        return
    if piece.response is not None and piece.history is not None and piece.turn is not None:
        yield _of_path(piece)
    for part in piece.rests_on:
        if part.kind != "parallel":
            yield from _chains(part)


def _part(piece: Piece) -> float:
    part = piece.value if piece.kind == "edge" else abs(piece.share)
    return part if isfinite(part) else 0.0


def _of_path(piece: Piece) -> Chain:
    """Return the chain of a piece that connects two words, with the steps of its path if it has one."""
    assert piece.response is not None
    assert piece.history is not None
    left, right = _word(piece.history, piece.turn), _word(piece.response, None)
    share = piece.value if piece.kind == "edge" else piece.share
    steps, nodes = _along(piece.path, By.GRAPH if piece.asserted else By.MODEL) if piece.path else ((), ())
    beside = [row for part in piece.rests_on if part.kind == "parallel" and part.path for row in _along(part.path, By.GRAPH)[0]]
    if len(steps) == 1 and beside:
        same = [label for row in beside if row.onwards == steps[0].onwards for label in row.labels]
        steps = (replace(steps[0], labels=(*steps[0].labels, *same)),)
    if not steps:
        text = "no path" if piece.hops is None else "the same concept" if piece.hops == 0 else f"{piece.hops} hops"
        steps = (Step((text,), None, By.GRAPH if piece.hops else By.SIMILARITY),)
    return Chain(left, right, steps, nodes, share, _part(piece), attention=piece.kind == "edge")


def _along(path: Path, by: By) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    ends = pairwise(path.nodes)
    steps = tuple(Step((row.relation,), row.head == start, by) for (start, _), row in zip(ends, path.assertions, strict=True))
    return steps, tuple(text_of(node) for node in path.nodes[1:-1])


def _of_tuple(piece: Piece) -> Chain:
    """Return the chain of an event tuple: from its head by the relation to the closest known tail, which is similar to its own
    tail.
    """
    match = _TUPLE.match(piece.name)
    head, relation, tail = match.groups() if match else (piece.name, "", "")
    left = _word(piece.history, piece.turn) if piece.history is not None and piece.turn is not None else None
    right = _word(piece.response, None) if piece.response is not None else None
    first, last = "" if left else head, "" if right else tail
    if not piece.rests_on or piece.rests_on[0].path is None:
        judged = Step((f"{relation} {piece.value:.2f}".strip(),), True, By.MODEL)
        return Chain(left, right, (judged,), (), piece.share, _part(piece), first, last)
    closest = piece.rests_on[0]
    assert closest.path is not None
    (known,) = closest.path.assertions
    by = By.GRAPH if closest.asserted else By.MODEL
    start, end = closest.path.nodes
    steps = [Step((known.relation,), known.head == start, by), Step((f"≈ {closest.value:.2f}",), None, By.SIMILARITY)]
    nodes = [text_of(end)]
    if closest.kind == "nearest-tail":
        steps.insert(0, Step(("≈",), None, By.SIMILARITY))
        nodes.insert(0, text_of(start))
    return Chain(left, right, tuple(steps), tuple(nodes), piece.share, _part(piece), first, last)


def _word(mention: Mention, turn: int | None) -> Word:
    name = text_of(mention.concept)
    known = mention.concept.startswith("/e/") or name == mention.text.lower()
    return Word(turn, mention.start, mention.end, mention.text if known else f"{mention.text} ({name})", name)


def _merged(chains: Sequence[Chain]) -> list[Chain]:
    """Merge chains with one course: their relations are listed together, their shares added."""
    found: dict[object, Chain] = {}
    for chain in chains:
        known = found.get(chain.course)
        if known is not None:
            steps = tuple(
                replace(one, labels=tuple(dict.fromkeys((*one.labels, *other.labels))))
                for one, other in zip(known.steps, chain.steps, strict=True)
            )
            chain = replace(known, steps=steps, share=known.share + chain.share, part=known.part + chain.part)
        found[chain.course] = chain
    return list(found.values())


def _bar(piece: Piece) -> Bar:
    own = piece.kind in ("base", "keyword", "word") or piece.value == piece.share or isnan(piece.value)
    return Bar(piece.name, piece.share, None if own else piece.value)


def _strongest(bars: Sequence[Bar]) -> tuple[list[Bar], list[Bar]]:
    order = sorted(range(len(bars)), key=lambda place: -abs(bars[place].share))
    kept = set(order[:MOST_BARS])
    return [bars[place] for place in sorted(kept)], [bars[place] for place in order[MOST_BARS:]]
