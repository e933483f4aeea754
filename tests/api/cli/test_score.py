"""The command ``score``: what comes out for every kind of line, in order, to stdout or into a file that appears whole."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tacit.api import score_file
from tacit.graph import open_graph, open_index
from tacit.loaders import ItemError, read_items
from tacit.reasoning import Reasoner, load_metric

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
            "percentiles": {"grounding": score.percentile},
            "signature": {"grounding": str(metric.signature)},
        }
        for item, score in zip(items, expected, strict=True)
    ]
    assert "grounding" in outcome.err
    assert str(metric.signature) in outcome.err
    assert "another graph" not in outcome.err


def test_percentiles_against_another_graph_are_noted(tacit: Tacit, sample: Path, tmp_path: Path) -> None:
    assert tacit("load", "conceptnet", sample / "conceptnet.csv", "--into", tmp_path / "graph").status == 0
    outcome = tacit("score", sample / "dialogues.jsonl", "--graph", tmp_path / "graph", "--metrics", "grounding")
    assert "percentiles of grounding are against a reference of another graph" in outcome.err
    assert " with the graph e9f22b085cf437af|" in outcome.rows[0]["signature"]["grounding"]


@pytest.fixture
def no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without torch."""
    monkeypatch.setattr("tacit.reasoning.describing.find_spec", lambda name: None if name == "torch" else object())


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """Four rated responses, which are dialogue items too."""
    responses = ("Take an umbrella.", "The piano is loud.", "Then we stay at home and read a book.", "Rain makes the street wet.")
    rows = (
        {"id": str(index), "history": ["It is raining."], "response": response, "rating": index}
        for index, response in enumerate(responses)
    )
    file = tmp_path / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.mark.usefixtures("no_models")
@pytest.mark.parametrize("graph", ["none", "option", "environment"])
def test_default_metrics_are_the_same_in_commands_and_python(
    tacit: Tacit, rated: Path, sample_graph: str, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--graph", sample_graph] if graph == "option" else []
    if graph == "environment":
        monkeypatch.setenv("TACIT_GRAPH", sample_graph)
    expected = ["association"] if graph == "none" else ["grounding"]  # without models
    scored = tacit("score", rated, *options)
    assert [list(row["scores"]) for row in scored.rows] == [expected] * 4  # the headline first
    explained = tacit("explain", rated, *options, "--json")
    assert list(explained.json["items"][0]["explanations"]) == expected
    evaluated = tacit("evaluate", rated, *options, "--json", "--resamples", 100)
    assert [row["metric"] for row in evaluated.json] == expected
    for outcome in (scored, explained, evaluated):
        [reason] = [line for line in outcome.err.splitlines() if line.startswith("scoring with ")]
        assert reason.startswith(f"scoring with {expected[0]}, which agrees best with human ratings")
        assert ("grounding" in reason) is (graph != "none")
        [lacking] = [line for line in outcome.err.splitlines() if line.startswith("not run: ")]
        assert "coherence" in lacking
        assert "pip install 'tacit-kg[neural]'" in lacking
        assert ("grounding" in lacking) is (graph == "none")
    where = None if graph == "none" else sample_graph
    score_file(rated, tmp_path / "out.jsonl", where)
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == scored.out
    with Reasoner(where) as reasoner:
        assert list(reasoner.signatures.items()) == list(scored.rows[0]["signature"].items())


@pytest.mark.usefixtures("no_models")
def test_named_metrics_replace_the_default(tacit: Tacit, rated: Path, sample_graph: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_GRAPH", sample_graph)
    outcome = tacit("score", rated, "--metrics", "length,repetition")
    assert [list(row["scores"]) for row in outcome.rows] == [["length", "repetition"]] * 4
    assert "scoring with" not in outcome.err
    assert "not run" not in outcome.err
    assert tacit("score", rated, "--quiet").err == ""
    monkeypatch.setenv("TACIT_GRAPH", str(rated.parent / "none"))
    assert "there is no graph at" in tacit("score", rated).err
    assert tacit("score", rated, "--graph", sample_graph).status == 0  # the option comes before the variable


def test_the_default_graph_is_that_of_other_commands_too(
    tacit: Tacit, sample_graph: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "missing argument 'GRAPH'" in tacit("info").err
    monkeypatch.setenv("TACIT_GRAPH", sample_graph)
    assert tacit("info").out == tacit("info", sample_graph).out
    assert tacit("metrics", "grounding", "--json").json["ready"]


@pytest.mark.parametrize(
    "words",
    [
        ["neighbours", "GRAPH", "--limit", 2, "dog"],
        ["hops", "GRAPH", "dog", "cat", "no-such-word"],
        ["paths", "GRAPH", "dog", "doctor", "--limit=1"],
        ["triples", "GRAPH", "--between", "dog", "--and", "bone"],
        ["tails", "GRAPH", "PersonX cooks dinner for PersonY", "xIntent"],
        ["heads", "GRAPH", "cooks"],
        ["cypher", "GRAPH", "used_for", "-p", "concept=knife"],
        ["export", "GRAPH", "OUT"],
    ],
)
def test_the_default_graph_comes_before_other_arguments(
    tacit: Tacit, sample_graph: str, words: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [tmp_path / "out.jsonl" if word == "OUT" else word for word in words]
    arguments = [sample_graph if word == "GRAPH" else word for word in words]
    without = [word for word in words if word != "GRAPH"]
    assert tacit(*without).status == 2
    expected = tacit(*arguments, "--json").json
    monkeypatch.setenv("TACIT_GRAPH", str(tmp_path / "none"))
    assert tacit(*arguments, "--json").json == expected  # the argument comes before the variable
    monkeypatch.setenv("TACIT_GRAPH", sample_graph)
    assert tacit(*without, "--json").json == expected
    if words[0] != "triples":
        assert "missing" in tacit(words[0]).err.lower()


@pytest.mark.usefixtures("no_models")
def test_an_unreadable_file_is_reported_before_the_default_metrics(tacit: Tacit, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_bytes(b"\xff\xfe\x00\x01" * 9)
    outcome = tacit("score", file, "--strict")
    assert (outcome.status, outcome.err.count("\n")) == (2, 1), outcome.err


def test_parquet_and_text_exclude_each_other(tacit: Tacit, rated: Path, tmp_path: Path) -> None:
    words = ["score", rated, "--metrics", "length", "--format", "parquet"]
    assert "leave them out, or write .jsonl" in tacit(*words, "--text", "-o", tmp_path / "out.parquet").err
    assert "name one with --output" in tacit(*words).err


@pytest.mark.usefixtures("no_models")
def test_a_text_begins_with_the_headline_and_its_percentile(tacit: Tacit, rated: Path, sample_graph: str) -> None:
    lines = tacit("score", rated, "--graph", sample_graph, "--metrics", "association,grounding", "--text").out.splitlines()
    assert lines[1:3] == ["    It is raining.", "  > Take an umbrella."]
    identity, value = lines[0].split(": ")
    assert identity == "0"
    assert re.fullmatch(r"association \d\.\d{3}, percentile [\d.]+", value)
    assert lines[3] == f"  {value}"
    alone = tacit("score", rated, "--metrics", "association", "--text").out.splitlines()
    assert (alone[0], alone[3]) == ("0", lines[3])


@pytest.mark.usefixtures("no_models")
def test_without_metrics_a_picture_shows_grounding(tacit: Tacit, rated: Path, sample_graph: str, tmp_path: Path) -> None:
    named, default = tmp_path / "named.svg", tmp_path / "default.svg"
    assert tacit("explain", rated, "--graph", sample_graph, "--metrics", "grounding", "-o", named).status == 0
    assert tacit("explain", rated, "--graph", sample_graph, "-o", default).status == 0
    assert default.read_bytes() == named.read_bytes()
    assert tacit("explain", rated, "-o", default).status == 0  # no graph: of the headline
    assert b"association" in default.read_bytes()


def test_scores_do_not_depend_on_batch_size_or_engine(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    base = ["score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding", "--quiet"]
    expected = tacit(*base)
    assert expected.err == ""
    for options in (["--batch-size", 1], ["--batch-size", 3], ["--engine", "store"], ["--engine", "index"]):
        assert tacit(*base, *options).out == expected.out


def test_explain_names_the_evidence(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    rows = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding", "--explain").rows
    for row in rows:
        pieces = row["evidence"]["grounding"]["pieces"]
        assert sum(piece["share"] for piece in pieces) == pytest.approx(row["scores"]["grounding"])
    assert any(piece["path"] for row in rows for piece in row["evidence"]["grounding"]["pieces"])


def test_evidence_in_words(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    out = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding", "--text").out
    assert "My dog was alone the whole day" in out
    assert "> Take him for a walk" in out
    assert "-Desires-> walk" in out


def test_rows_of_every_kind_keep_their_order(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
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
        outcome = tacit("score", file, "--graph", sample_graph, "--metrics", "grounding", "--batch-size", size)
        assert outcome.status == 0
        shape = [(row["id"], row.get("line"), "error" in row) for row in outcome.rows]
        assert shape == [
            (None, 1, True), ("a", None, False), ("7", None, False), (None, 5, True), ("6/2", None, False), ("6/3", None, False),
            (None, 7, True), (None, 8, True), ("short", 9, True), ("none", 10, True),
        ]  # fmt: skip
        assert "line 1: " in outcome.err
    strict = tacit("score", file, "--graph", sample_graph, "--metrics", "grounding", "--strict")
    assert strict.status == 2
    assert strict.err.count("\n") == 1


def test_a_file_without_items_is_an_input_error(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text('{"a": 1}\n' * 20, encoding="utf-8")
    outcome = tacit("score", file, "--graph", sample_graph, "--metrics", "grounding")
    assert outcome.status == 2
    assert len(outcome.rows) == 20
    assert "has nothing that can be scored" in outcome.err
    file.write_text("", encoding="utf-8")
    assert tacit("score", file, "--graph", sample_graph, "--metrics", "grounding").status == 0


def test_standard_input_and_gzip(
    tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (sample / "dialogues.jsonl").read_bytes()
    expected = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding").out
    packed = tmp_path / "d.jsonl.gz"
    packed.write_bytes(gzip.compress(data))
    assert tacit("score", packed, "--graph", sample_graph, "--metrics", "grounding").out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert tacit("score", "-", "--graph", sample_graph, "--metrics", "grounding").out == expected


def test_a_truncated_file_fails(tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path) -> None:
    lines = (sample / "dialogues.jsonl").read_bytes().splitlines(keepends=True)
    rated = b"".join(b'{"history": ["a"], "response": "b", "rating": %d}\n' % index for index in range(40))
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
def test_an_output_on_a_full_disk_is_one_sentence(tacit: Tacit, sample: Path, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "out.txt").symlink_to("/dev/full")
    for target in ("/dev/full", tmp_path / "out.txt") if words[0] == "score" else (tmp_path / "out.txt",):
        outcome = tacit(*words, sample / "dialogues.jsonl", "--metrics", "length", "-o", target)
        assert (outcome.status, outcome.out) == (2, ""), outcome.err
        assert outcome.err.splitlines()[-1].endswith(
            f"{target} cannot be written: No space left on device; free some space, or write elsewhere"
        )


def test_output_file_is_written_whole(tacit: Tacit, sample: Path, sample_graph: str, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    expected = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding").out
    outcome = tacit("score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding", "--output", out)
    assert outcome.out == ""
    assert out.read_text(encoding="utf-8") == expected
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"history": ["a dog"], "response": "a bone"}) + "\nnot json\n")
    assert (
        tacit(
            "score", broken, "--graph", sample_graph, "--metrics", "grounding", "--output", out, "--strict", "--batch-size", 1
        ).status
        == 2
    )
    assert out.read_text(encoding="utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.jsonl", "scores.jsonl"]


def test_an_unknown_pipeline_is_one_sentence(tacit: Tacit, sample: Path, sample_graph: str) -> None:
    outcome = tacit(
        "score", sample / "dialogues.jsonl", "--graph", sample_graph, "--metrics", "grounding", "--pipeline", "no_such_pipeline"
    )
    assert outcome.status in (1, 2)
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
