"""Models of CICERO: all kinds learn both tasks on tiny models, losses against ones computed another way, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.questions import QUESTIONS, Instance

pytest.importorskip("transformers")

from tacit.reasoning.inference import load_chooser
from tacit.reasoning.inference.inputs import question_input
from tacit.reasoning.inference.trained import TrainedModel, open_trained
from tacit.reasoning.training import cicero as room
from tacit.reasoning.training.cicero import train_cicero
from tacit.reasoning.training.recipe import CiceroRecipe, open_recipe

from tests.reasoning.models.tiny_causal import save_tiny_causal
from tests.reasoning.models.tiny_encoder import save_tiny_encoder
from tests.reasoning.models.tiny_t5 import save_tiny_t5

NAMES = ("dog", "cat")
CHOICES = ("the dog wants a bone and it eats", "the cat wants the sea and it swims")
ROWS = [
    Instance(f"d{number}", [f"A: i have a {name}", "B: give it food now"], "give it food now", "cause", CHOICES, (answer,))
    for number in range(4) for answer, name in enumerate(NAMES)
]  # fmt: skip
SENTENCES = [
    *(f" {row.question.text} \\n target: {row.target} \\n (0) (1) context: {' <utt> '.join(row.dialogue)}" for row in ROWS[:2]),
    *CHOICES, *(question.text for question in QUESTIONS),
]  # fmt: skip
QUICK = CiceroRecipe(epochs=20, rate=1e-2, checkpoint_every=10, optimizer="adamw")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    words = [word for text in SENTENCES for word in text.split()]
    return {
        "seq2seq": save_tiny_t5(folder / "t5", SENTENCES),
        "causal": save_tiny_causal(folder / "llama", kind="llama", sentences=[*SENTENCES, *words] * 2, positions=512),
        "encoder": save_tiny_encoder(folder / "encoder", modes=("mean",)),
    }


def test_the_recipe_follows_the_paper() -> None:
    recipe = open_recipe("cicero", "paper")
    assert (recipe.optimizer, recipe.rate, recipe.batch_size, recipe.epochs, recipe.source) == ("adafactor", 5e-6, 4, 5, 512)


@pytest.mark.parametrize("kind", ["seq2seq", "causal"])
def test_a_model_learns_to_answer(kind: str, models: dict[str, Path], tmp_path: Path) -> None:
    facts = train_cicero(ROWS, models[kind], tmp_path / "model", QUICK, task="generate")
    assert (facts["kind"], facts["examples"], facts["steps"]) == (kind, 8, 40)
    assert facts["last_loss"] < 0.5 * facts["first_loss"]
    opened = open_trained(tmp_path / "model")
    answers = opened.answer([(instance.question, instance.target, instance.dialogue) for instance in ROWS[:2]])
    assert len(answers) == 2
    assert all(text and "\n" not in text for text in answers)
    for text in answers if kind == "seq2seq" else ():  # other tokenizers may split a text in another way than it was written
        ids = opened.opened.tokenizer(text, add_special_tokens=False)["input_ids"]
        assert 4 <= len(ids) <= 20
        pairs = list(pairwise(ids))
        assert len(pairs) == len(set(pairs))
    [values] = opened.measure(ROWS[:1])
    assert values.shape == (2, 1)
    source = question_input(ROWS[0].question, ROWS[0].target, ROWS[0].dialogue)
    assert values[0, 0] == pytest.approx(-_nats(opened, source, CHOICES[0]), abs=2e-3)
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "8 instances of 4 dialogues" in card
    assert "tacit infer" in card
    with pytest.raises(ModelError, match="was trained to generate; give one of tacit train cicero --task choose"):
        opened.check_task("choose")


def _nats(model: TrainedModel, source: str, text: str) -> float:
    """The mean loss per token of a text and its end, by one forward pass of transformers' own loss."""
    import torch

    module: Any = model.opened.model
    tokenizer: Any = model.opened.tokenizer
    if model.record.kind == "seq2seq":
        labels = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.inference_mode():
            return float(module(input_ids=torch.tensor([tokenizer(source)["input_ids"]]), labels=labels).loss)
    before = tokenizer(source + "\nanswer:")["input_ids"]
    after = [*tokenizer(f" {text}")["input_ids"], tokenizer.eos_token_id]
    labels = torch.tensor([[-100] * len(before) + after])
    with torch.inference_mode():
        return float(module(input_ids=torch.tensor([before + after]), labels=labels).loss)


@pytest.mark.parametrize(("kind", "answers"), [("seq2seq", "all"), ("encoder", "all"), ("encoder", "single")])
def test_a_model_learns_to_choose_and_judges(kind: str, answers: str, models: dict[str, Path], tmp_path: Path) -> None:
    recipe = replace(QUICK, answers=answers, epochs=30)  # type: ignore[arg-type]
    facts = train_cicero(ROWS, models[kind], tmp_path / "model", recipe, task="choose")
    assert facts["last_loss"] < 0.7 * facts["first_loss"]
    opened = open_trained(tmp_path / "model")
    values = opened.measure(ROWS)
    if kind == "encoder":
        assert [(int(choices[:, 0].argmax()),) for choices in values] == [instance.correct for instance in ROWS]
    else:
        assert all(set(choices[:, 1]) <= {0, 1} for choices in values)
    chooser = load_chooser(None, ["answers", "trained"], model=tmp_path / "model")
    rows = chooser.choose(ROWS[:2], 1)
    assert set(rows[0].choices[0].shares) == {"answers", "trained"}
    assert opened.signature in rows[0].signature
    assert len(chooser.values(ROWS[:1])[0][0]) == 1 + len(opened.features)
    with pytest.raises(ModelError, match="was trained to choose; give one of tacit train cicero --task generate"):
        opened.answer([(ROWS[0].question, ROWS[0].target, ROWS[0].dialogue)])


def test_the_losses_of_an_encoder_by_hand() -> None:
    import torch

    instance = replace_choices(ROWS[0], ["a", "b", "c"], (0, 2))

    class Fixed(room.ScoringEncoder):  # type: ignore[name-defined, misc]
        def logits(self, pairs: Any) -> Any:
            assert all(source.startswith(instance.question.text) for source, _ in pairs)
            return torch.tensor([{"a": 1.0, "b": 0.0, "c": -1.0}[choice] for _, choice in pairs])

    source = question_input(instance.question, instance.target, instance.dialogue)
    random = np.random.default_rng(0)
    loss = room._loss(Fixed(None, None), [room._judged(instance, "all", source)], "all")([0], random)
    expected = np.mean([np.log1p(np.exp(-1)), np.log1p(np.exp(1)), np.log(2)])
    assert float(loss) == pytest.approx(float(expected), rel=1e-6)
    loss = room._loss(Fixed(None, None), [room._judged(instance, "single", source)], "single")([0], random)
    assert float(loss) == pytest.approx(float(np.log1p(np.exp(-1))), rel=1e-6)  # "c" is right too and left out


def replace_choices(instance: Instance, choices: list[str], correct: tuple[int, ...]) -> Instance:
    return Instance(instance.id, instance.dialogue, instance.target, instance.question, choices, correct)


def test_equal_seeds_give_equal_models_even_after_a_kill(models: dict[str, Path], tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(step: int, *_: Any) -> None:
        if step == 7:
            raise Killed

    recipe = replace(QUICK, epochs=6, checkpoint_every=5, optimizer="adafactor")
    train_cicero(ROWS, models["seq2seq"], tmp_path / "whole", recipe, task="generate")
    with pytest.raises(Killed):
        train_cicero(ROWS, models["seq2seq"], tmp_path / "model", recipe, task="generate", progress=kill)
    facts = train_cicero(ROWS, models["seq2seq"], tmp_path / "model", recipe, task="generate")
    assert (facts["began_at"], facts["steps"]) == (5, 12)
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def test_invalid_training_data_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    blind = Instance("d", ["A: hi"], "hi", "cause", ["a", "b"])
    for rows, model, recipe, task, error, sentence in (
        (ROWS, "seq2seq", QUICK, "guess", InputError, "unknown task 'guess'; choose from generate, choose"),
        ([blind], "seq2seq", QUICK, "generate", InputError, "no instance has right answers"),
        (ROWS, "encoder", QUICK, "generate", ModelError, "is an encoder, which writes nothing"),
        (ROWS, "seq2seq", replace(QUICK, subtasks="reaction"), "generate", InputError, "no example of reaction"),
        (ROWS, "seq2seq", replace(QUICK, subtasks="why"), "generate", InputError, "unknown subtask 'why'"),
        (ROWS, "seq2seq", replace(QUICK, epochs=0), "generate", InputError, "epochs is 0"),
    ):
        with pytest.raises(error, match=sentence):
            train_cicero(rows, models[model], tmp_path / "out", recipe, task=task)
    with pytest.raises(ModelError, match="there is no model folder"):
        train_cicero(ROWS, tmp_path / "none", tmp_path / "out", QUICK, task="choose")
    with pytest.raises(ModelError, match=r"has no cicero\.json of tacit train cicero; give a folder that it wrote"):
        open_trained(models["seq2seq"])
    with pytest.raises(InputError, match="the judge trained needs a model of tacit train cicero"):
        load_chooser(None, ["trained"], model=models["seq2seq"])
    assert not (tmp_path / "out").exists()
    broken = tmp_path / "broken"
    save_tiny_t5(broken, SENTENCES)
    (broken / "cicero.json").write_text(json.dumps({"task": "generate"}))
    with pytest.raises(ModelError, match=r"has no cicero\.json"):
        open_trained(broken)
