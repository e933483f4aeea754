"""The embedded graph: the protocol over one LadybugDB file, opened read-only at the first query that needs the engine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal

from ...cypher import Dialect, Query, query
from ..cypher_store import SCAN_ROWS, Store, refuse_closed
from ..errors import GraphError, GraphNotFound
from ..links import Link, LinkCounts, LinkEntry
from ..loading import from_row
from ..model import Assertion, LoadCounts, LoadEntry, Manifest, QueryResult
from . import integrity

if TYPE_CHECKING:
    import pyarrow as pa

    from .engine import Engine

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
    if not (path / integrity.DATABASE).exists():
        if not create:
            subfolder = next((database.parent for database in sorted(path.glob(f"*/{integrity.DATABASE}"))), None)
            advice = f"did you mean {subfolder}?" if subfolder else f"make one with: tacit load conceptnet FILE --into {path}"
            raise GraphNotFound(f"there is no graph at {path}; {advice}")
        from . import load

        return EmbeddedGraph(path, load.create(path))
    return EmbeddedGraph(path)


class EmbeddedGraph(Store):
    """A graph in a folder: ``graph.lbug`` (the database) and the index built from it.

    Opening verifies the database's checksums; the engine is imported and opened with the first query that needs it, on the file
    as it was when the graph was opened, even if another process has replaced it since.
    """

    dialect: ClassVar[Dialect] = "embedded"

    def __init__(self, path: Path, created: tuple[Path, ...] | None = None) -> None:
        """Open the graph; ``created`` are the folders that were created for it, None when it existed before."""
        self.path = path
        self._created = created
        self._closed = False
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._file: IO[bytes] | None = None  # the database, until the engine opens it
        self._manifest: Manifest | None = None  # as of when the database was opened; None: ask the engine
        self._verify()

    def _verify(self) -> None:
        """Verify the database and read its manifest; open the engine where an older version wrote the checksums without one."""
        database = self.path / integrity.DATABASE
        while True:
            self._close_file()
            self._file = database.open("rb")
            record = integrity.verify(database)
            self._stat = os.fstat(self._file.fileno())
            if os.path.samestat(self._stat, database.stat()):  # else it was replaced meanwhile
                break
        if record is not None and "manifest" in record:
            self._manifest = from_row(list(map(record["manifest"].get, ("loads", "assertions", "checksum"))))
            return
        if record is None:
            integrity.probe(database)
        self._manifest = None
        self._open()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> Engine:
        """Return the engine, opened at the first call.

        Raises:
            GraphError: it cannot be opened, or another process has replaced the file and this system cannot open the old one.
        """
        refuse_closed(self._closed, self.url)
        with self._lock:
            if self._engine is None:
                from .engine import Engine

                self._engine = Engine(self._opened_path(), display_path=self.path / integrity.DATABASE)
                self._close_file()
            return self._engine

    def _opened_path(self) -> Path:
        """Return a path to the database as it was when the graph was opened."""
        assert self._file is not None
        database, descriptor = self.path / integrity.DATABASE, self._file.fileno()
        if database.exists() and os.path.samestat(os.fstat(descriptor), database.stat()):
            return database
        open_file = Path(f"/proc/self/fd/{descriptor}")
        if not open_file.exists():
            raise GraphError(f"{self.path} was changed by another process; open it again")
        return open_file

    def manifest(self) -> Manifest:
        refuse_closed(self._closed, self.url)
        return self._manifest if self._manifest is not None and self._engine is None else super().manifest()

    def __exit__(self, *exc: object) -> None:
        self.close()
        if any(exc) and self._created is not None:
            from . import load

            load.discard(self.path, self._created)

    @property
    def url(self) -> str:
        return str(self.path)

    def _rows(self, query: Query, parameters: Mapping[str, Any]) -> list[Sequence[Any]]:
        return self._open().rows(query, parameters)

    def _expand(self, uris: list[str], relations: list[str]) -> Iterable[Sequence[Any]]:
        if len(uris) > _FEW:
            return super()._expand(uris, relations)
        return self._ask("expand_few", uris=uris, relations=relations) if uris else []

    def _distances(self, sources: list[str], targets: list[str], max_hops: int) -> Iterable[Sequence[Any]]:
        distance_query = query("hop_distances", "embedded").within(max_hops)
        if len(targets) < len(sources):
            sources, targets = targets, sources
        for start in range(0, len(sources), _SOURCES):
            yield from self._rows(distance_query, {"sources": sources[start : start + _SOURCES], "targets": targets})

    def _counts(self, sets: Mapping[int, tuple[list[str], list[str]]], hops: Literal[1, 2]) -> Iterable[Sequence[int]]:
        # One set a query: the engine joins many sets by a scan of all relations, which takes more memory than it has.
        count_query = query("count_one_hop", "embedded") if hops == 1 else query("count_two_hops", "embedded")
        for number, (sources, targets) in sets.items():
            for row in self._rows(count_query, {"sources": sources, "targets": targets}):
                yield number, *row

    def scan(self, batch_size: int = SCAN_ROWS) -> Iterator[pa.RecordBatch]:
        """Stream every assertion in batches; the window of head nodes of a query is adapted to ``batch_size``."""
        from .engine import scan

        yield from scan(self._open(), batch_size)

    def numbered(self) -> Iterator[tuple[str, pa.Table]]:
        from .numbers import numbered

        refuse_closed(self._closed, self.url)
        self._reopen()
        yield from numbered(self._opened_path(), self.path / integrity.DATABASE)

    def events(self) -> Iterator[str]:
        uris = self._open().table(query("scan_nodes").naming(LABEL="Event"))
        for batch in uris.to_batches(max_chunksize=SCAN_ROWS):
            yield from batch.column(0).to_pylist()

    def _scan_links(self) -> Iterator[Link]:
        from .engine import windows

        engine = self._open()
        for table in windows(engine, query("scan_mentions", "embedded"), "Event", SCAN_ROWS):
            columns = (table.column(name).to_pylist() for name in ("head", "tail", "role", "position"))
            for head, tail, role, position in zip(*columns, strict=True):
                yield Link(head, "Mentions", tail, role, position)
        for table in windows(engine, query("scan_same_events", "embedded"), "Event", SCAN_ROWS):
            for head, tail in zip(*(table.column(name).to_pylist() for name in ("head", "tail")), strict=True):
                yield Link(head, "SameEvent", tail)

    def run(
        self, cypher: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 30.0
    ) -> QueryResult:
        from ..query import run_embedded

        refuse_closed(self._closed, self.url)
        self._refuse_replaced()
        result = run_embedded(self.path, cypher, parameters, limit=limit, timeout=timeout, max_concurrent=self._max_concurrent)
        self._refuse_replaced()  # during the query: its worker opens the current file
        return result

    def _refuse_replaced(self) -> None:
        """Raise :class:`GraphError` when the database is not the one that was opened, from which all other methods read."""
        database = self.path / integrity.DATABASE
        if database.exists() and not os.path.samestat(self._stat, database.stat()):
            raise GraphError(f"{self.path} was loaded again since it was opened; open it again")

    def load(
        self,
        rows: Iterable[Assertion],
        entry: Callable[[], LoadEntry] | None = None,
        progress: Callable[[int], None] | None = None,
        name: str = "",
    ) -> LoadCounts:
        refuse_closed(self._closed, self.url)
        from . import load

        counts = load.load(self.path, rows, entry, progress, name)
        self._reopen()
        return counts

    def replace_links(self, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
        refuse_closed(self._closed, self.url)
        from . import links as embedded_links

        counts = embedded_links.replace_links(self.path, links, entry)
        self._reopen()
        return counts

    def _reopen(self) -> None:
        """Use the database file that replaced the one that was opened."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
            self._engine = None
        self._verify()

    def unfinished(self) -> list[str]:
        from .database_file import killed_load

        name = killed_load(self.path)
        return [] if name is None else [name]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._close_file()
            if self._engine is not None:
                self._engine.close()
                self._engine = None
