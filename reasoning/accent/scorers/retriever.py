"""The compact model as a tuple scorer: how close a tail comes to what the model expects of the head, and how well it matches.

The pool of what is expected is wide, hundreds of tails: a response says one of the many things that may follow, seldom one of
the ten likeliest. *Closeness* is the largest cosine with a tail of that pool, as equation 1 has it over known tails; *match*
is the cosine of head and tail as the two towers see them; *support* is what the model's triples say (:mod:`.support`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import ModelError
from ...cache import LruCache
from ..events import head_form
from ..statements import statement
from ..tails.source import MEMORY, KnownTail, Origin
from .compact import Compact
from .compatibility import Embed, check_relations
from .support import Support, Witness
from .tuplescore import SHOWN, Close, Triple, TupleScore

POOL = 500

_REMEMBERED = 50_000

Vectors = NDArray[np.float32]
Places = NDArray[np.int64]


class Judgement(NamedTuple):
    """What the model says of a tuple.

    Attributes:
        closeness: largest cosine with an expected tail, in 0..1.
        match: cosine of the head's query with the tail's key, by which tails rank, in -1..1.
        support: how much the model's triples speak for head and tail together, in nats.
        closest: the expected tails that are closest; supporting: those of the triples that speak most, in that order.
    """

    closeness: float
    match: float
    support: float
    closest: tuple[Close, ...]
    supporting: tuple[Close, ...]


class Measured(NamedTuple):
    """The numbers of :class:`Judgement`, the numbers of the expected tails, best first, their cosines, and the witnesses."""

    closeness: float
    match: float
    support: float
    expected: Places
    cosines: Vectors
    witnesses: tuple[Witness, ...]


class Retriever:
    """A compact model over the encoder that it was trained on; as a scorer it gives the closeness."""

    def __init__(self, model: Compact, embed: Embed, *, encoder: str, pool: int = POOL) -> None:
        """Score by the ``pool`` tails of a relation that ``model`` ranks highest.

        Args:
            embed: texts to vectors of unit length, shape (texts, d); encoder: its signature.

        Raises:
            ModelError: the model was trained on the vectors of another encoder.
        """
        if encoder != model.encoder[1]:
            raise ModelError(
                f"the tail retriever reads the vectors of {model.encoder[0]} ({model.encoder[1]}), not of the encoder {encoder}; "
                "leave out the option encoder, or train one for it with: tacit train retriever"
            )
        self.model = model
        self.pool = pool
        self.relations = frozenset(model.relations)
        self.signature = f"retriever({model.digest};{pool})"
        self._embed = embed
        self._number = {name: number for number, name in enumerate(model.relations)}
        self._keys: dict[int, Vectors] = {}
        self._support = Support(model)
        self._known: LruCache[Triple, Judgement] = LruCache(_REMEMBERED)

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return how close each tail comes to what the model expects, in 0..1.

        Raises:
            InputError: the model does not know a relation.
        """
        return [TupleScore(one.closeness, one.closest) for one in self.judge(tuples)]

    def judge(self, tuples: Sequence[Triple]) -> list[Judgement]:
        """Return what the model says of each tuple.

        Raises:
            InputError: the model does not know a relation.
        """
        check_relations(tuples, self.relations)
        written = [(head_form(head), relation, statement(tail, relation)) for head, relation, tail in tuples]
        known = {one: self._known.get(one) for one in dict.fromkeys(written)}
        fresh = [one for one, judgement in known.items() if judgement is None]
        if fresh:
            texts = {
                text: row for row, text in enumerate(dict.fromkeys(text for head, _, tail in fresh for text in (head, tail)))
            }
            vectors = self._embed(list(texts))
            for one in fresh:
                head, relation, tail = one
                known[one] = found = self._judge(vectors[texts[head]], self._number[relation], vectors[texts[tail]], head)
                self._known.put(one, found)
        return [judgement for one in written if (judgement := known[one]) is not None]

    def expected(self, head: str, relation: str, limit: int = 10) -> list[str]:
        """Return the tails that the model expects most, best first.

        Raises:
            InputError: the model does not know the relation.
        """
        check_relations([(head, relation, "")], self.relations)
        number = self._number[relation]
        (vector,) = self._embed([head_form(head)])
        members = self.model.members[number]
        return [self.model.texts[members[row]] for row in self._best(self._ranks(vector, number), limit).tolist()]

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

    def measure(self, head: Vectors, relation: int, tail: Vectors, *, without: tuple[int, int] = (-1, -1)) -> Measured:
        """Return what the model says of a tail's vector for a head's.

        Args:
            relation: its number in the model; without: numbers of a head and a tail that are taken for being new to the model.
        """
        ranks = self._ranks(head, relation)
        own = self.model.key(tail[None], relation)[0]
        match = float(own @ self.model.query(head[None], relation)[0])
        given, said = (_along(self.model.basis, vector) for vector in (head, tail))
        rows = self.model.members[relation][self._best(ranks, self.pool)]
        rows = rows[rows != without[1]]
        cosines = self.model.kept.products(said, rows)
        closeness = min(max(float(cosines.max(initial=0.0)), 0.0), 1.0)
        support, witnesses = self._support(given, relation, said, without=without)
        return Measured(closeness, match, support, rows, cosines, witnesses)

    def _judge(self, head: Vectors, relation: int, tail: Vectors, text: str) -> Judgement:
        """What the model says of one tail."""
        found = self.measure(head, relation, tail)
        source, texts = f"{MEMORY}{self.model.digest}", self.model.texts
        closest = []
        for rank in np.argsort(-found.cosines, kind="stable")[:SHOWN].tolist():
            name = texts[found.expected[rank]]
            closest.append(Close(KnownTail(name, name, Origin.MODEL, text, 1.0, source, rank), float(found.cosines[rank])))
        supporting = tuple(
            Close(KnownTail(name, name, Origin.NEAREST, texts[one.head], one.head_likeness, source, rank), one.tail_likeness)
            for rank, one in enumerate(found.witnesses)
            for name in (texts[one.tail],)
        )
        return Judgement(found.closeness, found.match, found.support, tuple(closest), supporting)


def _along(basis: Vectors, vector: Vectors) -> Vectors:
    """A vector along the directions that are kept, of unit length."""
    along = vector @ basis
    unit: Vectors = along / max(float(np.linalg.norm(along)), 1e-12)
    return unit


class Aspect:
    """Another of the retriever's numbers as a scorer of its own: ``match`` or ``support``."""

    def __init__(self, retriever: Retriever, name: str) -> None:
        """Give the number ``name`` of what ``retriever`` judges."""
        self.retriever = retriever
        self.name = name
        self.relations = retriever.relations
        self.signature = f"{name}({retriever.model.digest})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return that number of each tuple.

        Raises:
            InputError: the model does not know a relation.
        """
        return [
            TupleScore(float(getattr(one, self.name)), one.supporting if self.name == "support" else ())
            for one in self.retriever.judge(tuples)
        ]
