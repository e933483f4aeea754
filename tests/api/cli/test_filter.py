"""The command ``filter``: what is kept and how it comes out, what the report says, and lines that hold no dialogue."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.graph import open_graph, open_index
from tacit.reasoning.filtering import TripleFilter, wilson
from tacit.reasoning.text.language import load_pipeline

Tacit = Callable[..., Any]

LINES = [
    '{"id": "walk", "turns": ["My dog was alone.", "Take him for a walk!"], "mood": {"a": [1, null]}, "triples": "old"}',
    "not json",
    '{"turns": ["Hello.", "Hi."]}',
    "",
    '{"history": ["My dog."], "response": "A bone."}',
    '{"id": 7, "turns": ["I like soup.", "Me too.", "It is raining.", "Take an umbrella."]}',
    '{"turns": []}',
]


@pytest.fixture
def dialogues(tmp_path: Path) -> Path:
    """A file with three dialogues of which two hold triples, an empty one, and two lines that hold none."""
    path = tmp_path / "in" / "dialogues.jsonl"
    path.parent.mkdir()
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def test_kept_dialogues_come_out_whole_and_in_order(tacit: Tacit, dialogues: Path, sample_graph: str) -> None:
    outcome = tacit("filter", dialogues, "--graph", sample_graph)
    assert outcome.status == 0
    first, second = outcome.rows
    assert {key: value for key, value in first.items() if key != "triples"} == {
        "id": "walk",
        "turns": ["My dog was alone.", "Take him for a walk!"],
        "mood": {"a": [1, None]},
    }
    (walk,) = [triple for triple in first["triples"] if triple["relation"] == "Desires"]
    assert walk["turns"] == [0, 1]
    assert (walk["head"], walk["tail"], walk["source_text"], walk["target_text"]) == ("dog", "walk", "dog", "walk")
    assert (walk["head_uri"], walk["weight"] > 0, walk["source"]) == ("/c/en/dog", True, "conceptnet")
    assert second["id"] == 7
    assert {tuple(triple["turns"]) for triple in second["triples"]} == {(2, 3)}
    assert "line 2: not JSON" in outcome.err
    assert "line 5: " in outcome.err
    assert "50.0%" in outcome.err


def test_json_report(tacit: Tacit, dialogues: Path, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    report = tacit("filter", dialogues, "--graph", sample_graph, "--output", out, "--json").json
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    low, high = wilson(2, 4)
    assert report["read"] == 4
    assert report["kept"] == len(rows) == 2
    assert report["share"] == {"value": 0.5, "low": low, "high": high}
    assert report["triples"] == sum(len(row["triples"]) for row in rows)
    assert report["triples_per_dialogue"] == report["triples"] / 2
    assert report["errors"] == len(report["faults"]) == 2
    assert report["signature"].startswith("filter|graph:")
    refused = tacit("filter", dialogues, "--graph", sample_graph, "--json")
    assert (refused.status, refused.out) == (2, "")
    assert "--output" in refused.err


def test_filter_finds_the_triples_of_the_library(tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path) -> None:
    lines = (sample / "dialogues.jsonl").read_text(encoding="utf-8").splitlines()
    turns = [row["turns"] if "turns" in row else [*row["history"], row["response"]] for row in map(json.loads, lines)]
    file = tmp_path / "d.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps({"turns": some}) + "\n" for some in turns).encode()))
    with open_graph(sample_graph) as store, open_index(store) as graph:
        for options, words in (
            ({}, []),
            ({"count": "pairs"}, ["--count", "pairs"]),
            ({"excluded": ["RelatedTo", "IsA"]}, ["--exclude-relation", "RelatedTo", "--exclude-relation", "IsA"]),
            ({"relations": ["UsedFor"]}, ["--relation", "UsedFor"]),
        ):
            expected_matches = TripleFilter(graph, load_pipeline(), **options).matches(turns)  # type: ignore[arg-type]
            expected = [
                [(match.turn, match.assertion.head, match.assertion.relation, match.assertion.weight) for match in matches]
                for matches in expected_matches
                if matches
            ]
            assert expected
            for engine in ("index", "store"):
                rows = tacit("filter", file, "--graph", sample_graph, "--engine", engine, *words).rows
                assert expected == [
                    [(triple["turns"][0], triple["head_uri"], triple["relation"], triple["weight"]) for triple in row["triples"]]
                    for row in rows
                ]


def test_standard_input_and_a_file_without_dialogues(
    tacit: Tacit, dialogues: Path, sample_graph: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = tacit("filter", dialogues, "--graph", sample_graph).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(dialogues.read_bytes())))
    assert tacit("filter", "-", "--graph", sample_graph).out == expected
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    outcome = tacit("filter", empty, "--graph", sample_graph)
    assert (outcome.status, outcome.out) == (0, "")
    empty.write_text('{"a": 1}\n' * 12)
    outcome = tacit("filter", empty, "--graph", sample_graph)
    assert (outcome.status, outcome.out) == (2, "")
    assert "the first 10 of 12" in outcome.err
    assert "has no dialogue; the first error: line 1" in outcome.err
    out = tmp_path / "none.jsonl"
    report = tacit("filter", "-", "--graph", sample_graph, "-o", out, "--json")
    assert report.json["share"] is None
    assert out.read_text() == ""


def test_strict_leaves_the_old_output(tacit: Tacit, dialogues: Path, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    out.write_text("before")
    outcome = tacit("filter", dialogues, "--graph", sample_graph, "--output", out, "--strict")
    assert outcome.status == 2
    assert f"{dialogues}:2: " in outcome.err
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "kept.jsonl"]
    long = tmp_path / "in" / "long.jsonl"
    long.write_text(json.dumps({"turns": ["x" * 200_001, "a dog"]}) + '\n{"turns": ["a dog", "a walk"]}\n')
    outcome = tacit("filter", long, "--graph", sample_graph)
    assert outcome.status == 0
    assert "line 1: turn 1 of the history has 200,001 characters" in outcome.err
    assert tacit("filter", long, "--graph", sample_graph, "--strict").status == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--relation", "Usedfor"], "did you mean UsedFor"),
        (["--exclude-relation", "used for"], "relation name"),
        (["--count", "words"], "triples"),
        (["--output", "/nowhere/at/all.jsonl"], "no folder"),
        (["--pipeline", "no_such_pipeline"], "pipeline"),
    ],
)
def test_wrong_options_are_one_sentence(tacit: Tacit, dialogues: Path, sample_graph: str, words: list[str], hint: str) -> None:
    outcome = tacit("filter", dialogues, "--graph", sample_graph, *words)
    assert outcome.status in (1, 2)
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert hint in outcome.err


def test_a_missing_file_or_graph_is_an_input_error(tacit: Tacit, dialogues: Path, sample_graph: str, tmp_path: Path) -> None:
    assert tacit("filter", tmp_path / "nowhere", "--graph", sample_graph).status == 2
    assert tacit("filter", dialogues, "--graph", tmp_path / "nowhere").status == 2
    assert tacit("filter", dialogues).status == 2
    assert tacit("filter", dialogues, "--graph", sample_graph, "--output", dialogues).status == 2
