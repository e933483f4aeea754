"""Replacing the links of an embedded graph, atomically: a run that fails or is killed leaves the graph unchanged.

As in a load (:mod:`.load`), links are first written to a spool of Arrow files and then copied into a copy of the database file,
which replaces the file by one rename. The tables of links are dropped and filled again, so that the same links give the same
tables whatever was there before. Nothing is written when the links are those that the graph has.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...cypher import query
from ..errors import GraphError
from ..links import (
    LINK_RELATIONS,
    MENTIONS,
    SAME_EVENT,
    Link,
    LinkCounts,
    LinkEntry,
    LinkManifest,
    LinkRelation,
    checked_link,
    link_manifest_of,
    link_properties,
)
from ..loading import Known, from_row, rare_cycle_search
from . import engine as schema
from . import integrity
from .database_file import DRAFT, exclusive, replace_database, writing
from .engine import LOAD_MEMORY, Engine
from .integrity import DATABASE
from .load import COPY
from .spool import Part, parts

_BATCH = 50_000
"""Links that are read at a time."""

_TABLES: dict[LinkRelation, tuple[str, pa.Schema]] = {
    MENTIONS: ("Concept", pa.schema([
        ("from", pa.string()), ("to", pa.string()), ("relation", pa.dictionary(pa.int32(), pa.string())),
        ("role", pa.dictionary(pa.int32(), pa.string())), ("position", pa.int64()), ("id", pa.int64()),
        ("weight", pa.float64()),
    ])),
    SAME_EVENT: ("Event", pa.schema([
        ("from", pa.string()), ("to", pa.string()), ("relation", pa.dictionary(pa.int32(), pa.string())), ("id", pa.int64()),
        ("weight", pa.float64()),
    ])),
}  # fmt: skip
"""Label of the nodes at the ends of the links of each relation, and the columns of its table."""


@rare_cycle_search()
def replace_links(folder: Path, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
    """Make ``links`` the links of the graph in ``folder``; see :meth:`tacit.graph.protocol.LinksEvents.replace_links`.

    Raises:
        GraphBusy: another process is writing there.
        GraphError: the engine failed, or the graph has assertions of a relation with the name of a link; it is unchanged.
        InputError: a link is invalid.
    """
    with exclusive(folder, "link"):
        integrity.verify(folder / DATABASE, whole=True)
        with closing(Engine(folder / DATABASE, memory=LOAD_MEMORY)) as engine:
            graph = from_row(engine.rows(query("manifest"))[0])
            old_manifest = link_manifest_of(engine.rows(query("link_manifest")))
            tables = _link_tables(engine, folder)
            old_ids = _identities(engine) if tables else np.zeros(0, dtype=np.int64)
        spool = folder / f"{DRAFT}.spool"
        with writing(folder):
            spool.mkdir()
            ids, checksum = _spool(links, spool)
        new_manifest = LinkManifest(entry() if entry else old_manifest.entry, len(ids), checksum)
        unchanged = int(np.isin(ids, old_ids, assume_unique=True).sum())
        if new_manifest != old_manifest or len(tables) < len(LINK_RELATIONS):
            with writing(folder):
                _fill(folder, spool, tables, new_manifest)
                replace_database(folder, graph)
    return LinkCounts(len(ids) - unchanged, unchanged, len(old_ids) - unchanged)


def _link_tables(engine: Engine, folder: Path) -> list[str]:
    """Return the names of the tables of links that the graph has."""
    tables = schema.relation_tables(engine)
    names: list[str] = []
    for relation, (label, _) in _TABLES.items():
        name = tables.get(relation.lower())
        if name is None:
            continue
        ends = [tuple(row[:2]) for row in engine.rows(query("connections", "embedded").naming(RELATION=name))]
        if name != relation or ends != [("Event", label)]:
            raise GraphError(
                f"{folder} has assertions of the relation {name}, a name that is kept for links; load the graph again "
                "into a new place, which stores them under another table"
            )
        names.append(name)
    return names


def _identities(engine: Engine) -> NDArray[np.int64]:
    column = engine.table(query("scan_link_identities", "embedded")).column(0)
    return np.sort(column.to_numpy().astype(np.int64))


def _spool(links: Iterable[Link], spool: Path) -> tuple[NDArray[np.int64], int]:
    """Write distinct links to files in ``spool``; return their identities and checksum."""
    stream, known, checksum = iter(links), Known(), 0
    identities: list[NDArray[np.int64]] = []
    writers: dict[LinkRelation, pa.RecordBatchStreamWriter] = {}
    try:
        while batch := [checked_link(link) for link in islice(stream, _BATCH)]:
            fingerprints = [link.fingerprint() for link in batch]
            ids = np.fromiter((identity for identity, _ in fingerprints), dtype=np.int64, count=len(batch))
            new = np.flatnonzero(known.take(ids))
            identities.append(ids[new])
            checksum += sum(fingerprints[index][1] for index in new.tolist())
            for relation, (_, columns) in _TABLES.items():
                rows = [_row(batch[index], int(ids[index])) for index in new.tolist() if batch[index].relation == relation]
                if rows:
                    if relation not in writers:
                        writers[relation] = pa.ipc.new_stream(str(_file(spool, relation)), columns)
                    writers[relation].write_batch(pa.RecordBatch.from_pylist(rows, schema=columns))
    finally:
        for writer in writers.values():
            with suppress(OSError):
                writer.close()
    return np.concatenate(identities) if identities else np.zeros(0, dtype=np.int64), checksum % 2**128


def _row(link: Link, number: int) -> dict[str, Any]:
    return {
        "from": link.head, "to": link.tail, "relation": link.relation, "role": link.role or None, "position": link.position,
        "id": number,
    }  # fmt: skip


def _file(spool: Path, relation: LinkRelation) -> Path:
    return spool / f"links-{relation}.arrow"


def _fill(folder: Path, spool: Path, tables: list[str], manifest: LinkManifest) -> None:
    shutil.copyfile(folder / DATABASE, folder / DRAFT)
    with closing(Engine(folder / DRAFT, writable=True, memory=LOAD_MEMORY, display_path=folder)) as engine:
        for name in tables:
            engine.rows(query("drop_links", "embedded").naming(RELATION=name))
        schema.create_links(engine)
        for relation, (label, _) in _TABLES.items():
            copy = query("copy_links", "embedded").naming(RELATION=relation, LABEL=label)
            for part in _parts(_file(spool, relation)):
                engine.append(copy, part.file)
                engine.checkpoint()
        engine.rows(query("write_link_manifest"), link_properties(manifest))
        engine.checkpoint()


def _parts(file: Path) -> Iterator[Part]:
    if file.exists():
        yield from parts(file, COPY)
