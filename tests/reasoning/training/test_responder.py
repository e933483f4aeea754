"""Training to respond: the two losses by hand, the distractors, one seed one model, going on after a kill, and wrong input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import InputError

pytest.importorskip("transformers")

from tacit.reasoning.models.causal_lm import open_causal
from tacit.reasoning.training import responder as room
from tacit.reasoning.training.corpora import hold_out
from tacit.reasoning.training.recipe import ResponderRecipe
from tacit.reasoning.training.responder import train_responder

from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.models.tiny_gguf import save_tiny_gguf
from tests.reasoning.training.tiny_dialogues import tiny_dialogues

CORPORA = {"one": tiny_dialogues(40, only="pets"), "dailydialog": tiny_dialogues(40, seed=1, only="sea")}
TINY = ResponderRecipe(steps=12, batch_size=4, rate=1e-2, longest=48, checkpoint_every=5)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_causal(tmp_path_factory.mktemp("responder") / "tiny", kind="llama")


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma2"])
def test_the_loss_does_not_depend_on_the_batch(kind: str, tmp_path: Path) -> None:
    import torch

    opened = open_causal(save_tiny_causal(tmp_path / "tiny", kind=kind))
    recipe = replace(TINY, distractors=2, language_weight=2.0, choice_weight=0.5)
    random = np.random.default_rng(0)
    dialogues = CORPORA["one"][:8]
    examples = room.examples(opened, room._places(dialogues, random, 6), dialogues, recipe, random)
    choosing = room._choosing(opened, 0)
    batches = room._batches(examples, 3)
    assert [len(batch) for batch in batches] == [3, 3]
    for number, batch in enumerate(batches):
        nats, costs = [], []
        for example in batch:
            scores = []
            for index, (row, start) in enumerate(zip(example.rows, example.starts, strict=True)):
                with torch.inference_mode():
                    out = opened.model(input_ids=torch.tensor([row]), output_hidden_states=True)
                    scores.append(float(choosing.choice(out.hidden_states[-1][0, -1])))
                    losses = torch.nn.functional.cross_entropy(out.logits[0, :-1], torch.tensor(row[1:]), reduction="none")
                if index == 0:
                    nats += losses[start - 1 :].tolist()
            costs.append(float(np.log(np.exp(scores).sum()) - scores[0]))
        expected = 2.0 * np.mean(nats) + 0.5 * np.mean(costs)
        assert float(room._loss(opened, choosing, batches, recipe, False)([number], random).detach()) == pytest.approx(
            expected, rel=1e-4
        )


def test_distractors_follow_the_same_history_and_are_turns_of_other_dialogues(model: Path) -> None:
    opened = open_causal(model)
    dialogues = [("a b", "c"), ("d e", "f")]
    (example,) = room.examples(opened, [(dialogues[0], 1)], dialogues, TINY, np.random.default_rng(0))
    true, false = (opened.tokenizer.decode(row[1:]) for row in example.rows)
    assert (true, false) == ("B: a b\nA: c\n", "B: a b\nA: f\n")
    assert [opened.tokenizer.decode(row[start:]) for row, start in zip(example.rows, example.starts, strict=True)] == [
        " c\n",
        " f\n",
    ]
    with pytest.raises(InputError, match="give two dialogues or more"):
        room.examples(opened, [(dialogues[0], 1)], dialogues[:1], TINY, np.random.default_rng(0))


def test_equal_seeds_give_equal_models_even_after_a_kill(model: Path, tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(stage: str, step: int, _: int) -> None:
        if stage == "training" and step == 8:
            raise Killed

    whole = train_responder(CORPORA, model, tmp_path / "whole", TINY)
    assert whole["perplexity_after"] < whole["perplexity_before"]
    assert whole["last_loss"] < whole["first_loss"]
    assert 0 <= whole["chosen"] <= 1
    assert (whole["dialogues"], whole["turns"], whole["steps"], whole["began_at"]) == (72, 216, 12, 0)
    with pytest.raises(Killed):
        train_responder(CORPORA, model, tmp_path / "model", TINY, progress=kill)
    facts = train_responder(CORPORA, model, tmp_path / "model", TINY)
    assert facts["began_at"] == 5
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]
    alone = train_responder(CORPORA, model, tmp_path / "alone", replace(TINY, distractors=0))
    assert alone["chosen"] is None


def test_top_layer_training_works_from_gguf_files(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gguf")
    from safetensors.torch import load_file

    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    facts = train_responder(CORPORA, save_tiny_gguf(model, tmp_path / "tiny.gguf"), tmp_path / "model", TINY)
    assert facts["perplexity_after"] < facts["perplexity_before"]
    before, after = (load_file(folder / "model.safetensors") for folder in (model, tmp_path / "model"))
    same = {name: weight.float().allclose(after[name].float(), rtol=1e-3, atol=1e-4) for name, weight in before.items()}
    changed = [name for name, equal in same.items() if not equal]
    assert changed
    assert all("layers.1." in name for name in changed)


def test_held_out_dialogues_of_coherence_are_excluded(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []

    def caught(_: object, _places: object, dialogues: list[tuple[str, ...]], *_rest: object) -> None:
        seen.extend(dialogues)
        raise InterruptedError

    monkeypatch.setattr(room, "examples", caught)
    with pytest.raises(InterruptedError):
        train_responder(CORPORA, model, tmp_path / "out", replace(TINY, seed=3))
    held = [turns for split in hold_out(CORPORA, np.random.default_rng(3)).values() for turns in split.held_out]
    assert len(held) == 8
    assert sorted([*seen, *held]) == sorted(turns for dialogues in CORPORA.values() for turns in dialogues)


def test_invalid_training_data_is_refused(model: Path, tmp_path: Path) -> None:
    for recipe, sentence in (
        (ResponderRecipe(steps=0), "steps is 0; it must be >= 1"),
        (ResponderRecipe(layers=3), "from 1 to 2"),
    ):
        with pytest.raises(InputError, match=sentence):
            train_responder(CORPORA, model, tmp_path / "out", recipe)
    with pytest.raises(InputError, match="the initial model"):
        train_responder(CORPORA, model, model, TINY)
