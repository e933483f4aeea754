"""What a tail source is: asked for the tails of a head under a relation, it names tails and where each of them came from."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from .....graph.model import Assertion
from .....graph.names import event_uri

MEMORY = "retriever:"
"""What the source of a tail begins with that a compact model holds, in its own wording."""


class Origin(StrEnum):
    """Where a known tail came from."""

    GRAPH = "graph"
    NEAREST = "nearest"
    COMET = "comet"
    MODEL = "model"


class Query(NamedTuple):
    """What is asked: the tails of ``head`` (an event as a dialogue words it) under ``relation``."""

    head: str
    relation: str


class KnownTail(NamedTuple):
    """A tail that is known for a head.

    Attributes:
        text: as the graph or the model words it; form: its :func:`~tacit.reasoning.metrics.accent.verbalise.statement`.
        origin: where it came from.
        head: the head that it is known for, which is another than the one asked for when the origin is ``nearest``.
        likeness: cosine of that head with the one asked for; 1 when they are the same.
        source: who said so: ``atomic2020``, ``comet:<model>``, ``retriever:<digest>``.
        rank: place in the order in which its source gives tails, from 0; score: what the source scored it, None for people's.
    """

    text: str
    form: str
    origin: Origin
    head: str
    likeness: float
    source: str
    rank: int = 0
    score: float | None = None

    def assertion(self, relation: str) -> Assertion:
        """Return it as the assertion that a graph would hold."""
        head, tail = event_uri(self.head), event_uri(self.text)
        rank = None if self.score is None else self.rank
        return Assertion(head, relation, tail, 1.0, self.source, rank=rank, score=self.score)


class Found(NamedTuple):
    """What a source knows for one query: tails in the source's own order, and a note where something went wrong."""

    tails: tuple[KnownTail, ...] = ()
    note: str = ""


class TailSource(Protocol):
    """Something that knows tails. Answers depend on the query alone, not on what is asked beside it."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the answers may."""

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return what is known for each query, in order."""


# Sources one after the other: the first that knows a tail of a head answers for it, and the next are asked for the rest alone.


class Chain:
    """Several tail sources as one."""

    def __init__(self, sources: Sequence[TailSource]) -> None:
        """Ask ``sources`` in this order."""
        self.sources = tuple(sources)
        self.signature = ",".join(source.signature for source in sources if source.signature) or "none"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return for each query what the first source knows that knows anything, with the notes of all that were asked."""
        found = dict.fromkeys(queries, Found())
        notes: dict[Query, list[str]] = {query: [] for query in found}
        for source in self.sources:
            open_queries = [query for query, one in found.items() if not one.tails]
            if not open_queries:
                break
            for query, one in zip(open_queries, source.find(open_queries), strict=True):
                found[query] = one
                if one.note:
                    notes[query].append(one.note)
        return [found[query]._replace(note="; ".join(dict.fromkeys(notes[query]))) for query in queries]
