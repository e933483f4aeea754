"""Loading into Neo4j: batches in managed transactions, each of which also updates the manifest.

Assertions are identified by the ``id`` of their relationships, so an interrupted load can be run again. Every transaction locks
the manifest node first, so that concurrent loads take turns and the count and checksum are right after each. The manifest node
also keeps the names of loads that have begun and not finished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import neo4j

from ...cypher import query
from ..loading import Known, Numbered, from_row, new_assertions, properties, with_assertions, with_entry
from ..model import Assertion, LoadCounts, LoadEntry, Manifest
from ..names import LABELS, Label, check_relation, label_of, language_of, text_of
from .connection import Server

BATCH = 10_000
"""Rows per transaction."""


def load(
    server: Server,
    rows: Iterable[Assertion],
    entry: Callable[[], LoadEntry] | None = None,
    progress: Callable[[int], None] | None = None,
    name: str = "",
) -> LoadCounts:
    """Add ``rows``, batch by batch; after a lost connection, committed batches stay, and the load can be run again."""
    constrained: set[str] = set()
    new = duplicates = 0
    for number, batch in enumerate(new_assertions(rows, Known(), BATCH, progress)):
        if number == 0:
            constrain(server)
        relations = {row.relation for row in batch.rows} - constrained
        if relations:
            constrain(server, sorted(relations))
            constrained |= relations
        added = server.write("loading", partial(_add, batch=batch, name=name)) if batch.rows else 0
        new += added
        duplicates += batch.duplicates + len(batch.rows) - added
    load_entry = entry() if entry else None
    declared = {relation.name for relation in load_entry.relations} - constrained if load_entry else set()
    if declared:
        constrain(server, sorted(declared))
    if load_entry or (name and new):
        server.write("writing the manifest", partial(_finish, entry=load_entry, name=name))
    return LoadCounts(new, duplicates)


def constrain(server: Server, relations: Iterable[str] | None = None) -> None:
    """Create the constraints of nodes, or of ``relations``, and wait for their indexes."""

    def work(transaction: neo4j.ManagedTransaction) -> None:
        for text in statements(relations):
            transaction.run(text).consume()

    def wait(transaction: neo4j.ManagedTransaction) -> None:
        transaction.run(query("await_indexes", "neo4j").text).consume()

    server.write("making constraints", work)
    server.write("making constraints", wait)


def statements(relations: Iterable[str] | None = None) -> list[str]:
    """Return the statements that create the constraints of ``relations``, or of nodes and the manifest when None."""
    if relations is not None:
        constraint = query("constrain_relation", "neo4j")
        return [constraint.naming(NAME=f"tacit_relation_{check_relation(name)}", RELATION=name).text for name in relations]
    constraint = query("constrain_nodes", "neo4j")
    nodes = [constraint.naming(NAME=f"tacit_{label.lower()}_uri", LABEL=label).text for label in LABELS]
    return [*nodes, query("constrain_manifest", "neo4j").text]


def _add(transaction: neo4j.ManagedTransaction, batch: Numbered, name: str) -> int:
    """Create the assertions of ``batch`` that are not in the graph, and return their number."""
    manifest = _locked(transaction)
    groups: dict[tuple[str, Label], list[int]] = defaultdict(list)
    for index, row in enumerate(batch.rows):
        groups[check_relation(row.relation), label_of(row.head)].append(index)
    new_indices: dict[tuple[str, Label], list[int]] = {}
    for (relation, label), indices in groups.items():
        known = known_identities(transaction, relation, [batch.ids[index] for index in indices])
        new_indices[relation, label] = [index for index in indices if batch.ids[index] not in known]
    added = [index for indices in new_indices.values() for index in indices]
    if not added:
        return 0
    _merge_nodes(transaction, [batch.rows[index] for index in added])
    for (relation, label), indices in new_indices.items():
        create = query("create_assertions", "neo4j").naming(RELATION=relation, LABEL=label)
        rows = [_row(batch.rows[index], batch.ids[index]) for index in indices]
        if rows:
            transaction.run(create.text, rows=rows).consume()
    _write_manifest(transaction, with_assertions(manifest, [batch.contents[index] for index in added]))
    if name:
        transaction.run(query("begin_load", "neo4j").text, name=name).consume()
    return len(added)


def known_identities(transaction: neo4j.ManagedTransaction, relation: str, ids: list[int]) -> set[int]:
    """Return those of ``ids`` that relationships of a type have."""
    return {record[0] for record in transaction.run(query("known_identities", "neo4j").naming(RELATION=relation).text, ids=ids)}


def _merge_nodes(transaction: neo4j.ManagedTransaction, rows: list[Assertion]) -> None:
    uris = list(dict.fromkeys(uri for row in rows for uri in (row.head, row.tail)))
    for label in LABELS:
        nodes = [node_properties(uri) for uri in uris if label_of(uri) == label]
        if nodes:
            merge = query("merge_nodes", "neo4j").naming(LABEL=label)
            transaction.run(merge.text, rows=nodes).consume()


def _finish(transaction: neo4j.ManagedTransaction, entry: LoadEntry | None, name: str) -> None:
    manifest = _locked(transaction)
    updated = with_entry(manifest, entry) if entry else manifest
    if updated != manifest:
        _write_manifest(transaction, updated)
    if name:
        transaction.run(query("end_load", "neo4j").text, name=name).consume()


def _locked(transaction: neo4j.ManagedTransaction) -> Manifest:
    transaction.run(query("lock_manifest", "neo4j").text).consume()
    return from_row(transaction.run(query("manifest").text).values()[0])


def _write_manifest(transaction: neo4j.ManagedTransaction, manifest: Manifest) -> None:
    transaction.run(query("write_manifest").text, properties(manifest)).consume()


def node_properties(uri: str) -> dict[str, Any]:
    """Return the properties of the node with this URI."""
    node = {"uri": uri, "text": text_of(uri)}
    return node | {"language": language_of(uri)} if label_of(uri) == "Concept" else node


def _row(row: Assertion, number: int) -> dict[str, Any]:
    """Return an assertion as query parameters, without empty texts, as in the embedded engine."""
    fields = {name: value for name, value in zip(row._fields, row, strict=True) if value not in ("", None)}
    head, tail = fields.pop("head"), fields.pop("tail")
    return {"head": head, "tail": tail, "properties": {**fields, "id": number}}
