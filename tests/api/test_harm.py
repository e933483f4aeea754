"""Text that tries to be a query, or to steer the terminal, through every command: nothing in the graph changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph
from tacit.graph.model import checksum

Tacit = Callable[..., Any]

TEXTS = [
    "dog'}) DETACH DELETE n //",
    'dog"}) MATCH (n) DETACH DELETE n //',
    "dog`]-() DETACH DELETE n //",
    "dog\\'}) DETACH DELETE n //",
    "dog'; DROP TABLE Concept; //",
    "/c/en/dog'}) DETACH DELETE n //",
    "\x1b[2J\x1b[31mdog\x07",
    "../../dog",
    "$(touch dog)",
]


@pytest.fixture(scope="module")
def graph(sample_graph: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    copy = tmp_path_factory.mktemp("harm") / "graph"
    shutil.copytree(sample_graph, copy)
    return str(copy)


def state(graph: str) -> tuple[Any, ...]:
    """All that must stay: digest, the sum over the rows themselves, counts."""
    with open_graph(graph) as store:
        return store.manifest().digest, checksum(store.assertions()), store.counts()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("engine", ["store", "index"])
def test_nothing_changes(
    tacit: Tacit, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, engine: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = state(graph)
    items = Path("items.jsonl")
    items.write_text(json.dumps({"id": text, "history": [text, "A dog."], "response": text}) + "\n", encoding="utf-8")
    asked = ["--engine", engine]
    commands = [
        ["neighbours", graph, text, *asked],
        ["neighbours", graph, "dog", "--relation", text, *asked],
        ["neighbours", graph, "dog", "--language", text, *asked],
        ["hops", graph, text, "dog", text, *asked],
        ["paths", graph, text, "dog", *asked],
        ["triples", graph, "--between", text, "dog", "--and", "bone", text, *asked],
        ["tails", graph, text],
        ["tails", graph, "PersonX cooks dinner for PersonY", text],
        ["tails", graph, text, text],
        ["heads", graph, text],
        ["cypher", graph, text],
        ["cypher", graph, "RETURN $text AS text", "--param", f"text={text}"],
        ["cypher", graph, "MATCH (n:Concept {text: $text}) RETURN n", "--param", f"text={text}"],
        ["cypher", graph, f"MATCH (n:Concept {{text: '{text}'}}) RETURN n"],
        ["score", "items.jsonl", "--graph", graph, *asked],
        ["score", "items.jsonl", "--graph", graph, "--text", *asked],
        ["score", "items.jsonl", "--graph", graph, "--metrics", text],
        ["export", graph, "out.nt", "--query", f"MATCH (n:Concept {{text: '{text}'}}) RETURN n"],
        ["load", "conceptnet", "items.jsonl", "--into", graph, "--relation", text],
        ["info", text],
    ]
    for command in commands:
        outcome = tacit(*command)
        assert outcome.status in (0, 2), (command, outcome)
        assert "Traceback" not in outcome.err, command
        assert "\x1b" not in outcome.out + outcome.err, command
        assert "\x07" not in outcome.out + outcome.err, command
    assert state(graph) == before
    assert not (tmp_path / "dog").exists()


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n) DETACH DELETE n",
        "MATCH (n:Concept) SET n.text = 'x'",
        "CREATE (:Concept {uri: '/c/en/x', text: 'x', language: 'en'})",
        "MERGE (:Concept {uri: '/c/en/x'})",
        "DROP TABLE Concept",
        "MATCH (n) RETURN n; MATCH (n) DETACH DELETE n",
        "COPY (MATCH (n:Concept) RETURN n.text) TO 'stolen.csv'",
        "LOAD FROM 'items.jsonl' RETURN *",
        "EXPORT DATABASE 'stolen'",
        "CHECKPOINT",
        "CALL threads=1",
        "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
    ],
)
def test_queries_that_do_more_than_read_are_refused(
    tacit: Tacit, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = state(graph)
    for command in (["cypher", graph, query], ["export", graph, "out.nt", "--query", query]):
        outcome = tacit(*command)
        assert outcome.status == 2, outcome
        assert outcome.out == ""
        assert outcome.err.count("\n") == 1
    assert state(graph) == before
    assert list(tmp_path.iterdir()) == []
