"""The extractor ``cskb``: tuples of a small graph by keywords, the same from every backend."""

from __future__ import annotations

import pytest
from tacit.graph.errors import InputError
from tacit.graph.item import Item
from tacit.graph.model import Assertion
from tacit.graph.names import event_uri
from tacit.reasoning.metrics.accent.events import Kind, Where
from tacit.reasoning.metrics.accent.extractors.keywords import make
from tacit.reasoning.registry import EXTRACTOR_REGISTRY, open_extractor
from tacit.reasoning.text.language import SpacyAnalyser

from tests.conftest import GraphOf

EVENTS = (
    ("PersonX adopts dogs", "xNeed", "to buy food"),
    ("PersonX adopts dogs", "xWant", "to walk in the park"),
    ("PersonX walks home", "xIntent", "to see the dog"),
    ("PersonX walks home", "isBefore", "PersonX sees the dog"),
    ("PersonX parks the car", "xReact", "tired"),
)


def rows() -> list[Assertion]:
    return [Assertion(event_uri(head), relation, event_uri(tail), source="atomic2020") for head, relation, tail in EVENTS]


def test_pair_and_single(graph_of: GraphOf, analyser: SpacyAnalyser) -> None:
    extractor = make(graph_of(rows()), pipeline=analyser)
    event_tuples = extractor.extract_batch([Item(["Hi.", "I have a dog."], "Let us walk to the park.")])[0]
    assert [(event_tuple.head, event_tuple.relation, event_tuple.tail, event_tuple.kind) for event_tuple in event_tuples] == [
        ("PersonX adopts dogs", "xWant", "to walk in the park", Kind.PAIR)
    ]
    assert event_tuples[0].head_at == Where(1, 9, 12)
    assert event_tuples[0].tail_at is not None
    single = extractor.extract_batch([Item([], "I walk my dogs.")])[0]
    assert {(event_tuple.head, event_tuple.tail, event_tuple.kind) for event_tuple in single} == {
        ("PersonX walks home", "to see the dog", Kind.SINGLE),
        ("PersonX adopts dogs", "to walk in the park", Kind.SINGLE),
    }


def test_words_are_matched_whole(graph_of: GraphOf, analyser: SpacyAnalyser) -> None:
    extractor = make(graph_of(rows()), pipeline=analyser)
    assert extractor.extract_batch([Item(["The arks are old."], "I am tired.")]) == [[]]


@pytest.mark.parametrize("response", ["", "😀", "the of and", "ありがとう"])
def test_without_keywords_there_is_no_tuple(graph_of: GraphOf, analyser: SpacyAnalyser, response: str) -> None:
    extractor = make(graph_of(rows()), pipeline=analyser)
    assert extractor.extract_batch([Item(["a dog"], response), Item([], response)]) == [[], []]


def test_the_rarest_words_are_preferred_within_the_limit(graph_of: GraphOf, analyser: SpacyAnalyser) -> None:
    assertions = [
        Assertion(event_uri(f"PersonX sees {what} dog"), "xWant", event_uri("to eat bread"), source="atomic2020")
        for what in ("the", "a red", "a blue", "an old")
    ]
    graph = graph_of(
        [*assertions, Assertion(event_uri("PersonX sees a zebra"), "xWant", event_uri("to eat bread"), source="atomic2020")]
    )
    item = Item(["a dog and a zebra"], "eat your bread")
    limited = make(graph, pipeline=analyser, limit=2).extract_batch([item])[0]
    assert [event_tuple.head for event_tuple in limited] == ["PersonX sees a zebra", "PersonX sees a blue dog"]
    assert len(make(graph, pipeline=analyser, limit=0).extract_batch([item])[0]) == 5


def test_more_turns_than_the_cache_holds(graph_of: GraphOf, analyser: SpacyAnalyser) -> None:
    items = [Item([f"dog number {number}"], "walk in the park") for number in range(5)]
    graph = graph_of(rows())
    assert make(graph, pipeline=analyser).extract_batch(items) == make(graph, pipeline=analyser).extract_batch(items)


def test_options_and_names(graph_of: GraphOf, analyser: SpacyAnalyser) -> None:
    graph = graph_of(rows())
    assert "limit=3" in make(graph, pipeline=analyser, limit=3).signature
    with pytest.raises(InputError, match="limit is -1"):
        make(graph, pipeline=analyser, limit=-1)
    with pytest.raises(InputError, match="unknown extractor 'magic'; choose from rules, t5, cskb"):
        open_extractor("magic")
    with pytest.raises(InputError, match="the extractor cskb searches a graph"):
        open_extractor("cskb")
    with pytest.raises(InputError, match="the extractor rules has no option 'beams'; it has pipeline"):
        open_extractor("rules", beams=3)
    assert EXTRACTOR_REGISTRY.kind("t5").options()["beams"] == 10
