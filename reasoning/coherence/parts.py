"""What a part of coherence is, and how it stands alone as a metric.

A part gives each response a number and, when asked, the pieces that the number is made of; as a metric of its own that number
is the score. What a part cannot speak of (nothing was said before, or the response is blank) has the value 0 and a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..score import BatchScoring, CheckedItem, Evidence, Piece, Score, Signature

NO_HISTORY = "nothing is said before the response"
NO_RESPONSE = "the response is blank"


class Turn(NamedTuple):
    """A turn of the history that says something, and its place in the history, from 0."""

    place: int
    text: str


class Measure(NamedTuple):
    """What a part says of one response; the shares of the pieces add up to the value."""

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

    def measure(self, items: Sequence[CheckedItem], explain: bool) -> list[Measure]:
        """Measure responses that are not blank, after histories that say something; ``explain`` adds the pieces."""


class PartMetric(BatchScoring):
    """A part as a metric of its own."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.name = part.name
        self.together = items_at_a_time([part])

    def own_signature(self) -> Signature:
        """Signature of every score it gives, without the reference."""
        return Signature(self.name, self.part.depends, self.part.version)

    def score_checked(self, items: Sequence[CheckedItem], explain: bool) -> list[Score]:
        """Score responses; blank ones, and such after nothing, have the value 0."""
        signature = self.signature
        notes = [silent(item) for item in items]
        measures = iter(self.part.measure([item for item, note in zip(items, notes, strict=True) if not note], explain))
        scores = []
        for note in notes:
            measure = Measure(0.0, note=note) if note else next(measures)
            scores.append(Score(measure.value, Evidence(measure.pieces, measure.note), signature))
        return scores


def items_at_a_time(parts: Iterable[Part], most: int = BatchScoring.together) -> int:
    """Return how many items these parts are given at a time: the fewest that one of them asks for, or ``most``."""
    return min(most, *(int(getattr(part, "together", most)) for part in parts))


def silent(item: CheckedItem) -> str:
    """Return why nothing can be said of a response, an empty text when something can."""
    if not item.response.strip():
        return NO_RESPONSE
    return "" if any(turn.strip() for turn in item.history) else NO_HISTORY


def said(item: CheckedItem) -> list[Turn]:
    """Return the turns of the history that say something, oldest first."""
    return [Turn(place, text) for place, text in enumerate(item.history) if text.strip()]
