"""The compact model as a tuple scorer: how close a tail comes to what the model expects of the head, and how well it matches.

The pool of what is expected is wide, hundreds of tails: a response says one of the many things that may follow, seldom one of
the ten likeliest. *Closeness* is the largest cosine with a tail of that pool, as equation 1 has it over known tails; *match*
is the cosine of head and tail as the two towers see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import head_form
from ..tails.source import MEMORY, KnownTail, Origin
from .compact import Compact
from .compatibility import Embed, check_relations
from .judging import Judge, along
from .tuplescore import SHOWN, Close, Triple, TupleScore

if TYPE_CHECKING:
    from .opening import Opener

POOL = 500

Vectors = NDArray[np.float32]
Places = NDArray[np.int64]


class Judgement(NamedTuple):
    """What the model says of a tuple.

    Attributes:
        closeness: largest cosine with an expected tail, in 0..1.
        match: cosine of the head's query with the tail's key, by which tails rank, in -1..1.
        closest: the expected tails that are closest.
    """

    closeness: float
    match: float
    closest: tuple[Close, ...]


class Measured(NamedTuple):
    """The two numbers of :class:`Judgement`, the numbers of the expected tails, best first, and their cosines."""

    closeness: float
    match: float
    expected: Places
    cosines: Vectors


class Retriever(Judge[Judgement]):
    """A compact model over the encoder that it was trained on; as a scorer it gives the closeness."""

    def __init__(self, model: Compact, embed: Embed, *, encoder: str, pool: int = POOL) -> None:
        """Score by the ``pool`` tails of a relation that ``model`` ranks highest; the others are as :class:`Judge` has them."""
        super().__init__(model, embed, encoder=encoder)
        self.pool = pool
        self.signature = f"retriever({model.digest};{pool})"
        self._keys: dict[int, Vectors] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how close each tail comes to what the model expects, in 0..1.

        Raises:
            InputError: the model does not know a relation.
        """
        return [TupleScore(one.closeness, one.closest) for one in self.judge(tuples)]

    def expected(self, head: str, relation: str, limit: int = 10) -> list[str]:
        """Return the tails that the model expects most, best first.

        Raises:
            InputError: the model does not know the relation.
        """
        check_relations([(head, relation, "")], self.relations)
        number = self._number[relation]
        (vector,) = self._embed([head_form(head)])
        members = self.model.members[number]
        return [self.model.said(members[row]) for row in self._best(self._ranks(vector, number), limit).tolist()]

    def measure(self, head: Vectors, relation: int, tail: Vectors, *, without: int = -1) -> Measured:
        """Return what the model says of a tail's vector for a head's.

        Args:
            relation: its number in the model; without: number of a tail that is taken for not being in the pool.
        """
        ranks = self._ranks(head, relation)
        own = self.model.key(tail[None], relation)[0]
        match = float(own @ self.model.query(head[None], relation)[0])
        rows = self.model.members[relation][self._best(ranks, self.pool)]
        rows = rows[rows != without]
        cosines = self.model.kept.products(along(self.model.basis, tail), rows)
        return Measured(min(max(float(cosines.max(initial=0.0)), 0.0), 1.0), match, rows, cosines)

    def _ranks(self, head: Vectors, relation: int) -> Vectors:
        """How high the model ranks each tail of the relation for a head."""
        if relation not in self._keys:
            vectors = self.model.kept.vectors(self.model.members[relation]) @ self.model.basis.T
            self._keys[relation] = self.model.key(vectors, relation)
        ranks: Vectors = self._keys[relation] @ self.model.query(head[None], relation)[0]
        return ranks

    def _best(self, ranks: Vectors, limit: int) -> Places:
        """The places of the ``limit`` highest ranks, best first, of equal ones the first."""
        places = np.arange(len(ranks))
        if limit < len(ranks):
            places = np.sort(np.argpartition(-ranks, limit - 1)[:limit])
        found: Places = places[np.argsort(-ranks[places], kind="stable")]
        return found

    def _judge(self, head: Vectors, relation: int, tail: Vectors, text: str, /) -> Judgement:
        """What the model says of one tail."""
        found = self.measure(head, relation, tail)
        source = f"{MEMORY}{self.model.digest}"
        closest = []
        for rank in np.argsort(-found.cosines, kind="stable")[:SHOWN].tolist():
            name = self.model.said(found.expected[rank])
            closest.append(Close(KnownTail(name, name, Origin.MODEL, text, 1.0, source, rank), float(found.cosines[rank])))
        return Judgement(found.closeness, found.match, tuple(closest))


class Match:
    """The retriever's match as a scorer of its own."""

    def __init__(self, retriever: Retriever) -> None:
        """Give the match of what ``retriever`` judges."""
        self.retriever = retriever
        self.relations = retriever.relations
        self.signature = f"match({retriever.model.digest})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the cosine of head and tail as the towers see them, in -1..1.

        Raises:
            InputError: the model does not know a relation.
        """
        return [TupleScore(one.match) for one in self.retriever.judge(tuples)]


def make(opener: Opener, *, model: str | Path | None = None) -> Retriever:
    """Return the scorer over the compact model ``model``, by default the one that ships.

    Raises:
        ModelError: the model cannot be opened.
    """
    return Retriever(opener.compact(model), opener.embed, encoder=opener.encoder.signature)
