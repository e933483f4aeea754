"""Terms, overlap, repetition and the graph of associations of ``coherence``, against oracles and by hand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import ModelError
from tacit.reasoning.metrics.coherence.associations import AssociationGraph, terms_of, words_of, write_graph
from tacit.reasoning.metrics.coherence.parts import PartMetric, Repetition, overlap
from tacit.reasoning.training.coherence import count_associations

TURNS = ["the dog barks", "call the vet", "i lost my keys", "oh no , i am sorry", "the vet is here", "thank you"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't, do n't, Don ’ t and can ' t", ["i", "don't", "don't", "don't", "and", "can't"]),
        ("it 's he'll  we ' ve", ["it's", "he'll", "we've"]),
        ("the dogs' bone, o'clock", ["the", "dogs", "bone", "o", "clock"]),
        ("snake_case 3.5 x", ["snake", "case", "3", "5", "x"]),
        ("Çok güzel! 我有 😀", ["çok", "güzel", "我有"]),
        ("?!… 😀", []),
        ("", []),
    ],
)
def test_words_do_not_depend_on_the_tokenization_of_a_corpus(text: str, words: list[str]) -> None:
    assert [word.text for word in words_of(text)] == words


@given(st.text(max_size=60))
def test_words_have_correct_offsets(text: str) -> None:
    words = words_of(text)
    assert all(first.end <= second.start for first, second in pairwise(words))
    for word in words:
        assert word.text == text[word.start : word.end].replace("’", "'").replace(" ", "").lower()


def test_terms_are_distinct_words_and_pairs() -> None:
    terms = terms_of("the dog, the dog")
    assert [term.text for term in terms] == ["the", "dog", "the dog", "dog the"]
    assert [(term.start, term.end) for term in terms] == [(0, 3), (4, 7), (0, 7), (4, 12)]


@given(st.lists(st.sampled_from("abcde"), max_size=8), st.lists(st.sampled_from("abcde"), max_size=8))
def test_overlap_is_dices_coefficient(words: list[str], other_words: list[str]) -> None:
    shared = sum(min(words.count(word), other_words.count(word)) for word in "abcde")
    expected = 2 * shared / (len(words) + len(other_words)) if words or other_words else 0.0
    assert overlap(Counter(words), " ".join(other_words)) == pytest.approx(expected)


def oracle(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The weights of all edges, counted in the plainest way."""
    turns = {text: {term.text for term in terms_of(text)} for pair in pairs for text in pair}
    often = Counter(term for terms in turns.values() for term in terms)
    known = {term for term, count in often.items() if count >= 3}
    first: Counter[str] = Counter(term for left, _ in pairs for term in turns[left] & known)
    second: Counter[str] = Counter(term for _, right in pairs for term in turns[right] & known)
    both = Counter((a, b) for left, right in pairs for a in turns[left] & known for b in turns[right] & known)
    weights = {
        edge: math.log(count * len(pairs) / (first[edge[0]] * second[edge[1]])) for edge, count in both.items() if count >= 3
    }
    return {edge: weight for edge, weight in weights.items() if weight >= 0.5}


FIXED = (("dog", "vet"), ("keys", "sorry"), ("zebra", "stripes"))  # the last stand nowhere else, so there is always an edge


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TURNS), st.sampled_from(TURNS)), min_size=1, max_size=80), st.integers(1, 40))
def test_counting_gives_pointwise_mutual_information(pairs: list[tuple[str, str]], limit: int) -> None:
    pairs = [*pairs, *((f"the {a} {n}", f"{b} {n}") for a, b in FIXED for n in range(4))]
    expected = oracle(pairs)
    assert expected
    associations = count_associations(pairs, terms=1_000)
    sources, targets, weights = associations.edges
    names = [(associations.terms[a], associations.terms[b]) for a, b in zip(sources.tolist(), targets.tolist(), strict=True)]
    assert dict(zip(names, weights.tolist(), strict=True)) == pytest.approx(expected, abs=1e-6)
    fewer = count_associations(pairs, terms=1_000, edges=limit)
    assert len(fewer.edges[0]) == min(limit, len(expected))


def test_associations_round_trip_through_files(tmp_path: Path) -> None:
    terms = ["dog", "vet", "call the", "keys"]
    edges = (np.array([0, 0, 3]), np.array([1, 2, 0]), np.array([1.5, 0.75, 2.0], np.float32))
    write_graph(tmp_path, terms, edges)
    graph = AssociationGraph(tmp_path)
    assert (len(graph), graph.edges) == (4, 3)
    ids = graph.ids([*terms, "cat"])
    assert ids[-1] == -1
    assert [graph.name(number) for number in ids[:4]] == terms
    expected = np.zeros((4, 4))
    expected[edges[0], edges[1]] = edges[2]
    np.testing.assert_array_equal(graph.between(ids[:4], ids[:4]), expected)
    assert graph.following("dog") == [("vet", 1.5), ("call the", 0.75)]
    assert graph.following("dog", 1) == [("vet", 1.5)]
    assert graph.following("vet") == graph.following("cat") == []
    assert graph.between(ids[:0], ids[:2]).shape == (0, 2)


@given(
    st.sets(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=60),
    st.lists(st.integers(0, 19), max_size=10),
    st.lists(st.integers(0, 19), max_size=10),
)
def test_edges_are_found_between_any_terms(pairs: set[tuple[int, int]], sources: list[int], targets: list[int]) -> None:
    import tempfile

    edges = sorted(pairs)
    weights = np.arange(1, len(edges) + 1, dtype=np.float32)
    dense = np.zeros((20, 20))
    for (a, b), weight in zip(edges, weights, strict=True):
        dense[a, b] = weight
    columns = np.array([a for a, _ in edges], np.int64), np.array([b for _, b in edges], np.int64), weights
    with tempfile.TemporaryDirectory() as folder:
        write_graph(Path(folder), [f"t{number}" for number in range(20)], columns)
        graph = AssociationGraph(Path(folder))
        edges_found = graph.between(graph.ids([f"t{n}" for n in sources]), graph.ids([f"t{n}" for n in targets]))
    np.testing.assert_array_equal(edges_found, dense[np.ix_(sources, targets)].reshape(len(sources), len(targets)))


@pytest.mark.parametrize("name", ["terms.marisa", "offsets.npy", "targets.npy", "weights.npy"])
def test_broken_files_are_named_in_one_sentence(name: str, tmp_path: Path) -> None:
    write_graph(tmp_path, ["a", "b"], (np.array([0]), np.array([1]), np.array([1.0], np.float32)))
    whole = (tmp_path / name).read_bytes()
    for broken in (b"", whole[:20], b"nothing of the kind"):
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(ModelError, match="associations in"):
            AssociationGraph(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ModelError, match="associations in"):
        AssociationGraph(tmp_path)


def test_inconsistent_arrays_are_refused(tmp_path: Path) -> None:
    write_graph(tmp_path, ["a", "b"], (np.array([0]), np.array([1]), np.array([1.0], np.float32)))
    np.save(tmp_path / "weights.npy", np.ones(2, np.float16))
    with pytest.raises(ModelError, match="do not fit together"):
        AssociationGraph(tmp_path)


def test_without_pairs_there_are_no_associations() -> None:
    associations = count_associations([])
    assert (associations.terms, len(associations.edges[0])) == ((), 0)
    assert len(count_associations([("a b", "c d")] * 2).terms) == 0


# How much of a recent turn a response says again, worked out by hand.


@pytest.mark.parametrize(
    ("history", "response", "expected"),
    [
        (["a b c d e"], "a b c d e", 1.0),
        (["A b , c d e !"], "a B c d e", 1.0),
        (["a b c d e f g h i j"], "a b c d e f g h i k", 1.0),
        (["a b c d"], "a b c x", 0.5),
        (["a b c d e"], "a b c x y", 0.0),
        (["bye now"], "bye now", 0.0),
        (["a b c d", "x", "y", "z"], "a b c d", 1.0),
        (["a b c d", "w", "x", "y", "z"], "a b c d", 0.0),
        (["a b c d", "", "x", "y", "z"], "a b c d", 1.0),
        (["a a a b"], "a b b b", 0.0),
    ],
)
def test_repetition_by_hand(history: list[str], response: str, expected: float) -> None:
    assert PartMetric(Repetition()).score(history, response).value == pytest.approx(expected)
