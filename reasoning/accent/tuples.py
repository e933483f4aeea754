"""Event tuples: what an extractor finds in a response and its history, and the twelve relations of ACCENT.

A tuple is *Single* when both events are said in the response, *Pair* when the head is said in the turn before it and the tail in
the response (Ghazarian et al., ACL 2023, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ...graph.item import Item

RELATIONS = (
    "xIntent", "xNeed", "xReact", "oReact", "xWant", "oWant", "xAttr", "xEffect", "oEffect", "HinderedBy", "isAfter",
    "HasSubEvent",
)  # fmt: skip
"""The twelve relations of ATOMIC-2020 that ACCENT looks for, in the order in which tuples are given."""

_PLACE = {relation: place for place, relation in enumerate(RELATIONS)}


class Kind(StrEnum):
    """Where the two events of a tuple are said."""

    SINGLE = "single"
    PAIR = "pair"


class Where(NamedTuple):
    """Characters of a dialogue in which an event is said.

    Attributes:
        turn: index of the turn of the history, from 0; None for the response.
        start, end: offsets in that text.
    """

    turn: int | None
    start: int
    end: int


class EventTuple(NamedTuple):
    """Two events and how the second relates to the first.

    Attributes:
        head: an event with its subject, who is PersonX, e.g. ``PersonX gets a dog``.
        relation: one of :data:`RELATIONS`.
        tail: an event with its subject: PersonX for relations in x, PersonY for those in o.
        kind: where they are said.
        head_at, tail_at: the words that they are made of; None where the extractor does not know.
    """

    head: str
    relation: str
    tail: str
    kind: Kind
    head_at: Where | None = None
    tail_at: Where | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "kind": str(self.kind),
            "head_at": self.head_at._asdict() if self.head_at else None,
            "tail_at": self.tail_at._asdict() if self.tail_at else None,
        }


class Extractor(Protocol):
    """What finds the event tuples of responses; ``signature`` names it in the signature of every score made with it."""

    @property
    def signature(self) -> str:
        """Short text that changes whenever the tuples may."""

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        """Return the tuples of each item, in the order of :func:`in_order`; the same alone as in a batch."""


def in_order(tuples: Iterable[EventTuple]) -> list[EventTuple]:
    """Return ``tuples`` without repetitions of head, relation and tail, by relation, else as they were found."""
    first: dict[tuple[str, str, str], EventTuple] = {}
    for one in tuples:
        first.setdefault(one[:3], one)
    return sorted(first.values(), key=lambda one: _PLACE[one.relation])
