"""A language model that reads dialogues: windows, the loss by hand, what learns, what is held out, and going on after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.reasoning import load_metric

pytest.importorskip("transformers")

from tacit.reasoning.models.causal_lm import open_causal
from tacit.reasoning.training import language_model as room
from tacit.reasoning.training.corpora import hold_out
from tacit.reasoning.training.language_model import train_language_model, windows
from tacit.reasoning.training.recipe import CoherenceRecipe, HeadRecipe, LanguageModelRecipe

from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

CORPORA = {"one": tiny_dialogues(60, only="pets"), "two": tiny_dialogues(60, seed=1, only="sea")}
SMALL = CoherenceRecipe(head=HeadRecipe(width=8, epochs=1, batch=32), cross_corpus_weights=False)
TINY = LanguageModelRecipe(steps=12, tokens=128, rate=1e-2, checkpoint_every=4)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("language") / "tiny", kind="llama")


@pytest.fixture(scope="module")
def read(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    output = tmp_path_factory.mktemp("read") / "model"
    return output, train_language_model(CORPORA, model, output, TINY)


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return {name: weight.float() for name, weight in load_file(folder / "model.safetensors").items()}


turns = st.lists(st.text(st.characters(categories=("L", "P")), min_size=1, max_size=8), min_size=1, max_size=14)


@given(st.lists(turns.map(tuple), max_size=4), st.integers(0, 3))
def test_windows_hold_every_turn_once_and_end_with_the_first_speaker(dialogues: list[tuple[str, ...]], seed: int) -> None:
    found = [window.splitlines() for window in windows(dialogues, np.random.default_rng(seed))]
    assert [line[3:] for window in found for line in window] == [turn for dialogue in dialogues for turn in dialogue]
    for window in found:
        assert 1 <= len(window) <= 5
        assert [line[:3] for line in window] == ["A: " if place % 2 == 0 else "B: " for place in range(len(window))][::-1]


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma2"])
def test_the_loss_is_that_of_each_window_alone(kind: str, tmp_path: Path) -> None:
    import torch

    opened = open_causal(save_tiny_causal(tmp_path / "tiny", kind=kind))
    batches = room._batches(opened, CORPORA["one"][:8], TINY, np.random.default_rng(0))
    assert any(len({len(row) for row in batch}) > 1 for batch in batches)
    for number, batch in enumerate(batches):
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= 128
        losses = []
        for row in batch:
            assert row[0] == opened.begin
            with torch.inference_mode():
                logits = opened.model(input_ids=torch.tensor([row])).logits[0, :-1]
            losses += torch.nn.functional.cross_entropy(logits, torch.tensor(row[1:]), reduction="none").tolist()
        found = room._loss(opened, batches, False)([number], np.random.default_rng(0))
        assert float(found.detach()) == pytest.approx(float(np.mean(losses)), rel=1e-4)


def test_no_more_is_split_into_tokens_than_the_steps_can_take(model: Path) -> None:
    opened = open_causal(model)
    few, many = (
        room._batches(opened, CORPORA["one"], replace(TINY, steps=steps), np.random.default_rng(0)) for steps in (1, 1_000)
    )
    assert 1 <= len(few) < len(many)
    assert sum(map(len, many)) == len(windows(CORPORA["one"], np.random.default_rng(0)))


def test_a_model_that_reads_expects_more_and_only_its_top_learns(read: tuple[Path, dict[str, Any]], model: Path) -> None:
    output, facts = read
    assert facts["nats_after"] < facts["nats_before"] - 0.5
    assert facts["last_loss"] < facts["first_loss"]
    assert facts["began_at"] == 0
    before, after = weights(model), weights(output)
    changed = {name for name, weight in before.items() if not weight.allclose(after[name], rtol=1e-3, atol=1e-4)}
    assert changed
    assert all("layers.1." in name for name in changed)
    held = [turns for split in hold_out(CORPORA, np.random.default_rng(0)).values() for turns in split.held]
    turns = room._held_out_turns(held, np.random.default_rng(0))
    assert room._nats(open_causal(output), turns, lambda _: None) == pytest.approx(facts["nats_after"], abs=1e-5)
    card = (output / "README.md").read_text(encoding="utf-8")
    assert f"{facts['nats_before']:.3f} nats per token before, {facts['nats_after']:.3f} after" in card
    assert str(model.parent) not in card
    metric = load_metric("expectation", language_model=output)
    assert metric.score(["i have a dog"], "give it a bone").value > metric.score(["we went to the beach"], "give it a bone").value


def test_a_gguf_file_may_be_what_it_begins_with(
    read: tuple[Path, dict[str, Any]], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gguf")
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    from tests.reasoning.models.tiny_gguf import save_tiny_gguf

    file = save_tiny_gguf(model, tmp_path / "tiny.gguf")
    facts = train_language_model(CORPORA, file, tmp_path / "model", TINY)
    assert facts["nats_after"] == pytest.approx(read[1]["nats_after"], abs=1e-3)
    found, whole = (load_metric("expectation", language_model=folder) for folder in (tmp_path / "model", read[0]))
    item = (["i have a dog"], "give it a bone")
    assert found.score(*item).value == pytest.approx(whole.score(*item).value, abs=1e-3)


def test_one_seed_is_one_model_and_a_kill_changes_nothing(read: tuple[Path, dict[str, Any]], model: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(stage: str, step: int, _: int) -> None:
        if stage == "training" and step == 7:
            raise Killed

    with pytest.raises(Killed):
        train_language_model(CORPORA, model, tmp_path / "model", TINY, progress=kill)
    assert not (tmp_path / "model").exists()
    told: list[tuple[str, int, int]] = []
    facts = train_language_model(CORPORA, model, tmp_path / "model", TINY, progress=lambda *done: told.append(done))
    assert facts["began_at"] == 4
    assert [one for one in told if one[0] == "training"] == [("training", step, 12) for step in range(5, 13)]
    assert told[0][0] == "evaluating before training"
    assert told[-1] == ("evaluating after training", 36, 36)
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (read[0] / "model.safetensors").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_coherence_holds_out_is_not_read(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.reasoning.models.encoder import open_encoder
    from tacit.reasoning.training import coherence

    held: list[tuple[str, ...]] = []
    seen: list[tuple[str, ...]] = []

    def caught(_: Any, dialogues: Any, *_rest: Any) -> Iterator[Any]:
        seen.extend(dialogues)
        raise InterruptedError

    monkeypatch.setattr(room, "_batches", caught)
    with pytest.raises(InterruptedError):
        train_language_model(CORPORA, model, tmp_path / "out", replace(TINY, seed=3))

    def weighed(dialogues: Any, *_rest: Any) -> None:
        held.extend(dialogues)
        if len(held) == 12:
            raise InterruptedError

    monkeypatch.setattr(coherence, "contrasts", weighed)
    encoder = open_encoder(save_tiny_encoder(tmp_path / "encoder", modes=("mean",)))
    (tmp_path / "out").mkdir()
    with pytest.raises(InterruptedError):
        coherence.train_coherence(CORPORA, encoder, tmp_path / "out", recipe=replace(SMALL, seed=3))
    assert len(held) == 12
    assert sorted([*seen, *held]) == sorted(turns for dialogues in CORPORA.values() for turns in dialogues)


def test_what_cannot_be_trained_is_refused_before_the_work(model: Path, tmp_path: Path) -> None:
    for recipe, sentence in (
        (LanguageModelRecipe(steps=0), "steps is 0; it must be a whole number >= 1"),
        (LanguageModelRecipe(rate=-1.0), "rate is -1.0"), (LanguageModelRecipe(layers=3), "from 1 to 2"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            train_language_model(CORPORA, model, tmp_path / "out", recipe)
    with pytest.raises(InputError, match="give 20 or more"):
        train_language_model({"few": CORPORA["one"][:5]}, model, tmp_path / "out", TINY)
    with pytest.raises(InputError, match="the initial model"):
        train_language_model(CORPORA, model, model, TINY)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(InputError, match="something other than a model"):
        train_language_model(CORPORA, model, tmp_path / "kept", TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
