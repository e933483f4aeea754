"""Export of a whole graph: as CSV files for ``neo4j-admin database import``, the fastest way to fill a server, and as JSON lines.

Both stream the graph; memory grows by eight bytes per node.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from .atomic import new_file
from .errors import GraphError
from .links import Link, LinkRelation, link_properties
from .loading import Known, properties
from .model import Assertion
from .names import Label, label_of, language_of, text_of
from .open import store_of
from .protocol import KnowledgeGraph, LinksEvents

MANIFEST, COMMAND, CONSTRAINTS, REPORT = "manifest.csv", "import.txt", "constraints.cypher", "import.report"
LINKS: dict[LinkRelation, str] = {"Mentions": "mentions.csv", "SameEvent": "same-events.csv"}
NODES: dict[Label, str] = {"Concept": "concepts.csv", "Event": "events.csv"}
ASSERTIONS: dict[Label, str] = {"Concept": "concept-assertions.csv", "Event": "event-assertions.csv"}

_NODE_HEADERS: dict[Label, str] = {"Concept": "uri:ID(Concept),text,language,:LABEL", "Event": "uri:ID(Event),text,:LABEL"}
_MANIFEST_HEADER = "key:ID(Manifest),loads,assertions:long,checksum,:LABEL"
_ASSERTION_HEADER = (
    ":START_ID({label}),:TYPE,:END_ID({label}),relation,weight:double,source,dataset,license,contributors,"
    "head_sense,tail_sense,rank:long,score:double,id:long"
)
_LINK_HEADERS: dict[LinkRelation, str] = {
    "Mentions": ":START_ID(Event),:TYPE,:END_ID(Concept),relation,role,position:long,id:long",
    "SameEvent": ":START_ID(Event),:TYPE,:END_ID(Event),relation,id:long",
}
_BATCH = 50_000


def export_csv_import(graph: KnowledgeGraph, directory: Path) -> int:
    """Write ``graph`` into ``directory`` for ``neo4j-admin database import``, with its links; return the number of assertions.

    Besides the CSV files there are ``import.txt`` with the exact command line, and ``constraints.cypher`` with the constraints to
    create once the server runs with the imported data.

    Raises:
        GraphError: the graph changed while it was exported.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    known, relations, number, manifest = Known(), set[str](), 0, graph.manifest()
    store = store_of(graph)
    linked = store.link_manifest() if isinstance(store, LinksEvents) else None
    with ExitStack() as stack:

        def create(name: str, header: str) -> IO[str]:
            file = stack.enter_context((directory / name).open("w", encoding="utf-8", newline=""))
            file.write(f"{header}\n")
            return file

        nodes = {label: create(name, _NODE_HEADERS[label]) for label, name in NODES.items()}
        assertions = {label: create(name, _ASSERTION_HEADER.format(label=label)) for label, name in ASSERTIONS.items()}
        rows = graph.assertions()
        while batch := list(islice(rows, _BATCH)):
            uris = list(dict.fromkeys(uri for row in batch for uri in (row.head, row.tail)))
            new = known.take(np.fromiter(map(hash, uris), dtype=np.int64, count=len(uris)))
            for uri in (uri for uri, fresh in zip(uris, new.tolist(), strict=True) if fresh):
                label = label_of(uri)
                language = [language_of(uri)] if label == "Concept" else []
                nodes[label].write(_line([uri, text_of(uri), *language, label]))
            for row in batch:
                assertions[label_of(row.head)].write(_line(_cells(row)))
                relations.add(row.relation)
            number += len(batch)
        links = {relation: create(name, _LINK_HEADERS[relation]) for relation, name in LINKS.items()}
        for link in store.links() if isinstance(store, LinksEvents) else ():
            relations.add(link.relation)
            links[link.relation].write(_line(_link_cells(link)))
        nodes_of_manifests = create(MANIFEST, _MANIFEST_HEADER)
        nodes_of_manifests.write(_line(["tacit", *properties(manifest).values(), "Manifest"]))
        if linked is not None:
            nodes_of_manifests.write(_line(["links", *link_properties(linked).values(), "Manifest"]))
    after = graph.manifest()
    changed = isinstance(store, LinksEvents) and store.link_manifest() != linked
    if manifest.digest != after.digest or manifest.assertions != number or changed:
        raise GraphError(
            f"the graph changed while it was exported ({number} of {after.assertions} assertions read); export it again"
        )
    (directory / COMMAND).write_text(_instructions(directory), encoding="utf-8")
    from .neo4j.load import statements

    constraints = [*statements(), *statements(sorted(relations.union(manifest.relations)))]
    (directory / CONSTRAINTS).write_text("".join(f"{text};\n" for text in constraints), encoding="utf-8")
    return number


def import_arguments(directory: Path) -> list[str]:
    """Return the arguments for ``neo4j-admin`` to import the files of :func:`export_csv_import` in ``directory``."""
    home = Path(directory).absolute()
    nodes = [f"--nodes={home / name}" for name in (*NODES.values(), MANIFEST)]
    relationships = [f"--relationships={home / name}" for name in (*ASSERTIONS.values(), *LINKS.values())]
    options = [
        "--multiline-fields=true",
        "--skip-bad-relationships=false",
        "--skip-duplicate-nodes=false",
        f"--report-file={home / REPORT}",
    ]
    return ["database", "import", "full", "neo4j", *nodes, *relationships, *options, "--overwrite-destination"]


def export_jsonl(graph: KnowledgeGraph, path: Path) -> int:
    """Write every assertion of ``graph`` as one JSON object per line, without empty fields; return the number of assertions.

    Links are left out: ``tacit link`` makes them again.

    ``path`` is replaced atomically.
    """
    import orjson

    number = 0
    with new_file(Path(path)) as fresh, fresh.open("wb") as file:
        for row in graph.assertions():
            held = {name: value for name, value in zip(row._fields, row, strict=True) if value not in ("", None)}
            file.write(orjson.dumps(held, option=orjson.OPT_APPEND_NEWLINE))
            number += 1
    return number


def _cells(row: Assertion) -> Sequence[Any]:
    rest = (row.source, row.dataset, row.license, row.contributors, row.head_sense, row.tail_sense, row.rank, row.score)
    return (row.head, row.relation, row.tail, row.relation, row.weight, *rest, row.fingerprint()[0])


def _link_cells(link: Link) -> Sequence[Any]:
    mention = [link.role, link.position] if link.relation == "Mentions" else []
    return (link.head, link.relation, link.tail, link.relation, *mention, link.fingerprint()[0])


def _line(cells: Iterable[Any]) -> str:
    """Return one CSV line: texts quoted, with quotes doubled, numbers unquoted; empty cells become no property."""
    return ",".join(map(_cell, cells)) + "\n"


def _cell(value: Any) -> str:
    if value is None or value == "":
        return ""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else repr(value)


def _instructions(directory: Path) -> str:
    command = shlex.join(["neo4j-admin", *import_arguments(directory)])
    constraints = shlex.join(["cypher-shell", "--file", str(Path(directory).absolute() / CONSTRAINTS)])
    return (
        f"Stop the server (an import replaces the whole database), then run:\n\n{command}\n\n"
        f"Start the server again and create the constraints:\n\n{constraints}\n"
    )
