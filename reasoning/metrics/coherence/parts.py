"""Parts of the metric ``coherence`` that read the texts alone or their embeddings, and parts as metrics of their own.

A part gives each response a number and, for an explanation, the pieces that it is computed from; as a metric of its own that
number is the score. Where a part cannot judge, its measure has a note and the value 0, which is the regression's input; the
part as a metric gives NaN. Without a history neither a part nor the whole metric gives a score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ....graph.item import Item
from ...base import BatchScoring, Evidence, Piece, Score, Signature
from ...models.encoder import CACHE_SIZE, TextEncoder, open_encoder
from .associations import words_of

NO_HISTORY = "the history is empty"


class Turn(NamedTuple):
    """A non-blank turn of the history, and its index in the history, from 0."""

    place: int
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
    return [Turn(place, text) for place, text in enumerate(item.history) if text.strip()]


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
            Measure(value, (Piece("feature", value, value, turn=turn.place, name="cosine to the last turn"),) if explain else ())
            for value, turn in zip(values, last, strict=True)
        ]


def make_similarity(
    graph: Any = None,  # noqa: ARG001
    *,
    encoder: str | Path | None = None,
    device: str | None = None,
    cache_size: int = CACHE_SIZE,
) -> PartMetric:
    """Return the metric.

    Args:
        encoder: a folder that sentence-transformers or transformers saved, or an id of the hub; by default all-MiniLM-L6-v2.
        device: torch's name of the device; by default ``cuda`` where available, else ``cpu``.
        cache_size: texts in the cache, which all metrics with this encoder share.
    """
    return PartMetric(Similarity(open_encoder(encoder, device=device, cache_size=cache_size)))


# The metric ``repetition``: whether the response repeats one of the last turns.
#
# The overlap of two turns is Dice's coefficient of their words as multisets: 2 |a and b| / (|a| + |b|). Up to 0.6, which is
# common in turns about one subject, the value is 0; from there it rises linearly to 1 at 0.9, a copy with about one word
# changed. 0..1, the maximum over the last four turns; higher is worse. The value of responses of fewer than three words ("Bye
# .") is 0.

TURNS = 4
LEAST_WORDS = 3
LOW, HIGH = 0.6, 0.9


class Repetition:
    """The part; it needs no model."""

    name = "repetition"
    version = 2
    depends: tuple[tuple[str, str], ...] = (("turns", str(TURNS)), ("words", str(LEAST_WORDS)), ("overlap", f"{LOW}-{HIGH}"))

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Compare each response with the last turns."""
        return [self._one(item, explain) for item in items]

    def _one(self, item: Item, explain: bool) -> Measure:
        words = Counter(word.text for word in words_of(item.response))
        if words.total() < LEAST_WORDS:
            return Measure(0.0)
        best, place = max((overlap(words, turn.text), turn.place) for turn in spoken_turns(item)[-TURNS:])
        value = min(max((best - LOW) / (HIGH - LOW), 0.0), 1.0)
        if not value or not explain:
            return Measure(value)
        return Measure(value, (Piece("feature", best, value, turn=place, name=f"overlap with turn {place + 1}"),))


def overlap(words: Counter[str], text: str) -> float:
    """Return Dice's coefficient of counted words and those of a text, 0..1."""
    others = Counter(word.text for word in words_of(text))
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def make_repetition(graph: Any = None) -> PartMetric:  # noqa: ARG001
    """Return the metric."""
    return PartMetric(Repetition())
