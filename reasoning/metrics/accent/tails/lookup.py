"""Tails that the graph knows: of the head as worded, of heads that are the same event in other words, of the nearest heads.

Wordings are tried in the order of :func:`..events.head_forms`; then heads with the same comparison key
count as the same event. Only when none of them has tails under the relation are the nearest heads asked, by cosine of
embeddings, and only what people said counts there: what a model generated is known for its own head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from ..events import comparison_key, head_form, head_forms
from .comet import NOTHING
from .source import Found, KnownTail, Origin, Query
from .table import EventTable
from .vectors import KeptVectors

# The nearest of many vectors above a threshold, exactly: a small product bounds every cosine, and only what it lets through is
# worked out.
#
# Unit vectors are turned so that their first numbers hold most of their length. For two of them, the cosine is at most the
# product of the first parts plus the product of the lengths of the rests (Cauchy-Schwarz), which is one matrix product of few
# columns.

Vectors = NDArray[np.float32]

_COLUMNS = 96
_SAMPLE = 20_000
_QUERIES = 32
_SLACK = 1e-5  # the bound is worked out in single precision


class Near(NamedTuple):
    """A vector that is near: its number, and its cosine with the query."""

    number: int
    cosine: float


class NearestVectors:
    """Unit vectors that can be searched."""

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        """Take in ``vectors``, shape (n, d), each of unit length."""
        self.vectors: Vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        count, width = self.vectors.shape
        step = max(1, count // _SAMPLE)
        sample = self.vectors[::step].astype(np.float64)
        _, axes = np.linalg.eigh(sample.T @ sample)
        columns = min(_COLUMNS, width)
        self._axes: Vectors = np.ascontiguousarray(axes[:, ::-1][:, :columns], dtype=np.float32)
        self._bounds = self._bound(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Vectors, limit: int, threshold: float) -> list[list[Near]]:
        """Return for each query (rows of unit length) the nearest ``limit`` vectors whose cosine is at least ``threshold``.

        Nearest first, of equal ones the lower number; exact to single precision.
        """
        found: list[list[Near]] = []
        if not len(self):
            return [[] for _ in queries]
        for start in range(0, len(queries), _QUERIES):
            block = np.ascontiguousarray(queries[start : start + _QUERIES], dtype=np.float32)
            bounds = self._bound(block) @ self._bounds.T
            for query, bound in zip(block, bounds, strict=True):
                found.append(self._among(np.flatnonzero(bound >= threshold - _SLACK), query, limit, threshold))
        return found

    def _among(self, numbers: NDArray[np.int64], query: Vectors, limit: int, threshold: float) -> list[Near]:
        """The nearest of those that the bound let through."""
        cosines = self.vectors[numbers] @ query
        inside = cosines >= threshold
        numbers, cosines = numbers[inside], cosines[inside]
        best = np.lexsort((numbers, -cosines))[:limit]
        return [Near(int(numbers[place]), float(cosines[place])) for place in best]

    def _bound(self, vectors: Vectors) -> Vectors:
        """First parts of vectors, with the length of the rest as their last column."""
        first = vectors @ self._axes
        rest = np.sqrt(np.maximum((vectors * vectors).sum(1) - (first * first).sum(1), 0.0))
        return np.ascontiguousarray(np.concatenate([first, rest[:, None]], axis=1), dtype=np.float32)


DEFAULT_NEAREST = 10
DEFAULT_THRESHOLD = 0.7


class GraphTails:
    """The source over one table of events."""

    def __init__(self, table: EventTable, *, learnt: bool = True) -> None:
        """Answer from ``table``; with ``learnt`` also what models generated and the graph took in."""
        self.table = table
        self._learnt = learnt
        self.signature = "graph" if learnt or not table.learnt_source.any() else "graph;people"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of each query's head; none when the graph does not know it."""
        return [Found(tuple(self._find(query))) for query in queries]

    def _find(self, query: Query) -> list[KnownTail]:
        for head in self.heads(query.head):
            if found := self.of(head, query.relation, Origin.GRAPH, 1.0):
                return found
        return []

    def heads(self, text: str) -> list[int]:
        """Return the heads that are the event ``text``, best wording first."""
        exact = [head for form in head_forms(text) if (head := self.table.exact(form)) is not None]
        return list(dict.fromkeys([*exact, *self.table.alike(comparison_key(text))]))

    def of(self, head: int, relation: str, origin: Origin, likeness: float) -> list[KnownTail]:
        """Return what is said of a head of the table."""
        table = self.table
        learnt = table.learnt_source
        rows = [row for row in table.rows(head, relation) if table.tails[row.tail] != NOTHING]
        if origin is Origin.NEAREST or not self._learnt:
            rows = [row for row in rows if not learnt[row.source]]
        return [
            KnownTail(
                table.tails[row.tail], table.forms[row.form],
                Origin.COMET if learnt[row.source] else origin, table.heads[head], likeness, table.sources[row.source],
                max(row.rank, 0), None if np.isnan(row.score) else row.score,
            )
            for row in rows
        ]  # fmt: skip


class NearestTails:
    """The tails of the heads that are nearest to the one asked for."""

    def __init__(
        self,
        graph: GraphTails,
        vectors: KeptVectors,
        *,
        limit: int = DEFAULT_NEAREST,
        threshold: float = DEFAULT_THRESHOLD,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Search among the heads of ``graph`` that people spoke of.

        Args:
            vectors: keeps the embeddings of the heads; those that it lacks are encoded now.
            limit: heads asked at most, for each query; threshold: lowest cosine, in -1..1.
            progress: told how many heads were encoded.

        Raises:
            InputError: ``limit`` is below 1, or ``threshold`` outside -1..1.
        """
        if limit < 1 or not -1 <= threshold <= 1:
            raise InputError(f"{limit} nearest heads from a cosine of {threshold} make no sense; give 1 or more, and -1 to 1")
        self.graph = graph
        self.vectors = vectors
        self.limit = limit
        self.threshold = threshold
        self.signature = f"nearest{limit}>={threshold:g}@{vectors.encoder.signature}"
        table = graph.table
        self._numbers: NDArray[np.int64] = table.asserted()
        texts = [table.heads[head] for head in self._numbers.tolist()]
        vectors.add(texts, progress)
        self._search = NearestVectors(vectors.known(texts))

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of the nearest heads that have any under the relation, those of the nearest first."""
        texts = list(dict.fromkeys(head_form(query.head) for query in queries))
        if not texts:
            return []
        # More are searched than asked for, since not every head has tails under every relation.
        near = dict(zip(texts, self._search.search(self.vectors[texts], 8 * self.limit, self.threshold), strict=True))
        found = []
        for query in queries:
            tails: list[KnownTail] = []
            heads = 0
            for number, cosine in near[head_form(query.head)]:
                head = int(self._numbers[number])
                if more := self.graph.of(head, query.relation, Origin.NEAREST, cosine):
                    tails += more
                    heads += 1
                if heads == self.limit:
                    break
            found.append(Found(tuple(tails)))
        return found
