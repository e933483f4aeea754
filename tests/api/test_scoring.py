"""The command ``score``: what comes out for every kind of line, in order, to stdout or into a file that appears whole."""

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
from tacit.loaders import ItemError, read_items
from tacit.reasoning import load_metric

Tacit = Callable[..., Any]


def test_scores_are_those_of_the_metric(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    outcome = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding")
    items = [item for item in read_items(sample / "dialogues.jsonl") if not isinstance(item, ItemError)]
    with open_graph(sample_graph) as store, open_index(store) as graph:
        metric = load_metric("grounding", graph)
        expected = metric.score_batch([(item.history, item.response) for item in items])
    assert outcome.status == 0
    assert outcome.rows == [
        {
            "id": item.id,
            "scores": {"grounding": score.value},
            "percentiles": {"grounding": None},  # the references that ship are for another graph
            "signature": {"grounding": str(metric.signature)},
        }
        for item, score in zip(items, expected, strict=True)
    ]
    assert "grounding" in outcome.err
    assert str(metric.signature) in outcome.err


def test_batches_and_engines_change_nothing(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    base = ["score", sample / "dialogues.jsonl", "--graph", sample_graph, "--quiet"]
    expected = tacit(*base)
    assert expected.err == ""
    for options in (["--batch-size", 1], ["--batch-size", 3], ["--engine", "store"], ["--engine", "index"]):
        assert tacit(*base, *options).out == expected.out


def test_explain_names_the_evidence(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    rows = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--explain").rows
    for row in rows:
        pieces = row["evidence"]["grounding"]["pieces"]
        assert sum(piece["share"] for piece in pieces) == pytest.approx(row["scores"]["grounding"])
    assert any(piece["path"] for row in rows for piece in row["evidence"]["grounding"]["pieces"])


def test_evidence_in_words(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    out = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--text").out
    assert "My dog was alone the whole day" in out
    assert "> Take him for a walk" in out
    assert "-Desires-> walk" in out


def test_every_kind_of_line_keeps_its_place(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    lines = [
        "not json",
        '{"id": "a", "history": ["My dog sleeps."], "response": "It likes a bone."}',
        "",
        '{"id": 7, "history": "My dog sleeps.\\nReally?", "response": ""}',
        '{"history": [1], "response": "x"}',
        '{"turns": ["A dog.", "A bone.", "A cat."]}',
        '{"id": "lone", "history": ["\\ud800"], "response": "x"}',
        '{"turns": "one"}',
        '{"id": "short", "turns": ["only one"]}',
        '{"id": "none", "history": ["A dog."], "response": null}',
    ]
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for size in (1, 2, 256):
        outcome = tacit("score", file, "--graph", sample_graph, "--batch-size", size)
        assert outcome.status == 0
        shape = [(row["id"], row.get("line"), "error" in row) for row in outcome.rows]
        assert shape == [
            (None, 1, True), ("a", None, False), ("7", None, False), (None, 5, True), ("6/2", None, False), ("6/3", None, False),
            (None, 7, True), (None, 8, True), ("short", 9, True), ("none", 10, True),
        ]  # fmt: skip
        assert "line 1: " in outcome.err
    strict = tacit("score", file, "--graph", sample_graph, "--strict")
    assert strict.status == 2
    assert strict.err.count("\n") == 1


def test_a_file_without_items_is_wrong_input(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text('{"a": 1}\n' * 20, encoding="utf-8")
    outcome = tacit("score", file, "--graph", sample_graph)
    assert outcome.status == 2
    assert len(outcome.rows) == 20
    assert "holds nothing that can be scored" in outcome.err
    file.write_text("", encoding="utf-8")
    assert tacit("score", file, "--graph", sample_graph).status == 0


def test_standard_input_and_gzip(
    tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (sample / "dialogues.jsonl").read_bytes()
    expected = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph).out
    packed = tmp_path / "d.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    assert tacit("score", packed, "--graph", sample_graph).out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert tacit("score", "-", "--graph", sample_graph).out == expected


def test_a_file_that_ends_early_is_no_success(tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path) -> None:
    lines = (sample / "dialogues.jsonl").read_bytes().splitlines(keepends=True)
    rated = b"".join(b'{"history": ["a"], "response": "b", "rating": %d}\n' % place for place in range(40))
    talks = b'{"turns": ["My dog was alone.", "Take him for a walk!"]}\n' * 40
    files = {}
    for name, content in (("items", b"".join(lines)), ("rated", rated), ("talks", talks)):
        files[name] = tmp_path / f"{name}.jsonl.gz"
        packed = gzip.compress(content, 0)
        files[name].write_bytes(packed[: len(packed) * 2 // 3])
    streamed = tacit("score", files["items"], "--metrics", "length")
    assert streamed.status == 1
    assert 4 < len(streamed.rows) < len(lines)
    assert streamed.rows[-1]["error"] == "truncated gzip"
    assert "items.jsonl.gz ends early, at record " in streamed.err
    assert [row["scores"]["length"] > 0 for row in streamed.rows[:-1]] == [True] * (len(streamed.rows) - 1)
    for words in (
        ["evaluate", files["rated"], "-m", "length"],
        ["filter", files["talks"], "--graph", sample_graph, "-o", tmp_path / "out.jsonl"],
        ["explain", files["items"], "--metrics", "length", "--item", "nobody"],
        ["explain", files["items"], "--metrics", "length", "--first", 1000],
    ):
        outcome = tacit(*words)
        assert (outcome.status, outcome.out) == (1, ""), words
        assert outcome.err.count("\n") == 1, outcome.err
        assert "ends early, at record " in outcome.err
    assert tacit("explain", files["items"], "--metrics", "length", "--first", 2).status == 0
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [["score"], ["explain"]], ids=" ".join)
def test_an_output_without_room_is_one_sentence(tacit: Tacit, sample: Path, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "out.txt").symlink_to("/dev/full")
    for target in ("/dev/full", tmp_path / "out.txt") if words[0] == "score" else (tmp_path / "out.txt",):
        outcome = tacit(*words, sample / "dialogues.jsonl", "--metrics", "length", "-o", target)
        assert (outcome.status, outcome.out) == (2, ""), outcome.err
        assert outcome.err.splitlines()[-1].endswith(
            f"{target} cannot be written: No space left on device; free some space, or write elsewhere"
        )


def test_output_file_is_written_whole(tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    expected = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph).out
    outcome = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--output", out)
    assert outcome.out == ""
    assert out.read_text(encoding="utf-8") == expected
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"history": ["a dog"], "response": "a bone"}) + "\nnot json\n")
    assert tacit("score", broken, "--graph", sample_graph, "--output", out, "--strict", "--batch-size", 1).status == 2
    assert out.read_text(encoding="utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "scores.jsonl"]


def test_an_unknown_pipeline_is_one_sentence(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    outcome = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--pipeline", "no_such_pipeline")
    assert outcome.status in (1, 2)
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
