"""A language model as the judge of tuples: what it says and what it expects, as it has both for whole texts read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tacit.graph.errors import InputError, ModelError
from tacit.reasoning.metrics.accent.verbalise import verbalise

from tests.reasoning.metrics.accent.tiny_judges import CHAT, KINDS, save_judge
from tests.reasoning.models.tiny_causal import END, save_tiny_causal

pytest.importorskip("transformers")

from tacit.reasoning.metrics.accent.scorers.language_models import PLAUSIBLE, LlmJudge, open_llm_judge
from tacit.reasoning.models.causal_lm import CausalModel, Continuation

TUPLES = [
    ("PersonX buys a dog", "xWant", "to feed the dog"),
    ("PersonX buys a dog", "xReact", "happy"),
    ("PersonX swims in the sea all day long and forgets the time", "HinderedBy", "PersonY is at the beach"),
    ("Köpek", "oEffect", "çok güzel 😀"),
    (f"PersonX says {END}", "xAttr", "<|turn|>"),
    ("PersonX buys a dog", "xReact", "happy"),
]
SAID_FIRST = "These inferences about everyday events are plausible, as a matter of common sense."
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + CHAT


@pytest.fixture(scope="module", params=[*KINDS, "chat", "chat without a system"])
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LlmJudge:
    kind = request.param
    template = {"chat": CHAT, "chat without a system": NO_SYSTEM}.get(kind, "")
    return open_llm_judge(save_judge(tmp_path_factory.mktemp("judge") / "model", template=template, **KINDS.get(kind, {})))


def logits_at_once(causal: CausalModel, ids: list[int]) -> Any:
    """What the model gives after each token when it reads everything in one piece, without a cache."""
    import torch

    with torch.inference_mode():
        return causal.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].double()


def chance_of_yes(judge: LlmJudge, event: str, inference: str) -> float:
    before, after, (yes, no) = judge.asking.template
    plain = judge.asking.causal.tokens([f"Event: {event}.\nInference: {inference}.", yes, no])
    ids = [*judge.asking.special(before), *plain[0], *judge.asking.special(after)]
    if ids[0] != judge.asking.causal.begin:
        ids.insert(0, judge.asking.causal.begin)
    last = logits_at_once(judge.asking.causal, ids)[-1]
    return float(last[[plain[1][0], plain[2][0]]].softmax(0)[0])


def cost(causal: CausalModel, event: str, inference: str) -> float:
    """Nats of the inference after the list of plausible ones and its event."""
    listed = "".join("Event: {}.\nInference: {}.\n\n".format(*verbalise(*one)) for one in PLAUSIBLE)
    texts = [f"{SAID_FIRST}\n\n{listed}", f"Event: {event}.\nInference:", f" {inference}."]
    first, before, after = causal.tokens(texts)
    ids = [causal.begin, *first, *before, *after]
    given = logits_at_once(causal, ids).log_softmax(-1)
    return -sum(float(given[place - 1, ids[place]]) for place in range(len(ids) - len(after), len(ids)))


def read_at_once(judge: LlmJudge, head: str, relation: str, tail: str) -> float:
    event, inference = verbalise(head, relation, tail)
    alone = cost(judge.asking.causal, "Alex does something", inference)
    saved = (alone - cost(judge.asking.causal, event, inference)) / alone
    return (1 + chance_of_yes(judge, event, inference) + max(saved, -1.0)) / 3


def test_a_score_is_what_the_model_says_and_expects_when_it_reads_everything(judge: LlmJudge) -> None:
    scores = [score.value for score in judge.score(TUPLES)]
    np.testing.assert_allclose(scores, [read_at_once(judge, *one) for one in TUPLES], rtol=0, atol=1e-5)
    assert scores[1] == scores[5]
    assert len({round(score, 6) for score in scores}) == 5
    assert all(0 <= score <= 1 for score in scores)


def test_an_event_that_says_nothing_saves_nothing(judge: LlmJudge) -> None:
    inferences = ["As a result, Alex feels happy", "After this, Kim wants to sing"]
    shares = judge.surprise.shares([("Alex does something", inference) for inference in inferences])
    np.testing.assert_allclose(shares, 0, atol=1e-6)


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
    beginnings, judged, expected, expected_alone = 2, 5, 5, 5
    assert sum(read) == beginnings + judged + expected + expected_alone
    read.clear()
    fresh.score(TUPLES[::-1])
    assert read == []
    fresh.score([("PersonX eats a cake", "xWant", "to feed the dog")])  # what this costs alone is known
    assert read == [1, 1]


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
    with pytest.raises(InputError, match="unknown relation between events 'xLikes'; choose from Causes"):
        judge.score([("PersonX buys a dog", "xLikes", "bones")])
    short = open_llm_judge(save_judge(tmp_path / "short", positions=64))
    with pytest.raises(ModelError, match=r"reads 64 tokens, and the prompt is longer than \d+; give a model"):
        short.score(TUPLES)
    wordless = open_llm_judge(save_tiny_causal(tmp_path / "wordless", positions=4096))
    with pytest.raises(ModelError, match="gives Yes and No the same first token"):
        wordless.score(TUPLES)
    for template, reason in (("{{ raise_exception('never') }}", "fails .never."), ("hello", "changes its messages")):
        with pytest.raises(ModelError, match=reason):
            open_llm_judge(save_judge(tmp_path / "broken", template=template)).score(TUPLES)


def test_of_what_is_too_long_the_end_is_read(judge: LlmJudge) -> None:
    causal = judge.asking.causal
    (row,) = causal.tokens(["Alex feels happy and sings"])
    beginning = [causal.begin] * (causal.max_length - 4)
    short = Continuation(causal, beginning)
    given = logits_at_once(causal, [*beginning, *row[-4:]]).log_softmax(-1)
    expected = -sum(float(given[len(beginning) + place - 1, row[-4:][place]]) for place in range(1, 4))
    np.testing.assert_allclose(short.nats([row], [2]), [expected], atol=1e-4)
