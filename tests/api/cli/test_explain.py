"""The command ``explain``: one item or several, in words, JSON, a picture or a page; what it refuses; files whole or not."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tacit.graph import open_graph
from tacit.graph.cypher_store import claim_query

from tests.api.conftest import Tacit


@pytest.fixture
def dialogues(sample: Path) -> Path:
    return sample / "dialogues.jsonl"


def test_explanation_in_words_with_claims_and_queries(tacit: Tacit, sample_graph: str, dialogues: Path) -> None:
    shown = tacit("explain", dialogues, "--graph", sample_graph, "--metrics", "grounding", "--cypher")
    assert shown.status == 0, shown.err
    lines = shown.out.splitlines()
    assert lines[0] == "dinner/good"
    assert '    +0.245 "soup" fits "cook" (turn 2): cook <-CreatedBy- soup; one in 51 random histories is as near' in lines
    assert "  grounding claims 4 edges of the graph" in lines
    assert "    soup -CreatedBy-> cook  weight 2, conceptnet /d/tacit/sample" in lines
    commands = [line.strip() for line in lines if line.strip().startswith("tacit cypher")]
    assert len(commands) == 4
    rows = tacit(*shlex.split(commands[0])[1:], "--json").json
    assert [(row["head_text"], row["relation"], row["tail_text"], row["weight"]) for row in rows] == [
        ("soup", "CreatedBy", "cook", 2.0)
    ]
    assert "    WHERE type(r) = $relation" in lines


def test_json_output_equals_the_library(tacit: Tacit, sample_graph: str, dialogues: Path) -> None:
    names = "grounding,commonsense"
    shown = tacit("explain", dialogues, "--graph", sample_graph, "--metrics", names, "--first", "2", "--json").json
    assert [item["id"] for item in shown["items"]] == ["dinner/good", "dinner/bad"]
    explanation = shown["items"][1]["explanations"]["commonsense"]
    assert (explanation["metric"], explanation["query"]) == ("commonsense", claim_query().text)
    assert {"value", "signature", "note", "text", "history", "response", "pieces", "claims"} <= set(explanation)
    scored = [
        json.loads(line) for line in tacit("score", dialogues, "--graph", sample_graph, "--metrics", names).out.splitlines()
    ]
    assert explanation["value"] == scored[1]["scores"]["commonsense"]
    with open_graph(sample_graph) as graph:
        assert all(graph.run(explanation["query"], claim["parameters"]).rows for claim in explanation["claims"])


def test_one_item_by_id_or_number(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    rows = [
        {"id": "2", "turns": ["a dog", "a bone"]},
        {"history": ["a cat"], "response": "milk"},
        {"history": [], "response": "x"},
    ]
    file = tmp_path / "some.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for item, response in (("2/2", "a bone"), ("2", "milk"), ("3", "x"), ("1", "a bone")):
        shown = tacit("explain", file, "--graph", sample_graph, "--metrics", "grounding", "--item", item, "--json").json
        assert shown["items"][0]["explanations"]["grounding"]["response"] == response
    missing = tacit("explain", file, "--graph", sample_graph, "--metrics", "grounding", "--item", "9")
    assert (missing.status, "has no item '9' among its 3" in missing.err) == (2, True)


def test_pictures_and_pages_by_the_output_s_name(tacit: Tacit, sample_graph: str, dialogues: Path, tmp_path: Path) -> None:
    arguments = ("--history", "I have a dog.", "--response", "Does it like <script>bones</script>?", "--graph", sample_graph)
    picture, page, words = tmp_path / "it.svg", tmp_path / "it.html", tmp_path / "it.txt"
    assert tacit("explain", *arguments, "--output", picture).status == 0
    root = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert root.attrib["width"] == "960"
    assert tacit("explain", *arguments, "--output", page, "--metrics", "grounding,length").out == ""
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert "<script>bones" not in text
    assert not re.search(r"(?:href|src)=|url\(", text)
    assert tacit("explain", *arguments, "--output", words, "--cypher", "--metrics", "grounding").status == 0
    assert "bones" in words.read_text(encoding="utf-8")
    both = tacit("explain", dialogues, "--graph", sample_graph, "--metrics", "grounding,length", "--output", picture)
    assert (both.status, "one item and one metric" in both.err) == (2, True)
    assert ElementTree.fromstring(picture.read_text(encoding="utf-8")).attrib["width"] == "960"  # as it was


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "give a file of items, or a response"),
        (["FILE", "--response", "x"], "give a file of items, or a response"),
        (["FILE", "--history", "x"], "--history goes with --response"),
        (["FILE", "--item", "1", "--first", "2"], "give one of them"),
        (["--response", "x", "--item", "1"], "leave them out with --response"),
        (["FILE", "--output", "it.pdf"], "ends in .svg"),
        (["none.jsonl"], "there is no file none.jsonl"),
    ],
)
def test_invalid_arguments_are_refused(tacit: Tacit, sample_graph: str, dialogues: Path, words: list[str], fault: str) -> None:
    shown = tacit(
        "explain", *[dialogues if word == "FILE" else word for word in words], "--graph", sample_graph, "--metrics", "grounding"
    )
    assert (shown.status, shown.out) == (2, "")
    assert fault in shown.err


def test_lines_without_an_item_are_reported(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    file.write_text('nonsense\n{"history": ["a dog"], "response": "a bone"}\n', encoding="utf-8")
    both = tacit("explain", file, "--graph", sample_graph, "--metrics", "grounding", "--first", "5", "--json").json["items"]
    assert [sorted(item) for item in both] == [["error", "id"], ["explanations", "id"]]
    first = tacit("explain", file, "--graph", sample_graph, "--metrics", "grounding")
    assert (first.status, "no item can be explained; the first error: line 1" in first.err) == (2, True)
    file.write_text("", encoding="utf-8")
    assert "has no item" in tacit("explain", file, "--graph", sample_graph, "--metrics", "grounding").err


def test_the_picture_of_the_front_page_is_what_the_command_draws(
    tacit: Tacit, sample_graph: str, dialogues: Path, tmp_path: Path
) -> None:
    command = ["explain", dialogues, "--graph", sample_graph, "--output", tmp_path / "explanation.svg"]
    assert tacit(*command).status == 0
    drawn, shown = (folder / "explanation.svg" for folder in (tmp_path, Path(__file__).parents[3] / "docs"))
    assert drawn.read_text(encoding="utf-8") == shown.read_text(encoding="utf-8"), (
        "draw docs/explanation.svg anew: docs/explanation.md"
    )
