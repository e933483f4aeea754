"""The interfaces of tuple scorers, which score a head, a relation and a tail, and of the sources of tails known for a head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from .....graph.model import Assertion
from .....graph.names import event_uri
from .....graph.schema import shape

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


# The interface of tail sources: queries (head, relation) in, known tails with their origin out.

RETRIEVER_PREFIX = "retriever:"
"""Prefix of the source of a tail from a compact model, which words tails as statements."""


class Origin(StrEnum):
    """Where a known tail comes from."""

    GRAPH = "graph"
    NEAREST = "nearest"
    COMET = "comet"
    MODEL = "model"


class Query(NamedTuple):
    """A query for the tails of ``head`` (an event in a dialogue's wording) under ``relation``."""

    head: str
    relation: str


class KnownTail(NamedTuple):
    """A known tail of a head."""

    text: str  # in the graph's or the model's wording
    form: str  # its verbalise.statement
    origin: Origin  # the kind of source
    head: str  # the head whose tail it is; with the origin `nearest` it differs from the query's
    likeness: float  # cosine of that head with the query's head; 1 when they are the same
    source: str  # of the assertion: `atomic2020`, `comet:<model>`, `retriever:<digest>`
    rank: int = 0  # place among the source's tails for the head, from 0
    score: float | None = None  # given by the source, None for tails of a dataset

    def assertion(self, relation: str) -> Assertion:
        """Return it as an assertion of a graph."""
        head, tail = event_uri(self.head), event_uri(self.text)
        rank = None if self.score is None else self.rank
        return Assertion(head, relation, tail, 1.0, self.source, rank=rank, score=self.score)


class TailResult(NamedTuple):
    """The result of a query: tails in the source's order, and a note where something failed."""

    tails: tuple[KnownTail, ...] = ()
    note: str = ""


class TailSource(Protocol):
    """A source of known tails. The result of a query does not depend on the other queries of a batch."""

    @property
    def signature(self) -> str:
        """Identifies the source; changes whenever its results may change."""

    def find(self, queries: Sequence[Query]) -> list[TailResult]:
        """Return the known tails for each query, in order."""
