"""The command ``train cross-encoder`` on responses and on tuples, and the use of what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.conftest import Tacit
from tests.reasoning.models.tiny_encoder import save_tiny_encoder

pytest.importorskip("transformers")


def test_the_command_learns_responses_and_tuples(tacit: Tacit, sample_graph: str, tmp_path: Path) -> None:
    body = save_tiny_encoder(tmp_path / "body")
    rated, judged, recipe = tmp_path / "rated.jsonl", tmp_path / "judged.csv", tmp_path / "recipe.toml"
    rows = [{"history": [f"The dog {number}."], "response": "I like it.", "rating": number % 5} for number in range(30)]
    rated.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    lines = ["head,relation,tail,label", *(f"PersonX sees dog {number},xWant,to like it,{number % 2}" for number in range(30))]
    judged.write_text("\n".join(lines) + "\n", encoding="utf-8")
    recipe.write_text("steps = 2\n", encoding="utf-8")
    shared = ["--model", body, "--recipe", recipe, "--json", "--quiet"]
    answer = tacit("train", "cross-encoder", rated, "--output", tmp_path / "responses", *shared).json
    assert (answer["steps"], answer["ratings"], answer["held_out"]) == (2, 27, 3)
    assert "`rated.jsonl`, 30 ratings" in (tmp_path / "responses" / "README.md").read_text(encoding="utf-8")
    scored = tacit("score", rated, "--metrics", "cross-encoder", "-O", f"cross-encoder.model={tmp_path / 'responses'}").rows
    assert len(scored) == 30
    assert isinstance(scored[0]["scores"]["cross-encoder"], float)
    assert tacit("train", "cross-encoder", judged, "--tuples", "--output", tmp_path / "tuples", *shared).status == 0
    tuples_file = tmp_path / "asked.jsonl"
    tuples_file.write_text('{"head": "PersonX sees a dog", "relation": "xWant", "tail": "to like it"}\n', encoding="utf-8")
    scorer = ["--graph", sample_graph, "--scorer", "cross-encoder", "--quiet"]
    answer = tacit("score-tuples", tuples_file, *scorer, "-O", f"model={tmp_path / 'tuples'}")
    assert all(0 <= row["score"] <= 1 for row in answer.rows)
    refused = tacit("score-tuples", tuples_file, *scorer)
    assert (refused.status, "needs a model" in refused.err) == (2, True)
