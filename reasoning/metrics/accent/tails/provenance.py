"""Provenance: from a known tail back to the assertion of the graph.

The table of events renames and inverts relations and words phrases as events. An explanation shows edges of the graph, so each
tail that it shows is looked up: among ATOMIC's assertions about the head, inverted ones, and ConceptNet's between the phrases.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....graph.errors import InputError
from .....graph.model import Assertion, Path
from .....graph.names import concept_uri, event_uri, text_of
from .....graph.protocol import KnowledgeGraph
from ....lru_cache import LruCache
from ..verbalise import statement
from .event_table import RENAMED, TURNED
from .known_tails import RETRIEVER_PREFIX, KnownTail, Origin

_Key = tuple[str, str, str, str]


class Provenance:
    """Looks up the assertions behind known tails in one graph, with an LRU cache."""

    def __init__(self, graph: KnowledgeGraph, cache_size: int = 20_000) -> None:
        self.graph = graph
        self._found: LruCache[_Key, tuple[Path | None]] = LruCache(cache_size)

    def path(self, tail: KnownTail, relation: str) -> Path | None:
        """Return the strongest edge by which ``tail`` follows its head, directed from head to tail; None when the graph has
        none."""
        if tail.origin is Origin.MODEL:
            return None
        key = (tail.head, relation, tail.text, tail.source)
        known = self._found.get(key)
        if known is None:
            known = (self._look_up(tail, relation),)
            self._found.put(key, known)
        return known[0]

    def _look_up(self, tail: KnownTail, relation: str) -> Path | None:
        from_model = tail.source.startswith(RETRIEVER_PREFIX)  # a compact model does not keep sources
        rows = [row for row in self._candidates(tail, relation, from_model) if from_model or row[1].source == tail.source]
        if not rows:
            return None
        nodes, assertion = min(rows, key=lambda row: row[1].order)
        return Path(nodes, (assertion,))

    def _candidates(self, tail: KnownTail, relation: str, from_model: bool) -> Iterator[tuple[tuple[str, str], Assertion]]:
        """Every assertion that may be the tail's: it has its text, or, for a compact model's tail, its statement."""
        try:
            start, end = event_uri(tail.head), event_uri(tail.text)
            first, last = concept_uri(tail.head), concept_uri(tail.text)
        except InputError:
            return
        for row in self.graph.tails(start, relation):
            text = text_of(row.tail)
            if (statement(text, relation) if from_model else text) == tail.text:
                yield (row.head, row.tail), row
        for name, other in TURNED.items():
            if other == relation:
                yield from (((row.tail, row.head), row) for row in self.graph.tails(end, name) if text_of(row.tail) == tail.head)
        if relation in RENAMED.values() and first != last:
            for path in self.graph.triples_between([first], [last]):
                (row,) = path.assertions
                if row.head == first and RENAMED.get(row.relation) == relation:
                    yield (row.head, row.tail), row
