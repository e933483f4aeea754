"""Claims: what of the evidence is one, and that the shown query finds each in the graph, on both engines, word for word."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tacit.graph import KnowledgeGraph, WritableGraph, open_index
from tacit.graph.cypher_store import claim_query
from tacit.graph.item import Item
from tacit.graph.model import Assertion
from tacit.graph.model import Path as GraphPath
from tacit.graph.names import concept_uri, event_uri
from tacit.loaders import read_atomic, read_conceptnet, read_items
from tacit.reasoning import Evidence, Explanation, Piece, Reasoner, Score, Signature
from tacit.reasoning.explanation import Claim
from tacit.reasoning.metrics.accent.events import EventTuple, Kind
from tacit.reasoning.metrics.accent.metric import Accent
from tacit.reasoning.metrics.accent.scorers.base import CloseTail, Origin, Query, Triple, TupleScore
from tacit.reasoning.metrics.accent.tails.event_table import open_table
from tacit.reasoning.metrics.accent.tails.sources import GraphTails
from tacit.reasoning.text.language import SpacyAnalyser

from tests.reasoning.explanation.example_explanations import all_pieces, explanations
from tests.reasoning.metrics.accent.world import world

SAMPLE = Path(__file__).parents[3] / "api" / "sample"


def found(graph: KnowledgeGraph, claim: Claim) -> list[dict[str, Any]]:
    """What the shown query finds for a claim."""
    return graph.run(claim_query().text, claim.parameters).records()


def check(graph: KnowledgeGraph, claims: Iterable[Claim]) -> int:
    """Every claim is an edge of ``graph``, with its weight and its source; returns how many there were."""
    claims_listed = list(claims)
    for claim in claims_listed:
        rows = [row for row in found(graph, claim) if (row["source"], row["dataset"]) == (claim.source, claim.dataset)]
        assert any(row["weight"] == pytest.approx(claim.weight, abs=1e-12) for row in rows), claim
        assert all((row["head_text"], row["tail_text"]) == (claim.head_text, claim.tail_text) for row in rows)
        assert {row["relation"] for row in rows} == {claim.relation}
    return len(claims_listed)


def path(*rows: Assertion) -> GraphPath:
    return GraphPath((rows[0].head, *(row.tail for row in rows)), rows)


def test_claims_are_distinct_edges_with_their_shares() -> None:
    near, far = Assertion("/c/en/a", "IsA", "/c/en/b", 2.0, "conceptnet", "/d/x"), Assertion("/c/en/b", "UsedFor", "/c/en/c", 1.0)
    held = Piece("model-tail", 0.5, 0.25, path=path(Assertion("/e/a", "xWant", "/e/b")), asserted=False)
    pieces = (
        Piece("concept", 0.5, 0.25, path=path(near)),
        Piece("feature", 9.0, 0.5, rests_on=(Piece("triple", 1.0, -0.5, path=path(near, far)), held)),
        Piece("concept", 1.0, 1.0, path=GraphPath(("/c/en/a",), ())),
    )
    explanation = Explanation(("a",), "b", Score(0.5, Evidence(pieces), Signature("mine", (), 1)))
    assert explanation.claims == (
        Claim("/c/en/a", "IsA", "/c/en/b", 2.0, "conceptnet", "/d/x", -0.25),
        Claim("/c/en/b", "UsedFor", "/c/en/c", 1.0, "", "", -0.5),
    )
    row = explanation.to_dict()
    assert row["claims"][0] == {
        "head": "/c/en/a", "relation": "IsA", "tail": "/c/en/b", "head_text": "a", "tail_text": "b", "weight": 2.0,
        "source": "conceptnet", "dataset": "/d/x", "share": -0.25,
        "parameters": {"head": "/c/en/a", "relation": "IsA", "tail": "/c/en/b"},
    }  # fmt: skip
    assert set(row["claims"][0]["parameters"]) == set(claim_query().parameters)
    assert Claim.from_dict(row["claims"][0]) == explanation.claims[0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(explanations(6))
def test_explanations_round_trip_through_json(explained: Explanation) -> None:
    row = explained.to_dict()
    again = Explanation.from_dict(json.loads(json.dumps(row)))
    assert again.to_dict() == row
    assert (again.svg(), again.text(), again.claims) == (explained.svg(), explained.text(), explained.claims)
    assert (row["value"] is None) == isnan(explained.score.value)
    edges = {claim.parameters["head"] for claim in explained.claims}
    assert edges <= {
        row.head
        for piece in all_pieces(explained.score.evidence.pieces)
        if piece.asserted and piece.path
        for row in piece.path.assertions
    }


def test_claims_of_the_sample_are_in_the_graph(
    new_store: Callable[[], WritableGraph], analyser: SpacyAnalyser, tmp_path: Path
) -> None:
    store = new_store()
    store.load(read_conceptnet(SAMPLE / "conceptnet.csv"))
    store.load(read_atomic(SAMPLE / "atomic2020.tsv"))
    items = [item for item in read_items(SAMPLE / "dialogues.jsonl") if isinstance(item, Item)]
    with open_index(store, directory=tmp_path / "index") as index:
        reasoner = Reasoner(index, ["grounding", "commonsense", "association"], pipeline=analyser)
        explanations = [explanation for item in items for explanation in reasoner.explain(item.history, item.response).values()]
    number = check(store, {claim: None for explanation in explanations for claim in explanation.claims})
    assert number > 50
    assert not any(
        explanation.claims for explanation in explanations if explanation.score.signature.metric == "association"
    )  # a model's, all of it


@pytest.mark.slow
def test_claims_of_real_dialogues_are_in_the_real_graph(
    new_store: Callable[[], WritableGraph], analyser: SpacyAnalyser, data_dir: Path, tmp_path: Path
) -> None:
    store = new_store()
    store.load(read_conceptnet(data_dir / "conceptnet" / "assertions-en.csv.gz", min_weight=3.0))
    items = islice(read_items(data_dir / "dialogues" / "dailydialog-test.jsonl.gz"), 90)
    with open_index(store, directory=tmp_path / "index") as index:
        reasoner = Reasoner(index, ["grounding", "commonsense"], pipeline=analyser)
        explanations = [
            explanation
            for item in items
            if isinstance(item, Item)
            for explanation in reasoner.explain(item.history, item.response).values()
        ]  # fmt: skip
    assert check(store, list(dict.fromkeys(claim for explanation in explanations for claim in explanation.claims))[:100]) > 50


class Tuples:
    """Finds the tuples that it was given, whatever is said."""

    signature = "given"

    def __init__(self, tuples: Sequence[Triple]) -> None:
        self.tuples = [EventTuple(head, relation, tail, Kind.SINGLE) for head, relation, tail in tuples]

    def extract_batch(self, items: Sequence[Item]) -> list[list[EventTuple]]:
        return [self.tuples for _ in items]


class AllTails:
    """Names every tail that the graph knows of a tuple's head."""

    signature = "all"
    relations = None

    def __init__(self, graph: KnowledgeGraph, home: Path) -> None:
        self.tails = GraphTails(open_table(graph, home=home))

    def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
        known = self.tails.find([Query(head, relation) for head, relation, _ in tuples])
        return [TupleScore(1.0, tuple(CloseTail(tail, 1.0) for tail in answer.tails)) for answer in known]


EXTRA = (
    Assertion(event_uri("PersonX wakes up"), "isBefore", event_uri("PersonX eats dinner"), 1.0, "atomic2020", "test.tsv"),
    Assertion(event_uri("PersonX eats dinner"), "HasSubEvent", event_uri("PersonX chews"), 2.0, "atomic2020", "test.tsv"),
    Assertion(concept_uri("eat dinner"), "HasSubevent", concept_uri("chew"), 3.5, "conceptnet", "/d/test"),
    Assertion(concept_uri("eat dinner"), "HasSubEvent", concept_uri("chew"), 4.5, "other", "/d/test"),
    Assertion(concept_uri("eat dinner"), "HasSubevent", concept_uri("chew"), 3.0, "conceptnet", "/d/other"),
    Assertion(event_uri("PersonX sleeps"), "xWant", event_uri("to rest"), 1.0, "comet:told", rank=0, score=-0.25),
)
ASKED = (
    ("PersonX buys a dog", "xWant", "x"), ("PersonX eats dinner", "isAfter", "x"), ("PersonX eats dinner", "HasSubEvent", "x"),
    ("walk the dog", "xNeed", "x"), ("eat dinner", "HasSubEvent", "x"), ("PersonX sleeps", "xWant", "x"),
)  # fmt: skip


def test_claims_of_known_tails_have_the_wording_of_the_graph(new_store: Callable[[], WritableGraph], tmp_path: Path) -> None:
    store = new_store()
    store.load([*world(), *EXTRA])
    metric = Accent(store, Tuples(ASKED), AllTails(store, tmp_path / "events"))
    explanation = Explanation((), "it", metric.score([], "it", explain=True))
    claims = explanation.claims
    assert check(store, claims) == len(claims) == 7
    edges = {(claim.head_text, claim.relation, claim.tail_text, claim.weight, claim.source) for claim in claims}
    assert edges == {
        ("PersonX buys a dog", "xWant", "to feed the dog", 1.0, "atomic2020"),
        ("PersonX buys a dog", "xWant", "to go to the park", 2.0, "atomic2020"),
        ("PersonX wakes up", "isBefore", "PersonX eats dinner", 1.0, "atomic2020"),  # the table turns it round
        ("PersonX eats dinner", "HasSubEvent", "PersonX chews", 2.0, "atomic2020"),
        ("walk the dog", "HasPrerequisite", "get a leash", 1.5, "conceptnet"),  # the table calls it xNeed
        ("eat dinner", "HasSubevent", "chew", 3.5, "conceptnet"),  # the stronger of two; not HasSubEvent, which is another's
        ("PersonX sleeps", "xWant", "to rest", 1.0, "comet:told"),  # a model's once, the graph's now
    }
    assert [row["weight"] for row in found(store, claims[-2])] == [3.5, 3.0]
    assert 'which atomic2020 says of "PersonX eats dinner"' in explanation.text()
    unasked = metric.score([], "it")
    assert not Explanation((), "it", unasked).claims  # nobody looked
    assert [piece.share for piece in unasked.evidence.pieces] == [piece.share for piece in explanation.score.evidence.pieces]


def test_generated_tails_are_no_claims(new_store: Callable[[], WritableGraph], tmp_path: Path) -> None:
    store = new_store()
    store.load(world())
    scorer = AllTails(store, tmp_path / "events")
    (known,) = scorer.score([("PersonX buys a dog", "xReact", "x")])

    class Saying:
        signature, relations = "saying", None

        def score(self, tuples: Sequence[Triple]) -> list[TupleScore]:
            generated = known.closest[0].tail
            tails = [
                generated._replace(text="calm", origin=Origin.COMET),
                generated._replace(origin=Origin.MODEL),
                generated._replace(source="me"),
            ]
            return [TupleScore(1.0, tuple(CloseTail(tail, 1.0) for tail in tails)) for _ in tuples]

    metric = Accent(store, Tuples([("PersonX buys a dog", "xReact", "x")]), Saying())
    explanation = Explanation((), "it", metric.score([], "it", explain=True))
    assert not explanation.claims
    assert len(explanation.score.evidence.pieces[0].rests_on) == 3
