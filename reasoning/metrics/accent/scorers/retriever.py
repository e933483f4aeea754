"""Tuple scorers over the compact retrieval model: ``retriever``, ``match`` and ``support``.

The model expects a wide pool of tails, hundreds for each head, since a response states one of the many possible consequences and
seldom one of the ten likeliest. ``retriever`` (*closeness*) is the largest cosine with a tail of that pool, as equation 1 is over
known tails; ``match`` is the cosine of head and tail in the space of the two towers; ``support`` the pointwise mutual information
of head and tail under a kernel density over the model's triples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .....graph.compiling import compiled
from .....graph.errors import ModelError
from ....lru_cache import LruCache
from ..events import head_form
from ..verbalise import statement
from .base import RETRIEVER_PREFIX, SHOWN, CloseTail, Embed, KnownTail, Origin, Triple, TupleScore, Vectors, check_relations
from .retrieval_model import Quantised, RetrievalModel

if TYPE_CHECKING:
    from .resources import ScorerResources

# The base of all three: each distinct tuple, in the model's wording, is scored once from two vectors.

_CACHE_SIZE = 50_000

Result = TypeVar("Result")


class RetrievalScorer(ABC, Generic[Result]):
    """Scores tuples by a compact model and the encoder that it was trained on, with an LRU cache."""

    def __init__(self, model: RetrievalModel, embed: Embed, *, encoder: str) -> None:
        """Score by ``model``; the signature ``encoder`` of ``embed`` must be that of its training."""
        if encoder != model.encoder[1]:
            raise ModelError(
                f"the tail retriever was trained on vectors of {model.encoder[0]} ({model.encoder[1]}), not of the encoder "
                f"{encoder}; leave out the option encoder, or train one for it with: tacit train retriever"
            )
        self.model = model
        self.relations = frozenset(model.relations)
        self._embed = embed
        self._number = {name: number for number, name in enumerate(model.relations)}
        self._known: LruCache[Triple, Result] = LruCache(_CACHE_SIZE)

    def evaluate(self, tuples: Sequence[Triple]) -> list[Result]:
        """Return the model's result for each tuple."""
        check_relations(tuples, self.relations)
        written = [(head_form(head), relation, statement(tail, relation)) for head, relation, tail in tuples]
        known = self._known.get_all(written, self._evaluate_all)
        return [known[triple] for triple in written]

    def _evaluate_all(self, tuples: Sequence[Triple]) -> list[Result]:
        texts = dict.fromkeys(text for head, _, tail in tuples for text in (head, tail))
        vectors = dict(zip(texts, self._embed(list(texts)), strict=True))
        return [self._evaluate(vectors[head], self._number[relation], vectors[tail], head) for head, relation, tail in tuples]

    @abstractmethod
    def _evaluate(self, head: Vectors, relation: int, tail: Vectors, text: str, /) -> Result:
        """Return the result for one tuple, from the vectors of head and tail, shape (d,); ``text`` is the head."""


def projected(basis: Vectors, vector: Vectors) -> Vectors:
    """Return a vector projected on ``basis``, shape (d, rank), with unit length."""
    coordinates = vector @ basis
    unit: Vectors = coordinates / max(float(np.linalg.norm(coordinates)), 1e-12)
    return unit


# Closeness and match.

POOL = 500

Indices = NDArray[np.int64]


class RetrieverResult(NamedTuple):
    """The scores of a tuple."""

    closeness: float  # largest cosine with an expected tail, in 0..1
    match: float  # cosine of the head's query with the tail's key, by which tails are ranked, in -1..1
    closest: tuple[CloseTail, ...]  # the expected tails that are closest


class Measurement(NamedTuple):
    """The scores of :class:`RetrieverResult`, the numbers of the expected tails, highest rank first, and their cosines."""

    closeness: float
    match: float
    expected: Indices
    cosines: Vectors


class Retriever(RetrievalScorer[RetrieverResult]):
    """The scorer ``retriever``: closeness under a compact model and its encoder."""

    def __init__(self, model: RetrievalModel, embed: Embed, *, encoder: str, pool: int = POOL) -> None:
        """Score by the ``pool`` tails of a relation that ``model`` ranks highest; the rest as :class:`RetrievalScorer`."""
        super().__init__(model, embed, encoder=encoder)
        self.pool = pool
        self.signature = f"retriever({model.digest};{pool})"
        self._keys: dict[int, Vectors] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the closeness of each tail to the expected ones, in 0..1."""
        return [TupleScore(result.closeness, result.closest) for result in self.evaluate(tuples)]

    def measure(self, head: Vectors, relation: int, tail: Vectors, *, without: int = -1) -> Measurement:
        """Return the scores of a tail's vector for a head's, both of shape (d,), over a pool ``without`` one tail."""
        ranks = self._ranks(head, relation)
        own = self.model.key(tail[None], relation)[0]
        match = float(own @ self.model.query(head[None], relation)[0])
        rows = self.model.members[relation][self._highest(ranks, self.pool)]
        rows = rows[rows != without]
        cosines = self.model.embeddings.products(projected(self.model.basis, tail), rows)
        return Measurement(min(max(float(cosines.max(initial=0.0)), 0.0), 1.0), match, rows, cosines)

    def _ranks(self, head: Vectors, relation: int) -> Vectors:
        if relation not in self._keys:
            vectors = self.model.embeddings.vectors(self.model.members[relation]) @ self.model.basis.T
            self._keys[relation] = self.model.key(vectors, relation)
        ranks: Vectors = self._keys[relation] @ self.model.query(head[None], relation)[0]
        return ranks

    def _highest(self, ranks: Vectors, limit: int) -> Indices:
        """The places of the ``limit`` highest ranks, highest first; of equal ones the first."""
        indices = np.arange(len(ranks))
        if limit < len(ranks):
            indices = np.sort(np.argpartition(-ranks, limit - 1)[:limit])
        result: Indices = indices[np.argsort(-ranks[indices], kind="stable")]
        return result

    def _evaluate(self, head: Vectors, relation: int, tail: Vectors, text: str, /) -> RetrieverResult:
        """The scores of one tail, with the closest expected tails."""
        measurement = self.measure(head, relation, tail)
        source = f"{RETRIEVER_PREFIX}{self.model.digest}"
        closest = []
        for rank in np.argsort(-measurement.cosines, kind="stable")[:SHOWN].tolist():
            name = self.model.text(measurement.expected[rank])
            closest.append(
                CloseTail(KnownTail(name, name, Origin.MODEL, text, 1.0, source, rank), float(measurement.cosines[rank]))
            )
        return RetrieverResult(measurement.closeness, measurement.match, tuple(closest))


class Match:
    """The scorer ``match``: the retriever's match alone."""

    def __init__(self, retriever: Retriever) -> None:
        self.retriever = retriever
        self.relations = retriever.relations
        self.signature = f"match({retriever.model.digest})"

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the cosine of head and tail in the space of the two towers, in -1..1."""
        return [TupleScore(result.match) for result in self.retriever.evaluate(tuples)]


def make_retriever(resources: ScorerResources, *, model: str | Path | None = None) -> Retriever:
    """Return the scorer over the compact model ``model``, by default the one that ships."""
    return Retriever(resources.retrieval_model(model), resources.embed, encoder=resources.encoder.signature)


# Support: pointwise mutual information of head and tail under a kernel density.
#
# Each triple of the relation contributes a kernel weight, which falls with the distance of its head and tail to the scored ones:
#
#     support(h, r, t) = log [ mean_i a_i b_i / (mean_i a_i · mean_i b_i) ]
#     a_i = exp((cos(h, h_i) - 1) / HEAD_WIDTH), b_i = exp((cos(t, t_i) - 1) / TAIL_WIDTH)
#
# with i over the triples of r. That is log p(h, t | r) / (p(h | r) p(t | r)) (Church & Hanks, 1990) with densities after
# Rosenblatt (1956) and Parzen (1962), under kernels of von Mises and Fisher. No parameters are trained. The divisor removes what
# a head or a tail has in common with many triples.

HEAD_WIDTH = 0.06
TAIL_WIDTH = 0.12
"""The best of twelve pairs at informative triples of ATOMIC-2020 with held-out heads from those with another triple's tail."""

_LEAST = 1e-300


class Contribution(NamedTuple):
    """A triple that contributes to a tuple's support."""

    head: int  # head, tail: numbers of its texts
    tail: int
    head_likeness: float  # head_likeness, tail_likeness: their cosines with the scored head and tail
    tail_likeness: float


class _Triples(NamedTuple):
    """The triples of a relation: numbers and vectors of distinct heads and tails, and each triple's index among both."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]
    of_heads: Quantised
    of_tails: Quantised
    head_at: NDArray[np.int64]
    tail_at: NDArray[np.int64]


class Support(RetrievalScorer[TupleScore]):
    """The scorer ``support``, over the triples of a compact model."""

    def __init__(self, model: RetrievalModel, embed: Embed, *, encoder: str) -> None:
        """Score by the triples of ``model``; the arguments are those of :class:`RetrievalScorer`."""
        super().__init__(model, embed, encoder=encoder)
        self.signature = f"support({model.digest})"
        self._triples: dict[int, _Triples] = {}

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        """Return the support of each tuple in nats, with the tails of the triples of the largest kernel weight."""
        return self.evaluate(tuples)

    def measure(
        self, head: Vectors, relation: int, tail: Vectors, *, without: tuple[int, int] = (-1, -1)
    ) -> tuple[float, tuple[Contribution, ...]]:
        """Return the support in nats, and the triples of the largest kernel weight, largest first; vectors have the shape (d,).

        Triples with the head or the tail of ``without`` are left out; without any remaining triple the support is 0.
        """
        known = self._of(relation)
        head_likeness = known.of_heads.products(projected(self.model.basis, head))
        tail_likeness = known.of_tails.products(projected(self.model.basis, tail))
        a = np.exp((head_likeness.astype(np.float64) - 1) / HEAD_WIDTH) * (known.heads != without[0])
        b = np.exp((tail_likeness.astype(np.float64) - 1) / TAIL_WIDTH) * (known.tails != without[1])
        of_triples, of_heads, of_tails, strongest = _kernel_sums(a, b, known.head_at, known.tail_at, SHOWN)
        if min(of_triples, of_heads, of_tails) < _LEAST:
            return 0.0, ()
        contributions = tuple(
            Contribution(
                int(known.heads[known.head_at[row]]), int(known.tails[known.tail_at[row]]),
                float(head_likeness[known.head_at[row]]), float(tail_likeness[known.tail_at[row]]),
            )
            for row in strongest.tolist()
        )  # fmt: skip
        return log(of_triples) - log(of_heads) - log(of_tails) + log(len(known.head_at)), contributions

    def _evaluate(self, head: Vectors, relation: int, tail: Vectors, _text: str, /) -> TupleScore:
        """The support of one tuple."""
        value, contributions = self.measure(head, relation, tail)
        source = f"{RETRIEVER_PREFIX}{self.model.digest}"
        closest = tuple(
            CloseTail(
                KnownTail(
                    name, name, Origin.NEAREST, self.model.text(contribution.head), contribution.head_likeness, source, rank
                ),
                contribution.tail_likeness,
            )
            for rank, contribution in enumerate(contributions)
            for name in (self.model.text(contribution.tail),)
        )
        return TupleScore(value, closest)

    def _of(self, relation: int) -> _Triples:
        if relation not in self._triples:
            rows = self.model.triples[relation]
            heads, head_at = np.unique(rows[:, 0], return_inverse=True)
            tails, tail_at = np.unique(rows[:, 1], return_inverse=True)
            # Contiguous copies: three times as fast to scan.
            of_heads, of_tails = self.model.embeddings.part(heads), self.model.embeddings.part(tails)
            self._triples[relation] = _Triples(heads, tails, of_heads, of_tails, head_at.ravel(), tail_at.ravel())
        return self._triples[relation]


@compiled
def _kernel_sums(a, b, head_at, tail_at, limit):  # type: ignore[no-untyped-def]
    """The sums of a_i b_i, a_i and b_i over triples, and the ``limit`` triples with the largest products, largest first."""
    of_triples, of_heads, of_tails, filled = 0.0, 0.0, 0.0, 0
    values, rows = np.zeros(limit), np.zeros(limit, np.int64)
    for row in range(len(head_at)):
        head, tail = a[head_at[row]], b[tail_at[row]]
        product = head * tail
        of_triples += product
        of_heads += head
        of_tails += tail
        if product > 0.0 and (filled < limit or product > values[limit - 1]):
            index = min(filled, limit - 1)
            while index > 0 and product > values[index - 1]:
                values[index], rows[index] = values[index - 1], rows[index - 1]
                index -= 1
            values[index], rows[index] = product, row
            filled = min(filled + 1, limit)
    return of_triples, of_heads, of_tails, rows[:filled]


def make_support(resources: ScorerResources, *, model: str | Path | None = None) -> Support:
    """Return the scorer over the triples of the compact model ``model``, by default the one that ships."""
    return Support(resources.retrieval_model(model), resources.embed, encoder=resources.encoder.signature)
