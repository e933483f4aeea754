"""``tacit train responder``: a model with a card that has the licences of its dialogues, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests.api.conftest import Tacit
from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.training.tiny_dialogues import tiny_dialogues


def test_the_command_writes_a_card_with_the_licences(tacit: Tacit, tmp_path: Path) -> None:
    model = save_tiny_causal(tmp_path / "tiny", kind="llama")
    file = tmp_path / "dailydialog-train.jsonl"
    file.write_text("".join(json.dumps({"turns": turns}) + "\n" for turns in tiny_dialogues(40, only="pets")), encoding="utf-8")
    (tmp_path / "small.toml").write_text("batch_size = 2\nlongest = 48\n", encoding="utf-8")
    words = ["train", "responder", file, "--model", model, "--recipe", tmp_path / "small.toml", "--steps", 2]
    facts = tacit(*words, "-o", tmp_path / "out", "--json").json
    assert facts["steps"] == 2
    assert facts["data"][0]["dialogues"] == 40
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| licence of dailydialog | CC BY-NC-SA 4.0 |" in card
    assert "tacit train responder dailydialog-train.jsonl" in card
    assert str(tmp_path) not in card
    missing = tacit("train", "responder", file, "--model", tmp_path / "none", "-o", tmp_path / "other")
    assert missing.status != 0
    assert "there is no model folder" in missing.err
