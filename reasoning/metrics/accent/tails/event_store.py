"""The events of a store, asked for by Cypher as they are needed: the tails of many heads in one query.

A score over a store (``--engine store``) uses these instead of :mod:`.event_table`, so nothing is built beside the graph.
The names of the heads are read once, at the first query; assertions are read by ``cypher/tails.cypher``, for all heads and
relations of a batch at once. Both give the same tails in the same order, because both go through :func:`.event_table.entries_of`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .....graph.model import Assertion
from .....graph.names import label_of, text_of
from .....graph.protocol import TailsInBulk
from ....lru_cache import LruCache
from ..events import comparison_key
from ..verbalise import statement
from .event_table import GENERATED_PREFIX, LEFT_OUT, RENAMED, TURNED, Entry, EventTail, Lookup, entries_of
from .known_tails import Query

_Head = tuple[int, str]
"""Number of a head, and a relation."""


class StoredEvents:
    """The events of a store; thread-safe as the store is."""

    def __init__(self, store: TailsInBulk, *, cache_size: int = 100_000) -> None:
        """Read from ``store``; the tails of ``cache_size`` pairs of a head and a relation are kept in memory."""
        self._store = store
        self._cached: LruCache[_Head, list[EventTail]] = LruCache(cache_size)

    @cached_property
    def _subjects(self) -> set[tuple[str, str, str]]:
        """The events that assertions are about, with relations and sources."""
        return {found for found in self._store.nodes_by("Event", None) if found[1] not in LEFT_OUT}

    @cached_property
    def _known(self) -> dict[str, dict[str, bool]]:
        """The URIs of each head, by its text, and whether a dataset has an assertion about it; texts in order."""
        store = self._store
        found = [
            *((uri, source) for uri, _, source in self._subjects),
            *((uri, source) for uri, _, source in store.nodes_by("Concept", RENAMED)),
            *((uri, source) for uri, _, source in store.nodes_by("Event", TURNED, "tail")),
        ]
        known: dict[str, dict[str, bool]] = {}
        for uri, source in found:
            uris = known.setdefault(text_of(uri), {})
            uris[uri] = uris.get(uri, False) or not source.startswith(GENERATED_PREFIX)
        return {text: known[text] for text in sorted(known)}

    @cached_property
    def heads(self) -> list[str]:
        """Texts of the heads, sorted."""
        return list(self._known)

    @cached_property
    def relations(self) -> list[str]:
        """Names of the relations between events, sorted, as :class:`.event_table.EventTable` has them."""
        events = {relation for _, relation, _ in self._subjects}
        turned = {TURNED[relation] for relation in events & set(TURNED)}
        actions = {RENAMED[relation] for _, relation, _ in self._store.nodes_by("Concept", RENAMED)}
        return sorted(events | turned | actions)

    @cached_property
    def has_generated(self) -> bool:
        """Whether a model generated some of the tails."""
        return bool(self._generated)

    @cached_property
    def _generated(self) -> list[Assertion]:
        return self._store.tails_from(GENERATED_PREFIX)

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.heads)}

    @cached_property
    def _by_key(self) -> dict[str, list[int]]:
        by_key: dict[str, list[int]] = {}
        for number, text in enumerate(self.heads):
            by_key.setdefault(comparison_key(text), []).append(number)
        return by_key

    def exact(self, text: str) -> int | None:
        """Return the number of the head with this text; None when there is none."""
        return self._by_text.get(text)

    def alike(self, key: str) -> list[int]:
        """Return the heads whose comparison key is ``key``, in order of their texts."""
        return self._by_key.get(key, [])

    def observed_heads(self) -> NDArray[np.int64]:
        """Return the numbers of the heads with assertions from datasets, ascending."""
        return np.array([number for number, uris in enumerate(self._known.values()) if any(uris.values())], dtype=np.int64)

    def lookup(self, wanted: Sequence[_Head], /) -> Lookup:
        """Return a function from a head and a relation to its tails; those of ``wanted`` are read together."""
        found = self._cached.get_all(wanted, self._read)
        return lambda head, relation: found[head, relation]

    def generated(self) -> Iterator[tuple[Query, EventTail]]:
        """Yield the tails that models generated, by head, relation and rank."""
        for head, entries in entries_of(self._generated):
            for entry in sorted(entries, key=lambda entry: (entry.relation, entry.rank)):
                yield Query(head, entry.relation), _tail(entry)

    def _read(self, wanted: list[_Head]) -> list[list[EventTail]]:
        """Return the tails of heads and relations, from three queries at most."""
        relations = {relation for _, relation in wanted}
        uris = [uri for head in dict.fromkeys(head for head, _ in wanted) for uri in self._known[self.heads[head]]]
        events, actions = ([uri for uri in uris if label_of(uri) == label] for label in ("Event", "Concept"))
        rows = [
            *self._store.tails_many(events, relations),
            *self._store.tails_many(actions, [name for name, other in RENAMED.items() if other in relations]),
            *self._store.heads_many(events, [name for name, other in TURNED.items() if other in relations]),
        ]
        entries = dict(entries_of(rows))
        texts = ((self.heads[head], relation) for head, relation in wanted)
        return [[_tail(entry) for entry in entries.get(text, ()) if entry.relation == relation] for text, relation in texts]


def _tail(entry: Entry) -> EventTail:
    score = float(np.float32(entry.score))  # as precise as in the table
    return EventTail(entry.text, statement(entry.text, entry.relation), entry.source, entry.rank, score)
