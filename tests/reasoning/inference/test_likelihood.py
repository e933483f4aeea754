"""The language model as a judge: its feature against the model's own losses, computed another way, on a tiny model."""

from __future__ import annotations

import numpy as np
import pytest
from tacit.graph.questions import Instance
from tacit.reasoning.inference.choosing import load_chooser
from tacit.reasoning.inference.language_judges import Likelihood
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

from tests.reasoning.metrics.accent.tiny_judges import save_judge

ONE = Instance(
    "d", ["A: i have a dog and it wants a bone", "B: give it food"], "give it food", "cause",
    ["the puppy is hungry", "we went to the beach and swam"], (0,),
)  # fmt: skip


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_judge(tmp_path_factory.mktemp("tiny")))


def test_the_feature_equals_the_loss_of_the_model(causal: CausalModel) -> None:
    import torch

    [features] = Likelihood(causal).measure([ONE])
    assert features.shape == (2, 1)
    task = "You read a dialogue and judge whether an answer to a question about it is right. Answer Yes or No."
    dialogue = "\n".join(ONE.dialogue)
    after = f"{task}\n\n{dialogue}\n\nTarget: {ONE.target}\nQuestion: {ONE.question.text}\nAnswer:"
    for row, choice in zip(features, ONE.choices, strict=True):
        before, choice_tokens = causal.tokens([after, f" {choice}"])
        ids = [causal.begin, *before, *choice_tokens]
        with torch.inference_mode():
            logits = causal.model(input_ids=torch.tensor([ids])).logits[0, :-1]
        losses = torch.nn.functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")[-len(choice_tokens) :]
        assert row[0] == pytest.approx(-float(losses.mean()), abs=1e-3)
    assert np.isfinite(features).all()


def test_a_model_adds_its_judge(causal: CausalModel) -> None:
    chooser = load_chooser(None, ["answers", "likelihood"], model=causal)
    [row] = chooser.choose([ONE])
    assert set(row.choices[0].shares) == {"answers", "likelihood"}
    assert causal.signature in row.signature
    assert row.choices[0].shares["likelihood"] == pytest.approx(-row.choices[1].shares["likelihood"])
