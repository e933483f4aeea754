"""The metric ``repetition``: does the response say again what one of the last turns said?

The overlap of two turns is Dice's coefficient of their words, repeated ones counted as often as they stand:
2 |a and b| / (|a| + |b|). Up to 0.6 it is taken for two people who speak of one thing and counts as 0; from there the value rises
evenly to 1 at 0.9, a copy with at most a word or so changed. 0..1, the highest of the last four turns; higher is worse. Responses
of fewer than three words ("Bye .") repeat nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ...graph.item import Item
from ..score import Piece
from .parts import Measure, PartMetric, said
from .terms import words_of

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
        best, place = max((overlap(words, turn.text), turn.place) for turn in said(item)[-TURNS:])
        value = min(max((best - LOW) / (HIGH - LOW), 0.0), 1.0)
        if not value or not explain:
            return Measure(value)
        return Measure(value, (Piece("feature", best, value, turn=place, name=f"overlap with turn {place + 1}"),))


def overlap(words: Counter[str], text: str) -> float:
    """Return Dice's coefficient of counted words and those of a text, 0..1."""
    others = Counter(word.text for word in words_of(text))
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def make(graph: Any = None) -> PartMetric:  # noqa: ARG001
    """Return the metric."""
    return PartMetric(Repetition())
