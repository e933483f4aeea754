"""Grounding: values worked out by hand over every backend, evidence, bad input, and the same answer in any batch."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from math import isnan, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph import open_graph
from tacit.graph.cypher_store import claim_query
from tacit.graph.errors import GraphError, InputError
from tacit.graph.model import Assertion
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning import load_metric
from tacit.reasoning.base import Evidence, Metric, Piece
from tacit.reasoning.event_links import link_events
from tacit.reasoning.explanation import Explanation, explain, explain_pieces
from tacit.reasoning.explanation.explained import claims_of
from tacit.reasoning.explanation.scene import scene_of
from tacit.reasoning.metrics.grounding import (
    NO_BACKGROUND,
    NO_HISTORY,
    NO_RESPONSE,
    Background,
    Grounding,
    drawn_concepts,
    shipped_talk,
)
from tacit.reasoning.reference import SHIPPED, references_of
from tacit.reasoning.text.idf import IdfTable
from tacit.reasoning.text.language import SpacyAnalyser
from tacit.reasoning.text.linking import Mention

from tests.networkx_oracle import OracleGraph

# A talk of eight mentions: of the background half is dog, a quarter bone, an eighth food and an eighth the moon. The world joins
# bone and food to dog, and nothing to the moon but satellite.
TALK = IdfTable(7, {"dog": 4, "bone": 2, "food": 1, "moon": 1})
DOG, BONE, FOOD = log(8 / 5), log(8 / 3), log(4)  # idf; the moon's is that of food

GOLDEN = [
    # history, response, value: per concept (1 - part of the background that is as near) ** concepts of the history, times idf
    (["i have a dog"], "give it a bone", 1 / 4),
    (["i have a dog"], "i have a dog too", 1 / 2),
    (["the puppy is hungry"], "buy a bone , some food", 1 / 8),
    (["the puppy is hungry", "the dog too"], "bones and food", (BONE * (1 / 4) ** 2 + FOOD * (3 / 8) ** 2) / (BONE + FOOD)),
    (["my cat likes hot dogs"], "put the ice cream in the refrigerator", (3 / 8) ** 2),
    (["i love my dogs"], "dogs , dogs , dogs ! bones", (DOG / 2 + BONE / 4) / (DOG + BONE)),
    (["i love my dogs"], "the moon", 0.0),
    (["i love my dogs"], "the moon and my dog", DOG / 2 / (FOOD + DOG)),
    (["a puppy"], "the refrigerator", 1 / 8),
    (["a credit card"], "a debit card", 1.0),
]


@pytest.fixture(scope="module")
def metric(oracle: OracleGraph, analyser: SpacyAnalyser) -> Metric:
    return Grounding(oracle, analyser, talk=TALK)


@pytest.mark.parametrize(("history", "response", "value"), GOLDEN)
def test_golden_values(graph: KnowledgeGraph, analyser: SpacyAnalyser, history: list[str], response: str, value: float) -> None:
    score = Grounding(graph, analyser, talk=TALK).score(history, response)
    assert score.value == pytest.approx(value, abs=1e-15)
    assert sum(piece.share for piece in score.evidence.pieces) == pytest.approx(value, abs=1e-15)


def test_every_store_and_index_gives_the_same_scores(
    graph_of: Callable[[list[Assertion]], KnowledgeGraph], world: list[Assertion], oracle: OracleGraph, analyser: SpacyAnalyser
) -> None:
    items = [(history, response) for history, response, _ in GOLDEN]
    shipped = load_metric("grounding", oracle, pipeline=analyser).score_batch(items, explain=True)
    assert load_metric("grounding", graph_of(world), pipeline=analyser).score_batch(items, explain=True) == shipped


def test_evidence_names_the_path(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    metric = Grounding(graph, analyser, talk=IdfTable(9, {"moon": 7, "dog": 1}))  # an eighth of the background is dog
    score = metric.score(["my puppy is hungry", "is it?"], "The cat has bones", explain=True)
    rows = json.loads(json.dumps(score.to_dict()))["evidence"]["pieces"]
    assert [row["response"]["text"] for row in rows] == ["cat", "bones"]
    assert [row["hops"] for row in rows] == [3, 2]
    assert [row["turn"] for row in rows] == [0, 0]
    assert rows[1]["path"]["text"] == "puppy -IsA-> dog -Desires-> bone"
    assert rows[0]["path"]["nodes"] == ["/c/en/puppy", "/c/en/dog", "/c/en/pet", "/c/en/cat"]
    assert [step["direction"] for step in rows[0]["path"]["steps"]] == ["forward", "forward", "backward"]
    assert [step["weight"] for step in rows[0]["path"]["steps"]] == [3.0, 4.0, 1.5]
    assert [row["value"] for row in rows] == [7 / 8, 7 / 8]
    assert [row["share"] for row in rows] == [7 / 16, 7 / 16]
    plain = metric.score(["my puppy is hungry", "is it?"], "The cat has bones")
    assert plain.value == score.value
    assert all(piece.path is None for piece in plain.evidence.pieces)


def test_a_path_expected_by_chance_is_no_evidence(metric: Metric) -> None:
    (piece,) = metric.score(["the puppy is hungry"], "a bone", explain=True).evidence.pieces
    assert (piece.hops, piece.value, piece.path) == (2, 1 / 8, None)
    assert (
        Explanation(("the puppy is hungry",), "a bone", metric.score(["the puppy is hungry"], "a bone", explain=True)).claims
        == ()
    )


def test_a_path_through_a_hub_is_weak_evidence(
    graph_of: Callable[[list[Assertion]], KnowledgeGraph], analyser: SpacyAnalyser
) -> None:
    """Person is nearer to talk than water is, so that a heavier path through it tells less."""
    rows = [
        ("kettle", "person", 5.0),
        ("person", "tea", 5.0),
        ("kettle", "water", 1.0),
        ("water", "tea", 1.0),
        ("person", "dog", 1.0),
    ]
    graph = graph_of(
        [
            Assertion(f"/c/en/{first}", "RelatedTo", f"/c/en/{second}", weight, "conceptnet", "/d/test")
            for first, second, weight in rows
        ]
        + [Assertion("/c/en/moon", "IsA", "/c/en/satellite", 1.0, "conceptnet", "/d/test")]
    )
    metric = Grounding(graph, analyser, talk=IdfTable(9, {"moon": 7, "dog": 1}))
    (piece,) = metric.score(["a kettle"], "some tea", explain=True).evidence.pieces
    assert (piece.value, piece.path.nodes if piece.path else None) == (7 / 8, ("/c/en/kettle", "/c/en/water", "/c/en/tea"))
    assert graph.paths("/c/en/kettle", "/c/en/tea")[0].nodes[1] == "/c/en/person"  # the strongest by weight alone


def edges(*rows: tuple[str, str, str, float]) -> list[Assertion]:
    """Return assertions; tea is near dog, so that the part of the background that is dog is near tea, and the moon is not."""
    every = (*rows, ("tea", "RelatedTo", "dog", 1.0), ("moon", "IsA", "satellite", 1.0))
    return [
        Assertion(f"/c/en/{head}", relation, f"/c/en/{tail}", weight, "conceptnet", "/d/test")
        for head, relation, tail, weight in every
    ]


@pytest.mark.parametrize(
    ("dogs", "value", "shown"),
    [
        (3, 5 / 8, {"UsedFor": True, "AtLocation": True}),
        (5, 3 / 8, {"UsedFor": True, "AtLocation": False}),  # chance is nearer more often than not
        (15, 1 / 16, {"UsedFor": False, "AtLocation": False}),
    ],
)
def test_an_edge_of_an_informative_relation_is_shown_from_a_lower_value(
    analyser: SpacyAnalyser, dogs: int, value: float, shown: dict[str, bool]
) -> None:
    moons = 1 if dogs == 15 else 8 - dogs
    for relation, path in shown.items():
        metric = Grounding(
            OracleGraph(edges(("kettle", relation, "tea", 1.0))), analyser, talk=IdfTable(99, {"dog": dogs, "moon": moons})
        )
        score = metric.score(["a kettle"], "some tea", explain=True)
        (piece,) = score.evidence.pieces
        assert (piece.value, piece.path is not None) == (value, path), relation
        assert score.value == metric.score(["a kettle"], "some tea").value == value


def test_all_assertions_between_the_ends_are_shown_informative_ones_first(
    graph_of: Callable[[list[Assertion]], KnowledgeGraph], analyser: SpacyAnalyser
) -> None:
    rows = edges(
        ("kettle", "RelatedTo", "tea", 5.0), ("kettle", "UsedFor", "tea", 1.0), ("tea", "AtLocation", "kettle", 3.0),
        ("kettle", "HasA", "tea", 2.0), ("kettle", "HasProperty", "tea", 1.0),
    )  # fmt: skip
    rows.append(rows[1]._replace(weight=0.5, dataset="/d/other"))  # the same assertion of another dataset is not shown twice
    metric = Grounding(graph_of(rows), analyser, talk=IdfTable(9, {"moon": 7, "dog": 1}))
    score = metric.score(["a kettle"], "some tea", explain=True)
    (piece,) = score.evidence.pieces
    assert piece.path is not None
    assert [piece.path.text(), *(parallel.path.text() for parallel in piece.rests_on if parallel.path)] == [
        "kettle -UsedFor-> tea", "kettle -RelatedTo-> tea", "kettle <-AtLocation- tea", "kettle -HasA-> tea",
    ]  # fmt: skip
    assert [(parallel.kind, parallel.value, parallel.share) for parallel in piece.rests_on] == [
        ("parallel", weight, 0.0) for weight in (5, 3, 2)
    ]
    assert piece.share == score.value == 7 / 8
    explanation = Explanation(("a kettle",), "some tea", score)
    assert [(claim.relation, claim.share) for claim in explanation.claims] == [
        ("UsedFor", 7 / 8), ("RelatedTo", 0.0), ("AtLocation", 0.0), ("HasA", 0.0),
    ]  # fmt: skip
    assert explanation.text().splitlines()[2] == "    also kettle -RelatedTo-> tea"
    (chain,) = scene_of(score).chains  # AtLocation points the other way
    assert [step.labels for step in chain.steps] == [("UsedFor", "RelatedTo", "HasA")]
    assert chain.share == 7 / 8


@pytest.mark.parametrize("history", ["a kettle and a cup", "a cup and a kettle"])
def test_of_concepts_at_one_hop_the_one_with_the_most_weight_is_named(analyser: SpacyAnalyser, history: str) -> None:
    """Three assertions of a kettle weigh more than the heavier one of a cup, and many concepts of talk are next to a shop."""
    rows = edges(
        ("cup", "RelatedTo", "tea", 2.0), ("kettle", "RelatedTo", "tea", 1.0), ("kettle", "HasA", "tea", 1.0),
        ("tea", "AtLocation", "kettle", 1.0), ("shop", "HasA", "tea", 9.0), ("shop", "HasA", "dog", 1.0),
    )  # fmt: skip
    metric = Grounding(OracleGraph(rows), analyser, talk=IdfTable(9, {"moon": 7, "dog": 1}))
    turns = ["a shop", history, "well"]
    (piece,) = metric.score(turns, "some tea", explain=True).evidence.pieces
    assert (piece.turn, piece.history.text if piece.history else None) == (1, "kettle")
    (plain,) = metric.score(turns, "some tea").evidence.pieces  # without paths: the leftmost of the last turn
    assert plain.history is not None
    assert plain.history.text == history.split()[1]
    assert (plain.value, plain.share) == (piece.value, piece.share)


def test_of_equally_near_concepts_the_last_mentioned_counts(metric: Metric) -> None:
    history = ["a puppy and some pets", "it has a bone", "pets !"]
    (piece,) = metric.score(history, "the dog").evidence.pieces
    assert (piece.turn, piece.history.text if piece.history else None, piece.hops) == (2, "pets", 1)


def test_max_hops_is_a_limit(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    values = []
    for hops in (0, 2, 3, 6):
        metric = Grounding(oracle, analyser, talk=IdfTable(1, {"moon": 1}), max_hops=hops)  # the background is far from all of it
        values.append(metric.score(["a puppy"], "the refrigerator and a puppy").value)
    assert values == [1 / 2, 1 / 2, 1.0, 1.0]
    for wrong in (-1, 7):
        with pytest.raises(InputError, match="hops"):
            load_metric("grounding", oracle, pipeline=analyser, max_hops=wrong)


def test_without_a_background_there_is_no_score(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    score = Grounding(oracle, analyser, talk=IdfTable(10, {"zebra": 3})).score(["a dog"], "a bone")
    assert isnan(score.value)
    assert score.evidence.note == NO_BACKGROUND


def test_the_background_is_drawn_by_frequency(oracle: OracleGraph) -> None:
    assert drawn_concepts(TALK, oracle) == {"/c/en/dog": 256, "/c/en/bone": 128, "/c/en/food": 64, "/c/en/moon": 64}
    assert drawn_concepts(IdfTable(9, {"dogs": 1, "dog": 2, "zebra": 40, "bone": 1}), oracle, draws=4) == {
        "/c/en/dog": 3,
        "/c/en/bone": 1,
    }
    assert tuple(map(Background(oracle, TALK).idf, ("dog", "hot dog", "food"))) == (DOG, log(8), FOOD)


def test_the_background_table_ships() -> None:
    talk = shipped_talk()
    assert talk.utterances > 10_000
    assert talk.counts["know"] > talk.counts["dog"] > talk.counts["rain"] > 0
    assert talk.idf("know") < talk.idf("dog") < talk.idf("asdfqwer")


def test_without_a_concept_on_either_side_there_is_no_score(metric: Metric) -> None:
    for history, response, note in (
        (["a dog"], "😀 hm !", NO_RESPONSE),
        ([], "a dog and a bone", NO_HISTORY),
        (["", "hm ?"], "a dog and a bone", NO_HISTORY),
        (["a dog"], "", "the response cannot be judged: it has no words"),
        (["a dog"], "はい、そうです", "the response cannot be judged: it is not in English"),
        (["привет"], "a dog and a bone", "the turn before the response cannot be read: it is not in English"),
    ):
        score = metric.score(history, response, explain=True)
        assert isnan(score.value)
        assert score.evidence == Evidence(note=note)
        assert score.to_dict()["value"] is None
    assert metric.score(["a dog"], "the moon").value == 0.0  # it has a concept, and no path leads to it


def test_other_languages_need_their_graph_and_pipeline(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    for language, refused in (("en", True), ("de", False)):
        note = load_metric("grounding", oracle, pipeline=analyser, language=language).score(
            ["ein Hund"], "der Hund hat heute einen Knochen gefressen"
        ).evidence.note  # fmt: skip
        assert ("cannot be judged" in note) == refused


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
    assert score.value == pytest.approx((DOG * (1 / 8) + BONE / 8 + log(8) / 8) / (DOG + BONE + log(8)))
    mention = score.evidence.pieces[0].response
    assert mention is not None
    assert mention.end == len("the dog")


SENTENCES = ["a dog", "the puppies ate bones", "hot dogs and ice-cream", "I ’ ll ride bikes", "the moon", "", "hm", "😀"]
ITEMS = st.lists(st.tuples(st.lists(st.sampled_from(SENTENCES), max_size=4), st.sampled_from(SENTENCES)), max_size=12)


@settings(deadline=None, max_examples=40)
@given(ITEMS, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_batch_or_order(
    oracle: OracleGraph, analyser: SpacyAnalyser, items: list[tuple[list[str], str]], chance: random.Random
) -> None:
    metric = load_metric("grounding", oracle, pipeline=analyser)
    together = metric.score_batch(items, explain=True)
    assert together == [metric.score(history, response, explain=True) for history, response in items]
    order = list(range(len(items)))
    chance.shuffle(order)
    assert metric.score_batch([items[index] for index in order], explain=True) == [together[index] for index in order]
    assert all(isnan(score.value) == bool(score.evidence.note) for score in together)
    assert all(0.0 <= score.value <= 1.0 for score in together if not score.evidence.note)


def test_more_history_at_equal_distance_lowers_the_value(metric: Metric) -> None:
    """Of two concepts one is more often near by chance than one alone is."""
    first, second = (metric.score(history, "a bone").value for history in (["a dog"], ["a dog and the moon"]))
    assert (first, second) == (1 / 4, 1 / 16)


def test_the_signature_names_what_a_score_depends_on(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    start = f"grounding|graph:{graph.manifest().digest}|pipeline:{analyser.signature}|talk:"
    signature = str(load_metric("grounding", graph, pipeline=analyser).signature)
    reference = f"reference:{references_of('grounding', [SHIPPED])[0].label} with the graph e9f22b085cf437af"
    assert signature == f"{start}{shipped_talk().digest}|hops:3|{reference}|v:3"
    other = load_metric("grounding", graph, pipeline=analyser, max_hops=4).signature
    assert str(other) == f"{start}{shipped_talk().digest}|hops:4|v:3"
    assert str(Grounding(graph, analyser, talk=TALK).signature) == f"{start}{TALK.digest}|hops:3|v:3"
    assert TALK.digest != IdfTable(8, TALK.counts).digest


def test_metrics_are_found_by_name(oracle: OracleGraph) -> None:
    with pytest.raises(InputError, match=r"unknown metric 'astrology'; choose from grounding"):
        load_metric("astrology", oracle)
    with pytest.raises(InputError, match=r"no option 'hops'; it has .*max_hops"):
        load_metric("grounding", oracle, hops=3)


def test_scores_are_explained_in_words(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    metric = Grounding(oracle, analyser, talk=IdfTable(9, {"moon": 7, "dog": 1}))
    explanation = explain(metric.score(["my puppy is hungry"], "the moon , a bone and puppies", explain=True)).splitlines()
    assert explanation[0] == "grounding 0.894"
    assert (
        explanation[1]
        == '  +0.417 "bone" fits "puppy" (turn 1): puppy -IsA-> dog -Desires-> bone; one in 8 random histories is as near'
    )
    assert (
        explanation[2]
        == '  +0.477 "puppies" (puppy) is in the history too: "puppy" (turn 1); hardly any random history is as near'
    )
    assert explanation[3] == '  +0.000 in all from "moon"'
    assert explanation[4].startswith("  grounding|graph:")
    assert explain(metric.score([], "a dog")).startswith(f"grounding none: {NO_HISTORY}")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "hardly any random history is as near"),
        (0.975, "one in 40 random histories is as near"),
        (0.5, "one in 2 random histories is as near"),
        (0.4, "6 in 10 random histories are as near"),
        (0.01, "nearly every random history is as near"),
    ],
)
def test_chance_is_explained_in_words(value: float, words: str) -> None:
    def mention_of(text: str) -> Mention:
        return Mention(0, len(text), text, f"/c/en/{text}", text, "NOUN")

    (line,) = explain_pieces([Piece("concept", value, 0.3, mention_of("soup"), 1, mention_of("cook"), 2)])
    assert line == f'+0.300 "soup" is 2 hops from "cook" (turn 2); {words}'


def test_distances_can_go_through_events(tmp_path: Path, analyser: SpacyAnalyser) -> None:
    """`dog` and `wallet` are two hops apart through the event that mentions both; without events nothing joins them.

    A quarter of the background, the purse, is within two hops of the wallet.
    """
    rows = [
        Assertion("/c/en/dog", "IsA", "/c/en/pet"),
        Assertion("/c/en/wallet", "IsA", "/c/en/purse"),
        Assertion("/e/PersonX's_dog_eats_PersonX's_wallet", "xReact", "/e/angry"),
    ]
    talk = IdfTable(3, {"pet": 3, "purse": 1})
    with open_graph(tmp_path / "graph", create=True) as graph:
        graph.load(rows)
        with pytest.raises(GraphError, match="tacit link"):
            Grounding(graph, analyser, events=True)
        link_events(graph)
        plain = Grounding(graph, analyser, talk=talk)
        linked = Grounding(graph, analyser, talk=talk, events=True)
        assert linked.graph is graph.linked_index
        scores = [metric.score(["my dog"], "your wallet", explain=True) for metric in (plain, linked)]
        assert f"|links:{graph.link_manifest().digest}|" in str(linked.signature)
        claims = claims_of(scores[1].evidence.pieces)
        assert [claim.relation for claim in claims] == ["Mentions", "Mentions"]
        assert all(graph.run(claim_query().text, claim.parameters).records() for claim in claims)
    assert [score.value for score in scores] == [0.0, 3 / 4]
    assert [score.evidence.pieces[0].hops for score in scores] == [None, 2]
