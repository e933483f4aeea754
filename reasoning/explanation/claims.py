"""The claims of an explanation: every edge of the graph that a score stands on, each with what shows that it is there.

What a model holds is no claim: tails that it expects, words that it associates, cosines. A query that is shown with the claims
(:func:`tacit.graph.claims.claim_query`) finds each of them, with the same weight and source, on both engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ...graph.model import Assertion
from ...graph.names import text_of
from ..score import Piece


@dataclass(frozen=True, slots=True)
class Claim:
    """One edge of the graph that a score stands on.

    Attributes:
        head, relation, tail: the edge; the ends are URIs.
        weight, source, dataset: as the graph has them.
        share: what is due to the pieces that it serves, together; an edge may serve several pieces, and a piece stand on several
            edges, so these do not add up to the value.
    """

    head: str
    relation: str
    tail: str
    weight: float
    source: str
    dataset: str
    share: float

    @property
    def head_text(self) -> str:
        """The head in words."""
        return text_of(self.head)

    @property
    def tail_text(self) -> str:
        """The tail in words."""
        return text_of(self.tail)

    @property
    def parameters(self) -> dict[str, str]:
        """Parameters under which :func:`tacit.graph.claims.claim_query` finds it."""
        return {"head": self.head, "relation": self.relation, "tail": self.tail}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "head": self.head,
            "relation": self.relation,
            "tail": self.tail,
            "head_text": self.head_text,
            "tail_text": self.tail_text,
            "weight": self.weight,
            "source": self.source,
            "dataset": self.dataset,
            "share": self.share,
            "parameters": self.parameters,
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """Take back what :meth:`to_dict` gave."""
        return cls(*(row[name] for name in ("head", "relation", "tail", "weight", "source", "dataset", "share")))


def claims_of(pieces: Sequence[Piece]) -> tuple[Claim, ...]:
    """Return the claims of ``pieces`` and of what they rest on, each edge once, in the order in which they come up."""
    shares: dict[tuple[str, str, str, float, str, str], float] = {}
    for piece, assertion in _asserted(pieces):
        edge = (assertion.head, assertion.relation, assertion.tail, assertion.weight, assertion.source, assertion.dataset)
        shares[edge] = shares.get(edge, 0.0) + piece.share
    return tuple(Claim(*edge, share) for edge, share in shares.items())


def _asserted(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Assertion]]:
    """Every piece with each edge of the graph on its path."""
    for piece in pieces:
        if piece.path is not None and piece.asserted:
            for assertion in dict.fromkeys(piece.path.assertions):
                yield piece, assertion
        yield from _asserted(piece.rests_on)
