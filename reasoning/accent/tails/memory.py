"""What a COMET said is kept as assertions, so that nobody asks it twice: in the graph's journal, or in the graph itself.

A query that the model answered with nothing but "none" is kept as that, so it counts as asked. What is kept under one model's
source answers for that model alone: with the same COMET, a score is the same whether its tails were generated now or long ago.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ....graph.errors import GraphError, InputError
from ....graph.model import Assertion
from ....graph.names import event_uri, text_of
from ....graph.opening import store_of
from ....graph.protocol import KnowledgeGraph, WritableGraph
from ..events import head_form
from .comet import NOTHING, Generated
from .journal import Journal, journal_of
from .source import Query
from .table import LEARNT, EventTable


class Memory:
    """Generated tails of one graph: those that its table holds, those in its journal, and those learnt by this object."""

    def __init__(self, graph: KnowledgeGraph, table: EventTable) -> None:
        """Remember for ``graph``, whose events are in ``table``."""
        self.journal: Journal | None = journal_of(graph)
        self._graph = graph
        self._said: dict[tuple[Query, str], dict[str, float]] = {}
        self._lock = threading.Lock()
        self._take_in_table(table)
        self.refresh()

    def refresh(self) -> None:
        """Learn what other processes have written to the journal meanwhile; what cannot be read will be asked again."""
        if self.journal is not None:
            with self._lock, suppress(GraphError):
                self._take_in(self.journal.new())

    def recall(self, query: Query, source: str) -> list[Generated] | None:
        """Return what ``source`` was known to say, best first; None when it was never asked."""
        said = self._said.get((_key(query), source))
        return None if said is None else [Generated(text, score) for text, score in said.items()]

    def sources(self) -> list[str]:
        """Return the models that were ever asked, by name."""
        return sorted({source for _, source in self._said})

    @property
    def digest(self) -> str:
        """Twelve hex digits for all that is known now; empty when that is nothing."""
        if not self._said:
            return ""
        lines = sorted(repr((*query, source, *said.items())) for (query, source), said in self._said.items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]

    def keep(self, queries: Sequence[Query], answers: Sequence[Sequence[Generated]], source: str) -> None:
        """Write down what ``source`` said.

        Raises:
            TacitError: the journal or the graph cannot be written.
        """
        rows = []
        for query, answer in zip(queries, answers, strict=True):
            said = answer if any(one.text != NOTHING for one in answer) else [Generated(NOTHING, 0.0)]
            head = event_uri(_key(query).head)
            rows += [
                Assertion(head, query.relation, event_uri(text), source=source, rank=rank, score=score)
                for rank, (text, score) in enumerate(said)
            ]
        with self._lock:
            self._take_in(rows)
        if self.journal is not None:
            self.journal.append(rows)
        else:
            writable(self._graph).load(rows)

    def _take_in(self, rows: Iterable[Assertion]) -> None:
        for row in rows:
            self._add(Query(text_of(row.head), row.relation), row.source, text_of(row.tail), row.score or 0.0)

    def _take_in_table(self, table: EventTable) -> None:
        if not table.learnt_source.any():
            return
        for head, text in enumerate(table.heads):
            for relation in table.relations:
                for row in sorted(table.rows(head, relation), key=lambda row: row.rank):
                    if table.learnt_source[row.source]:
                        self._add(Query(text, relation), table.sources[row.source], table.tails[row.tail], row.score)

    def _add(self, query: Query, source: str, text: str, score: float) -> None:
        if source.startswith(LEARNT):
            self._said.setdefault((_key(query), source), {}).setdefault(text, score)


def writable(graph: KnowledgeGraph) -> WritableGraph:
    """Return the store that assertions about ``graph`` are loaded into; an index of its concepts stays as it is."""
    store = store_of(graph)
    if not isinstance(store, WritableGraph):
        raise InputError(f"nothing can be loaded into {store.url}; open the graph by its path or URL")
    return store


def _key(query: Query) -> Query:
    return Query(head_form(query.head), query.relation)
