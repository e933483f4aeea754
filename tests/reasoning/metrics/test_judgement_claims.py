"""The graph's assertions for and against a response: which a small graph gives, in every backend."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tacit.graph import Assertion
from tacit.graph.names import concept_uri, event_uri
from tacit.reasoning.metrics.judgement_claims import GraphClaims
from tacit.reasoning.text.language import open_analyser
from tacit.reasoning.text.linking import Linker
from tacit.reasoning.text.parsing import open_parser

from ...conftest import GraphOf


def event(head: str, relation: str, tail: str) -> Assertion:
    return Assertion(event_uri(head), relation, event_uri(tail), 1.0, "atomic2020")


def concept(head: str, relation: str, tail: str, weight: float = 1.0) -> Assertion:
    return Assertion(concept_uri(head), relation, concept_uri(tail), weight, "conceptnet")


ROWS = (
    event("PersonX goes running", "HinderedBy", "PersonX has a broken leg"),
    event("PersonX goes running", "HinderedBy", "The weather is bad"),
    event("PersonX goes running", "xNeed", "to put on shoes"),
    event("PersonX drives to work", "xNeed", "to have a car"),
    event("PersonX drives to work", "xEffect", "gets to work"),
    concept("go fishing", "HasPrerequisite", "buy bait"),
    concept("go fishing", "ObstructedBy", "be sick", 2.0),
    concept("dog", "Desires", "bone", 3.0),
    concept("hot", "Antonym", "cold", 2.0),
    concept("dog", "NotCapableOf", "fly"),
)


@pytest.fixture
def claims(graph_of: GraphOf) -> GraphClaims:
    return GraphClaims(Linker(graph_of(ROWS), open_analyser(None)), open_parser(None))


Case = tuple[tuple[str, ...], str, str]
HINDERED: list[Case] = [
    (("I have a broken leg.",), "You should go running.", "goes running -HinderedBy-> PersonX has a broken leg"),
    (("I have a broken leg now.",), "Go running!", "goes running -HinderedBy-> PersonX has a broken leg"),
    (("The weather is bad.",), "I will go running.", "goes running -HinderedBy-> the weather is bad"),
    (("I don't have a car anymore.",), "You can drive to work.", "drives to work -xNeed-> to have a car"),
    (("We did not buy any bait.",), "You should go fishing.", "go fishing -HasPrerequisite-> buy bait"),
    (("I am sick.",), "You should go fishing.", "go fishing -ObstructedBy-> be sick"),
    (("I am sick.", "Oh no.", "Yes."), "I will go fishing.", ""),  # the sick one is the other speaker
    (("I am sick.", "Oh no."), "I will go fishing.", "go fishing -ObstructedBy-> be sick"),
]
NOT_HINDERED: list[Case] = [
    (("I have a car.",), "You can drive to work.", ""),
    (("I don't have a red car.",), "You can drive to work.", ""),  # another car may do
    (("Do you have a broken leg?",), "I go running.", ""),
    (("She has a broken leg.",), "You should go running.", ""),
    (("I have a broken leg.",), "You should not go running.", ""),
    (("I have a broken leg.",), "Do you go running?", ""),
    (("I don't have a broken leg.",), "You should go running.", ""),
    (("I might have a broken leg.",), "You should go running.", ""),
    ((), "You should go running.", ""),
]


def test_hindering_edges_and_missing_needs_count_against_a_response(claims: GraphClaims) -> None:
    for turns, response, text in (*HINDERED, *NOT_HINDERED):
        names = [piece.name for piece in claims.pieces_for([(turns, response)])[0] if "Hindered" in piece.name or piece.hops == 1]
        events = [name for name in names if any(relation in name for relation in ("HinderedBy", "xNeed", "Prereq", "Obstr"))]
        assert len(events) == bool(text), (turns, response, names)
        assert all(name.startswith("the graph, against it: ") and text in name for name in events), names


def test_claims_are_ordered_events_first_and_against_before_for(claims: GraphClaims) -> None:
    turns = ("The hot dog can see that I have a broken leg.",)
    (turn_claims,) = claims.pieces_for([(turns, "You should go running, the dog will fly and it is cold, says the bone.")])  # type: ignore[assignment]
    texts = [(piece.name or "").removesuffix(", weight") for piece in turn_claims]
    assert texts == [
        'the graph, against it: PersonX goes running -HinderedBy-> PersonX has a broken leg, which "I have a broken leg" states',
        "the graph, against it: hot -Antonym-> cold", "the graph, against it: dog -NotCapableOf-> fly",
        "the graph, for it: dog -Desires-> bone",
    ]  # fmt: skip
    assert [piece.value for piece in turn_claims] == [1.0, 2.0, 1.0, 3.0]
    assert all(piece.share == 0 and piece.path is not None and piece.path.hops == 1 for piece in turn_claims)


def test_several_pairs_equal_single_ones(claims: GraphClaims) -> None:
    pairs = [(turns, response) for turns, response, _ in (*HINDERED, *NOT_HINDERED)]
    ask: Callable[..., list[tuple[object, ...]]] = claims.pieces_for  # type: ignore[assignment]
    assert ask(pairs) == [ask([pair])[0] for pair in pairs]
