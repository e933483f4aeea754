"""A language model as the judge of tuples: the chance of yes against no, as the model gives it to the whole text read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.accent.readings import READ, reading
from tacit.reasoning.accent.tuples import RELATIONS

from .tiny_models import END, SENTENCES, save_tiny_causal

pytest.importorskip("transformers")

from tacit.reasoning.accent.scorers.llmjudge import LlmJudge, open_llm_judge

TUPLES = [
    ("PersonX buys a dog", "xWant", "to feed the dog"),
    ("PersonX buys a dog", "xReact", "happy"),
    ("PersonX swims in the sea all day long and forgets the time", "HinderedBy", "PersonY is at the beach"),
    ("Köpek", "oEffect", "çok güzel 😀"),
    (f"PersonX says {END}", "xAttr", "<|turn|>"),
    ("PersonX buys a dog", "xReact", "happy"),
]
CHAT = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + CHAT
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"kind": "llama"},
    "gemma2": {"kind": "gemma2", "final_logit_softcapping": 2.0, "query_pre_attn_scalar": 16, "sliding_window": 64},
}


def save_judge(folder: Path, *, template: str = "", positions: int = 4096, **options: Any) -> Path:
    """A tiny model that has words for yes and no, with a chat template where one is given."""
    from transformers import AutoTokenizer

    save_tiny_causal(folder, sentences=[*SENTENCES, *["Yes No", ": Yes", ": No"] * 4], positions=positions, **options)
    if template:
        tokenizer = AutoTokenizer.from_pretrained(folder)
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[*KINDS, "chat", "chat without a system"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LlmJudge:
    kind = request.param
    template = {"chat": CHAT, "chat without a system": NO_SYSTEM}.get(kind, "")
    return open_llm_judge(save_judge(tmp_path_factory.mktemp("judge") / "model", template=template, **KINDS.get(kind, {})))


def read_at_once(judge: LlmJudge, head: str, relation: str, tail: str) -> float:
    """The chance of yes when the model reads everything in one piece, without a cache."""
    import torch

    before, after, (yes, no) = judge.asking.template
    event, inference = reading(head, relation, tail)
    plain = judge.asking.causal.tokens([f"Event: {event}.\nInference: {inference}.", yes, no])
    ids = [*judge.asking.special(before), *plain[0], *judge.asking.special(after)]
    if ids[0] != judge.asking.causal.begin:
        ids.insert(0, judge.asking.causal.begin)
    with torch.inference_mode():
        logits = judge.asking.causal.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].double()
    return float(torch.softmax(logits[[plain[1][0], plain[2][0]]], 0)[0])


def test_a_score_is_the_chance_of_yes_after_everything_was_read(judge: LlmJudge) -> None:
    scores = [score.value for score in judge.score(TUPLES)]
    np.testing.assert_allclose(scores, [read_at_once(judge, *one) for one in TUPLES], rtol=0, atol=1e-5)
    assert scores[1] == scores[5]
    assert len({round(score, 6) for score in scores}) == 5


def test_what_is_scored_beside_a_tuple_moves_nothing(judge: LlmJudge) -> None:
    together = [score.value for score in LlmJudge(judge.asking.causal).score(TUPLES)]
    alone = [LlmJudge(judge.asking.causal).score([one])[0].value for one in TUPLES]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    assert judge.score([]) == []


def test_a_tuple_is_read_once(judge: LlmJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    fresh = LlmJudge(judge.asking.causal)
    body = judge.asking.causal.body
    asked = body.forward

    def counted(*given: Any, **named: Any) -> Any:
        read.append(len(named["input_ids"]))
        return asked(*given, **named)

    monkeypatch.setattr(body, "forward", counted)
    fresh.score(TUPLES)
    assert read[0] == 1  # the beginning
    assert sum(read[1:]) == 5
    fresh.score(TUPLES[::-1])
    assert sum(read[1:]) == 5


def test_a_template_is_followed(tmp_path: Path) -> None:
    with_system = open_llm_judge(save_judge(tmp_path / "a", template=CHAT)).asking.template
    assert with_system.before.startswith("<s><|turn|>system" if "<s>" in with_system.before else f"{END}<|turn|>system")
    without = open_llm_judge(save_judge(tmp_path / "b", template=NO_SYSTEM)).asking.template
    assert "system" not in without.before
    assert with_system.after == without.after
    for template in (with_system, without):
        assert template.before.count("You judge whether inferences about everyday events are plausible") == 1
        assert (template.before.count("\nYes"), template.before.count("\nNo")) == (4, 4)
        assert template.before.endswith("<|turn|>user\n")
        assert template.after.endswith("<|turn|>assistant\n")
        assert template.answers == ("Yes", "No")
    plain = open_llm_judge(save_judge(tmp_path / "c")).asking.template
    assert plain.before.endswith("Answer: No\n\n")
    assert plain.after.endswith("\nAnswer:")


def test_what_a_model_cannot_do_is_said(tmp_path: Path) -> None:
    judge = open_llm_judge(save_judge(tmp_path / "judge"))
    with pytest.raises(InputError, match="there is no relation 'xLikes' between events; choose from Causes"):
        judge.score([("PersonX buys a dog", "xLikes", "bones")])
    short = open_llm_judge(save_judge(tmp_path / "short", positions=64))
    with pytest.raises(ModelError, match=r"reads 64 tokens, and what it is asked has over \d+; give one that reads more"):
        short.score(TUPLES)
    wordless = open_llm_judge(save_tiny_causal(tmp_path / "wordless", positions=4096))
    with pytest.raises(ModelError, match="does not tell Yes from No"):
        wordless.score(TUPLES)
    for template, reason in (("{{ raise_exception('never') }}", "fails .never."), ("hello", "changes what it is given")):
        with pytest.raises(ModelError, match=reason):
            open_llm_judge(save_judge(tmp_path / "broken", template=template)).score(TUPLES)


@pytest.mark.parametrize(
    ("one", "event", "inference"),
    [
        (("PersonX burns the toast", "xReact", "annoyed"), "Alex burns the toast", "As a result, Alex feels annoyed"),
        (("PersonX be hungry", "xWant", "PersonX eats food"), "Alex is hungry", "After this, Alex wants to eat food"),
        (("PersonX gets a job", "xNeed", "to apply"), "Alex gets a job", "Before this, Alex needs to apply"),
        (("PersonX helps PersonY", "oReact", "PersonY feels thankful"), "Alex helps Kim", "As a result, Kim feels thankful"),
        (("PersonX helps PersonY", "oWant", "to thank PersonX"), "Alex helps Kim", "After this, Kim wants to thank Alex"),
        (("PersonX helps PersonY", "xIntent", "to be nice"), "Alex helps Kim", "Alex does this because Alex wants to be nice"),
        (("PersonX helps PersonY", "xAttr", "PersonX be kind"), "Alex helps Kim", "This shows that Alex is kind"),
        (("PersonX loses", "xReact", "does not mind"), "Alex loses", "As a result, Alex does not mind"),
        (("PersonX loses", "xReact", "to go home"), "Alex loses", "As a result, Alex wants to go home"),
        (("PersonX loses", "oReact", "not to play again"), "Alex loses", "As a result, Kim does not want to play again"),
        (("PersonX loses", "xNeed", "not to train"), "Alex loses", "Before this, Alex does not need to train"),
        (("PersonX loses", "xWant", "not to play again"), "Alex loses", "After this, Alex does not want to play again"),
        (("PersonX wins", "oEffect", "loses money"), "Alex wins", "As a result, Kim loses money"),
        (("PersonX drives", "HinderedBy", "PersonX has no car"), "Alex drives", "This does not happen if Alex has no car"),
        (("PersonX drives", "isAfter", "PersonX buys a car."), "Alex drives", "Before this, Alex buys a car"),
        (("PersonX cooks", "HasSubEvent", "the oven gets hot"), "Alex cooks", "While doing this, the oven gets hot"),
        (("PersonX cooks", "HasSubEvent", "PersonX uses a pan"), "Alex cooks", "While doing this, Alex uses a pan"),
        (("PersonX cooks", "xEffect", "PersonY gets fed"), "Alex cooks", "As a result, Kim gets fed"),
    ],
)
def test_a_tuple_is_read_out(one: tuple[str, str, str], event: str, inference: str) -> None:
    assert reading(*one) == (event, inference)


def test_readings_cover_the_relations_and_bound_what_they_say() -> None:
    assert set(RELATIONS) <= READ
    event, inference = reading("PersonX says " + "a" * 10_000, "xWant", "to say " + "b" * 10_000)
    assert len(event) == len(inference) == 400
    for relation in READ:
        assert all("Person" not in text and text == text.strip() for text in reading("PersonX sings", relation, "PersonY claps"))
