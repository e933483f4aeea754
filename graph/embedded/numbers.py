"""Streaming of a whole graph with the engine's numbers of nodes in place of their URIs, table by table.

To join URIs to the ends of assertions, the engine reads the URIs of all nodes for each window, and its memory grows with the
graph. Here it reads one table of a large graph at a time. It does not free all memory of its buffer pool, so it is reopened
between large tables, and when the pool is full.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ...cypher import Query, query
from ..errors import GraphError
from ..links import LINK_RELATIONS, link_manifest_of
from ..names import LABELS, Label
from .engine import SCAN_MEMORY, Engine, is_large, relation_tables, windows

_ROWS = 100_000
"""Assertions of a table that is yielded, about."""
_NODES = 500_000
"""Nodes of a table that is yielded, about; for each window the engine reads all nodes."""
_REOPEN_AFTER = 1_000_000
"""Rows after which the engine is reopened before it reads the next table of the graph."""


def numbered(file: Path, display_path: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and Arrow tables as :meth:`tacit.graph.protocol.StreamsNumbers.numbered` does."""
    file_status = file.stat()
    engine = Engine(file, memory=SCAN_MEMORY, display_path=display_path)
    rows_read = 0  # rows read since the engine was opened

    def reopen() -> None:
        nonlocal rows_read
        engine.reopen(SCAN_MEMORY)
        if not os.path.samestat(file_status, file.stat()):
            raise GraphError(f"{display_path.parent} was changed by another process; open it again")
        rows_read = 0

    with closing(engine):
        for name, scan, label in _parts(engine):
            if rows_read >= _REOPEN_AFTER:
                reopen()
            for rows in windows(engine, scan, label, _NODES if name == label else _ROWS, reopen):
                rows_read += len(rows)
                yield name, rows


def _parts(engine: Engine) -> Iterator[tuple[str, Query, Label]]:
    """Yield the name, the query and the label of the nodes whose windows it reads, for each table of the graph."""
    yield "Concept", query("number_concepts", "embedded"), "Concept"
    yield "Event", query("number_events", "embedded"), "Event"
    for label in LABELS:
        for scan in _scans(engine, label):
            yield f"{label} assertions", scan, label
    if link_manifest_of(engine.rows(query("link_manifest"))).links:
        yield "Mentions", query("number_mentions", "embedded"), "Event"
        yield "SameEvent", query("number_same_events", "embedded"), "Event"


def _scans(engine: Engine, label: Label) -> list[Query]:
    """Return the queries for the assertions between nodes of a label: one, or one for each table when there are many nodes."""
    if not is_large(engine, label):
        return [query("number_assertions", "embedded").naming(LABEL=label)]
    links = {relation.lower() for relation in LINK_RELATIONS}
    tables = [name for key, name in sorted(relation_tables(engine).items()) if key not in links]
    return [query("number_relation", "embedded").naming(RELATION=name, LABEL=label) for name in tables]
