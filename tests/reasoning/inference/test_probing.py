"""A language model that is asked: its states are those of the whole prompt; its probe learns from right and wrong choices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.inference.language_judges import (
    PROBE,
    ChoicePrompt,
    ProbeJudge,
    YesNo,
    proposal,
)
from tacit.reasoning.models.causal_lm import CausalModel, open_causal
from tacit.reasoning.models.linear_probe import Probe
from tacit.reasoning.training.choice_probe import pairs_of, train_choice_probe

from tests.reasoning.metrics.accent.tiny_judges import CHAT, save_judge

WORDS = ["yes no", ": yes", ": no", "Yes No"] * 4
RIGHT = ("the puppy wants food", "give it a bone", "the dog wants food", "it wants a bone")
WRONG = ("we went to the beach", "we swam in the sea", "we went to the sea", "we swam all day")


def instance(number: int, **changes: str) -> Instance:
    """An instance whose right choices are about food and whose wrong ones are about the sea."""
    turns = [f"A: {changes.get('opening', 'i have a hungry dog')}", f"B: give it food {'day ' * (number % 3)}"]
    choices = [WRONG[number % 4], RIGHT[number % 4], WRONG[(number + 1) % 4], RIGHT[(number + 2) % 4]]
    return Instance(changes.get("id", f"d-{number}"), turns, "give it food", "cause", choices, (1, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_judge(tmp_path_factory.mktemp("probing") / "model", layers=3, more=WORDS, template=CHAT, kind="llama")


@pytest.fixture(scope="module")
def causal(folder: Path) -> CausalModel:
    return open_causal(folder)


@pytest.fixture(scope="module")
def trained(causal: CausalModel, tmp_path_factory: pytest.TempPathFactory) -> tuple[Probe, Path]:
    states = tmp_path_factory.mktemp("states")
    return train_choice_probe([instance(number) for number in range(12)], causal, states, seed=1), states


def test_states_and_log_odds_are_those_of_the_whole_prompt(causal: CausalModel) -> None:
    import torch

    example = instance(0)
    prompt = ChoicePrompt(causal)
    rows = prompt.read([example, instance(1)], [2], margins=True)
    assert rows.hidden.shape == (8, 1, 32)
    before, after = prompt.template
    for index, choice in enumerate(example.choices):
        ids = [
            *causal.tokenizer(before, add_special_tokens=False)["input_ids"],
            *causal.tokens([proposal(example)])[0],
            *causal.tokens([f" {choice}"])[0],
            *causal.tokenizer(after, add_special_tokens=False)["input_ids"],
        ]
        with torch.inference_mode():
            whole = causal.model(torch.tensor([ids]), output_hidden_states=True)
        assert rows.hidden[index, 0] == pytest.approx(whole.hidden_states[2][0, -1].numpy(), abs=1e-3)  # values of up to 30
        logits = whole.logits[0, -1].double()
        yes, no = (torch.logsumexp(logits[list(answer)], 0) for answer in prompt.answers)
        assert rows.margins[index] == pytest.approx(float(yes - no), abs=1e-4)
    assert "Is this answer right?" in after
    assert proposal(example).endswith("Question: What is or could be the cause of target?\nProposed answer:")


def test_yes_no_implements_the_judge_protocol(causal: CausalModel) -> None:
    example = instance(0)
    chooser = load_chooser(None, ["answers", "yes-no"], model=causal)
    [row] = chooser.choose([example])
    assert set(row.choices[0].shares) == {"answers", "yes-no"}
    assert row.scores == pytest.approx([sum(choice.shares.values()) for choice in row.choices])
    assert f"yes-no-2({causal.signature}:float32)" in row.signature
    [features] = YesNo(causal).measure([example])
    [again] = YesNo(causal).measure([example, instance(1)])[:1]
    assert features == pytest.approx(again, abs=1e-5)
    assert YesNo(causal).measure([]) == []


def test_a_probe_learns_right_choices(trained: tuple[Probe, Path], folder: Path) -> None:
    probe, _ = trained
    assert probe.facts["pairs"] == 12 * 4
    assert probe.facts["ordered"] > 0.9
    assert (probe.facts["layers"], probe.facts["variants"]) == (3, 10)  # two layers with five penalties each
    judge = ProbeJudge(open_causal(folder), probe)
    unseen = Instance("new", ["A: i have a dog", "B: it wants a bone"], "it wants a bone", "cause", [WRONG[2], RIGHT[1]], (1,))
    [features] = judge.measure([unseen])
    assert features[1, 0] > features[0, 0]
    chooser = load_chooser(None, ["probe"], model=open_causal(folder), probe=probe)
    assert chooser.choose([unseen], 1)[0].chosen == (1,)
    assert probe.digest in str(chooser.signature)


def test_judges_do_not_change_a_shared_model(trained: tuple[Probe, Path], folder: Path, causal: CausalModel) -> None:
    probe, _ = trained
    lowest = replace(probe, layer=1)
    chooser = load_chooser(None, ["probe", "yes-no"], model=open_causal(folder), probe=lowest)
    example = instance(3)
    [values] = chooser.values([example])
    assert values[:, 1:] == pytest.approx(YesNo(causal).measure([example])[0], abs=1e-5)
    cut = load_chooser(None, ["probe"], model=folder, probe=lowest)
    assert cut.values([example])[0] == pytest.approx(values[:, :1], abs=1e-3)


def test_training_is_repeatable_and_resumes(trained: tuple[Probe, Path], causal: CausalModel, tmp_path: Path) -> None:
    probe, states = trained
    for path in sorted(states.glob("*.safetensors"))[:5]:
        path.unlink()
    rows = [instance(number) for number in range(12)]
    stages: list[tuple[str, int, int]] = []
    again = train_choice_probe(rows, causal, states, seed=1, progress=lambda *arguments: stages.append(arguments))
    assert again.to_bytes() == probe.to_bytes()
    assert stages[11] == ("reading", 12, 12)
    assert stages[-1][0] == "fitting"
    (tmp_path / PROBE.file).write_bytes(probe.to_bytes())
    opened = PROBE.open(tmp_path)
    assert (opened.layer, opened.dtype, opened.digest) == (probe.layer, "float32", probe.digest)
    assert np.array_equal(opened.weights, probe.weights)


def test_an_instance_of_any_number_of_choices_counts_once() -> None:
    pair = Instance("d-x", ["A: hi"], "hi", "cause", ["a", "b"], (0,))
    unknown = Instance("d-y", ["A: hi"], "hi", "cause", ["a", "b"])
    pairs = pairs_of([*(instance(number) for number in range(10)), pair, unknown, instance(10)])
    assert len(pairs.right) == 11 * 4 + 1
    assert np.bincount(pairs.owner, pairs.weights)[[0, 10, 12]] == pytest.approx([1 / 12] * 3)
    assert (pairs.right[-1], pairs.wrong[-1]) == (10 * 4 + 4 + 3, 10 * 4 + 4 + 2)
    with pytest.raises(InputError, match=r"9 dialogues .* give 10 or more"):
        pairs_of([instance(number) for number in range(9)])
    with pytest.raises(InputError, match="1 dialogues that share"):
        pairs_of([instance(number, id="same") for number in range(12)])
    shared = {"opening": "i have a dog and it wants a bone"}
    groups = pairs_of([*(instance(number) for number in range(10)), instance(10, **shared), instance(11, **shared)]).group
    assert np.bincount(groups).tolist() == [4] * 10 + [8]


def test_mismatched_probe_and_model_are_refused(trained: tuple[Probe, Path], folder: Path, tmp_path: Path) -> None:
    probe, _ = trained
    with pytest.raises(ModelError, match=r"was trained on a model in float32, and .* is open in bfloat16; open it in float32"):
        ProbeJudge(open_causal(folder, dtype="bfloat16"), probe)
    other = open_causal(save_judge(tmp_path / "other", layers=2, more=WORDS))
    with pytest.raises(ModelError, match="the probe for choices was trained on"):
        load_chooser(None, ["probe"], model=other, probe=probe)
    with pytest.raises(ModelError, match="is not a probe for choices"):
        PROBE.from_bytes(b"x" * 40, "odd.safetensors")
    with pytest.raises(ModelError, match="tacit train choice-probe"):
        load_chooser(None, ["probe"], model=other, probe=tmp_path / "nowhere")
    for judges, options, message in (
        (["probe"], {"model": other}, "needs a probe of its language model; make one with: tacit train choice-probe"),
        (["probe"], {"probe": probe}, "the judge probe needs a language model"),
        (["yes-no"], {}, "the judge yes-no needs a language model"),
        (["answers"], {"probe": probe}, "the judge probe is not named"),
    ):
        with pytest.raises(InputError, match=message):
            load_chooser(None, judges, **options)
