"""The interface of tail sources: queries (head, relation) in, known tails with their origin out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from .....graph.model import Assertion
from .....graph.names import event_uri

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


class Found(NamedTuple):
    """The result of a query: tails in the source's order, and a note where something failed."""

    tails: tuple[KnownTail, ...] = ()
    note: str = ""


class TailSource(Protocol):
    """A source of known tails. The result of a query does not depend on the other queries of a batch."""

    @property
    def signature(self) -> str:
        """Identifies the source; changes whenever its results may change."""

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the known tails for each query, in order."""
