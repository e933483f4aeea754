"""The embedded graph: the protocol over one LadybugDB file, opened read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...cypher import Dialect, Query, query
from ..columns import record_batches
from ..cypher_store import SCAN_ROWS, Store, refuse_closed
from ..errors import GraphNotFound
from ..model import Assertion, LoadCounts, LoadEntry, QueryResult
from . import engine as schema
from . import integrity, load
from .engine import Engine

if TYPE_CHECKING:
    import pyarrow as pa

_FEW = 100
"""Most concepts for which the query ``expand_few`` is faster than ``expand``."""
_SOURCES = 64
"""Sources of one query for distances."""


def open_embedded(path: Path, *, create: bool = False) -> EmbeddedGraph:
    """Open the graph in the folder ``path``.

    With ``create``, an empty graph is created where there is none. It is removed again when its ``with`` block ends with an
    exception before anything was loaded.

    Raises:
        GraphNotFound: there is no graph.
        GraphBusy: it has to be created, and another process is creating it.
        GraphError: the file cannot be opened.
    """
    if path.exists() and not path.is_dir():
        raise GraphNotFound(f"{path} is a file, and a graph is a folder; give the path of a folder")
    if not (path / load.DATABASE).exists():
        if not create:
            inner = next((found.parent for found in sorted(path.glob(f"*/{load.DATABASE}"))), None)
            advice = f"did you mean {inner}?" if inner else f"make one with: tacit load conceptnet FILE --into {path}"
            raise GraphNotFound(f"there is no graph at {path}; {advice}")
        return EmbeddedGraph(path, load.create(path))
    return EmbeddedGraph(path)


class EmbeddedGraph(Store):
    """A graph in a folder: ``graph.lbug`` (the database) and the index built from it."""

    dialect: ClassVar[Dialect] = "embedded"

    def __init__(self, path: Path, made: tuple[Path, ...] | None = None) -> None:
        """Open the graph; ``made`` are the folders that were created for it, None when it existed before."""
        self.path = path
        self._made = made
        self._engine: Engine | None = self._opened()

    def _opened(self) -> Engine:
        if not integrity.verify(self.path / load.DATABASE):
            integrity.probe(self.path / load.DATABASE)
        return Engine(self.path / load.DATABASE)

    def __exit__(self, *exc: object) -> None:
        self.close()
        if any(exc) and self._made is not None:
            load.discard(self.path, self._made)

    @property
    def url(self) -> str:
        return str(self.path)

    def _rows(self, query: Query, parameters: Mapping[str, Any]) -> list[Sequence[Any]]:
        return self._open().rows(query, parameters)

    def _open(self) -> Engine:
        refuse_closed(self._engine is None, self.url)
        assert self._engine is not None
        return self._engine

    def _expand(self, uris: list[str], relations: list[str]) -> Iterable[Sequence[Any]]:
        if len(uris) > _FEW:
            return super()._expand(uris, relations)
        return self._ask("expand_few", uris=uris, relations=relations) if uris else []

    def _distances(self, sources: list[str], targets: list[str], max_hops: int) -> Iterable[Sequence[Any]]:
        distances = query("hop_distances", "embedded").within(max_hops)
        if len(targets) < len(sources):
            sources, targets = targets, sources
        for start in range(0, len(sources), _SOURCES):
            yield from self._rows(distances, {"sources": sources[start : start + _SOURCES], "targets": targets})

    def scan(self, batch_size: int = SCAN_ROWS) -> Iterator[pa.RecordBatch]:
        """Stream every assertion in batches; the window of head nodes of a query is adapted to ``batch_size``."""
        engine = self._open()
        numbers = schema.node_table_numbers(engine)
        for label in ("Concept", "Event"):
            scan = query("scan", "embedded").naming(LABEL=label)
            ((nodes,),) = self._ask(f"count_{label.lower()}s")
            first, window = 0, 4096
            while first < nodes:
                last = first + window
                table = engine.table(scan, {"label": numbers[label], "start": first, "stop": last})
                yield from record_batches(table, batch_size)
                first = last
                if table.num_rows < batch_size // 2:
                    window *= 2
                elif table.num_rows > batch_size:
                    window = max(window // 2, 256)

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        from ..query import run_embedded

        refuse_closed(self._engine is None, self.url)
        return run_embedded(self.path, cypher, parameters, limit=limit, timeout=timeout, at_once=self._queries_at_once)

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Callable[[int], None] | None = None,
        name: str = "",
    ) -> LoadCounts:
        refuse_closed(self._engine is None, self.url)
        counts = load.load(self.path, rows, entry, progress, name)
        self._open().close()
        self._engine = self._opened()
        return counts

    def unfinished(self) -> list[str]:
        name = load.killed_load(self.path)
        return [] if name is None else [name]

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
