"""``tacit respond`` and ``tacit perplexity`` with a tiny model: rows that score reads, the choice by metrics, and wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests.api.conftest import Tacit
from tests.reasoning.models.tiny_causal import save_tiny_causal

HISTORIES = [
    {"id": "a", "history": ["i have a dog"], "response": "give it a bone"},
    {"id": "b", "turns": ["hello", "we went to the beach"]},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("responding") / "tiny", kind="llama", positions=96, initializer_range=0.1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in HISTORIES), encoding="utf-8")
    return path


def test_respond_output_can_be_scored(tacit: Tacit, model: Path, file: Path, tmp_path: Path) -> None:
    words = ["respond", file, "--model", model, "--tokens", 6, "-k", 2]
    rows = tacit(*words, "--json").rows
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["references"] == ["give it a bone"]
    assert rows[1]["history"] == ["hello", "we went to the beach"]
    assert all(row["response"] == row["responses"][0] and len(row["responses"]) == 2 for row in rows)
    assert rows[0]["signature"].startswith("responder|model:tiny@")
    assert rows[0]["signature"].endswith("|turns:4|p:0.9|tokens:6|seed:0|v:1")
    assert tacit(*words, "--output", tmp_path / "out.jsonl").status == 0
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()] == rows
    assert len(tacit("score", tmp_path / "out.jsonl", "-m", "length", "--json").rows) == 2
    shown = tacit(*words)
    assert rows[0]["responses"][1].strip() in shown.out
    assert "signature responder" in shown.err


def test_the_chosen_response_comes_with_its_edges(tacit: Tacit, model: Path, file: Path, sample_graph: str) -> None:
    words = ["respond", file, "--model", model, "--tokens", 12, "--metrics", "grounding,length", "--graph", sample_graph]
    row = tacit(*words, "--json").rows[0]
    assert len(row["responses"]) == 8
    ranks = [candidate["rank"] for candidate in row["ranking"]]
    assert ranks == sorted(ranks)
    assert row["response"] == row["responses"][row["ranking"][0]["number"]]
    assert set(row["ranking"][0]["scores"]) == set(row["metrics"]) == {"grounding", "length"}
    shown = tacit(*words)
    assert f"* {row['response']} (grounding" in shown.out


def test_perplexity(tacit: Tacit, model: Path, file: Path, tmp_path: Path) -> None:
    outcome = tacit("perplexity", file, "--model", model, "--json", "--output", tmp_path / "each.jsonl").json
    assert outcome["low"] <= outcome["perplexity"] <= outcome["high"]
    assert outcome["responses"] == len((tmp_path / "each.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert "perplexity" in tacit("perplexity", file, "--model", model).out


def test_errors_are_one_sentence(tacit: Tacit, model: Path, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_GRAPH", raising=False)
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"history": []}\n', encoding="utf-8")
    for words, sentence in (
        (["respond", file, "--model", tmp_path / "none"], "there is no model folder"),
        (["respond", tmp_path / "none.jsonl", "--model", model], "none.jsonl"),
        (["respond", empty, "--model", model], "the history is empty, so there is nothing to respond to"),
        (
            ["respond", file, "--model", model, "--rerank", "grounding"],
            "the metric grounding needs a graph; give one with --graph",
        ),
        (["respond", file, "--model", model, "--top-p", 2], "p must be > 0 and <= 1"),
        (["perplexity", file, "--model", tmp_path / "none"], "there is no model folder"),
    ):
        outcome = tacit(*words)
        assert outcome.status != 0
        assert outcome.out == ""
        assert sentence in outcome.err
        assert len([line for line in outcome.err.splitlines() if line.strip()]) == 1
