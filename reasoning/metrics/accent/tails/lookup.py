"""The tail source over the graph: tails of the head itself, in any wording.

Wordings are tried in the order of :func:`..events.head_forms`; then heads with the same comparison key count as the same event.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..events import comparison_key, head_forms
from .comet import NOTHING
from .source import Found, KnownTail, Origin, Query
from .table import EventTable


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
            if found := self._of(head, query.relation):
                return found
        return []

    def heads(self, text: str) -> list[int]:
        """Return the numbers of the heads that are the event ``text``, best wording first."""
        exact = [head for form in head_forms(text) if (head := self.table.exact(form)) is not None]
        return list(dict.fromkeys([*exact, *self.table.alike(comparison_key(text))]))

    def _of(self, head: int, relation: str) -> list[KnownTail]:
        """Return the tails of a head of the table."""
        table = self.table
        learnt = table.is_generated
        rows = [row for row in table.rows(head, relation) if table.tails[row.tail] != NOTHING]
        return [
            KnownTail(
                table.tails[row.tail], table.forms[row.form],
                Origin.COMET if learnt[row.source] else Origin.GRAPH, table.heads[head], 1.0, table.sources[row.source],
                max(row.rank, 0), None if np.isnan(row.score) else row.score,
            )
            for row in rows
            if self._learnt or not learnt[row.source]
        ]  # fmt: skip
