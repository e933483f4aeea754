"""Loading into an embedded graph, atomically: a load that fails or is killed leaves the graph unchanged.

New rows are first written to a spool of Arrow files, one per table, because the engine copies a whole table many times faster
than pieces of it. Then they go, as Parquet files that the engine reads, into a copy of the database file, which replaces the file
by one rename. A small graph of which many tables would be appended to is written anew, in half the time. Only one process
loads at a time; readers keep the file that they opened. Temporary files are removed when a load ends; a killed process leaves
them, so that :func:`killed_load` can detect it, and the next load removes them.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...cypher import Query, query
from ..atomic import flush, lock
from ..columns import assertions
from ..errors import GraphBusy, GraphError
from ..loading import Known, Numbered, from_row, new_assertions, properties, rare_cycle_search, with_assertions, with_entry
from ..model import Assertion, LoadCounts, LoadEntry, Manifest
from ..names import LABELS, Label, label_of, language_of, text_of
from . import engine as schema
from . import integrity
from .engine import LOAD_MEMORY, Engine, OutOfMemory, key_of, release_memory, table_of
from .integrity import DATABASE as DATABASE

_LOCK = "graph.lock"
DRAFT = f"{DATABASE}{integrity.DRAFT}"
_BATCH = 20_000
"""Rows that are read at a time."""
_DOUBLINGS = 2
"""How often a copy that runs out of memory is repeated with twice as much."""
_FEW = 10_000
"""Most rows that are copied without a checkpoint before them."""
_FEW_BYTES = 16 << 20
"""Most bytes that are copied without a checkpoint before them."""
COPY = 250_000
"""Rows that are copied at a time; more are not faster and take more memory."""
PART = 750_000
"""Most assertions that are copied at a time into an empty table; the engine keeps all of them in memory, in its pool."""
_DISK_FULL = "No space left on device"
REWRITTEN = 20_000
"""Most assertions of a graph that is written anew when many of its tables would be appended to."""
_FEW_TABLES = 4
"""Most tables that are appended to; each takes a third of a second, and a small graph is written in one."""
_NO_SPACE = 1 << 20
"""Bytes; a failure with less free space than this is reported as a full disk."""

_REPEATING = pa.dictionary(pa.int32(), pa.string())  # texts that are stored once per batch

EDGES = pa.schema(
    [
        ("from", pa.string()),
        ("to", pa.string()),
        ("relation", _REPEATING),
        ("weight", pa.float64()),
        *((name, _REPEATING) for name in ("source", "dataset", "license", "contributors", "head_sense", "tail_sense")),
        ("rank", pa.int64()),
        ("score", pa.float64()),
        ("id", pa.int64()),
    ]
)
NODES = {
    "Concept": pa.schema([("uri", pa.string()), ("text", pa.string()), ("language", _REPEATING)]),
    "Event": pa.schema([("uri", pa.string()), ("text", pa.string())]),
}

Key = tuple[str, Label]


def create(folder: Path) -> tuple[Path, ...]:
    """Create an empty graph in ``folder`` unless there is one, and return the folders that had to be created, innermost first."""
    created = tuple(parent for parent in (folder, *folder.parents) if not parent.exists())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GraphError(f"{folder} cannot be created ({error.strerror}); give a writable folder") from error
    try:
        with exclusive(folder), writing(folder):
            if not (folder / DATABASE).exists():
                with closing(Engine(folder / DRAFT, writable=True, memory=LOAD_MEMORY, display_path=folder)) as engine:
                    schema.create(engine)
                    engine.rows(query("write_manifest"), properties(Manifest()))
                replace_database(folder, Manifest())
    except BaseException:
        discard(folder, created)
        raise
    return created


def discard(folder: Path, created: Iterable[Path] = ()) -> None:
    """Remove the graph in ``folder`` if nothing was ever loaded into it, and then those folders of ``created`` that are empty."""
    try:
        with exclusive(folder):
            if (folder / DATABASE).exists():
                with closing(Engine(folder / DATABASE, memory=LOAD_MEMORY)) as engine:
                    empty = from_row(engine.rows(query("manifest"))[0]) == Manifest()
                if not empty:
                    return
                (folder / DATABASE).unlink()
                Path(f"{folder / DATABASE}{integrity.SUMS}").unlink(missing_ok=True)
            (folder / _LOCK).unlink()
        for parent in created:
            parent.rmdir()
    except (GraphError, OSError):  # another process uses it
        return


def killed_load(folder: Path) -> str | None:
    """Return the name of a load into ``folder`` that was killed: there are temporary files, and no process holds the lock."""
    if next(folder.glob(f"{DRAFT}*"), None) is None:
        return None
    name = ""
    try:
        with os.fdopen(lock(folder / _LOCK, flags=os.O_RDONLY, shared=True), "rb") as file:
            name = file.read().decode(errors="replace")
    except BlockingIOError:
        return None
    except OSError:
        pass
    return name or "a load"


@rare_cycle_search()
def load(
    folder: Path,
    rows: Iterable[Assertion],
    entry: Callable[[], LoadEntry] | None = None,
    progress: Callable[[int], None] | None = None,
    name: str = "",
) -> LoadCounts:
    """Add ``rows`` to the graph in ``folder``, atomically; see :meth:`tacit.graph.protocol.WritableGraph.load`.

    Raises:
        GraphBusy: another process is writing there.
        GraphError: the engine failed; the graph is unchanged.
        InputError: a row is not a valid assertion.
    """
    with exclusive(folder, name):
        integrity.verify(folder / DATABASE, whole=True)
        with closing(Engine(folder / DATABASE, memory=LOAD_MEMORY)) as engine:
            old_manifest = from_row(engine.rows(query("manifest"))[0])
            known, known_nodes = _known_content(engine)
        with Spool(folder / f"{DRAFT}.spool", folder) as spool:
            manifest, duplicates = _spool_new(new_assertions(rows, known, _BATCH, progress), spool, known_nodes, old_manifest)
            rewritten = (
                0 < old_manifest.assertions <= REWRITTEN and len(spool.tables()) > _FEW_TABLES and _spool_stored(folder, spool)
            )
        new = manifest.assertions - old_manifest.assertions
        if entry:
            manifest = with_entry(manifest, entry())
        if manifest != old_manifest:
            del known, known_nodes
            release_memory()
            with writing(folder):
                _write(folder, spool, manifest, rewritten)
    return LoadCounts(new, duplicates)


def _known_content(engine: Engine) -> tuple[Known, Known]:
    """Return the identities of the graph's assertions and the hashes of its nodes."""
    known_assertions, known_nodes = Known(), Known()
    for label in LABELS:
        for table in schema.windows(engine, query("scan_identities", "embedded").naming(LABEL=label), label, COPY):
            known_assertions.add(table.column(0).to_numpy())
        for table in schema.windows(engine, query("scan_uris", "embedded").naming(LABEL=label), label, COPY):
            known_nodes.add(_hashes(table.column(0).to_pylist()))
    return known_assertions, known_nodes


def _hashes(uris: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return Python's hashes, which never leave the process; a collision would make the load fail, not lose a node."""
    return np.fromiter(map(hash, uris), dtype=np.int64)


def _spool_new(batches: Iterable[Numbered], spool: Spool, known_nodes: Known, manifest: Manifest) -> tuple[Manifest, int]:
    """Write new rows and their new nodes to the spool; return the updated manifest and the number of duplicate rows."""
    duplicates = 0
    for batch in batches:
        manifest = with_assertions(manifest, batch.contents)
        duplicates += batch.duplicates
        uris = list(dict.fromkeys(uri for row in batch.rows for uri in (row.head, row.tail)))
        new_nodes = [uris[index] for index in np.flatnonzero(known_nodes.take(_hashes(uris))).tolist()]
        spool.add_nodes("Event", [uri for uri in new_nodes if label_of(uri) == "Event"])
        spool.add_nodes("Concept", [uri for uri in new_nodes if label_of(uri) == "Concept"])
        if batch.rows:
            spool.add_assertions(batch)
    return manifest, duplicates


def _spool_stored(folder: Path, spool: Spool) -> bool:
    """Add the graph's own rows to the spool if many tables would be appended to and it has no links; return whether they were."""
    with closing(Engine(folder / DATABASE, memory=LOAD_MEMORY)) as engine:
        tables = schema.relation_tables(engine)
        has_rows = query("any_assertion", "embedded")
        appended = [
            key
            for key, label in spool.tables()
            if key in tables and engine.rows(has_rows.naming(RELATION=tables[key], LABEL=label))
        ]
        if len(appended) <= _FEW_TABLES or engine.rows(query("link_manifest")):
            return False
        stored = chain.from_iterable(map(assertions, schema.scan(engine, COPY)))
        _spool_new(new_assertions(stored, Known(), _BATCH), spool, Known(), Manifest())
        return True


def _write(folder: Path, spool: Spool, manifest: Manifest, rewritten: bool) -> None:
    """Copy the spool into a copy of the database, or into an empty one, and replace the database with it."""
    draft = _Draft(folder, empty=rewritten)
    try:
        for label, part in spool.nodes(COPY):
            draft.copy(query("copy_nodes", "embedded").naming(LABEL=label), part)
        for name, label, part in spool.assertions(draft.rows_of_a_copy):
            table = draft.table(name, label)
            draft.copy(query("copy_assertions", "embedded").naming(RELATION=table, LABEL=label), part)
        for name in manifest.relations:  # added by a mapping, so known to queries even without assertions
            draft.table(table_of(name), None)
        draft.engine.rows(query("write_manifest"), properties(manifest))
        draft.engine.checkpoint()
    finally:
        draft.engine.close()
    replace_database(folder, manifest)


class _Draft:
    """The database that a load fills: a copy of the graph's, or an empty one.

    Its engine is reopened after some rows, since it does not free their memory.

    A copy into a table that has rows takes 64 bytes of memory for each node of the graph and direction, however few its rows are,
    beside the buffer pool (LadybugDB 0.22), and rewrites what it changes. The first copy into a table does neither. So in a graph
    that is large (:func:`~tacit.graph.embedded.engine.is_large`) each copy goes into an empty table, a part of the relation.
    """

    def __init__(self, folder: Path, *, empty: bool) -> None:
        Path(f"{folder / DRAFT}.wal").unlink(missing_ok=True)
        if not empty:
            shutil.copyfile(folder / DATABASE, folder / DRAFT)
        self._copied = 0
        self.engine = Engine(folder / DRAFT, writable=True, memory=LOAD_MEMORY, display_path=folder)
        if empty:
            schema.create(self.engine)
        self._tables = schema.relation_tables(self.engine)
        self._large: dict[Label, bool] = {}

    def _flush(self) -> None:
        self.engine.checkpoint()
        self.engine.reopen(LOAD_MEMORY)
        self._copied = 0

    def copy(self, statement: Query, part: Part) -> None:
        """Append rows to a table; rows with very long texts may need more memory than usual, up to four times as much."""
        if self._copied and (part.rows > _FEW or part.bytes > _FEW_BYTES):
            self._flush()
        for doublings in range(_DOUBLINGS + 1):
            try:
                self.engine.append(statement, part.file)
                break
            except OutOfMemory:
                if doublings == _DOUBLINGS or self._copied:  # without a checkpoint, the engine would lose earlier copies
                    raise
                self.engine.reopen(LOAD_MEMORY << (doublings + 1))
        self._copied += part.rows
        if doublings or self._copied >= COPY // 2:
            self._flush()

    def _is_large(self, label: Label) -> bool:
        """Return whether the graph is large, to be called when all nodes were copied."""
        if label not in self._large:
            self._large[label] = schema.is_large(self.engine, label)
        return self._large[label]

    def rows_of_a_copy(self, label: Label) -> int:
        """Return how many assertions between nodes of a label to copy at a time."""
        return PART if self._is_large(label) else COPY

    def table(self, name: str, label: Label | None) -> str:
        """Return the table for new assertions between nodes of a label: ``name`` or a part of it, which is created if needed."""
        for part in schema.parts_of(name):
            if part.lower() not in self._tables:
                self.engine.rows(query("create_relation", "embedded").naming(RELATION=part))
                self._tables[part.lower()] = part
            table = self._tables[part.lower()]
            if label is None or not self._is_large(label):
                return table
            if not self.engine.rows(query("any_assertion", "embedded").naming(RELATION=table, LABEL=label)):
                return table
        raise AssertionError("parts_of does not end")


def replace_database(folder: Path, manifest: Manifest) -> None:
    """Replace the database by the draft, which has this manifest."""
    draft = folder / DRAFT
    if Path(f"{draft}.wal").exists():
        raise GraphError(f"the engine did not finish writing {folder}; the graph is unchanged, load again")
    flush(draft)
    integrity.write_sums(draft, folder / DATABASE, properties(manifest))
    draft.replace(folder / DATABASE)
    integrity.drop_old_sums(folder / DATABASE)
    flush(folder)


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a load."""
    for path in folder.glob(f"{DRAFT}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_checksums(folder: Path) -> None:
    """Write the checksums of a database that has none and was verified otherwise."""
    with exclusive(folder):
        integrity.write_sums(folder / DATABASE, folder / DATABASE)


@contextmanager
def exclusive(folder: Path, name: str = "") -> Iterator[None]:
    """Hold the folder's lock, with the name of the load in the lock file.

    Temporary files are removed at the start, if a load was killed before, and at the end.
    """
    try:
        descriptor = lock(folder / _LOCK, mode=0o666, required=True)
    except BlockingIOError:
        raise GraphBusy(f"another process is loading into {folder}; try again when it is done") from None
    except OSError as error:
        raise GraphError(f"{folder} cannot be written to ({error.strerror}); check its permissions") from error
    try:
        _sweep(folder)
        _write_name(descriptor, name)
        yield
    finally:
        _sweep(folder)
        _write_name(descriptor, "")
        os.close(descriptor)


def _write_name(descriptor: int, name: str) -> None:
    with suppress(OSError):  # the disk may be full
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, name.encode(errors="replace"), 0)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Report failures to write a graph in ``folder`` as errors that name it, including a full disk met by the engine."""
    try:
        yield
    except (OSError, GraphError) as error:
        free = shutil.disk_usage(folder).free
        if isinstance(error, GraphError) and _DISK_FULL not in str(error) and free > _NO_SPACE:  # the engine may give no reason
            raise
        if isinstance(error, GraphError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise GraphError(
                f"the disk of {folder} is full ({free / 1e6:,.0f} MB are free); free some space there and run the load again: "
                "it needs as much as the graph takes now plus twice what is added; the graph is unchanged"
            ) from error
        raise GraphError(
            f"{folder} cannot be written to ({error.strerror or error}); the graph is unchanged, check disk and permissions"
        ) from error


class Part(NamedTuple):
    """Rows to be copied into one table."""

    file: Path  # a Parquet file
    rows: int  # their number
    bytes: int  # what they take in memory


class Spool:
    """Temporary Arrow files of new nodes and assertions, one per table; a context manager that closes the files."""

    def __init__(self, folder: Path, graph: Path) -> None:
        with writing(graph):
            folder.mkdir()
        self._folder, self._graph = folder, graph
        self._writers: dict[Path, pa.RecordBatchStreamWriter] = {}
        self._edges: dict[Key, Path] = {}
        self._tables: dict[str, str] = {}

    def add_nodes(self, label: Label, uris: list[str]) -> None:
        """Add new nodes of one label."""
        if not uris:
            return
        columns = [uris, [text_of(uri) for uri in uris]]
        if label == "Concept":
            columns.append([language_of(uri) for uri in uris])
        columns_schema = NODES[label]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, columns_schema, strict=True)], schema=columns_schema)
        self._write(self._folder / f"nodes-{label}.arrow", rows)

    def add_assertions(self, batch: Numbered) -> None:
        """Add new assertions, at least one."""
        heads, relations, tails, *other_columns = zip(*batch.rows, strict=True)
        columns = [heads, tails, relations, *other_columns, batch.ids]
        rows = pa.record_batch([_array(*pair) for pair in zip(columns, EDGES, strict=True)], schema=EDGES)
        codes = rows.column("relation").indices.to_numpy() * len(LABELS)
        codes += pc.starts_with(rows.column("from"), "/e/").to_numpy(zero_copy_only=False)
        names = rows.column("relation").dictionary.to_pylist()
        for code in np.unique(codes).tolist():
            relation, label = names[code // len(LABELS)], LABELS[code % len(LABELS)]
            key = key_of(relation), label
            self._tables.setdefault(key[0], table_of(relation))
            path = self._edges.setdefault(key, self._folder / f"edges-{key[0]}-{label}.arrow")
            self._write(path, rows.take(pa.array(np.flatnonzero(codes == code))))

    def _write(self, path: Path, rows: pa.RecordBatch) -> None:
        with writing(self._graph):
            if path not in self._writers:
                self._writers[path] = pa.ipc.new_stream(str(path), rows.schema)
            self._writers[path].write_batch(rows)

    def tables(self) -> list[Key]:
        """Return the tables that have new assertions."""
        return list(self._edges)

    def finish(self) -> None:
        """Close the files for writing."""
        with writing(self._graph):
            for writer in self._writers.values():
                writer.close()

    def nodes(self, size: int) -> Iterator[tuple[Label, Part]]:
        """Yield each label's new nodes, about ``size`` at a time."""
        for label in LABELS:
            path = self._folder / f"nodes-{label}.arrow"
            if path in self._writers:
                yield from ((label, part) for part in parts(path, size))

    def assertions(self, size: Callable[[Label], int]) -> Iterator[tuple[str, Label, Part]]:
        """Yield the name for each table if it has to be created, and its new assertions, about ``size(label)`` at a time."""
        for (key, label), path in sorted(self._edges.items()):
            yield from ((self._tables[key], label, part) for part in parts(path, size(label)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
            return
        with suppress(OSError):  # the first error is the one to report
            for writer in self._writers.values():
                writer.close()


def _array(values: Sequence[Any], field: pa.Field) -> pa.Array:
    """Return a column; repeating texts are dictionary-encoded, with null for empty ones."""
    if field.type != _REPEATING:
        return pa.array(values, field.type)
    texts = pa.array(values, pa.string())
    return pc.if_else(pc.equal(texts, ""), None, texts).dictionary_encode()


def parts(path: Path, size: int) -> Iterator[Part]:
    """Yield the rows of a spool's file, about ``size`` at a time; each part's file replaces that of the part before.

    The engine reads a Parquet file piece by piece, whereas a table that is passed to it stays in memory until all is copied.
    """
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as batches:
        pending: list[pa.RecordBatch] = []
        for batch in batches:
            if pending and sum(map(len, pending)) + len(batch) > size:
                yield _part(path, pending)
            pending.append(batch)
        yield _part(path, pending)


def _part(path: Path, batches: list[pa.RecordBatch]) -> Part:
    """Move the batches from the list to a Parquet file beside ``path``, and return their memory to the system."""
    import pyarrow.parquet as pq

    rows = pa.Table.from_batches(batches)
    batches.clear()
    part = Part(path.with_suffix(".parquet"), len(rows), rows.nbytes)
    with pa.OSFile(str(part.file), "wb") as file:  # pyarrow would take a path such as "a:b" as a URI
        pq.write_table(rows, file, row_group_size=_BATCH, compression="none", write_statistics=False)
    del rows
    release_memory()
    return part
