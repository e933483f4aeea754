"""``tacit train grade`` on a small world: a checkpoint with its card, that scores, and what cannot be trained on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("bm25s")

from tests.api.conftest import Tacit
from tests.reasoning.metrics.grade.tiny_grade import DIALOGUES
from tests.reasoning.models.tiny_encoder import save_tiny_encoder


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with dialogues, judgements and a tiny encoder."""
    folder = tmp_path_factory.mktemp("grade")
    save_tiny_encoder(folder / "encoder", modes=("mean",))
    settings = f'encoder = "{folder / "encoder"}"\nepochs = 1\nbatch = 16\nlicence = "CDLA"\n'
    (folder / "recipe.toml").write_text(f"{settings}[network]\nlimits = [3, 3]\nhidden = 16\n", encoding="utf-8")
    rows = [[f"{turn} {number}" for turn in dialogue] for number in range(8) for dialogue in DIALOGUES]
    (folder / "talks.jsonl").write_text("".join(json.dumps({"turns": row}) + "\n" for row in rows), encoding="utf-8")
    seen = {"history": rows[0][:2], "response": "no", "rating": 1}
    (folder / "judged.jsonl").write_text(json.dumps(seen) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def words(inputs: Path, sample_graph: Path) -> list[Any]:
    """A command that trains quickly."""
    return [
        "train", "grade", inputs / "talks.jsonl", "--graph", sample_graph, "--exclude", inputs / "judged.jsonl",
        "--recipe", inputs / "recipe.toml",
    ]  # fmt: skip


def test_a_checkpoint_is_trained_and_scores(tacit: Tacit, words: list[Any], inputs: Path, sample_graph: Path) -> None:
    facts = tacit(*words, "-o", inputs / "model", "--json").json
    assert facts["data"] == [{"file": "talks.jsonl", "dialogues": 64, "sha256": facts["data"][0]["sha256"]}]
    assert facts["dialogues"] == 63
    assert sorted(path.name for path in (inputs / "model").iterdir()) == ["README.md", "grade.json", "model.safetensors"]
    assert not list(inputs.glob(".model*"))
    card = (inputs / "model" / "README.md").read_text(encoding="utf-8")
    assert facts["digest"] in card
    assert 'encoder = "encoder"' in card
    assert "limits = [3, 3]" in card
    assert str(inputs) not in card
    (inputs / "items.jsonl").write_text('{"history": ["I have a dog."], "response": "Give it a bone."}\n', encoding="utf-8")
    options = ["-O", f"grade.model={inputs / 'model'}", "-O", f"grade.encoder={inputs / 'encoder'}"]
    scored = tacit(
        "score", inputs / "items.jsonl", "--graph", sample_graph, "--metrics", "grade", *options, "--json", "--explain"
    ).rows[0]
    assert 0 < scored["scores"]["grade"] < 1
    assert f"checkpoint:{facts['digest']}" in scored["signature"]["grade"]
    assert any(piece["kind"] == "keyword" for piece in scored["evidence"]["grade"]["pieces"])
    shown = tacit(*words, "-o", inputs / "model")
    assert shown.status == 0, shown.err
    assert "beats 1st false" in shown.out


def test_unusable_training_data_is_refused(tacit: Tacit, words: list[Any], inputs: Path) -> None:
    (inputs / "other").mkdir()
    (inputs / "other" / "file").touch()
    refused = tacit(*words, "-o", inputs / "other")
    assert (refused.status, "something other" in refused.err) == (2, True)
    (inputs / "wide.toml").write_text("[network]\nhidden = 18\n", encoding="utf-8")
    (inputs / "bad.toml").write_text("epochs: 1\n", encoding="utf-8")
    (inputs / "cut.jsonl.gz").write_bytes(gzip.compress((inputs / "judged.jsonl").read_bytes())[:-9])
    for more, reason in (
        (["--recipe", inputs / "wide.toml"], "multiple of network.heads, 4"), (["--recipe", inputs / "bad.toml"], "is not TOML"),
        (["--recipe", "tune"], "the recipe tune does not exist; give a TOML file, or one of the names frozen, tuned, paper"),
        (["--seed", -1], "--seed is -1; it must be"),
        (["--exclude", inputs / "none.jsonl"], "there is no file"),
        (["--exclude", inputs / "talks.jsonl"], "talks.jsonl has no judgement"),
    ):  # fmt: skip
        refused = tacit(*words, "-o", inputs / "new", *more)
        assert (refused.status, reason in refused.err) == (2, True), refused.err
    refused = tacit(*words, "-o", inputs / "new", "--exclude", inputs / "cut.jsonl.gz")
    assert (refused.status, "cut.jsonl.gz ends early, at record " in refused.err) == (1, True), refused.err
