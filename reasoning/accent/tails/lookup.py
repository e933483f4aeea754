"""Tails that the graph knows: of the head as worded, of heads that are the same event in other words, of the nearest heads.

Wordings are tried in the order of :func:`tacit.reasoning.accent.events.head_forms`; then heads with the same comparison key
count as the same event. Only when none of them has tails under the relation are the nearest heads asked, by cosine of
embeddings, and only what people said counts there: what a model generated is known for its own head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ....graph.errors import InputError
from ..events import comparison_key, head_form, head_forms
from .comet import NOTHING
from .nearest import NearestVectors
from .source import Found, KnownTail, Origin, Query
from .table import EventTable
from .vectors import KeptVectors

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
