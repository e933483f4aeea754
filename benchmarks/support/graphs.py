"""The graphs that benchmarks measure on, made once and kept: real ConceptNet, and a synthetic one with heavy hubs.

Each is an embedded graph with its index beside it; a Neo4j server of the benchmark's own is filled through CSV files, when the
environment names a script that starts one (TACIT_NEO4J_SERVER).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from synthetic_graph import synthetic_rows
from tacit.graph import Assertion, KnowledgeGraph, WritableGraph, open_graph
from tacit.graph.export import export_csv_import, import_arguments
from tacit.loaders import read_conceptnet

REPOSITORY = Path(__file__).parents[2]


def say(text: str) -> None:
    """Tell on standard error what is being done."""
    print(text, file=sys.stderr, flush=True)


def real_file() -> Path | None:
    """The real ConceptNet file, None where there is none; TACIT_TEST_DATA names its folder."""
    data = Path(os.environ.get("TACIT_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    path = data / "conceptnet" / "assertions-en.csv.gz"
    return path if path.is_file() else None


def graph_at(folder: Path, rows: Callable[[], Iterable[Assertion]]) -> WritableGraph:
    """Open the embedded graph in ``folder``, filled with ``rows`` when it is not there yet."""
    graph = open_graph(folder, engine="store", create=True)
    if not graph.manifest().assertions:
        say(f"filling {folder} …")
        graph.load(rows())
    return graph


def named_graph(name: str, work: Path, nodes: int, edges: int) -> WritableGraph | None:
    """Open the graph called ``real`` or ``synthetic``; None when its data is not available."""
    if name == "synthetic":
        return graph_at(work / f"synthetic-{nodes}-{edges}", lambda: synthetic_rows(nodes, edges))
    path = real_file()
    return graph_at(work / "real", lambda: read_conceptnet(path)) if path else None


def neo4j_script() -> Path | None:
    """The script that starts servers, from TACIT_NEO4J_SERVER or beside the checkout; None where there is none."""
    path = Path(os.environ.get("TACIT_NEO4J_SERVER") or REPOSITORY.parent / "shared" / "neo4j" / "neo4j-server")
    return path if os.access(path, os.X_OK) else None


@contextmanager
def neo4j_holding(graph: KnowledgeGraph, script: Path, home: Path) -> Iterator[KnowledgeGraph]:
    """Start a server on ``home`` with ``graph``, which is imported if it is not there yet, and stop it afterwards."""

    def server(*words: str) -> str:
        return subprocess.run([str(script), *words], check=True, capture_output=True, text=True).stdout

    password = os.environ.get("NEO4J_PASSWORD", "tacit-test")
    if not (home / "imported").is_file():
        say(f"importing {graph.url} into a Neo4j server at {home} …")
        export_csv_import(graph, home / "csv")
        server("admin", str(home), *import_arguments(home / "csv"))
        (home / "imported").touch()
    url = server("start", str(home), "0").strip()
    try:
        constrain(url, password, home / "csv" / "constraints.cypher")
        with open_graph(url, engine="store", user="neo4j", password=password) as store:
            if store.manifest().digest != graph.manifest().digest:
                raise SystemExit(f"the server at {home} holds another graph; delete that folder")
            yield store
    finally:
        server("stop", str(home))


def constrain(url: str, password: str, statements: Path) -> None:
    """Make the constraints, and with them the indexes, that an import leaves out."""
    import neo4j

    with neo4j.GraphDatabase.driver(url, auth=("neo4j", password)) as driver, driver.session() as session:
        for statement in statements.read_text(encoding="utf-8").split(";\n"):
            if statement.strip():
                session.run(statement).consume()
        session.run("CALL db.awaitIndexes(600)").consume()
