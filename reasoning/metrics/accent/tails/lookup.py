"""Tail sources over the graph: tails of the head itself in any wording, and tails of the nearest heads.

Wordings are tried in the order of :func:`..events.head_forms`; then heads with the same comparison key count as the same event.
The nearest heads, by cosine of embeddings, are used only when none of these has tails under the relation, and only with tails
of datasets: a tail that a model generated holds for its own head alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .....graph.errors import InputError
from ..events import comparison_key, head_form, head_forms
from .comet import NOTHING
from .source import Found, KnownTail, Origin, Query
from .table import EventTable
from .vectors import VectorCache

DEFAULT_NEAREST = 10
DEFAULT_THRESHOLD = 0.7


class GraphTails:
    """Tails of an event table."""

    def __init__(self, table: EventTable, *, learnt: bool = True) -> None:
        """Look up in ``table``; with ``learnt`` also the tails that models generated and that were merged into the graph."""
        self.table = table
        self._learnt = learnt
        self.signature = "graph" if learnt or not table.is_generated.any() else "graph;people"

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of each query's head; none when the graph does not hold it."""
        return [Found(tuple(self._find(query))) for query in queries]

    def _find(self, query: Query) -> list[KnownTail]:
        for head in self.heads(query.head):
            if found := self.of(head, query.relation, Origin.GRAPH, 1.0):
                return found
        return []

    def heads(self, text: str) -> list[int]:
        """Return the numbers of the heads that are the event ``text``, best wording first."""
        exact = [head for form in head_forms(text) if (head := self.table.exact(form)) is not None]
        return list(dict.fromkeys([*exact, *self.table.alike(comparison_key(text))]))

    def of(self, head: int, relation: str, origin: Origin, likeness: float) -> list[KnownTail]:
        """Return the tails of a head of the table."""
        table = self.table
        learnt = table.is_generated
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
    """Tails of the heads nearest to the query's."""

    def __init__(
        self,
        graph: GraphTails,
        vectors: VectorCache,
        *,
        limit: int = DEFAULT_NEAREST,
        threshold: float = DEFAULT_THRESHOLD,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Search among the heads of ``graph`` that come from datasets.

        Args:
            vectors: stored embeddings of the heads; missing ones are computed now.
            limit: number of heads whose tails are returned, at most; threshold: lowest cosine, in -1..1.
            progress: called with the number of heads that were encoded.

        Raises:
            InputError: ``limit`` is below 1, or ``threshold`` outside -1..1.
        """
        if limit < 1 or not -1 <= threshold <= 1:
            raise InputError(f"nearest is {limit} and threshold {threshold}; nearest must be >= 1, threshold in -1..1")
        self.graph = graph
        self.vectors = vectors
        self.limit = limit
        self.threshold = threshold
        self.signature = f"nearest{limit}>={threshold:g}@{vectors.encoder.signature}"
        table = graph.table
        self._numbers: NDArray[np.int64] = table.observed_heads()
        texts = [table.heads[head] for head in self._numbers.tolist()]
        vectors.add(texts, progress)
        self._vectors = vectors.known(texts)

    def find(self, queries: Sequence[Query]) -> list[Found]:
        """Return the tails of the nearest heads that have any under the relation, nearest head first."""
        texts = list(dict.fromkeys(head_form(query.head) for query in queries))
        if not texts:
            return []
        near = {text: self._near(vector) for text, vector in zip(texts, self.vectors[texts], strict=True)}
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

    def _near(self, vector: NDArray[np.float32]) -> list[tuple[int, float]]:
        """Return the nearest heads with a cosine of at least the threshold, as indices and cosines, nearest first.

        More are returned than needed, since not every head has tails under every relation.
        """
        cosines = self._vectors @ vector
        places = np.flatnonzero(cosines >= self.threshold)
        best = places[np.lexsort((places, -cosines[places]))[: 8 * self.limit]]
        return list(zip(best.tolist(), cosines[best].tolist(), strict=True))
