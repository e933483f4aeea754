"""Loading into an embedded graph, so that a load which dies leaves the graph as it was.

New rows wait in a spool, then go into a copy of the database file, which takes the file's place by one rename when all is
written. Only one process loads at a time; readers keep the file that they opened.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...cypher import query
from ..errors import GraphBusy, GraphError
from ..intake import Known, Numbered, new_assertions
from ..ledger import from_row, properties, with_assertions, with_entry
from ..model import Assertion, LoadCounts, LoadEntry, Manifest
from ..names import Label, label_of
from . import schema
from .engine import LOAD_MEMORY, Engine
from .spool import Spool

DATABASE = "graph.lbug"
_LOCK = "graph.lock"
_DRAFT = "graph.lbug.loading"
_BATCH = 100_000


def create(folder: Path) -> None:
    """Make an empty graph in ``folder`` unless there is one.

    Raises:
        GraphBusy: another process writes there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if not (folder / DATABASE).exists():
            engine = Engine(folder / _DRAFT, writable=True, memory=LOAD_MEMORY)
            try:
                schema.create(engine)
                engine.rows(query("write_manifest"), properties(Manifest()))
            finally:
                engine.close()
            _put_in_place(folder)


def load(
    folder: Path,
    rows: Iterable[Assertion],
    entry: Callable[[], LoadEntry] | None = None,
    progress: Callable[[int], None] | None = None,
) -> LoadCounts:
    """Add ``rows`` to the graph in ``folder``, all or nothing; see :meth:`tacit.graph.protocol.WritableGraph.load`.

    Raises:
        GraphBusy: another process writes there.
        GraphError: the engine failed; the graph is as it was.
        InputError: a row is not an assertion that a graph can hold.
    """
    with _alone(folder):
        engine = Engine(folder / DATABASE, memory=LOAD_MEMORY)
        try:
            before = from_row(engine.rows(query("manifest"))[0])
            known, nodes = _known(engine)
        finally:
            engine.close()
        manifest, duplicates = before, 0
        with Spool(folder / f"{_DRAFT}.spool") as spool:
            for batch in new_assertions(rows, known, _BATCH, progress):
                manifest = with_assertions(manifest, batch.contents)
                duplicates += batch.duplicates
                _spool(spool, nodes, batch)
        new = manifest.assertions - before.assertions
        if entry:
            manifest = with_entry(manifest, entry())
        if manifest != before:
            del known, nodes
            _write(folder, spool, manifest)
        _sweep(folder)
    return LoadCounts(new, duplicates)


def _known(engine: Engine) -> tuple[Known, Known]:
    """Return the identities of the assertions and the hashes of the nodes that are there."""
    identities, nodes = Known(), Known()
    if schema.relation_tables(engine):
        identities.add(engine.table(query("scan_identities", "embedded")).column(0).to_numpy())
    for label in ("Concept", "Event"):
        uris = engine.table(query("scan_nodes", "embedded").naming(LABEL=label)).column(0)
        for chunk in uris.chunks:
            nodes.add(_hashes(chunk.to_pylist()))
    return identities, nodes


def _hashes(uris: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Python's own hashes: they never leave the process, and a node taken for known by mistake would fail the load loudly."""
    return np.fromiter(map(hash, uris), dtype=np.int64)


def _spool(spool: Spool, nodes: Known, batch: Numbered) -> None:
    uris = list(dict.fromkeys(uri for row in batch.rows for uri in (row.head, row.tail)))
    new = nodes.take(_hashes(uris))
    labels: tuple[Label, ...] = ("Concept", "Event")
    for label in labels:
        spool.add_nodes(label, [uri for uri, fresh in zip(uris, new.tolist(), strict=True) if fresh and label_of(uri) == label])
    if batch.rows:
        spool.add_assertions(batch)


def _write(folder: Path, spool: Spool, manifest: Manifest) -> None:
    """Put what the spool holds into a copy of the database and the copy into its place."""
    shutil.copyfile(folder / DATABASE, folder / _DRAFT)
    engine = Engine(folder / _DRAFT, writable=True, memory=LOAD_MEMORY)
    try:
        tables = schema.relation_tables(engine)
        for label, rows in spool.nodes():
            engine.rows(query("copy_nodes", "embedded").naming(LABEL=label), {"rows": rows})
        for table, label, rows in spool.assertions():
            if table.lower() not in tables:
                engine.rows(query("create_relation", "embedded").naming(RELATION=table))
            table = tables.setdefault(table.lower(), table)
            engine.rows(query("copy_assertions", "embedded").naming(RELATION=table, LABEL=label), {"rows": rows})
        engine.rows(query("write_manifest"), properties(manifest))
    finally:
        engine.close()
    _put_in_place(folder)


def _put_in_place(folder: Path) -> None:
    draft = folder / _DRAFT
    if Path(f"{draft}.wal").exists():
        raise GraphError(f"the engine left work unfinished in {draft}.wal; the graph is as it was, load again")
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    draft.replace(folder / DATABASE)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove what a load leaves behind."""
    for left in folder.glob(f"{_DRAFT}*"):
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; what a load that died left behind is removed."""
    with (folder / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GraphBusy(f"another process is loading into {folder}; try again when it is done") from None
        _sweep(folder)
        yield
