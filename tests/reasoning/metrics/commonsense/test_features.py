"""The symbolic features: counts worked out by hand over every backend, against networkx, and the evidence behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.item import Item
from tacit.graph.model import Assertion
from tacit.graph.names import concept_uri
from tacit.graph.path_search import count_triples_many
from tacit.graph.protocol import COUNTS, Count, KnowledgeGraph
from tacit.reasoning.metrics.commonsense.features import TripleFeatures
from tacit.reasoning.text.language import SpacyAnalyser, Token

from tests.networkx_oracle import OracleGraph

GOLDEN = [
    # history, response, one-hop pairs, two-hop pairs
    (["i have a dog"], "give it a bone", 1, 0),
    (["the puppy is hungry"], "buy a bone , some food", 0, 2),  # puppy-dog-bone, puppy-dog-food
    (["i have a dog"], "i have a dog too", 0, 0),  # a concept is no triple with itself
    (["the puppy is hungry", "the dog too"], "bones and food", 2, 2),
    (["my dogs"], "my dogs , my bones , my bones", 1, 0),
    (["a cat"], "a dog at home", 0, 2),  # cat-pet-dog, cat-pet-home
    (["a dog and a pet"], "a dog and a pet", 2, 0),  # (dog, pet) and (pet, dog)
    (["i like hot dogs"], "the refrigerator", 0, 1),  # single words only, so the dog counts: dog-food-refrigerator
    (["my dog"], "the refrigerator", 0, 1),  # dog-food-refrigerator
    (["the moon"], "my dog", 0, 0),
    ([], "my dog", 0, 0),
    (["my dog"], "", 0, 0),
    (["", "   "], "!!! 😀 犬", 0, 0),
]


def item(history: Sequence[str], response: str) -> Item:
    return Item(list(history), response)


@pytest.mark.parametrize(("history", "response", "hops", "two"), GOLDEN)
def test_golden_pairs(
    graph: KnowledgeGraph, analyser: SpacyAnalyser, history: list[str], response: str, hops: int, two: int
) -> None:
    assert TripleFeatures(graph, analyser).counts([item(history, response)]).tolist() == [[hops, two]]


PARALLEL = [
    Assertion(concept_uri(head), relation, concept_uri(tail), weight, source, dataset)
    for head, relation, tail, weight, source, dataset in (
        ("dog", "Desires", "bone", 2.0, "conceptnet", "/d/one"),
        ("dog", "Desires", "bone", 1.0, "conceptnet", "/d/two"),  # the same triple from elsewhere
        ("dog", "RelatedTo", "bone", 3.0, "conceptnet", ""),
        ("bone", "AtLocation", "dog", 1.0, "conceptnet", ""),
        ("dog", "RelatedTo", "dog", 9.0, "conceptnet", ""),  # a loop joins nothing
        ("bone", "IsA", "toy", 1.0, "conceptnet", ""),
        ("toy", "RelatedTo", "bone", 5.0, "conceptnet", ""),
    )
]


def test_parallel_assertions_count_as_triples_and_not_as_pairs(
    graph_of: Callable[[list[Assertion]], KnowledgeGraph], analyser: SpacyAnalyser
) -> None:
    graph = graph_of(PARALLEL)
    items = [item(["a dog"], "a bone and a toy"), item(["a bone"], "a dog"), item(["a dog , a bone"], "a dog , a bone")]
    pairs, triples = (TripleFeatures(graph, analyser, count=count) for count in COUNTS)
    assert pairs.counts(items).tolist() == [[1, 1], [1, 0], [2, 0]]
    assert triples.counts(items).tolist() == [[3, 3 * 2], [3, 0], [3, 0]]
    texts = [piece.path.text() for piece in triples.evidence(items[0], 1) if piece.path]
    assert texts == ["dog -RelatedTo-> bone", "dog -Desires-> bone", "dog <-AtLocation- bone"]
    (best,) = pairs.evidence(items[0], 2)
    assert best.path is not None
    assert best.path.text() == "dog -RelatedTo-> bone <-RelatedTo- toy"


class Words:
    """An analyser for which every word is a noun."""

    signature = "words"

    def analyse(self, texts: Sequence[str]) -> list[list[Token]]:
        return [[Token(word, 0, 0, word, "NOUN", False) for word in text.split()] for text in texts]


NAMES = [f"w{number}" for number in range(8)]
rows = st.lists(
    st.builds(
        Assertion,
        head=st.sampled_from(NAMES).map(concept_uri),
        relation=st.sampled_from(["IsA", "UsedFor"]),
        tail=st.sampled_from(NAMES).map(concept_uri),
        source=st.sampled_from(["a", "b"]),
        weight=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    max_size=25,
)
words = st.lists(st.sampled_from([*NAMES, "unknown"]), max_size=6)
items = st.lists(st.tuples(st.lists(words.map(" ".join), max_size=3), words.map(" ".join)), max_size=4)


@settings(deadline=None, max_examples=150)
@given(rows, items)
def test_pairs_and_triples_against_networkx(rows: list[Assertion], items: list[tuple[list[str], str]]) -> None:
    several: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for row in rows:
        if row.head != row.tail:
            several.add_edge(row.head, row.tail, key=row.relation)  # one edge a triple
    plain = several.to_undirected()
    checked = [item(*checked_item) for checked_item in items]
    expected: dict[str, list[list[int]]] = {"pairs": [], "triples": []}
    for checked_item in checked:
        sides = [
            {concept_uri(w) for w in " ".join(texts).split()} & set(plain)
            for texts in (checked_item.history, [checked_item.response])
        ]
        ends = [(a, b) for a, b in product(*sides) if a != b]
        meets = {(a, b): [m for m in plain[a] if m in plain[b]] for a, b in ends}
        expected["pairs"].append([sum(plain.has_edge(a, b) for a, b in ends), sum(map(bool, meets.values()))])

        def joining(a: str, b: str) -> set[tuple[str, ...]]:
            return {(h, r, t) for h, t, r in several.edges([a, b], keys=True) if {h, t} == {a, b}}

        direct = set().union(*(joining(a, b) for a, b in ends))
        through = {frozenset(two) for (a, b), ms in meets.items() for m in ms for two in product(joining(a, m), joining(m, b))}
        expected["triples"].append([len(direct), len(through)])
    for count in COUNTS:
        features = TripleFeatures(OracleGraph(rows), Words(), count=count)
        assert features.counts(checked).tolist() == expected[count]
        for checked_item, pair in zip(checked, expected[count], strict=True):
            for hops, number in zip((1, 2), pair, strict=True):
                pieces = features.evidence(checked_item, hops, limit=None)  # type: ignore[arg-type]
                assert len(pieces) == number
                assert features.evidence(checked_item, hops, limit=2) == pieces[:2]  # type: ignore[arg-type]
                strengths = [piece.path.strength for piece in pieces if piece.path]
                assert strengths == sorted(strengths, reverse=True)


def test_evidence_has_the_spans_of_both_ends(graph: KnowledgeGraph, analyser: SpacyAnalyser) -> None:
    features = TripleFeatures(graph, analyser)
    long_item = item(["My dogs sleep.", "A dog and a puppy.", "Really?"], "Give Bones to them, and food.")
    first, second = features.evidence(long_item, 1)
    assert (first.kind, first.value, first.share, first.hops, first.turn) == ("triple", 1.0, 0.0, 1, 1)
    assert first.response is not None
    assert first.history is not None
    assert first.path is not None
    assert (first.history.text, first.response.text, first.path.text()) == ("dog", "Bones", "dog -Desires-> bone")
    assert second.path is not None
    assert second.path.text() == "dog -Desires-> food"
    chains = [piece.path.text() for piece in features.evidence(long_item, 2) if piece.path]
    assert chains == ["puppy -IsA-> dog -Desires-> bone", "puppy -IsA-> dog -Desires-> food"]


def test_features_do_not_depend_on_batch_or_cache(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    checked = [item(history, response) for history, response, _, _ in GOLDEN] * 2
    whole = TripleFeatures(oracle, analyser).counts(checked)
    forgetful = TripleFeatures(oracle, analyser, cache_size=0)
    assert np.array_equal(whole, np.concatenate([forgetful.counts([checked_item]) for checked_item in checked]))
    assert np.array_equal(whole, np.concatenate([forgetful.counts(checked[::-1])])[::-1])
    assert whole.dtype == np.float64
    assert forgetful.counts([]).shape == (0, 2)


class Counting(OracleGraph):
    """An oracle that counts the calls of count_triples."""

    calls = 0

    def count_triples(self, *arguments: object, **named: object) -> object:  # type: ignore[override]
        self.calls += 1
        return super().count_triples(*arguments, **named)  # type: ignore[arg-type]


def test_each_pair_of_sets_is_counted_once(world: list[Assertion], analyser: SpacyAnalyser) -> None:
    graph = Counting(world)
    features = TripleFeatures(graph, analyser)
    checked = [item(["a dog"], "a bone"), item(["The dogs!", "Hm."], "Bones."), item(["a cat"], "a bone")]
    features.counts(checked)
    features.counts(checked)
    assert graph.calls == 2 * 2


def test_a_history_of_five_hundred_turns(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    turns = [f"turn {number} : a puppy and a dog ." for number in range(500)]
    features = TripleFeatures(oracle, analyser)
    long_item = item(turns, "bones and food")
    assert features.counts([long_item]).tolist() == [[2, 2]]
    assert {piece.turn for piece in features.evidence(long_item, 2)} == {499}


def test_signature_and_options(oracle: OracleGraph, analyser: SpacyAnalyser) -> None:
    features = TripleFeatures(oracle, analyser, count="triples")
    assert features.signature_parts == (
        ("graph", oracle.manifest().digest),
        ("pipeline", analyser.signature),
        ("count", "triples"),
        ("max_words", "1"),
        ("pos", "ADJ+NOUN+PROPN+VERB"),
    )
    wrong: Count = "paths"  # type: ignore[assignment]
    with pytest.raises(InputError, match="pairs, triples"):
        TripleFeatures(oracle, analyser, count=wrong)


def test_counts_of_no_items_have_a_shape(graph: KnowledgeGraph) -> None:
    assert count_triples_many(graph, [], 1).shape == (0, 2)
    assert count_triples_many(graph, [([], []), (["/c/en/dog"], ["/c/en/bone"])], 1).tolist() == [[0, 0], [1, 1]]
