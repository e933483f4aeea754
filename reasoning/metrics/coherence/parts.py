"""The parts of the metric ``coherence``, and metrics of their own: similarity, repetition, association and selection.

A part gives each response a number and, for an explanation, the pieces that it is computed from; as a metric of its own that
number is the score. Where a part cannot judge, its measure has a note and the value 0, which is the regression's input; the
part as a metric gives NaN. Without a history neither a part nor the whole metric gives a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from ....graph.item import Item
from ....graph.model import Assertion
from ....graph.model import Path as Edge
from ....graph.names import concept_uri
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.encoder import TextEncoder, open_encoder
from ...text.linking import Mention
from .associations import RELATION, AssociationGraph, Ids, Term, terms_of, words_of
from .checkpoint import TURNS, Checkpoint, SelectionHead, open_checkpoint, open_encoder_of

NO_HISTORY = "the history is empty"


class Turn(NamedTuple):
    """A non-blank turn of the history, and its position in the history, from 0."""

    position: int
    text: str


class Measure(NamedTuple):
    """A part's value for one response; the shares of the pieces add up to it. A note says why the part cannot judge."""

    value: float
    pieces: tuple[Piece, ...] = ()
    note: str = ""


class Part(Protocol):
    """A part of the metric ``coherence``."""

    name: str
    version: int

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """Names and values for signatures: what the part's numbers depend on besides the text."""

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure non-blank responses after non-blank histories; ``explain`` adds the pieces."""


class PartMetric(BatchScoring):
    """A part as a metric of its own."""

    reads_english = True

    def __init__(self, part: Part) -> None:
        self.part = part
        self.name = part.name

    def own_signature(self) -> Signature:
        return Signature(self.name, self.part.depends, self.part.version)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        signature = self.signature
        measures = iter(self.part.measure([item for item in items if spoken_turns(item)], explain))
        scores = []
        for item in items:
            measure = next(measures) if spoken_turns(item) else Measure(0.0, note=NO_HISTORY)
            value = nan if measure.note else measure.value
            scores.append(Score(value, Evidence(measure.pieces, measure.note), signature))
        return scores


def spoken_turns(item: Item) -> list[Turn]:
    """Return the non-blank turns of the history, oldest first."""
    return [Turn(index, text) for index, text in enumerate(item.history) if text.strip()]


# The metric ``similarity``: cosine of the sentence embeddings of the response and the last turn.
#
# A baseline without training; copies of the last turn score highest. -1 to 1; higher is more similar.


class Similarity:
    """The part, over one encoder."""

    name = "similarity"
    version = 2

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder."""
        return (("encoder", self.encoder.signature),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last non-blank turn."""
        last = [spoken_turns(item)[-1] for item in items]
        texts = [text for item, turn in zip(items, last, strict=True) for text in (turn.text, item.response)]
        vectors = self.encoder.encode(texts).astype(np.float64).reshape(len(items), 2, self.encoder.dimension)
        values = np.clip(np.einsum("nd,nd->n", vectors[:, 0], vectors[:, 1]), -1, 1).tolist()
        return [
            Measure(
                value, (Piece("feature", value, value, turn=turn.position, name="cosine to the last turn"),) if explain else ()
            )
            for value, turn in zip(values, last, strict=True)
        ]


def make_similarity(
    *,
    encoder: str | Path | None = None,
    device: str | None = None,
) -> PartMetric:
    """Return the metric.

    Args:
        encoder: a folder that sentence-transformers or transformers saved, or an id of the hub; by default all-MiniLM-L6-v2.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
    """
    return PartMetric(Similarity(open_encoder(encoder, device=device)))


# The metric ``repetition``: whether the response repeats one of the last turns.
#
# The overlap of two turns is Dice's coefficient of their words as multisets: 2 |a and b| / (|a| + |b|). Up to 0.6, which is
# common in turns about one subject, the value is 0; from there it rises linearly to 1 at 0.9, a copy with about one word
# changed. 0..1, the maximum over the last four turns; higher is worse. The value of responses of fewer than three words ("Bye
# .") is 0.

LAST_TURNS = 4
LEAST_WORDS = 3
LOW, HIGH = 0.6, 0.9


class Repetition:
    """The part; it needs no model."""

    name = "repetition"
    version = 2
    depends: tuple[tuple[str, str], ...] = (
        ("turns", str(LAST_TURNS)),
        ("words", str(LEAST_WORDS)),
        ("overlap", f"{LOW}-{HIGH}"),
    )

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last turns."""
        return [self._measure_item(item, explain) for item in items]

    def _measure_item(self, item: Item, explain: bool) -> Measure:
        words = Counter(word.text for word in words_of(item.response))
        if words.total() < LEAST_WORDS:
            return Measure(0.0)
        best, index = max((overlap(words, turn.text), turn.position) for turn in spoken_turns(item)[-LAST_TURNS:])
        value = min(max((best - LOW) / (HIGH - LOW), 0.0), 1.0)
        if not value or not explain:
            return Measure(value)
        return Measure(value, (Piece("feature", best, value, turn=index, name=f"overlap with turn {index + 1}"),))


def overlap(words: Counter[str], text: str) -> float:
    """Return Dice's coefficient of counted words and those of a text, 0..1."""
    text_words = Counter(word.text for word in words_of(text))
    total = words.total() + text_words.total()
    return 2 * (words & text_words).total() / total if total else 0.0


def make_repetition() -> PartMetric:
    """Return the metric."""
    return PartMetric(Repetition())


# The trained parts of `coherence`, and metrics of their own: `association` of words, and `selection` of the response.
#
# `association`: each term of the response that the graph of associations has gets the weight of the strongest edge to it from a
# term of the last turn, 0 without one. The value is the mean: 0 or more, in nats, in practice below 4; higher is better. The
# evidence is the edges.

UNKNOWN = "no term of the response is known"
UNKNOWN_TURN = "no term of the turn before the response is known"


class Association:
    """The part over one graph of associations."""

    name = "association"
    version = 2

    def __init__(self, graph: AssociationGraph, digest: str) -> None:
        """Measure by ``graph``, whose digest is part of signatures."""
        self.graph = graph
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The graph's digest."""
        return (("associations", self.digest),)

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure each response against the last non-blank turn."""
        return [self._measure_item(spoken_turns(item)[-1], item.response, explain) for item in items]

    def _measure_item(self, turn: Turn, response: str, explain: bool) -> Measure:
        terms, numbers = self._known(response)
        turn_terms, callers = self._known(turn.text)
        if not terms:
            return Measure(0.0, note=UNKNOWN)
        if not turn_terms:
            return Measure(0.0, note=UNKNOWN_TURN)
        edges = self.graph.between(callers, numbers)
        weights = edges.max(axis=0).astype(float)
        shares = weights / len(terms)
        value = float(shares.sum())
        if not explain:
            return Measure(value)
        strongest = edges.argmax(axis=0)
        pieces = [
            _piece(turn, turn_terms[caller], response, term, weight, share)
            for caller, term, weight, share in zip(strongest.tolist(), terms, weights.tolist(), shares.tolist(), strict=True)
            if weight
        ]  # fmt: skip
        return Measure(value, tuple(sorted(pieces, key=lambda piece: -abs(piece.share))))

    def _known(self, text: str) -> tuple[list[Term], Ids]:
        terms = terms_of(text)
        numbers = self.graph.ids([term.text for term in terms])
        return [term for term, number in zip(terms, numbers.tolist(), strict=True) if number >= 0], numbers[numbers >= 0]


def _piece(turn: Turn, caller: Term, response: str, called: Term, weight: float, share: float) -> Piece:
    """Return the evidence of a term: its strongest edge."""
    caller_mention, called_mention = _mention(turn.text, caller), _mention(response, called)
    edge = Edge(
        (caller_mention.concept, called_mention.concept),
        (Assertion(caller_mention.concept, RELATION, called_mention.concept, weight, "tacit"),),
    )
    return Piece("term", weight, share, called_mention, turn.position, caller_mention, 1, edge, asserted=False)


def _mention(text: str, term: Term) -> Mention:
    return Mention(term.start, term.end, text[term.start : term.end], concept_uri(term.text), term.text, "")


def make_association(*, checkpoint: Checkpoint | str | Path | None = None) -> PartMetric:
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one shipped with tacit.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(Association(opened.associations, opened.associations_digest))


# The metric ``selection``: whether the response would be selected among others as the next turn.
#
# A small dual encoder over a frozen sentence encoder, trained to tell the true response from those of other dialogues (InfoNCE,
# van den Oord et al., 2018). -1 to 1; higher is better. The evidence is the contributions of the last turn, of the one before
# it, and of the head's bias to the cosine.

_NAMES = ("last turn", "turn before the last", "bias")


class Selection:
    """The part over one encoder and the head that was trained on it."""

    name = "selection"
    version = 2

    def __init__(self, encoder: TextEncoder, head: SelectionHead, digest: str) -> None:
        """Measure by ``head``, whose digest is part of signatures."""
        self.encoder = encoder
        self.head = head
        self.digest = digest

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """The encoder and the head."""
        return (("encoder", self.encoder.signature), ("head", self.digest))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure how well each response fits the last two non-blank turns."""
        contexts = [spoken_turns(item)[-TURNS:][::-1] for item in items]
        texts = dict.fromkeys(
            text for item, turns in zip(items, contexts, strict=True) for text in (item.response, *(turn.text for turn in turns))
        )
        row = {text: number for number, text in enumerate(texts)}
        vectors = np.vstack([self.encoder.pooled(list(texts)), np.full(3 * self.encoder.width, np.nan, dtype=np.float32)])
        last = vectors[[row[turns[0].text] for turns in contexts]]
        before = vectors[[row[turns[1].text] if len(turns) > 1 else -1 for turns in contexts]]
        values, summands = self.head.fits(last, before, vectors[[row[item.response] for item in items]])
        return [
            Measure(value, _pieces(parts, turns) if explain else ())
            for value, parts, turns in zip(values.tolist(), summands.tolist(), contexts, strict=True)
        ]


def _pieces(summands: Sequence[float], turns: Sequence[Turn]) -> tuple[Piece, ...]:
    """Return the contribution of each turn, and of the bias, to the cosine; a missing turn contributes nothing."""
    last, before, bias = (Piece("feature", part, part, name=name) for part, name in zip(summands, _NAMES, strict=True))
    contributions = [replace(piece, turn=turn.position) for piece, turn in zip((last, before), turns, strict=False)]
    return (*contributions, bias)


def make_selection(
    *,
    checkpoint: Checkpoint | str | Path | None = None,
    encoder: str | Path | None = None,
    device: str | None = None,
) -> PartMetric:
    """Return the metric.

    Args:
        checkpoint: a folder that ``tacit train coherence`` wrote; by default the one shipped with tacit.
        encoder: the encoder that it was trained with, when it is not where the checkpoint says.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
    """
    opened = open_checkpoint(checkpoint)
    return PartMetric(Selection(open_encoder_of(opened, encoder, device=device), opened.head, opened.head_digest))
