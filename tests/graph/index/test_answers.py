"""The index against the oracle, plain and compiled: every concept query, on random multigraphs, and with every kind of label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tacit.graph.errors import InputError
from tacit.graph.index import build_from_rows, open_index_directory
from tacit.graph.index.graph import IndexGraph
from tacit.graph.model import Assertion
from tacit.graph.path_search import count_triples_many, counted_chains
from tacit.graph.protocol import COUNTS

from tests.networkx_oracle import OracleGraph

_WORDS = ["dog", "bone", "café", "naïve", "犬", "zebra", "hot_dog", "a", "b", "c", "d", "e", "ß", "😀"]
_URIS = [f"/c/en/{word}" for word in _WORDS]

assertions = st.builds(
    Assertion,
    head=st.sampled_from(_URIS),
    relation=st.sampled_from(["IsA", "UsedFor", "RelatedTo"]),
    tail=st.sampled_from(_URIS),
    weight=st.sampled_from([0.5, 1.0, 2.0, 1.0, 3.464]),
    source=st.sampled_from(["conceptnet", "rdf"]),
    dataset=st.sampled_from(["", "/d/one"]),
    license=st.sampled_from(["", "cc0"]),
    contributors=st.sampled_from(["", "someone | else"]),
    head_sense=st.sampled_from(["", "n", "v/wn/animal"]),
    tail_sense=st.sampled_from(["", "a"]),
    rank=st.sampled_from([None, 0, 3]),
    score=st.sampled_from([None, -0.25]),
)
events = st.builds(  # what is not named here is drawn too, and a graph refuses ranks beyond 64 bits
    Assertion,
    head=st.just("/e/PersonX_eats"),
    relation=st.just("xWant"),
    tail=st.sampled_from(["/e/to_rest", "/e/rest"]),
    rank=st.sampled_from([None, 0, 2**63 - 1]),
)


@pytest.fixture(autouse=True, scope="module", params=["plain", "compiled"])
def searches(request: pytest.FixtureRequest) -> Iterator[str]:
    """Answer all queries of a test with the one or the other implementation."""
    seconds = float("inf") if request.param == "plain" else -1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.graph.index.searches.LOADING_SECONDS", seconds)
        patch.setattr("tacit.graph.index.searches.COMPILING_SECONDS", seconds)
        yield request.param


def _same(index: IndexGraph, oracle: OracleGraph, uris: list[str]) -> None:
    assert index.manifest().digest == oracle.manifest().digest
    assert index.counts() == oracle.counts()
    assert list(index.counts().relations.items()) == list(oracle.counts().relations.items())
    assert index.resolve(["dogs", "the Dog", "café", "犬", "nothing", "", *uris]) == oracle.resolve(
        ["dogs", "the Dog", "café", "犬", "nothing", "", *uris]
    )
    for max_hops in (0, 1, 2, 3, 6):
        want = oracle.hop_distances(uris, uris, max_hops)
        assert np.array_equal(index.hop_distances(uris, uris, max_hops), want)
        ones, twos = zip(*((a, b) for a in uris for b in uris), strict=True)
        assert index.hop_pairs(ones, twos, max_hops).tolist() == want.ravel().tolist()
    for concept in uris[:6]:
        for hop in (1, 2, 3):
            for limit in (None, 0, 1, 3):
                assert index.neighbours(concept, hop, limit) == oracle.neighbours(concept, hop, limit)
                numbers = index.neighbours_of_ids(index.ids([concept, "/c/en/nowhere"]), hop, limit or 0).tolist()
                best = [neighbour.uri for neighbour in oracle.neighbours(concept, hop, limit or 0)]
                assert [[index.uri(node) for node in row if node >= 0] for row in numbers] == [best, []]
            for relations in ([], ["IsA"], ["UsedFor", "IsA"], ["Nowhere"]):
                assert index.neighbours(concept, hop, 4, relations) == oracle.neighbours(concept, hop, 4, relations)
    for ones, twos in ((uris[:4], uris[2:8]), (uris, uris), (uris[:1] * 2, uris), (uris[:0], uris)):  # type: ignore[assignment]
        for hops in (1, 2):
            assert index.triples_between(ones, twos, hops) == oracle.triples_between(ones, twos, hops)
            assert index.count_triples(ones, twos, hops) == oracle.count_triples(ones, twos, hops)
    for neighbour in uris[:5]:
        for two in uris[3:9]:
            for limit in (0, 1, 2, 10):
                assert index.paths(neighbour, two, limit=limit) == oracle.paths(neighbour, two, limit=limit)
            assert index.paths(neighbour, two, 2) == oracle.paths(neighbour, two, 2)


@settings(max_examples=40, deadline=None)
@given(st.lists(assertions, max_size=40), st.lists(events, max_size=2))
def test_random_multigraphs(rows: list[Assertion], more: list[Assertion]) -> None:
    with TemporaryDirectory() as folder, open_index_directory(build_from_rows(rows + more, FilePath(folder) / "index")) as index:
        _same(index, OracleGraph(rows + more), [*_URIS, "/c/en/unknown"])


sets = st.lists(st.sampled_from([*_URIS, "/c/en/unknown"]), max_size=12)


@settings(max_examples=100, deadline=None)
@given(st.lists(assertions, max_size=60), st.lists(st.tuples(sets, sets), max_size=6))
def test_batched_counts_equal_single_ones(rows: list[Assertion], pairs: list[tuple[list[str], list[str]]]) -> None:
    oracle = OracleGraph(rows)
    with TemporaryDirectory() as folder, open_index_directory(build_from_rows(rows, FilePath(folder) / "index")) as index:
        for hops in (1, 2):
            counts = index.count_triples_many(pairs, hops)
            assert counts.shape == (len(pairs), 2)
            assert counts.tolist() == [list(oracle.count_triples(*pair, hops)) for pair in pairs]
            assert counts.tolist() == [list(index.count_triples(*pair, hops)) for pair in pairs]
            assert counts.tolist() == count_triples_many(oracle, pairs, hops).tolist()
            for count, column in zip(COUNTS, counts.T.tolist(), strict=True):
                chains = [counted_chains(index, *pair, hops, count) for pair in pairs]
                assert list(map(len, chains)) == column
                assert chains == [counted_chains(oracle, *pair, hops, count) for pair in pairs]
                assert [counted_chains(index, *pair, hops, count, 2) for pair in pairs] == [some[:2] for some in chains]
        with pytest.raises(InputError, match="3 hops"):
            index.count_triples_many(pairs, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.5])
def test_batched_counts_between_hubs(exponent: float, tmp_path: FilePath) -> None:
    rows = _random_rows(11, 300, 900, exponent)
    oracle, random = OracleGraph(rows), np.random.default_rng(3)
    pairs = []
    for _ in range(30):
        sizes = random.integers(0, 25, 2)
        sides = [[f"/c/en/n{number}" for number in (300 * random.random(size) ** 3).astype(int)] for size in sizes]
        pairs.append((sides[0], sides[1]))
    with open_index_directory(build_from_rows(rows, tmp_path / "index")) as index:
        for hops in (1, 2):
            want = [list(oracle.count_triples(*pair, hops)) for pair in pairs]
            assert index.count_triples_many(pairs, hops).tolist() == want  # type: ignore[arg-type]


def _random_rows(seed: int, nodes: int, edges: int, exponent: float) -> list[Assertion]:
    """A graph with hubs: heads uniform, tails by a power law."""
    random = np.random.default_rng(seed)
    heads = random.integers(0, nodes, edges)
    share = np.arange(1, nodes + 1) ** -exponent
    tails = random.choice(nodes, edges, p=share / share.sum())
    weights = random.choice([1.0, 1.0, 2.0, 0.5, 3.0], edges)
    names = random.choice(["IsA", "UsedFor", "HasA"], edges)
    columns = zip(heads.tolist(), names.tolist(), tails.tolist(), weights.tolist(), strict=True)
    return [Assertion(f"/c/en/n{head}", relation, f"/c/en/n{tail}", weight) for head, relation, tail, weight in columns]


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.5])
@pytest.mark.parametrize(("groups", "labels"), [(0, 0), (1, 0), (2, 3), (8, 64)])
def test_all_label_kinds(groups: int, labels: int, exponent: float, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.graph.index.build._LABELLING", ((2**31, groups, labels),))
    rows = _random_rows(7, 400, 700, exponent)
    oracle = OracleGraph(rows)
    uris = [f"/c/en/n{number}" for number in range(0, 400, 3)]
    with open_index_directory(build_from_rows(rows, tmp_path / "index")) as index:
        for hops in (3, 6):
            want = oracle.hop_distances(uris, uris, hops)
            assert np.array_equal(index.hop_distances(uris, uris, hops), want)
            ones, twos = zip(*((a, b) for a in uris for b in uris), strict=True)
            assert index.hop_pairs(ones, twos, hops).tolist() == want.ravel().tolist()
        _same(index, oracle, [f"/c/en/n{number}" for number in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)])
