"""Graphs for the conformance suite that live longer than one test: a backend filled with given rows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import neo4j
import pytest
from tacit.graph import Assertion, KnowledgeGraph, WritableGraph, open_graph
from tacit.graph.export import export_csv_import, import_arguments
from tacit.graph.index import build_index, open_index_directory

from tests.conftest import SHORT_LIVED, wipe


@contextmanager
def opened(backend: str, rows: Iterable[Assertion], folder: Path) -> Iterator[KnowledgeGraph]:
    """Give a graph of ``rows`` in one of ``conftest.BACKENDS``; the test is skipped where it needs a server and there is none."""
    kind = backend.removeprefix("index-from-")
    with _empty_neo4j() if kind == "neo4j" else open_graph(folder / "graph", engine="store", create=True) as store:
        store.load(rows)
        if kind == backend:
            yield store
            return
        with open_index_directory(build_index(store, folder / "index"), store) as index:
            yield index


@contextmanager
def _empty_neo4j() -> Iterator[WritableGraph]:
    url = os.environ.get("TACIT_TEST_NEO4J")
    if not url:
        pytest.skip("no Neo4j server; name one in TACIT_TEST_NEO4J")
    wipe(url)
    environment = os.environ.get
    with open_graph(
        url, engine="store", user=environment("NEO4J_USERNAME", "neo4j"), password=environment("NEO4J_PASSWORD", "tacit-test")
    ) as store:
        yield store


@contextmanager
def imported(graph: KnowledgeGraph, script: Path, home: Path) -> Iterator[WritableGraph]:
    """Give a server of its own that holds ``graph``, filled by ``neo4j-admin`` from exported files."""

    def server(*words: str) -> str:
        environment = SHORT_LIVED | os.environ | {"NEO4J_HEAP": "400m", "NEO4J_PAGECACHE": "100m"}
        return subprocess.run([str(script), *words], env=environment, check=True, capture_output=True, text=True).stdout.strip()

    export_csv_import(graph, home / "csv")
    server("admin", str(home), *import_arguments(home / "csv"))
    password = os.environ.get("NEO4J_PASSWORD", "tacit-test")
    url = server("start", str(home), "0")
    try:
        with neo4j.GraphDatabase.driver(url, auth=("neo4j", password)) as driver, driver.session() as session:
            for statement in (home / "csv" / "constraints.cypher").read_text(encoding="utf-8").split(";\n"):
                if statement.strip():
                    session.run(statement).consume()  # type: ignore[arg-type]
        with open_graph(url, engine="store", user="neo4j", password=password) as store:
            yield store
    finally:
        server("kill", str(home))  # nobody reads the folder again, and an orderly end takes ten seconds
