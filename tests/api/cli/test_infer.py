"""``tacit infer``: answers with edges as text and JSON, CICERO's own questions, and wrong usage in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tacit.graph import open_graph
from tacit.graph.cypher_store import claim_query

Tacit = Callable[..., Any]
COOK = {"id": "cook", "turns": ["I cooked dinner for you.", "Thank you!"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cook.jsonl"
    path.write_text(json.dumps(COOK) + "\n")
    return path


def test_answers_with_their_edges(tacit: Tacit, file: Path, sample_graph: str) -> None:
    shown = tacit("infer", file, "--graph", sample_graph, "--target", "1", "--question", "reaction", "--quiet")
    assert shown.status == 0, shown.err
    assert shown.out.splitlines()[:2] == ["cook, turn 1: I cooked dinner for you.", "  reaction"]
    assert "the listener feels grateful: PersonX cooks dinner for PersonY -oReact-> grateful" in shown.out
    every = tacit("infer", file, "--graph", sample_graph, "--quiet")
    assert "cook, turn 2: Thank you!\n  no edge: cause, subsequent, prerequisite, motivation, reaction" in every.out


def test_json_has_parameters_that_find_each_edge(tacit: Tacit, file: Path, sample_graph: str) -> None:
    [row] = tacit("infer", file, "--graph", sample_graph, "--json", "--quiet").rows
    assert row["id"] == "cook"
    assert [turn["turn"] for turn in row["turns"]] == [0, 1]
    answers = [answer for edge_row in row["turns"][0]["answers"].values() for answer in edge_row]
    assert len(answers) > 5
    with open_graph(sample_graph) as graph:
        for answer in answers:
            [edge_row] = graph.run(row["turns"][0]["query"], answer["parameters"]).records()
            assert edge_row["relation"] == answer["relation"]
    assert row["turns"][0]["query"] == claim_query().text


def test_a_cicero_record_has_its_own_question(tacit: Tacit, tmp_path: Path, sample_graph: str) -> None:
    record = {
        "ID": "c", "Dialogue": ["A: Hi .", "B: I cooked dinner for you ."], "Target": "I cooked dinner for you .",
        "Question": "What is or could be the motivation of target?", "Choices": ["a", "b"],
    }  # fmt: skip
    path = tmp_path / "cicero.json"
    path.write_text(json.dumps(record) + "\n{}\n")
    shown = tacit("infer", path, "--graph", sample_graph, "--json", "--quiet")
    [row] = shown.rows
    [turn] = row["turns"]
    assert (turn["turn"], list(turn["answers"])) == (1, ["motivation"])
    assert turn["answers"]["motivation"]
    assert "line 2" in shown.err
    output = tmp_path / "out.jsonl"
    assert tacit("infer", path, "--graph", sample_graph, "--output", output, "--quiet").status == 0
    assert output.read_text() == shown.out
    assert "$head" in tacit("infer", path, "--graph", sample_graph, "--cypher", "--quiet").out


def test_infer_draws_a_picture_of_one_dialogue(tacit: Tacit, file: Path, tmp_path: Path, sample_graph: str) -> None:
    picture, command = tmp_path / "cook.svg", ["infer", file, "--graph", sample_graph, "--quiet", "--svg"]
    assert tacit(*command, picture).status == 0
    titles = [title.text or "" for title in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == "Five questions about 2 turns"
    assert "the listener feels grateful: PersonX cooks dinner for PersonY -oReact-> grateful" in titles
    file.write_text(file.read_text() + json.dumps(COOK | {"id": "other"}) + "\n")
    both = tacit(*command, tmp_path / "both.svg")
    assert (both.status, (tmp_path / "both.svg").exists()) == (2, False)
    assert "has several dialogues, and --svg draws one; choose it with --item ID" in both.err
    assert tacit(*command, tmp_path / "both.svg", "--item", "other").status == 0


def test_the_picture_of_the_page_is_what_the_command_draws(tacit: Tacit, file: Path, tmp_path: Path, sample_graph: str) -> None:
    command = ["infer", file, "--graph", sample_graph, "--target", "1", "--quiet", "--svg", tmp_path / "infer.svg"]
    assert tacit(*command).status == 0
    drawn, shown = (folder / "infer.svg" for folder in (tmp_path, Path(__file__).parents[3] / "docs"))
    assert drawn.read_text(encoding="utf-8") == shown.read_text(encoding="utf-8"), "draw docs/infer.svg anew: docs/cicero.md"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "3"], "dialogue cook, has 2 turns, so there is no turn 3"),
        (["--question", "why"], "unknown question 'why'; choose from cause, subsequent"),
        (["--comet", "/nowhere/comet"], "/nowhere/comet"),
        (["--encoder", "/nowhere/encoder"], "/nowhere/encoder"),
    ],
)
def test_errors_are_one_sentence(tacit: Tacit, file: Path, sample_graph: str, words: list[str], message: str) -> None:
    shown = tacit("infer", file, "--graph", sample_graph, "--quiet", *words)
    assert shown.status == (1 if "nowhere" in message else 2)
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_no_graph_and_no_dialogues(tacit: Tacit, file: Path, tmp_path: Path, sample_graph: str) -> None:
    assert "missing" in tacit("infer", file, "--graph", tmp_path / "missing").err
    empty = tmp_path / "other.jsonl"
    empty.write_text('{"a": 1}\n')
    shown = tacit("infer", empty, "--graph", sample_graph, "--quiet")
    assert (shown.status, shown.out) == (2, "")
    assert "has no dialogue; the first error: line 1: neither history and response" in shown.err
