"""The commands that ask: their JSON is what the graph itself answers, the same through the index and the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph

Tacit = Callable[..., Any]

ENGINES = ("store", "index", "auto")


@pytest.mark.parametrize("engine", ENGINES)
def test_hops_are_rows_for_scripts(tacit: Tacit, sample_graph: str, engine: str) -> None:
    rows = tacit("hops", sample_graph, "dog", "bone", "Dogs", "chew", "flibbertigibbet", "--engine", engine, "--json")
    assert rows.json == [
        {"source": "dog", "target": "bone", "hops": 1},
        {"source": "dog", "target": "Dogs", "hops": 0},
        {"source": "dog", "target": "chew", "hops": 2},
        {"source": "dog", "target": "flibbertigibbet", "hops": -1},
    ]
    assert "not in" in rows.err
    assert "'flibbertigibbet'" in rows.err


def test_hops_of_an_unknown_source_are_minus_one(tacit: Tacit, sample_graph: str) -> None:
    outcome = tacit("hops", sample_graph, "flibbertigibbet", "bone", "dog", "--json")
    assert [row["hops"] for row in outcome.json] == [-1, -1]
    assert outcome.err.count("'flibbertigibbet'") == 1


def test_hops_suggest_a_concept_for_an_unknown_word(tacit: Tacit, sample_graph: str) -> None:
    outcome = tacit("hops", sample_graph, "dog", "umbrela")
    assert outcome.status == 0
    assert outcome.err.endswith("; did you mean umbrella?\n")


def test_hops_stop_at_the_limit(tacit: Tacit, sample_graph: str) -> None:
    assert tacit("hops", sample_graph, "dog", "chew", "--max-hops", 1, "--json").json[0]["hops"] == -1


@pytest.mark.parametrize("engine", ENGINES)
def test_neighbours_are_those_of_the_graph(tacit: Tacit, sample_graph: str, engine: str) -> None:
    for hop, limit in ((1, 10), (2, 7), (3, 0)):
        rows = tacit("neighbours", sample_graph, "dogs", "--hop", hop, "--limit", limit, "--engine", engine, "--json").json
        with open_graph(sample_graph) as graph:
            expected = graph.neighbours("/c/en/dog", hop, limit)
        assert [(row["uri"], row["hop"], row["weight"]) for row in rows] == [tuple(neighbour) for neighbour in expected]
        assert [row["text"] for row in rows] == [neighbour.text for neighbour in expected]


def test_neighbours_by_relation(tacit: Tacit, sample_graph: str) -> None:
    rows = tacit("neighbours", sample_graph, "dog", "--relation", "IsA", "--relation", "HasA", "--json").json
    assert {row["text"] for row in rows} == {"animal", "pet", "puppy", "fur"}


def test_neighbours_as_a_table(tacit: Tacit, sample_graph: str) -> None:
    outcome = tacit("neighbours", sample_graph, "dog", "--relation", "HasA")
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["text", "weight", "hop", "uri"]
    assert lines[2].split()[0] == "fur"
    assert lines[2].endswith("/c/en/fur")
    nothing = tacit("neighbours", sample_graph, "dog", "--relation", "MannerOf")
    assert (nothing.status, nothing.out) == (0, "")
    assert nothing.err.startswith("no concept is exactly 1 hop")


@pytest.mark.parametrize("engine", ENGINES)
def test_paths_are_those_of_the_graph(tacit: Tacit, sample_graph: str, engine: str) -> None:
    rows = tacit("paths", sample_graph, "dog", "doctor", "--limit", 4, "--engine", engine, "--json").json
    with open_graph(sample_graph) as graph:
        expected = graph.paths("/c/en/dog", "/c/en/doctor", limit=4)
    assert len(rows) == len(expected) > 0
    assert [row["text"] for row in rows] == [path.text() for path in expected]
    assert [row["strength"] for row in rows] == [path.strength for path in expected]
    assert all((row["nodes"][0], row["node_texts"][-1]) == ("/c/en/dog", "doctor") for row in rows)
    assert all(len(row["steps"]) == row["hops"] == len(row["nodes"]) - 1 for row in rows)


def test_path_to_itself(tacit: Tacit, sample_graph: str) -> None:
    (row,) = tacit("paths", sample_graph, "dog", "the dogs", "--json").json
    assert (row["hops"], row["strength"], row["nodes"], row["steps"]) == (0, None, ["/c/en/dog"], [])
    assert tacit("paths", sample_graph, "dog", "dog").status == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("hops", [1, 2])
def test_triples_are_those_of_the_graph(tacit: Tacit, sample_graph: str, engine: str, hops: int) -> None:
    forms = [
        ["--between", "dog", "cat", "--and", "bone", "animal"],
        ["--between", "dog", "--between", "cat", "--and", "bone", "--and", "animal"],
        ["--between=dog", "cat", "--and=bone", "animal"],
    ]
    with open_graph(sample_graph) as graph:
        expected = graph.triples_between(["/c/en/dog", "/c/en/cat"], ["/c/en/bone", "/c/en/animal"], 1 if hops == 1 else 2)
    assert expected
    for form in forms:
        rows = tacit("triples", sample_graph, *form, "--hops", hops, "--engine", engine, "--json").json
        assert [row["text"] for row in rows] == [path.text() for path in expected]
    limited = tacit("triples", sample_graph, *forms[0], "--hops", hops, "--engine", engine, "--limit", 1, "--json").json
    assert [row["text"] for row in limited] == [expected[0].text()]


def test_tails_and_heads(tacit: Tacit, sample_graph: str) -> None:
    head = "PersonX cooks dinner for PersonY"
    rows = tacit("tails", sample_graph, "person x cooks dinner for person y.", "xWant", "--json").json
    with open_graph(sample_graph) as graph:
        expected = graph.tails(head, "xWant")
    assert expected
    assert {(row["head_text"], row["relation"]) for row in rows} == {(head, "xWant")}
    assert [row["tail"] for row in rows] == [assertion.tail for assertion in expected]
    everything = tacit("tails", sample_graph, head, "--json").json
    assert {row["relation"] for row in everything} > {"xWant", "xNeed"}
    assert len(tacit("tails", sample_graph, head, "--limit", 2, "--json").json) == 2
    heads = tacit("heads", sample_graph, "cooks dinner", "--json").json
    assert heads == [{"text": head, "uri": "/e/PersonX_cooks_dinner_for_PersonY"}]
    assert tacit("tails", sample_graph, heads[0]["uri"], "xWant", "--json").json == rows


def test_a_concept_uri_stands_for_itself(tacit: Tacit, sample_graph: str) -> None:
    assert tacit("hops", sample_graph, "/c/en/dog", "/c/en/bone", "--json").json[0]["hops"] == 1


def test_unknown_texts_are_all_named(tacit: Tacit, sample_graph: str) -> None:
    outcome = tacit("triples", sample_graph, "--between", "dog", "gobbledygook", "--and", "flibbertigibbet")
    assert outcome.status == 2
    assert "'gobbledygook'" in outcome.err
    assert "'flibbertigibbet'" in outcome.err
    assert "'dog'" not in outcome.err


def test_an_unknown_language_is_an_input_error(tacit: Tacit, sample_graph: str) -> None:
    assert tacit("neighbours", sample_graph, "dog", "--language", "fr").status == 2


def test_without_a_writable_index_folder_the_store_answers(
    tacit: Tacit, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    graph = tmp_path / "graph"
    tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", graph)
    (graph / "index").write_text("a file where the folder should be")
    outcome = tacit("hops", graph, "dog", "bone", "--json")
    assert outcome.json[0]["hops"] == 1
    assert "using the store, which is slower" in outcome.err
    assert tacit("hops", graph, "dog", "bone", "--engine", "index").status != 0
