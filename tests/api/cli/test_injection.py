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


def check(tacit: Tacit, commands: list[list[str]]) -> None:
    """Run every command: it ends well or with one sentence, and nothing that steers a terminal comes out."""
    for command in commands:
        outcome = tacit(*command)
        assert outcome.status in (0, 2), (command, outcome)
        assert "Traceback" not in outcome.err, command
        assert "\x1b" not in outcome.out + outcome.err, command
        assert "\x07" not in outcome.out + outcome.err, command


@pytest.mark.parametrize("engine", ["store", "index"])
def test_lookups_and_scores_with_hostile_text_change_nothing(
    tacit: Tacit, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = state(graph)
    engine_options = ["--engine", engine]
    items = [{"id": text, "history": [text, "A dog."], "response": text} for text in TEXTS]
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    check(
        tacit,
        [
            ["score", "items.jsonl", "--graph", graph, "-m", "grounding", *options, *engine_options]
            for options in ([], ["--explain"], ["--text"])
        ],
    )
    for text in TEXTS:
        check(tacit, [
            ["neighbours", graph, text, *engine_options],
            ["neighbours", graph, "dog", "--relation", text, *engine_options],
            ["neighbours", graph, "dog", "--language", text, *engine_options],
            ["hops", graph, text, "dog", text, *engine_options],
            ["paths", graph, text, "dog", *engine_options],
            ["triples", graph, "--between", text, "dog", "--and", "bone", text, *engine_options],
            ["score", "items.jsonl", "--graph", graph, "--metrics", text],
        ])  # fmt: skip
    assert state(graph) == before
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


def test_event_lookups_with_hostile_text_change_nothing(
    tacit: Tacit, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = state(graph)
    Path("items.jsonl").write_text("", encoding="utf-8")
    for text in TEXTS:
        check(tacit, [
            ["tails", graph, text],
            ["tails", graph, "PersonX cooks dinner for PersonY", text],
            ["tails", graph, text, text],
            ["heads", graph, text],
            ["info", text],
            ["load", "conceptnet", "items.jsonl", "--into", graph, "--relation", text],
        ])  # fmt: skip
    assert state(graph) == before
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


@pytest.mark.parametrize("text", TEXTS[:4])
def test_cypher_with_hostile_text_changes_nothing(
    tacit: Tacit, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = state(graph)
    check(tacit, [
        ["cypher", graph, text],
        ["cypher", graph, "MATCH (n:Concept {text: $text}) RETURN n, $text AS text", "--param", f"text={text}"],
        ["cypher", graph, f"MATCH (n:Concept {{text: '{text}'}}) RETURN n"],
        ["export", graph, "out.nt", "--query", f"MATCH (n:Concept {{text: '{text}'}}) RETURN n"],
    ])  # fmt: skip
    assert state(graph) == before


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
def test_writing_queries_are_refused(
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
