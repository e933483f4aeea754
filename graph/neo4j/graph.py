"""The Neo4j graph: the protocol over one database of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ...cypher import Dialect, Query, query
from ..cypher_store import SCAN_ROWS, Store, assertion_of, refuse_closed
from ..links import Link, LinkCounts, LinkEntry
from ..model import Assertion, LoadCounts, LoadEntry, QueryResult
from ..names import LABELS
from ..protocol import Pingable
from . import links as neo4j_links
from . import load
from .connection import Server

if TYPE_CHECKING:
    import pyarrow as pa

_PAIRS = 1_000
"""Pairs of concepts in one query for distances."""
_SETS = 50
"""Sets of sources and targets in one query for counts."""


class Neo4jGraph(Store, Pingable):
    """A graph in one database of a Neo4j server."""

    dialect: ClassVar[Dialect] = "neo4j"

    def __init__(self, address: str, user: str | None, password: str | None, database: str | None) -> None:
        """Connect to a server; see :class:`tacit.graph.neo4j.connection.Server` for the arguments and errors."""
        self._server = Server(address, user, password, database)
        self._closed = False

    @property
    def url(self) -> str:
        return self._server.url

    def _rows(self, query: Query, parameters: Mapping[str, Any]) -> list[Sequence[Any]]:
        return self._open().rows(query, parameters)

    def _open(self) -> Server:
        refuse_closed(self._closed, self.url)
        return self._server

    def _distances(self, sources: list[str], targets: list[str], max_hops: int) -> Iterable[Sequence[Any]]:
        distance_query = query("hop_distances", "neo4j").within(max_hops)
        pairs = sorted({(min(pair), max(pair)) for pair in product(sources, targets) if pair[0] != pair[1]})
        for start in range(0, len(pairs), _PAIRS):
            yield from self._rows(distance_query, {"pairs": [list(pair) for pair in pairs[start : start + _PAIRS]]})

    def _counts(self, sets: Mapping[int, tuple[list[str], list[str]]], hops: Literal[1, 2]) -> Iterable[Sequence[int]]:
        count_query = query("count_one_hop", "neo4j") if hops == 1 else query("count_two_hops", "neo4j")
        rows = [{"number": number, "sources": sources, "targets": targets} for number, (sources, targets) in sets.items()]
        for start in range(0, len(rows), _SETS):
            yield from self._rows(count_query, {"sets": rows[start : start + _SETS]})

    def scan(self, batch_size: int = SCAN_ROWS) -> Iterator[pa.RecordBatch]:
        """Stream every assertion in batches, with one query per label; a lost connection ends the stream with an error."""
        from ..columns import record_batch

        server = self._open()
        for label in LABELS:
            for rows in server.stream(query("scan", "neo4j").naming(LABEL=label), batch_size):
                yield record_batch(map(assertion_of, rows))

    def events(self) -> Iterator[str]:
        for rows in self._open().stream(query("scan_nodes").naming(LABEL="Event"), SCAN_ROWS):
            yield from (uri for (uri,) in rows)

    def _scan_links(self) -> Iterator[Link]:
        return neo4j_links.scan(self._open())

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        from ..query import run_neo4j

        server = self._open()
        return run_neo4j(
            server.driver, server.database, cypher, parameters,
            limit=limit, timeout=timeout, bookmarks=server.bookmarks, max_concurrent=self._max_concurrent,
        )  # fmt: skip

    def ping(self, timeout: float) -> None:
        from ..query import run_neo4j

        server = self._open()
        run_neo4j(server.driver, server.database, "RETURN 1 AS one", limit=1, timeout=timeout, counted=False)

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Callable[[int], None] | None = None,
        name: str = "",
    ) -> LoadCounts:
        return load.load(self._open(), rows, entry, progress, name)

    def replace_links(self, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
        return neo4j_links.replace_links(self._open(), links, entry)

    def unfinished(self) -> list[str]:
        return [name for (name,) in self._ask("unfinished_loads")]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._server.close()
