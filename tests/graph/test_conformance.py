"""One suite for every backend: a small graph with answers worked out by hand, random multigraphs and real data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError, UnknownName
from tacit.graph.index import build_index, open_index_directory
from tacit.graph.model import Assertion, LoadEntry, Neighbour, TripleCounts, checksum
from tacit.graph.open import open_graph
from tacit.graph.protocol import KnowledgeGraph, WritableGraph
from tacit.loaders import read_conceptnet

from tests.conftest import BACKENDS
from tests.graph.backends import imported, opened
from tests.graph.example_rows import BONE, DOG, NASTY_ROWS, SMALL
from tests.networkx_oracle import OracleGraph


def _a(head: str, relation: str, tail: str, weight: float, dataset: str = "/d/one", **more: Any) -> Assertion:
    return Assertion(f"/c/en/{head}", relation, f"/c/en/{tail}", weight, "conceptnet", dataset, **more)


DOG_BONE = _a("dog", "Desires", "bone", 2.0, license="cc0", contributors="ann | bob")
DOG_PET = _a("dog", "IsA", "pet", 1.0)
DOG_PET_AGAIN = _a("dog", "IsA", "pet", 3.0, "/d/two", tail_sense="n")
DOG_ANIMAL = _a("dog", "IsA", "animal", 4.0)
DOG_RELATED = _a("dog", "RelatedTo", "animal", 4.0)
CAT_PET, CAT_ANIMAL = _a("cat", "IsA", "pet", 1.0), _a("cat", "IsA", "animal", 2.0)
ANIMAL_BONE, FISH_ANIMAL = _a("animal", "HasA", "bone", 1.0), _a("fish", "IsA", "animal", 1.0)
PET_HOUSE, HOUSE_DOOR = _a("pet", "AtLocation", "house", 1.0), _a("house", "HasA", "door", 0.5)
GOLDEN = [
    DOG_BONE, DOG_PET, DOG_PET_AGAIN, DOG_ANIMAL, DOG_RELATED, CAT_PET, CAT_ANIMAL, ANIMAL_BONE, FISH_ANIMAL,
    PET_HOUSE, HOUSE_DOOR,
    _a("dog", "RelatedTo", "dog", 9.0), _a("echo", "RelatedTo", "echo", 1.0), _a("café", "IsA", "naïve", 1.0),
    Assertion("/e/PersonX_eats_[]", "xWant", "/e/to_rest", 1.0, "atomic2020", "train.tsv"),
    Assertion("/e/PersonX_eats_[]", "xWant", "/e/to_drink", 1.0, "comet:small", "", rank=0, score=-0.5),
]  # fmt: skip


def _uris(words: str) -> list[str]:
    return [f"/c/en/{word}" for word in words.split()]


@pytest.fixture(scope="module", params=BACKENDS)
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    with opened(request.param, GOLDEN, tmp_path_factory.mktemp("golden")) as graph:
        yield graph


class TestGolden:
    """Values worked out by hand from the fourteen concept assertions above."""

    def test_counts(self, golden: KnowledgeGraph) -> None:
        counts = golden.counts()
        assert (counts.concepts, counts.events, counts.assertions) == (11, 3, 16)
        assert list(counts.relations.items()) == [
            ("IsA", 7), ("RelatedTo", 3), ("HasA", 2), ("xWant", 2), ("AtLocation", 1), ("Desires", 1)
        ]  # fmt: skip
        assert sorted(golden.assertions(), key=lambda row: row.order) == sorted(GOLDEN, key=lambda row: row.order)

    def test_resolve(self, golden: KnowledgeGraph) -> None:
        texts = ["Dogs", "the cat", "CAFÉ", "cafe", "nothing", "/c/en/bone", "/c/en/bones", "echoes", "", "PersonX eats ___"]
        answers = [*_uris("dog cat café"), None, None, "/c/en/bone", None, "/c/en/echo", None, None]
        assert golden.resolve(texts) == answers
        assert golden.resolve(["dog"], language="de") == [None]

    def test_hop_distances(self, golden: KnowledgeGraph) -> None:
        table = golden.hop_distances(_uris("dog fish echo nobody"), _uris("dog bone cat house door café echo nobody"))
        assert table.dtype == np.int8
        assert table.tolist() == [
            [0, 1, 2, 2, 3, -1, -1, -1],
            [2, 2, 2, 4, 5, -1, -1, -1],
            [-1, -1, -1, -1, -1, -1, 0, -1],
            [-1, -1, -1, -1, -1, -1, -1, -1],
        ]
        assert golden.hop_distances(_uris("dog"), _uris("dog bone cat house door"), 2).tolist() == [[0, 1, 2, 2, -1]]
        assert golden.hop_distances(_uris("dog bone"), _uris("bone"), 0).tolist() == [[-1], [0]]
        assert golden.hop_distances([], _uris("dog")).shape == (0, 1)

    def test_neighbours(self, golden: KnowledgeGraph) -> None:
        def found(hop: int, limit: int | None = 10, relations: list[str] | None = None) -> list[Neighbour]:
            return golden.neighbours("/c/en/dog", hop, limit, relations)

        assert found(1) == [Neighbour("/c/en/animal", 1, 4.0), Neighbour("/c/en/pet", 1, 3.0), Neighbour("/c/en/bone", 1, 2.0)]
        assert found(2) == [Neighbour("/c/en/cat", 2, 2.0), Neighbour("/c/en/fish", 2, 1.0), Neighbour("/c/en/house", 2, 1.0)]
        assert found(3) == [Neighbour("/c/en/door", 3, 0.5)]
        assert found(4) == []
        assert found(2, 2) == found(2)[:2]
        assert found(2, 0) == []
        assert found(1, None, ["IsA"]) == found(1)[:2]
        assert found(2, None, ["IsA"]) == found(2)[:2]
        assert found(1, None, []) == found(1, None, ["xWant"]) == found(1, None, ["Nowhere"]) == []
        assert golden.neighbours("/c/en/echo") == golden.neighbours("/c/en/nobody") == golden.neighbours("/e/to_rest") == []

    def test_texts_resolve_to_concepts(self, golden: KnowledgeGraph) -> None:
        assert golden.neighbours("The Dogs") == golden.neighbours("/c/en/dog") != []
        assert golden.neighbours("cats", 1, None, ["IsA"]) == golden.neighbours("/c/en/cat", 1, None, ["IsA"]) != []
        table = golden.hop_distances(["dogs", "/c/en/fish"], ["a bone", "/c/en/nobody", "CAFÉ"])
        assert table.tolist() == [[1, -1, -1], [2, -1, -1]]
        dogs, uri = ["dogs", "dog", "/c/en/dog"], _uris("dog")
        assert golden.triples_between(dogs, ["the pets"]) == golden.triples_between(uri, _uris("pet")) != []
        assert golden.triples_between(dogs, ["houses"], 2) == golden.triples_between(uri, _uris("house"), 2) != []
        assert golden.count_triples(dogs, ["animals"]) == golden.count_triples(uri, _uris("animal")) == (1, 2)
        assert golden.paths("dogs", "a door") == golden.paths("/c/en/dog", "/c/en/door") != []
        assert golden.tails("personx eats ___") == golden.tails("/e/PersonX_eats_[]") != []

    def test_a_text_without_a_concept_is_an_error(self, golden: KnowledgeGraph) -> None:
        for ask in (
            lambda: golden.neighbours("dgo"),
            lambda: golden.hop_distances(["dog"], ["bone", "dgo"]),
            lambda: golden.hop_distances(["dgo"], []),
            lambda: golden.triples_between(["/c/en/dog"], ["dgo"]),
            lambda: golden.triples_between(["dgo"], ["dog"], 2),
            lambda: golden.count_triples(["dog"], ["dgo"]),
            lambda: golden.paths("dog", "dgo"),
        ):
            with pytest.raises(UnknownName, match=f"^'dgo' is not a concept of {re.escape(golden.url)}; "):
                ask()
        with pytest.raises(UnknownName, match="'dog' is not a concept"):
            golden.neighbours("dog", language="de")
        with pytest.raises(UnknownName, match="'', ' / ' are not concepts"):
            golden.hop_distances(["", " / "], ["dog"])
        assert golden.tails("to rest") == golden.tails("/e/nothing") == golden.tails("PersonX flies") == []
        with pytest.raises(InputError, match="give a list of texts or URIs"):
            golden.hop_distances("dog", ["bone"])

    def test_triples(self, golden: KnowledgeGraph) -> None:
        dog, cat, animal = _uris("dog"), _uris("cat"), _uris("animal")
        assert [path.assertions for path in golden.triples_between(dog, animal)] == [(DOG_ANIMAL,), (DOG_RELATED,)]
        assert [path.nodes for path in golden.triples_between(animal, dog)] == [("/c/en/animal", "/c/en/dog")] * 2
        assert golden.count_triples(dog, animal) == TripleCounts(1, 2)
        assert [path.assertions for path in golden.triples_between(dog, cat, 2)] == [
            (DOG_ANIMAL, CAT_ANIMAL), (DOG_RELATED, CAT_ANIMAL), (DOG_PET_AGAIN, CAT_PET), (DOG_PET, CAT_PET)
        ]  # fmt: skip
        assert golden.count_triples(dog, cat, 2) == TripleCounts(1, 3)
        both = _uris("dog cat animal")
        assert golden.count_triples(both, both) == TripleCounts(4, 3)
        assert golden.count_triples(both, both, 2) == TripleCounts(4, 3 + 1)  # dog and animal meet in bone alone
        assert golden.triples_between(dog, dog) == golden.triples_between(dog, dog, 2) == golden.triples_between([], cat) == []

    def test_paths(self, golden: KnowledgeGraph) -> None:
        paths = golden.paths("/c/en/dog", "/c/en/cat")
        assert [path.assertions for path in paths] == [(DOG_ANIMAL, CAT_ANIMAL), (DOG_PET_AGAIN, CAT_PET)]
        assert [path.strength for path in paths] == [2.0, 1.0]
        longest = golden.paths("/c/en/fish", "/c/en/door")
        assert [path.nodes for path in longest] == [
            tuple(_uris("fish animal cat pet house door")), tuple(_uris("fish animal dog pet house door"))
        ]  # fmt: skip
        assert golden.paths("/c/en/fish", "/c/en/door", limit=1) == longest[:1]
        assert golden.paths("/c/en/fish", "/c/en/door", 4) == golden.paths("/c/en/dog", "/c/en/café") == []
        (stay,) = golden.paths("/c/en/echo", "/c/en/echo")
        assert (stay.nodes, stay.assertions) == (("/c/en/echo",), ())
        assert golden.paths("/c/en/nobody", "/c/en/nobody") == golden.paths("/c/en/dog", "/c/en/bone", limit=0) == []

    def test_events(self, golden: KnowledgeGraph) -> None:
        assert [row.tail for row in golden.tails("PersonX eats ___", "xWant")] == ["/e/to_drink", "/e/to_rest"]
        assert golden.tails("personx  eats ___.", limit=1) == [GOLDEN[15]]
        assert golden.tails("PersonX eats ___", "xNeed") == []
        assert golden.heads("eats") == ["/e/PersonX_eats_[]"]
        assert golden.heads("drink") == []


_NODES = ["/c/en/dog", "/c/en/hot_dog", "/c/en/café", "/c/en/犬", "/c/en/😀", "/c/en/a'b", "/c/en/a`b", '/c/en/"q"', "/c/en/\\n"]
_rows = st.lists(
    st.builds(
        Assertion,
        head=st.sampled_from(_NODES),
        relation=st.sampled_from(["IsA", "UsedFor"]),
        tail=st.sampled_from(_NODES),
        weight=st.sampled_from([0.5, 1.0, 1.0, 2.0]),
        source=st.sampled_from(["conceptnet", "rdf"]),
        dataset=st.sampled_from(["", "/d/one"]),
        license=st.sampled_from(["", "cc0"]),
        contributors=st.sampled_from(["", "x' OR 1=1 //"]),
        head_sense=st.sampled_from(["", "n"]),
        tail_sense=st.sampled_from(["", "v/wn/animal"]),
        rank=st.sampled_from([None, 2]),
        score=st.sampled_from([None, -0.25]),
    ),
    min_size=12,
    max_size=30,
)


@pytest.mark.parametrize("backend", BACKENDS[2:])
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(rows=_rows)
def test_random_multigraphs(backend: str, rows: list[Assertion]) -> None:
    """The store and the index built from it; the index alone meets many more such graphs elsewhere."""
    oracle = OracleGraph(rows)
    with TemporaryDirectory() as folder, opened(backend, rows, Path(folder)) as index:
        for graph in (index, index.store):  # type: ignore[attr-defined]
            _same_answers(graph, oracle, [*_NODES, "/c/en/unknown"])


def _same_answers(graph: KnowledgeGraph, oracle: OracleGraph, uris: list[str]) -> None:
    assert graph.manifest().digest == oracle.manifest().digest
    assert graph.counts() == oracle.counts()
    assert graph.resolve(uris) == oracle.resolve(uris)
    for max_hops in (1, 6):
        assert np.array_equal(graph.hop_distances(uris, uris, max_hops), oracle.hop_distances(uris, uris, max_hops))
    for uri in uris[:5]:
        for hop in (1, 2, 3):
            assert graph.neighbours(uri, hop, None) == oracle.neighbours(uri, hop, None)
        assert graph.neighbours(uri, 2, 2, ["IsA"]) == oracle.neighbours(uri, 2, 2, ["IsA"])
        assert graph.paths(uri, uris[-2], limit=3) == oracle.paths(uri, uris[-2], limit=3)
        assert graph.paths(uri, uris[4]) == oracle.paths(uri, uris[4])
    for ones, others in ((uris[:3], uris[2:7]), (uris, uris)):
        for hops in (1, 2):
            assert graph.triples_between(ones, others, hops) == oracle.triples_between(ones, others, hops)  # type: ignore[arg-type]
            assert graph.count_triples(ones, others, hops) == oracle.count_triples(ones, others, hops)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def real(data_dir: Path) -> OracleGraph:
    """Every tenth line of ConceptNet with its hubs, events, and text that is hard to quote."""
    conceptnet = read_conceptnet(data_dir / "conceptnet" / "assertions-en.csv.gz")
    return OracleGraph([*islice(conceptnet, 0, None, 10), *SMALL, *NASTY_ROWS])


def _drawn(oracle: OracleGraph, count: int, seed: int) -> list[str]:
    """Concepts drawn by degree, so that hubs are among them."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, len(oracle.links), count)
    return [oracle.links[end][0 if side else 2] for end, side in zip(ends.tolist(), random.random(count) < 0.5, strict=True)]


def _same_on_real_data(graph: KnowledgeGraph, oracle: OracleGraph, sources: int, targets: int, walks: int) -> None:
    """Compare sampled queries; the larger numbers are for the index, which is quick."""
    ones, others = _drawn(oracle, sources, 1), _drawn(oracle, targets, 2)
    assert np.array_equal(graph.hop_distances(ones, others), oracle.hop_distances(ones, others))
    assert graph.resolve(["dogs", "a hot dog", "the running", "qqqq"]) == oracle.resolve(
        ["dogs", "a hot dog", "the running", "qqqq"]
    )
    for first, second in zip(ones[:walks], others[:walks], strict=True):
        assert graph.neighbours(first, 1) == oracle.neighbours(first, 1)
        assert graph.neighbours(first, 2, 10) == oracle.neighbours(first, 2, 10)
        if nx.has_path(oracle.graph, first, second) and nx.shortest_path_length(oracle.graph, first, second) <= 3:
            assert graph.paths(first, second, limit=5) == oracle.paths(first, second, limit=5)
    for hops in (1, 2):
        chains = oracle.triples_between(ones[:3], others[:3], hops)
        assert graph.triples_between(ones[:3], others[:3], hops) == chains  # type: ignore[arg-type]
        assert graph.count_triples(ones[:10], others[:10], hops) == oracle.count_triples(ones[:10], others[:10], hops)  # type: ignore[arg-type]


ENTRY = LoadEntry("test", 1, 'a "file", with\nlines', "sha", {"languages": ["en", "naïve 犬"]}, 9, 9)


@pytest.fixture(scope="module")
def real_store(real: OracleGraph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WritableGraph]:
    with open_graph(tmp_path_factory.mktemp("real") / "graph", engine="store", create=True) as store:
        store.load(real.rows, lambda: ENTRY)
        yield store


@pytest.mark.slow
def test_real_data_embedded(real: OracleGraph, real_store: WritableGraph, tmp_path: Path) -> None:
    with open_index_directory(build_index(real_store, tmp_path / "index"), real_store) as index:
        assert index.manifest() == real_store.manifest()
        assert index.counts() == real_store.counts()
        assert index.counts().concepts == len(real.concepts)
        _same_on_real_data(index, real, 20, 1000, 15)
    _same_on_real_data(real_store, real, 2, 3, 1)


@pytest.mark.slow
@pytest.mark.neo4j
def test_real_data_neo4j(real: OracleGraph, real_store: WritableGraph, neo4j_script: Path, tmp_path: Path) -> None:
    """Through the export and ``neo4j-admin``: the server holds what was exported, answers alike and can be loaded into."""
    with imported(real_store, neo4j_script, tmp_path / "server") as store:
        assert store.manifest() == real_store.manifest()
        assert store.manifest().digest == real_store.manifest().digest
        assert store.counts() == real_store.counts()
        read = list(store.assertions())
        assert sorted(read, key=repr) == sorted(real.rows, key=repr)
        assert checksum(read) == real_store.manifest().checksum
        _same_on_real_data(store, real, 4, 10, 3)
        with open_index_directory(build_index(store, tmp_path / "index"), store) as index:
            _same_on_real_data(index, real, 5, 500, 5)
        again = [*real.rows[:300], *SMALL, *NASTY_ROWS]
        assert store.load(again, lambda: ENTRY) == (0, len(again)), "an imported graph knows its assertions"
        assert store.load([Assertion(DOG, "Entails", BONE)]).new == 1
        assert store.counts().assertions == len(real.rows) + 1
