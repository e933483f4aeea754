"""Known tails back to what the graph says, word for word: the assertions behind the table of events, whole.

The table of events renames relations, turns what stands before something round, and words phrases as events, so that tuples
meet it. An explanation names edges that are there. So each tail that it shows is looked up once more: among ATOMIC's assertions
about the head, those the other way round, and ConceptNet's between the two phrases.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.errors import InputError
from ...graph.model import Assertion
from ...graph.model import Path as GraphPath
from ...graph.names import concept_uri, event_uri, text_of
from ...graph.protocol import KnowledgeGraph
from ..cache import LruCache
from .statements import statement
from .tails.source import MEMORY, KnownTail, Origin
from .tails.table import RENAMED, TURNED

_Key = tuple[str, str, str, str]


class Asserted:
    """Looks up known tails in one graph; remembers the last ones."""

    def __init__(self, graph: KnowledgeGraph, cache_size: int = 20_000) -> None:
        """Ask ``graph``."""
        self.graph = graph
        self._found: LruCache[_Key, tuple[GraphPath | None]] = LruCache(cache_size)

    def path(self, tail: KnownTail, relation: str) -> GraphPath | None:
        """Return the edge that says that ``tail`` follows its head, walked from head to tail; None when none does.

        Of several by the same source the strongest is returned.
        """
        if tail.origin is Origin.MODEL:
            return None
        key = (tail.head, relation, tail.text, tail.source)
        known = self._found.get(key)
        if known is None:
            known = (self._look_up(tail, relation),)
            self._found.put(key, known)
        return known[0]

    def _look_up(self, tail: KnownTail, relation: str) -> GraphPath | None:
        remembered = tail.source.startswith(MEMORY)  # by a compact model, which forgets who said it
        rows = [row for row in self._candidates(tail, relation, remembered) if remembered or row[1].source == tail.source]
        if not rows:
            return None
        nodes, assertion = min(rows, key=lambda row: row[1].order)
        return GraphPath(nodes, (assertion,))

    def _candidates(self, tail: KnownTail, relation: str, remembered: bool) -> Iterator[tuple[tuple[str, str], Assertion]]:
        """Every assertion that the table may have taken for it, with its ends in the order of head and tail.

        Tails are those of the same words, or, where a compact model remembered the tail, of the same statement.
        """
        try:
            start, end = event_uri(tail.head), event_uri(tail.text)
            first, last = concept_uri(tail.head), concept_uri(tail.text)
        except InputError:
            return
        for row in self.graph.tails(start, relation):
            text = text_of(row.tail)
            if (statement(text, relation) if remembered else text) == tail.text:
                yield (row.head, row.tail), row
        for name, other in TURNED.items():
            if other == relation:
                yield from (((row.tail, row.head), row) for row in self.graph.tails(end, name) if text_of(row.tail) == tail.head)
        if relation in RENAMED.values() and first != last:
            for path in self.graph.triples_between([first], [last]):
                (row,) = path.assertions
                if row.head == first and RENAMED.get(row.relation) == relation:
                    yield (row.head, row.tail), row
