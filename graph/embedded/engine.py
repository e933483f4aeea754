"""Access to LadybugDB: opening a database file, running queries, the tables of a graph, and the engine's errors."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import ladybug
import pyarrow as pa

from ...cypher import Query, query
from ..columns import record_batches
from ..errors import GraphError, GraphUnavailable
from ..links import RESERVED_NAMES
from ..names import LABELS, Label, check_relation
from ..relations import RELATIONS

READ_MEMORY = 640 << 20
"""Bytes of the buffer pool of a graph that is open for reading."""
LOAD_MEMORY = 384 << 20
"""Bytes of the buffer pool during a load."""
SCAN_MEMORY = 256 << 20
"""Bytes of the buffer pool of an engine that reads the whole graph."""
APPENDED = 1_500_000
"""Most nodes of a label with which assertions are appended to a table that has some, for which 190 MB of memory are needed."""

_THREADS = 2
_LEAST_WINDOW = 256
"""Fewest nodes of a window."""
_NODES_PER_ROW = 4
"""Most nodes of a window for each row of its table."""


class OutOfMemory(GraphError):
    """A query needs more memory than the engine may use."""


class Engine:
    """An open database file; thread-safe, with one query at a time."""

    def __init__(
        self, file: Path, *, writable: bool = False, memory: int = READ_MEMORY, display_path: Path | None = None
    ) -> None:
        """Open ``file``, and create it when ``writable``, with a buffer pool of ``memory`` bytes.

        Changes go into the file at :meth:`checkpoint` and when it is closed, not after each query: a checkpoint after every
        ``COPY`` takes ten times as long as the ``COPY`` of a few rows itself. Errors name ``display_path`` in place of ``file``,
        where that is a temporary or replaced one.
        """
        self.file = file
        self.display_path = display_path or file
        self._lock = threading.Lock()
        self._writable = writable
        self._open(memory)

    def _open(self, memory: int) -> None:
        try:
            self._database = ladybug.Database(
                str(self.file),
                buffer_pool_size=memory,
                max_num_threads=_THREADS,
                read_only=not self._writable,
                auto_checkpoint=False,
            )
            self._connection = ladybug.Connection(self._database)
        except RuntimeError as error:
            raise GraphError(
                f"{self.display_path} cannot be opened as a graph ({self._reason(error)}); load it again with `tacit load`"
            ) from error

    def rows(self, query: Query, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        """Return all rows of a query."""
        with self._lock, closing(self._execute(query, parameters)) as result:
            rows: list[Any] = result.get_all()
            return rows

    def table(self, query: Query, parameters: Mapping[str, Any] | None = None) -> Any:
        """Return all rows of a query as a :class:`pyarrow.Table`."""
        with self._lock, closing(self._execute(query, parameters)) as result:
            return result.get_as_arrow()

    def append(self, query: Query, file: Path) -> None:
        """Run a query that copies the rows of a Parquet file into a table.

        The engine gets an open file, because it would take some characters of a path as a pattern. It uses one thread, because
        two that insert nodes may each wait for a lock of the other for ever (LadybugDB 0.22).
        """
        with self._lock, file.open("rb") as parquet, ladybug.Connection(self._database, num_threads=1) as connection:
            self._execute(query.reading(parquet.fileno()), None, connection).close()

    def command(self, text: str) -> None:
        """Run one of the engine's own commands, such as ``BEGIN TRANSACTION``."""
        with self._lock:
            self._execute(Query(text, text, "", ()), None).close()

    def checkpoint(self) -> None:
        """Write all changes into the file, and free their memory."""
        self.command("CHECKPOINT")

    def _execute(
        self, query: Query, parameters: Mapping[str, Any] | None, connection: ladybug.Connection | None = None
    ) -> ladybug.QueryResult:
        try:
            result = (connection or self._connection).execute(query.text, dict(parameters or {}))
        except RuntimeError as error:
            if self._database.is_closed:
                raise GraphUnavailable(f"{self.display_path.parent} was closed during a query; open it again") from error
            kind = OutOfMemory if "Buffer manager exception" in str(error) else GraphError
            raise kind(f"the query {query.name} failed in {self.display_path} ({self._reason(error)})") from error
        assert isinstance(result, ladybug.QueryResult)
        return result

    def _reason(self, error: Exception) -> str:
        """Return the engine's message, with the path to show in place of a temporary one."""
        return str(error).strip().split("\n", 1)[0].replace(str(self.file), str(self.display_path))

    def reopen(self, memory: int) -> None:
        """Close and open the file with ``memory`` bytes of buffer pool, and return the memory that was freed to the system."""
        self.close()
        release_memory()
        with self._lock:
            self._open(memory)

    def close(self) -> None:
        """Write pending changes and close the file."""
        with self._lock:
            self._connection.close()
            self._database.close()


def release_memory() -> None:
    """Return freed memory to the system, which the C library (glibc) keeps otherwise."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def create(engine: Engine) -> None:
    """Create the tables of an empty graph: nodes, the manifest, and one for each relation of the official datasets.

    Empty tables cost nothing, and a query about a relation without assertions gives no rows instead of an error.
    """
    engine.command("BEGIN TRANSACTION")
    for name in ("create_concepts", "create_events", "create_manifest", "create_type"):
        engine.rows(query(name, "embedded"))
    for table in {key_of(name): table_of(name) for name in reversed(list(RELATIONS))}.values():
        engine.rows(query("create_relation", "embedded").naming(RELATION=table))
    create_links(engine)
    engine.command("COMMIT")


def create_links(engine: Engine) -> None:
    """Create the tables of links."""
    engine.rows(query("create_mentions", "embedded"))
    engine.rows(query("create_same_event", "embedded"))


def relation_tables(engine: Engine) -> dict[str, str]:
    """Return the names of the relation tables, by :func:`key_of`."""
    return {name.lower(): name for _, name, kind in engine.rows(query("tables", "embedded")) if kind == "REL"}


def node_table_numbers(engine: Engine) -> dict[str, int]:
    """Return the engine's number of each node table."""
    return {name: number for number, name, kind in engine.rows(query("tables", "embedded")) if kind == "NODE"}


def number_of_nodes(engine: Engine, label: Label) -> int:
    """Return the number of nodes of a label."""
    return int(engine.rows(query(f"count_{label.lower()}s"))[0][0])


def is_large(engine: Engine, label: Label) -> bool:
    """Return whether there are so many nodes of a label that a relation's assertions are in several tables."""
    return number_of_nodes(engine, label) > APPENDED


def windows(engine: Engine, scan: Query, label: Label, size: int, on_full: Callable[[], None] | None = None) -> Iterator[Any]:
    """Yield the rows of a query for one window of a label's nodes after the other, as tables of about ``size`` rows.

    When the buffer pool is full, ``on_full`` is called and a smaller window read; without it the error is raised.
    """
    table_number = node_table_numbers(engine)[label]
    node_count = number_of_nodes(engine, label)
    first, window = 0, 4096
    while first < node_count:
        last = first + window
        try:
            table = engine.table(scan, {"label": table_number, "start": first, "stop": last})
        except OutOfMemory:
            if on_full is None or window <= _LEAST_WINDOW:
                raise
            on_full()
            window //= 2
            continue
        yield table
        first = last
        if table.num_rows < size // 2:
            window = min(window * (2 if table.num_rows > size // 8 else 4), _NODES_PER_ROW * size)  # many rows may follow none
        elif table.num_rows > size:
            window = max(window // 2, _LEAST_WINDOW)


def scan(engine: Engine, batch_size: int) -> Iterator[pa.RecordBatch]:
    """Yield every assertion, in batches of at most ``batch_size``; the window of a query is adapted to it."""
    for label in LABELS:
        for table in windows(engine, query("scan", "embedded").naming(LABEL=label), label, batch_size):
            yield from record_batches(table, batch_size)


def table_of(relation: str) -> str:
    """Return the name of a relation's table, unless there already is one with the same :func:`key_of`.

    A relation with the name of a node table or of a link gets a longer one; the ``relation`` property of each row has the exact
    name.
    """
    return f"{check_relation(relation)}_relation" if relation.lower() in RESERVED_NAMES else relation


def parts_of(table: str) -> Iterator[str]:
    """Yield, without end, the names of the tables of a relation: ``table``, then its parts ``_2_table``, ``_3_table``, ..."""
    yield table
    for number in count(2):
        yield f"_{number}_{table}"


def key_of(relation: str) -> str:
    """Return the key that all relations of one table share: the engine ignores case in table names."""
    return table_of(relation).lower()
