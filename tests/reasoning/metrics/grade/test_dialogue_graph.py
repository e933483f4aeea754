"""GRADE's keywords and dialogue graphs: values worked out by hand, and the same from every backend."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tacit import loaders
from tacit.graph.errors import InputError
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.model import Assertion
from tacit.graph.protocol import KnowledgeGraph
from tacit.reasoning.metrics.grade import dialogue_graph as room
from tacit.reasoning.metrics.grade.concepts import EncodedVectors, Neighbourhood, TableVectors
from tacit.reasoning.metrics.grade.dialogue_graph import Keyword, KeywordFinder
from tacit.reasoning.text.idf import IdfTable
from tacit.reasoning.text.language import SpacyAnalyser
from tacit.reasoning.text.linking import Linker, Mention, concept_linker

from tests.networkx_oracle import OracleGraph

CONTEXT = ["/c/en/dog", "/c/en/moon"]
RESPONSE = ["/c/en/bone", "/c/en/dog", "/c/en/home"]


class Counted:
    """Vectors that say which concept they are of, and who was asked for."""

    dimension = 2
    signature = "counted"

    def __init__(self) -> None:
        self.requested: list[str] = []

    def of(self, concepts: Sequence[str]) -> NDArray[np.float32]:
        self.requested += concepts
        return np.array([[len(concept), concept.count("e")] for concept in concepts], np.float32)


def test_weights_by_hand(graph: KnowledgeGraph) -> None:
    graph_of_one = room.build(graph, CONTEXT, RESPONSE)
    assert graph_of_one.hops.tolist() == [[1, 0, 2], [-1, -1, -1]]
    paper = room.batch([graph_of_one], room.edge_weights("paper"))
    np.testing.assert_allclose(paper.adjacency[0, :2, 2:], [[1.0, 1.0, 0.5], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(paper.adjacency[0], paper.adjacency[0].T)
    assert not paper.adjacency[0, :2, :2].any()
    assert not paper.adjacency[0, 2:, 2:].any()
    released = room.batch([graph_of_one], room.edge_weights("released"))
    np.testing.assert_allclose(released.adjacency[0, :2, 2:], [[1 / 2, 1, 1 / 3], [1 / 20] * 3])
    assert [paper.concepts[node] for node in paper.nodes[0]] == CONTEXT + RESPONSE
    assert len(paper.concepts) == 4  # the dog is two nodes and one concept


def test_profiles_are_listed_and_others_refused() -> None:
    assert room.edge_weights("paper")[0] == 0
    assert room.edge_weights("released")[3] == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="no profile 'other'"):
        room.edge_weights("other")


def test_batches_are_padded_and_masked(oracle: KnowledgeGraph) -> None:
    graphs = [room.build(oracle, CONTEXT, RESPONSE), room.build(oracle, [], []), room.build(oracle, ["/c/en/cat"], [])]
    together = room.batch(graphs, room.edge_weights("paper"))
    assert together.mask.sum(1).tolist() == [5, 0, 1]
    assert together.adjacency.shape == (3, 5, 5)
    assert not together.adjacency[1:].any()
    assert room.batch([], room.edge_weights("paper")).nodes.shape == (0, 1)


def test_rows_contain_the_mean_of_neighbours(graph: KnowledgeGraph) -> None:
    vectors = Counted()
    around = Neighbourhood(graph, vectors, limits=(2, 1))
    row = around.rows(["/c/en/dog", "/c/en/nothing"])
    assert around.neighbours("/c/en/dog", 1) == ["/c/en/pet", "/c/en/puppy"]
    near = np.array([[len("/c/en/pet"), 2], [len("/c/en/puppy"), 1]]).mean(0)
    far = vectors.of(around.neighbours("/c/en/dog", 2))[0]
    np.testing.assert_allclose(row[0], [[9, 1], near, far])
    np.testing.assert_allclose(row[1, 1:], 0)
    calls_before = len(vectors.requested)
    np.testing.assert_array_equal(around.rows(["/c/en/dog"])[0], row[0])
    assert len(vectors.requested) == calls_before
    assert around.rows([]).shape == (0, 3, 2)
    assert Neighbourhood(graph, vectors, limits=()).rows(["/c/en/dog"]).shape == (1, 1, 2)


def test_a_hop_has_one_neighbour_or_more(oracle: KnowledgeGraph) -> None:
    with pytest.raises(InputError, match=r"must be >= 1 for every hop, not \(0,\)"):
        Neighbourhood(oracle, Counted(), limits=(0,))


class TinyEncoder:
    """Stands in for the sentence encoder: a text's length and its vowels, at length one."""

    signature = "tiny;dtype=float32"
    dimension = 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def pooled(self, texts: Sequence[str], *, keep: bool) -> NDArray[np.float32]:
        assert not keep
        self.texts += texts
        return np.array([[len(text), text.count("e") + 1] for text in texts], np.float32)

    def sentences(self, pooled: NDArray[np.float32]) -> NDArray[np.float32]:
        unit: NDArray[np.float32] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit


def test_embeddings_are_stored_beside_the_index(world: list[Assertion], tmp_path: Path) -> None:
    with open_index_directory(build_from_rows(world, tmp_path / "index")) as index:
        first: Any = TinyEncoder()
        concepts = ["/c/en/dog", "/c/en/hot_dog", "/c/en/dog", "/c/en/unknown"]
        vectors_of_concepts = EncodedVectors(first, index).of(concepts)
        assert first.texts == ["dog", "hot dog", "unknown"]
        np.testing.assert_allclose(vectors_of_concepts[1], np.array([7, 1]) / np.hypot(7, 1), atol=1e-3)
        np.testing.assert_array_equal(vectors_of_concepts[0], vectors_of_concepts[2])
        again: Any = TinyEncoder()
        np.testing.assert_array_equal(EncodedVectors(again, index).of(concepts), vectors_of_concepts)
        assert again.texts == ["unknown"]  # what the graph does not know has no row on disk
        assert sorted(path.suffix for path in (tmp_path / "index").glob("concepts-*")) == [".f16", ".there"]
        elsewhere: Any = TinyEncoder()
        (tmp_path / "cache").mkdir()
        EncodedVectors(elsewhere, index, tmp_path / "cache").of(concepts)
        assert len(elsewhere.texts) == 3
        with open_index_directory(build_from_rows(world[:9], tmp_path / "less")) as less:
            EncodedVectors(TinyEncoder(), less, tmp_path / "cache").of(["/c/en/dog"])  # type: ignore[arg-type]
        np.testing.assert_array_equal(EncodedVectors(elsewhere, index, tmp_path / "cache").of(concepts), vectors_of_concepts)
        assert len(elsewhere.texts) == 4  # the unknown one again
        nowhere: Any = TinyEncoder()
        np.testing.assert_array_equal(
            EncodedVectors(nowhere, index, tmp_path / "no" / "folder").of(concepts), vectors_of_concepts
        )


def test_without_an_index_embeddings_stay_in_memory(oracle: KnowledgeGraph) -> None:
    encoder: Any = TinyEncoder()
    vectors = EncodedVectors(encoder, oracle)
    vectors.of(["/c/en/dog"])
    vectors.of(["/c/en/dog", "/c/en/cat"])
    assert encoder.texts == ["dog", "cat"]


def test_a_table_of_vectors_is_read_by_node(world: list[Assertion], tmp_path: Path, oracle: KnowledgeGraph) -> None:
    file = tmp_path / "numberbatch.txt"
    file.write_text("2 3\n/c/en/dog 1 2 3\n/c/en/bone 4 5 6\n", encoding="utf-8")
    with open_index_directory(build_from_rows(world, tmp_path / "index")) as index:
        loaders.build_vectors(file, index.uris(), tmp_path / "vectors")
        table = loaders.open_vectors(tmp_path / "vectors")
        vectors = TableVectors(table, index)
        assert vectors.dimension == 3
        assert vectors.signature == f"table:{table.sha256[:12]}"
        np.testing.assert_array_equal(vectors.of(["/c/en/bone", "/c/en/cat", "/c/en/none"]), [[4, 5, 6], [0, 0, 0], [0, 0, 0]])
        other: Any = SimpleNamespace(matrix=table.matrix, sha256="", uris_digest="other")
        with pytest.raises(InputError, match="another graph"):
            TableVectors(other, index)
    by_name = TableVectors(table, oracle)
    assert by_name.signature == vectors.signature
    np.testing.assert_array_equal(by_name.of(["/c/en/bone", "/c/en/cat", "/c/en/none"]), [[4, 5, 6], [0, 0, 0], [0, 0, 0]])
    for rows in (world[:9], [*world, Assertion("/c/en/new", "IsA", "/c/en/dog")]):
        with pytest.raises(InputError, match="another graph"):
            TableVectors(table, OracleGraph(rows))
    table.names.write_text("dog\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"the names of the vectors at .* build the vectors again"):
        TableVectors(loaders.open_vectors(tmp_path / "vectors"), oracle)


# Keywords: the formula by hand, at most so many, only concepts, under one table.


@pytest.fixture
def linker(oracle: KnowledgeGraph, analyser: SpacyAnalyser) -> Linker:
    return concept_linker(oracle, analyser)


def keyword(concept: str, score: float) -> Keyword:
    return Keyword(Mention(0, 1, concept, f"/c/en/{concept}", concept, "NOUN"), score)


def test_score_by_hand(linker: Linker) -> None:
    idf = IdfTable(99, {"dog": 9, "bone": 99})
    keywords = KeywordFinder(linker, idf).of_texts(["The dog and the dog want a bone", "A dog can fall"])
    assert [(keyword.mention.text, keyword.mention.start) for keyword in keywords[0]] == [
        ("dog", 4)
    ]  # bones are everywhere: idf 0
    assert keywords[0][0].score == pytest.approx(2 * 2 / 8 * log(100 / 10))
    scores = {keyword.mention.lemma: keyword.score for keyword in keywords[1]}
    assert scores == pytest.approx({"dog": 2 / 4 * log(10), "fall": 1 / 4 * log(100)})


def test_a_call_that_fills_the_cache_keeps_earlier_texts(linker: Linker) -> None:
    idf = IdfTable(99, {"dog": 9})
    texts = ["a dog", "a bone", "a cat", "a puppy"]
    expected = [KeywordFinder(linker, idf).of_texts([text])[0] for text in texts]
    assert all(expected)
    finder = KeywordFinder(linker, idf, cache_size=2)
    finder.of_texts(texts[:1])
    assert finder.of_texts(texts) == expected


def test_unknown_and_common_words_are_no_keywords(linker: Linker) -> None:
    finder = KeywordFinder(linker, IdfTable(0, {}))
    assert finder.of_texts(["The dog wants a bone"]) == [()]  # a table of nothing gives every word the idf 0
    heavy = KeywordFinder(linker, IdfTable(1000, {}), threshold=0.0)
    assert [text.mention.lemma for text in heavy.of_texts(["The zyzzyva sleeps near a dog"])[0]] == ["dog"]
    assert heavy.of_texts(["", "...", "the of"]) == [(), (), ()]


def test_idf_is_counted_once_for_each_utterance(linker: Linker) -> None:
    table = IdfTable.count(linker.link_batch(["a dog is a dog", "a cat", "a dog", "no such"]))
    assert table.utterances == 4
    assert table.counts == {"cat": 1, "dog": 2}
    assert table.idf("dog") == pytest.approx(log(5 / 3))
    assert table.idf("unheard") == pytest.approx(log(5))
    assert IdfTable.from_dict(table.to_dict()).to_dict() == table.to_dict()


@pytest.mark.parametrize("broken", [None, {}, {"utterances": 1, "counts": {"a": 2}}, {"utterances": "1", "counts": {}}])
def test_a_damaged_table_is_named(broken: object) -> None:
    with pytest.raises(ValueError, match="its idf table is invalid"):
        IdfTable.from_dict(broken)


@given(before=st.integers(0, 30), after=st.integers(0, 30), limit=st.integers(1, 16))
def test_each_side_keeps_at_least_half_of_the_keywords(before: int, after: int, limit: int) -> None:
    finder = KeywordFinder(None, IdfTable(1, {}), limit=limit)  # type: ignore[arg-type]
    context = [keyword(f"c{n}", 1 + n) for n in range(before)]
    response = sorted((keyword(f"r{n}", 1 + n) for n in range(after)), key=lambda term: -term.score)
    keywords = finder.of_dialogue([context], response)
    assert len(keywords.context) + len(keywords.response) == min(before + after, limit)
    assert len(keywords.response) >= min(after, limit - limit // 2)
    assert len(keywords.context) >= min(before, limit // 2)
    assert [term.score for term in keywords.context] == sorted((term.score for term in keywords.context), reverse=True)
    assert min((term.score for term in keywords.context), default=9) >= before - len(keywords.context) + 1 or not keywords.context


def test_a_concept_in_several_turns_has_its_highest_weight_latest_turn_first() -> None:
    finder = KeywordFinder(None, IdfTable(1, {}))  # type: ignore[arg-type]
    turns = [[keyword("dog", 0.5)], [keyword("dog", 0.9), keyword("cat", 0.3)], [keyword("cat", 0.3), keyword("dog", 0.2)]]
    keywords = finder.of_dialogue(turns, [keyword("dog", 0.1)], first=4)
    assert [(term.mention.lemma, term.score, term.turn) for term in keywords.context] == [("dog", 0.9, 5), ("cat", 0.3, 6)]
    assert keywords.response[0].turn is None
