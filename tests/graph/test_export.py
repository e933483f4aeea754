"""Exports are read back; test_conformance.py checks that Neo4j's own import reads them too."""

from __future__ import annotations

import csv
from pathlib import Path

import orjson
import pytest
from tacit.cypher import Query
from tacit.graph import Assertion, open_graph
from tacit.graph.embedded import engine, numbers
from tacit.graph.export import export_csv_import, export_jsonl

from tests.conftest import GraphOf
from tests.graph.example_rows import NASTY_ROWS, SMALL

ROWS = [*SMALL, *NASTY_ROWS]


def test_json_lines_are_read_back(graph_of: GraphOf, tmp_path: Path) -> None:
    out = tmp_path / "graph.jsonl"
    assert export_jsonl(graph_of(SMALL), out) == len(SMALL)
    rows = [Assertion(**orjson.loads(line)) for line in out.read_bytes().splitlines()]
    assert sorted(rows) == sorted(SMALL)
    assert list(tmp_path.glob("*.writing")) == []


def test_a_failed_export_leaves_no_file(tmp_path: Path) -> None:
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(SMALL)
        graph.close()
        with pytest.raises(Exception, match="is closed"):
            export_jsonl(graph, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("size", ["small", "large"])
def test_csv_files_are_quoted_as_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    opened: list[int] = []
    if size == "large":  # read by table, opened anew before each, with windows that are too large for the engine at first
        monkeypatch.setattr(engine, "APPENDED", 0)
        monkeypatch.setattr(numbers, "_REOPEN_AFTER", 1)
        table, reopen = engine.Engine.table, engine.Engine.reopen

        def counted(self: engine.Engine, memory: int) -> None:
            opened.append(memory)
            reopen(self, memory)

        monkeypatch.setattr(engine.Engine, "reopen", counted)

        def full(self: engine.Engine, statement: Query, within: dict[str, int]) -> object:
            if within["stop"] - within["start"] > 1024:
                raise engine.OutOfMemory("the buffer pool is full")
            return table(self, statement, within)

        monkeypatch.setattr(engine.Engine, "table", full)
    with open_graph(tmp_path / "g", create=True) as graph:
        graph.load(ROWS)
        opened.clear()
        assert export_csv_import(graph, tmp_path / "out") == len(ROWS)
    tables = len({row.relation for row in ROWS})
    assert (len(opened) > tables) if size == "large" else not opened
    with (tmp_path / "out" / "concept-assertions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "out" / "concepts.csv").open(encoding="utf-8", newline="") as file:
        uris = {row[":ID(Concept)"]: row["uri"] for row in csv.DictReader(file)}
    assert sorted(uris.values()) == sorted({uri for r in ROWS for uri in (r.head, r.tail) if uri.startswith("/c/")})
    read = {
        (uris[row[":START_ID(Concept)"]], row[":TYPE"], uris[row[":END_ID(Concept)"]], row["source"], float(row["weight:double"]))
        for row in rows
    }
    assert read == {(r.head, r.relation, r.tail, r.source, r.weight) for r in ROWS if r.head.startswith("/c/")}
    script = (tmp_path / "out" / "import.txt").read_text(encoding="utf-8")
    assert "neo4j-admin database import full neo4j --nodes=" in script
    assert "--overwrite-destination" in script
