"""Exports: what is written is read back, by Neo4j's own import too."""

from __future__ import annotations

import csv
from pathlib import Path

import orjson
import pytest
from tacit.graph import Assertion, LoadEntry, checksum, open_graph
from tacit.graph.export import CONSTRAINTS, export_csv_import, export_jsonl, import_arguments

from ..conftest import GraphOf
from .test_reliability import OwnServer, own_server
from .worlds import BONE, DOG, NASTY_ROWS, SMALL, random_rows

__all__ = ["own_server"]

ROWS = [*SMALL, *NASTY_ROWS]


def test_json_lines_are_read_back(graph_of: GraphOf, tmp_path: Path) -> None:
    out = tmp_path / "graph.jsonl"
    assert export_jsonl(graph_of(SMALL), out) == len(SMALL)
    rows = [Assertion(**orjson.loads(line)) for line in out.read_bytes().splitlines()]
    assert sorted(rows) == sorted(SMALL)
    assert list(tmp_path.glob("*.writing")) == []


def test_an_export_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL)
        graph.close()
        with pytest.raises(Exception, match="is closed"):
            export_jsonl(graph, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_csv_files_are_quoted_as_csv(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        assert export_csv_import(graph, tmp_path / "out") == len(ROWS)
    with (tmp_path / "out" / "concept-assertions.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    read = {
        (row[":START_ID(Concept)"], row[":TYPE"], row[":END_ID(Concept)"], row["source"], row["weight:double"]) for row in table
    }
    assert read == {(r.head, r.relation, r.tail, r.source, repr(r.weight)) for r in ROWS if r.head.startswith("/c/")}
    with (tmp_path / "out" / "concepts.csv").open(encoding="utf-8", newline="") as file:
        uris = [row["uri:ID(Concept)"] for row in csv.DictReader(file)]
    assert sorted(uris) == sorted({uri for r in ROWS for uri in (r.head, r.tail) if uri.startswith("/c/")})
    told = (tmp_path / "out" / "import.txt").read_text(encoding="utf-8")
    assert "neo4j-admin database import full neo4j --nodes=" in told
    assert "--overwrite-destination" in told


@pytest.mark.slow
@pytest.mark.neo4j
def test_neo4j_admin_imports_what_was_exported(own_server: OwnServer, tmp_path: Path) -> None:
    rows = list({row.fingerprint()[0]: row for row in [*ROWS, *random_rows(5_000, 1500, 5)]}.values())
    entry = LoadEntry("test", 1, 'a "file", with\nlines', "sha", {"languages": ["en", "naïve 犬"]}, len(rows), len(rows))
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(rows, lambda: entry)
        manifest, counts = graph.manifest(), graph.counts()
        export_csv_import(graph, tmp_path / "out")
    own_server.do("admin", *import_arguments(tmp_path / "out"))
    url = own_server.start()
    with open_graph(url, engine="store") as graph:
        assert graph.manifest() == manifest
        assert graph.manifest().digest == manifest.digest
        assert graph.counts() == counts
        read = list(graph.assertions())
        assert sorted(read, key=repr) == sorted(rows, key=repr)
        assert checksum(read) == manifest.checksum
        for statement in (tmp_path / "out" / CONSTRAINTS).read_text(encoding="utf-8").split(";\n"):
            if statement:
                graph._server.driver.execute_query(statement)  # type: ignore[attr-defined]
        assert graph.load(rows, lambda: entry) == (0, len(rows)), "an imported graph knows its assertions"
        assert graph.load([Assertion(DOG, "Entails", BONE)]).new == 1
        assert graph.counts().assertions == len(rows) + 1
