"""The metric ``length``: how many words a response has, the simplest thing that human ratings are known to go with.

0 or more, with no direction of its own: longer responses are rated better in some judgements and worse in others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph.item import Item
from ..score import BatchScoring, Evidence, Score, Signature
from ..words import count_words

VERSION = 1


class Length(BatchScoring):
    """The metric; it needs neither graph nor model."""

    name = "length"

    def __init__(self) -> None:
        self.signature = Signature(self.name, (("words", "runs-with-letter-or-digit"),), VERSION)

    def score_checked(self, items: Sequence[Item], explain: bool) -> list[Score]:  # noqa: ARG002
        """Count the words of each response, as :func:`tacit.reasoning.words.count_words` does."""
        return [Score(float(count_words(item.response)), Evidence(), self.signature) for item in items]


def make(graph: Any = None) -> Length:  # noqa: ARG001
    """Return the metric."""
    return Length()
