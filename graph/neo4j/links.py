"""Replacing the links of a Neo4j graph: batches in managed transactions, each of which also updates the manifest of links.

Links that no longer follow from the graph are deleted after the others were created. An interrupted run leaves a part of the
links, counted in the manifest, and can be run again; until it has finished, its name is among the unfinished loads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import neo4j
import numpy as np

from ...cypher import query
from ..errors import GraphError
from ..links import (
    LINK_RELATIONS,
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
from ..loading import Known
from .connection import Server
from .load import BATCH, constrain, known_identities

_NAME = "link"
_FETCH = 50_000

Batch = list[tuple[Link, int, int]]
"""Links with their identities and contents."""


def replace_links(server: Server, links: Iterable[Link], entry: Callable[[], LinkEntry] | None = None) -> LinkCounts:
    """Make ``links`` the links of the graph; after a lost connection, committed batches stay, and the run can be repeated."""
    constrain(server)
    constrain(server, LINK_RELATIONS)
    link_ids, new, unchanged = Known(), 0, 0
    server.write("linking", _begin)
    stream = iter(links)
    while batch := [checked_link(link) for link in islice(stream, BATCH)]:
        rows = [(link, *link.fingerprint()) for link in batch]
        is_new = link_ids.take(np.fromiter((identity for _, identity, _ in rows), dtype=np.int64, count=len(rows)))
        rows = [rows[index] for index in np.flatnonzero(is_new).tolist()]
        added = server.write("linking", partial(_add, batch=rows)) if rows else 0
        new += added
        unchanged += len(rows) - added
    removed = 0
    for stale in _batches(link for link in scan(server) if not link_ids.holds(link.fingerprint()[0])):
        removed += server.write("removing links", partial(_remove, batch=stale))
    server.write("writing the manifest", partial(_finish, entry=entry() if entry else None))
    return LinkCounts(new, unchanged, removed)


def scan(server: Server) -> Iterator[Link]:
    """Stream every link, in no fixed order."""
    for rows in server.stream(query("scan_mentions", "neo4j"), _FETCH):
        yield from (Link(head, "Mentions", tail, role, position) for head, tail, role, position in rows)
    for rows in server.stream(query("scan_same_events", "neo4j"), _FETCH):
        yield from (Link(head, "SameEvent", tail) for head, tail in rows)


def _batches(links: Iterable[Link]) -> Iterator[Batch]:
    """Yield all of ``links`` in batches; they are read first, since deleting would disturb their query."""
    rows = [(link, *link.fingerprint()) for link in links]
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]


def _groups(batch: Batch) -> dict[LinkRelation, Batch]:
    groups: dict[LinkRelation, Batch] = defaultdict(list)
    for row in batch:
        groups[row[0].relation].append(row)
    return groups


def _add(transaction: neo4j.ManagedTransaction, batch: Batch) -> int:
    """Create the links of ``batch`` that are not in the graph, and return their number."""
    manifest = _locked(transaction)
    contents: list[int] = []
    for relation, rows in _groups(batch).items():
        known = known_identities(transaction, relation, [identity for _, identity, _ in rows])
        new_rows = [row for row in rows if row[1] not in known]
        create = query("create_links", "neo4j").naming(RELATION=relation, LABEL="Event" if relation == SAME_EVENT else "Concept")
        if new_rows:
            summary = transaction.run(create.text, rows=[_row(link, identity) for link, identity, _ in new_rows]).consume()
            if summary.counters.relationships_created != len(new_rows):
                raise GraphError("nodes were removed while they were linked; run tacit link again")
        contents += [content for _, _, content in new_rows]
    _write(transaction, manifest, len(contents), sum(contents))
    return len(contents)


def _remove(transaction: neo4j.ManagedTransaction, batch: Batch) -> int:
    """Delete the links of ``batch`` that are in the graph, and return their number."""
    manifest = _locked(transaction)
    contents: list[int] = []
    for relation, rows in _groups(batch).items():
        known = known_identities(transaction, relation, [identity for _, identity, _ in rows])
        transaction.run(query("delete_links", "neo4j").naming(RELATION=relation).text, ids=sorted(known)).consume()
        contents += [content for _, identity, content in rows if identity in known]
    _write(transaction, manifest, -len(contents), -sum(contents))
    return len(contents)


def _begin(transaction: neo4j.ManagedTransaction) -> None:
    transaction.run(query("lock_manifest", "neo4j").text).consume()
    transaction.run(query("begin_load", "neo4j").text, name=_NAME).consume()


def _finish(transaction: neo4j.ManagedTransaction, entry: LinkEntry | None) -> None:
    manifest = _locked(transaction)
    if entry is not None:
        transaction.run(query("write_link_manifest").text, link_properties(replace(manifest, entry=entry))).consume()
    transaction.run(query("end_load", "neo4j").text, name=_NAME).consume()


def _locked(transaction: neo4j.ManagedTransaction) -> LinkManifest:
    transaction.run(query("lock_link_manifest", "neo4j").text).consume()
    return link_manifest_of(transaction.run(query("link_manifest").text).values())


def _write(transaction: neo4j.ManagedTransaction, manifest: LinkManifest, count: int, contents: int) -> None:
    if count:
        updated = replace(manifest, links=manifest.links + count, checksum=(manifest.checksum + contents) % 2**128)
        transaction.run(query("write_link_manifest").text, link_properties(updated)).consume()


def _row(link: Link, number: int) -> dict[str, object]:
    properties: dict[str, object] = {"relation": link.relation, "id": number}
    if link.position is not None:
        properties |= {"role": link.role, "position": link.position}
    return {"head": link.head, "tail": link.tail, "properties": properties}
