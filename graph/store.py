"""What a database needs to answer the protocol: the answers put together from the rows of Cypher queries.

:class:`Store` asks the queries of :mod:`tacit.cypher` through one method, ``_rows``, that each engine gives it. Engines differ in
how they find shortest paths, stream everything and write; all else is here once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..cypher import Dialect, Query, query
from . import answers
from .connections import Connections, assertion_of
from .errors import InputError
from .ledger import from_row
from .model import Assertion, GraphCounts, Manifest, Neighbour, QueryResult
from .names import check_relation, event_uri, normalise_event
from .protocol import MAX_HOPS

if TYPE_CHECKING:
    import pyarrow as pa

SCAN_ROWS = 100_000


class Store(Connections):
    """A graph in a database that speaks Cypher; a context manager that closes itself."""

    dialect: ClassVar[Dialect]
    _queries_at_once: int | None = None

    # --- what an engine gives

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the graph is, without a password."""

    @abstractmethod
    def _rows(self, asked: Query, parameters: Mapping[str, Any]) -> list[Sequence[Any]]:
        """Return all rows of a query that reads."""

    @abstractmethod
    def _distances(self, sources: list[str], targets: list[str], max_hops: int) -> Iterable[Sequence[Any]]:
        """Return ``(source, target, hops)`` rows of the pairs within ``max_hops``, a pair in either order or both."""

    @abstractmethod
    def scan(self, batch_size: int = SCAN_ROWS) -> Iterator[pa.RecordBatch]:
        """See :meth:`tacit.graph.protocol.StreamsRecords.scan`."""

    @abstractmethod
    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        """Run one read-only Cypher query, as :meth:`tacit.graph.protocol.KnowledgeGraph.run`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; closing twice is harmless."""

    def limit_queries(self, at_once: int) -> None:
        """See :meth:`tacit.graph.protocol.LimitsQueries.limit_queries`."""
        if at_once < 1:
            raise InputError(f"at_once = {at_once} is not possible; it must be >= 1")
        self._queries_at_once = at_once

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _ask(self, name: str, /, **parameters: Any) -> list[Sequence[Any]]:
        return self._rows(query(name, self.dialect), parameters)

    # --- the protocol

    def manifest(self) -> Manifest:
        """Return what was loaded."""
        rows = self._ask("manifest")
        return from_row(rows[0]) if rows else Manifest()

    def counts(self) -> GraphCounts:
        """Return the numbers of concepts, events, assertions, and assertions by relation."""
        relations = {str(name): int(number) for name, number in self._ask("count_relations")}
        ordered = dict(sorted(relations.items(), key=lambda item: (-item[1], item[0])))
        concepts, events = self._ask("count_concepts")[0][0], self._ask("count_events")[0][0]
        return GraphCounts(int(concepts), int(events), sum(ordered.values()), ordered)

    def resolve(self, texts: Sequence[str], language: str = "en") -> list[str | None]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.resolve`."""
        return answers.resolve(texts, language, self._known)

    def _uris(self, texts: Sequence[str], language: str) -> list[str]:
        return answers.concept_uris(texts, language, self._known, lambda unknown: answers.refuse_unknown(unknown, self.url))

    def _known(self, uris: Collection[str]) -> set[str]:
        return {str(uri) for (uri,) in self._ask("known", uris=sorted(set(uris)))} if uris else set()

    def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.neighbours`."""
        answers.check_hops(hop)
        answers.check_limit(limit)
        names = answers.check_relations(relations)
        (concept,) = self._uris([concept], language)
        if names == []:
            return []
        seen, level = {concept}, {concept: float("inf")}
        for _ in range(hop):
            reached: dict[str, float] = {}
            for near, far, weight in self._expand(sorted(level), names or []):
                if far not in seen:
                    reached[far] = max(reached.get(far, 0.0), min(level[near], weight))
            seen.update(reached)
            level = reached
        ranked = sorted(level.items(), key=lambda item: (-item[1], item[0]))
        return [Neighbour(uri, hop, weight) for uri, weight in ranked[:limit]]

    def _expand(self, uris: list[str], relations: list[str]) -> Iterable[Sequence[Any]]:
        """Return ``(concept, neighbour, strongest weight)`` rows."""
        return self._ask("expand", uris=uris, relations=relations) if uris else []

    def hop_distances(
        self, sources: Sequence[str], targets: Sequence[str], max_hops: int = MAX_HOPS, *, language: str = "en"
    ) -> NDArray[np.int8]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.hop_distances`."""
        answers.check_hops(max_hops, least=0)
        sources, targets = self._uris(sources, language), self._uris(targets, language)
        known = self._known({*sources, *targets})
        ones, others = sorted(known.intersection(sources)), sorted(known.intersection(targets))
        found = {(uri, uri): 0 for uri in known}
        if max_hops and ones and others and (ones != others or len(ones) > 1):
            for source, target, hops in self._distances(ones, others, max_hops):
                found[source, target] = found[target, source] = int(hops)
        table = [found.get((source, target), -1) for source in sources for target in targets]
        return np.array(table, dtype=np.int8).reshape(len(sources), len(targets))

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.tails`."""
        answers.check_limit(limit)
        uri = head if head.startswith("/e/") else event_uri(head)
        rows = self._ask("tails", head=uri, relation="" if relation is None else check_relation(relation))
        return sorted(map(assertion_of, rows), key=lambda row: (-row.weight, row.tail, row.relation, *row.order))[:limit]

    def heads(self, text: str, limit: int = 10) -> list[str]:
        """See :meth:`tacit.graph.protocol.KnowledgeGraph.heads`."""
        answers.check_limit(limit)
        wanted = normalise_event(text).lower()
        rows = self._ask("heads", text=wanted)
        ranked = sorted((held.lower() != wanted, len(held), uri) for uri, held in rows)
        return [uri for _, _, uri in ranked[:limit]]

    def assertions(self) -> Iterator[Assertion]:
        """Stream every assertion, in no particular order."""
        for batch in self.scan():
            yield from map(Assertion._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def refuse_closed(closed: bool, url: str) -> None:
    """Raise :class:`InputError` when ``closed``: a graph was asked after its ``with`` block."""
    if closed:
        raise InputError(f"{url} is closed; open it again")
