"""Loading into an embedded graph, atomically: a load that fails or is killed leaves the graph unchanged.

New rows are first written to a spool of Arrow files, one per table, because the engine copies a whole table many times faster
than pieces of it. Then they go, as Parquet files that the engine reads, into a copy of the database file, which replaces the file
by one rename. A small graph of which many tables would be appended to is written anew, in half the time. Only one process
loads at a time; readers keep the file that they opened. Temporary files are removed when a load ends; a killed process leaves
them, so that :func:`.database_file.killed_load` can detect it, and the next load removes them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path

import numpy as np

from ...cypher import Query, query
from ..columns import assertions
from ..errors import GraphError
from ..loading import Known, Numbered, from_row, new_assertions, properties, rare_cycle_search, with_assertions, with_entry
from ..model import Assertion, LoadCounts, LoadEntry, Manifest
from ..names import LABELS, Label, label_of
from . import engine as schema
from . import integrity
from .database_file import DRAFT, LOCK, exclusive, replace_database, writing
from .engine import LOAD_MEMORY, Engine, OutOfMemory, release_memory, table_of
from .integrity import DATABASE
from .spool import Part, Spool

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
REWRITTEN = 20_000
"""Most assertions of a graph that is written anew when many of its tables would be appended to."""
_FEW_TABLES = 4
"""Most tables that are appended to; each takes a third of a second, and a small graph is written in one."""


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
            (folder / LOCK).unlink()
        for parent in created:
            parent.rmdir()
    except (GraphError, OSError):  # another process uses it
        return


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
