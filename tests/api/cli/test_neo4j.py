"""The same commands against a Neo4j server print the same answers as against a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Tacit = Callable[..., Any]

pytestmark = pytest.mark.neo4j


@pytest.fixture
def server(tacit: Tacit, neo4j_url: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sample, loaded into the server through the command line."""
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    for kind, name in (("conceptnet", "conceptnet.csv"), ("atomic2020", "atomic2020.tsv")):
        outcome = tacit("load", kind, sample / name, "--into", neo4j_url, "--json")
        assert outcome.status == 0, outcome.err
    return neo4j_url


@pytest.mark.slow
def test_answers_are_the_same_as_from_a_folder(tacit: Tacit, server: str, sample: Path, sample_graph: str) -> None:
    dialogues = sample / "dialogues.jsonl"
    commands: list[list[Any]] = [
        ["tails", "GRAPH", "PersonX cooks dinner for PersonY"],
        ["heads", "GRAPH", "dinner"],
        ["cypher", "GRAPH", "contradictions"],
        ["cypher", "GRAPH", "used_for", "--param", "concept=knife"],
    ]
    for engine in ("store", "index"):
        commands += [
            ["neighbours", "GRAPH", "dog", "--hop", 2, "--engine", engine],
            ["hops", "GRAPH", "dog", "bone", "doctor", "piano", "--engine", engine],
            ["paths", "GRAPH", "dog", "doctor", "--engine", engine],
            ["triples", "GRAPH", "--between", "dog", "cat", "--and", "bone", "animal", "--hops", 2, "--engine", engine],
        ]
    for words in commands:
        here, there = (
            tacit(*(graph if word == "GRAPH" else word for word in words), "--json") for graph in (sample_graph, server)
        )
        assert here.json == there.json, words
        assert here.json
    for engine in ("store", "index"):
        scores = [
            tacit("score", dialogues, "--graph", graph, "-m", "grounding", "--explain", "--engine", engine)
            for graph in (sample_graph, server)
        ]
        assert scores[0].rows == scores[1].rows
    digests = {tacit("info", graph, "--json").json["digest"] for graph in (sample_graph, server)}
    assert len(digests) == 1


def test_wrong_credentials_are_one_sentence(tacit: Tacit, neo4j_url: str) -> None:
    outcome = tacit("info", neo4j_url, "--user", "neo4j", "--password", "wrong")
    assert outcome.status == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert "wrong" not in outcome.err
    assert "Traceback" not in outcome.err
