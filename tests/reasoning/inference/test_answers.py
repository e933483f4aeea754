"""Answers from the graph: every reading of every question, over every engine, with golden answers worked out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from tacit.graph import Assertion, KnowledgeGraph
from tacit.graph.cypher_store import claim_query
from tacit.graph.errors import InputError
from tacit.graph.names import concept_uri, event_uri
from tacit.graph.questions import QUESTIONS, Question
from tacit.reasoning.inference import Inference, TurnAnswers, load_inference
from tacit.reasoning.metrics.accent.scorers.base import KnownTail, Origin, Query, TailResult

GraphOf = Callable[[Iterable[Assertion]], KnowledgeGraph]

EVENTS = (
    ("PersonX buys a ticket", "xReason", "PersonX wants to see the band", 1.0),
    ("PersonX buys a ticket", "isAfter", "PersonX saves money", 1.0),
    ("PersonX gets paid", "xEffect", "buys a ticket", 1.0),
    ("PersonX plans a trip", "Causes", "PersonX buys a ticket", 1.0),
    ("PersonX buys a ticket", "xEffect", "is broke", 1.0),
    ("PersonX buys a ticket", "oEffect", "sells a ticket", 1.0),
    ("PersonX buys a ticket", "xWant", "to board the train", 2.0),
    ("PersonX buys a ticket", "xWant", "to find a seat", 1.0),
    ("PersonX buys a ticket", "oWant", "to come along", 1.0),
    ("PersonX buys a ticket", "isBefore", "PersonX travels", 1.0),
    ("PersonX packs a bag", "isAfter", "PersonX buys a ticket", 1.0),
    ("PersonX buys a ticket", "xNeed", "to go to the station", 1.0),
    ("PersonX buys a ticket", "xNeed", "none", 1.0),
    ("PersonX buys a ticket", "HinderedBy", "PersonX has no money", 1.0),
    ("PersonX buys a ticket", "xIntent", "to visit PersonY", 1.0),
    ("PersonX buys a ticket", "xReact", "gleeful", 1.0),
    ("PersonX buys a ticket", "oReact", "not happy", 1.0),
    ("PersonX does not buy a ticket", "xReact", "sad", 1.0),
)
CONCEPTS = (
    ("go fishing", "HasPrerequisite", "bait", 1.5),
    ("rain", "Causes", "flood", 1.0),
    ("flood", "Causes", "damage", 1.0),
    ("dog", "Desires", "bone", 2.0),
)
TICKET = "I will buy a ticket."


def world() -> list[Assertion]:
    events = [Assertion(event_uri(h), r, event_uri(t), w, "atomic2020", "test.tsv") for h, r, t, w in EVENTS]
    return events + [Assertion(concept_uri(h), r, concept_uri(t), w, "conceptnet", "/d/test") for h, r, t, w in CONCEPTS]


@pytest.fixture
def inference(graph_of: GraphOf) -> Inference:
    return load_inference(graph_of(world()))


def texts(inference: Inference, turn: str, question: Question, limit: int = 20) -> list[str]:
    [turn_answers] = inference.answer([turn], questions=[question], limit=limit)
    return [answer.text for answer in turn_answers.answers[question]]


def test_every_question_has_the_answers_of_its_readings(inference: Inference) -> None:
    [turn_answers] = inference.answer(["A: Hello .", f"B: {TICKET}"], 1, limit=20)
    assert (turn_answers.turn, turn_answers.text, turn_answers.events) == (1, TICKET, ("PersonX buys a ticket",))
    assert {question: [answer.text for answer in answers] for question, answers in turn_answers.answers.items()} == {
        Question.CAUSE: [
            "the speaker wants to see the band", "the speaker plans a trip", "the speaker gets paid", "the speaker saves money",
        ],
        Question.SUBSEQUENT: [
            "the speaker is broke", "the listener sells a ticket", "the speaker boards the train", "the listener comes along",
            "the speaker travels", "the speaker packs a bag", "the speaker finds a seat",
        ],
        Question.PREREQUISITE: ["the speaker goes to the station", "it is not so that the speaker has no money"],
        Question.MOTIVATION: ["the speaker visits the listener"],
        Question.REACTION: ["the listener feels not happy", "the speaker feels gleeful"],
    }  # fmt: skip
    assert [answer.emotion for answer in turn_answers.answers[Question.REACTION]] == ["sad", "happy"]
    hindered = turn_answers.answers[Question.PREREQUISITE][1]
    assert (hindered.relation, hindered.negated, hindered.origin, hindered.likeness) == ("HinderedBy", True, "graph", 1.0)


def test_each_answer_has_an_edge_that_its_query_finds(inference: Inference) -> None:
    [turn_answers] = inference.answer([TICKET], limit=20)
    queries = 0
    for answer in itertools.chain.from_iterable(turn_answers.answers.values()):
        assert answer.edge is not None
        assert answer.parameters is not None
        [row] = inference.graph.run(claim_query().text, answer.parameters).records()
        [edge] = answer.edge.assertions
        assert (row["head_text"], row["relation"], row["tail_text"]) == (edge.head_text, edge.relation, edge.tail_text)
        assert (edge.head_text, edge.relation, edge.tail_text) in {event[:3] for event in EVENTS}
        queries += 1
    assert queries == 16
    assert TurnAnswers.from_dict(turn_answers.to_dict()) == turn_answers


def test_inverted_edges_are_marked(inference: Inference) -> None:
    [turn_answers] = inference.answer([TICKET], questions=["cause", "subsequent"], limit=20)
    backwards = {answer.text: (answer.relation, answer.backwards) for row in turn_answers.answers.values() for answer in row}
    assert backwards["the speaker gets paid"] == ("xEffect", True)
    assert backwards["the speaker saves money"] == ("isAfter", False)
    assert backwards["the speaker travels"] == ("isBefore", False)
    assert backwards["the speaker packs a bag"] == ("isAfter", True)


def test_the_other_speaker_can_be_the_agent(inference: Inference) -> None:
    assert texts(inference, "You should buy a ticket.", Question.REACTION) == [
        "the listener feels gleeful", "the speaker feels not happy",
    ]  # fmt: skip
    assert texts(inference, "You should buy a ticket.", Question.MOTIVATION) == ["the listener visits the speaker"]


def test_similar_events_answer_for_unknown_events(inference: Inference, graph_of: GraphOf) -> None:
    [turn_answers] = inference.answer(["I will buy a ticket at the station."], questions=["motivation"])
    [answer] = turn_answers.answers[Question.MOTIVATION]
    assert (answer.origin, answer.text) == ("nearest", "the speaker visits the listener")
    assert 0.35 <= answer.likeness < 1
    alone = load_inference(graph_of(world()), nearest=0)
    assert texts(alone, "I will buy a ticket at the station.", Question.MOTIVATION) == []
    assert texts(inference, "I will not buy a ticket.", Question.REACTION) == ["the speaker feels sad"]


def test_conceptnet_answers_with_its_terms(inference: Inference) -> None:
    assert texts(inference, "Let's go fishing.", Question.PREREQUISITE) == ["bait"]
    assert texts(inference, "The flood came.", Question.CAUSE) == ["rain"]
    assert texts(inference, "My dog barks.", Question.MOTIVATION) == ["bone"]


def test_a_turn_without_an_edge_has_no_answer(inference: Inference) -> None:
    [turn_answers] = inference.answer(["Zorble frimps quickly."])
    assert set(turn_answers.answers) == set(QUESTIONS)
    assert not any(turn_answers.answers.values())
    [nothing] = inference.answer(["..."])
    assert (nothing.events, any(nothing.answers.values())) == ((), False)


class ToldTails:
    """A COMET that says one thing."""

    signature = "told"

    def find(self, queries: Iterable[Query]) -> list[TailResult]:
        return [
            TailResult((KnownTail("to win", "PersonX wins", Origin.COMET, query.head, 1.0, "comet:told", 0, -0.5),))
            for query in queries
        ]


def test_comet_answers_last_and_without_edges(graph_of: GraphOf) -> None:
    plain = load_inference(graph_of(world()))
    with_comet = Inference(plain.graph, plain.extractor, plain.lookup, comet=ToldTails())
    [turn_answers] = with_comet.answer(["I juggle."], questions=["motivation"])
    [answer] = turn_answers.answers[Question.MOTIVATION]
    assert (answer.text, answer.origin, answer.edge, answer.parameters) == ("the speaker wins", "comet", None, None)
    assert texts(with_comet, TICKET, Question.MOTIVATION) == ["the speaker visits the listener"]
    assert "sources=told" in str(with_comet.signature).replace(":", "=")
    assert str(with_comet.signature) != str(plain.signature)


def test_invalid_requests_are_one_sentence(inference: Inference) -> None:
    for call, message in (
        (lambda: inference.answer([TICKET], 1), "there is no turn 1; the dialogue has 1, from 0"),
        (lambda: inference.answer([]), "the dialogue has no turn"),
        (lambda: inference.answer("Hi."), "give a list"),
        (lambda: inference.answer([TICKET], questions=["why"]), "unknown question 'why'"),
        (lambda: inference.answer([TICKET], limit=-1), "limit must be >= 0"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert inference.answer([TICKET], -1, limit=0)[0].answers[Question.CAUSE] == ()
