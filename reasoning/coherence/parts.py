"""What a part of coherence is, and how it stands alone as a metric.

A part gives each response a number and, when asked, the pieces that the number is made of; as a metric of its own that number
is the score. Where a part cannot judge, its measure has a note and the value 0, which is how the regression reads it; the part
as a metric gives no score (NaN). Where nothing was said before the response, neither a part nor the whole gives a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import nan
from typing import NamedTuple, Protocol

from ...graph.item import Item
from ..score import BatchScoring, Evidence, Piece, Score, Signature

NO_HISTORY = "nothing is said before the response"


class Turn(NamedTuple):
    """A turn of the history that says something, and its place in the history, from 0."""

    place: int
    text: str


class Measure(NamedTuple):
    """What a part says of one response; the shares of the pieces add up to the value. A note says why it cannot judge."""

    value: float
    pieces: tuple[Piece, ...] = ()
    note: str = ""


class Part(Protocol):
    """One way to look at a response in its context."""

    name: str
    version: int

    @property
    def depends(self) -> tuple[tuple[str, str], ...]:
        """What its numbers depend on besides the text, by name, as signatures have it."""

    def measure(self, items: Sequence[Item], explain: bool) -> list[Measure]:
        """Measure responses that are not blank, after histories that say something; ``explain`` adds the pieces."""


class PartMetric(BatchScoring):
    """A part as a metric of its own."""

    reads_english = True

    def __init__(self, part: Part) -> None:
        self.part = part
        self.name = part.name
        self.together = items_at_a_time([part])

    def own_signature(self) -> Signature:
        """Signature of every score it gives, without the reference."""
        return Signature(self.name, self.part.depends, self.part.version)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:
        """Score responses; those after nothing, and those that the part cannot judge, have no score."""
        signature = self.signature
        measures = iter(self.part.measure([item for item in items if said(item)], explain))
        scores = []
        for item in items:
            measure = next(measures) if said(item) else Measure(0.0, note=NO_HISTORY)
            value = nan if measure.note else measure.value
            scores.append(Score(value, Evidence(measure.pieces, measure.note), signature))
        return scores


def items_at_a_time(parts: Iterable[Part], most: int = BatchScoring.together) -> int:
    """Return how many items these parts are given at a time: the fewest that one of them asks for, or ``most``."""
    return min(most, *(int(getattr(part, "together", most)) for part in parts))


def said(item: Item) -> list[Turn]:
    """Return the turns of the history that say something, oldest first."""
    return [Turn(place, text) for place, text in enumerate(item.history) if text.strip()]
