"""What a tuple scorer takes and gives: a head, a relation and a tail in, a number with its reasons out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ..tails.source import KnownTail

Triple = tuple[str, str, str]
"""Head, relation and tail, in the words of a dialogue or of a graph."""

SHOWN = 3


class Close(NamedTuple):
    """A known tail that is close to the one that was scored: the tail, and the cosine of the two."""

    tail: KnownTail
    similarity: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        tail = self.tail
        row: dict[str, Any] = {
            "tail": tail.text,
            "similarity": self.similarity,
            "origin": str(tail.origin),
            "source": tail.source,
            "head": tail.head,
        }
        if tail.likeness != 1.0:
            row["head_similarity"] = tail.likeness
        return row


class TupleScore(NamedTuple):
    """How well a tail goes with a head.

    Attributes:
        value: the score; in 0..1 unless the scorer says otherwise.
        closest: the known tails that it rests on, closest first, or those that speak most for it; none where none are named.
        note: what kept the scorer from saying more; empty otherwise.
        parts: named numbers that the value is worked out from, where a scorer tells them.
    """

    value: float
    closest: tuple[Close, ...] = ()
    note: str = ""
    parts: tuple[tuple[str, float], ...] = ()


class TupleScorer(Protocol):
    """Scores tuples; each the same whatever is scored beside it."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the scores may."""

    @property
    def relations(self) -> frozenset[str] | None:
        """The relations that it can judge; None for any."""

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return a score for each ``(head, relation, tail)``, in order.

        Raises:
            InputError: a relation is not one that the scorer knows.
        """
