"""The interface of tuple scorers: a head, a relation and a tail in, a score with its evidence out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from .....graph.schema import shape
from ..tails.known_tails import KnownTail

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
"""Texts to vectors of unit length, shape (texts, d)."""

Triple = tuple[str, str, str]
"""Head, relation and tail, in the wording of a dialogue or of a graph."""

SHOWN = 3
"""Known tails given as the evidence of a score, at most."""


@shape(
    "tail=tail.text", "similarity", "origin=tail.origin", "source=tail.source", "head=tail.head", "head_similarity",
    optional=["head_similarity"],
)  # fmt: skip
class CloseTail(NamedTuple):
    """A known tail that is close to the scored one, and the cosine of the two."""

    tail: KnownTail
    similarity: float

    def head_similarity(self) -> float | None:
        """Return the cosine of the tail's head with the query's; None when they are the same."""
        return None if self.tail.likeness == 1.0 else self.tail.likeness


class TupleScore(NamedTuple):
    """The plausibility of a tuple.

    Attributes:
        value: the score; in 0..1 unless the scorer documents another range.
        closest: the known tails that are the evidence, closest first or, for kernel weights, heaviest first; may be empty.
        note: why the scorer could not use all its sources; else empty.
        parts: named numbers that the value is computed from.
    """

    value: float
    closest: tuple[CloseTail, ...] = ()
    note: str = ""
    parts: tuple[tuple[str, float], ...] = ()


class TupleScorer(Protocol):
    """Scores tuples; a tuple's score does not depend on the others of its batch."""

    @property
    def signature(self) -> str:
        """Identifies the scorer; changes whenever the scores may change."""

    @property
    def relations(self) -> frozenset[str] | None:
        """The relations that it can score; None for any."""

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return a score for each ``(head, relation, tail)``, in order.

        Raises:
            InputError: the scorer does not know a relation.
        """


def check_relations(tuples: Sequence[Triple], relations: frozenset[str]) -> None:
    """Raise :class:`InputError` when a tuple has a relation that is not one of ``relations``."""
    for _, relation, _ in tuples:
        if relation not in relations:
            raise InputError(f"unknown relation between events {relation!r}; choose from {', '.join(sorted(relations))}")
