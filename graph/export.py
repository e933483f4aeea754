"""Export of a whole graph: CSV files for ``neo4j-admin database import``, the fastest bulk load, and JSON lines.

Both stream the graph. Nodes of a server take eight bytes of memory each.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import CSVWriter, WriteOptions

from .atomic import new_stream
from .errors import GraphError
from .links import Link, LinkManifest, link_properties
from .loading import Known, properties
from .model import Assertion
from .names import LABELS, label_of, language_of, text_of
from .open import store_of
from .protocol import KnowledgeGraph, LinksEvents, StreamsNumbers

MANIFEST, COMMAND, CONSTRAINTS, REPORT = "manifest.csv", "import.txt", "constraints.cypher", "import.report"
NODES = {
    "Concept": ("concepts.csv", ":ID(Concept),uri,text,language,:LABEL"),
    "Event": ("events.csv", ":ID(Event),uri,text,:LABEL"),
}
_ASSERTION = (
    ":START_ID({0}),:TYPE,:END_ID({0}),relation,weight:double,source,dataset,license,contributors,head_sense,tail_sense,"
    "rank:long,score:double,id:long"
)
EDGES = {
    "Concept assertions": ("concept-assertions.csv", _ASSERTION.format("Concept")),
    "Event assertions": ("event-assertions.csv", _ASSERTION.format("Event")),
    "Mentions": ("mentions.csv", ":START_ID(Event),:TYPE,:END_ID(Concept),relation,role,position:long,id:long"),
    "SameEvent": ("same-events.csv", ":START_ID(Event),:TYPE,:END_ID(Event),relation,id:long"),
}
"""For each kind of rows in :meth:`StreamsNumbers.numbered`, the file and its header."""
_MANIFESTS = (MANIFEST, "key:ID(Manifest),loads,assertions:long,checksum,:LABEL")
_BATCH = 50_000


def export_csv_import(graph: KnowledgeGraph, directory: Path) -> int:
    """Write ``graph`` into ``directory`` for ``neo4j-admin database import``, with its links; return the number of assertions.

    The files join nodes by keys of their own: the numbers of an embedded graph's nodes, the URIs of a server's. Besides the CSV
    files there are ``import.txt`` with the exact command line, and ``constraints.cypher`` with the constraints to create once the
    server runs with the imported data.

    Raises:
        GraphError: the graph changed while it was exported.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    store, relations, number = store_of(graph), set[str](), 0
    by_number = isinstance(store, StreamsNumbers)  # streams a snapshot; reading the manifest first would keep the engine open
    before = None if by_number else (graph.manifest(), _link_manifest(store))
    with ExitStack() as stack:
        files = {name: stack.enter_context(_CsvFile(directory, *form)) for name, form in (NODES | EDGES).items()}
        for name, rows in store.numbered() if isinstance(store, StreamsNumbers) else _by_uri(store):
            files[name].write(rows)
            if name in EDGES:
                relations.update(pc.unique(rows.column(1)).to_pylist())
                number += len(rows) if name.endswith("assertions") else 0
    manifest, link_manifest = after = graph.manifest(), _link_manifest(store)
    if manifest.assertions != number or (before is not None and before != after):
        raise GraphError(
            f"the graph changed while it was exported ({number} of {manifest.assertions} assertions read); export it again"
        )
    manifests = [("tacit", *properties(manifest).values(), "Manifest")]
    if link_manifest is not None:
        manifests.append(("links", *link_properties(link_manifest).values(), "Manifest"))
    with _CsvFile(directory, *_MANIFESTS) as file:
        for _, rows in _table(MANIFEST, list(zip(*manifests, strict=True))):
            file.write(rows)
    (directory / COMMAND).write_text(_instructions(directory), encoding="utf-8")
    from .neo4j.load import statements

    constraints = [*statements(), *statements(sorted(relations.union(manifest.relations)))]
    (directory / CONSTRAINTS).write_text("".join(f"{text};\n" for text in constraints), encoding="utf-8")
    return number


def _link_manifest(store: KnowledgeGraph) -> LinkManifest | None:
    return store.link_manifest() if isinstance(store, LinksEvents) else None


class _CsvFile:
    """A CSV file that is written from Arrow tables: texts quoted, with quotes doubled; nulls and empty texts as empty cells."""

    def __init__(self, directory: Path, name: str, header: str) -> None:
        self._header = header.split(",")
        self._file = (directory / name).open("wb")
        self._file.write(f"{header}\n".encode())
        self._writer: Any = None

    def write(self, rows: pa.Table) -> None:
        """Append rows, all of which have keys of one type in their first column."""
        types = {"double": pa.float64(), "long": pa.int64()}
        columns = []
        for name, column in zip(self._header, rows.columns, strict=True):
            column_type = rows.column(0).type if "ID(" in name else types.get(name.partition(":")[2], pa.string())
            column = column.cast(column_type)
            columns.append(pc.if_else(pc.equal(column, ""), None, column) if column_type == pa.string() else column)
        table = pa.Table.from_arrays(columns, names=self._header)
        if self._writer is None:
            self._writer = CSVWriter(self._file, table.schema, write_options=WriteOptions(include_header=False))
        self._writer.write_table(table)

    def __enter__(self) -> _CsvFile:
        return self

    def __exit__(self, *exc: object) -> None:
        with self._file:
            if self._writer is not None:
                self._writer.close()


def _by_uri(store: KnowledgeGraph) -> Iterator[tuple[str, pa.Table]]:
    """Yield what :meth:`StreamsNumbers.numbered` does, with URIs in place of numbers, each node before its first assertion."""
    known_nodes, assertions = Known(), store.assertions()
    while batch := list(islice(assertions, _BATCH)):
        uris = list(dict.fromkeys(uri for row in batch for uri in (row.head, row.tail)))
        is_new = known_nodes.take(np.fromiter(map(hash, uris), dtype=np.int64, count=len(uris)))
        new = [uris[index] for index in np.flatnonzero(is_new).tolist()]
        for label in LABELS:
            nodes = [uri for uri in new if label_of(uri) == label]
            languages = [list(map(language_of, nodes))] if label == "Concept" else []
            yield from _table(label, [nodes, nodes, list(map(text_of, nodes)), *languages, [label] * len(nodes)])
            cells = [_assertion_cells(row) for row in batch if label_of(row.head) == label]
            yield from _table(f"{label} assertions", list(zip(*cells, strict=True)))
    links = store.links() if isinstance(store, LinksEvents) else iter(())
    while chunk := list(islice(links, _BATCH)):
        for relation in ("Mentions", "SameEvent"):
            cells = [_link_cells(link) for link in chunk if link.relation == relation]
            yield from _table(relation, list(zip(*cells, strict=True)))


def _table(name: str, columns: Sequence[Sequence[Any]]) -> Iterator[tuple[str, pa.Table]]:
    if columns and columns[0]:
        yield name, pa.table(list(map(pa.array, columns)), names=list(map(str, range(len(columns)))))


def import_arguments(directory: Path) -> list[str]:
    """Return the arguments for ``neo4j-admin`` to import the files of :func:`export_csv_import` in ``directory``."""
    folder = Path(directory).absolute()
    nodes = [f"--nodes={folder / name}" for name in (*(name for name, _ in NODES.values()), MANIFEST)]
    relationships = [f"--relationships={folder / name}" for name, _ in EDGES.values()]
    options = [
        "--multiline-fields=true",
        "--skip-bad-relationships=false",
        "--skip-duplicate-nodes=false",
        f"--report-file={folder / REPORT}",
    ]
    return ["database", "import", "full", "neo4j", *nodes, *relationships, *options, "--overwrite-destination"]


def export_jsonl(graph: KnowledgeGraph, path: Path) -> int:
    """Write every assertion of ``graph`` as one JSON object per line, without empty fields; return the number of assertions.

    Links are left out: ``tacit link`` makes them again.

    ``path`` is replaced atomically; a name that ends in ``.gz`` gets a gzip file.
    """
    number = 0
    with new_stream(Path(path)) as file:
        for row in graph.assertions():
            fields = {name: value for name, value in zip(row._fields, row, strict=True) if value not in ("", None)}
            file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
            number += 1
    return number


def _assertion_cells(row: Assertion) -> Sequence[Any]:
    provenance = (row.source, row.dataset, row.license, row.contributors, row.head_sense, row.tail_sense, row.rank, row.score)
    return (row.head, row.relation, row.tail, row.relation, row.weight, *provenance, row.fingerprint()[0])


def _link_cells(link: Link) -> Sequence[Any]:
    mention = [link.role, link.position] if link.relation == "Mentions" else []
    return (link.head, link.relation, link.tail, link.relation, *mention, link.fingerprint()[0])


def _instructions(directory: Path) -> str:
    command = shlex.join(["neo4j-admin", *import_arguments(directory)])
    constraints = shlex.join(["cypher-shell", "--file", str(Path(directory).absolute() / CONSTRAINTS)])
    return (
        f"Stop the server (an import replaces the whole database), then run:\n\n{command}\n\n"
        f"Start the server again and create the constraints:\n\n{constraints}\n"
    )
