"""Grounding: values worked out by hand over every backend, evidence, bad input, and the same answer in any batch."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning import load_metric
from tacit.reasoning.explanation import explain
from tacit.reasoning.grounding import NO_HISTORY, NO_RESPONSE
from tacit.reasoning.language import SpacyAnalyser
from tacit.reasoning.score import Metric

from ..oracle import OracleGraph

GOLDEN = [
    # history, response, value: each response concept's 1 / (1 + hops)
    (["i have a dog"], "give it a bone", 1 / 2),
    (["i have a dog"], "i have a dog too", 1.0),
    (["the puppy is hungry"], "buy a bone , some food", (1 / 3 + 1 / 3) / 2),
    (["the puppy is hungry", "the dog too"], "bones and food", (1 / 2 + 1 / 2) / 2),
    (["my cat likes hot dogs"], "put the ice cream in the refrigerator", (1 / 4 + 1 / 3) / 2),
    (["i love my dogs"], "dogs , dogs , dogs ! bones", (1 + 1 / 2) / 2),
    (["i love my dogs"], "the moon", 0.0),
    (["i love my dogs"], "the moon and my dog", 1 / 2),
    (["a puppy"], "the refrigerator", 1 / 4),
    (["a credit card"], "a debit card", 1 / 2),
]


@pytest.fixture(scope="module")
def metric(oracle: OracleGraph, analyser: SpacyAnalyser) -> Metric:
    return load_metric("grounding", oracle, pipeline=analyser)


@pytest.mark.parametrize(("history", "response", "value"), GOLDEN)
def test_golden_values(graph: KnowledgeGraph, analyser: SpacyAnalyser, history: list[str], response: str, value: float) -> None:
    score = load_metric("grounding", graph, pipeline=analyser).score(history, response)
    assert score.value == pytest.approx(value, abs=1e-15)
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(value, abs=1e-15)


def test_every_store_and_index_gives_the_same_scores(
    graph_of: Callable[[list[Assertion]], KnowledgeGraph], world: list[Assertion], metric: Metric, analyser: SpacyAnalyser
) -> None:
    items = [(history, response) for history, response, _ in GOLDEN]
    graph = graph_of(world)
    found = load_metric("grounding", graph, pipeline=analyser).score_batch(items, explain=True)
    assert [score.value for score in found] == pytest.approx([value for _, _, value in GOLDEN], abs=1e-15)
    assert found == metric.score_batch(items, explain=True)


def test_evidence_names_the_path(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    metric = load_metric("grounding", graph, pipeline=analyser)
    score = metric.score(["my puppy is hungry", "is it?"], "The cat has bones", explain=True)
    rows = json.loads(json.dumps(score.to_dict()))["evidence"]["pieces"]
    assert [row["response"]["text"] for row in rows] == ["cat", "bones"]
    assert [row["hops"] for row in rows] == [3, 2]
    assert [row["turn"] for row in rows] == [0, 0]
    assert rows[1]["path"]["text"] == "puppy -IsA-> dog -Desires-> bone"
    assert rows[0]["path"]["nodes"] == ["/c/en/puppy", "/c/en/dog", "/c/en/pet", "/c/en/cat"]
    assert [step["direction"] for step in rows[0]["path"]["steps"]] == ["forward", "forward", "backward"]
    assert [step["weight"] for step in rows[0]["path"]["steps"]] == [3.0, 4.0, 1.5]
    assert rows[1]["value"] == pytest.approx(1 / 3)
    assert rows[1]["share"] == pytest.approx(1 / 6)
    plain = metric.score(["my puppy is hungry", "is it?"], "The cat has bones")
    assert plain.value == score.value
    assert all(piece.path is None for piece in plain.evidence.pieces)


def test_of_equally_near_concepts_the_last_mentioned_counts(metric: Metric) -> None:
    history = ["a puppy and some pets", "it has a bone", "pets !"]
    (piece,) = metric.score(history, "the dog").evidence.pieces
    assert (piece.turn, piece.history.text if piece.history else None, piece.hops) == (2, "pets", 1)


def test_max_hops_is_a_limit(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    values = []
    for hops in (0, 2, 3, 6):
        metric = load_metric("grounding", oracle, pipeline=analyser, max_hops=hops)
        values.append(metric.score(["a puppy"], "the refrigerator and a puppy").value)
    assert values == [1 / 2, 1 / 2, (1 / 4 + 1) / 2, (1 / 4 + 1) / 2]
    for wrong in (-1, 7):
        with pytest.raises(InputError, match="hops"):
            load_metric("grounding", oracle, pipeline=analyser, max_hops=wrong)


def test_nothing_to_score_is_zero_and_says_so(metric: Metric) -> None:
    assert metric.score(["a dog"], "").evidence.note == NO_RESPONSE
    assert metric.score(["a dog"], "😀 はい !").evidence.note == NO_RESPONSE
    for history in ([], ["", "hm ?"], ["привет"]):
        score = metric.score(history, "a dog and a bone")
        assert score.value == 0.0
        assert score.evidence.note == NO_HISTORY
        assert [piece.response.text for piece in score.evidence.pieces] == ["dog", "bone"]
    assert metric.score([], "").value == 0.0


@pytest.mark.parametrize(
    ("history", "response"),
    [
        ("a dog", "a bone"),
        (None, "a bone"),
        (["a dog"], None),
        (["a dog", 7], "a bone"),
        ({"a": "dog"}, "a bone"),
        (b"a dog", "a bone"),
        (["a dog"], b"a bone"),
        (["a dog"], ["a bone"]),
        (["\ud83d"], "a bone"),
        (["a dog"], "x" * 200_001),
    ],
)
def test_wrong_input_is_refused(metric: Metric, history: Any, response: Any) -> None:
    with pytest.raises(InputError) as error:
        metric.score(history, response)
    assert "\n" not in str(error.value)


def test_a_very_long_response(metric: Metric) -> None:
    response = " ".join(["the dog ate a bone and the refrigerator"] * 1250)
    score = metric.score(["a puppy"], response)
    assert score.value == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert score.evidence.pieces[0].response.end == len("the dog")


SENTENCES = ["a dog", "the puppies ate bones", "hot dogs and ice-cream", "I ’ ll ride bikes", "the moon", "", "hm", "😀"]
ITEMS = st.lists(st.tuples(st.lists(st.sampled_from(SENTENCES), max_size=4), st.sampled_from(SENTENCES)), max_size=12)


@settings(deadline=None, max_examples=40)
@given(ITEMS, st.randoms(use_true_random=False))
def test_batches_and_order_change_nothing(
    oracle: OracleGraph, analyser: SpacyAnalyser, items: list[tuple[list[str], str]], chance: random.Random
) -> None:
    metric = load_metric("grounding", oracle, pipeline=analyser, cache_size=3)
    together = metric.score_batch(items, explain=True)
    assert together == [metric.score(history, response, explain=True) for history, response in items]
    order = list(range(len(items)))
    chance.shuffle(order)
    assert metric.score_batch([items[place] for place in order], explain=True) == [together[place] for place in order]
    assert all(0.0 <= score.value <= 1.0 for score in together)


def test_more_history_never_lowers_the_score(metric: Metric) -> None:
    for response in SENTENCES:
        for first in SENTENCES:
            for second in SENTENCES:
                assert metric.score([first, second], response).value >= metric.score([first], response).value


def test_the_signature_names_all_that_counts(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    signature = str(load_metric("grounding", graph, pipeline=analyser).signature)
    assert signature == f"grounding|graph:{graph.manifest().digest}|pipeline:{analyser.signature}|hops:6|v:1"
    other = load_metric("grounding", graph, pipeline=analyser, max_hops=3, content_only=False).signature
    assert str(other) == f"grounding|graph:{graph.manifest().digest}|pipeline:{analyser.signature}|hops:3|words:all|v:1"


def test_metrics_are_found_by_name(oracle: OracleGraph) -> None:
    with pytest.raises(InputError, match=r"no metric 'astrology'; choose from grounding"):
        load_metric("astrology", oracle)
    with pytest.raises(InputError, match=r"no option 'hops'; it has .*max_hops"):
        load_metric("grounding", oracle, hops=3)


def test_a_score_can_be_told_in_words(metric: Metric) -> None:
    told = explain(metric.score(["my puppy is hungry"], "the moon , a bone and puppies", explain=True)).splitlines()
    assert told[0] == "grounding 0.444"
    assert told[1] == '  +0.000 "moon" rests on nothing in the history'
    assert told[2] == '  +0.111 "bone" rests on "puppy" (turn 1), 2 hops: puppy -IsA-> dog -Desires-> bone'
    assert told[3] == '  +0.333 "puppies" (puppy) stands in the history too: "puppy" (turn 1)'
    assert told[4].startswith("  grounding|graph:")
    assert explain(metric.score([], "a dog")).startswith(f"grounding 0.000: {NO_HISTORY}")
