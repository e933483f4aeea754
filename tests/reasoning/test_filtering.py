"""The dialogue filter: triples found by hand over every backend, relations left out, and Wilson's interval beside scipy's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tacit.graph.errors import InputError
from tacit.graph.model import Assertion
from tacit.graph.names import concept_uri
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.filtering import Match, TripleFilter, wilson
from tacit.reasoning.text.language import SpacyAnalyser

from tests.networkx_oracle import OracleGraph

DIALOGUES = [
    ["I have a dog.", "Does it like bones?", "Yes, and food."],
    ["A cat!", "I have a dog."],  # they meet in pet, two hops away
    ["I have a dog.", "Really?", "Bones are expensive."],  # not adjacent
    ["My dogs eat food.", "My dogs eat food."],  # a concept is no triple with itself, dog and food are one
    ["A puppy, a dog.", "Dogs and bones."],
    ["The hot dog stand"],
    [],
    ["the moon", ""],
]

FOUND = [
    [(0, "dog Desires bone", "dog", "bones")],
    [],
    [],
    [(0, "dog Desires food", "dogs", "food")],
    [(0, "puppy IsA dog", "puppy", "Dogs"), (0, "dog Desires bone", "dog", "bones")],
    [],
    [],
    [],
]


def rows_of(matches: tuple[Match, ...]) -> list[tuple[int, str, str, str]]:
    lines = []
    for match in matches:
        head, tail = (uri.removeprefix("/c/en/") for uri in (match.assertion.head, match.assertion.tail))
        triple = f"{head} {match.assertion.relation} {tail}"
        lines.append((match.turn, triple, match.earlier.text, match.later.text))
    return lines


def test_filtered_dialogues_by_hand(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    found_matches = TripleFilter(graph, analyser).matches(DIALOGUES)
    assert [rows_of(matches) for matches in found_matches] == FOUND
    assert found_matches[0][0].assertion.weight == 2.0


def test_filtering_does_not_depend_on_batch_or_order(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    whole = TripleFilter(oracle, analyser).matches(DIALOGUES)
    forgetful = TripleFilter(oracle, analyser, cache_size=0)
    assert [forgetful.matches([turns])[0] for turns in DIALOGUES] == whole
    assert forgetful.matches(DIALOGUES[::-1]) == whole[::-1]
    assert forgetful.matches([]) == []


PARALLEL = [
    Assertion(concept_uri(head), relation, concept_uri(tail), weight, "conceptnet", dataset)
    for head, relation, tail, weight, dataset in (
        ("dog", "Desires", "bone", 2.0, "/d/one"),
        ("dog", "Desires", "bone", 4.0, "/d/two"),
        ("bone", "AtLocation", "dog", 3.0, ""),
        ("dog", "RelatedTo", "bone", 1.0, ""),
        ("dog", "RelatedTo", "cat", 1.0, ""),
    )
]


def test_relations_and_counts(graph_of: Callable[[list[Assertion]], KnowledgeGraph], analyser: SpacyAnalyser) -> None:
    graph = graph_of(PARALLEL)
    dialogues = [["a dog", "a bone"], ["a bone", "a dog", "a cat"]]

    def relations(**options: object) -> list[list[tuple[int, str, float]]]:
        found_matches = TripleFilter(graph, analyser, **options).matches(dialogues)  # type: ignore[arg-type]
        return [
            [(match.turn, match.assertion.relation, match.assertion.weight) for match in matches] for matches in found_matches
        ]

    desires, at, related = (0, "Desires", 4.0), (0, "AtLocation", 3.0), (0, "RelatedTo", 1.0)
    assert relations() == [[desires, at, related], [desires, at, related, (1, "RelatedTo", 1.0)]]
    assert relations(count="pairs") == [[desires], [desires, (1, "RelatedTo", 1.0)]]
    assert relations(excluded=["RelatedTo", "Desires"]) == [[at], [at]]
    assert relations(excluded=["Desires"], count="pairs") == [[at], [at, (1, "RelatedTo", 1.0)]]
    assert relations(relations=["RelatedTo"]) == [[related], [related, (1, "RelatedTo", 1.0)]]
    assert relations(relations=["RelatedTo", "Desires"], excluded=["RelatedTo"]) == [[desires], [desires]]
    assert relations(relations=[]) == [[], []]


def test_the_signature_names_what_the_result_depends_on(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    plain = f"filter|graph:{oracle.manifest().digest}|pipeline:{analyser.signature}|count:triples"
    words = "max_words:1|pos:ADJ+NOUN+PROPN+VERB|v:1"
    assert str(TripleFilter(oracle, analyser).signature) == f"{plain}|{words}"
    chosen = TripleFilter(oracle, analyser, relations=["UsedFor", "IsA"], excluded=["RelatedTo"])
    assert str(chosen.signature) == f"{plain}|relations:IsA+UsedFor|excluded:RelatedTo|{words}"


def test_invalid_arguments_are_refused(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    with pytest.raises(InputError, match="pairs, triples"):
        TripleFilter(oracle, analyser, count="words")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="relation name"):
        TripleFilter(oracle, analyser, excluded=["Used For"])
    chosen = TripleFilter(oracle, analyser)
    for turns in ("a dog", [1], ["x" * 200_001]):
        with pytest.raises(InputError):
            chosen.matches([["a dog", "a bone"], turns])  # type: ignore[list-item]


def test_wilson_by_hand() -> None:
    """With z = 1.96: (0.8 + z²/20 ± z sqrt(0.016 + z²/400)) / (1 + z²/10) for 8 of 10."""
    assert wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)
    assert wilson(0, 0) == (0, 1)
